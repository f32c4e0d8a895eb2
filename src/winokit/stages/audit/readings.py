"""Readings: the same problems asked under several prompts, candidate orders and scorings.

Requests are planned, priced, limited and stored like all others. The judge makes the rows.
"""

import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, get_args

import numpy as np

from winokit.answers import Answers, AskedProblems, Scorer, choice_numbers
from winokit.errors import BadInput, check_known
from winokit.files import our_toml, read_text
from winokit.methods.metrics.judge_readings import (
    AskedReadings,
    ReadAnswers,
    lead_rows,
    reading_rows,
    wording_rows,
)
from winokit.methods.scoring.ask import GIVEN, REVERSED
from winokit.methods.scoring.base import all_whole, fits, parse_scoring
from winokit.methods.scoring.cache import Cache
from winokit.methods.scoring.prompts import PromptTemplate
from winokit.methods.scoring.scorer import Prediction, ScoringPlan, score_variants
from winokit.methods.transforms.substitute import Style, substitute
from winokit.models.base import Model
from winokit.problem import ORIGINAL, Dataset
from winokit.progress import Progress
from winokit.results import Metric

DEFAULT = "default"
"""The name of the bundled readings."""
PROMPTS = "prompts"
ORDERS = "orders"
SCORINGS = "scorings"
STYLES = "styles"
LEVELS = {ORDERS: (GIVEN, REVERSED), STYLES: tuple(get_args(Style))}
"""Names that a file may list for a factor."""
EVERY_KIND = "all"
"""The key under `scorings` for every kind of model."""


@dataclass(frozen=True)
class AskedReading:
    """One way to ask the problems."""

    name: str
    """Its levels with slashes between them, as in `ask/plain/given`."""
    levels: Mapping[str, str]
    """By factor (scorings, prompts, orders, styles), its value here."""
    plan: ScoringPlan


@dataclass(frozen=True)
class ReadingsFile:
    """The contents of a file of readings."""

    prompts: Mapping[str, PromptTemplate]
    orders: Sequence[str]
    styles: Sequence[str]
    scorings: Mapping[str, Sequence[str]]
    """By the kind of model; those under `all` are for every kind."""

    def to_json(self) -> dict[str, Any]:
        """Prompts, orders and styles as JSON-ready values."""
        texts = {name: prompt.text for name, prompt in self.prompts.items()}
        return {PROMPTS: texts, ORDERS: list(self.orders), STYLES: list(self.styles)}

    def readings_for(
        self, model: Model, problems: Dataset, plan: ScoringPlan, named: Sequence[str]
    ) -> list[AskedReading]:
        """List every reading that suits a model and some problems.

        `named` are scorings that replace those of the file, if there are any. A scoring is passed over if it does not
        fit the model, or needs a blank and all problems are whole texts. One that takes a prompt has a reading for each
        prompt and order, one that fills the blank has a reading for each style, and any other has one.
        """
        scorings = named or self.scorings.get(EVERY_KIND) or self.scorings.get(model.kind, ())
        readings: list[AskedReading] = []
        for scoring in scorings:
            kind, _ = parse_scoring(scoring)
            is_without_blank = kind.needs_blank and all_whole(problems)
            if not fits(kind, model) or is_without_blank:
                continue
            if kind.takes_prompt:
                readings += self._make_prompt_readings(scoring, plan)
            elif kind.substitutes and not all_whole(problems):
                readings += self._make_style_readings(scoring, plan, problems)
            else:
                readings.append(AskedReading(scoring, {SCORINGS: scoring}, replace(plan, scoring=scoring)))
        return readings

    def _make_prompt_readings(self, scoring: str, plan: ScoringPlan) -> Iterator[AskedReading]:
        """Yield the readings of a scoring for each prompt and order."""
        joint = "&" if "?" in scoring else "?"
        for prompt, order in product(self.prompts, self.orders):
            levels = {SCORINGS: scoring, PROMPTS: prompt, ORDERS: order}
            scoring_in_order = f"{scoring}{joint}order={order}"
            reading_plan = replace(plan, scoring=scoring_in_order, prompt=self.prompts[prompt])
            yield AskedReading("/".join(levels.values()), levels, reading_plan)

    def _make_style_readings(self, scoring: str, plan: ScoringPlan, problems: Dataset) -> Iterator[AskedReading]:
        """Yield the readings of a scoring for each style.

        The scoring puts candidates into the blank. Styles that give the same texts for all problems are one reading.
        """
        for style in distinct_styles(problems, self.styles):
            levels = {SCORINGS: scoring, STYLES: style}
            reading_plan = replace(plan, scoring=scoring, substitution=style)  # type: ignore[arg-type]
            yield AskedReading("/".join(levels.values()), levels, reading_plan)


def distinct_styles(problems: Dataset, styles: Sequence[str]) -> list[str]:
    """Select the styles whose texts differ from those of earlier styles."""
    texts_by_style: dict[str, list[str]] = {}
    for style in styles:
        texts: list[str] = []
        for problem in problems:
            texts += [substitute(problem, candidate, style).text for candidate in problem.candidates]
        if texts not in texts_by_style.values():
            texts_by_style[style] = texts
    return list(texts_by_style)


def read_readings(name: str | Path) -> ReadingsFile:
    """Read a file of readings, or the bundled one for `default`.

    A factor that the file does not list is that of the bundled file. Raises BadInput if the file is missing, or not
    valid.
    """
    bundled = our_toml("assets/readings.toml")
    if str(name) == DEFAULT:
        return parse_readings(bundled, "readings.toml")
    path = Path(name)
    if not path.exists():
        raise BadInput(f"--readings: no file {path}: name a file of prompts, or default for the bundled ones")
    try:
        table = tomllib.loads(read_text(path).removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path}: not TOML: {error}") from None
    for key in table:
        check_known(f"key of {path.name}", key, (PROMPTS, ORDERS, STYLES, SCORINGS))
    if isinstance(table.get(SCORINGS), list):
        table[SCORINGS] = {EVERY_KIND: table[SCORINGS]}
    return parse_readings({**bundled, **table}, str(path))


def parse_readings(table: Mapping[str, Any], file: str) -> ReadingsFile:
    """Check a table of TOML and make the readings of it.

    `file` is the name for errors. Raises BadInput or UnknownName.
    """
    levels = {factor: read_names(table[factor], factor, file) for factor in LEVELS}
    for factor, names in levels.items():
        for name in names:
            check_known(f"name in {factor} of {file}", name, LEVELS[factor])
    scorings = table[SCORINGS]
    if not isinstance(scorings, Mapping):
        raise BadInput(f"{file}: scorings: expected a list of names, or lists by kind of model, found {scorings!r}")
    by_kind = {kind: read_names(names, f"scorings.{kind}", file) for kind, names in scorings.items()}
    for names in by_kind.values():
        for name in names:
            parse_scoring(name)
    return ReadingsFile(read_prompts(table[PROMPTS], file), levels[ORDERS], levels[STYLES], by_kind)


def read_names(value: object, key: str, file: str) -> list[str]:
    """Check and return a list of names, each once.

    Raises BadInput for any other value, an empty list included. `key` and `file` are named in the error.
    """
    items = value if isinstance(value, list) else []
    names = [name for name in items if isinstance(name, str)]
    if not names or len(set(names)) < len(names) or names != value:
        raise BadInput(f"{file}: {key}: expected a list of names, each once, found {value!r}")
    return names


def read_prompts(entries: object, file: str) -> dict[str, PromptTemplate]:
    """Check the prompts of a file and return them by their names.

    One newline at either end of a text is removed. Raises BadInput for entries without a name or a text.
    """
    if not isinstance(entries, list) or not entries:
        raise BadInput(f"{file}: prompts: expected [[prompts]] with a name and a text each, found {entries!r}")
    prompts: dict[str, PromptTemplate] = {}
    for number, entry in enumerate(entries, 1):
        is_prompt = isinstance(entry, Mapping) and all(isinstance(entry.get(key), str) for key in ("name", "text"))
        if not is_prompt:
            raise BadInput(f"{file}: prompt {number}: expected a name and a text, found {entry!r}")
        for key in entry:
            check_known(f"key of prompt {number} in {file}", key, ("name", "text"))
        name = entry["name"]
        if name in prompts or not name or "/" in name:
            raise BadInput(f"{file}: prompt {number}: expected a name of its own without a slash, found {name!r}")
        text = entry["text"].removeprefix("\n").removesuffix("\n")
        prompts[name] = PromptTemplate(text, f"{file}, prompt {name}")
    return prompts


@dataclass
class ReadingAnswers:
    """The predictions of models under their readings, collected while models are asked."""

    by_model: dict[str, list[tuple[AskedReading, list[Prediction]]]] = field(default_factory=lambda: defaultdict(list))
    notes: list[str] = field(default_factory=list)

    @property
    def predictions(self) -> list[Prediction]:
        """All predictions, model by model and reading by reading."""
        predictions: list[Prediction] = []
        for readings in self.by_model.values():
            for _, rows in readings:
                predictions += rows
        return predictions

    def metrics(self, dataset: Dataset, formalizations: Mapping[str, str | None]) -> list[Metric]:
        """Rows of every model and of every two models.

        `formalizations` has the formalization of a fine-tuned model by its name.
        """
        problems = AskedProblems.of(dataset)
        name = dataset.card.name
        rows: list[Metric] = []
        models: list[AskedReadings] = []
        for model, readings in self.by_model.items():
            formalization = formalizations.get(model)
            tables = [
                ReadAnswers(reading.name, reading.levels, answers_of(problems, model, predictions, formalization))
                for reading, predictions in readings
                if predictions
            ]
            if tables:
                models.append(AskedReadings(tables))
                rows += reading_rows(name, models[-1])
        return [*rows, *lead_rows(name, models), *wording_rows(name, models)]


def ask_readings(
    answers: ReadingAnswers,
    dataset: Dataset,
    model: Model,
    readings: Sequence[AskedReading],
    cache: Cache,
    progress: Progress | None,
) -> None:
    """Ask one model under its readings, and add its predictions to `answers`.

    A model with fewer than two readings gets a note, and is asked all the same.
    """
    if len(readings) < 2:
        answers.notes.append(f"{model.spec}: {len(readings)} readings suit it, so nothing can be said of several")
    for reading in readings:
        with cache.ledger.under(model.spec, str(reading.plan.scoring), "readings"):
            rows = score_variants({ORIGINAL: dataset}, model, reading.plan, cache=cache, progress=progress)
        answers.by_model[model.spec].append((reading, rows))


def answers_of(
    problems: AskedProblems, model: str, predictions: Sequence[Prediction], formalization: str | None
) -> Answers:
    """Make the table of a model's answers under one reading.

    Each sample has a row. Predictions for problems without an answer are left out. There must be one prediction at
    least.
    """
    index_of = {name: index for index, name in enumerate(problems.ids)}
    labelled = [row for row in predictions if row.id in index_of]
    samples = np.array([row.sample or 0 for row in labelled], np.int64)
    return Answers(
        problems,
        np.array([index_of[row.id] for row in labelled], np.int64),
        choice_numbers([row.prediction for row in labelled]),
        (Scorer(model, predictions[0].scoring, formalization),),
        samples=samples if samples.any() else None,
    )
