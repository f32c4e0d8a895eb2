"""No request is asked twice, whether within a run, after a kill or for another scoring of the same texts."""

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

FIRST = Continuation("a", " b")
SECOND = Continuation("a", " c")
PIECES = {FIRST: (Piece(0, 2, -1.5),), SECOND: (Piece(0, 2, -2.5),)}


def test_repetitions_are_asked_once():
    model = FakeModel(PIECES)
    answers = answer_all(model, [FIRST, SECOND, FIRST, FIRST], Cache())
    assert model.asked == [FIRST, SECOND]
    assert answers == PIECES


def test_what_is_known_is_not_asked_again(tmp_path):
    for requests_asked in ([FIRST, SECOND], []):
        model = FakeModel(PIECES)
        with Cache(tmp_path / "answers.sqlite") as cache:
            assert answer_all(model, [FIRST, SECOND], cache) == PIECES
        assert model.asked == requests_asked


def test_another_model_does_not_get_this_ones_answers(tmp_path):
    with Cache(tmp_path / "answers.sqlite") as cache:
        answer_all(FakeModel(PIECES), [FIRST], cache)
        other_model = FakeModel({FIRST: (Piece(0, 2, -9.0),)})
        (piece,) = answer_all(other_model, [FIRST], cache)[FIRST]
    assert piece.logprob == -9.0


def test_answers_before_an_error_are_kept(tmp_path):
    with Cache(tmp_path / "answers.sqlite") as cache, pytest.raises(LookupError):
        answer_all(FakeModel({FIRST: PIECES[FIRST]}), [FIRST, SECOND], cache)
    model = FakeModel(PIECES)
    with Cache(tmp_path / "answers.sqlite") as cache:
        cache.keep(key_of(model.fingerprint, FIRST), PIECES[FIRST])
        answer_all(model, [FIRST, SECOND], cache)
    assert model.asked == [SECOND]


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
    decoded = decode(encode(answer))
    assert type(decoded) is type(answer)
    assert np.array_equal(decoded, answer) if isinstance(answer, np.ndarray) else decoded == answer


def test_the_key_depends_on_the_kind_of_request_and_every_field():
    keys = {
        key_of("m", Continuation("a", "b")),
        key_of("n", Continuation("a", "b")),
        key_of("m", Continuation("b", "a")),
        key_of("m", Fill("a", "b", "")),
        key_of("m", Fill("a", "", "b")),
    }
    assert len(keys) == 5


def test_progress_counts_text_and_ends_at_the_total(tmp_path):
    steps = []
    with Cache(tmp_path / "answers.sqlite") as cache:
        answer_all(FakeModel(PIECES), [FIRST], cache)
        answer_all(FakeModel(PIECES), [FIRST, SECOND], cache, lambda *step: steps.append(step))
    assert steps == [(4, 8), (8, 8)]


def test_a_request_the_model_cannot_answer_is_refused():
    with pytest.raises(BadInput, match="'fake', a causal model, cannot answer a Fill request"):
        answer_all(FakeModel(PIECES), [Fill("a", "b", "c")], Cache())


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


def read_lines(path) -> list[str]:
    """Lines of the file, or none if it does not exist."""
    return path.read_text().splitlines() if path.exists() else []


def test_a_killed_run_goes_on_and_asks_nothing_twice(tmp_path):
    (tmp_path / "slow_judge.py").write_text(SLOW)
    environment = {**os.environ, "WINOKIT_CACHE": str(tmp_path / "answers.sqlite"), "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-m", "winokit", "score", "open", "--model", "python:slow_judge:judge", "--limit", "150"]
    first = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL)
    path = tmp_path / "asked.txt"
    until(lambda: len(read_lines(path)) == 41 or first.poll() is not None)
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert len(read_lines(path)) == 41
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, stdout=subprocess.DEVNULL)
    texts = read_lines(path)
    # The one that was under way when the run was killed may be asked again; no answer that was given is.
    assert len(texts) in (150, 151)
    assert len(set(texts)) == 150
    assert (tmp_path / "predictions.jsonl").read_text().count("\n") == 150


class SilentModel(RandomModel):
    """A random model that must not be asked anything."""

    def answer(self, requests):
        assert not requests
        yield from ()


def test_two_scorings_share_the_answers_they_have_in_common(tmp_path, twins):
    with Cache(tmp_path / "answers.sqlite") as cache:
        mean = score(twins, RandomModel(), ScoringPlan("masked-candidate"), cache=cache)
        total = score(twins, SilentModel(), ScoringPlan("masked-candidate?reduce=sum"), cache=cache)
    # A random answer is one piece.
    assert [prediction.scores for prediction in mean] == [prediction.scores for prediction in total]


def test_a_cache_that_is_damaged_further_in_is_told_in_one_line(tmp_path):
    path = tmp_path / "answers.sqlite"
    with Cache(path) as cache:
        for number in range(500):
            cache.keep(key_of("m", Continuation("a", str(number))), PIECES[FIRST])
    content = path.read_bytes()
    damage = b"\xff" * (len(content) - 8192)
    path.write_bytes(content[:8192] + damage)
    requests = [FIRST, *(Continuation("a", str(number)) for number in range(500))]
    with Cache(path) as cache, pytest.raises(BadInput, match=r"answers\.sqlite: the cache failed"):
        answer_all(FakeModel(PIECES), requests, cache)
