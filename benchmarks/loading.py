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
    """Run a function a few times, and return the least wall seconds and the last result."""
    least = float("inf")
    for _ in range(tries):
        start = time.perf_counter()
        result = action()
        least = min(least, time.perf_counter() - start)
    return least, result


def main() -> None:
    """Print the seconds of parsing, reading and finding twins."""
    folder = Path(os.environ.get("WINOKIT_DATA") or Path(__file__).parents[2] / "shared" / "data")
    file_names = [name for name in sys.argv[1:] if name != "--quick"]
    part = "dev" if "--quick" in sys.argv else "train_xl"
    path = Path(file_names[0]) if file_names else folder / "winogrande" / f"{part}.jsonl"
    if not path.exists():
        print(f"loading: skipped, {path.name} is not there; set WINOKIT_DATA or name the file")
        return

    def parse_lines():
        return [json.loads(line) for line in path.open(encoding="utf-8")]

    plain, rows = best(parse_lines)
    loaded, dataset = best(lambda: read(path))
    grouped, grouping = best(lambda: find_groups(dataset, use_ids=False))
    print(f"plain json parse   {plain:6.2f} s  {len(rows):,} rows")
    print(f"winokit read       {loaded:6.2f} s  {loaded / plain:5.1f} x plain json")
    print(f"twins without ids  {grouped:6.2f} s  {grouped / plain:5.1f} x plain json  {len(grouping.groups):,} groups")


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
