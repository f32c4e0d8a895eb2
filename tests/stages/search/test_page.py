"""The page of a search, from invented trials: every one is drawn, and the verdict allows for luck."""

import re
from dataclasses import replace

import numpy as np
import pytest
from support.pages import opened

pytest.importorskip("torch")
from winokit.methods.training.data import TrainingData
from winokit.problem import Card, Dataset
from winokit.stages.search.findings import SearchFindings, TrialPredictions, finding
from winokit.stages.search.page import axis, dots_of, search_page, write_search_page
from winokit.stages.search.space import SearchSpace
from winokit.stages.search.trials import EndedTrial, Trial

SPACE = SearchSpace(learning_rate="1e-6..1e-4", batch_size="8", epochs="3")


DATASETS = ("dev", "tested")


def write_predictions(path, dataset, is_right, scoring):
    """Write predictions that are right where `is_right` is true.

    The model's name has U+2028, at which some readers split lines.
    """
    lines = []
    for problem, right in zip(dataset, is_right, strict=True):
        prediction = problem.answer if right else 1 - problem.answer
        lines.append(
            f'{{"id": "{problem.id}", "variant": "original", "model": "m\u2028", "scoring": "{scoring}", '
            f'"scores": null, "prediction": {prediction}, "answer": {problem.answer}}}\n'
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines), "utf-8")


def make_trials(out, data, name, share, count=8):
    """Trials right about a share of the problems that rises from trial to trial, and one that diverged."""
    rng = np.random.default_rng(len(name))
    datasets = dict(zip(DATASETS, (data.dev, data.tests[0]), strict=True))
    trials = []
    for number in range(count):
        trial = Trial(name, number, SPACE.draw(0, number), EndedTrial("done", 0.0))
        accuracies = {}
        for dataset_name, dataset in datasets.items():
            is_right = rng.random(len(dataset)) < share + number / 40
            path = out / trial.folder / "predictions" / f"{dataset_name}.jsonl"
            write_predictions(path, dataset, is_right, name)
            accuracies[dataset_name] = float(is_right.mean())
        warnings = ("nothing <was> learned",) if number == 0 else ()
        ended = EndedTrial("done", accuracies["dev"], 0.2, 9, 9, False, 0.1, warnings)
        trials.append(replace(trial, ended=ended))
    diverged = EndedTrial("diverged", why="not a number")
    trials.append(Trial(name, count, SPACE.draw(0, count), diverged))
    return trials


@pytest.fixture(scope="module")
def findings(planted, unseen, tmp_path_factory) -> SearchFindings:
    data = TrainingData(planted, unseen[:20], (Dataset(unseen[20:], Card("tested")),))
    out = tmp_path_factory.mktemp("made-up")
    predictions = TrialPredictions(data, out)
    share_of = {"mc-mlm": 0.75, "mc-sent-no-pair-loss": 0.6, "p-sent": 0.45}
    by_formalization = []
    done_trials = []
    for name, share in share_of.items():
        trials = make_trials(out, data, name, share)
        by_formalization.append(finding(name, trials, predictions, "m", 0))
        done_trials += [trial for trial in trials if trial.ended.state == "done"]
    return SearchFindings(
        out,
        {"model": "hf:" + "long/" * 30, "train": "planted", "trials": 9, "seed": 0},
        SPACE,
        data.dev,
        predictions.tests,
        tuple(by_formalization),
        predictions.chance,
        0.6,
        0.94,
        predictions.luck(done_trials, 0),
        ("a note",),
    )


@pytest.fixture(scope="module")
def folder(findings, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    write_search_page(findings, folder)
    return folder


@pytest.fixture(scope="module")
def html(folder):
    return (folder / "index.html").read_text()


def test_every_trial_with_a_score_is_a_dot_and_a_degenerate_one_is_hollow(findings):
    scale = axis(findings)
    for formalization in findings.found:
        dots = list(dots_of(formalization.trials, scale))
        hollow_numbers = [dot.number for dot in dots if dot.hollow]
        positions = {(round(dot.x / 2), dot.y) for dot in dots}
        assert sorted(dot.score for dot in dots) == sorted(formalization.scores)
        assert hollow_numbers == [0]
        assert all(0 <= dot.x <= 100 for dot in dots)
        assert len(positions) == len(dots), "no dot covers another"


def test_every_dot_is_drawn(html):
    assert html.count("<circle") == 24
    assert html.count('class="trial hollow"') == 3


def test_the_page_says_what_the_rows_say(findings, html):
    values = set(re.findall(r'<data value="([^"]+)">', html))
    for row in findings.metrics:
        assert str(row.value) in values, row
    assert "people, 94.0" in html
    assert "commonest answer, 60.0" in html
    assert "nothing &lt;was&gt; learned" in html
    assert "a note" in html


def test_the_verdict_names_the_best_trial_its_correction_and_the_test(findings):
    verdict = search_page(findings)["verdict"]
    best = findings.best
    text = " ".join(point.text for point in verdict.points)
    assert f"number {best.chosen.number} of {best.formalization}" in verdict.headline
    assert f"{100 * findings.overall.corrected:.1f}" in verdict.headline
    assert "6 of 27 trials are degenerate" in text
    assert "On tested, which had no say in the choice" in text


def test_a_best_that_guessers_reach_is_said_to_be_no_better(findings):
    luck = replace(findings.overall, p_guessing=0.3)
    without_test = replace(findings, overall=luck, tests={})
    verdict = search_page(without_test)["verdict"]
    assert verdict.word == "The best of 24 trials is no better than the best of as many guessers"


def test_a_test_set_that_was_answered_well_is_not_passed_over_in_silence(findings):
    luck = replace(findings.overall, p_guessing=0.3)
    verdict = search_page(replace(findings, overall=luck))["verdict"]
    assert "though guessers reach as much on the dev set" in verdict.word


def test_medians_by_setting_count_every_trial(findings):
    ((name, values),) = search_page(findings)["by_setting"].items()
    assert name == "learning_rate"
    assert len(values) == 3
    for column in range(3):
        cells = [row[column] for _, row in values if row[column]]
        assert sum(count for _, count in cells) == 8


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_the_page_opens_quietly_and_fits(chromium, folder, width, scheme):
    with opened(chromium, folder / "index.html", width, color_scheme=scheme) as page:
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        boxes = [dot.bounding_box() for dot in page.locator("circle").all()]
    assert overflow == 0
    for box in boxes:
        assert box["width"] > 4
        assert abs(box["width"] - box["height"]) < 0.1
