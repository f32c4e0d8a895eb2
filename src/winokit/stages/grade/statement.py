"""What a leaderboard entry must say of itself: a score means little without it (Liu et al., 2020).

The same model gains or loses many points by the formalization alone, and the best of many trials is the luckiest.
"""

from __future__ import annotations

from dataclasses import dataclass

from winokit.errors import BadInput

LONGEST = 300
MOST_TRIALS = 1_000_000


@dataclass(frozen=True, slots=True)
class Statement:
    """Who made the predictions, and how."""

    name: str
    formalization: str
    """How problems became inputs and decisions: mc-sent, p-span, partial scoring …"""
    training_data: str
    trials: int
    """How many settings and seeds were tried before this one was sent in; 1 for a single run."""
    model: str | None = None

    def __post_init__(self) -> None:
        for what, said in (
            ("name", self.name),
            ("formalization", self.formalization),
            ("training data", self.training_data),
        ):
            if not isinstance(said, str) or not said.strip():
                raise BadInput(f"an entry's {what} must say something")
        for said in (self.name, self.formalization, self.training_data, self.model or ""):
            if any("\ud800" <= character <= "\udfff" for character in said):
                raise BadInput(f"what an entry says of itself is text, found {said[:40]!a}: is --name missing?")
            if len(said) > LONGEST or "\n" in said:
                raise BadInput(
                    f"what an entry says of itself is one line of up to {LONGEST} characters, found {said[:40]!r}…"
                )
        if isinstance(self.trials, bool) or not isinstance(self.trials, int) or not 1 <= self.trials <= MOST_TRIALS:
            raise BadInput(f"the number of trials is a whole number from 1 to {MOST_TRIALS:,}, found {self.trials!r}")


def missing_options(formalization: str | None, training_data: str | None, trials: int | None) -> list[str]:
    """The options that an entry still needs."""
    said = {"--formalization": formalization, "--training-data": training_data, "--trials": trials}
    return [option for option, value in said.items() if value is None or value == ""]
