"""`study.toml`: what is collected, from whom, under which rules and for how much. Every key has a default.

The defaults are those of the papers: 15 to 30 words, 70 % overlap, three votes, three rules of validity, $0.40 for a
pair of twins and $0.03 for a vote (Sakaguchi et al., 2019), native speakers who have not met the Winograd Schema
Challenge (Trichelair et al., 2018).
"""

import json
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from winokit.extend import BadInput, Malformed, check_language_code, read_text, twin_rules
from winokit_collect import PLATFORMS
from winokit_collect.study.schema import EVALUATE, VALIDATE, WRITE

FILE = "study.toml"
M = TypeVar("M", bound=BaseModel)
Kind = Literal["write", "validate", "switchable", "associative", "evaluate"]
Variant = Literal["original", "switched", "no-cands", "part-sent", "local-context"]
Money = Annotated[Decimal, Field(ge=0, le=1000, max_digits=6, decimal_places=2)]
Share = Annotated[float, Field(ge=0, le=1)]
Minutes = Annotated[float, Field(gt=0, le=7 * 24 * 60)]


def _make_key(default: Any, about: str, **bounds: Any) -> Any:
    """Declare a key of the file, with its default.

    `about` is the comment that explains it.
    """
    return Field(default=default, description=about, **bounds)


class ConfigSection(BaseModel):
    """A table of the file.

    An unknown key is an error, not a setting that quietly does nothing.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)


class TasksConfig(ConfigSection):
    """What is collected, and how much of it."""

    kinds: list[Kind] = _make_key(
        ["write", "validate"],
        "Of write, validate, switchable, associative (judgements after Trichelair et al.) and evaluate.",
    )
    twins: int = _make_key(100, "How many pairs of twins to collect.", ge=0, le=1_000_000)
    votes: int = _make_key(3, "How many workers judge each submitted problem.", ge=1, le=99)
    social_share: Share = _make_key(0.5, "Share of twins about people; the rest are about things.")
    twins_apart: Literal["prefer", "always"] = _make_key(
        "prefer", "A worker judges only one problem of a pair: always, or as long as other tasks are left."
    )
    correct_for: float = _make_key(
        10, "Minutes during which workers may correct a submission, if nobody else works with it yet.", ge=0, le=1440
    )
    most_per_worker: int = _make_key(0, "Maximum submissions of each kind per worker; 0: no limit.", ge=0)


class RulesConfig(ConfigSection):
    """The rules of writing, shown as the worker types; a submission that breaks one is not taken."""

    fewest_words: int = _make_key(15, "Words separated by spaces, including the blank.", ge=1)
    most_words: int = _make_key(30, "See fewest_words.", ge=1)
    least_overlap: Share = _make_key(0.7, "Share of words that twins have in common.")
    most_similar: Share = _make_key(0.8, "A text at least this similar to an earlier submission is refused.")
    warn: bool = _make_key(True, "Also warn about possible mistakes; the writer can confirm that they are intended.")

    @property
    def limits(self) -> twin_rules.Limits:
        """The limits on words and overlap, as the rule functions take them."""
        return twin_rules.Limits(self.fewest_words, self.most_words, self.least_overlap)


class ValidityConfig(ConfigSection):
    """When a problem is valid, from its votes."""

    rule: Literal["unanimous", "majority"] = _make_key(
        "unanimous",
        "Of the paper's three rules (right answer, not equally plausible, not decided by the clause alone) "
        "each must hold for all votes, or for more than half of them.",
    )


class LeasesConfig(ConfigSection):
    """How long a place is kept for a worker, in minutes."""

    write_minutes: Minutes = _make_key(45, "For a pair of twins; saving a draft restarts the time.")
    vote_minutes: Minutes = _make_key(10, "For a judgement.")


class QualityConfig(ConfigSection):
    """Who may work, and how that is watched."""

    native_speaker: bool = _make_key(True, "Require native speakers of the study's language.")
    never_seen_wsc: bool = _make_key(True, "Require people who do not know the Winograd Schema Challenge.")
    quiz_pass_mark: Share = _make_key(0.8, "Share of quiz answers that must be right; 0: no quiz.")
    quiz_attempts: int = _make_key(2, "How many times a worker may take the quiz.", ge=1, le=10)
    gold_share: Share = _make_key(
        0.1, "Share of judgements that are gold questions with a known answer; a skipped one counts as wrong."
    )
    most_skipped: Share = _make_key(0.2, "Share of judgements that a worker may skip, beyond the first five.")
    gold_least_accuracy: Share = _make_key(0.7, "Below this accuracy on gold questions a worker is blocked …")
    gold_least_seen: int = _make_key(5, "… once they have answered this many.", ge=1)
    block_by_gold: bool = _make_key(True, "Block automatically; otherwise only flag the worker.")
    discard_blocked: bool = _make_key(
        False, "The votes of a worker who was blocked automatically no longer count, and others are asked instead."
    )
    second_opinions: bool = _make_key(
        False, "Ask one more vote where a verdict hangs on one judge who is often wrong, instead of theirs."
    )
    least_reliable: Share = _make_key(
        0.75, "Judges who are right less often than this, by Dawid and Skene's model, are often wrong."
    )
    fast_vote_seconds: float = _make_key(3, "Judgements faster than this are flagged.", ge=0)
    fast_write_seconds: float = _make_key(60, "Twins written faster than this are flagged.", ge=0)


class PayConfig(ConfigSection):
    """What a submission is worth."""

    currency: str = _make_key("USD", "Shown with every amount.", min_length=3, max_length=3)
    write: Money = _make_key(Decimal("0.40"), "A pair of twins.")
    validate_: Money = _make_key(Decimal("0.03"), "One problem validated.", alias="validate")
    switchable: Money = _make_key(Decimal("0.03"), "One judgement of whether the candidates can swap places.")
    associative: Money = _make_key(Decimal("0.03"), "One judgement of association.")
    evaluate: Money = _make_key(Decimal("0.03"), "One problem answered.")
    fooled: Money = _make_key(
        Decimal("0.00"), "A bonus for a pair that fools the model of [adversary], once the votes find both valid."
    )
    late: bool = _make_key(True, "Pay for work that arrived too late to count.")
    quiz: Money = _make_key(Decimal("0.00"), "The first quiz, passed or not; 0: workers are told that it is unpaid.")
    least_per_hour: Money = _make_key(
        Decimal("0.00"), "Warn if pay per hour, at the median time per task, is below this; 0: the platform's minimum."
    )

    def cents(self, kind: str) -> int:
        """Pay for one submission of a kind, in hundredths."""
        amount: Decimal = getattr(self, "validate_" if kind == "validate" else kind)
        return int(amount * 100)


class AdversaryConfig(ConfigSection):
    """A model that twins should fool; its answer is shown to the writer and stored."""

    model: str = _make_key("", "Any model SPEC, e.g. builtin or hf:roberta-large; empty: none.")
    scoring: str = _make_key("", "How it is scored; empty: the default for its kind.")
    tries: int = _make_key(5, "How many versions of a pair a writer may show it; 0: no limit.", ge=0, le=1000)
    seconds: float = _make_key(20, "Longest wait for its answer; then the pair is accepted without one.", gt=0, le=600)


class EvaluateConfig(ConfigSection):
    """People as if they were a model, on an existing dataset."""

    data: str = _make_key("", "A file in this folder, or any DATA; `collect init --evaluate` fills it in.")
    variants: list[Variant] = _make_key(
        ["original"], f"Of {', '.join(get_args(Variant))}; nobody sees a problem in two variants.", min_length=1
    )
    limit: int = _make_key(0, "Only this many problems, from the start; 0: all.", ge=0)
    abstain: bool = _make_key(False, "Let people answer that they cannot tell.")


class JudgeConfig(ConfigSection):
    """People as judges of an existing dataset, in place of what is written."""

    data: str = _make_key("", "A file in this folder, or any DATA; `collect init --judge` fills it in.")


class PlatformConfig(ConfigSection):
    """Where workers come from."""

    name: str = _make_key("links", "links, prolific or mturk (legacy).", max_length=16)
    invite_days: float = _make_key(14, "How long an invite link stays valid.", gt=0, le=3650)
    completion_code: str = _make_key("", "Prolific: the code for completed work.")
    screened_out_code: str = _make_key("", "Prolific: the code for people who are screened out.")
    study_id: str = _make_key("", "Prolific: the study's id (required); people from other studies are refused.")
    base_reward: Money = _make_key(
        Decimal("0.00"),
        "What the platform itself pays per visit; it is asked, and anything owed beyond that is sent as a bonus.",
    )
    api: str = _make_key("", "Alternative address of the platform's API: a sandbox or a stub.")
    tasks_per_visit: int = _make_key(20, "Submissions after which a visit is complete and paid.", ge=1)
    least_approval: int = _make_key(99, "MTurk: minimum percentage of a worker's approved work.", ge=0, le=100)
    least_approved: int = _make_key(5000, "MTurk: minimum number of approved tasks.", ge=0)
    countries: list[str] = _make_key(["US", "CA", "GB", "AU", "NZ"], "MTurk: where workers live.")

    @field_validator("name")
    @classmethod
    def _is_registered(cls, name: str) -> str:
        if name not in PLATFORMS:
            raise ValueError(f"one of {', '.join(PLATFORMS)} expected")
        return name


class ServerConfig(ConfigSection):
    """Where people reach the study."""

    url: str = _make_key(
        "",
        "Such as https://study.example.org; all links start with it. Empty: what `serve --url` gives.",
        pattern=r"^(https?://[^/?#\s]+/?)?$",
    )


class StudyConfig(ConfigSection):
    """One study."""

    title: str = _make_key("Twins", "Shown on every page.", min_length=1, max_length=200)
    language: str = _make_key("en", "Language of workers and texts, in BCP 47: en, de, pt-BR …")
    contact: str = _make_key("", "Where workers can write to; shown on every page.", max_length=200)
    texts: str = _make_key("texts.toml", "A file in this folder: all other texts that workers read.")
    guidelines: str = _make_key("guidelines.md", "A file in this folder, in Markdown.")
    consent: str = _make_key("consent.md", "A file in this folder, in Markdown.")
    topics: str = _make_key("", "A file of topics, one JSON object per line; empty: the bundled list in that language.")
    quiz: str = _make_key("", "A file of quiz questions (TOML); empty: the bundled ones.")
    gold: str = _make_key("", "A file of problems with known answers; empty: the bundled ones, if twins are written.")
    database: str = _make_key("", "postgresql://…; empty: study.db in this folder.")
    seed: int = _make_key(0, "Seed for every random choice.")
    tasks: TasksConfig = TasksConfig()
    rules: RulesConfig = RulesConfig()
    validity: ValidityConfig = ValidityConfig()
    leases: LeasesConfig = LeasesConfig()
    quality: QualityConfig = QualityConfig()
    pay: PayConfig = PayConfig()
    adversary: AdversaryConfig = AdversaryConfig()
    evaluate: EvaluateConfig = EvaluateConfig()
    judge: JudgeConfig = JudgeConfig()
    platform: PlatformConfig = PlatformConfig()
    server: ServerConfig = ServerConfig()

    @model_validator(mode="after")
    def _check_combinations(self) -> "StudyConfig":
        self._check_kinds()
        can_be_fooled = self.adversary.model and VALIDATE in self.tasks.kinds
        if self.pay.fooled and not can_be_fooled:
            raise ValueError("pay.fooled: requires a model to fool ([adversary] model) and validate in tasks.kinds")
        if self.rules.fewest_words > self.rules.most_words:
            raise ValueError("rules.fewest_words: must not exceed most_words")
        return self

    def _check_kinds(self) -> None:
        """Raise ValueError for kinds of task that do not go together.

        Also if the data that they need is missing.
        """
        kinds = self.tasks.kinds
        if not kinds:
            raise ValueError("tasks.kinds: at least one kind of task expected")
        if EVALUATE in kinds and not self.evaluate.data:
            raise ValueError("evaluate.data: name the dataset that people should solve")
        if len(set(kinds)) < len(kinds):
            raise ValueError("tasks.kinds: each kind of task may appear only once")
        makes_answers = WRITE in kinds or EVALUATE in kinds
        if self.judge.data and makes_answers:
            raise ValueError("tasks.kinds: only validate, switchable and associative can judge existing data")
        if not self.judge.data and not makes_answers:
            raise ValueError("tasks.kinds: add write or evaluate, or name the data to judge (judge.data)")

    @field_validator("language")
    @classmethod
    def _is_code(cls, language: str) -> str:
        return check_language_code(language)

    def minutes(self, kind: str) -> float:
        """Minutes that a worker has for a task of a kind."""
        return self.leases.write_minutes if kind == WRITE else self.leases.vote_minutes


def read_config(path: Path) -> StudyConfig:
    """Read and check the config of a study from its `study.toml`.

    Raises BadInput, in one line that names the file and the key, if anything is wrong.
    """
    if not path.exists():
        raise BadInput(f"{path}: no such file; create a study with: winokit collect init {path.parent}")
    return parse_config(read_toml(path), str(path))


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file. Raises BadInput if it is not TOML."""
    try:
        return tomllib.loads(read_text(path).removeprefix("\ufeff"))  # which some editors put first
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path}: not TOML: {error}") from None


def parse_config(settings: dict[str, Any], file: str = FILE) -> StudyConfig:
    """Check settings from a file, and make a config of them.

    `file` is the name that errors show.
    """
    return validated(StudyConfig, settings, file)


def validated(model: type[M], settings: Any, file: str) -> M:
    """Check settings against a pydantic model.

    Raises Malformed for the first error, with the key and the file.
    """
    try:
        return model.model_validate(settings)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise Malformed("no such setting", field=key, file=file) from None
        reason = str(first["msg"]).removeprefix("Value error, ")
        if not key and ": " in reason:
            key, _, reason = reason.partition(": ")
        value = first["input"]
        is_scalar = not isinstance(value, dict | BaseModel)
        suffix = f", found {value!r}" if is_scalar else ""
        expected = f"{reason[:1].lower()}{reason[1:]}"
        raise Malformed(f"{expected}{suffix}", field=key, file=file) from None


def render_config(config: StudyConfig) -> str:
    """Write a config as TOML, with a comment above every key.

    >>> render_config(StudyConfig(title="Gates")).splitlines()[:2]
    ['# Shown on every page.', 'title = "Gates"']
    """
    parts = [_render_keys(config)]
    for name in StudyConfig.model_fields:
        section = getattr(config, name)
        if isinstance(section, ConfigSection):
            docstring = (type(section).__doc__ or "").strip()
            summary = docstring.splitlines()[0]
            parts.append(f"# {summary}\n[{name}]\n\n{_render_keys(section)}")
    return "\n".join(parts)


def _render_keys(section: ConfigSection) -> str:
    """Write the keys of one section as TOML, without its subsections."""
    paragraphs = []
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if not isinstance(value, ConfigSection):
            key = field.alias or name
            paragraphs.append(f"# {field.description}\n{key} = {_render_toml(value)}\n")
    return "\n".join(paragraphs)


def _render_toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        items = ", ".join(_render_toml(item) for item in value)
        return f"[{items}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return str(value)
