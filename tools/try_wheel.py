"""Install the wheels, and then the sdists, into environments of their own, and run the README's first example there.

python tools/try_wheel.py dist

The core is tried alone, then winokit-collect is installed beside it. Nothing of the repository is on the path: what a
package does not carry is missed here.
"""

import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def example() -> str:
    """The Python of the README up to its first results, as a script that a doctest runner reads."""
    block = re.search(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    if block is None:
        raise SystemExit("README.md: no Python in it")
    return block[1]


def check_core(python: str, place: str, package: Path) -> None:
    """Run the README's example and an audit where the core is installed alone."""
    Path(place, "example.txt").write_text(example(), "utf-8")
    subprocess.run([python, "-m", "doctest", "-o", "ELLIPSIS", "example.txt"], check=True, cwd=place)
    winokit = [python, "-m", "winokit"]
    audit = subprocess.run([*winokit, "audit", "--limit", "20"], check=True, cwd=place, capture_output=True)
    print(f"{package.name}: the README's example runs, and so does winokit audit")
    print(audit.stdout.decode().splitlines()[0])
    missing = subprocess.run([*winokit, "collect", "init", "study"], check=False, cwd=place, capture_output=True)
    if missing.returncode != 2 or b"pip install ./collect" not in missing.stderr:
        raise SystemExit(f"{package.name}: winokit collect must say how it is installed, not {missing.stderr!r}")


def check_collect(python: str, place: str, package: Path) -> None:
    """Make a study and open its database where winokit-collect is installed beside the core."""
    collect = [python, "-m", "winokit", "collect"]
    for command in (["init", "study"], ["status", "study"]):
        subprocess.run([*collect, *command], check=True, cwd=place, capture_output=True)
    print(f"{package.name}: a study is made and opened")


def only(folder: Path, pattern: str) -> Path:
    """The one package of a folder whose name is like this."""
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise SystemExit(f"{folder}: expected one package {pattern}, found {len(found)}")
    return found[0]


def main() -> None:
    """Try each kind of package in a folder."""
    folder = Path(sys.argv[1]).resolve()
    for kind in ("*.whl", "*.tar.gz"):
        core, collect = only(folder, f"winokit-{kind}"), only(folder, f"winokit_collect-{kind}")
        with tempfile.TemporaryDirectory() as place:
            venv.create(f"{place}/env", with_pip=True)
            python = f"{place}/env/bin/python"
            pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
            subprocess.run([*pip, str(core)], check=True, cwd=place)
            check_core(python, place, core)
            subprocess.run([*pip, str(collect)], check=True, cwd=place)
            check_collect(python, place, collect)


if __name__ == "__main__":
    main()
