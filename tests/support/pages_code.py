"""The Python of README and docs, as modules that a type checker reads."""

import doctest
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES_PAGE = "extending.md"
"""A page of whole files, one of which needs torch; `test_contributing` runs each."""
BLOCK = re.compile(r"^( *)```python\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def python_of_page(page: Path) -> str:
    """All Python blocks of a page in their order, as one module that begins with `import winokit`.

    Examples of a terminal are without their output.
    """
    parts: list[str] = []
    for indent, block in BLOCK.findall(page.read_text("utf-8")):
        lines = [line.removeprefix(indent) for line in block.splitlines(keepends=True)]
        source = "".join(lines)
        if ">>>" in source:
            source = "".join(example.source for example in doctest.DocTestParser().get_examples(source))
        parts.append(source)
    return "\n".join(["import winokit", *parts]) if parts else ""


def pages_with_python() -> list[Path]:
    """README and the pages of the documentation that have Python in them."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in pages if page.name != FILES_PAGE and python_of_page(page)]


def write_package(folder: Path) -> Path:
    """Write the Python of each page as a module of the package `documented_pages`, and return its folder."""
    package = folder / "documented_pages"
    package.mkdir()
    (package / "__init__.py").touch()
    for page in pages_with_python():
        name = page.stem.lower().replace("-", "_")
        (package / f"{name}_page.py").write_text(python_of_page(page), "utf-8")
    return package
