"""Measure the growth of every main path: CPU seconds over a decade of sizes, and the exponent of their line.

python benchmarks/growth.py [--most 10000] [--points 4] [--times 3] [--only load stats …] [--figure FILE] [--quick]

Sizes run from a tenth of `--most` on, evenly spaced by their logarithm. A path is run on other problems first, so that
libraries are loaded, then `--times` at every size, each time on other problems of WinoGrande's train_xl, since it may
cache its results; the median counts. Older objects are kept from the garbage collector, which would otherwise walk
through them in one run and not in another. The exponent is the slope of a least-squares line through the logarithms:
1 is linear, and a fixed cost pulls it below. Loading the problems, and making predictions or a release to start from,
is not timed.
"""

import argparse
import contextlib
import gc
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import cycle, product
from pathlib import Path

import numpy as np

import winokit
from winokit.data.checks.checkup import check
from winokit.data.checks.statistics import statistics as counted
from winokit.data.loading import load
from winokit.methods.overlap import overlap
from winokit.methods.scoring.scorer import ScoringPlan, score_variants, write_predictions
from winokit.methods.transforms.variants import make_variants
from winokit.models.random_model import RandomModel
from winokit.stages.audit.run import audit
from winokit.stages.compare.run import compare
from winokit.stages.grade.run import grade
from winokit.stages.release.run import write_release

LINEAR = 1.1
"""Up to this exponent a path grows at most linearly: the tenth is noise and caches."""
VARIANTS = ("switched", "no-cands", "part-sent", "local-context")
Path_ = Callable[[Path, Path], Callable[[], object]]
"""From a file of problems and an empty folder to the function that is timed."""


def loading(data: Path, place: Path) -> Callable[[], object]:
    return lambda: load(data)


def counting(data: Path, place: Path) -> Callable[[], object]:
    problems = load(data)
    return lambda: counted(problems)


def checking(data: Path, place: Path) -> Callable[[], object]:
    problems = load(data)
    return lambda: check([problems])


def auditing(data: Path, place: Path) -> Callable[[], object]:
    problems = load(data)
    datasets = {"original": problems}
    for name, variant in make_variants(problems, VARIANTS).items():
        datasets[name] = variant.problems
    path = place / "predictions.jsonl"
    write_predictions(score_variants(datasets, RandomModel(), ScoringPlan("own")), path)
    return lambda: audit(problems, predictions=[path], out=place / "run")


def scoring(data: Path, place: Path) -> Callable[[], object]:
    problems = load(data)
    return lambda: score_variants({"original": problems}, RandomModel(), ScoringPlan("own"))


def filtering(data: Path, place: Path) -> Callable[[], object]:
    count = len(load(data))
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, count)
    X = rng.standard_normal((count, 128)).astype(np.float32)
    X[:, 0] += 2 * y - 1
    # In proportion: as many phases at every size, so that rows are all that grows.
    sizes = {"train_size": count // 3, "cutoff": max(1, count // 80)}
    return lambda: winokit.AFLite(ensemble_size=16, threshold=0.75, seed=0, backend="numpy", **sizes).fit(X, y)


def overlapping(data: Path, place: Path) -> Callable[[], object]:
    problems = load(data)
    half = len(problems) // 2
    return lambda: overlap(problems[:half], problems[half:])


def releasing(data: Path, place: Path) -> Callable[[], object]:
    problems = load(data)
    return lambda: write_release(problems, place / "release")


def grading(data: Path, place: Path) -> Callable[[], object]:
    release = write_release(load(data), place / "release")
    submission = place / "predictions.lst"
    write_labels(submission, len(release.contents.files["test"]), np.random.default_rng(0))
    about = {"system": "coin", "formalization": "none", "training_data": "none", "trials": 1}
    return lambda: grade(place / "release", [submission], owner=True, **about)


def comparing(data: Path, place: Path) -> Callable[[], object]:
    problems = load(data)
    rng = np.random.default_rng(0)
    runs = {}
    for name in ("one", "other"):
        path = place / f"{name}.lst"
        write_labels(path, len(problems), rng)
        runs[name] = audit(problems, predictions=[path], protocol=["accuracy", "groups"])
    return lambda: compare(runs)


def write_labels(path: Path, count: int, rng: np.random.Generator) -> None:
    """Write a file with a random label, 1 or 2, on each line."""
    labels = rng.integers(1, 3, count)
    path.write_text("".join(f"{label}\n" for label in labels))


PATHS: dict[str, Path_] = {
    "load": loading,
    "stats": counting,
    "check": checking,
    "audit of predictions, with its page": auditing,
    "score with random": scoring,
    "AFLite, NumPy, 128 wide": filtering,
    "overlap of two halves": overlapping,
    "release": releasing,
    "grade": grading,
    "compare two runs": comparing,
}


def measured(path: Path_, files: dict[int, list[Path]], other: Path, place: Path) -> Iterator[tuple[int, float]]:
    """Yield each size with the median CPU seconds over its files, after a run on `other`.

    Folders for the runs are made in `place`.
    """
    path_name = path.__name__
    time_once(path, other, place / f"{path_name}0-0")
    for size, parts in files.items():
        seconds = []
        for number, data in enumerate(parts):
            seconds.append(time_once(path, data, place / f"{path_name}{size}-{number}"))
        yield size, statistics.median(seconds)


def time_once(path: Path_, data: Path, folder: Path) -> float:
    """Make a folder, run a path in it, and return the CPU seconds without the preparation."""
    folder.mkdir()
    action = path(data, folder)
    gc.collect()
    gc.freeze()
    start = time.process_time()
    action()
    seconds = time.process_time() - start
    gc.unfreeze()
    return seconds


def exponent(times: dict[int, float]) -> float:
    """Slope of the line through the logarithms of sizes and seconds.

    >>> round(exponent({10: 1.0, 100: 100.0}), 2)
    2.0
    """
    return float(np.polyfit(np.log(list(times)), np.log(list(times.values())), 1)[0])


def draw(costs: dict[str, dict[int, float]], path: Path) -> None:
    """Draw all paths with their exponents, and a line of slope 1.

    `costs` are seconds by the title of a path and the size; the figure is written to `path`.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from winokit.drawing.figures import COLOURS, DPI, GREY, STYLE

    with rc_context(STYLE):
        figure = Figure(figsize=(7.5, 4.6), layout="constrained")
        ax = figure.add_subplot()
        for (linestyle, colour), (name, times) in zip(
            cycle(product(("-", "--"), COLOURS)), costs.items(), strict=False
        ):
            style = {"color": colour, "linestyle": linestyle}
            label = f"{name}: {exponent(times):.2f}"
            ax.loglog(list(times), list(times.values()), marker="o", ms=4, label=label, **style)
        first_times = next(iter(costs.values()))
        sizes = np.array(list(first_times), float)
        lowest = min(min(times.values()) for times in costs.values())
        ax.loglog(sizes, lowest / 2 * sizes / sizes[0], color=GREY, linestyle=":", label="linear: 1")
        ax.set_xticks(sizes, [f"{size:,.0f}" for size in sizes])
        ax.minorticks_off()
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.set(xlabel="problems", ylabel="CPU seconds")
        ax.grid(color="#e2e1db", linewidth=0.8)
        figure.legend(loc="outside right upper", frameon=False, fontsize="small", handlelength=3.5)
        figure.savefig(path, dpi=DPI)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=10_000)
    parser.add_argument("--points", type=int, default=4)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=[first_word(title) for title in PATHS])
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--quick", action="store_true", help="100 to 1,000 problems, once")
    args = parser.parse_args()
    if args.quick:
        args.most = 1_000
        args.times = 1
    folder = Path(os.environ.get("WINOKIT_DATA") or Path(__file__).parents[2] / "shared" / "data")
    source = folder / "winogrande" / "train_xl.jsonl"
    if not source.exists():
        print(f"growth: skipped, {source.name} is not there; set WINOKIT_DATA")
        return
    paths = {}
    for title, path in PATHS.items():
        if not args.only or first_word(title) in args.only:
            paths[title] = path
    lines = source.read_text("utf-8").splitlines(keepends=True)
    sizes = np.geomspace(args.most / 10, args.most, args.points).round(-1).astype(int).tolist()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        os.environ["WINOKIT_STATE"] = str(place / "state")  # Nothing of this is to be remembered.
        other = place / "other.jsonl"
        other.write_text("".join(lines[-min(sizes) :]), "utf-8")
        files = write_parts(lines, sizes, args.times, place)
        costs = print_costs(paths, files, other, place)
    if args.figure:
        draw(costs, args.figure)


def first_word(title: str) -> str:
    """First word of a path's title, by which `--only` names it."""
    return title.split()[0].strip(",")


def write_parts(lines: list[str], sizes: list[int], times: int, place: Path) -> dict[int, list[Path]]:
    """Write files of problems, `times` of each size with different problems, and return their paths by size."""
    most = max(sizes)
    files: dict[int, list[Path]] = {}
    for size in sizes:
        files[size] = []
        for number in range(times):
            part = lines[number * most :][:size]
            path = place / f"train_{size}-{number}.jsonl"
            path.write_text("".join(part), "utf-8")
            files[size].append(path)
    return files


def print_costs(
    paths: dict[str, Path_], files: dict[int, list[Path]], other: Path, place: Path
) -> dict[str, dict[int, float]]:
    """Measure each path and print its row, and return the seconds by title and size."""
    costs = {}
    sizes = " | ".join(f"{size:,}" for size in files)
    print(f"| path | {sizes} | exponent | |")
    print("|---|" + "---|" * (len(files) + 2))
    for title, path in paths.items():
        with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stderr(nowhere):  # notes of the verbs
            times = dict(measured(path, files, other, place))
        slope = exponent(times)
        cells = " | ".join(f"{seconds:.3f} s" for seconds in times.values())
        growth = "more" if slope > LINEAR else "at most linear"
        print(f"| {title} | {cells} | {slope:.2f} | {growth} |", flush=True)
        costs[title] = times
    return costs


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
