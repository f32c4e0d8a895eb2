"""Commands of other packages: listed without being imported, run when they are typed, missed in one line."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from winokit.cli import main
from winokit.errors import BadInput, MissingPackage
from winokit.registry import Registry

CLUB = '''
import typer

app = typer.Typer()


@app.command()
def meet() -> None:
    """Meet at eight."""
    typer.echo("we met")


@app.command()
def part() -> None:
    """Part at ten."""
'''


@pytest.fixture
def club(tmp_path, monkeypatch):
    """A package with a command, and one whose command cannot be imported."""
    package = tmp_path / "my_club-1.0.dist-info"
    package.mkdir()
    metadata = "Metadata-Version: 2.1\nName: my-club\nVersion: 1.0\nSummary: Run a club.\n"
    (package / "METADATA").write_text(metadata)
    (package / "entry_points.txt").write_text("[winokit.commands]\nclub = my_club:app\nlost = my_nothing:app\n")
    (tmp_path / "my_club.py").write_text(CLUB)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_club", raising=False)
    main.other_commands.cache_clear()
    yield
    main.other_commands.cache_clear()


@pytest.fixture
def alone(monkeypatch):
    """The core without any other package."""
    monkeypatch.setattr(main, "other_commands", lambda: Registry("command"))


def typed(*arguments):
    return CliRunner().invoke(main.app, list(arguments), prog_name="winokit")


def test_a_command_of_another_package_is_listed_without_being_imported(club):
    output = typed("--help").stdout
    assert "Other packages:\n  club      Run a club.\n  lost      Run a club.\n" in output
    assert "my_club" not in sys.modules


def test_a_command_of_another_package_is_run(club):
    assert typed("club", "meet").stdout == "we met\n"
    assert "Run a club." in typed("club", "--help").stdout


def test_a_command_that_cannot_be_imported_is_named(club):
    error = typed("lost", "meet").exception
    assert isinstance(error, BadInput)
    assert "command 'lost': my_nothing:app cannot be loaded" in str(error)


def test_collect_is_not_listed_where_it_is_not_installed(alone):
    assert "collect" not in typed("--help").stdout.casefold()


@pytest.mark.parametrize("arguments", [[], ["--help"], ["serve", "study"]])
def test_collect_says_how_to_install_it(alone, monkeypatch, capsys, arguments):
    assert isinstance(typed("collect", *arguments).exception, MissingPackage)
    monkeypatch.setattr(sys, "argv", ["winokit", "collect", *arguments])
    with pytest.raises(SystemExit) as left:
        main.main()
    assert left.value.code == 2
    message = "winokit collect is a package of its own; install it from a clone of winokit: pip install ./collect"
    assert capsys.readouterr().err == f"winokit: {message}\n"


def test_a_slip_in_its_name_is_told_where_it_is_not_installed(alone):
    assert "Did you mean 'collect'" in typed("colect").output


def test_help_lists_collect_and_imports_nothing_of_it():
    pytest.importorskip("winokit_collect")
    code = "import sys\nfrom winokit.cli.main import app\napp(['--help'], standalone_mode=False)\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "\n  collect   Collect twins and judgements from people.\n" in done.stdout
    assert "winokit.cli" in done.stdout
    assert "winokit_collect" not in done.stdout
