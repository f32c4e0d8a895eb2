"""The command line as a whole: help, exit codes, one-line errors, and the verbs for data."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from support.waiting import HANGS
from typer.testing import CliRunner

import winokit
from winokit.cli.main import MOVED, VERBS, app, main
from winokit.cli.options import complete_data
from winokit.data.formats import write

runner = CliRunner()


def run(*arguments):
    """The command in this process, through the same door as the shell."""
    return runner.invoke(app, [str(argument) for argument in arguments])


def shell(*arguments, **more):
    """The command as a process of its own."""
    command = [sys.executable, "-m", "winokit", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANGS, **more)


def read_json(*arguments):
    """The command's JSON output."""
    return json.loads(run(*arguments, "--json").stdout)


def raise_from_app(monkeypatch, error):
    """Let every command raise this error."""

    def fail():
        raise error

    monkeypatch.setattr("winokit.cli.main.app", fail)


def test_version_and_help():
    assert shell("--version").stdout.startswith("winokit 0.")
    assert "stats" in run("--help").output


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_output_onto_a_full_disk_is_one_line(more):
    command = [sys.executable, "-m", "winokit", "datasets", *more]
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=HANGS)
    assert process.returncode == 2
    assert process.stderr.count("\n") == 1
    assert process.stderr.startswith("winokit: the output cannot be written (")


@pytest.mark.parametrize("error", [OSError("no such model"), TimeoutError(110, "timed out"), OSError(28, "full", "x")])
def test_what_else_a_system_refuses_is_not_called_output(monkeypatch, error):
    raise_from_app(monkeypatch, error)
    with pytest.raises(type(error)):
        main()


def test_help_imports_nothing_heavy():
    program = (
        "import sys, winokit; from winokit.cli.main import app; app(['--help'], standalone_mode=False); "
        "print([name for name in ('numpy', 'scipy', 'rapidfuzz', 'datasets', 'rich.table') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "Usage: " in done.stdout
    assert done.stdout.endswith("\n[]\n")


def test_stats_prints_a_table_and_json():
    assert "open" in run("stats", "open").output
    (row,) = read_json("stats", "open")
    assert {"dataset", "problems", "groups", "single", "mean_words", "vocabulary"} <= set(row)
    assert (row["dataset"], row["problems"], row["groups"], row["single"]) == ("open", 428, 214, 0)


def test_stats_of_a_folder_counts_every_dataset_in_it(real_file):
    rows = read_json("stats", real_file("README.md").parent)
    counts = {row["dataset"]: row["problems"] for row in rows}
    assert counts["winogrande/train_xl"] == 40_398
    assert counts["wsc"] == 285
    assert counts["knowref/knowref_test"] == 1_269
    assert len(rows) == 43


def test_stats_takes_labels_and_views(real_file):
    wsc = f"wsc273:{real_file('wsc/WSCollection.xml')}"
    switched = real_file("trichelair/WSC_switched_label.json")
    associative = real_file("trichelair/WSC_associative_label.json")
    (row,) = read_json("stats", wsc, "--labels", switched, "--labels", associative)
    assert row["labels"] == {"switchable": 131, "associative": 37}
    (row,) = read_json("stats", real_file("pdp/PDPChallenge2016.xml"), "--as", "binary")
    assert row["problems"] == 80


def test_check_returns_0_when_nothing_is_found_and_1_when_something_is(real_file):
    clean = run("check", "open")
    assert clean.exit_code == 0
    assert clean.output.endswith("nothing found\n")
    leaky = run("check", real_file("winogrande/dev.jsonl"), "--only", "leaks")
    assert leaky.exit_code == 1
    assert "the last character of qID goes with the answer in 1,267 of 1,267" in leaky.output


def test_check_json_has_rows_for_scripts(real_file):
    findings = read_json("check", real_file("wsc/WSCollection.xml"))
    assert {finding["check"] for finding in findings} == {"groups", "leaks", "rules", "structure"}
    structure = next(finding for finding in findings if finding["check"] == "structure")
    assert structure["details"]["groups"] == 142


def test_check_compares_files_with_each_other(twins, tmp_path):
    from winokit.data.formats import write

    write(twins[:1], tmp_path / "train.jsonl")
    write(twins[1:2], tmp_path / "dev.jsonl")
    result = run("check", tmp_path / "train.jsonl", tmp_path / "dev.jsonl", "--only", "duplicates")
    assert result.exit_code == 1
    assert "1 pair of nearly identical problems with opposite answers" in result.output


def test_convert_writes_what_can_be_read_again(tmp_path):
    result = run("convert", "open", tmp_path / "open.xml", "--to", "wsc")
    assert result.exit_code == 0
    assert "428 problems written to" in result.output
    (row,) = read_json("stats", tmp_path / "open.xml")
    assert (row["problems"], row["groups"]) == (428, 214)


@pytest.mark.parametrize("place", [["out"], ["--out", "out"]])
def test_convert_writes_tasks_and_variants_to_a_folder_however_it_is_named(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    inspect = read_json("convert", "open", *place, "--to", "inspect", "--limit", 8)
    variants = read_json("convert", "open", *place, "--to", "variants", "--limit", 8)
    table = run("convert", "open", "--limit", 8, "--out", "three.csv")
    assert (inspect["folder"], inspect["tasks"]["winokit_open_original"]) == ("out", 8)
    assert (variants["folder"], variants["variants"]["original"]["problems"]) == ("out", 8)
    assert "8 problems written to three.csv" in table.stdout


@pytest.mark.parametrize(
    "option", ["previous", "against", "watch", "majority", "alpha", "bring-back", "previous-hidden"]
)
def test_release_names_the_command_that_has_its_former_options(option, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["winokit", "release", "open", "--out", "out", f"--{option}", "v1"])
    with pytest.raises(SystemExit) as exit_info:
        main()
    error = capsys.readouterr().err
    assert exit_info.value.code == 2
    assert error.count("\n") == 1
    assert error.startswith(f"winokit: --{option} belongs to another command now: winokit evolve")
    parameter = option.replace("-", "_")
    with pytest.raises(TypeError, match=r"it is one of winokit\.evolve\(\) now"):
        winokit.release("open", out="out", **{parameter: "v1"})


@pytest.mark.parametrize(("name", "call"), [("tasks", "lmeval"), ("variants", "variants")])
def test_a_former_call_names_the_one_that_does_it_now(name, call):
    with pytest.raises(AttributeError, match=rf'winokit\.{name} is gone; call winokit\.convert\(.*to="{call}"'):
        getattr(winokit, name)
    assert name not in dir(winokit)


def test_what_was_a_command_before_is_not_listed():
    assert not {*MOVED} & {*VERBS}
    assert "ask" not in run("hunt", "--help").stdout.partition("Commands:")[2]


def test_convert_replaces_an_earlier_file_of_problems(tmp_path):
    out = tmp_path / "open+more.jsonl"
    out.touch()  # as mktemp does
    for _ in range(2):
        assert run("convert", "open", out).exit_code == 0


def test_convert_does_not_replace_its_input(tmp_path):
    out = tmp_path / "open+more.jsonl"
    assert run("convert", "open", out).exit_code == 0
    content = out.read_bytes()
    for data in (out, f"jsonl:{out}"):
        error = shell("convert", data, out, "--to", "winogrande").stderr
        assert "is an input, and would be overwritten" in error
    assert out.read_bytes() == content


def test_convert_does_not_replace_a_file_without_problems(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("id,prediction\n1,A\n")
    result = shell("convert", "open", path, "--to", "csv")
    assert result.returncode == 2
    assert "holds no problems, and would be overwritten" in result.stderr
    assert path.read_text() == "id,prediction\n1,A\n"


def test_convert_says_in_json_what_it_left_out(real_file, tmp_path):
    pdp = real_file("pdp/PDPChallenge2016.xml")
    strict = shell("convert", pdp, tmp_path / "out.jsonl", "--to", "winogrande")
    assert strict.returncode == 2
    assert "3 candidates where winogrande has room for two: use --as binary" in strict.stderr
    lenient = read_json("convert", pdp, tmp_path / "o.jsonl", "--to", "winogrande", "--lenient")
    assert (lenient["problems"], len(lenient["skipped"])) == (45, 15)


def test_datasets_lists_licences_and_formats():
    datasets = {entry["name"]: entry for entry in read_json("datasets")}
    assert datasets["winogrande"]["licence"] == "CC BY"
    assert datasets["wsc273"]["human_accuracy"] == 0.921
    assert "winogrande" in run("datasets").output
    assert "XML: txt1, pron, txt2" in run("datasets", "--formats").output


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["stats", "opne"], "winokit: No dataset or file named 'opne'. Did you mean 'open'? Known: copa, dpr"),
        (["stats", "nowhere/data.jsonl"], "winokit: nowhere/data.jsonl: no such file\n"),
        (["stats", "xml:data"], "No format named 'xml'"),
        (["stats", "open", "--tokens", "letters"], "No way to count tokens named 'letters'"),
        (["stats", "open", "--as", "binry"], "Did you mean 'binary'?"),
        (["check", "open", "--only", "leks"], "Did you mean 'leaks'?"),
        (["check", "open", "--rules", "winogrand"], "Did you mean 'winogrande'?"),
        (["check", "open", "--corpus", ""], "no such index"),
        (["convert", "open", "out", "--to", "wino"], "No format named 'wino'"),
        (["convert", "open"], "--out: missing"),
        (["convert", "open", "a", "--out", "b"], "--out: given twice, as b and as a"),
        (["convert", "open", "out", "--set", "style=code"], "--set style: an option of --to variants"),
        (["convert", "open", "out", "--to", "variants", "--perturbed", "x"], "--perturbed: an option of --to lmeval"),
        (
            ["convert", "open", "out", "--to", "lmeval", "--set", "source_ids=on"],
            "--set source_ids: an option of file formats",
        ),
        (["tasks", "open", "--to", "lmeval", "--out", "t"], "type: winokit convert DATA --to lmeval --out DIR"),
        (["tasks", "--help"], "type: winokit convert DATA --to lmeval --out DIR"),
        (["variants", "open", "--out", "v"], "type: winokit convert DATA --to variants --out DIR"),
        (["hunt", "ask", "i.db", "open"], "type: winokit score DATA --model hunter:INDEX"),
        (["evolve", "v1", "--out", "v2"], "filter against what? Name a model"),
        (["evolve", "v1", "--model", "random", "--out", "v2"], "v1: no such folder"),
        (["score", "open", "--set", "substitution=x"], "No style of substitution named 'x'"),
        (["embed", "open", "--features", "x"], "No kind of features named 'x'"),
        (["debias", "pmi", "open", "--size", "9", "--set", "alone=x"], "No treatment of problems alone named 'x'"),
        (["debias", "pmi", "open", "--size", "9", "--set", "count=x"], "No way to count words named 'x'"),
        (["transfer", "--train", "open", "--test", "open", "--set", "keep=x"], "No choice of weights named 'x'"),
        (["convert", "open", ""], "cannot be written"),
        (["collect", "withdraw", "none", "w-x"], "none/study.toml: no such file"),
        (["convert", "open", "/proc/none/out"], "cannot be written"),
        (["stats"], "Missing argument"),
        (["nothing"], "No such command"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, reason, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["winokit", *arguments])
    with pytest.raises(SystemExit) as exit_info:
        main()
    output = capfd.readouterr()
    assert exit_info.value.code == 2
    assert reason in output.err
    assert "Traceback" not in output.err
    assert output.out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_malformed_file_is_one_line_naming_file_line_and_field(tmp_path):
    (tmp_path / "data.jsonl").write_text('{"sentence": "no blank", "option1": "a", "option2": "b"}\n')
    result = shell("stats", "data.jsonl", cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr == "winokit: data.jsonl:1: field 'sentence': expected exactly one blank '_', found 0\n"


def test_lenient_skips_counts_and_reports(tmp_path):
    good = '{"sentence": "a _ b", "option1": "a", "option2": "b"}\n'
    (tmp_path / "data.jsonl").write_text(good + "broken\n")
    result = shell("stats", "data.jsonl", "--lenient", "--json", cwd=tmp_path)
    assert json.loads(result.stdout)[0]["problems"] == 1
    assert "skipped 1 malformed record" in result.stderr


def test_no_colours_when_piped():
    assert "\x1b" not in shell("check", "open").stdout


def test_an_interrupt_returns_130(monkeypatch):
    raise_from_app(monkeypatch, KeyboardInterrupt())
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 130


def test_a_command_that_is_interrupted_says_so(monkeypatch, capsys):
    app = typer.Typer()

    @app.command()
    def wait() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("winokit.cli.main.app", app)
    monkeypatch.setattr("sys.argv", ["winokit"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert (stop.value.code, capsys.readouterr().err) == (130, "winokit: interrupted\n")


def test_an_interrupted_audit_says_where_its_answers_are_kept(tmp_path):
    body = "def stop(before, after, candidates, pronoun):\n    raise KeyboardInterrupt\n"
    (tmp_path / "pressed.py").write_text(body)
    arguments = ["audit", "open", "--limit", 4, "--model", "python:pressed:stop", "--set"]
    kept = shell(*arguments, "cache=kept.sqlite", cwd=tmp_path)
    assert kept.returncode == 130
    way_on = "what was answered is kept in kept.sqlite, and the same command continues from there"
    assert kept.stderr == f"winokit: interrupted; {way_on}\n"
    lost = shell(*arguments, "cache=off", cwd=tmp_path)
    assert (lost.returncode, lost.stderr) == (130, "winokit: interrupted\n")


def test_a_reader_that_leaves_early_is_no_error():
    command = f"{sys.executable} -m winokit stats open --json | head -c 5; exit ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, env=os.environ)
    assert (result.returncode, result.stderr) == (0, "")


def test_brackets_in_a_name_are_printed_and_not_taken_for_colours(tmp_path):
    problem = '{"text": "a _ b", "candidates": ["a", "b"], "domain": "[/red]"}\n'
    (tmp_path / "data.jsonl").write_text('{"card": {"name": "my[v2]set"}}\n' + problem)
    result = run("stats", tmp_path / "data.jsonl")
    assert result.exit_code == 0
    assert "my[v2]set" in result.output
    assert "[/red] 1" in result.output


def test_files_of_one_name_are_told_apart(tmp_path, twins):
    from winokit.data.formats import write

    files = [str(tmp_path / folder / "dev.jsonl") for folder in ("a/x", "b/x")]
    for path in files:
        write(twins, Path(path), "winogrande")
    names = [row["dataset"] for row in read_json("stats", *files)]
    assert names == files
    assert f"{files[0]} and {files[1]}" in run("check", *files, "--only", "duplicates").output


@pytest.mark.parametrize(("most", "count"), [(2, 2), (9, 6)])
def test_as_many_examples_are_shown_as_are_asked_for(twins, tmp_path, most, count):
    path = tmp_path / "short.jsonl"
    write(twins, path)
    output = run("check", path, "--only", "rules", "--examples", most, "--rules", "winogrande").output
    assert output.count("15 to 30 words expected") == count


def test_without_rules_no_length_is_expected(twins, tmp_path):
    path = tmp_path / "short.jsonl"
    write(twins, path)
    assert "words expected" not in run("check", path, "--only", "rules", "--examples", 9).output


def test_what_may_be_twins_has_its_rows_in_json(real_file):
    findings = read_json("check", real_file("superglue-wsc/train.jsonl"), "--only", "groups")
    (possible_twins,) = [finding for finding in findings if finding["warns"]]
    rows = possible_twins["details"]["rows"]
    assert min(row[0] for row in rows) == 141
    assert len(rows) == possible_twins["count"] == 3


def test_convert_says_when_the_name_of_the_file_promises_another_format(tmp_path):
    assert "contains jsonl" in run("convert", "open", tmp_path / "open.csv").stderr
    assert "contains jsonl" not in run("convert", "open", tmp_path / "open.jsonl").stderr
    assert "holds" not in run("convert", "open", tmp_path / "open.csv", "--to", "csv").stderr


def test_the_verbs_stand_in_groups_each_on_one_line_with_a_first_command():
    output = run("--help").output
    headings = [line for line in output.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings == ["Options:", "Data:", "Evaluate:", "Debias and release:", "Train:", "Collect:"]
    verb_list = output.partition("Data:")[2]
    assert all(f"\n  {name}" in verb_list for name in VERBS)
    assert "\n   " not in verb_list, "a line is broken"
    assert "..." not in verb_list
    last_line = output.rstrip().splitlines()[-1]
    assert last_line.strip().startswith("Start with: winokit audit")


@pytest.mark.parametrize("family", [["collect"], ["hunt"], ["debias"]])
def test_lists_of_commands_are_not_cut_off(family):
    assert "..." not in run(*family, "--help").output.partition("Commands:")[2]


@pytest.mark.parametrize("verb", ["report", "datasets", "train", "grade", "audit"])
def test_help_has_the_words_of_a_docstring_without_its_sections(verb):
    assert "---" not in run(verb, "--help").output


@pytest.mark.parametrize("verb", [["audit"], ["train"], ["release"], ["debias", "aflite"]])
def test_long_verbs_show_the_usual_options_and_all_when_asked(verb):
    usual_help = run(*verb, "--help").output
    full_help = run(*verb, "--help-all").output
    option_pattern = re.compile(r"^  (?:-h, )?(--[a-z-]+)", re.MULTILINE)
    usual_options = option_pattern.findall(usual_help)
    all_options = option_pattern.findall(full_help)
    assert len(usual_options) <= 15
    assert {"--json", "--help", "--help-all"} <= set(usual_options)
    assert set(usual_options) - {"--help-all"} < set(all_options)
    assert "Settings of winokit.toml, or --set:" in full_help
    assert "winokit.toml" not in usual_help


def usual_verbs():
    """The names of the verbs that have usual options."""
    return [name for name, verb in VERBS.items() if verb.usual]


@pytest.mark.parametrize("name", usual_verbs())
def test_every_usual_option_exists(name):
    verb = VERBS[name]
    commands = [[name]]
    if verb.names:
        commands = [[name, "aflite"], [name, "pmi"], [name, "random"]]
    output = "".join(run(*command, "--help").output for command in commands)
    assert all(f" --{option}" in output for option in verb.usual.split())


PROGRAM = "import sys; sys.argv[0] = 'winokit'; from winokit.cli.main import main; main()"


def complete(*words):
    """Completions that bash is offered for the last word."""
    completion = {
        "_WINOKIT_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    command = [sys.executable, "-c", PROGRAM]
    environment = os.environ | completion
    process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANGS, env=environment)
    return process.stdout.split()


def test_verbs_datasets_and_their_parts_are_completed():
    assert complete("winokit", "au") == ["audit"]
    assert complete("winokit", "stats", "wsc") == ["wsc", "wsc273"]
    assert "winogrande/xl" in complete("winokit", "train", "winogrande/")


def test_files_are_completed_beside_names(tmp_path, monkeypatch):
    (tmp_path / "opened").mkdir()
    (tmp_path / "open.csv").touch()
    monkeypatch.chdir(tmp_path)
    assert complete_data("op") == ["open", "open.csv", "opened/"]
    assert complete_data(f"{tmp_path}/open.") == [f"{tmp_path}/open.csv"]


def test_a_verb_that_was_mistyped_is_guessed():
    assert "Did you mean 'audit'?" in run("audti").output
