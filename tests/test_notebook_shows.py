"""Notebooks: how objects are shown, data frames in and out, models as objects, progress."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import winokit
from winokit import notebook
from winokit.errors import BadInput, Malformed, MissingExtra, UnknownName
from winokit.models.registry import load_model
from winokit.stages.suite.settings import SuiteData


@pytest.fixture(scope="module")
def twins() -> winokit.Dataset:
    return winokit.load("open")[:40]


@pytest.fixture(scope="module")
def run(twins: winokit.Dataset) -> winokit.Run:
    return winokit.audit(twins, model="random", cache="off")


def shortest(before: str, after: str, candidates: tuple[str, ...], pronoun: str | None) -> list[float]:
    """Score the shortest candidate highest."""
    return [-len(name) for name in candidates]


def test_a_dataset_shows_its_first_twins_with_the_special_words_marked(twins):
    page = twins._repr_html_()
    assert "40 problems, 20 groups" in page
    assert "<mark>never</mark>" in page
    assert "<mark>always</mark>" in page
    assert "<b>the spaniel</b>" in page
    assert len(page) < 5_000


def test_a_problem_shows_its_right_candidate_in_bold_and_escapes_its_text():
    problem = winokit.Problem.from_text("Is 1 < 2? _ is.", ["one", "two"], answer=1)
    assert "1 &lt; 2" in problem._repr_html_()
    assert "one / <b>two</b>" in problem._repr_html_()


def test_a_dataset_without_groups_shows_single_problems():
    page = winokit.Dataset([winokit.Problem.from_text("A cup, _ fell.", ["it", "he"])])._repr_html_()
    assert "A cup, _ fell." in page


def test_a_run_shows_what_the_terminal_prints(run):
    page = run._repr_html_()
    assert "<table" in page
    assert "random" in page
    assert len(repr(run)) < 500


def score_twins(twins, folder):
    return winokit.score(twins, "random", out=folder / "p.jsonl")


def compare_two_runs(twins, folder):
    winokit.audit(twins, model="random", cache="off", out=folder / "one")
    winokit.audit(twins, model="random?seed=1", cache="off", out=folder / "other")
    return winokit.compare([folder / "one", folder / "other"])


def debias_twins(twins, folder):
    features = np.random.default_rng(0).normal(size=(40, 4))
    return winokit.debias(twins, winokit.AFLite(cutoff=2, ensemble_size=4), features=features, assess=False)


@pytest.mark.parametrize("verb", [score_twins, compare_two_runs, debias_twins])
def test_other_results_show_what_the_terminal_prints(verb, twins, tmp_path):
    result = verb(twins, tmp_path)
    page = result._repr_html_()
    assert "<table" in page or "<p" in page
    assert len(repr(result)) < 1_000


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_of_a_dataset_reads_back_to_the_same_problems(twins, library):
    frame = twins.to_frame(library)
    data = winokit.Dataset.from_frame(frame, name="open")
    assert frame.shape[0] == 40
    for problem, original in zip(data, twins, strict=True):
        assert problem.id == original.id
        assert problem.answer == original.answer
        assert (problem.group is None) == (original.group is None)
    assert data.languages == ("en",)


def test_a_frame_is_read_by_the_columns_named():
    import pandas

    frame = pandas.DataFrame({"satz": ["The cup fell because _ was wet."], "a": ["it"], "b": ["he"], "gut": ["a"]})
    data = winokit.Dataset.from_frame(frame, columns={"text": "satz", "option1": "a", "option2": "b", "answer": "gut"})
    assert data[0].candidates == ("it", "he")
    assert data[0].answer == 0


def test_a_broken_row_of_a_frame_is_named():
    import pandas

    frame = pandas.DataFrame({"text": ["A cup _ fell.", "no blank"], "option1": ["it"] * 2, "option2": ["he"] * 2})
    with pytest.raises(Malformed, match="row 2"):
        winokit.Dataset.from_frame(frame)
    assert len(winokit.Dataset.from_frame(frame, lenient=True)) == 1


@pytest.mark.parametrize("wrong", [[{"text": "A _ b"}], "winogrande.csv", None])
def test_what_is_no_frame_is_refused(wrong):
    with pytest.raises(BadInput, match="data frame"):
        winokit.Dataset.from_frame(wrong)


def test_whole_texts_go_through_a_frame():
    pair = winokit.Dataset([winokit.Problem.whole(["She sleep.", "She sleeps."], 1)])
    assert winokit.Dataset.from_frame(pair.to_frame())[0] == pair[0]


def test_metrics_are_a_frame_with_the_columns_of_results_json(run):
    frame = run.to_frame("polars")
    assert frame.shape[0] == len(run.metrics)
    assert {"protocol", "subset", "metric", "value", "low", "high", "chance"} <= set(frame.columns)


def test_a_frame_needs_a_library_that_is_installed(run, monkeypatch):
    monkeypatch.setattr(notebook, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match="pip install pandas"):
        run.to_frame()


def test_a_figure_of_the_report_is_one_of_matplotlib(run, tmp_path):
    figure = run.figure("groups")
    figure.savefig(tmp_path / "groups.png")
    assert (tmp_path / "groups.png").stat().st_size > 5_000
    with pytest.raises(UnknownName, match="groups"):
        run.figure("nonsense")


def test_a_figure_without_matplotlib_names_the_extra(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"pip install 'winokit\[figures\]'"):
        run.figure("groups")


def test_a_run_is_saved_and_loaded_by_a_name_or_a_path(run, tmp_path):
    run.save(str(tmp_path / "run"))
    assert winokit.Run.load(str(tmp_path / "run")).metrics == run.metrics
    assert winokit.Run.load(tmp_path / "run").figure("groups") is not None


def test_a_function_is_a_model(twins):
    run = winokit.audit(twins, model=shortest, cache="off")
    right_count = 0
    for problem in twins:
        lengths = [len(candidate) for candidate in problem.candidates]
        right_count += lengths[problem.answer] < lengths[1 - problem.answer]
    row = run.find("accuracy", "all", "accuracy")
    assert row.model == "shortest"
    assert row.value * 40 == pytest.approx(right_count)


def test_functions_specs_and_models_go_together(twins):
    coin = load_model("random?seed=3&name=coin")
    run = winokit.audit(twins, model=[shortest, "random", coin], cache="off")
    assert {row.model for row in run.metrics} == {"shortest", "random", "coin"}


def test_answers_of_a_function_are_kept_for_that_object_alone(twins, tmp_path):
    calls = []

    def counting(offset):
        def scorer(before, after, candidates, pronoun):
            calls.append(offset)
            return [offset * len(name) for name in candidates]

        return scorer

    up = counting(1)
    down = counting(-1)
    cache = tmp_path / "answers"
    predictions = winokit.score(twins, up, cache=cache).predictions
    call_count = len(calls)
    assert winokit.score(twins, up, cache=cache).predictions == predictions
    assert len(calls) == call_count
    assert winokit.score(twins, down, cache=cache).predictions != predictions


@pytest.mark.parametrize("wrong", [3, object(), [3]])
def test_what_is_no_model_is_refused_in_a_line(twins, wrong):
    with pytest.raises(BadInput, match="model"):
        winokit.audit(twins, model=wrong)


def test_a_network_and_its_tokenizer_score_as_their_folder_does(twins, tmp_path):
    import transformers
    from support.tiny_causal import tiny_llama

    tiny_causal = tiny_llama(tmp_path / "tiny")
    network = transformers.AutoModelForCausalLM.from_pretrained(tiny_causal)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_causal)
    by_name = winokit.score(twins, f"hf:{tiny_causal}?dtype=float32&device=cpu", scoring="partial", cache="off")
    by_object = winokit.score(twins, load_model(network, tokenizer), scoring="partial", cache="off")
    for named, loaded in zip(by_name.predictions, by_object.predictions, strict=True):
        assert named.scores == pytest.approx(loaded.scores, abs=1e-4)


def test_an_interrupted_call_goes_on_where_it_stopped(twins, tmp_path):
    calls = []

    def slow(before, after, candidates, pronoun):
        calls.append(before)
        if len(calls) == 15:
            raise KeyboardInterrupt
        return [1.0, 0.0]

    with pytest.raises(KeyboardInterrupt):
        winokit.score(twins, slow, cache=tmp_path / "answers")
    winokit.score(twins, slow, cache=tmp_path / "answers")
    assert len(calls) == len(twins) + 1


def test_a_notebook_is_told_how_far_a_job_is_and_a_script_is_not(twins, monkeypatch, capsys):
    winokit.score(twins, "random", cache="off")
    assert capsys.readouterr().err == ""
    kernel = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    winokit.score(twins, "random", cache="off")
    assert "100 %" in capsys.readouterr().err


def test_dir_lists_what_the_library_offers_and_nothing_else():
    assert "audit" in dir(winokit)
    assert "Path" not in dir(winokit)
    assert isinstance(Path(winokit.__file__), Path)


TWINS = {
    "text": ["The cup missed the box because _ was big.", "The cup missed the box because _ was small."],
    "option1": ["the cup"] * 2,
    "option2": ["the box"] * 2,
}


def answers(frame, columns=None):
    """Answers of the problems in a frame."""
    return [problem.answer for problem in winokit.Dataset.from_frame(frame, columns)]


def test_nullable_numbers_of_a_frame_are_numbers():
    import pandas

    nullable = pandas.DataFrame({**TWINS, "answer": pandas.array([2, None], dtype="Int64")})
    with_nan = pandas.DataFrame({**TWINS, "answer": [2.0, float("nan")]})
    assert answers(nullable) == [1, None]
    assert answers(with_nan) == [1, None]


def test_one_column_of_a_frame_can_be_named_alone():
    import pandas

    frame = pandas.DataFrame({**TWINS, "answer": [1, 1]})
    with pytest.raises(BadInput, match="answer=answer:1"):
        answers(frame)
    assert answers(frame, {"answer": "answer:1"}) == [0, 0]
    with pytest.raises(BadInput, match="no column 'satz' for 'text'; it has text, option1"):
        answers(frame, {"text": "satz"})


def test_a_frame_of_winograndes_own_rows_is_read():
    import pandas

    frame = pandas.DataFrame({**TWINS, "answer": ["2", "1"]})
    assert answers(frame.rename(columns={"text": "sentence"})) == [1, 0]


def test_a_frame_without_what_a_problem_needs_is_told_its_columns():
    import pandas

    without_text = pandas.DataFrame({"a": [1], "b": [2]})
    with_a_column_twice = pandas.DataFrame([["_ fell", "x", "y"]], columns=["text", "option1", "option1"])
    with pytest.raises(BadInput, match=r"^frame: 'text' is missing.*columns=; it has a, b$"):
        answers(without_text)
    with pytest.raises(BadInput, match="'option1' 2 times"):
        answers(with_a_column_twice)
    assert answers(pandas.DataFrame(TWINS).head(0)) == []


def test_a_frame_of_an_unknown_library_is_not_to_be_installed(run):
    with pytest.raises(UnknownName, match="Known: pandas, polars"):
        run.to_frame("arrow")


def test_two_functions_of_one_name_are_refused_as_two(twins):
    with pytest.raises(BadInput, match="two models are called 'lambda'"):
        winokit.audit(twins, model=[lambda *_: [1, 0], lambda *_: [0, 1]])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_is_data_for_every_verb(library):
    data = winokit.load("open")
    frame = data.to_frame(library)
    assert winokit.load(frame).problems == winokit.from_frame(frame).problems
    assert winokit.stats(frame)[0].problems == len(data)
    assert winokit.stats([frame, frame])[1].problems == len(data)
    assert winokit.check(frame, only="groups").shown == 2
    assert winokit.score(frame, "random", limit=4).predictions[0].id == data[0].id


def test_predictions_beside_a_frame_show_the_first_screen_of_the_report(twins):
    pandas = pytest.importorskip("pandas")
    right_labels = [problem.answer + 1 for problem in twins]
    frame = twins.to_frame("pandas").assign(pred=right_labels)
    run = winokit.audit(frame, predictions=frame["pred"])
    assert isinstance(frame["pred"], pandas.Series)
    assert "pred on frame: 100.0\xa0% of 40 problems right" in run._repr_html_()
    assert run.accuracy.value == 1.0


def test_of_japanese_twins_only_the_characters_that_differ_are_marked():
    marked = notebook.marked(["犬が速かった。", "犬が遅かった。"])
    assert marked == ["犬が<mark>速</mark>かった。", "犬が<mark>遅</mark>かった。"]


def test_a_suite_and_a_release_take_frames(twins, tmp_path):
    frame = twins.to_frame("pandas")
    for data in (frame, [frame], [twins.to_frame("polars")], [SuiteData(frame)]):
        (cell,) = winokit.suite(data, model="random", cache="off").cells
        assert cell.run.dataset.problems == winokit.from_frame(frame).problems
    open_data = winokit.load("open")
    named = {"name": "mine", "licence": "CC0-1.0", "secret": bytes(range(32))}
    released = winokit.release(open_data.to_frame("polars"), out=tmp_path / "mine", **named)
    ids = {problem.id for problems in released.contents.files.values() for problem in problems}
    assert ids <= {problem.id for problem in open_data}
    assert len(ids) > 100
