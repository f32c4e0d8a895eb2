"""Install the wheel, and then the sdist, into environments of their own, and run the README's first example there.

python tools/try_wheel.py dist

Nothing of the repository is on the path: what the package does not carry is missed here.
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


def main() -> None:
    """Try each package of a folder."""
    folder = Path(sys.argv[1]).resolve()
    packages = [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]
    if len(packages) != 2:
        raise SystemExit(f"{folder}: a wheel and an sdist expected, found {len(packages)} packages")
    for package in packages:
        with tempfile.TemporaryDirectory() as place:
            venv.create(f"{place}/env", with_pip=True)
            python = f"{place}/env/bin/python"
            pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
            subprocess.run([*pip, str(package)], check=True, cwd=place)
            Path(place, "example.txt").write_text(example(), "utf-8")
            subprocess.run([python, "-m", "doctest", "-o", "ELLIPSIS", "example.txt"], check=True, cwd=place)
            audit = subprocess.run(
                [f"{place}/env/bin/winokit", "audit", "--limit", "20"], check=True, cwd=place, capture_output=True
            )
            print(f"{package.name}: the README's example runs, and so does winokit audit")
            print(audit.stdout.decode().splitlines()[0])


if __name__ == "__main__":
    main()
