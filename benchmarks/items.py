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
from itertools import chain, compress
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
"""Numbers of items that a person reads from the head of the queue."""
Order = Callable[[JudgedItems], list[tuple[int, ...]]]


def queue_order(judged: JudgedItems) -> list[tuple[int, ...]]:
    """Rows of each suspect, in the order of the tool, whether a rule gives a reason or not."""
    return [suspect.rows for suspect in judged.ranked]


def majority_order(judged: JudgedItems) -> list[tuple[int, ...]]:
    """Order by the share of all families that are right, a pair by the mean of its twins."""
    rights = {item.row: item.right.value for item in judged.items}

    def mean_right(rows: tuple[int, ...]) -> float:
        return float(np.mean([rights[row] for row in rows]))

    return sorted(queue_order(judged), key=mean_right)


def rest_order(judged: JudgedItems) -> list[tuple[int, ...]]:
    """Order by the item-rest correlation alone, taken as 0 if there is none."""
    rests = {(item.row,): item.rest for item in judged.items}
    rests |= {pair.rows: pair.rest for pair in judged.pairs}

    def rest_of(rows: tuple[int, ...]) -> float:
        rest = rests[rows]
        return 0.0 if rest is None else rest.value

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
    """Make answers of the scorers of `answers` from states: 1 right, 0 wrong, -1 silent, -2 not asked.

    States have a row per scorer and a column per problem.
    """
    scorer_index, problem_index = np.nonzero(states != -2)
    answer_states = states[scorer_index, problem_index]
    right_choices = asked.answers[problem_index]
    choices = np.select([answer_states == 1, answer_states == 0], [right_choices, 1 - right_choices], -1)
    return Answers(asked, problem_index, choices, answers.scorers, scorer_index=scorer_index)


def planted(judged: JudgedItems, answers: Answers, targets: Sequence[tuple[int, ...]]) -> JudgedItems:
    """Judge the same answers again, with the labels of the targets swapped."""
    states = judged.matrix.states.copy()
    rows = list(chain.from_iterable(targets))
    target_states = states[:, rows]
    states[:, rows] = np.where(target_states >= 0, 1 - target_states, target_states)
    answers_to_swapped = answers_of(judged.asked, states, answers)
    return judge_items(answers_to_swapped, judged.families, judged.languages)


def found_in_first(order: Sequence[tuple[int, ...]], targets: Sequence[tuple[int, ...]]) -> list[int]:
    """Count the targets among the first items of an order, for each number of items in `FIRST`."""
    target_set = set(targets)
    is_target = [rows in target_set for rows in order]
    return [sum(is_target[:first]) for first in FIRST]


def table_of(
    title: str, judged: JudgedItems, answers: Answers, candidates: Sequence[tuple[int, ...]], count: int, draws: int
) -> None:
    """Plant errors again and again, and print how many are in the first 20, 50 and 100 items of each order.

    `count` of the candidates are planted in each draw. Printed are means, with precision and recall.
    """
    rng = np.random.default_rng(0)
    hits: dict[str, list[list[int]]] = {name: [] for name in ORDERS}
    hits_with_reason = []
    suspect_counts = []
    for _ in range(draws):
        places = rng.choice(len(candidates), count, replace=False)
        targets = [candidates[place] for place in places]
        judged_swapped = planted(judged, answers, targets)
        for name, order in ORDERS.items():
            hits[name].append(found_in_first(order(judged_swapped), targets))
        suspects = {suspect.rows for suspect in judged_swapped.suspects}
        hits_with_reason.append(len(suspects & set(targets)))
        suspect_counts.append(len(suspects))
    print(f"\n{title}: {count} of {len(candidates):,} planted, {draws} draws, {judged.family_count:,} families")
    header = ""
    for first in FIRST:
        header += f"{f'first {first}':>12}{'precision':>11}{'recall':>8}"
    print(f"{'order':18}{header}")
    for name, hits_of_order in hits.items():
        cells = ""
        for first, mean in zip(FIRST, np.mean(hits_of_order, axis=0), strict=True):
            read_count = min(first, len(judged.ranked))
            cells += f"{mean:>12.1f}{mean / read_count:>11.2f}{mean / count:>8.2f}"
        print(f"{name:18}{cells}")
    mean_with_reason = np.mean(hits_with_reason)
    print(f"with a reason: {mean_with_reason:.1f} of {count} planted, {np.mean(suspect_counts):.1f} suspects in all")


def judged_board(dataset: Dataset, paths: Sequence[Path], families: str = "agreement") -> tuple[JudgedItems, Answers]:
    """Read a board, judge it, and return both the judgement and the answers."""
    board = read_answers(dataset, list(paths))
    numbers, _ = families_of(board, families)
    return judge_items(board.answers, numbers, board.languages), board.answers


def rows_alone(judged: JudgedItems) -> list[tuple[int, ...]]:
    """Rows of the items that are in no pair, each in a tuple of its own."""
    paired_rows = set(chain.from_iterable(pair.rows for pair in judged.pairs))
    return [(int(row),) for row in judged.rows if int(row) not in paired_rows]


def single_labels(draws: int) -> None:
    """Print tables of labels swapped one by one, on the models that are in both leaderboard boards."""
    dataset = winokit.load(f"winogrande:{DATA / 'winogrande' / 'dev.jsonl'}")
    names = ("winogrande_dev_metabench_5476x106.csv.gz", "winogrande_dev_atlas_4680x100.csv.gz")
    board = read_answers(dataset, [BOARDS / name for name in names])
    both = in_all(board)
    numbers, _ = families_of(both, "agreement")
    judged = judge_items(both.answers, numbers)
    alone = rows_alone(judged)
    models = len(both.names)
    table_of(f"Labels alone, {models:,} models x {len(judged.rows)} items", judged, both.answers, alone, 20, draws)
    states = judged.matrix.states
    rights = (states == 1).sum(axis=1) / (states != -2).sum(axis=1)
    for title, share in (("strong models only", 0.75), ("weak models only", 0.0)):
        low, high = np.quantile(rights, [share, share + 0.25])
        keep = (rights >= low) & (rights <= high)
        part = kept_scorers(both, keep)
        part_numbers, _ = families_of(part, "agreement")
        judged_part = judge_items(part.answers, part_numbers)
        part_title = f"Labels alone, {title} ({int(keep.sum()):,})"
        table_of(part_title, judged_part, part.answers, alone, 20, max(1, draws // 2))


def in_all(board: ItemAnswers) -> ItemAnswers:
    """Answers of the models that were asked every item of a board."""
    answers = board.answers
    assert answers.scorer_index is not None
    counts = np.bincount(answers.scorer_index, minlength=len(answers.scorers))
    return kept_scorers(board, counts == len(np.unique(answers.problem_index)))


def kept_scorers(board: ItemAnswers, keep: BoolArray) -> ItemAnswers:
    """Answers of some scorers of a board, by a flag for each."""
    answers = board.answers
    assert answers.scorer_index is not None
    rows = keep[answers.scorer_index]
    numbers = np.cumsum(keep) - 1
    scorers = tuple(compress(answers.scorers, keep))
    kept_answers = Answers(
        answers.asked,
        answers.problem_index[rows],
        answers.choices[rows],
        scorers,
        scorer_index=numbers[answers.scorer_index[rows]],
    )
    return ItemAnswers(kept_answers, {}, (), tuple(scorer.model for scorer in scorers))


def whole_pairs(draws: int) -> None:
    """Print tables of pairs swapped whole on the runs on WSC: all of them, the weak and the strong ones."""
    dataset = winokit.load(str(next((DATA / "wsc").glob("*.xml"))))
    board = read_answers(dataset, [BOARDS / "wsc285_62runs_choices.csv.gz"])
    rights = np.array([answers.correct.mean() for _, answers in board.answers.by("scorer")])
    parts = {"all runs": np.ones(len(rights), np.bool_), "weak runs": rights < 0.7, "strong runs": rights >= 0.7}
    for title, keep in parts.items():
        part = kept_scorers(board, keep)
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
    row_of_id = {problem_id: row for row, problem_id in enumerate(asked.ids)}
    pairs = []
    for group in dataset.groups.values():
        rows = [row_of_id[problem.id] for problem in group]
        if len(rows) == 2 and bank.keys() >= set(rows):
            pairs.append(rows)
    rng = np.random.default_rng(0)
    models = 300
    for band, low, high in (("weak", -2.0, 0.0), ("mixed", -2.0, 2.0), ("strong", 1.0, 3.0)):
        for dependence in (-0.5, 0.0, 0.5):
            abilities = rng.uniform(low, high, models)
            states = np.full((models, len(asked)), -2, np.int8)
            for pair in pairs:
                draws_of_pair = dependent_draws(rng, models, dependence)
                for row, draws_of_row in zip(pair, draws_of_pair, strict=True):
                    states[:, row] = draws_of_row < right_chance(bank[row], abilities)
            answers = answers_of(asked, states.astype(np.int64), empty_answers(asked, models))
            judged = judge_items(answers, np.arange(models))
            right_percent = 100 * (states == 1).sum() / (states >= 0).sum()
            band_title = f"Bank, {band} ({right_percent:.0f} % right), dependence {dependence:+.1f}"
            title = f"{band_title}; nothing planted: {len(judged.suspects)} suspects"
            table_of(title, judged, answers, [pair.rows for pair in judged.pairs], 10, max(1, draws // 4))


def empty_answers(asked: AskedProblems, models: int) -> Answers:
    """Answers of simulated scorers without a row."""
    scorers = tuple(Scorer(f"simulated {number}") for number in range(models))
    return Answers(asked, np.zeros(0, np.int64), np.zeros(0, np.int64), scorers)


def read_bank(path: Path) -> dict[int, tuple[float, ...]]:
    """Slope, intercept, lower and upper bound of each item of a 3PL bank, by its row."""
    text = gzip.decompress(path.read_bytes()).decode()
    items = {}
    for row in csv.DictReader(io.StringIO(text)):
        items[int(row["dev_row0"])] = (float(row["a1"]), float(row["d"]), float(row["g"]), float(row["u"]))
    return items


def right_chance(item: tuple[float, ...], abilities: FloatArray) -> FloatArray:
    """Chance of models of these abilities to be right on an item of a 3PL bank."""
    slope, intercept, low, high = item
    chances: FloatArray = low + (high - low) / (1 + np.exp(-(slope * abilities + intercept)))
    return chances


def dependent_draws(rng: np.random.Generator, count: int, dependence: float) -> Iterator[FloatArray]:
    """Draw two arrays of `count` uniform numbers, correlated through a normal copula."""
    from scipy import special

    first = rng.standard_normal(count)
    second = dependence * first + np.sqrt(1 - dependence**2) * rng.standard_normal(count)
    yield special.ndtr(first)
    yield special.ndtr(second)


def languages(draws: int) -> None:
    """Print tables of pairs and labels swapped for one model in twelve languages, on WinoGrande's test."""
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
    table_of("Languages, labels alone", judged, answers, rows_alone(judged), 20, max(1, draws // 4))


def nothing_planted(draws: int) -> None:
    """Print the mean number of suspects where right answers depend on the models' strength alone."""
    rng = np.random.default_rng(0)
    dataset = winokit.load(f"winogrande:{DATA / 'winogrande' / 'dev.jsonl'}")
    asked = AskedProblems.of(dataset)
    for families in (20, 60, 400):
        suspect_counts = []
        shares = np.linspace(0.55, 0.95, families)[:, None]
        for _ in range(max(1, draws // 10)):
            states = (rng.random((families, len(asked))) < shares).astype(np.int64)
            answers = answers_of(asked, states, empty_answers(asked, families))
            judged = judge_items(answers, np.arange(families))
            suspect_counts.append(len(judged.suspects))
        setting = f"nothing planted, {families} families of 55 to 95 % right"
        print(f"{setting}: {np.mean(suspect_counts):.1f} suspects of {len(judged.ranked)}")


def speed(draws: int) -> None:
    """Print the CPU seconds and memory of the whole verb with its pages, by the numbers of models and items.

    `draws` is not used.
    """
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
    """Write a board of fine-tunes of some bases, which differ from their base in a tenth of the items."""
    rng = np.random.default_rng(0)
    base_count = max(2, models // 5)
    base_draws = rng.random((base_count, items))
    base_shares = rng.uniform(0.5, 0.9, (base_count, 1))
    is_base_right = base_draws < base_shares
    bases = rng.integers(base_count, size=models)
    differs = rng.random((models, items)) < 0.1
    is_right = is_base_right[bases] ^ differs
    lines = ["model," + ",".join(map(str, range(items)))]
    for number, flags in enumerate(is_right.astype(int).tolist()):
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=TABLES, action="append")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="the table of nothing planted, one draw")
    args = parser.parse_args()
    if args.quick:
        args.only = ["none"]
        args.draws = 1
    if not (DATA / "winogrande" / "dev.jsonl").exists():
        print("items: skipped; it needs WINOKIT_DATA with winogrande/")
        return
    for name in args.only or TABLES:
        TABLES[name](args.draws)


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
