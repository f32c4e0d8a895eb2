"""Pages of writing tasks: the form, feedback while it is filled in, drafts, handing in."""

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
"""Fields at which rules are shown, in the order of the page."""


@router.get("/task/{token}/write")
def form(visit: AtWork, token: Token) -> Response:
    """Page with the form for twins, filled in with the draft.

    If twins were handed in already, they can be corrected or only read.
    """
    task, before = _find_work(visit, token)
    if before is None:
        return form_page(visit, task, task.draft or {})
    if before.correct_until is None:
        return handed_in_page(visit, task, before.fields, before.at)
    return form_page(visit, task, form_fields(before.fields), before)


@router.form("/task/{token}/write", *FORM_FIELDS)
async def hand_in(visit: AWorker, token: Token, fields: Fields) -> Response:
    """Store the twins, or show the form again with what is wrong.

    In a thread, since the study's model may be asked.
    """
    return await run_slow(_submit_twins, visit, token, fields)


def _submit_twins(visit: WorkerVisit, token: str, fields: Mapping[str, str]) -> Response:
    """Hand in the twins of a form.

    If they are refused, it is kept as a draft.
    """
    try:
        receipt = submissions.submit_twins(visit.study, visit.worker.id, token, fields)
    except AlreadyHandedIn as error:
        task = own_task(visit, token, to_write=True)
        return handed_in_page(visit, task, error.stands, error.at, error.sent)
    except Incomplete as error:
        task, before = _find_work(visit, token)
        if before is None:
            tasks.save_draft(visit.study, visit.worker.id, token, fields)
        return form_page(visit, task, fields, before, status=422, problems=error.problems)
    return visit.go(HOME, thanks(visit, receipt, "receipts.earned_writing"))


@router.form("/task/{token}/feedback", *FORM_FIELDS)
def feedback(visit: AWorker, token: Token, fields: Fields) -> Response:
    """Feedback on the form's present content, as a piece of a page."""
    task, before = _find_work(visit, token)
    shown_feedback = ShownFeedback(visit.study, task, fields, before)
    return visit.piece("writing_feedback", task=task, shown=shown_feedback)


@router.form("/task/{token}/draft", *FORM_FIELDS)
def draft(visit: AWorker, token: Token, fields: Fields) -> Response:
    """Store the form as a draft."""
    saved_at = tasks.save_draft(visit.study, visit.worker.id, token, fields)
    return visit.piece("draft_saved", saved_at=saved_at)


@router.form("/task/{token}/adversary", *FORM_FIELDS)
async def ask_adversary(visit: AWorker, token: Token, fields: Fields) -> Response:
    """Show the study's model's answer, as a piece of a page.

    In a thread, since the model is slow. A worker may ask only so often.
    """
    return await run_slow(_ask_model, visit, token, fields)


def _ask_model(visit: WorkerVisit, token: str, fields: Mapping[str, str]) -> Response:
    """Ask the study's model about the twins, if the worker has tries left."""
    own_task(visit, token, to_write=True)
    limit_asking(visit, visit.worker.id)
    tries_left = adversary.tries_left(visit.study, visit.worker.id, token, fields, take=True)
    verdict = adversary.ask(visit.study, fields) if tries_left != -1 else None
    message = visit.texts.say(verdict.message) if verdict else ""
    return visit.piece("adversary", verdict=verdict, message=message, tries_left=tries_left, token=token)


def limit_asking(visit: Visit, who: object) -> None:
    """Raise TooMany if somebody asks the study's model too often.

    `who` is the key under which they are counted.
    """
    wait = visit.request.app.state.adversary_limit.count(who)
    if wait:
        raise TooMany(say("model.too_often", count=wait), wait)


def _find_work(visit: WorkerVisit, token: str) -> tuple[Row[Any], HandedIn | None]:
    """Find the worker's task and what they handed in for it, or None."""
    task = own_task(visit, token, to_write=True)
    before = None
    if task.state == SUBMITTED:
        before = submissions.look_again(visit.study, visit.worker.id, token)
    return task, before


def form_page(
    visit: Visit, task: Row[Any], fields: Mapping[str, Any], before: HandedIn | None = None, **context: Any
) -> Response:
    """Render the form for twins, with feedback on its fields.

    `before` is what the worker handed in earlier, if anything.
    """
    typed = {name: str(fields.get(name, "")) for name in FORM_FIELDS}
    shown_feedback = ShownFeedback(visit.study, task, typed, before)
    return visit.page("write", task=task, typed=typed, shown=shown_feedback, before=before, **context)


class ShownFeedback:
    """Feedback on a form, arranged as the page shows it.

    `notes` has the messages by field, `kept` is the number of rules that are kept, and `summary` is one line.
    `feedback` is None if a field is too long to be checked.
    """

    def __init__(self, study: Study, task: Row[Any], fields: Mapping[str, Any], before: HandedIn | None = None) -> None:
        self.feedback: WritingFeedback | None = None
        self.kept = 0
        self.texts = study.texts
        own_texts = before.own_texts if before else ()
        try:
            feedback = WritingFeedback(study, fields, task.task_domain, own_texts, task.topic)
        except Incomplete as error:
            broken = list(error.problems.items())
        else:
            self.feedback = feedback
            broken = [(check.field, check.message) for check in feedback.checks if check.ok is False]
            self.kept = sum(check.ok is True for check in feedback.checks)
        self.notes: dict[str, list[str]] = {field: [] for field in FORM_FIELDS}
        complaints = []
        for field, message in broken:
            complaint = self.texts.say(message)
            if field in self.notes:
                self.notes[field].append(complaint)
            field_name = self.texts.lines[f"writing.name_{field}"]
            complaints.append(f"{field_name}: {complaint}")
        self.summary = "; ".join(complaints)
        if self.feedback:
            counts = {"kept": self.kept, "count": len(self.feedback.checks), "broken": self.summary}
            key = self._choose_summary(self.feedback, is_broken=bool(broken))
            self.summary = self.texts.lines[key].format(**counts)

    def _choose_summary(self, feedback: WritingFeedback, *, is_broken: bool) -> str:
        """Choose the key of the summary's text."""
        if feedback.ready:
            return "writing.summary_ready"
        if is_broken:
            return "writing.summary_not_yet"
        return "writing.summary_warned" if self.warnings else "writing.summary"

    @property
    def warnings(self) -> list[str]:
        """Possible mistakes, in the study's texts."""
        if self.feedback is None:
            return []
        return [self.texts.say(warning.message) for warning in self.feedback.warnings]

    @property
    def groups(self) -> list[tuple[str, list[tuple[WritingCheck, str]]]]:
        """The rules with their messages, by the field they are shown at.

        Fields are in the order of the page, those without rules left out.
        """
        checks = self.feedback.checks if self.feedback else ()
        groups = []
        for field in WHERE:
            rules = [(check, self.texts.say(check.message)) for check in checks if check.field == field]
            if rules:
                groups.append((field, rules))
        return groups
