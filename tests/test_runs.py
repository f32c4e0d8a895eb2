"""`python -m runs`: tables run to the end, results are stored and resumed, and the page says what they say."""

import ast
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from runs import naturalness, page, protocol, store, tables, trigrams, winogrande
from runs.__main__ import TOOLS, main
from runs.protocol import protocols
from winokit.errors import BadInput
from winokit.results import Metric

PAGES = {path.name: path.read_text("utf-8") for path in page.PAGES}
HEAVY = ("torch", "transformers", "ray", "optuna")


def call(*arguments):
    """Run the command in a process of its own, with nothing but the repository on the path."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "runs", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, check=False)


def metrics(path):
    """Rows of a stored table."""
    return json.loads(path.read_text("utf-8"))["metrics"]


# The page


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_written_from_the_stored_results(name):
    assert page.rewritten(PAGES[name]) == PAGES[name], "run `python -m runs page`"


def test_every_stored_result_is_on_a_page():
    shown = set()
    for text in PAGES.values():
        shown |= {match[2] for match in page.PART.finditer(text)}
    for table in tables.all_tables().values():
        assert set(table.places()) <= shown, f"no page shows {table.name}"
    for paper_table in protocols().values():
        if paper_table.here.get("trains"):
            assert f"settings-{paper_table.name}" in shown or paper_table.name == "square-one-4-5"
        if paper_table.accuracies:
            assert f"denominators-{paper_table.name}" in shown


def test_every_table_has_a_section_of_its_title_which_the_overview_links_to():
    for paper_table in protocols().values():
        page_name = protocol.PAGES[paper_table.paper_name]
        anchors = page.sections(PAGES[f"paper-{page_name}.md"])
        assert protocol.anchor_of(paper_table) in anchors, paper_table.name


@pytest.mark.parametrize("name", PAGES)
def test_every_number_in_the_prose_is_a_result_or_a_papers(name):
    assert page.unsupported(PAGES[name]) == []


def test_the_overview_is_short_and_each_table_has_a_few_sentences():
    assert len(PAGES["reproduction.md"].split()) <= 1500
    for name, text in PAGES.items():
        if name == "reproduction.md":
            continue
        for section in page.sections(text).values():
            prose = " ".join(block for block in section.blocks() if not block.startswith(("|", "!")))
            sentence_ends = re.findall(r"[.:](?:\s|$)", prose)
            assert len(sentence_ends) <= 12, f"{name}: {section.anchor}"


def test_a_wrong_number_in_a_table_is_found():
    text = PAGES["paper-winogrande-2019.md"]
    _, second_table, *_ = page.PART.finditer(text)
    first_number = re.search(r"\d\.\d", second_table[3])
    index = second_table.start(3) + first_number.start()
    wrong_digit = "2" if text[index] == "1" else "1"
    text_with_error = text[:index] + wrong_digit + text[index + 1 :]
    assert page.rewritten(text_with_error) == text


def test_an_unknown_table_is_told():
    with pytest.raises(BadInput, match="no table named 'nonsense'"):
        page.rewritten("<!-- table nonsense -->\n<!-- end -->")


def test_numbers_are_allowed_by_section_and_by_link():
    text = """# Paper
## One
<!-- table a -->
| 62.3 [58.1, 64.2] |
<!-- end -->
Ours is 62.3 [58.1, 64.2], not 63.3 or 58.1, nor 62.3 [58.1, 64.3] or 62.3 ± 1.0; see
section 6.1 of version 1.1, and `0.5`.

## Two
It was 62.3.

As [above](#one) it was 62.3 %, and 7 % else.
"""
    unsupported_numbers = [message.split(" in ")[0] for message in page.unsupported(text)]
    assert unsupported_numbers == [
        "one: 58.1",
        "one: 62.3 [58.1 64.3]",
        "one: 62.3 ± 1.0",
        "one: 63.3",
        "two: 62.3",
        "two: 7",
    ]


def test_every_command_of_the_pages_is_known():
    command_count = 0
    for text in PAGES.values():
        for line in re.findall(r"^\$ (?:\w+=\S+ )*python -m runs(?: (.*))?$", text, re.MULTILINE):
            command_count += 1
            names = line.split("#")[0].split()
            if names:
                assert names[0] in TOOLS or tables.tables_of(names[0])
    assert command_count > 20


# The results


def test_stored_results_are_small_and_tell_no_place_or_time():
    files = list(tables.RESULTS.glob("*.json"))
    sizes = [path.stat().st_size for path in files]
    assert files
    assert sum(sizes) < 4_000_000
    for path in files:
        assert not re.search(r"/tmp/|/home/|/root/|\b20\d\d-\d\d-\d\d", path.read_text("utf-8")), path


def test_stored_predictions_have_the_stored_accuracy(real_file):
    from winokit.data.loading import load

    dev = load(real_file("winogrande/dev.jsonl"))
    results = store.Store(tables.RESULTS / "winogrande-4.json")
    for key, record in results.records.items():
        if not key.startswith("dev |"):
            continue
        earned = []
        for choice, problem in zip(store.chosen(record.predictions["dev"]), dev, strict=True):
            is_right = choice == problem.answer
            earned.append(1 / 2 if choice is None else is_right)
        assert sum(earned) / len(dev) == pytest.approx(record.value("expected_accuracy"))


def test_a_store_comes_back_as_it_was_put(tmp_path):
    row = Metric("dev", "m", "partial", None, "accuracy", "all", "accuracy", 2 / 3, 3, 0.1, 0.9, 0.5)
    record = store.Record("dev | m", {"n": 3}, (row,), {"dev": store.letters([0, None, 1])}, {"note": "ä"}, 1.0)
    store.Store(tmp_path / "a.json").put(record)
    results = store.Store(tmp_path / "a.json")
    assert results["dev | m"].predictions == {"dev": "0-1"}
    assert results["dev | m"].value("accuracy", "all") == pytest.approx(2 / 3)
    assert results["dev | m"].texts == {"note": "ä"}
    assert results.has("dev | m", {"n": 3})
    assert not results.has("dev | m", {"n": 4})
    merged = store.Store(tmp_path / "b.json")
    merged.merge([results])
    assert (tmp_path / "b.json").read_text() == (tmp_path / "a.json").read_text()
    first_row, *_ = metrics(tmp_path / "b.json")
    assert first_row | {"value": 0} == {
        "run": "dev | m",
        "dataset": "dev",
        "model": "m",
        "scoring": "partial",
        "protocol": "accuracy",
        "subset": "all",
        "metric": "accuracy",
        "value": 0,
        "n": 3,
        "low": 0.1,
        "high": 0.9,
        "chance": 0.5,
    }


@pytest.mark.parametrize("models", [["builtin"], ["builtin", "SmolLM2"], ["builtin", "SmolLM2", "another"]])
def test_accuracy_by_surprisal_names_each_dataset_once_on_its_first_line(models, tmp_path):
    stored = store.Store(tables.RESULTS / "naturalness-texts.json")
    results = store.Store(tmp_path / "results.json")
    for name in naturalness.SETS:
        record = stored[tables.key(name, "builtin")]
        results.put(*(replace(record, key=tables.key(name, model)) for model in models))
    _, _, *lines = naturalness.show_accuracy(results).splitlines()
    datasets = [line.split("|")[1].strip() for line in lines]
    lines_per_dataset = len(models) * len(naturalness.SORTED_BY)
    expected = []
    for heading in ("WSC (273)", "DPR test (564)", "WinoGrande dev (1,267)"):
        expected += [heading, *[""] * (lines_per_dataset - 1)]
    assert datasets == expected


# The command


def test_without_arguments_every_table_is_listed():
    done = call()
    assert done.returncode == 0, done.stderr
    for table in tables.all_tables().values():
        assert re.search(rf"^  {re.escape(table.name)} +{re.escape(table.title)} \(", done.stdout, re.MULTILINE)


def imported(path):
    """Modules outside runs/ that a file of runs/ imports when it is loaded, also through others of runs/."""
    modules = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("runs."):
            modules |= imported(ROOT / f"{node.module.replace('.', '/')}.py")
        elif isinstance(node, ast.ImportFrom):
            modules.add(node.module)
        elif isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
    return modules


@pytest.mark.parametrize("module", ["__main__", "page", *tables.MODULES])
def test_nothing_heavy_is_imported_to_list_and_to_write_the_page(module):
    packages = {str(name).split(".")[0] for name in imported(ROOT / "runs" / f"{module}.py")}
    assert not packages & set(HEAVY)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "No paper or table named 'nonsense'. Known: "),
        (["liu-99"], "No paper or table named 'liu-99'."),
        (["winogrande-4", "--data", "nowhere"], "--data"),
        (["winogrande-4", "--limit", "0"], "--limit: expected a number above 0, found 0"),
        (["liu-2"], "no command makes them; what liu trains: liu-1"),
        (["trichelair-B", "--limit", "3", "--out", str(tables.RESULTS)], "choose another --out"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(arguments, message, tmp_path, capsys):
    if "--out" not in arguments:
        arguments = [*arguments, "--out", str(tmp_path)]
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_an_unknown_model_is_told_in_one_line(tmp_path, real_file, capsys):
    folder = real_file("winogrande/dev.jsonl").parents[1]
    options = ("--data", str(folder), "--limit", "4", "--out", str(tmp_path), "--cache", "off")
    assert main(["winogrande-4", "--model", "nonsense", *options]) == 2
    assert capsys.readouterr().err.startswith("runs: No kind of model named 'nonsense'")


def test_the_lucky_draw_is_the_papers_and_needs_nothing(tmp_path):
    done = call("trichelair-B", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "| WSC273 | 273 | 0.045 | 0.369 | 0.04 | 0.37 |" in done.stdout
    assert "| WSC273 | 273 | 0.045 |" in (tmp_path / "trichelair-B.md").read_text("utf-8")
    rows = metrics(tmp_path / "trichelair-B.json")
    value_by_metric = {row["metric"]: row["value"] for row in rows if row["n"] == 273}
    assert round(value_by_metric["p_best_of_10"], 3) == 0.369


def test_a_table_runs_on_a_few_problems_is_not_run_twice_and_refuses_other_records(
    tmp_path, real_file, capsys, monkeypatch
):
    folder = real_file("winogrande/dev.jsonl").parents[1]
    options = ["--data", str(folder), "--limit", "40", "--out", str(tmp_path), "--cache", "off"]
    assert main(["winogrande-4", "--model", "random", *options]) == 0
    assert re.search(r"^\| Random \| 50.0 \| 50.0 \| a coin \| \d+\.\d \[", capsys.readouterr().out, re.MULTILINE)
    rows = metrics(tmp_path / "winogrande-4.json")
    counts = [row["n"] for row in rows if row["metric"] == "expected_accuracy"]
    assert counts == [40, 40]
    record = store.Store(tmp_path / "winogrande-4.json")["dev | a coin"]
    assert set(record.predictions["dev"]) == {"0", "1"}
    assert len(record.predictions["dev"]) == 40
    monkeypatch.setattr(tables.winokit, "audit", lambda *_, **__: pytest.fail("stored work is done again"))
    assert main(["winogrande-4", "--model", "random", *options]) == 0
    before = (tmp_path / "winogrande-4.json").read_bytes()
    capsys.readouterr()
    assert main(["winogrande-4", "--model", "random", *options, "--limit", "41"]) == 2
    assert "a record of 'dev | a coin' with another problems (40, now 41)" in capsys.readouterr().err
    assert main(["winogrande-4", "--model", "a coin=builtin", *options]) == 2
    assert "with another model (random, now builtin); choose another --out" in capsys.readouterr().err
    assert (tmp_path / "winogrande-4.json").read_bytes() == before


@pytest.mark.parametrize(("table", "text"), [("square-one-1", "not in a try"), ("square-one-2", "trophy, suitcase")])
def test_a_try_of_a_table_with_stored_predictions_or_certain_pairs_is_shown(table, text, tmp_path, real_file, capsys):
    data = real_file("wsc/WSCollection.xml").parents[1]
    assert main([table, "--model", "random", "--limit", "30", "--data", str(data), "--out", str(tmp_path)]) == 0
    assert text in capsys.readouterr().out


def test_trichelairs_tables_have_the_papers_counts(tmp_path, real_file, capsys):
    folder = real_file("wsc/WSCollection.xml").parents[1]
    real_file("trichelair/WSC_switched_label.json")
    for number in ("2", "3"):
        options = ["--data", str(folder), "--out", str(tmp_path), "--cache", "off"]
        assert main([f"trichelair-{number}", "--model", "random", *options]) == 0
    assert "| Ensemble of 10 LMs, paper | 61.5 | 58.8 | 49.6 | 43.5 | | |" in capsys.readouterr().out
    rows = metrics(tmp_path / "trichelair-2.json") + metrics(tmp_path / "trichelair-3.json")
    counts = {(row["dataset"], row["metric"]): row["n"] for row in rows}
    assert counts["all 273", "accuracy"] == 273
    assert counts["switched, as released", "consistency"] == 131
    assert counts["switched, mended", "consistency"] == 131
    assert counts["associative", "accuracy"] == 37
    assert counts["the rest", "accuracy"] == 236


def test_trigrams_are_a_distribution(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("the cat sat\n\nthe cat ran\n\nthe dog sat\n\nthe cat sat", "utf-8")
    vocabulary, ids = trigrams.numbered(map(trigrams.marked, trigrams.paragraphs([text])))
    assert set(vocabulary) == {"<unk>", "<s>", "</s>", "the", "cat", "sat"}  # words seen once are unknown
    probabilities = {}
    back_off_weights = {}
    for line in trigrams.arpa(vocabulary, ids).splitlines():
        if "\t" in line:
            logprob, ngram, *back_off = line.split("\t")
            probabilities[tuple(ngram.split())] = 10 ** float(logprob)
            back_off_weights[ngram] = [10 ** float(weight) for weight in back_off]
    after_the = {ngram[1]: p for ngram, p in probabilities.items() if len(ngram) == 2 and ngram[0] == "the"}
    unigrams = {ngram[0]: p for ngram, p in probabilities.items() if len(ngram) == 1}
    unseen = sum(p for word, p in unigrams.items() if word not in after_the)
    (back_off_weight,) = back_off_weights["the"]
    assert sum(after_the.values()) + back_off_weight * unseen == pytest.approx(1, abs=1e-3)
    assert after_the["cat"] > after_the["<unk>"]


def test_the_gender_table_leaves_out_the_half_in_which_a_candidate_is_just_someone(real_file):
    from winokit.data.loading import load

    data = load(real_file("winogender/all_sentences.tsv"))
    with_both_named = [problem for problem in data if winogrande.both_named(problem)]
    assert len(data) == 720
    assert len(with_both_named) == 360
