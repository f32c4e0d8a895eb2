"""`python -m tools.frozen`: its commands, the comparison of outputs, allowed differences, and the report."""

import gzip
import io
import json
import os
import re
import socket
import subprocess
import sys
import textwrap
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tools.frozen import __main__ as frozen
from tools.frozen import sides, store
from tools.frozen.commands import FrozenError, read_commands, select_names, with_needed
from tools.frozen.comparing import Allowance, compare_texts, read_allowances, report_lines
from tools.frozen.outputs import json_lines, normalised, page_text, text_of
from winokit.cli.main import VERBS

# The list


def test_every_verb_is_frozen_at_least_twice():
    counts = Counter(command.verb for command in read_commands().values())
    assert {verb: counts[verb] for verb in VERBS if counts[verb] < 2} == {}


def test_every_allowed_difference_has_a_reason_that_is_a_sentence():
    allowances = read_allowances()
    assert allowances
    for allowance in allowances:
        assert re.fullmatch(r"[A-Z].{15,}[.]", allowance.reason), allowance


def test_every_allowed_difference_is_about_some_command():
    names = list(read_commands())
    for allowance in read_allowances():
        assert any(fnmatchcase(name, allowance.command) for name in names), allowance


def test_whatever_may_change_is_said_of_one_command():
    """An entry for many commands never allows every line."""
    lines = ("a wrong number: 3", "Traceback (most recent call last):", "winokit: no such file")
    for allowance in read_allowances():
        if allowance.command != "*":
            continue
        for line in lines:
            assert not allowance.allows(f"-{line}"), allowance
            assert not allowance.allows(f"+{line}"), allowance


ROW = "metrics[open builtin masked-candidate accuracy all accuracy]"
SCORES = "[builtin original 1].scores"
TERMINAL = "Accuracy  All problems  {}\u00a0% [47.1, {}]  50.0\u00a0%  160"
PAGE = "| Accuracy | All problems | accuracy / all / accuracy | builtin | {} % | [47.1, {}] | {} % | 160"


def text_around(line):
    """A text with the line between two others, or the two alone if it is empty."""
    return f"one\n{line}\ntwo\n".replace("\n\n", "\n")


def is_allowed(file_name, before, after, command="audit-open"):
    """Whether the stored allowances let a line change so, or the lines are equal."""
    base = {file_name: text_around(before)}
    head = {file_name: text_around(after)}
    return compare_texts(command, base, head, read_allowances()).state != "DIFFERENT"


@pytest.mark.parametrize(
    ("file_name", "before", "after"),
    [
        ("run/results.json", f"{ROW}.value = 0.5", f"{ROW}.value = 0.6"),
        ("run/results.json", f"{ROW}.chance = 0.5", f"{ROW}.chance = 0.6"),
        ("run/results.json", f"{ROW}.n = 160", f"{ROW}.n = 159"),
        ("run/results.json", f"{ROW}.value = 0.5", ""),
        ("run/results.json", f"{ROW}.low = 0.5", ""),
        ("run/results.json", f'{ROW}.metric = "accuracy"', f'{ROW}.metric = "share"'),
        ("run/predictions.jsonl", "[builtin original 1].prediction = 0", "[builtin original 1].prediction = 1"),
        ("run/predictions.jsonl", "[builtin original 1].prediction = 0", ""),
        (
            "run/predictions.jsonl",
            "[builtin original 1].scores = [0.2, 0.9]",
            "[builtin original 1].scores = [0.9, 0.2]",
        ),
        ("run/predictions.jsonl", f"{SCORES} = [-1.5, -2.0]", f"{SCORES} = [-2.0]"),
        ("run/results.json", "run.sizes = [40, 80]", "run.sizes = [40, 90]"),
        ("stdout", TERMINAL.format("50.6", "54.2"), TERMINAL.format("50.7", "54.1")),
        ("stdout", TERMINAL.format("50.6", "54.2"), ""),
        ("run/report/index.html", PAGE.format("50.6", "54.2", "50.0"), PAGE.format("50.7", "54.1", "49.1")),
        ("run/report/index.html", PAGE.format("50.6", "54.2", "50.0"), ""),
        ("run/report/index.html", "How to cite", ""),
        ("stderr", "note: asked: 12 requests", ""),
        ("stderr", "", "Traceback (most recent call last):"),
        ("exit", "0", "1"),
    ],
)
def test_a_wrong_number_or_a_lost_line_is_never_allowed(file_name, before, after):
    assert not is_allowed(file_name, before, after)


@pytest.mark.parametrize("name", ["value", "n", "chance"])
def test_rows_of_restarts_that_name_their_variant_keep_their_numbers(name):
    before = f"metrics[inputs/test mc-mlm curve 8.restart1 accuracy].{name}"
    after = f"metrics[inputs/test mc-mlm curve original 8.restart1 accuracy].{name}"
    assert is_allowed("curve/results.json", f"{before} = 0.5", f"{after} = 0.5", "curve-sizes")
    assert not is_allowed("curve/results.json", f"{before} = 0.5", f"{after} = 0.6", "curve-sizes")


@pytest.mark.parametrize(
    ("file_name", "before", "after"),
    [
        ("run/results.json", f"{ROW}.low = 0.5", f"{ROW}.low = 0.4"),
        ("run/results.json", f"{ROW}.p = 0.5", f"{ROW}.p = null"),
        ("run/results.json", f"{ROW}.floor = 0.5", f"{ROW}.null = 0.5"),
        ("stdout", TERMINAL.format("50.6", "54.2"), TERMINAL.format("50.6", "54.1")),
        ("run/report/index.html", PAGE.format("50.6", "54.2", "50.0"), PAGE.format("50.6", "54.1", "49.1")),
    ],
)
def test_intervals_and_tests_of_units_are_allowed(file_name, before, after):
    assert is_allowed(file_name, before, after)


def write_list(folder: Path, text: str) -> Path:
    """Write a list of commands or allowances, and return its path."""
    path = folder / "list.toml"
    path.write_text(textwrap.dedent(text), "utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[a]\nrum = "x"', "list.toml: a: unknown key 'rum'"),
        ("[a]\nslow = true", "list.toml: a: has no `run`"),
        ('[a]\nrun = "x"\nserver = "ftp"', "no server named 'ftp'; known: chat, babble, completions"),
        ('[a]\nrun = "x"\nbegins_in = "b"', "begins in 'b', which is no command"),
        ('[a]\nrun = "x ../b/run"\n[b]\nrun = "x"', "needs 'b', which must come before it"),
        ('[b]\nrun = "x"\nreal = true\n[a]\nrun = "x ../b/run"', "say real = true"),
    ],
)
def test_a_command_that_cannot_run_is_refused_by_name(tmp_path, text, message):
    with pytest.raises(FrozenError) as caught:
        read_commands(write_list(tmp_path, text))
    assert message in str(caught.value)


CHAIN = """
    [one]
    run = "audit --out run"
    [other]
    run = "help"
    [two]
    run = "report run"
    begins_in = "one"
    [three]
    run = "compare ../one/run x=../two/run"
    slow = true
    [four]
    run = "stats wsc"
    real = true
"""


def test_a_command_comes_with_those_whose_folders_it_reads_or_begins_in(tmp_path):
    commands = read_commands(write_list(tmp_path, CHAIN))
    assert [command.name for command in with_needed(["three"], commands)] == ["one", "two", "three"]


@pytest.mark.parametrize(("is_reference", "printed"), [(True, "winokit "), (False, "Usage: ")])
def test_a_command_is_spelled_as_the_reference_commit_has_it_there_alone(tmp_path, is_reference, printed):
    commands = read_commands(write_list(tmp_path, '[one]\nrun = "--help"\nbase = "--version"'))
    side = sides.Side("side", tmp_path / "side", None, is_reference)
    side.prepare(None, [])
    side.run(commands["one"])
    assert side.texts["one"]["stdout"].startswith(printed)


def test_slow_commands_and_those_on_real_data_are_left_out_unless_they_can_run(tmp_path):
    commands = read_commands(write_list(tmp_path, CHAIN))
    assert select_names([], commands, slow=False, real=False) == ["one", "other", "two"]
    assert select_names([], commands, slow=True, real=True) == ["one", "other", "two", "three", "four"]
    assert select_names(["t*"], commands, slow=False, real=True) == ["two"]
    assert select_names(["three"], commands, slow=False, real=True) == ["three"]
    with pytest.raises(FrozenError, match="--only five: no command of that name"):
        select_names(["five"], commands, slow=False, real=True)


# What counts as the same


def test_a_row_of_json_is_called_by_what_it_is_about():
    rows = [{"protocol": "groups", "metric": "accuracy", "n": 4}, {"protocol": "groups", "metric": "accuracy", "n": 2}]
    assert list(json_lines(rows)) == [
        '[groups accuracy].protocol = "groups"',
        '[groups accuracy].metric = "accuracy"',
        "[groups accuracy].n = 4",
        '[groups accuracy #2].protocol = "groups"',
        '[groups accuracy #2].metric = "accuracy"',
        "[groups accuracy #2].n = 2",
    ]


def test_a_new_row_of_json_lines_changes_no_line_of_the_others():
    first, second, third = [json.dumps({"id": name, "scores": [0.1, 0.2]}) for name in "abc"]
    before = f"{first}\n{third}\n"
    after = f"{first}\n{second}\n{third}\n"
    lines_before = text_of(before.encode(), "predictions.jsonl").splitlines()
    lines_after = text_of(after.encode(), "predictions.jsonl").splitlines()
    assert set(lines_after) - set(lines_before) == {'[b].id = "b"', "[b].scores = [0.1, 0.2]"}
    assert [line for line in lines_after if line in lines_before] == lines_before


def test_a_page_is_what_a_reader_sees():
    page = """<html><head><title>A run</title><style>p { color: red }</style></head><body>
    <h1 title="long">Above <em>chance</em></h1><p>50&nbsp;%
    of 8</p><table><tr><th>n</th><td>8</td></tr></table><script>let n = 1</script>
    <script type="application/json">{"n": 8}</script><svg><g><text x="3">one</text><text x="4">two</text></g></svg>"""
    lines = ["A run", "title: long", "Above chance", "50 % of 8", "| n | 8", "n = 8", "one", "two"]
    assert page_text(page).splitlines() == lines


def test_a_place_in_a_page_may_change_and_a_word_may_not():
    assert page_text('<p class="a">x</p>') == page_text('<p class="b" style="left: 3px">x</p>\n')
    assert page_text("<p>x</p>") != page_text("<p>y</p>")


def test_compressed_files_are_read_and_arrays_are_identified():
    assert text_of(gzip.compress(b'{"a": 1}'), "x.json.gz") == "a = 1\n"
    file_of_ones = io.BytesIO()
    np.save(file_of_ones, np.ones((2, 3)))
    file_of_others = io.BytesIO()
    np.save(file_of_others, np.ones((2, 3)) + 1e-9)
    text_of_ones = text_of(file_of_ones.getvalue(), "X.npy")
    assert text_of_ones.startswith("array (2, 3) float64, mean 1, deviation 0, SHA-256 ")
    assert text_of(file_of_others.getvalue(), "X.npy") != text_of_ones


def test_bytes_that_are_no_text_count_unless_they_differ_from_run_to_run():
    assert text_of(b"\xff\xfe", "x.safetensors") != text_of(b"\xff\xfd", "x.safetensors")
    assert text_of(b"\xff\xfe", "x.sqlite") == text_of(b"\xff\xfd", "x.sqlite")


def test_paths_and_addresses_are_normalised_the_longest_first():
    places = {"/tmp/a": "<side>", "/tmp/a/data": "<data>"}
    assert normalised("/tmp/a/data/x /tmp/a/y <f at 0x7f0011223344>", places) == "<data>/x <side>/y <f at 0x…>"


# What may differ

BASE = "one\ntwo 0.25\nthree\nfour\nfive\nsix\nseven 0.5\n"
HEAD = "one\ntwo 0.26\nthree\nfour\nfive\nsix\nseven 0.6\n"


def compared(*allowances, base=BASE, head=HEAD, file_name="run/results.json"):
    return compare_texts("audit-open", {file_name: base}, {file_name: head}, allowances)


def shown(comparison, most_lines=None):
    return "\n".join(report_lines(comparison, most_lines))


def test_a_difference_that_nothing_allows_is_shown_with_its_neighbours():
    lines = report_lines(compared(), None)
    assert lines[0] == "DIFFERENT  audit-open"
    assert lines[1:6] == ["  --- run/results.json", "   one", "  -two 0.25", "  +two 0.26", "   three"]


def test_a_hunk_is_allowed_if_every_changed_line_of_it_is():
    of_two = Allowance("Two is rounded otherwise.", line="^two")
    of_seven = Allowance("Seven is larger.", line="^seven")
    with_one_allowance = compared(of_two)
    assert with_one_allowance.state == "DIFFERENT"
    assert "two" not in shown(with_one_allowance)
    assert "seven 0.6" in shown(with_one_allowance)
    with_both_allowances = compared(of_two, of_seven)
    assert with_both_allowances.state == "allowed"
    assert "Two is rounded otherwise." in shown(with_both_allowances)


def test_a_removed_line_may_be_allowed_without_one_that_is_added():
    gone = Allowance("Two is gone.", removed="^two")
    head = HEAD.replace("two 0.26\n", "").replace("0.6", "0.5")
    assert compared(gone, head=head).state == "allowed"
    assert compared(gone, head=HEAD.replace("0.6", "0.5")).state == "DIFFERENT"
    assert compared(Allowance("Two came.", added="^two"), base=head, head=BASE).state == "allowed"
    assert compared(Allowance("Two came.", added="^two"), head=HEAD.replace("0.6", "0.5")).state == "DIFFERENT"


def test_a_part_may_change_where_the_rest_of_the_line_stays():
    part = Allowance("Numbers are counted otherwise.", part=r"0\.\d+")
    assert compared(part).state == "allowed"
    assert "Numbers are counted otherwise." in shown(compared(part))
    assert compared(part, head=HEAD.replace("seven", "eight")).state == "DIFFERENT"
    assert compared(part, head=HEAD.replace("two 0.26\n", "")).state == "DIFFERENT"
    assert compared(part, head=HEAD.replace("two 0.26\n", "two 0.26\ntwo 0.26\n")).state == "DIFFERENT"


def test_parts_of_several_entries_add_up():
    base = "a 1 [2]\n"
    head = "a 3 [4]\n"
    number = Allowance("The first number is another.", part=r"(?<=a )\d")
    interval = Allowance("So is the interval.", part=r"\[\d\]")
    assert compared(number, interval, base=base, head=head).state == "allowed"
    assert compared(number, base=base, head=head).state == "DIFFERENT"


@pytest.mark.parametrize(
    ("command", "file", "state"),
    [("audit-*", "*.json", "allowed"), ("compare-*", "*", "DIFFERENT"), ("*", "stdout", "DIFFERENT")],
)
def test_an_entry_counts_for_the_commands_and_files_it_names(command, file, state):
    assert compared(Allowance("Numbers changed.", command, file, line=".")).state == state


def test_equal_texts_are_equal_and_a_missing_last_line_break_is_not():
    assert compared(head=BASE).state == "equal"
    assert compared(head=BASE.removesuffix("\n")).state == "DIFFERENT"


def test_a_file_of_one_side_alone_is_one_line():
    comparison = compare_texts("a", {}, {"new.json": "x\ny\n"}, [])
    assert "+(only in head: 2 lines)" in shown(comparison)
    allowed = compare_texts("a", {}, {"new.json": "x\n"}, [Allowance("It is new.", added="only in head")])
    assert allowed.state == "allowed"


def test_what_is_shown_is_cut_and_says_so():
    cut = shown(compared(), most_lines=4)
    assert cut.endswith("  +two 0.26\n  … 4 more lines, in run/results.json: --full shows all")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('line = "x"', "needs a reason"),
        ('reason = "so"\nline = "x"', "needs a reason, a sentence"),
        ('reason = "It is so now."', "needs a pattern: line, removed, added, part"),
        ('reason = "It is so now."\nline = "("', "'(' is no regular expression"),
        ('reason = "It is so now."\nlines = "x"', "unknown key 'lines'"),
    ],
)
def test_an_entry_without_a_reason_or_a_pattern_is_refused(tmp_path, entry, message):
    with pytest.raises(FrozenError) as caught:
        read_allowances(write_list(tmp_path, f"[[allowed]]\n{entry}"))
    assert str(caught.value).startswith("list.toml: entry 1: ")
    assert message in str(caught.value)


# Clocks, secrets and a server


def printed(program: str, name: str = "one", **environment: str) -> str:
    variables = {**os.environ, "PYTHONPATH": str(sides.STEADY), "FROZEN_NAME": name, "TZ": "UTC", **environment}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=variables, check=True)
    return done.stdout


def in_package(program: str) -> str:
    """A program that runs another one as a module of the package."""
    return (
        f"import types\nmodule = types.ModuleType('winokit.some')\nexec({textwrap.dedent(program)!r}, module.__dict__)"
    )


DATES = """
    import datetime
    from datetime import UTC, date
    now = datetime.datetime.now(UTC)
    later = now + datetime.timedelta(days=1)
    assert isinstance(later, datetime.datetime) and isinstance(later, date)
    assert isinstance(date(2020, 1, 1), datetime.date) and not isinstance(date(2020, 1, 1), datetime.datetime)
    assert now == datetime.datetime.fromisoformat(now.isoformat())
    print(now.isoformat(), date.today(), datetime.datetime.now())
"""


def test_the_package_has_one_date_that_is_still_a_date():
    assert printed(in_package(DATES)) == "2024-01-02T03:04:05+00:00 2024-01-02 2024-01-02 03:04:05\n"


def test_others_have_the_real_dates_since_c_code_relies_on_their_size():
    pytest.importorskip("pandas")
    program = "import datetime, pandas\nprint(datetime.datetime.__basicsize__, pandas.Timestamp('2020-01-01').date())"
    assert printed(program) == "48 2020-01-01\n"


def test_secrets_follow_from_the_name_of_the_command():
    program = """
import secrets, uuid, numpy
print(secrets.token_bytes(8), secrets.token_hex(4), secrets.token_hex(4), secrets.token_urlsafe(6))
print(secrets.choice("abcdefgh"), secrets.randbits(128), uuid.uuid4(), numpy.random.default_rng().random())
"""
    assert printed(program) == printed(program) != printed(program, name="two")


def test_a_secret_does_not_depend_on_what_others_draw_before():
    program = """
import secrets
def draw(): return secrets.token_bytes(8)
def draw_another(): return secrets.token_bytes(8)
"""
    assert printed(f"{program}\nprint(draw())") == printed(f"{program}\ndraw_another(); print(draw())")
    assert printed(f"{program}\nprint(draw() == draw(), draw() == draw_another())") == "False False\n"


def test_the_clock_stands_still_for_the_package_alone():
    program = """
        import time
        def duration():
            start = time.perf_counter()
            sum(range(10000))
            return time.perf_counter() - start
    """
    outside = "import time\nstart = time.perf_counter()\nprint(module.duration(), time.perf_counter() > start)"
    assert printed(f"{in_package(program)}\n{outside}") == "0.0 True\n"


def test_the_stated_port_leads_to_the_server_of_the_command():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        program = "import socket\nsocket.create_connection(('127.0.0.1', 8000), timeout=20).sendall(b'here')"
        printed(program, FROZEN_PORT=str(port))
        connection, _ = server.accept()
        with connection:
            assert connection.recv(4) == b"here"


# Both sides, of a package that is small

PACKAGE = """
import json, os, sys
from pathlib import Path
word, *rest = sys.argv[1:]
if word == "write":
    Path("run").mkdir()
    Path("run/results.json").write_text(json.dumps({"value": VALUE, "folder": os.getcwd()}))
    Path("run/log.txt").write_text("written")
    Path("run/page.txt").write_text("written")
    Path(os.environ["WINOKIT_CACHE"]).parent.mkdir(parents=True)
    Path(os.environ["WINOKIT_CACHE"]).write_text("kept")
if word == "read":
    print(Path(rest[0], "results.json").read_text())
if word == "remember":
    print("cache:", Path(os.environ["WINOKIT_CACHE"]).exists())
    Path("run/results.json").unlink()
    Path("run/log.txt").write_text("written twice")
    Path("run/page.txt").write_text("written")
if word == "fail":
    sys.exit("winokit: no such thing")
print("value", VALUE if word != "steady" else "the same")
"""
LIST = """
    [write]
    run = "write"
    [read]
    run = "read ../write/run"
    [remember]
    run = "remember"
    begins_in = "write"
    [forget]
    run = "steady"
    [fail]
    run = "fail"
    [stumble]
    run = "steady"
    first = "cat no-such-file"
"""


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with one commit of a package, and the tool pointed at it; `VALUE` is 1 at the commit."""
    root = tmp_path / "repository"
    package = root / "src/winokit"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(PACKAGE.replace("VALUE", "1"))
    author = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for arguments in (["init", "--quiet"], ["add", "."], [*author, "commit", "--quiet", "--message", "one"]):
        subprocess.run(["git", *arguments], cwd=root, check=True)
    monkeypatch.setattr(sides, "ROOT", root)
    monkeypatch.setattr(frozen, "ROOT", root)
    monkeypatch.setattr(sides, "make_inputs", lambda folder, commands: folder.mkdir())
    monkeypatch.setattr(frozen, "read_commands", lambda: read_commands(write_list(tmp_path, LIST)))
    monkeypatch.setattr(frozen, "read_allowances", list)
    monkeypatch.delenv("WINOKIT_DATA", raising=False)
    return root


def run_tool(capsys, *arguments: object) -> tuple[int, str]:
    code = frozen.main([*("--base", "HEAD"), *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out + captured.err


def change_value(root: Path) -> None:
    (root / "src/winokit/__main__.py").write_text(PACKAGE.replace("VALUE", "2"))


def test_a_tree_that_did_not_change_is_equal(repository, capsys):
    code, output = run_tool(capsys)
    assert "6 equal, 0 allowed, 0 DIFFERENT" in output
    assert code == 0


def test_a_tree_that_changed_differs_in_what_is_printed_and_written(repository, capsys):
    change_value(repository)
    code, output = run_tool(capsys)
    assert code == 1
    assert "DIFFERENT  write" in output
    assert '  --- run/results.json\n  -value = 1\n  +value = 2\n   folder = "<side>/write"' in output
    assert "equal      forget" in output


def test_a_command_that_begins_in_anothers_folder_has_its_files_and_its_cache(repository, tmp_path, capsys):
    run_tool(capsys, "--side", "base", "--stored", tmp_path / "stored")
    assert (tmp_path / "stored/remember/stdout").read_text() == "cache: True\nvalue 1\n"
    assert (tmp_path / "stored/remember/removed").read_text() == "run/results.json\n"
    assert [path.name for path in sorted((tmp_path / "stored/remember/files/run").iterdir())] == ["log.txt"]
    assert (tmp_path / "stored/write/files/run/results.json").exists()
    assert (tmp_path / "stored/fail/exit").read_text() == "1\n"
    assert (tmp_path / "stored/fail/stderr").read_text() == "winokit: no such thing\n"


def test_a_command_whose_first_line_fails_is_not_run_and_says_so(repository, tmp_path, capsys):
    code, _ = run_tool(capsys, "--side", "base", "--stored", tmp_path / "stored")
    assert code == 0
    assert (tmp_path / "stored/stumble/exit").read_text() == "not run: its first line failed (1)\n"
    assert "no-such-file" in (tmp_path / "stored/stumble/stderr").read_text()


def test_a_difference_that_is_allowed_is_no_failure(repository, capsys, monkeypatch):
    change_value(repository)
    entries = [
        Allowance("The value is two now.", line='value"?:? =? ?[12]'),
        Allowance("Nobody has seen this.", line="x"),
    ]
    monkeypatch.setattr(frozen, "read_allowances", lambda: entries)
    code, output = run_tool(capsys)
    assert code == 0, output
    assert "allowed    write\n             The value is two now." in output
    assert "note: entry 2 of allowed.toml is stale, as it allows nothing (Nobody has seen this.)" in output


def test_stored_outputs_of_the_base_are_reused_as_long_as_they_fit(repository, tmp_path, capsys, monkeypatch):
    code, output = run_tool(capsys, "--side", "base", "--stored", tmp_path / "stored")
    assert (code, "head:" in output) == (0, False)
    code, output = run_tool(capsys, "--stored", tmp_path / "stored")
    assert (code, "base:" in output) == (0, False)
    changed = write_list(tmp_path, LIST.replace('run = "fail"', 'run = "fail again"'))
    monkeypatch.setattr(frozen, "read_commands", lambda: read_commands(changed))
    code, output = run_tool(capsys, "--stored", tmp_path / "stored")
    assert code == 0
    assert "base: " in output
    assert "1 commands" in output


def test_stored_outputs_of_another_commit_or_tool_do_not_count(repository, tmp_path, capsys, monkeypatch):
    run_tool(capsys, "--side", "base", "--stored", tmp_path / "stored")
    monkeypatch.setattr(store, "tool_digest", lambda: "another")
    assert "base: " in run_tool(capsys, "--stored", tmp_path / "stored")[1]
    run_tool(capsys, "--side", "base", "--stored", tmp_path / "stored")
    assert "base: " not in run_tool(capsys, "--stored", tmp_path / "stored")[1]


def test_outputs_stay_out_of_the_tree_and_foreign_folders_untouched(repository, tmp_path, capsys):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/letter.txt").write_text("")
    for arguments, message in (
        (["--stored", repository / "outputs"], "outputs must stay out of it"),
        (["--keep", repository / "outputs"], "outputs must stay out of it"),
        (["--keep", tmp_path / "mine"], "exists; choose a new folder"),
        (["--stored", tmp_path / "mine"], "has files, but no stored outputs"),
        (["--side", "base"], "needs --stored DIR"),
        (["--side", "base", "--stored", tmp_path / "mine"], "has files, but no stored outputs"),
        (["--only", "wirte"], "no command of that name"),
        (["--jobs", 0], "--jobs 0: at least 1 is needed"),
        (["--head", "no-such-branch"], "no-such-branch: no commit of this repository"),
        (["--data", tmp_path / "nowhere"], "nowhere: no folder"),
    ):
        code, output = run_tool(capsys, *arguments)
        assert (code, message in output) == (2, True), output
    assert (tmp_path / "mine/letter.txt").exists()


def test_all_files_of_both_sides_can_be_kept(repository, tmp_path, capsys):
    run_tool(capsys, "--only", "write", "--keep", tmp_path / "kept")
    assert (tmp_path / "kept/base/write/run/results.json").exists()
    assert (tmp_path / "kept/head/write/run/results.json").exists()
