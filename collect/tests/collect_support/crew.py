"""Workers without a browser, who call what the pages call."""

from __future__ import annotations

from winokit_collect.study import submissions, tasks, workers
from winokit_collect.study.schema import Worker
from winokit_collect.study.study import Study
from winokit_collect.study.submissions import SubmissionReceipt
from winokit_collect.study.voting import VoteTask

NEVER = "The terrier can squeeze under the garden gate but the spaniel cannot, so we never have to fetch _ back."
OWN_WORDS = "before yesterday someone quietly repaired everything".split()


def form(number: int = 0, **changes: str) -> dict[str, str]:
    """Twins, filled in; each number makes texts that are not like the others'."""
    letters = "".join(chr(ord("a") + int(digit)) for digit in str(number))
    own = " ".join(f"{word}{letters}" for word in OWN_WORDS)
    first = f"The terrier and the spaniel {own} near the gate and _ had never eaten." if number else NEVER
    fields = {
        "first": first,
        "second": first.replace("never", "always"),
        "candidate_1": "the terrier",
        "candidate_2": "the spaniel",
        "answer_1": "2",
        "answer_2": "1",
        "anchor": "gate",
    }
    return fields | changes


class Crew:
    """What tests make workers do."""

    form = staticmethod(form)

    def newcomer(self, study: Study) -> Worker:
        """Somebody who has come in, consented and passed the screening."""
        worker = workers.join(study, "links")
        workers.consent(study, worker.id)
        return workers.screen(study, worker.id, native_speaker=True, has_seen_wsc=False)

    def write(self, study: Study, worker: Worker, number: int = 0) -> SubmissionReceipt:
        """Write a pair of twins and hand it in."""
        task = tasks.lease(study, worker.id, "write")
        return submissions.submit(study, worker.id, task.token, form(number))

    def vote(self, study: Study, worker: Worker, kind: str = "validate", **fields: str) -> SubmissionReceipt:
        """Judge whatever comes; a problem is found good unless the fields say otherwise."""
        task = tasks.lease(study, worker.id, kind)
        return submissions.submit(study, worker.id, task.token, self.ballot(task, **fields))

    def ballot(self, task: VoteTask, **fields: str) -> dict[str, str]:
        """A vote that says what the author said."""
        if task.kind in ("switchable", "associative"):
            return {"choice": "yes"} | fields
        right = "1" if "never" in f"{task.before}{task.after}" else "0"
        return {"choice": right, "equally_plausible": "no", "local_decides": "no"} | fields
