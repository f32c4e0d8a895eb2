"""`study.toml`: what is collected, from whom, under which rules and for how much. Every key has a default.

The defaults are those of the papers: 15 to 30 words, 70 % overlap, three votes, three rules of validity, $0.40 for a
pair of twins and $0.03 for a vote (Sakaguchi et al., 2019), native speakers who have not met the Winograd Schema
Challenge (Trichelair et al., 2018).
"""

from __future__ import annotations

import json
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from winokit.collect import PLATFORMS
from winokit.collect.study.schema import EVALUATE, WRITE
from winokit.data.checks.rules import Limits
from winokit.errors import BadInput, Malformed

FILE = "study.toml"
VARIANTS = ("original", "switched", "no-cands", "part-sent", "local-context")
Kind = Literal["write", "validate", "switchable", "associative", "evaluate"]
Variant = Literal["original", "switched", "no-cands", "part-sent", "local-context"]
Money = Annotated[Decimal, Field(ge=0, le=1000, max_digits=6, decimal_places=2)]
Share = Annotated[float, Field(ge=0, le=1)]
Minutes = Annotated[float, Field(gt=0, le=7 * 24 * 60)]


class ConfigSection(BaseModel):
    """A table of the file. A key nobody knows is an error, not a setting that quietly does nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TasksConfig(ConfigSection):
    """What is collected, and how much of it."""

    kinds: list[Kind] = Field(
        default=["write", "validate"],
        description="Of write, validate, switchable, associative (judgements after Trichelair et al.) and evaluate.",
    )
    twins: int = Field(default=100, ge=0, le=1_000_000, description="How many pairs of twins are asked for.")
    votes: int = Field(default=3, ge=1, le=99, description="How many workers judge each problem that comes in.")
    social_share: Share = Field(
        default=0.5, description="Share of the twins that are about people; the others: things."
    )
    twins_apart: Literal["prefer", "always"] = Field(
        default="prefer",
        description="One worker judges one problem of a pair: always, or as long as there is anything else to do.",
    )
    most_per_worker: int = Field(
        default=0, ge=0, description="Most submissions of each kind by one worker; 0: no limit."
    )


class RulesConfig(ConfigSection):
    """The rules of writing, shown as the worker types; a submission that breaks one is not taken."""

    fewest_words: int = Field(default=15, ge=1, description="Words between spaces, the blank among them.")
    most_words: int = Field(default=30, ge=1, description="See fewest_words.")
    least_overlap: Share = Field(default=0.7, description="Share of words that twins have in common.")
    most_similar: Share = Field(
        default=0.8, description="From this similarity to an earlier submission on, a text is too similar."
    )

    @property
    def limits(self) -> Limits:
        """The numbers as the rule functions take them."""
        return Limits(self.fewest_words, self.most_words, self.least_overlap)


class ValidityConfig(ConfigSection):
    """When a problem is valid, from its votes."""

    rule: Literal["unanimous", "majority"] = Field(
        default="unanimous",
        description="Of the paper's three rules (right answer, not equally plausible, not decided by the clause alone) "
        "each must hold for all votes, or for more than half of them.",
    )


class LeasesConfig(ConfigSection):
    """How long a place is kept for a worker, in minutes."""

    write_minutes: Minutes = Field(default=45, description="For a pair of twins; saving a draft starts the time again.")
    vote_minutes: Minutes = Field(default=10, description="For a judgement.")


class QualityConfig(ConfigSection):
    """Who may work, and how that is watched."""

    native_speaker: bool = Field(default=True, description="Ask for native speakers of English.")
    never_seen_wsc: bool = Field(
        default=True, description="Ask for people who do not know the Winograd Schema Challenge."
    )
    quiz_pass_mark: Share = Field(default=0.8, description="Share of the quiz that must be right; 0: no quiz.")
    quiz_attempts: int = Field(default=2, ge=1, le=10, description="How often the quiz may be tried.")
    gold_share: Share = Field(
        default=0.1, description="Share of judgements that are gold questions with a known answer."
    )
    gold_least_accuracy: Share = Field(
        default=0.7, description="Below this accuracy on gold questions a worker is blocked …"
    )
    gold_least_seen: int = Field(default=5, ge=1, description="… once they have answered this many.")
    block_by_gold: bool = Field(default=True, description="Block by itself; otherwise only mark the worker for a look.")
    fast_vote_seconds: float = Field(default=3, ge=0, description="Judgements faster than this are marked.")
    fast_write_seconds: float = Field(default=60, ge=0, description="Twins written faster than this are marked.")


class PayConfig(ConfigSection):
    """What a submission is worth."""

    currency: str = Field(default="USD", min_length=3, max_length=3, description="Shown beside every amount.")
    write: Money = Field(default=Decimal("0.40"), description="A pair of twins.")
    validate_: Money = Field(default=Decimal("0.03"), alias="validate", description="One problem validated.")
    switchable: Money = Field(
        default=Decimal("0.03"), description="One judgement whether the candidates can change places."
    )
    associative: Money = Field(default=Decimal("0.03"), description="One judgement of association.")
    evaluate: Money = Field(default=Decimal("0.03"), description="One problem answered.")
    late: bool = Field(default=True, description="Pay for work that came too late to count.")

    def cents(self, kind: str) -> int:
        """What one submission of a kind is worth, in hundredths."""
        amount: Decimal = getattr(self, "validate_" if kind == "validate" else kind)
        return int(amount * 100)


class AdversaryConfig(ConfigSection):
    """A model that twins should fool; its answer is shown to the writer and stored."""

    model: str = Field(default="", description="Any model SPEC, e.g. builtin or hf:roberta-large; empty: none.")
    scoring: str = Field(default="", description="How it is scored; empty: the default of its kind.")


class EvaluateConfig(ConfigSection):
    """People as if they were a model, on an existing dataset."""

    data: str = Field(
        default="", description="A file in this folder, or any DATA; `collect init --evaluate` fills it in."
    )
    variants: list[Variant] = Field(
        default=["original"],
        min_length=1,
        description=f"Of {', '.join(VARIANTS)}; nobody sees a problem in two of them.",
    )
    limit: int = Field(default=0, ge=0, description="Only the first so many problems; 0: all.")
    abstain: bool = Field(default=False, description="Let people say that they cannot tell.")


class PlatformConfig(ConfigSection):
    """Where workers come from."""

    name: str = Field(default="links", max_length=16, description="links, prolific or mturk (legacy).")
    invite_days: float = Field(default=14, gt=0, le=3650, description="How long an invite link stays good.")
    completion_code: str = Field(default="", description="Prolific: the code for work done.")
    screened_out_code: str = Field(default="", description="Prolific: the code for people the study is not for.")
    study_id: str = Field(default="", description="Prolific's id of the study; arrivals from another one are refused.")
    base_reward: Money = Field(
        default=Decimal("0.00"),
        description="What the platform pays for a visit by itself; the rest of what is owed is a bonus.",
    )
    api: str = Field(default="", description="Another address of the platform's API: a sandbox, a stub.")
    tasks_per_visit: int = Field(
        default=20, ge=1, description="Submissions after which a visit is complete and is paid."
    )
    least_approval: int = Field(
        default=99, ge=0, le=100, description="MTurk: percent of a worker's work that was approved."
    )
    least_approved: int = Field(default=5000, ge=0, description="MTurk: how much of it.")
    countries: list[str] = Field(default=["US", "CA", "GB", "AU", "NZ"], description="MTurk: where workers live.")

    @field_validator("name")
    @classmethod
    def _is_registered(cls, name: str) -> str:
        if name not in PLATFORMS:
            raise ValueError(f"one of {', '.join(PLATFORMS)} expected")
        return name


class StudyConfig(ConfigSection):
    """One study."""

    title: str = Field(default="Twins", min_length=1, max_length=200, description="Shown on every page.")
    contact: str = Field(default="", max_length=200, description="Where workers can write to; shown on every page.")
    guidelines: str = Field(default="guidelines.md", description="A file in this folder, in Markdown.")
    consent: str = Field(default="consent.md", description="A file in this folder, in Markdown.")
    topics: str = Field(default="", description="A file of topics, one JSON object a line; empty: the bundled list.")
    quiz: str = Field(default="", description="A file of quiz questions (TOML); empty: the bundled ones.")
    gold: str = Field(default="", description="A file of problems with known answers; empty: the bundled ones.")
    database: str = Field(default="", description="postgresql://…; empty: study.db in this folder.")
    seed: int = Field(default=0, description="Of every random choice.")
    tasks: TasksConfig = TasksConfig()
    rules: RulesConfig = RulesConfig()
    validity: ValidityConfig = ValidityConfig()
    leases: LeasesConfig = LeasesConfig()
    quality: QualityConfig = QualityConfig()
    pay: PayConfig = PayConfig()
    adversary: AdversaryConfig = AdversaryConfig()
    evaluate: EvaluateConfig = EvaluateConfig()
    platform: PlatformConfig = PlatformConfig()

    @model_validator(mode="after")
    def _fits_together(self) -> StudyConfig:
        kinds = self.tasks.kinds
        if not kinds:
            raise ValueError("tasks.kinds: at least one kind of task expected")
        if EVALUATE in kinds and not self.evaluate.data:
            raise ValueError("evaluate.data: name the dataset that people are to solve")
        if WRITE not in kinds and EVALUATE not in kinds:
            raise ValueError("tasks.kinds: write or evaluate expected, since the others judge what is written")
        if self.rules.fewest_words > self.rules.most_words:
            raise ValueError("rules.fewest_words: must not be above most_words")
        return self

    def minutes(self, kind: str) -> float:
        """How long a lease of a kind lasts."""
        return self.leases.write_minutes if kind == WRITE else self.leases.vote_minutes


def read_config(path: Path) -> StudyConfig:
    """Read a study's config; whatever is wrong is one line that names the file and the key."""
    try:
        told = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file; make a study with: winokit collect init {path.parent}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read ({error})") from None
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path}: not TOML: {error}") from None
    return parse_config(told, str(path))


def parse_config(told: dict[str, Any], file: str = FILE) -> StudyConfig:
    """A config from what a file says."""
    try:
        return StudyConfig.model_validate(told)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise Malformed("no such setting", field=key, file=file) from None
        told_why = str(first["msg"]).removeprefix("Value error, ")
        if not key:
            key, _, told_why = told_why.partition(": ")
        found = "" if isinstance(first["input"], dict | BaseModel) else f", found {first['input']!r}"
        raise Malformed(f"{told_why[:1].lower()}{told_why[1:]}{found}", field=key, file=file) from None


def render_config(config: StudyConfig) -> str:
    """The config as a file in which a comment explains every key.

    >>> render_config(StudyConfig(title="Gates")).splitlines()[:2]
    ['# Shown on every page.', 'title = "Gates"']
    """
    top = [name for name in StudyConfig.model_fields if not isinstance(getattr(config, name), ConfigSection)]
    parts = [_keys(config, top)]
    for name in StudyConfig.model_fields:
        section = getattr(config, name)
        if isinstance(section, ConfigSection):
            about = (type(section).__doc__ or "").strip().splitlines()[0]
            parts.append(f"# {about}\n[{name}]\n\n" + _keys(section, list(type(section).model_fields)))
    return "\n".join(parts)


def _keys(section: ConfigSection, names: list[str]) -> str:
    lines = []
    for name in names:
        field = type(section).model_fields[name]
        lines.append(f"# {field.description}\n{field.alias or name} = {_toml(getattr(section, name))}\n")
    return "\n".join(lines)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)
