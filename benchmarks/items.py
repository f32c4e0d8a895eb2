"""Measure precision and recall of planted errors in the order of suspects on the real boards.

    python benchmarks/items.py                  # all tables
    python benchmarks/items.py --only labels    # labels, pairs, bank, languages, none or speed

Boards are found through WINOKIT_BOARDS, else beside the datasets (WINOKIT_DATA) or in ../shared/boards. Their rows are
read and never shown: tables have means over draws. A majority vote finds independent errors by itself; what the queue
finds beyond it is what the rules add.
"""

import argparse
import csv
import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import winokit
from winokit.answers import Answers, AskedProblems, Scorer
from winokit.methods.arrays import BoolArray, FloatArray, IntArray
from winokit.methods.metrics.judge_items import JudgedItems, judge_items
from winokit.problem import Dataset
from winokit.stages.items.inputs import ItemAnswers, families_of, read_answers

DATA = Path(os.environ.get("WINOKIT_DATA") or Path(__file__).parents[2] / "shared" / "data")
BOARDS = Path(os.environ.get("WINOKIT_BOARDS") or DATA.parent / "boards")
FIRST = (20, 50, 100)
"""How far down the queue a person reads."""
Order = Callable[[JudgedItems], list[tuple[int, ...]]]


def queue_order(judged: JudgedItems) -> list[tuple[int, ...]]:
    """The order of the tool, whether a rule gives a reason or not."""
    return [suspect.rows for suspect in judged.ranked]


def majority_order(judged: JudgedItems) -> list[tuple[int, ...]]:
    """Order by the share of all families that are right, a pair by the mean of its twins."""
    rights = {item.row: item.right.value for item in judged.items}
    return sorted(queue_order(judged), key=lambda rows: np.mean([rights[row] for row in rows]))


def rest_order(judged: JudgedItems) -> list[tuple[int, ...]]:
    """By the item-rest correlation alone."""
    rests = {(item.row,): item.rest for item in judged.items}
    rests |= {pair.rows: pair.rest for pair in judged.pairs}

    def rest_of(rows: tuple[int, ...]) -> float:
        found = rests[rows]
        return 0.0 if found is None else found.value

    return sorted(queue_order(judged), key=rest_of)


def wrong_order(judged: JudgedItems) -> list[tuple[int, ...]]:
    """Order by both twins wrong over all families, an item without a twin by its share wrong."""
    wrongs = {(item.row,): 1 - item.right.value for item in judged.items}
    wrongs |= {pair.rows: pair.both_wrong.value for pair in judged.pairs}
    return sorted(queue_order(judged), key=lambda rows: -wrongs[rows])


ORDERS: dict[str, Order] = {
    "the queue": queue_order,
    "majority vote": majority_order,
    "item-rest alone": rest_order,
    "both wrong alone": wrong_order,
}


def answers_of(asked: AskedProblems, states: IntArray, answers: Answers) -> Answers:
    """Answers of the same scorers from states: 1 right, 0 wrong, -1 silent, -2 not asked."""
    scorer_index, problem_index = np.nonzero(states != -2)
    given = states[scorer_index, problem_index]
    right = asked.answers[problem_index]
    choices = np.where(given == 1, right, np.where(given == 0, 1 - right, -1))
    return Answers(asked, problem_index, choices, answers.scorers, scorer_index=scorer_index)


def planted(judged: JudgedItems, answers: Answers, targets: Sequence[tuple[int, ...]]) -> JudgedItems:
    """The same answers judged by labels of which those of the targets are swapped."""
    states = judged.matrix.states.copy()
    rows = [row for target in targets for row in target]
    own = states[:, rows]
    states[:, rows] = np.where(own >= 0, 1 - own, own)
    changed = answers_of(judged.asked, states, answers)
    return judge_items(changed, judged.families, judged.languages)


def found_in_first(order: Sequence[tuple[int, ...]], targets: Sequence[tuple[int, ...]]) -> list[int]:
    """Count the targets among the first items of an order, for each number of items in `FIRST`."""
    wanted = set(targets)
    return [sum(rows in wanted for rows in order[:first]) for first in FIRST]


def table_of(
    title: str, judged: JudgedItems, answers: Answers, candidates: Sequence[tuple[int, ...]], count: int, draws: int
) -> None:
    """Print the means over draws of targets: found in the first 20, 50 and 100, precision and recall."""
    rng = np.random.default_rng(0)
    hits: dict[str, list[list[int]]] = {name: [] for name in ORDERS}
    reasons = []
    suspect_counts = []
    for _ in range(draws):
        places = rng.choice(len(candidates), count, replace=False)
        targets = [candidates[place] for place in places]
        again = planted(judged, answers, targets)
        for name, order in ORDERS.items():
            hits[name].append(found_in_first(order(again), targets))
        suspects = {suspect.rows for suspect in again.suspects}
        reasons.append(len(suspects & set(targets)))
        suspect_counts.append(len(suspects))
    print(f"\n{title}: {count} of {len(candidates):,} planted, {draws} draws, {judged.family_count:,} families")
    print(f"{'order':18}" + "".join(f"{f'first {first}':>12}{'precision':>11}{'recall':>8}" for first in FIRST))
    for name, own in hits.items():
        means = np.mean(own, axis=0)
        cells = ""
        for first, mean in zip(FIRST, means, strict=True):
            shown = min(first, len(judged.ranked))
            cells += f"{mean:>12.1f}{mean / shown:>11.2f}{mean / count:>8.2f}"
        print(f"{name:18}{cells}")
    print(f"with a reason: {np.mean(reasons):.1f} of {count} planted, {np.mean(suspect_counts):.1f} suspects in all")


def judged_board(dataset: Dataset, paths: Sequence[Path], families: str = "agreement") -> tuple[JudgedItems, Answers]:
    """A board judged, and its answers."""
    read = read_answers(dataset, list(paths))
    numbers, _ = families_of(read, families)
    return judge_items(read.answers, numbers, read.languages), read.answers


def single_labels(draws: int) -> None:
    """Labels swapped one by one on the items of the models that are in both leaderboard boards."""
    dataset = winokit.load(f"winogrande:{DATA / 'winogrande' / 'dev.jsonl'}")
    names = ("winogrande_dev_metabench_5476x106.csv.gz", "winogrande_dev_atlas_4680x100.csv.gz")
    read = read_answers(dataset, [BOARDS / name for name in names])
    both = in_all(read)
    numbers, _ = families_of(both, "agreement")
    judged = judge_items(both.answers, numbers)
    paired = {row for pair in judged.pairs for row in pair.rows}
    alone = [(int(row),) for row in judged.rows if int(row) not in paired]
    models = len(both.names)
    table_of(f"Labels alone, {models:,} models x {len(judged.rows)} items", judged, both.answers, alone, 20, draws)
    for title, share in (("strong models only", 0.75), ("weak models only", 0.0)):
        rights = (judged.matrix.states == 1).sum(axis=1) / (judged.matrix.states != -2).sum(axis=1)
        low, high = np.quantile(rights, [share, share + 0.25])
        keep = (rights >= low) & (rights <= high)
        part = kept_scorers(both, keep)
        own_numbers, _ = families_of(part, "agreement")
        own = judge_items(part.answers, own_numbers)
        table_of(f"Labels alone, {title} ({int(keep.sum()):,})", own, part.answers, alone, 20, max(1, draws // 2))


def in_all(read: ItemAnswers) -> ItemAnswers:
    """The models that were asked every item that somebody was asked."""
    answers = read.answers
    assert answers.scorer_index is not None
    counts = np.bincount(answers.scorer_index, minlength=len(answers.scorers))
    return kept_scorers(read, counts == len(np.unique(answers.problem_index)))


def kept_scorers(read: ItemAnswers, keep: BoolArray) -> ItemAnswers:
    """The answers of some scorers."""
    answers = read.answers
    assert answers.scorer_index is not None
    rows = keep[answers.scorer_index]
    numbers = np.cumsum(keep) - 1
    scorers = tuple(scorer for scorer, flag in zip(answers.scorers, keep, strict=True) if flag)
    kept = Answers(
        answers.asked,
        answers.problem_index[rows],
        answers.choices[rows],
        scorers,
        scorer_index=numbers[answers.scorer_index[rows]],
    )
    return ItemAnswers(kept, {}, (), tuple(scorer.model for scorer in scorers))


def whole_pairs(draws: int) -> None:
    """Pairs swapped whole on the runs on WSC: all of them, and the weak ones alone."""
    dataset = winokit.load(str(next((DATA / "wsc").glob("*.xml"))))
    read = read_answers(dataset, [BOARDS / "wsc285_62runs_choices.csv.gz"])
    rights = np.array([own.correct.mean() for _, own in read.answers.by("scorer")])
    parts = {"all runs": np.ones(len(rights), np.bool_), "weak runs": rights < 0.7, "strong runs": rights >= 0.7}
    for title, keep in parts.items():
        part = kept_scorers(read, keep)
        # Runs of one base are no families: prompts and shots are what varies, and the number of runs is small.
        judged = judge_items(part.answers, np.arange(len(part.names)))
        pairs = [pair.rows for pair in judged.pairs]
        name = f"Pairs, {title} ({int(keep.sum())}, {100 * rights[keep].mean():.0f} % right)"
        table_of(name, judged, part.answers, pairs, 7, draws)


def bank_pairs(draws: int) -> None:
    """Print a table per simulation of pairs from the 3PL bank, with varied dependence of twins and no planted error."""
    dataset = winokit.load(f"winogrande:{DATA / 'winogrande' / 'dev.jsonl'}")
    bank = read_bank(BOARDS / "winogrande_dev_atlas_3pl.csv.gz")
    asked = AskedProblems.of(dataset)
    place_of = {name: row for row, name in enumerate(asked.ids)}
    rows_of_groups = [[place_of[problem.id] for problem in group] for group in dataset.groups.values()]
    pairs = [tuple(rows) for rows in rows_of_groups if len(rows) == 2 and all(row in bank for row in rows)]
    rng = np.random.default_rng(0)
    models = 300
    scorers = tuple(Scorer(f"simulated {number}") for number in range(models))
    for band, low, high in (("weak", -2.0, 0.0), ("mixed", -2.0, 2.0), ("strong", 1.0, 3.0)):
        for dependence in (-0.5, 0.0, 0.5):
            abilities = rng.uniform(low, high, models)
            states = np.full((models, len(asked)), -2, np.int8)
            for first, second in pairs:
                draws_of_pair = dependent_draws(rng, models, dependence)
                for row, draw in zip((first, second), draws_of_pair, strict=True):
                    states[:, row] = draw < right_chance(bank[row], abilities)
            empty = Answers(asked, np.zeros(0, np.int64), np.zeros(0, np.int64), scorers)
            answers = answers_of(asked, states.astype(np.int64), empty)
            judged = judge_items(answers, np.arange(models))
            share = 100 * (states == 1).sum() / (states >= 0).sum()
            nothing = len(judged.suspects)
            title = (
                f"Bank, {band} ({share:.0f} % right), dependence {dependence:+.1f}; nothing planted: {nothing} suspects"
            )
            table_of(title, judged, answers, [pair.rows for pair in judged.pairs], 10, max(1, draws // 4))


def read_bank(path: Path) -> dict[int, tuple[float, ...]]:
    """Slope, intercept, lower and upper bound of each item of a 3PL bank, by its row."""
    text = gzip.decompress(path.read_bytes()).decode()
    reader = csv.DictReader(io.StringIO(text))
    return {int(row["dev_row0"]): tuple(float(row[key]) for key in ("a1", "d", "g", "u")) for row in reader}


def right_chance(item: tuple[float, ...], abilities: FloatArray) -> FloatArray:
    """The chance of models of some abilities to be right on an item."""
    slope, intercept, low, high = item
    chances: FloatArray = low + (high - low) / (1 + np.exp(-(slope * abilities + intercept)))
    return chances


def dependent_draws(rng: np.random.Generator, count: int, dependence: float) -> Iterator[FloatArray]:
    """Two uniform numbers each, correlated through a normal copula."""
    from scipy import special

    first = rng.standard_normal(count)
    second = dependence * first + np.sqrt(1 - dependence**2) * rng.standard_normal(count)
    yield special.ndtr(first)
    yield special.ndtr(second)


def languages(draws: int) -> None:
    """Pairs and labels swapped for one model in twelve languages, on WinoGrande's test."""
    rows = [json.loads(line) for line in (DATA / "winogrande" / "test.jsonl").read_text("utf-8").splitlines()]
    hidden = winokit.load(f"winogrande:{DATA / 'winogrande' / 'test.jsonl'}")
    # The label is the last character of the qID: for this table alone, never for what a model sees.
    golds = {row["qID"]: int(row["qID"][-1]) - 1 for row in rows}
    dataset = hidden.with_problems(
        problem.replace(answer=golds[str(problem.provenance["qID"])]) for problem in hidden.problems
    )
    judged, answers = judged_board(dataset, [BOARDS / "winogrande_test_o1mini_12languages.csv.gz"])
    pairs = [pair.rows for pair in judged.pairs]
    table_of("Languages, whole pairs", judged, answers, pairs, 20, max(1, draws // 4))
    paired = {row for pair in pairs for row in pair}
    alone = [(int(row),) for row in judged.rows if int(row) not in paired]
    table_of("Languages, labels alone", judged, answers, alone, 20, max(1, draws // 4))


def nothing_planted(draws: int) -> None:
    """Suspects where right answers follow strength alone, and on the boards as they are."""
    rng = np.random.default_rng(0)
    dataset = winokit.load(f"winogrande:{DATA / 'winogrande' / 'dev.jsonl'}")
    asked = AskedProblems.of(dataset)
    for families in (20, 60, 400):
        counts = []
        scorers = tuple(Scorer(f"simulated {number}") for number in range(families))
        shares = np.linspace(0.55, 0.95, families)[:, None]
        for _ in range(max(1, draws // 10)):
            states = (rng.random((families, len(asked))) < shares).astype(np.int64)
            empty = Answers(asked, np.zeros(0, np.int64), np.zeros(0, np.int64), scorers)
            judged = judge_items(answers_of(asked, states, empty), np.arange(families))
            counts.append(len(judged.suspects))
        said = f"nothing planted, {families} families of 55 to 95 % right"
        print(f"{said}: {np.mean(counts):.1f} suspects of {len(judged.ranked)}")


def speed(draws: int) -> None:
    """CPU seconds and memory of the whole verb with its pages, by the numbers of models and items."""
    dataset = winokit.load(f"winogrande:{DATA / 'winogrande' / 'dev.jsonl'}")
    for models, items in ((1_250, 1_267), (2_500, 1_267), (5_000, 317), (5_000, 634), (5_000, 1_267)):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "board.csv"
            write_simulated(path, models, items, dataset)
            code = CHILD.format(data=DATA / "winogrande" / "dev.jsonl", board=path, out=Path(folder) / "items")
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        seconds, kilobytes, families = done.stdout.split()
        print(
            f"{models:,} models x {items:,} items: {float(seconds):.1f} CPU s, {int(kilobytes) / 2**20:.2f} GB, "
            f"{int(families):,} families"
        )


CHILD = """
import resource, winokit
run = winokit.items("winogrande:{data}", "{board}", out="{out}")
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime, used.ru_maxrss, run.judged.family_count)
"""


def write_simulated(path: Path, models: int, items: int, dataset: Dataset) -> None:
    """A board of fine-tunes of some bases, which differ from their base in a tenth of the items."""
    rng = np.random.default_rng(0)
    bases = rng.random((max(2, models // 5), items)) < rng.uniform(0.5, 0.9, (max(2, models // 5), 1))
    right = bases[rng.integers(len(bases), size=models)] ^ (rng.random((models, items)) < 0.1)
    lines = ["model," + ",".join(map(str, range(items)))]
    for number, flags in enumerate(right.astype(int).tolist()):
        lines.append(f"org/model-{number}," + ",".join(map(str, flags)))
    path.write_text("\n".join(lines) + "\n")


TABLES = {
    "labels": single_labels,
    "pairs": whole_pairs,
    "bank": bank_pairs,
    "languages": languages,
    "none": nothing_planted,
    "speed": speed,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=TABLES, action="append")
    parser.add_argument("--draws", type=int, default=20)
    given = parser.parse_args()
    for name in given.only or TABLES:
        TABLES[name](given.draws)
