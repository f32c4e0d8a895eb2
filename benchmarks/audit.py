"""Two audits people wait for, each against what it cannot do without.

python benchmarks/audit.py [train_xl.jsonl] [--only stored|default] [--quick]

stored   40,398 problems in five variants from predictions alone, against a plain json parse of the predictions.
default  `winokit audit` without arguments and without kept answers, against the matrix products of the built-in model
         alone: as many float32 operations, by NumPy, in as many threads.

Times are CPU seconds, which a busy machine disturbs least; wall seconds stand beside them. --quick takes WinoGrande's
dev for the first and 20 problems for the second.
"""

import argparse
import json
import os
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

import winokit
from winokit.data.loading import load
from winokit.methods.scoring.scorer import ScoringPlan, score_variants, write_predictions
from winokit.methods.transforms.variants import make_variants
from winokit.models.builtin import BuiltinModel
from winokit.models.random_model import RandomModel
from winokit.stages.audit.page import write_report
from winokit.stages.audit.run import audit

VARIANTS = ("switched", "no-cands", "part-sent", "local-context")
LAYERS, WIDTH, VOCABULARY = 6, 384, 30_522
"""Of the built-in model: 12 x width² weights a layer, of which the last has 2 x width² for every token that is read and
the rest for each that is guessed, and width x vocabulary for each token that is guessed."""


class Clock:
    """CPU and wall seconds since it was made."""

    def __init__(self) -> None:
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def __call__(self) -> tuple[float, float]:
        return time.process_time() - self.cpu, time.perf_counter() - self.wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("--only", choices=("stored", "default"))
    parser.add_argument("--quick", action="store_true", help="few problems: seconds, to see it run")
    args = parser.parse_args()
    if args.only != "default":
        stored(args.data, args.quick)
    if args.only != "stored":
        default(20 if args.quick else None)


def stored(path: Path | None, quick: bool) -> None:
    """An audit of stored predictions against a parse of their file."""
    folder = Path(os.environ.get("WINOKIT_DATA") or Path(__file__).parents[2] / "shared" / "data")
    path = path or folder / "winogrande" / f"{'dev' if quick else 'train_xl'}.jsonl"
    if not path.exists():
        print(f"audit: skipped, {path.name} is not there; set WINOKIT_DATA or name the file")
        return
    with tempfile.TemporaryDirectory() as place:
        rows = Path(place) / "predictions.jsonl"
        if os.fork() == 0:  # in a process of its own, so that its memory does not count
            dataset = load(path)
            made = make_variants(dataset)
            everything = {"original": dataset} | {name: made[name].problems for name in VARIANTS}
            write_predictions(score_variants(everything, RandomModel(), ScoringPlan("own")), rows)
            os._exit(0)
        os.wait()
        clock = Clock()
        count = sum(1 for line in rows.open(encoding="utf-8") if json.loads(line))
        plain = clock()
        clock = Clock()
        run = audit(load(path), predictions=[rows])
        audited = clock()
        run.save(Path(place) / "run")
        write_report(run, Path(place) / "run" / "report")
        whole = clock()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"plain json parse of {count:,} rows  {plain[0]:6.2f} s of CPU, {plain[1]:6.2f} s")
    for name, (cpu, wall), more in (("audit", audited, ""), ("audit, files and report", whole, f", {memory:.2f} GB")):
        print(f"{name:28}{cpu:12.2f} s of CPU, {wall:6.2f} s  {cpu / plain[0]:5.1f} x plain json by CPU{more}")


def default(limit: int | None) -> None:
    """The audit of the bundled twins by the built-in model, against the model's matrix products."""
    operations, plain_run = 0, BuiltinModel._run_graph

    def counted(self, texts, positions, output):
        nonlocal operations
        read = len(texts) * max(map(len, texts))
        layers = read * ((LAYERS - 1) * 12 + 2) + len(positions) * 10
        operations += 2 * (layers * WIDTH**2 + len(positions) * WIDTH * VOCABULARY)
        return plain_run(self, texts, positions, output)

    BuiltinModel._run_graph = counted
    with tempfile.TemporaryDirectory() as place:
        clock = Clock()
        winokit.audit(limit=limit, cache="off", out=Path(place) / "run")
        cpu, wall = clock()
    BuiltinModel._run_graph = plain_run
    a, b = np.ones((1024, WIDTH), np.float32), np.ones((WIDTH, 4 * WIDTH), np.float32)
    times = max(1, round(operations / 10 / (2 * 1024 * WIDTH * 4 * WIDTH)))
    a @ b
    clock = Clock()
    for _ in range(times):
        a @ b
    products = [10 * seconds for seconds in clock()]
    print(f"{operations / 1e12:.2f} x 10¹² operations take NumPy {products[0]:.2f} s of CPU, {products[1]:.2f} s")
    print(f"winokit audit, no arguments  {cpu:.2f} s of CPU, {wall:.2f} s  {cpu / products[0]:.2f} x by CPU")


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
