"""The wheel of winokit-collect has all its files, none of winokit's, and the same licence."""

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
    source_paths = [path for path in SOURCE.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    source_files = {path.relative_to(SOURCE).as_posix(): path.read_bytes() for path in source_paths}
    wheel_files = {name: wheel.read(name) for name in wheel.namelist() if ".dist-info/" not in name}
    assert wheel_files == source_files
    assert {"winokit_collect/content/quiz.toml", "winokit_collect/study/migrations/env.py"} <= set(wheel_files)


def test_the_wheel_has_both_licences_and_the_command(wheel):
    names = [name for name in wheel.namelist() if ".dist-info/" in name]
    metadata_names = {name.partition(".dist-info/")[2]: name for name in names}
    assert "licenses/LICENSE" in metadata_names
    assert "licenses/src/winokit_collect/web/static/htmx.LICENSE.txt" in metadata_names
    entry_points = wheel.read(metadata_names["entry_points.txt"]).decode()
    assert entry_points == "[winokit.commands]\ncollect = winokit_collect.commands:app\n"


def test_both_products_have_one_licence_and_one_version():
    assert (ROOT / "LICENSE").read_bytes() == (ROOT / "collect" / "LICENSE").read_bytes()
    import winokit
    import winokit_collect

    assert winokit.__version__ == winokit_collect.__version__


def test_nobody_needs_the_extra_that_is_gone():
    core = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = set(core["optional-dependencies"])
    assert not {"collect", "crowd", "mturk"} & extras
    web_packages = ("sqlalchemy", "fastapi", "alembic")
    assert not [dependency for dependency in core["dependencies"] if dependency.startswith(web_packages)]
