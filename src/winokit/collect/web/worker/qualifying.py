"""What comes before work: consent, screening and the qualification quiz."""

from __future__ import annotations

from fastapi import Response

from winokit.collect.study import workers
from winokit.collect.web.forms import WORKER, Fields, Pages, is_number
from winokit.collect.web.visit import AWorker, GoTo, WorkerVisit

router = Pages(WORKER)
YES_NO = {"yes": True, "no": False}


@router.get("/consent")
def consent_page(visit: AWorker) -> Response:
    """What taking part means."""
    _be_at(visit, workers.CONSENT)
    return visit.page("consent")


@router.form("/consent", "agree")
def consent(visit: AWorker, fields: Fields) -> Response:
    """Agree; nothing else can be said here but by leaving."""
    _be_at(visit, workers.CONSENT)
    if fields.get("agree") != "yes":
        return visit.page("consent", status=422, problems={"agree": "please tick the box if you agree"})
    visit.worker = workers.consent(visit.study, visit.worker.id)
    return visit.go(visit.next_path)


@router.get("/screening")
def screening_page(visit: AWorker) -> Response:
    """The questions of screening."""
    _be_at(visit, workers.SCREENING)
    return visit.page("screening", answers={})


@router.form("/screening", "native_speaker", "has_seen_wsc")
def screening(visit: AWorker, fields: Fields) -> Response:
    """Answer them, once."""
    _be_at(visit, workers.SCREENING)
    quality = visit.study.config.quality
    asked = {"native_speaker": quality.native_speaker, "has_seen_wsc": quality.never_seen_wsc}
    missing = [name for name, is_asked in asked.items() if is_asked and fields.get(name) not in YES_NO]
    if missing:
        problems = dict.fromkeys(missing, "please choose yes or no")
        return visit.page("screening", status=422, problems=problems, answers=fields)
    # A question that the study does not ask cannot turn anybody away.
    native = YES_NO.get(fields.get("native_speaker", ""), True)
    seen = YES_NO.get(fields.get("has_seen_wsc", ""), False)
    visit.worker = workers.screen(visit.study, visit.worker.id, native_speaker=native, has_seen_wsc=seen)
    return visit.go(visit.next_path)


@router.get("/quiz")
def quiz_page(visit: AWorker) -> Response:
    """The questions."""
    _be_at(visit, workers.QUIZ)
    return visit.page("quiz", answers={}, result=None)


@router.form("/quiz", "q1", "q2", "q3")
def take_quiz(visit: AWorker, fields: Fields) -> Response:
    """Mark a try. Explanations are shown once nothing hangs on them any more."""
    _be_at(visit, workers.QUIZ)
    answers, missing = [], {}
    for number, question in enumerate(visit.study.quiz, 1):
        choice = fields.get(f"q{number}", "")
        if is_number(choice, 3) and int(choice) < len(question.options):
            answers.append(int(choice))
        else:
            missing[f"q{number}"] = "please choose one"
    if missing:
        return visit.page("quiz", status=422, problems=missing, answers=fields, result=None)
    result = workers.take_quiz(visit.study, visit.worker.id, answers)
    if result.passed or not result.attempts_left:
        visit.worker = workers.get(visit.study, visit.worker.code)
        return visit.page("quiz_result", result=result, answers=answers)
    return visit.page("quiz", answers=fields, result=result)


def _be_at(visit: WorkerVisit, step: str) -> None:
    if visit.worker.step != step:
        raise GoTo(visit.next_path)
