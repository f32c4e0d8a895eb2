"""An audit of many files of predictions at once: the public RoBERTa's on WinoGrande dev with ever more answers turned.

python benchmarks/many_predictions.py [files | --quick]    # 180 by default, 6 with --quick

Printed beside it is what as many audits of one file each would take: reading the problems, finding twins and drawing
are done once here.
"""

import csv
import os
import resource
import sys
import tempfile
import time
from itertools import compress
from pathlib import Path

import numpy as np

from winokit.stages.audit.run import audit

FILES = 180


def noisy(rows: list[list[str]], share: float, seed: int) -> list[list[str]]:
    """Copy rows of a CSV file with a share of their predictions changed to the other label.

    The first row is the header.
    """
    column = rows[0].index("prediction")
    is_changed = np.random.default_rng(seed).random(len(rows)) < share
    is_changed[0] = False
    copies = [list(row) for row in rows]
    for row in compress(copies, is_changed):
        if row[column]:
            row[column] = str(3 - int(row[column]))
    return copies


def main() -> None:
    """Print the seconds and the memory of one audit of many files, beside audits of one file."""
    folder = Path(os.environ.get("WINOKIT_DATA") or Path(__file__).parents[2] / "shared" / "data")
    public = folder / "predictions" / "roberta_winogrande_dev.csv"
    data = folder / "winogrande" / "dev.jsonl"
    if not public.exists() or not data.exists():
        print(f"many predictions: skipped, {public.name} or {data.name} is not there; set WINOKIT_DATA")
        return
    count = FILES
    if "--quick" in sys.argv:
        count = 6
    elif len(sys.argv) > 1:
        count = int(sys.argv[1])
    with public.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    with tempfile.TemporaryDirectory() as place:
        paths = [Path(place) / f"noise{number:03}.csv" for number in range(count)]
        for number, path in enumerate(paths):
            with path.open("w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows(noisy(rows, 0.5 * number / count, number))
        audit(data, predictions=paths[:1], out=Path(place) / "first")  # libraries load
        start_alone = time.process_time()
        audit(data, predictions=paths[:1], out=Path(place) / "one")
        cpu_alone = time.process_time() - start_alone
        start = time.perf_counter()
        cpu_start = time.process_time()
        run = audit(data, predictions=paths, out=Path(place) / "run")
        seconds = time.perf_counter() - start
        cpu_seconds = time.process_time() - cpu_start
        report = run.report.parent if run.report else Path(place)
        page = (report / "index.html").stat().st_size / 1e6
        folder_size = sum(path.stat().st_size for path in report.rglob("*") if path.is_file()) / 1e6
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{count:,} files, {len(run.predictions):,} predictions, {len(run.metrics):,} rows")
    print(f"audit, files and report {seconds:6.2f} s ({cpu_seconds:.2f} s of one core), {memory:.2f} GB at most")
    speed = count * cpu_alone / cpu_seconds
    print(f"{speed:.1f} x as fast as {count:,} audits of one file ({cpu_alone:.2f} s of one core each)")
    print(f"page {page:.2f} MB, report folder {folder_size:.2f} MB")


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
