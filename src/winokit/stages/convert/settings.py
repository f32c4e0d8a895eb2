"""Settings of a conversion: what is written, and in which format."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated

from winokit.data.formats import FORMATS, WriteOptions
from winokit.data.loading import Perturbed
from winokit.errors import UnusedSetting, check_known
from winokit.methods.transforms.variants import Style
from winokit.settings import Help, Settings, spelling

DEFAULT = "jsonl"
"""The format that is written if none is named."""
VARIANTS = "variants"
EVERY_EVAL_EVER = "every-eval-ever"
"""The name of the target that writes the predictions of a run as records of Every Eval Ever."""
HARNESSES = ("lmeval", "inspect")
"""The targets that are tasks: of lm-evaluation-harness and of Inspect."""


@dataclass(frozen=True)
class ConvertSettings(Settings):
    """The target of a conversion, and its options."""

    to: Annotated[
        str | None,
        Help(
            "A format, lmeval or inspect (tasks of lm-evaluation-harness or Inspect), variants, or of a run's folder "
            "every-eval-ever (records of its predictions); default: jsonl.",
            "FORMAT",
        ),
    ] = None
    source_ids: Annotated[bool, Help("Write the source's ids, which may leak the answer.", section="convert")] = False
    labels_apart: Annotated[
        bool, Help("WinoGrande: write the answers to a separate label list.", section="convert")
    ] = False
    perturbed: Perturbed = ()
    style: Annotated[
        Style,
        Help(
            "Variants: ours (default), as the paper describes them (paper), or as its script makes them (code).",
            noun="style",
            section="convert",
        ),
    ] = "default"
    variant: Annotated[
        str | Sequence[str], Help("Variants: only this one; repeatable.", "NAME", section="convert")
    ] = ()
    format_: Annotated[str, Help("Variants: the format of their files.", "FORMAT")] = DEFAULT

    def __post_init__(self) -> None:
        super().__post_init__()
        other_targets = (*HARNESSES, VARIANTS, EVERY_EVAL_EVER)
        if self.to is not None:
            check_known("format", self.to, dict.fromkeys([*FORMATS, *other_targets]))
        if self.to != VARIANTS:
            self._refuse_any("style", "variant", "format_", why="an option of --to variants")
        if self.to not in HARNESSES:
            self._refuse_any("perturbed", why="an option of --to lmeval and --to inspect")
        if self.to in other_targets:
            self._refuse_any("source_ids", "labels_apart", why="an option of file formats")

    @property
    def variants(self) -> list[str]:
        """Names of the variants to write. Empty for all."""
        return [self.variant] if isinstance(self.variant, str) else list(self.variant)

    @property
    def write_options(self) -> WriteOptions:
        """The options of a file format."""
        return WriteOptions(self.source_ids, self.labels_apart)

    def _refuse_any(self, *names: str, why: str) -> None:
        """Raise UnusedSetting for the first setting that is not its default.

        `names` are the settings, and `why` is the reason that the message gives.
        """
        defaults = {field.name: field.default for field in fields(self)}
        for name in names:
            if getattr(self, name) != defaults[name]:
                raise UnusedSetting(name, why, typed_as=spelling(type(self), name))
