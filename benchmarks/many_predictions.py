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
from pathlib import Path

import numpy as np

from winokit.stages.audit.run import audit

FILES = 180


def noisy(rows: list[list[str]], share: float, seed: int) -> list[list[str]]:
    """The rows with a share of their predictions turned."""
    column = rows[0].index("prediction")
    turned = np.random.default_rng(seed).random(len(rows)) < share
    turned[0] = False
    return [
        [str(3 - int(cell)) if place == column and turn and cell else cell for place, cell in enumerate(row)]
        for row, turn in zip(rows, turned, strict=True)
    ]


def main() -> None:
    folder = Path(os.environ.get("WINOKIT_DATA") or Path(__file__).parents[2] / "shared" / "data")
    public, data = folder / "predictions" / "roberta_winogrande_dev.csv", folder / "winogrande" / "dev.jsonl"
    if not public.exists() or not data.exists():
        print(f"many predictions: skipped, {public.name} or {data.name} is not there; set WINOKIT_DATA")
        return
    quick = "--quick" in sys.argv
    count = 6 if quick else int(sys.argv[1]) if len(sys.argv) > 1 else FILES
    with public.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    with tempfile.TemporaryDirectory() as place:
        paths = [Path(place) / f"noise{number:03}.csv" for number in range(count)]
        for number, path in enumerate(paths):
            with path.open("w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows(noisy(rows, 0.5 * number / count, number))
        audit(data, predictions=paths[:1], out=Path(place) / "first")  # libraries load
        alone = time.process_time()
        audit(data, predictions=paths[:1], out=Path(place) / "one")
        alone = time.process_time() - alone
        start, busy = time.perf_counter(), time.process_time()
        run = audit(data, predictions=paths, out=Path(place) / "run")
        seconds, busy = time.perf_counter() - start, time.process_time() - busy
        report = run.report.parent if run.report else Path(place)
        page = (report / "index.html").stat().st_size / 1e6
        whole = sum(path.stat().st_size for path in report.rglob("*") if path.is_file()) / 1e6
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{count:,} files, {len(run.predictions):,} predictions, {len(run.metrics):,} rows")
    print(f"audit, files and report {seconds:6.2f} s ({busy:.2f} s of one core), {memory:.2f} GB at most")
    print(f"{count * alone / busy:.1f} x as fast as {count:,} audits of one file ({alone:.2f} s of one core each)")
    print(f"page {page:.2f} MB, report folder {whole:.2f} MB")


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
