"""A study remembers who agreed to which text and under which settings each problem was written."""

import json
from pathlib import Path

import pytest

import winokit
from winokit.extend import BadInput
from winokit_collect.study import export, listings, tasks, workers
from winokit_collect.study.config import parse_config, render_config
from winokit_collect.study.refusals import NotAllowed
from winokit_collect.study.settings import versions_of
from winokit_collect.study.study import Study


@pytest.fixture
def reopen(make_study, clock):
    """A function that opens a study again, with other settings or another consent page.

    The old study is closed. The new ones are closed at the end.
    """
    studies = []

    def reopen_study(study, consent="", to_read=False, **changes):
        sections = study.config.model_dump(mode="json", by_alias=True)
        for name, value in changes.items():
            is_section = isinstance(value, dict)
            sections[name] = sections[name] | value if is_section else value
        config = parse_config(sections)
        (study.folder / "study.toml").write_text(render_config(config))
        if consent:
            (study.folder / "consent.md").write_text(consent)
        database = study.store.url.render_as_string(hide_password=False)
        study.close()
        new_study = Study.open(study.folder, database, clock=clock, to_read=to_read)
        studies.append(new_study)
        return new_study

    yield reopen_study
    for study in studies:
        study.close()


def read_json_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_whoever_agreed_to_another_text_is_asked_again(study, crew, reopen):
    worker = crew.newcomer(study)
    again = reopen(study, consent="# Other risks")
    assert workers.step_of(again, workers.get(again, worker.code)) == "consent"
    with pytest.raises(NotAllowed):
        tasks.take(again, worker.id, "write")
    workers.consent(again, worker.id)
    assert tasks.take(again, worker.id, "write")
    back = reopen(again)
    assert workers.step_of(back, workers.get(back, worker.code)) == "work"


def test_the_export_says_who_agreed_to_which_text(study, crew, reopen, tmp_path):
    first_text = study.consent
    worker = crew.newcomer(study)
    again = reopen(study, consent="# Other risks")
    workers.consent(again, worker.id)
    workers.consent(again, worker.id)
    crew.newcomer(again)
    export.export(again, tmp_path / "out")
    rows = read_json_lines(tmp_path / "out" / "consents.jsonl")
    assert [row["worker"] == worker.code for row in rows] == [True, True, False]
    texts = [(tmp_path / "out" / row["text"]).read_text() for row in rows]
    assert texts == [first_text, "# Other risks", "# Other risks"]
    assert len(list(Path(tmp_path / "out" / "consent").iterdir())) == 2


def test_who_agreed_before_texts_were_kept_is_asked_and_named(study, crew, tmp_path):
    worker = crew.newcomer(study)
    with study.store.write() as session:
        session.get_one(workers.Worker, worker.id).consent_sha256 = None
    assert workers.step_of(study, workers.get(study, worker.code)) == "consent"
    export.export(study, tmp_path / "out")
    consents = read_json_lines(tmp_path / "out" / "consents.jsonl")
    assert consents[0]["sha256"] is None


def test_changed_settings_are_logged_with_who_and_what(study, reopen):
    again = reopen(study, tasks={"votes": 5}, pay={"write": "0.50"})
    first, second = versions_of(again)
    assert first.changes == {}
    assert second.changes == {"tasks.votes": [3, 5], "pay.write": ["0.40", "0.50"]}
    assert second.actor.startswith("terminal")
    details = {line.target: line.detail for line in listings.log_entries(again, action="change settings")}
    assert details["tasks.votes"] == {"before": 3, "now": 5}
    assert len(versions_of(reopen(again))) == 2


def test_a_study_that_is_only_read_notes_a_change_and_keeps_none(study, reopen):
    again = reopen(study, to_read=True, tasks={"votes": 5})
    assert "tasks.votes is 5, and the study runs with 3" in "".join(again.notes)
    assert len(versions_of(again)) == 1


def judge_pairs_of_two_rules(study, crew, reopen):
    """Judge a pair written under the rule `unanimous` and one written under `majority`, and return the study.

    One of three votes on each twin is against it.
    """
    author = crew.newcomer(study)
    crew.write(study, author)
    again = reopen(study, validity={"rule": "majority"})
    crew.write(again, author, 7)
    for number in range(3):
        voter = crew.newcomer(again)
        plausible = "yes" if number == 2 else "no"
        for _ in range(4):
            crew.vote(again, voter, equally_plausible=plausible)
    return again


def test_each_problem_keeps_the_rule_it_was_made_under(study, crew, reopen, tmp_path):
    again = judge_pairs_of_two_rules(study, crew, reopen)
    rows = sorted(listings.problems(again).rows, key=lambda row: row.id)
    assert [row.valid for row in rows] == [False, False, True, True]
    report = export.export(again, tmp_path / "out")
    invalid_problems = winokit.load(tmp_path / "out" / "others.jsonl")
    valid_problems = winokit.load(tmp_path / "out" / "problems.jsonl")
    problems = [*invalid_problems, *valid_problems]
    assert [problem.provenance["rule"] for problem in problems] == ["unanimous"] * 2 + ["majority"] * 2
    assert [problem.provenance["settings"] for problem in problems] == [1, 1, 2, 2]
    assert "problems are valid by the rules they were made under: majority, unanimous" in report.notes
    settings = read_json_lines(tmp_path / "out" / "settings.jsonl")
    assert [row["values"]["validity.rule"] for row in settings] == ["unanimous", "majority"]


@pytest.mark.parametrize(("rule", "valid"), [("v1", 0), ("majority", 4), ("dawid-skene", 4)])
def test_an_export_decides_again_by_any_rule(study, crew, reopen, tmp_path, rule, valid):
    again = judge_pairs_of_two_rules(study, crew, reopen)
    report = export.export(again, tmp_path / "out", rule)
    assert report.files["problems.jsonl"] == valid
    name = "problems.jsonl" if valid else "others.jsonl"
    problems = winokit.load(tmp_path / "out" / name)
    assert {problem.provenance["rule"] for problem in problems} == {rule}
    assert f"2 of 4 verdicts are other by the rule {rule}" in report.notes


def test_what_a_requester_decided_stands_under_any_rule(study, crew, reopen, tmp_path):
    from winokit_collect.study import moderation

    again = judge_pairs_of_two_rules(study, crew, reopen)
    moderation.adjudicate(again, 1, True, "", "ann")
    report = export.export(again, tmp_path / "out", "v1")
    assert report.files["problems.jsonl"] == 1


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"pay": {"currency": "EUR"}}, "pay.currency: expected USD, in which 1 lines of the ledger are, found EUR"),
        ({"language": "de"}, "language: expected en, in which 2 problems are written, found de"),
        ({"tasks": {"kinds": ["validate"]}, "judge": {"data": "open"}}, "tasks.kinds: expected write among them"),
        ({"platform": {"name": "mturk"}}, "platform.name: expected links, through which 0.40 USD are still to be paid"),
    ],
)
def test_a_change_that_what_is_stored_does_not_allow_is_refused(study, crew, reopen, changes, complaint):
    crew.write(study, crew.newcomer(study))
    with pytest.raises(BadInput, match=complaint):
        reopen(study, **changes)


def test_a_price_is_not_lowered_while_somebody_works_for_it(study, crew, reopen, clock):
    worker = crew.newcomer(study)
    tasks.take(study, worker.id, "write")
    with pytest.raises(BadInput, match=r"pay\.write: expected 0\.40 or more while 1 workers have a task"):
        reopen(study, pay={"write": "0.30"})
    clock.pass_minutes(60)
    again = reopen(study, pay={"write": "0.30"})
    assert versions_of(again)[-1].changes == {"pay.write": ["0.40", "0.30"]}
