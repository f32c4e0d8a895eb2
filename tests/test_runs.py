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
    return json.loads(path.read_text("utf-8"))["metrics"]


# The page


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_written_from_the_stored_results(name):
    assert page.rewritten(PAGES[name]) == PAGES[name], "run `python -m runs page`"


def test_every_stored_result_is_on_a_page():
    shown = {found[2] for text in PAGES.values() for found in page.PART.finditer(text)}
    for table in tables.all_tables().values():
        assert set(table.places()) <= shown, f"no page shows {table.name}"
    for given in protocols().values():
        if given.here.get("trains"):
            assert f"settings-{given.name}" in shown or given.name == "square-one-4-5"
        if given.accuracies:
            assert f"denominators-{given.name}" in shown


def test_every_table_has_a_section_of_its_title_which_the_overview_links_to():
    for given in protocols().values():
        anchors = page.sections(PAGES[f"paper-{protocol.PAGES[given.paper_name]}.md"])
        assert protocol.anchor_of(given) in anchors, given.name


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
            assert len(re.findall(r"[.:](?:\s|$)", prose)) <= 12, f"{name}: {section.anchor}"


def test_a_wrong_number_in_a_table_is_found():
    text = PAGES["paper-winogrande-2019.md"]
    second = list(page.PART.finditer(text))[1]
    at = second.start(3) + re.search(r"\d\.\d", second[3]).start()
    assert page.rewritten(text[:at] + ("1" if text[at] != "1" else "2") + text[at + 1 :]) == text


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
    assert [found.split(" in ")[0] for found in page.unsupported(text)] == [
        "one: 58.1",
        "one: 62.3 [58.1 64.3]",
        "one: 62.3 ± 1.0",
        "one: 63.3",
        "two: 62.3",
        "two: 7",
    ]


def test_every_command_of_the_pages_is_known():
    found = 0
    for text in PAGES.values():
        for line in re.findall(r"^\$ (?:\w+=\S+ )*python -m runs(?: (.*))?$", text, re.MULTILINE):
            names = line.split("#")[0].split()
            found += 1
            if not names:
                continue
            name = names[0]
            assert name in TOOLS or tables.tables_of(name)
    assert found > 20


# The results


def test_stored_results_are_small_and_tell_no_place_or_time():
    files = list(tables.RESULTS.glob("*.json"))
    assert files
    assert sum(path.stat().st_size for path in files) < 4_000_000
    for path in files:
        assert not re.search(r"/tmp/|/home/|/root/|\b20\d\d-\d\d-\d\d", path.read_text("utf-8")), path


def test_stored_predictions_have_the_stored_accuracy(real_file):
    from winokit.data.loading import load

    dev = load(real_file("winogrande/dev.jsonl"))
    found = store.Store(tables.RESULTS / "winogrande-4.json")
    for record in (one for key, one in found.records.items() if key.startswith("dev |")):
        chosen = store.chosen(record.predictions["dev"])
        right = [1 / 2 if one is None else one == problem.answer for one, problem in zip(chosen, dev, strict=True)]
        assert sum(right) / len(dev) == pytest.approx(record.value("expected_accuracy"))


def test_a_store_comes_back_as_it_was_put(tmp_path):
    row = Metric("dev", "m", "partial", None, "accuracy", "all", "accuracy", 2 / 3, 3, 0.1, 0.9, 0.5)
    record = store.Record("dev | m", {"n": 3}, (row,), {"dev": store.letters([0, None, 1])}, {"note": "ä"}, 1.0)
    store.Store(tmp_path / "a.json").put(record)
    again = store.Store(tmp_path / "a.json")
    assert again["dev | m"].predictions == {"dev": "0-1"}
    assert again["dev | m"].value("accuracy", "all") == pytest.approx(2 / 3)
    assert again["dev | m"].texts == {"note": "ä"}
    assert again.has("dev | m", {"n": 3})
    assert not again.has("dev | m", {"n": 4})
    other = store.Store(tmp_path / "b.json")
    other.merge([again])
    assert (tmp_path / "b.json").read_text() == (tmp_path / "a.json").read_text()
    assert metrics(tmp_path / "b.json")[0] | {"value": 0} == {
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
    """The modules that one of runs/ imports as it is loaded, those of runs/ followed."""
    found = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("runs."):
            found |= imported(ROOT / f"{node.module.replace('.', '/')}.py")
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {node.module} if isinstance(node, ast.ImportFrom) else {name.name for name in node.names}
    return found


@pytest.mark.parametrize("module", ["__main__", "page", *tables.MODULES])
def test_nothing_heavy_is_imported_to_list_and_to_write_the_page(module):
    assert not {name for name in imported(ROOT / "runs" / f"{module}.py") if str(name).split(".")[0] in HEAVY}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["nonsense"], "No paper or table named 'nonsense'. Known: "),
        (["liu-99"], "No paper or table named 'liu-99'."),
        (["winogrande-4", "--data", "nowhere"], "--data"),
        (["winogrande-4", "--limit", "0"], "--limit: expected a number above 0, found 0"),
        (["liu-2"], "no command makes them; what liu trains: liu-1"),
        (["trichelair-B", "--limit", "3", "--out", str(tables.RESULTS)], "choose another --out"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(arguments, why, tmp_path, capsys):
    assert main([*arguments, *([] if "--out" in arguments else ["--out", str(tmp_path)])]) == 2
    told = capsys.readouterr().err
    assert why in told
    assert told.count("\n") == 1


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
    found = {row["metric"]: row["value"] for row in metrics(tmp_path / "trichelair-B.json") if row["n"] == 273}
    assert round(found["p_best_of_10"], 3) == 0.369


def test_a_table_runs_on_a_few_problems_is_not_run_twice_and_refuses_other_records(
    tmp_path, real_file, capsys, monkeypatch
):
    folder = real_file("winogrande/dev.jsonl").parents[1]
    options = ["--data", str(folder), "--limit", "40", "--out", str(tmp_path), "--cache", "off"]
    assert main(["winogrande-4", "--model", "random", *options]) == 0
    assert re.search(r"^\| Random \| 50.0 \| 50.0 \| a coin \| \d+\.\d \[", capsys.readouterr().out, re.MULTILINE)
    found = [row for row in metrics(tmp_path / "winogrande-4.json") if row["metric"] == "expected_accuracy"]
    assert [row["n"] for row in found] == [40, 40]
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


@pytest.mark.parametrize(("table", "said"), [("square-one-1", "not in a try"), ("square-one-2", "trophy, suitcase")])
def test_a_try_of_a_table_with_stored_predictions_or_certain_pairs_is_shown(table, said, tmp_path, real_file, capsys):
    data = real_file("wsc/WSCollection.xml").parents[1]
    assert main([table, "--model", "random", "--limit", "30", "--data", str(data), "--out", str(tmp_path)]) == 0
    assert said in capsys.readouterr().out


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
    assert {counts[f"switched, {how}", "consistency"] for how in ("as released", "mended")} == {131}
    assert (counts["associative", "accuracy"], counts["the rest", "accuracy"]) == (37, 236)


def test_trigrams_are_a_distribution(tmp_path):
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


def test_the_gender_table_leaves_out_the_half_in_which_a_candidate_is_just_someone(real_file):
    from winokit.data.loading import load

    data = load(real_file("winogender/all_sentences.tsv"))
    assert (len(data), sum(winogrande.both_named(problem) for problem in data)) == (720, 360)
