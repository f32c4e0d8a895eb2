"""Writing twins: the form, feedback while it is filled in, drafts that save themselves, and handing in."""

from collections.abc import Mapping
from typing import Any

from fastapi import Response
from sqlalchemy import Row

from winokit_collect.study import adversary, submissions, tasks
from winokit_collect.study.refusals import AlreadyHandedIn, Incomplete, TooMany
from winokit_collect.study.schema import SUBMITTED
from winokit_collect.study.study import Study
from winokit_collect.study.submissions import HandedIn
from winokit_collect.study.texts import say
from winokit_collect.study.writing import FORM_FIELDS, WritingCheck, WritingFeedback, form_fields
from winokit_collect.web.forms import WORKER, Fields, Pages
from winokit_collect.web.home import Token, handed_in_page, own_task, thanks
from winokit_collect.web.visit import HOME, AtWork, AWorker, Visit, WorkerVisit, run_slow

router = Pages(WORKER)
WHERE = ("anchor", "candidate_2", "first", "second", "answer_2")
"""The fields beside which rules are shown."""


@router.get("/task/{token}/write")
def form(visit: AtWork, token: Token) -> Response:
    """The form, with what was saved of it; or with what was handed in, to be corrected or only read."""
    task, before = _own(visit, token)
    if before and before.correct_until is None:
        return handed_in_page(visit, task, before.fields, before.at)
    return form_page(visit, task, form_fields(before.fields) if before else task.draft or {}, before)


@router.form("/task/{token}/write", *FORM_FIELDS)
async def hand_in(visit: AWorker, token: Token, fields: Fields) -> Response:
    """Take the twins, or show the form again as it was, with what stands against it; a model may be asked first."""
    return await run_slow(_hand_in, visit, token, fields)


def _hand_in(visit: WorkerVisit, token: str, fields: Mapping[str, str]) -> Response:
    try:
        receipt = submissions.submit_twins(visit.study, visit.worker.id, token, fields)
    except AlreadyHandedIn as error:
        return handed_in_page(visit, own_task(visit, token, to_write=True), error.stands, error.at, error.sent)
    except Incomplete as error:
        task, before = _own(visit, token)
        if before is None:
            tasks.save_draft(visit.study, visit.worker.id, token, fields)
        return form_page(visit, task, fields, before, status=422, problems=error.problems)
    return visit.go(HOME, thanks(visit, receipt, "receipts.earned_writing"))


@router.form("/task/{token}/feedback", *FORM_FIELDS)
def feedback(visit: AWorker, token: Token, fields: Fields) -> Response:
    """What to tell the writer now."""
    task, before = _own(visit, token)
    return visit.piece("writing_feedback", task=task, shown=ShownFeedback(visit.study, task, fields, before))


@router.form("/task/{token}/draft", *FORM_FIELDS)
def draft(visit: AWorker, token: Token, fields: Fields) -> Response:
    """Keep what was typed so far."""
    saved_at = tasks.save_draft(visit.study, visit.worker.id, token, fields)
    return visit.piece("draft_saved", saved_at=saved_at)


@router.form("/task/{token}/adversary", *FORM_FIELDS)
async def ask_adversary(visit: AWorker, token: Token, fields: Fields) -> Response:
    """What the study's model makes of the twins; slow, so a script asks for it by itself, and not too often."""
    return await run_slow(_ask, visit, token, fields)


def _ask(visit: WorkerVisit, token: str, fields: Mapping[str, str]) -> Response:
    own_task(visit, token, to_write=True)
    limit_asking(visit, visit.worker.id)
    left = adversary.tries_left(visit.study, visit.worker.id, token, fields, take=True)
    verdict = adversary.ask(visit.study, fields) if left != -1 else None
    message = visit.texts.say(verdict.message) if verdict else ""
    return visit.piece("adversary", verdict=verdict, message=message, tries_left=left, token=token)


def limit_asking(visit: Visit, who: object) -> None:
    """Refuse somebody who asks the study's model too often."""
    wait = visit.request.app.state.adversary_limit.count(who)
    if wait:
        raise TooMany(say("model.too_often", count=wait), wait)


def _own(visit: WorkerVisit, token: str) -> tuple[Row[Any], HandedIn | None]:
    """The task of a page's address, and what the worker handed in for it, if anything."""
    task = own_task(visit, token, to_write=True)
    is_handed_in = task.state == SUBMITTED
    return task, submissions.look_again(visit.study, visit.worker.id, token) if is_handed_in else None


def form_page(
    visit: Visit, task: Row[Any], fields: Mapping[str, Any], before: HandedIn | None = None, **context: Any
) -> Response:
    """The form for twins, with what was typed and what is to be said of it."""
    typed = {name: str(fields.get(name, "")) for name in FORM_FIELDS}
    shown = ShownFeedback(visit.study, task, typed, before)
    return visit.page("write", task=task, typed=typed, shown=shown, before=before, **context)


class ShownFeedback:
    """Feedback on the form as it stands, arranged as the page shows it: `notes` by field, and a `summary` in one line.

    Where a field is longer than anything could be, there is no `feedback`, and `notes` says which.
    """

    def __init__(self, study: Study, task: Row[Any], fields: Mapping[str, Any], before: HandedIn | None = None) -> None:
        self.feedback: WritingFeedback | None = None
        self.kept, self.texts = 0, study.texts
        try:
            own = before.own_texts if before else ()
            self.feedback = now = WritingFeedback(study, fields, task.task_domain, own, task.topic)
        except Incomplete as error:
            broken = list(error.problems.items())
        else:
            broken = [(check.field, check.message) for check in now.checks if check.ok is False]
            self.kept = sum(check.ok is True for check in now.checks)
        complaints = [(field, self.texts.say(why)) for field, why in broken]
        self.notes = {field: [why for at, why in complaints if at == field] for field in FORM_FIELDS}
        self.summary = "; ".join(f"{self.texts.lines[f'writing.name_{field}']}: {why}" for field, why in complaints)
        if self.feedback:
            counts = {"kept": self.kept, "count": len(self.feedback.checks), "broken": self.summary}
            ending = "_ready" if self.feedback.ready else "_not_yet" if broken else "_warned" if self.warnings else ""
            self.summary = self.texts.lines[f"writing.summary{ending}"].format(**counts)

    @property
    def warnings(self) -> list[str]:
        """What may be a mistake, in the study's words."""
        return [self.texts.say(warning.message) for warning in self.feedback.warnings] if self.feedback else []

    @property
    def groups(self) -> list[tuple[str, list[tuple[WritingCheck, str]]]]:
        """The rules, each with what is said of it, under the field that they are about."""
        checks = self.feedback.checks if self.feedback else ()
        groups = ((at, [check for check in checks if check.field == at]) for at in WHERE)
        return [(at, [(check, self.texts.say(check.message)) for check in group]) for at, group in groups if group]
