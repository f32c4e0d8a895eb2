"""The example study: filled by workers who are made up, and ready to be clicked through."""

from winokit import load
from winokit_collect.demo import CONFIG, fill
from winokit_collect.study import listings, progress, quality
from winokit_collect.study.study import Study


def test_the_example_study_is_filled_with_bundled_twins_and_votes_on_them(tmp_path):
    fill(tmp_path / "study", days=1)
    study = Study.open(tmp_path / "study")
    now = progress.snapshot(study)
    bundled = {problem.text for problem in load("open")}
    written = listings.problems(study).rows
    people = quality.workers(study)
    asked = {row.question for row in now.agreement}
    study.close()
    assert len(written) == 12
    assert {f"{problem.before}_{problem.after}" for problem in written} <= bundled
    assert all(kind.accepted for kind in now.kinds)
    assert [kind.kind for kind in now.kinds] == CONFIG["tasks"]["kinds"]
    assert now.asked_adversary == 6
    assert now.problems["valid"] > 0
    assert [one.state for one in people].count("blocked") == 1
    assert {"answer", "switchable", "associative"} <= asked
    assert (tmp_path / "study").stat().st_mode & 0o077 == 0


def test_nobody_else_can_read_the_example_study(tmp_path):
    fill(tmp_path / "study", days=0)
    assert (tmp_path / "study").stat().st_mode & 0o077 == 0


def test_the_example_workers_do_the_same_every_time(tmp_path):
    """The tutorial's page shows numbers, and whoever follows it gets them."""
    told = []
    for name in ("one", "two"):
        fill(tmp_path / name, days=1)
        study = Study.open(tmp_path / name)
        judged = [
            (one.public_id, one.valid, [(v.worker.code, v.choice) for v in one.votes])
            for one in listings.problems(study).rows
        ]
        told.append((judged, [(one.code, one.state) for one in quality.workers(study)]))
        study.close()
    assert told[0] == told[1]
