"""The scripts in runs/: they explain themselves, the document names them, and small ones run to the end."""

import ast
import importlib.util
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "runs"
PAGE = (ROOT / "docs" / "reproduction.md").read_text("utf-8")
SCRIPTS = sorted(path for path in RUNS.glob("*.py") if "__main__" in path.read_text("utf-8"))


def call(script, *arguments):
    """Run a script with nothing but the repository's src on the path."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, str(RUNS / script), "--cache", "off", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, check=False)


def module(name):
    """A module of runs/, which is no package."""
    spec = importlib.util.spec_from_file_location(name, RUNS / f"{name}.py")
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


def results(folder):
    return json.loads((folder / "results.json").read_text("utf-8"))


def imported_at_the_top(path):
    """The modules a script imports before it has read its arguments, those of runs/ followed."""
    found = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
            if (RUNS / f"{node.module}.py").exists():
                found |= imported_at_the_top(RUNS / f"{node.module}.py")
    return found


def test_there_are_scripts():
    assert len(SCRIPTS) > 15


@pytest.mark.parametrize("script", [path.name for path in SCRIPTS])
def test_every_script_says_what_it_is_for_and_imports_nothing_heavy_before_it_must(script):
    document = ast.get_docstring(ast.parse((RUNS / script).read_text("utf-8")))
    assert document
    heavy = {
        name for name in imported_at_the_top(RUNS / script) if name.split(".")[0] in ("torch", "transformers", "ray")
    }
    assert not heavy


@pytest.mark.parametrize("script", [path.name for path in SCRIPTS])
def test_the_document_has_a_command_for_every_script_under_a_heading(script):
    before, found, _ = PAGE.partition(f"runs/{script}")
    assert found, f"docs/reproduction.md does not name runs/{script}"
    assert re.search(r"^## ", before, re.MULTILINE), f"runs/{script} is named before any heading"


def test_the_document_names_no_script_that_is_not_there():
    for name in re.findall(r"runs/(\w+\.py)", PAGE):
        assert (RUNS / name).exists(), name


@pytest.mark.parametrize("script", [path.name for path in SCRIPTS])
def test_every_script_answers_help(script, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(RUNS))
    monkeypatch.setattr(sys, "argv", [script, "--help"])
    with pytest.raises(SystemExit) as left:
        runpy.run_path(str(RUNS / script), run_name="__main__")
    assert left.value.code in (0, None)
    assert "--out" in capsys.readouterr().out


def test_the_lucky_draw_is_the_papers(tmp_path):
    done = call("trichelair_lucky_draw.py", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "| WSC273 | 273 | 0.045 | 0.369 | 0.04 | 0.37 |" in done.stdout
    found = {row["metric"]: row["value"] for row in results(tmp_path)["metrics"] if row["dataset"] == "WSC273"}
    assert round(found["p_best_of_10"], 3) == 0.369


def test_a_missing_folder_of_data_is_told_in_one_line(tmp_path):
    done = call("winogrande_table4.py", "--data", tmp_path / "nowhere", "--out", tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "--data" in done.stderr


def test_an_unknown_model_is_told_in_one_line(tmp_path, real_file):
    folder = real_file("winogrande/dev.jsonl").parents[1]
    done = call("winogrande_table4.py", "--data", folder, "--model", "nonsense", "--limit", 4, "--out", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("winogrande_table4: No kind of model named 'nonsense'")


def test_the_untrained_rows_of_table_4_run_on_a_few_problems(tmp_path, real_file):
    folder = real_file("winogrande/dev.jsonl").parents[1]
    done = call("winogrande_table4.py", "--data", folder, "--model", "random", "--limit", 40, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^\| random \| 100 \| \d+\.\d \[", done.stdout, re.MULTILINE)
    found = [row for row in results(tmp_path)["metrics"] if row["metric"] == "expected_accuracy"]
    assert [row["n"] for row in found] == [40, 40]


def test_trichelairs_tables_have_the_papers_counts(tmp_path, real_file):
    folder = real_file("wsc/WSCollection.xml").parents[1]
    real_file("trichelair/WSC_switched_label.json")
    done = call("trichelair_tables.py", "--data", folder, "--model", "random", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "| Ensemble of 10 LMs (Trinh and Le, 2018), paper | 61.5 | 58.8 |" in done.stdout
    counts = {row["metric"]: row["n"] for row in results(tmp_path)["metrics"] if row["protocol"] == "tables"}
    assert (counts["all"], counts["unswitched"]) == (273, 131)
    assert counts["switched, as released"] == counts["switched"] == counts["consistency"] == 131
    assert (counts["associative"], counts["the rest"]) == (37, 236)


def test_trigrams_are_a_distribution(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(RUNS))
    trigrams = module("trigrams")
    text = tmp_path / "text.txt"
    text.write_text("the cat sat\n\nthe cat ran\n\nthe dog sat\n\nthe cat sat", "utf-8")
    vocabulary, ids = trigrams.numbered(map(trigrams.marked, trigrams.paragraphs([text])))
    assert set(vocabulary) == {"<unk>", "<s>", "</s>", "the", "cat", "sat"}  # words seen once are unknown
    entries = [line.split("\t") for line in trigrams.arpa(vocabulary, ids).splitlines() if "\t" in line]
    unigrams = {words: 10 ** float(log) for log, words, *_ in entries if " " not in words}
    after_the = {
        words.split()[1]: 10 ** float(log)
        for log, words, *_ in entries
        if words.startswith("the ") and words.count(" ") == 1
    }
    left = next(10 ** float(rest[0]) for _, words, *rest in entries if words == "the")
    unseen = sum(p for word, p in unigrams.items() if word not in after_the)
    assert sum(after_the.values()) + left * unseen == pytest.approx(1, abs=1e-3)
    assert after_the["cat"] > after_the["<unk>"]


def test_a_spec_is_shortened_to_names(monkeypatch):
    monkeypatch.syspath_prepend(str(RUNS))
    common = module("common")
    assert common.short("ensemble:hf:/models/smollm2+ngram:/models/q.arpa") == "ensemble:hf:smollm2+ngram:q.arpa"
    assert common.short("builtin") == "builtin"
    assert common.table(["a", "b"], [[1, None]]) == "| a | b |\n|---|---|\n| 1 |  |"


def test_the_gender_table_leaves_out_the_half_in_which_a_candidate_is_just_someone(monkeypatch, real_file):
    monkeypatch.syspath_prepend(str(RUNS))
    from winokit.data.loading import load

    data = load(real_file("winogender/all_sentences.tsv"))
    named = module("winogrande_table6").both_named
    assert (len(data), sum(named(problem) for problem in data)) == (720, 360)
