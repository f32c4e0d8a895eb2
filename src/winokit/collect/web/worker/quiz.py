"""The qualification quiz."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Response

from winokit.collect.study import workers
from winokit.collect.web.guard import Fields, guard, takes
from winokit.collect.web.sessions import WORKER
from winokit.collect.web.visit import AWorker, GoTo, WorkerVisit

router = APIRouter(dependencies=[Depends(guard(WORKER))], tags=["quiz"])


@router.get("/quiz")
def quiz_page(visit: AWorker) -> Response:
    """The questions."""
    _be_at_quiz(visit)
    return visit.page("quiz", answers={}, result=None)


@router.post("/quiz", openapi_extra=takes("q1", "q2", "q3"))
def take_quiz(visit: AWorker, fields: Fields) -> Response:
    """Mark a try. Explanations are shown once nothing hangs on them any more."""
    _be_at_quiz(visit)
    questions = visit.study.quiz
    answers = [_place(fields.get(f"q{number}", ""), len(one.options)) for number, one in enumerate(questions, 1)]
    missing = {f"q{place}": "please choose one" for place, answer in enumerate(answers, 1) if answer is None}
    if missing:
        return visit.page("quiz", status=422, problems=missing, answers=fields, result=None)
    result = workers.take_quiz(visit.study, visit.worker.id, [answer for answer in answers if answer is not None])
    if result.passed or not result.attempts_left:
        visit.worker = workers.get(visit.study, visit.worker.code)
        return visit.page("quiz_result", result=result, answers=answers)
    return visit.page("quiz", answers=fields, result=result)


def _place(told: str, options: int) -> int | None:
    return int(told) if told.isascii() and told.isdecimal() and len(told) < 4 and int(told) < options else None


def _be_at_quiz(visit: WorkerVisit) -> None:
    if visit.worker.step != workers.QUIZ:
        raise GoTo(visit.next_path)
