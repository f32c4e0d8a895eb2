"""An audit of 40,398 problems in five variants from predictions alone: seconds and memory, against reading the rows.

python benchmarks/audit.py [train_xl.jsonl]
"""

import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from winokit.data.loading import load
from winokit.methods.scoring.scorer import ScoringPlan, score_variants, write_predictions
from winokit.methods.transforms.variants import make_variants
from winokit.models.random_model import RandomModel
from winokit.stages.audit.page import write_report
from winokit.stages.audit.run import audit

VARIANTS = ("switched", "no-cands", "part-sent", "local-context")


def main() -> None:
    folder = Path(os.environ.get("WINOKIT_DATA") or Path(__file__).parents[2] / "shared" / "data")
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else folder / "winogrande" / "train_xl.jsonl"
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
        start = time.perf_counter()
        count = sum(1 for line in rows.open(encoding="utf-8") if json.loads(line))
        plain = time.perf_counter() - start
        start = time.perf_counter()
        run = audit(load(path), predictions=[rows])
        audited = time.perf_counter() - start
        run.save(Path(place) / "run")
        write_report(run, Path(place) / "run" / "report")
        whole = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"plain json parse of {count:,} rows  {plain:6.2f} s")
    print(f"audit                        {audited:6.2f} s  {audited / plain:5.1f} x plain json")
    print(f"audit, files and report      {whole:6.2f} s  {whole / plain:5.1f} x plain json  {memory:.2f} GB at most")


if __name__ == "__main__":
    main()
