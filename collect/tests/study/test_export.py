"""An export has files that other commands read, with all votes and settings, and nobody's name."""

import csv
import io
import json
import zipfile

import pytest

import winokit
from winokit_collect.platforms.base import arrive
from winokit_collect.platforms.prolific import Prolific
from winokit_collect.study import listings, moderation, progress, submissions, tasks, workers
from winokit_collect.study.export import archive, export
from winokit_collect.study.refusals import NotFound

PID = "5f8a1b2c3d4e5f6a7b8c9d0e"


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def played(make_study, crew):
    """A study with two pairs of twins judged by three workers, one of whom is wrong about the second pair."""
    kinds = ["write", "validate", "switchable", "associative"]
    study = make_study(tasks={"kinds": kinds}, adversary={"model": "random"})
    authors = [crew.newcomer(study) for _ in range(2)]
    crew.write(study, authors[0])
    crew.write(study, authors[1], 4)
    judges = [crew.newcomer(study) for _ in range(3)]
    for judge in judges:
        for kind in ("associative", "switchable", "validate"):
            for _ in range(4):
                task = tasks.lease(study, judge.id, kind)
                fields = crew.ballot(task)
                if kind == "associative" and judge is judges[-1]:
                    fields["choice"] = "no"
                if kind == "validate" and judge is judges[-1] and "yesterday" in task.before:
                    fields["choice"] = str(1 - int(fields["choice"]))
                submissions.submit(study, judge.id, task.token, fields)
    return study


def test_valid_problems_are_exported_with_labels_and_provenance(played, out):
    done = export(played, out)
    assert done.files["problems.jsonl"] == done.files["others.jsonl"] == 2
    data = winokit.load(out / "problems.jsonl")
    assert len(data.groups) == 1
    first = data[0]
    assert first.text.startswith("The terrier can squeeze")
    assert first.right == "the spaniel"
    expected = {"anchor": "gate", "special_word": "never", "switchable": True, "associative": False}
    assert expected.items() <= first.labels.items()
    assert first.labels["topic"].startswith("How to")
    provenance = first.provenance
    assert provenance["valid"] is True
    assert provenance["agreement"] == "unanimous-yes"
    assert provenance["associative"] == "split"
    assert provenance["author"].startswith("w-")
    assert provenance["adversary"]["model"] == "random"
    assert len(provenance["votes"]) == 9
    assert {"worker", "kind", "choice", "at", "seconds", "counted"} <= set(provenance["votes"][0])


def test_what_is_not_valid_is_kept_with_the_rule_it_failed(played, out):
    export(played, out)
    for problem in winokit.load(out / "others.jsonl"):
        assert problem.provenance["valid"] is False
        assert problem.provenance["agreement"] == "split"
        assert problem.provenance["failed"] == ["answer"]


def test_the_export_passes_winokit_check_and_is_audited(played, out):
    export(played, out)
    data = winokit.load(out / "problems.jsonl")
    warnings = [finding.message for finding in winokit.check([data]) if finding.warns]
    assert warnings == []
    run = winokit.audit(data, model="random")
    assert run.find("groups", "complete", "group_accuracy").n == 1
    assert run.find("switching", "switchable", "consistency").n == 2


def test_nobody_s_name_is_exported(make_study, crew, out, monkeypatch):
    monkeypatch.setattr(Prolific, "verify", lambda self, visitor: None)
    platform = {"name": "prolific", "study_id": "60aa27810f15", "completion_code": "SECRET-CODE"}
    study = make_study(platform=platform, contact="ada@example.org")
    worker = arrive(study, {"PROLIFIC_PID": PID, "STUDY_ID": "60aa27810f15", "SESSION_ID": "60c8d1ddf5b2"})
    workers.consent(study, worker.id)
    workers.screen(study, worker.id, native_speaker=True, has_seen_wsc=False)
    crew.write(study, worker)
    moderation.adjudicate(study, 1, True, "fine", "ada-the-requester")
    export(study, out)
    everything = "".join(path.read_text() for path in out.rglob("*") if path.is_file())
    assert worker.code in everything
    for secret in (PID, "60aa27810f15", "60c8d1ddf5b2", "SECRET-CODE", "ada@example.org", "ada-the-requester"):
        assert secret not in everything
    assert '"decided_by": "requester"' in everything


def test_votes_workers_and_payments_are_tables(played, out):
    export(played, out)
    votes = [json.loads(line) for line in (out / "votes.jsonl").read_text().splitlines()]
    assert len(votes) == 36
    problems = [*winokit.load(out / "problems.jsonl"), *winokit.load(out / "others.jsonl")]
    assert {vote["problem"] for vote in votes} == {problem.id for problem in problems}
    with (out / "ledger.csv").open(newline="") as ledger_file:
        ledger_rows = list(csv.DictReader(ledger_file))
    total = sum(float(row["amount"]) for row in ledger_rows)
    assert total == pytest.approx(2 * 0.40 + 36 * 0.03)
    report = json.loads((out / "study.json").read_text())
    assert next(iter(report)) == "schema"
    assert report["settings"]["tasks"]["votes"] == 3
    assert "database" not in report["settings"]


def test_the_archive_has_the_same_files(played, out):
    done = export(played, out)
    packed = zipfile.ZipFile(io.BytesIO(archive(played)))
    packed_files = {name for name in packed.namelist() if not name.endswith("/")}
    files = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert packed_files == files
    assert set(done.files) == {name for name in files if not name.startswith("consent/")}


def test_the_dashboard_s_numbers_add_up(played):
    now = progress.snapshot(played)
    by_kind = {kind.kind: kind for kind in now.kinds}
    write = by_kind["write"]
    assert (write.asked, write.accepted) == (4, 2)
    validate = by_kind["validate"]
    assert (validate.asked, validate.accepted, validate.workers) == (12, 12, 3)
    assert {"written": 4, "valid": 2, "invalid": 2, "open": 0, "split": 2}.items() <= now.problems.items()
    assert now.domains == {"physical": 1, "social": 1}
    assert now.spent_cents == 80 + 36 * 3
    assert now.expected_cents == now.spent_cents + 2 * (40 + 2 * 3 * 3 * 3)
    assert now.days[0].submissions == {"write": 2, "validate": 12, "switchable": 12, "associative": 12}
    assert sum(day.cents for day in now.days) == now.spent_cents
    assert now.asked_adversary == 2
    assert now.done == pytest.approx(38 / 40)
    kappas = {row.question: row.kappa for row in now.agreement}
    assert kappas["answer"] == pytest.approx(0.333, abs=0.01)
    assert kappas["associative"] == pytest.approx(-0.5)
    json.dumps(now.to_json())


def test_problems_can_be_found_by_what_became_of_them(played):
    def count_problems(**filters):
        return listings.problems(played, **filters).total

    assert count_problems() == 4
    assert count_problems(status="valid") == 2
    assert count_problems(status="split") == 2
    assert count_problems(status="open") == 0
    assert count_problems(domain="social") == 2
    assert count_problems(text="GARDEN gate") == 2
    assert count_problems(text="100%") == 0
    assert count_problems(text="_") == 4
    problem, _ = listings.problem(played, 1)
    assert count_problems(author=problem.author.code) == 2
    assert count_problems(author="w-nobody") == 0
    assert count_problems(status="nonsense") == 4


def test_a_page_beyond_the_last_is_the_last(played):
    page = listings.problems(played, page=99, per_page=3)
    assert (page.number, page.pages, len(page.rows)) == (2, 2, 1)


def test_one_problem_shows_its_votes_twin_and_submission(played):
    moderation.adjudicate(played, 3, True, "the third vote was a slip", "ada")
    problem, twins = listings.problem(played, 3)
    assert len(problem.votes) == 9
    assert {vote.choice for vote in problem.votes if vote.kind == "validate"} == {0, 1}
    assert [twin.id for twin in twins] == [4]
    assert problem.submission.fields["anchor"] == "gate"
    (decision,) = problem.decisions
    assert (decision.valid, decision.note) == (True, "the third vote was a slip")
    with pytest.raises(NotFound):
        listings.problem(played, 999)


def test_submissions_can_be_browsed(played):
    assert listings.submissions(played).total == 38
    assert listings.submissions(played, kind="write", counted=True).total == 2
    row = listings.submissions(played, kind="validate").rows[0]
    assert row.fields.keys() == {"choice", "equally_plausible", "local_decides"}
    assert listings.submissions(played, worker=row.worker.code, kind="validate").total == 4
