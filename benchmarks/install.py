"""Measure an installation: megabytes by package, seconds to install, seconds to import, beside other harnesses.

python benchmarks/install.py [--quick] [--against lm-eval inspect-ai]

Each goes into a virtual environment of its own; pip's cache is warm where a package was installed before. `--quick`
measures winokit alone. lm-eval is installed without torch, which it asks its users for by an extra, as we do.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import venv
from collections import Counter
from importlib.metadata import Distribution, distributions
from pathlib import Path

ROOT = Path(__file__).parents[1]
IMPORTED = {"winokit": "winokit", "lm-eval": "lm_eval", "inspect-ai": "inspect_ai"}
MEGABYTE = 1e6
LARGEST = 12


def weights(environment: Path) -> Counter[str]:
    """Bytes of each package installed there, pip aside."""
    (packages,) = environment.glob("lib/python*/site-packages")
    sizes: Counter[str] = Counter()
    for distribution in distributions(path=[str(packages)]):
        if distribution.name.lower() not in ("pip", "setuptools"):
            sizes[distribution.name] += sum(size(distribution, place) for place in distribution.files or ())
    return sizes


def size(package: Distribution, place: object) -> int:
    """Bytes of a file, or 0 if it does not exist."""
    path = Path(str(package.locate_file(place)))  # type: ignore[arg-type]
    return path.stat().st_size if path.is_file() else 0


def measured(name: str, folder: Path) -> tuple[Counter[str], float, float]:
    """Weights, seconds to install and the least of three imports."""
    environment = folder / name
    venv.create(environment, with_pip=True)
    python = str(environment / "bin" / "python")
    began = time.perf_counter()
    what = str(ROOT) if name == "winokit" else name
    subprocess.run([python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", what], check=True)
    installing = time.perf_counter() - began
    code = f"import time; began = time.perf_counter(); import {IMPORTED[name]}; print(time.perf_counter() - began)"
    imports = [
        float(subprocess.run([python, "-c", code], check=True, capture_output=True, cwd=folder).stdout.split()[-1])
        for _ in range(3)
    ]
    return weights(environment), installing, min(imports)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", nargs="*", default=["lm-eval", "inspect-ai"], choices=list(IMPORTED))
    parser.add_argument("--quick", action="store_true", help="winokit alone")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        installs = {name: measured(name, Path(place)) for name in ["winokit", *([] if given.quick else given.against)]}
    own, *_ = installs["winokit"]
    print("| package | MB |\n|---|---|")
    for name, weight in own.most_common(LARGEST):
        print(f"| {name} | {weight / MEGABYTE:.0f} |")
    print(f"| {len(own) - LARGEST} others | {sum(w for _, w in own.most_common()[LARGEST:]) / MEGABYTE:.0f} |\n")
    print("| install | packages | MB | seconds | import, seconds | MB, ours = 1 |\n|---|---|---|---|---|---|")
    for name, (weighed, installing, importing) in installs.items():
        ratio = weighed.total() / own.total()
        print(
            f"| {name} | {len(weighed)} | {weighed.total() / MEGABYTE:.0f} | {installing:.0f} | {importing:.2f} "
            f"| {ratio:.2f} |"
        )
    print(f"\nPython {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
