"""Grading a submission of 1,767 problems by five sizes, process start included, against a plain Python loop.

python benchmarks/grade.py [--problems 1767] [--runs 7] [--quick]

The loop is what one would write with the standard library alone: read both files line by line, count what is right for
each size, and take the area under the curve. It has no groups, no intervals, no luck and no checks. Both are started as
processes of their own, in turn; the table has the median and the best of all runs.
"""

import argparse
import json
import os
import random
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from winokit.data.synthetic import synthetic
from winokit.stages.release.hidden import SECRET, hidden_folder, label_lines, write_hidden
from winokit.stages.release.manifest import write_manifest

SIZES = {"train_xs": 160, "train_s": 640, "train_m": 2_558, "train_l": 10_234, "train_xl": 40_398}
LOOP = """
import math, sys
labels = [line.strip() for line in open(sys.argv[1])]
right = [0] * 5
for label, line in zip(labels, open(sys.argv[2])):
    for size, predicted in enumerate(line.strip().split(",")):
        right[size] += predicted == label
accuracies = [count / len(labels) for count in right]
x = [math.log2(size) for size in (160, 640, 2558, 10234, 40398)]
area = sum((x[i + 1] - x[i]) * (accuracies[i] + accuracies[i + 1]) / 2 for i in range(4)) / (x[4] - x[0])
print(accuracies, area)
"""


def main() -> None:
    """Print the seconds of grading, of the plain loop, and of Python alone."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=1_767)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="200 problems, two runs")
    args = parser.parse_args()
    if args.quick:
        args.problems = 200
        args.runs = 2
    with tempfile.TemporaryDirectory() as place:
        os.environ["WINOKIT_STATE"] = f"{place}/state"  # Nothing of this is to be remembered.
        release, labels, submission = made(Path(place), args.problems)
        commands = {
            "winokit grade": [sys.executable, "-m", "winokit", "grade", str(release), str(submission), "--json"],
            "plain loop": [sys.executable, "-c", LOOP, str(labels), str(submission)],
            "python alone": [sys.executable, "-c", "pass"],
        }
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(args.runs):
            for name, command in commands.items():
                started = time.perf_counter()
                done = subprocess.run(command, capture_output=True, check=True, text=True)
                seconds[name].append(time.perf_counter() - started)
                if name == "winokit grade":
                    scores = json.loads(done.stdout)["scores"]
        print(f"{args.problems:,} problems x 5 sizes, {len(scores)} scores with intervals, {args.runs} runs")
        for name, took in seconds.items():
            print(f"{name:14}  median {statistics.median(took):.3f} s  best {min(took):.3f} s")
        ratio = statistics.median(seconds["winokit grade"]) / statistics.median(seconds["plain loop"])
        print(f"winokit grade takes {ratio:.1f} times the plain loop, process start included")


def made(place: Path, n: int) -> tuple[Path, Path, Path]:
    """Write a release of which only the test matters, labels for the loop, and a submission that learns.

    Returns their three paths.
    """
    rng = random.Random(0)
    release = place / "release"
    problems = list(synthetic((n + 1) // 2))[:n]
    rows = [{"qID": p.id, "sentence": p.text, "option1": p.candidates[0], "option2": p.candidates[1]} for p in problems]
    (release / "winogrande").mkdir(parents=True)
    (release / "winogrande" / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    write_manifest(release, {"name": "benchmark", "version": "1.0", "counts": SIZES | {"test": n}})
    hidden = [{"id": p.id, "answer": p.answer, "group": p.group} for p in problems]
    write_hidden(hidden_folder(release), {"name": "benchmark", "version": "1.0"}, label_lines(hidden))
    secret = hidden_folder(release) / SECRET
    secret.write_text(secrets.token_hex(32))
    secret.chmod(0o600)
    labels = place / "labels.lst"
    labels.write_text("".join(f"{p.answer + 1}\n" for p in problems))
    columns = []
    for skill in (0.5, 0.6, 0.7, 0.75, 0.8):
        column = []
        for problem in problems:
            is_right = rng.random() < skill
            column.append(problem.answer + 1 if is_right else 2 - problem.answer)
        columns.append(column)
    submission = place / "predictions.lst"
    submission.write_text("".join(",".join(map(str, row)) + "\n" for row in zip(*columns, strict=True)))
    return release, labels, submission


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
