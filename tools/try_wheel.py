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
    """Return the first block of Python in the README, which a doctest runner reads."""
    block = re.search(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    if block is None:
        raise SystemExit("README.md: no Python in it")
    return block[1]


def check_core(python: str, folder: str, package: Path) -> None:
    """Run the README's example and an audit with a Python that has the core alone.

    `folder` is where commands run. Raises SystemExit if `winokit collect` does not say how to install it.
    """
    Path(folder, "example.txt").write_text(example(), "utf-8")
    subprocess.run([python, "-m", "doctest", "-o", "ELLIPSIS", "example.txt"], check=True, cwd=folder)
    winokit = [python, "-m", "winokit"]
    audit = subprocess.run([*winokit, "audit", "--limit", "20"], check=True, cwd=folder, capture_output=True)
    print(f"{package.name}: the README's example runs, and so does winokit audit")
    print(audit.stdout.decode().splitlines()[0])
    missing = subprocess.run([*winokit, "collect", "init", "study"], check=False, cwd=folder, capture_output=True)
    if missing.returncode != 2 or b"pip install ./collect" not in missing.stderr:
        raise SystemExit(f"{package.name}: winokit collect must say how it is installed, not {missing.stderr!r}")


def check_collect(python: str, folder: str, package: Path) -> None:
    """Make a study in a folder and open its database, with a Python that has winokit-collect too."""
    collect = [python, "-m", "winokit", "collect"]
    for command in (["init", "study"], ["status", "study"]):
        subprocess.run([*collect, *command], check=True, cwd=folder, capture_output=True)
    print(f"{package.name}: a study is made and opened")


def only(folder: Path, pattern: str) -> Path:
    """Return the only file of a folder that matches a pattern. Raises SystemExit if there is not exactly one."""
    packages = sorted(folder.glob(pattern))
    if len(packages) != 1:
        raise SystemExit(f"{folder}: expected one package {pattern}, found {len(packages)}")
    return packages[0]


def main() -> None:
    """Try the wheels and the sdists of a folder, each in an environment of its own."""
    folder = Path(sys.argv[1]).resolve()
    for kind in ("*.whl", "*.tar.gz"):
        core = only(folder, f"winokit-{kind}")
        collect = only(folder, f"winokit_collect-{kind}")
        with tempfile.TemporaryDirectory() as environment_folder:
            venv.create(f"{environment_folder}/env", with_pip=True)
            python = f"{environment_folder}/env/bin/python"
            pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
            subprocess.run([*pip, str(core)], check=True, cwd=environment_folder)
            check_core(python, environment_folder, core)
            subprocess.run([*pip, str(collect)], check=True, cwd=environment_folder)
            check_collect(python, environment_folder, collect)


if __name__ == "__main__":
    main()
