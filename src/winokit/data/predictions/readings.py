"""The right answers among replies, read in several ways.

They show how far a number moves with the way of reading: for what replies choose, or as others read them.
"""

from collections import Counter

from winokit.data.predictions.answers import other_readings
from winokit.data.predictions.match import which
from winokit.problem import Problem

KINDS = {
    "exact": "as exact labels",
    "strict": "by what they begin with (strict)",
    "extractor": "by the first option in them (extractor)",
}
"""The other ways to read a reply, and how a note calls them."""


class ReplyReadings:
    """Counts the replies that are right by several ways of reading."""

    def __init__(self) -> None:
        self.rows = self.in_words = 0
        """Replies, and those of them that are more than a label."""
        self.right = Counter[str]()

    def take(self, text: str | None, chosen: int | None, names: tuple[str, ...], problem: Problem) -> None:
        """Count one reply.

        Parameters
        ----------
        text
            The reply. None for a label, which says the same by any way of reading.
        chosen
            Index of the candidate that winokit read in it, or None.
        names
            The candidates, in the order in which the reply's letters count them.
        problem
            The problem.
        """
        answer = which(problem.right or "", names, problem.language)
        if answer is None:
            return
        self.rows += 1
        choices: dict[str, int | None] = dict.fromkeys(KINDS, chosen)
        if text is not None:
            self.in_words += 1
            choices = other_readings(text, names, problem)
        choices["read"] = chosen
        for kind, choice in choices.items():
            self.right[kind] += int(choice == answer)

    def shares(self) -> dict[str, float]:
        """Share of right answers by each way of reading.

        winokit's own way is called `read`. Empty if all replies are labels.
        """
        if not self.in_words or not self.rows:
            return {}
        ways = ("read", *KINDS)
        return {way: self.right[way] / self.rows for way in ways}

    def notes(self) -> list[str]:
        """A list with a note on how far ways of reading differ.

        Empty if they do not differ.
        """
        shares = self.shares()
        counts = {kind: self.right[kind] for kind in shares}
        if len(set(counts.values())) < 2:
            return []
        others = ", ".join(f"{counts[kind]:,} {words}" for kind, words in KINDS.items())
        spread = max(shares.values()) - min(shares.values())
        return [
            f"of {self.rows:,} replies {counts['read']:,} are right, read for what they choose; {others}: "
            f"the way of reading moves the number by {100 * spread:.1f} points"
        ]
