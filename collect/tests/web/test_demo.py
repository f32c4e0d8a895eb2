"""The example study is filled by simulated workers, the same way every time."""

from winokit import load
from winokit_collect.demo import CONFIG, fill
from winokit_collect.study import listings, progress, quality
from winokit_collect.study.study import Study


def test_the_example_study_is_filled_with_bundled_twins_and_votes_on_them(tmp_path):
    fill(tmp_path / "study", days=1)
    study = Study.open(tmp_path / "study")
    snapshot = progress.snapshot(study)
    problems = listings.problems(study).rows
    people = quality.workers(study)
    study.close()
    bundled_texts = {problem.text for problem in load("open")}
    assert len(problems) == 12
    assert {f"{problem.before}_{problem.after}" for problem in problems} <= bundled_texts
    assert all(kind.accepted for kind in snapshot.kinds)
    assert [kind.kind for kind in snapshot.kinds] == CONFIG["tasks"]["kinds"]
    assert snapshot.asked_adversary == 6
    assert snapshot.problems["valid"] > 0
    assert [worker.state for worker in people].count("blocked") == 1
    questions = {row.question for row in snapshot.agreement}
    assert {"answer", "switchable", "associative"} <= questions
    assert (tmp_path / "study").stat().st_mode & 0o077 == 0


def test_nobody_else_can_read_the_example_study(tmp_path):
    fill(tmp_path / "study", days=0)
    assert (tmp_path / "study").stat().st_mode & 0o077 == 0


def play_example(folder):
    """Fill an example study, and return what its workers did and became."""
    fill(folder, days=1)
    study = Study.open(folder)
    judged = []
    for problem in listings.problems(study).rows:
        votes = [(vote.worker.code, vote.choice) for vote in problem.votes]
        judged.append((problem.public_id, problem.valid, votes))
    states = [(worker.code, worker.state) for worker in quality.workers(study)]
    study.close()
    return judged, states


def test_the_example_workers_do_the_same_every_time(tmp_path):
    """The tutorial's page shows numbers, and whoever follows it gets them."""
    assert play_example(tmp_path / "one") == play_example(tmp_path / "two")
