"""The page of a search, from trials made up here: nothing is trained."""

import re
from dataclasses import replace

import numpy as np
import pytest
from support.pages import opened

pytest.importorskip("torch")
from winokit.methods.training.data import TrainingData
from winokit.stages.search.findings import SearchFindings, TrialPredictions, finding
from winokit.stages.search.page import axis, dots_of, search_page, write_search_page
from winokit.stages.search.space import SearchSpace
from winokit.stages.search.trials import EndedTrial, Trial

SPACE = SearchSpace(learning_rate="1e-6..1e-4", batch_size="8", epochs="3")


def made_up(out, data, name, share, count=8):
    """Trials that are right about a share of the problems, more and more; some readers split lines at U+2028."""
    rng = np.random.default_rng(len(name))
    some = []
    for number in range(count):
        trial = Trial(name, number, SPACE.draw(0, number), EndedTrial("done", 0.0))
        shares = {}
        for which, dataset in (("dev", data.dev), ("tested", data.tests[0])):
            folder = out / trial.folder / "predictions"
            folder.mkdir(parents=True, exist_ok=True)
            right = rng.random(len(dataset)) < share + number / 40
            rows = (
                f'{{"id": "{p.id}", "variant": "original", "model": "m\u2028", "scoring": "{name}", "scores": null, '
                f'"prediction": {p.answer if good else 1 - p.answer}, "answer": {p.answer}}}\n'
                for p, good in zip(dataset, right, strict=True)
            )
            (folder / f"{which}.jsonl").write_text("".join(rows), "utf-8")
            shares[which] = float(right.mean())
        warned = ("nothing <was> learned",) if number == 0 else ()
        some.append(replace(trial, ended=EndedTrial("done", shares["dev"], 0.2, 9, 9, False, 0.1, warned)))
    return [*some, Trial(name, count, SPACE.draw(0, count), EndedTrial("diverged", why="not a number"))]


@pytest.fixture(scope="module")
def found(planted, unseen, tmp_path_factory) -> SearchFindings:
    from winokit.problem import Card, Dataset

    data = TrainingData(planted, unseen[:20], (Dataset(unseen[20:], Card("tested")),))
    out = tmp_path_factory.mktemp("made-up")
    sets = TrialPredictions(data, out)
    names = {"mc-mlm": 0.75, "mc-sent-no-pair-loss": 0.6, "p-sent": 0.45}
    some = tuple(finding(name, made_up(out, data, name, share), sets, "m", 0) for name, share in names.items())
    run = {"model": "hf:" + "long/" * 30, "train": "planted", "trials": 9, "seed": 0}
    overall = sets.luck([trial for one in some for trial in one.trials if trial.ended.state == "done"], 0)
    return SearchFindings(*(out, run, SPACE, data.dev, sets.tests, some, sets.chance, 0.6, 0.94, overall, ("a note",)))


@pytest.fixture(scope="module")
def folder(found, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    write_search_page(found, folder)
    return folder


def test_every_trial_with_a_score_is_a_dot_and_a_degenerate_one_is_hollow(found, folder):
    scale = axis(found)
    for one in found.found:
        dots = list(dots_of(one.trials, scale))
        assert sorted(dot.score for dot in dots) == sorted(one.scores)
        assert [dot.number for dot in dots if dot.hollow] == [0]
        assert all(0 <= dot.x <= 100 for dot in dots)
        places = [(round(dot.x / 2), dot.y) for dot in dots]
        assert len(set(places)) == len(places), "no dot covers another"
    text = (folder / "index.html").read_text()
    assert text.count("<circle") == 24
    assert text.count('class="trial hollow"') == 3


def test_the_page_says_what_the_rows_say(found, folder):
    text = (folder / "index.html").read_text()
    values = set(re.findall(r'<data value="([^"]+)">', text))
    for row in found.metrics:
        assert str(row.value) in values, row
    assert "people, 94.0" in text
    assert "commonest answer, 60.0" in text
    assert "nothing &lt;was&gt; learned" in text
    assert "a note" in text


def test_the_verdict_names_the_best_trial_its_correction_and_the_test(found):
    page = search_page(found)
    best = found.best
    assert f"number {best.chosen.number} of {best.formalization}" in page["verdict"].headline
    assert f"{100 * found.overall.corrected:.1f}" in page["verdict"].headline
    said = " ".join(point.text for point in page["verdict"].points)
    assert "6 of 27 trials are degenerate" in said
    assert "On tested, which had no say in the choice" in said


def test_a_best_that_guessers_reach_is_said_to_be_no_better(found):
    luck = replace(found.overall, p_guessing=0.3)
    assert search_page(replace(found, overall=luck, tests={}))["verdict"].word == (
        "The best of 24 trials is no better than the best of as many guessers"
    )
    # A test set that was answered well is not passed over in silence.
    assert "though guessers reach as much on the dev set" in search_page(replace(found, overall=luck))["verdict"].word


def test_medians_by_setting_count_every_trial(found):
    ((name, values),) = search_page(found)["by_setting"].items()
    assert name == "learning_rate"
    assert len(values) == 3
    for place in range(3):
        assert sum(cells[place][1] for _, cells in values if cells[place]) == 8


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_the_page_opens_quietly_and_fits(chromium, folder, width, scheme):
    with opened(chromium, folder / "index.html", width, color_scheme=scheme) as page:
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
        dots = [one.bounding_box() for one in page.locator("circle").all()]
        assert all(box["width"] > 4 and abs(box["width"] - box["height"]) < 0.1 for box in dots)
