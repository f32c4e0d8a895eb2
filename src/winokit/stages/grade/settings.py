"""Settings of a grading: the entry's statement, and the owner's options."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from winokit.errors import BadInput
from winokit.settings import Help, Settings

if TYPE_CHECKING:
    from winokit.stages.grade.record import Statement

NEEDED = ("formalization", "training_data", "trials")
"""Options that a leaderboard entry must state."""
OF_ENTRIES = ("name", "system", *NEEDED, "budget")
"""Options for grading an entry, which are refused with `board`."""


@dataclass(frozen=True)
class GradeSettings(Settings):
    """The statement of an entry, and the owner's options."""

    hidden: Annotated[Path | None, Help("The folder of hidden labels. Default: DIR.hidden.")] = None
    name: Annotated[str | None, Help("The entry's name. Default: the file's.")] = None
    system: Annotated[str | None, Help("Which model or system it is.", was="model")] = None
    formalization: Annotated[str | None, Help("How problems became inputs and decisions.")] = None
    training_data: Annotated[str | None, Help("What the model was trained on; 'none' if nothing.")] = None
    trials: Annotated[int | None, Help("How many settings and seeds you tried.", least=1)] = None
    board: Annotated[Path | None, Help("Make the leaderboard page of a folder of graded entries.", "FOLDER")] = None
    budget: Annotated[
        int | None, Help("Different submissions to grade on this test. Default: by its size; docs/grading.md.", least=1)
    ] = None
    owner: Annotated[bool, Help("Show every score, for the owner of the labels only: do not share.")] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.board is None:
            return
        defaults = {field.name: field.default for field in fields(self)}
        for name in OF_ENTRIES:
            if getattr(self, name) != defaults[name]:
                option = name.replace("_", "-")
                raise BadInput(f"--{option}: an option for grading an entry; --board only shows graded entries")

    @property
    def missing(self) -> str:
        """Options that an entry must state and that are missing, comma-separated."""
        lacking = [name for name in NEEDED if getattr(self, name) in (None, "")]
        return ", ".join(f"--{name.replace('_', '-')}" for name in lacking)

    def statement(self, paths: Sequence[Path]) -> "Statement | None":
        """Return the statement of an entry, or None if it is incomplete.

        `paths` are the files of predictions. Without a name, the entry is named after the first of them.
        """
        from winokit.stages.grade.record import Statement

        if self.missing:
            return None
        name_of_file = paths[0].name.partition(".")[0] if paths else ""
        name = self.name or name_of_file
        return Statement(name, str(self.formalization), str(self.training_data), self.trials or 0, self.system)
