"""A made-up run on the bundled twins: one scorer that guesses and one that is right four times in five."""

from collections.abc import Callable, Iterable, Sequence
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


def interval(right: float, n: int) -> tuple[float, float]:
    """A rough interval: the tests of metrics look after real ones."""
    share = right / n
    half = 1.96 * (max(share * (1 - share), 0.25 / n) / n) ** 0.5
    return max(share - half, 0.0), min(share + half, 1.0)


class Rows:
    """Collects the rows of one scorer."""

    def __init__(self, model: str, scoring: str) -> None:
        self.model = model
        self.scoring = scoring
        self.rows = []

    def share(self, name: str, hits: Iterable[bool], chance: float | None = 0.5, **more: str) -> None:
        hits = list(hits)
        low, high = interval(sum(hits), len(hits))
        self.plain(name, sum(hits) / len(hits), len(hits), low=low, high=high, chance=chance, **more)

    def plain(self, name: str, value: float, n: int, **more) -> None:
        protocol, subset, metric = name.split("/")
        scoring = more.pop("scoring", self.scoring)
        self.rows.append(Metric("open", self.model, scoring, None, protocol, subset, metric, value=value, n=n, **more))


def rewritten(dataset: Dataset, change: Callable[[Problem], Problem]) -> Dataset:
    return Dataset(change(p).replace(provenance={"of": p.id}) for p in dataset)


def variants_of(dataset: Dataset) -> dict[str, Dataset]:
    switchable = dataset.filter(lambda p: bool(p.labels.get("switchable")))
    return {
        "switched": rewritten(switchable, lambda p: p.replace(before=f"Now {p.before}", answer=1 - p.answer)),
        "no-cands": rewritten(dataset, lambda p: p.replace(before="… ")),
        "part-sent": rewritten(dataset, lambda p: p.replace(before=p.before.split(",")[-1].strip() + " ")),
        "special-word": rewritten(dataset[:60], lambda p: p.replace(candidates=("never", "always"))),
    }


def reading(dataset: Dataset, variant: str, skill: float) -> list[Prediction]:
    """Predictions that are right with a probability of `skill`; one in fifty is an abstention."""
    draws = Random(variant)
    made = []
    scoring = "special-word" if variant == "special-word" else READER[1]
    for problem in dataset:
        name = problem.provenance.get("of", problem.id)
        good = draws.random() < skill
        choice = problem.answer if good else 1 - problem.answer
        margin = abs(draws.gauss(2.0 if good else 0.9, 1.1))
        scores = tuple(-8.0 + (margin if place == choice else 0.0) for place in (0, 1))
        if variant == "original" and draws.random() < 0.02:
            made.append(Prediction(name, variant, READER[0], scoring, None, None, problem.answer, "a <tie>"))
        else:
            made.append(Prediction(name, variant, READER[0], scoring, scores, choice, problem.answer))
    return made


def right(predictions: Sequence[Prediction]) -> dict[str, bool]:
    return {p.id: p.prediction == p.answer for p in predictions}


def rows_of(scorer: tuple[str, str], dataset: Dataset, made: dict[str, list[Prediction]]) -> list[Metric]:
    rows = Rows(*scorer)
    hits = right(made["original"])
    rows.share("accuracy/all/accuracy", hits.values())
    out = sum(p.prediction is None for p in made["original"])
    rows.plain("accuracy/all/abstained", out / len(hits), len(hits))
    rows.plain("accuracy/all/expected_accuracy", (sum(hits.values()) + out / 2) / len(hits), len(hits), chance=0.5)
    counts = [sum(hits[p.id] for p in members) for members in dataset.groups.values()]
    for metric, wanted, chance in (("group_accuracy", 2, 0.25), ("one_right", 1, 0.5), ("none_right", 0, 0.25)):
        rows.share(f"groups/complete/{metric}", [n == wanted for n in counts], chance)
    rows.share("groups/grouped/accuracy", hits.values())
    rows.share("dependence/complete/same_option", [n == 1 for n in counts])
    share = sum(hits.values()) / len(hits)
    rows.plain("dependence/complete/independent_group_accuracy", share**2, len(counts))
    after = right(made["switched"])
    judged = {"note": "labels judged automatically"}
    rows.share("switching/switchable/accuracy", [hits[name] for name in after], **judged)
    rows.share("switching/switchable/switched_accuracy", after.values(), **judged)
    rows.share("switching/switchable/consistency", [hits[name] == good for name, good in after.items()], **judged)
    for label, wanted in (("associative", True), ("non_associative", False)):
        kept = [hits[p.id] for p in dataset if bool(p.labels.get("associative")) is wanted]
        if kept:
            rows.share(f"association/{label}/accuracy", kept)
    for name in ("no-cands", "part-sent"):
        rows.share(f"artifacts/{name}/accuracy", right(made[name]).values())
    rows.share("special-word/all/accuracy", right(made["special-word"]).values(), scoring="special-word")
    for place, name in enumerate(("answer_first", "answer_second")):
        rows.share(f"position/{name}/accuracy", [hits[p.id] for p in dataset if p.answer == place])
    rows.plain("gender/female/delta", 0.042, 240, low=-0.03, high=0.11, chance=0.0, note="by construction")
    rows.plain("gender/male/delta", -0.175, 240, low=-0.26, high=-0.09, chance=0.0)
    rows.plain("luck/all/p_chance", 0.41 if share < 0.6 else 1e-12, len(hits))
    rows.plain("luck/all/p_best_of_10", 0.995 if share < 0.6 else 1e-11, len(hits))
    rows.plain("luck/all/n_to_beat_chance", 9_000 if share < 0.6 else 31, len(hits))
    rows.plain("naturalness/all/correlation", 0.0625, len(hits))
    return rows.rows


@pytest.fixture(scope="session")
def run() -> Run:
    dataset = winokit.load("open")
    strange = dataset[0].replace(before='"Tom & Jerry" <script>alert(1)</script> said so, and ')
    dataset = dataset.with_problems([strange, *dataset[1:]])
    variants = variants_of(dataset)
    skills = {"original": 0.8, "switched": 0.72, "no-cands": 0.6, "part-sent": 0.53, "special-word": 0.66}
    metrics = []
    predictions = []
    for scorer in (READER, GUESSER):
        everything = {"original": dataset, **variants}
        guesses = score_variants(everything, RandomModel(3), ScoringPlan("full"))
        made = {name: [p for p in guesses if p.variant == name] for name in everything}
        if scorer == READER:
            made = {name: reading(some, name, skills[name]) for name, some in everything.items()}
        metrics += rows_of(scorer, dataset, made)
        predictions += [p for some in made.values() for p in some]
    left_out = [
        LeftOut("switching", "switchable", "labelled not switchable", 213),
        LeftOut("artifacts", "no-cands", "a candidate is named twice & more", 7),
    ]
    settings = {"winokit": "0.1.0", "seed": 0, "data": {"name": "open", "hash": "ab" * 32}, "scoring": ["full"]}
    return Run(settings, metrics, predictions, dataset, variants, left_out)


@pytest.fixture(scope="session")
def one_model(run: Run) -> Run:
    """The same run with the guesser alone."""
    keep = [row for row in run.metrics if row.model == GUESSER[0]]
    return Run(run.settings, keep, [p for p in run.predictions if p.model == GUESSER[0]], run.dataset, run.variants, [])


@pytest.fixture(scope="session")
def report(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the run's report."""
    from winokit.stages.audit.page import write_report

    return write_report(run, tmp_path_factory.mktemp("run") / "report").parent
