"""A made-up run on the bundled twins: one scorer that guesses and one that is right four times in five."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import winokit
from winokit.data.runs import LeftOut, Run
from winokit.methods.scoring.scorer import Prediction, ScoringPlan, score_variants
from winokit.models.random_model import RandomModel
from winokit.problem import Dataset, Problem
from winokit.results import Metric

GUESSER = ("random", "full")
READER = ("reader <1>", "full")


def approximate_interval(right: float, n: int) -> tuple[float, float]:
    """Rough confidence interval of the share of `right` in `n`, from 0 to 1."""
    share = right / n
    variance = max(share * (1 - share), 0.25 / n) / n
    margin = 1.96 * variance**0.5
    return max(share - margin, 0.0), min(share + margin, 1.0)


class Rows:
    """Collects the rows of one scorer."""

    def __init__(self, model: str, scoring: str) -> None:
        self.model = model
        self.scoring = scoring
        self.rows = []

    def add_share(self, name: str, hits: Iterable[bool], chance: float | None = 0.5, **details: str) -> None:
        """Add the share of hits, with an interval."""
        hits = list(hits)
        hit_count = sum(hits)
        low, high = approximate_interval(hit_count, len(hits))
        self.add_value(name, hit_count / len(hits), len(hits), low=low, high=high, chance=chance, **details)

    def add_value(self, name: str, value: float, n: int, **details) -> None:
        """Add a value under the name 'protocol/subset/metric'."""
        protocol, subset, metric = name.split("/")
        scoring = details.pop("scoring", self.scoring)
        row = Metric("open", self.model, scoring, None, protocol, subset, metric, value=value, n=n, **details)
        self.rows.append(row)


def rewrite_problems(dataset: Dataset, change: Callable[[Problem], Problem]) -> Dataset:
    return Dataset(change(problem).replace(provenance={"of": problem.id}) for problem in dataset)


def switch_problem(problem: Problem) -> Problem:
    return problem.replace(before=f"Now {problem.before}", answer=1 - problem.answer)


def cut_problem(problem: Problem) -> Problem:
    """The problem without what comes before its last comma."""
    last_part = problem.before.split(",")[-1].strip()
    return problem.replace(before=f"{last_part} ")


def hide_context(problem: Problem) -> Problem:
    return problem.replace(before="… ")


def ask_special_word(problem: Problem) -> Problem:
    return problem.replace(candidates=("never", "always"))


def rewrite_variants(dataset: Dataset) -> dict[str, Dataset]:
    """Variants of the problems by their names in an audit, made by crude rules."""
    switchable = dataset.filter(lambda problem: bool(problem.labels.get("switchable")))
    return {
        "switched": rewrite_problems(switchable, switch_problem),
        "no-cands": rewrite_problems(dataset, hide_context),
        "part-sent": rewrite_problems(dataset, cut_problem),
        "special-word": rewrite_problems(dataset[:60], ask_special_word),
    }


def predict_with_skill(dataset: Dataset, variant: str, skill: float) -> list[Prediction]:
    """Predictions of the reader that are right with a probability of `skill`.

    One in fifty of those on the original problems is an abstention.
    """
    draws = Random(variant)
    predictions = []
    scoring = "special-word" if variant == "special-word" else READER[1]
    for problem in dataset:
        name = problem.provenance.get("of", problem.id)
        is_right = draws.random() < skill
        choice = problem.answer if is_right else 1 - problem.answer
        mean_margin = 2.0 if is_right else 0.9
        margin = abs(draws.gauss(mean_margin, 1.1))
        scores = [-8.0, -8.0]
        scores[choice] += margin
        prediction = Prediction(name, variant, READER[0], scoring, tuple(scores), choice, problem.answer)
        if variant == "original" and draws.random() < 0.02:
            prediction = replace(prediction, scores=None, prediction=None, why="a <tie>")
        predictions.append(prediction)
    return predictions


def mark_right(predictions: Sequence[Prediction]) -> dict[str, bool]:
    """Whether each problem is answered correctly, by its id."""
    return {row.id: row.prediction == row.answer for row in predictions}


def count_right(members: Iterable[Problem], hits: dict[str, bool]) -> int:
    return sum(hits[problem.id] for problem in members)


def add_group_rows(rows: Rows, dataset: Dataset, hits: dict[str, bool]) -> None:
    right_counts = [count_right(members, hits) for members in dataset.groups.values()]
    both_right = [count == 2 for count in right_counts]
    one_right = [count == 1 for count in right_counts]
    none_right = [count == 0 for count in right_counts]
    rows.add_share("groups/complete/group_accuracy", both_right, 0.25)
    rows.add_share("groups/complete/one_right", one_right)
    rows.add_share("groups/complete/none_right", none_right, 0.25)
    rows.add_share("groups/grouped/accuracy", hits.values())
    rows.add_share("dependence/complete/same_option", one_right)
    share = sum(hits.values()) / len(hits)
    rows.add_value("dependence/complete/independent_group_accuracy", share**2, len(right_counts))


def add_switching_rows(rows: Rows, hits: dict[str, bool], switched_hits: dict[str, bool]) -> None:
    note = {"note": "labels judged automatically"}
    consistency = [hits[name] == is_right for name, is_right in switched_hits.items()]
    rows.add_share("switching/switchable/accuracy", [hits[name] for name in switched_hits], **note)
    rows.add_share("switching/switchable/switched_accuracy", switched_hits.values(), **note)
    rows.add_share("switching/switchable/consistency", consistency, **note)


def add_association_rows(rows: Rows, dataset: Dataset, hits: dict[str, bool]) -> None:
    for subset, is_associative in (("associative", True), ("non_associative", False)):
        members = [problem for problem in dataset if bool(problem.labels.get("associative")) is is_associative]
        if members:
            rows.add_share(f"association/{subset}/accuracy", [hits[problem.id] for problem in members])


def add_position_rows(rows: Rows, dataset: Dataset, hits: dict[str, bool]) -> None:
    for answer, subset in enumerate(("answer_first", "answer_second")):
        subset_hits = [hits[problem.id] for problem in dataset if problem.answer == answer]
        rows.add_share(f"position/{subset}/accuracy", subset_hits)


LUCK_OF_GUESSER = {"p_chance": 0.41, "p_best_of_10": 0.995, "n_to_beat_chance": 9_000}
LUCK_OF_READER = {"p_chance": 1e-12, "p_best_of_10": 1e-11, "n_to_beat_chance": 31}


def add_luck_rows(rows: Rows, hits: dict[str, bool]) -> None:
    n = len(hits)
    is_guesser = sum(hits.values()) / n < 0.6
    luck = LUCK_OF_GUESSER if is_guesser else LUCK_OF_READER
    for metric, value in luck.items():
        rows.add_value(f"luck/all/{metric}", value, n)


def make_rows(scorer: tuple[str, str], dataset: Dataset, predictions: dict[str, list[Prediction]]) -> list[Metric]:
    """Rows of all protocols for a scorer.

    Those of gender, luck and naturalness are invented.
    """
    rows = Rows(*scorer)
    original = predictions["original"]
    hits = mark_right(original)
    n = len(hits)
    hit_count = sum(hits.values())
    abstained_count = sum(row.prediction is None for row in original)
    rows.add_share("accuracy/all/accuracy", hits.values())
    rows.add_value("accuracy/all/abstained", abstained_count / n, n)
    expected_accuracy = (hit_count + abstained_count / 2) / n
    rows.add_value("accuracy/all/expected_accuracy", expected_accuracy, n, chance=0.5)
    add_group_rows(rows, dataset, hits)
    add_switching_rows(rows, hits, mark_right(predictions["switched"]))
    add_association_rows(rows, dataset, hits)
    for name in ("no-cands", "part-sent"):
        rows.add_share(f"artifacts/{name}/accuracy", mark_right(predictions[name]).values())
    special_word_hits = mark_right(predictions["special-word"])
    rows.add_share("special-word/all/accuracy", special_word_hits.values(), scoring="special-word")
    add_position_rows(rows, dataset, hits)
    rows.add_value("gender/female/delta", 0.042, 240, low=-0.03, high=0.11, chance=0.0, note="by construction")
    rows.add_value("gender/male/delta", -0.175, 240, low=-0.26, high=-0.09, chance=0.0)
    add_luck_rows(rows, hits)
    rows.add_value("naturalness/all/correlation", 0.0625, n)
    return rows.rows


SKILLS = {"original": 0.8, "switched": 0.72, "no-cands": 0.6, "part-sent": 0.53, "special-word": 0.66}
"""Share of the problems of each variant that the reader has right."""
LEFT_OUT = [
    LeftOut("switching", "switchable", "labelled not switchable", 213),
    LeftOut("artifacts", "no-cands", "a candidate is named twice & more", 7),
]


def read_variants(variants: dict[str, Dataset]) -> dict[str, list[Prediction]]:
    """Predictions of the reader on each variant."""
    return {name: predict_with_skill(problems, name, SKILLS[name]) for name, problems in variants.items()}


def guess_variants(variants: dict[str, Dataset]) -> dict[str, list[Prediction]]:
    """Predictions of the guesser on each variant."""
    guesses = score_variants(variants, RandomModel(3), ScoringPlan("full"))
    predictions: dict[str, list[Prediction]] = {name: [] for name in variants}
    for guess in guesses:
        predictions[guess.variant].append(guess)
    return predictions


@pytest.fixture(scope="session")
def run() -> Run:
    dataset = winokit.load("open")
    strange = dataset[0].replace(before='"Tom & Jerry" <script>alert(1)</script> said so, and ')
    dataset = dataset.with_problems([strange, *dataset[1:]])
    variants = rewrite_variants(dataset)
    with_original = {"original": dataset, **variants}
    metrics = []
    predictions = []
    for scorer, predict in ((READER, read_variants), (GUESSER, guess_variants)):
        by_variant = predict(with_original)
        metrics += make_rows(scorer, dataset, by_variant)
        for variant_predictions in by_variant.values():
            predictions += variant_predictions
    settings = {"winokit": "0.1.0", "seed": 0, "data": {"name": "open", "hash": "ab" * 32}, "scoring": ["full"]}
    return Run(settings, metrics, predictions, dataset, variants, LEFT_OUT)


@pytest.fixture(scope="session")
def one_model(run: Run) -> Run:
    """The same run with the guesser alone."""
    guesser = GUESSER[0]
    metrics = [row for row in run.metrics if row.model == guesser]
    predictions = [row for row in run.predictions if row.model == guesser]
    return Run(run.settings, metrics, predictions, run.dataset, run.variants, [])


@pytest.fixture(scope="session")
def report(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the run's report."""
    from winokit.stages.audit.page import write_report

    return write_report(run, tmp_path_factory.mktemp("run") / "report").parent
