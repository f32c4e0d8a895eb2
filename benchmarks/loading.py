"""Loading WinoGrande's train_xl and finding its twins without ids, as ratios to a plain json parse of the same file.

python benchmarks/loading.py [train_xl.jsonl] [--quick]
"""

import json
import os
import sys
import time
from pathlib import Path

from winokit.data.checks.groups import find_groups
from winokit.data.formats import read


def best(action, tries=5):
    """Least wall seconds of a few tries, and the last result."""
    least = float("inf")
    for _ in range(tries):
        start = time.perf_counter()
        result = action()
        least = min(least, time.perf_counter() - start)
    return least, result


def main() -> None:
    folder = Path(os.environ.get("WINOKIT_DATA") or Path(__file__).parents[2] / "shared" / "data")
    named, quick = [name for name in sys.argv[1:] if name != "--quick"], "--quick" in sys.argv
    path = Path(named[0]) if named else folder / "winogrande" / f"{'dev' if quick else 'train_xl'}.jsonl"
    if not path.exists():
        print(f"loading: skipped, {path.name} is not there; set WINOKIT_DATA or name the file")
        return
    plain, rows = best(lambda: [json.loads(line) for line in path.open(encoding="utf-8")])
    loaded, dataset = best(lambda: read(path))
    grouped, grouping = best(lambda: find_groups(dataset, use_ids=False))
    print(f"plain json parse   {plain:6.2f} s  {len(rows):,} rows")
    print(f"winokit read       {loaded:6.2f} s  {loaded / plain:5.1f} x plain json")
    print(f"twins without ids  {grouped:6.2f} s  {grouped / plain:5.1f} x plain json  {len(grouping.groups):,} groups")


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
