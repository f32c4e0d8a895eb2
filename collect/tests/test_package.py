"""What is built of winokit-collect has all its files, and nothing of winokit's; the licence is the same."""

import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "collect" / "src"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> ZipFile:
    pytest.importorskip("build")
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT / "collect")]
    subprocess.run(build, check=True, capture_output=True, cwd=folder)
    (path,) = folder.glob("*.whl")
    with ZipFile(path) as packed:
        yield packed


def test_the_wheel_has_every_file_of_the_package(wheel):
    paths = [path for path in SOURCE.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    expected = {path.relative_to(SOURCE).as_posix(): path.read_bytes() for path in paths}
    packed = {name: wheel.read(name) for name in wheel.namelist() if ".dist-info/" not in name}
    assert packed == expected
    assert {"winokit_collect/content/quiz.toml", "winokit_collect/study/migrations/env.py"} <= set(packed)


def test_the_wheel_has_both_licences_and_the_command(wheel):
    about = {name.partition(".dist-info/")[2]: name for name in wheel.namelist() if ".dist-info/" in name}
    assert "licenses/LICENSE" in about
    assert "licenses/src/winokit_collect/web/static/htmx.LICENSE.txt" in about
    points = wheel.read(about["entry_points.txt"]).decode()
    assert points == "[winokit.commands]\ncollect = winokit_collect.commands:app\n"


def test_both_products_have_one_licence_and_one_version():
    assert (ROOT / "LICENSE").read_bytes() == (ROOT / "collect" / "LICENSE").read_bytes()
    import winokit
    import winokit_collect

    assert winokit.__version__ == winokit_collect.__version__


def test_nobody_needs_the_extra_that_is_gone():
    core = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert not {"collect", "crowd", "mturk"} & set(core["optional-dependencies"])
    assert not [need for need in core["dependencies"] if need.startswith(("sqlalchemy", "fastapi", "alembic"))]
