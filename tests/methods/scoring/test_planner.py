"""Nothing is asked twice: not within a run, not after a kill, not for another scoring of the same texts."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from support.fake import FakeModel
from support.scoring import score
from support.waiting import until

from winokit.errors import BadInput
from winokit.methods.scoring.cache import Cache, answer_all, decode, default_path, encode, key_of
from winokit.methods.scoring.scorer import ScoringPlan
from winokit.models.base import Continuation, Fill, Piece, Reply, Scores
from winokit.models.random_model import RandomModel

ONE = Continuation("a", " b")
TWO = Continuation("a", " c")
SAID = {ONE: (Piece(0, 2, -1.5),), TWO: (Piece(0, 2, -2.5),)}


def test_repetitions_are_asked_once():
    model = FakeModel(SAID)
    answers = answer_all(model, [ONE, TWO, ONE, ONE], Cache())
    assert model.asked == [ONE, TWO]
    assert answers == SAID


def test_what_is_known_is_not_asked_again(tmp_path):
    for asked in ([ONE, TWO], []):
        model = FakeModel(SAID)
        with Cache(tmp_path / "answers.sqlite") as cache:
            assert answer_all(model, [ONE, TWO], cache) == SAID
        assert model.asked == asked


def test_another_model_does_not_get_this_ones_answers(tmp_path):
    with Cache(tmp_path / "answers.sqlite") as cache:
        answer_all(FakeModel(SAID), [ONE], cache)
        other = FakeModel({ONE: (Piece(0, 2, -9.0),)})
        assert answer_all(other, [ONE], cache)[ONE][0].logprob == -9.0


def test_answers_before_an_error_are_kept(tmp_path):
    with Cache(tmp_path / "answers.sqlite") as cache, pytest.raises(LookupError):
        answer_all(FakeModel({ONE: SAID[ONE]}), [ONE, TWO], cache)
    model = FakeModel(SAID)
    with Cache(tmp_path / "answers.sqlite") as cache:
        cache.keep(key_of(model.fingerprint, ONE), SAID[ONE])
        answer_all(model, [ONE, TWO], cache)
    assert model.asked == [TWO]


@pytest.mark.parametrize(
    "answer",
    [
        (Piece(0, 3, -0.1), Piece(3, 5, -1e-12)),
        (),
        Reply((-1.0, -2.0), None, "A"),
        Reply(None, 1, "é “quoted”\n"),
        Scores((0.1, 0.2)),
        Scores(None),
        np.arange(6, dtype=np.float32).reshape(1, 2, 3),
    ],
)
def test_answers_come_back_from_bytes_as_they_went(answer):
    again = decode(encode(answer))
    assert np.array_equal(again, answer) if isinstance(answer, np.ndarray) else again == answer


def test_the_key_depends_on_the_kind_of_request_and_every_field():
    keys = {
        key_of("m", Continuation("a", "b")),
        key_of("n", Continuation("a", "b")),
        key_of("m", Continuation("b", "a")),
    }
    keys |= {key_of("m", Fill("a", "b", "")), key_of("m", Fill("a", "", "b"))}
    assert len(keys) == 5


def test_progress_counts_text_and_ends_at_the_total(tmp_path):
    told = []
    with Cache(tmp_path / "answers.sqlite") as cache:
        answer_all(FakeModel(SAID), [ONE], cache)
        answer_all(FakeModel(SAID), [ONE, TWO], cache, lambda done, total: told.append((done, total)))
    assert told == [(4, 8), (8, 8)]


def test_a_request_the_model_cannot_answer_is_refused():
    with pytest.raises(BadInput, match="'fake', a causal model, cannot answer a Fill request"):
        answer_all(FakeModel(SAID), [Fill("a", "b", "c")], Cache())


def test_a_file_that_is_no_cache_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes, not a database" * 50)
    with pytest.raises(BadInput, match="cannot be used as a cache"):
        Cache(path)
    assert path.read_text().startswith("these are my notes")


def test_the_usual_place_can_be_moved(monkeypatch, tmp_path):
    monkeypatch.setenv("WINOKIT_CACHE", str(tmp_path / "here.sqlite"))
    assert default_path() == tmp_path / "here.sqlite"


SLOW = """
import time
from pathlib import Path
def judge(before, after, candidates, pronoun):
    with open("asked.txt", "a") as file:
        file.write(before + after + "\\n")
    time.sleep(600 if Path("asked.txt").read_text().count("\\n") == 41 else 0)  # until it is killed
    return [len(candidate) * 0.1 + hash(after) % 7 for candidate in candidates]
"""


def test_a_killed_run_goes_on_and_asks_nothing_twice(tmp_path):
    (tmp_path / "slow_judge.py").write_text(SLOW)
    environment = {**os.environ, "WINOKIT_CACHE": str(tmp_path / "answers.sqlite"), "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-m", "winokit", "score", "open", "--model", "python:slow_judge:judge", "--limit", "150"]
    first = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL)
    asked = tmp_path / "asked.txt"
    until(lambda: (asked.exists() and asked.read_text().count("\n") == 41) or first.poll() is not None)
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert len(asked.read_text().splitlines()) == 41
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, stdout=subprocess.DEVNULL)
    every = asked.read_text().splitlines()
    # The one that was under way when the run was killed may be asked again; no answer that was given is.
    assert len(every) in (150, 151)
    assert len(set(every)) == 150
    assert (tmp_path / "predictions.jsonl").read_text().count("\n") == 150


def test_two_scorings_share_the_answers_they_have_in_common(tmp_path, twins):
    with Cache(tmp_path / "answers.sqlite") as cache:
        mean = score(twins, RandomModel(), ScoringPlan("masked-candidate"), cache=cache)
        asked = []
        model = RandomModel()
        original = model.answer
        model.answer = lambda requests: (asked.extend(requests), original(requests))[1]
        summed = score(twins, model, ScoringPlan("masked-candidate?reduce=sum"), cache=cache)
    assert asked == []
    assert [p.scores for p in mean] == [p.scores for p in summed]  # a random answer is one piece


def test_a_cache_that_is_damaged_further_in_is_told_in_one_line(tmp_path):
    path = tmp_path / "answers.sqlite"
    with Cache(path) as cache:
        for number in range(500):
            cache.keep(key_of("m", Continuation("a", str(number))), SAID[ONE])
    content = path.read_bytes()
    path.write_bytes(content[:8192] + b"\xff" * (len(content) - 8192))
    with Cache(path) as cache, pytest.raises(BadInput, match=r"answers\.sqlite: the cache failed"):
        answer_all(FakeModel(SAID), [ONE, *(Continuation("a", str(n)) for n in range(500))], cache)
