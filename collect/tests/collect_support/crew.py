"""Workers without a browser, who call what the pages call."""

from __future__ import annotations

from winokit_collect.study import submissions, tasks, workers
from winokit_collect.study.schema import Worker
from winokit_collect.study.study import Study
from winokit_collect.study.submissions import SubmissionReceipt
from winokit_collect.study.voting import VoteTask

NEVER = "The terrier can squeeze under the garden gate but the spaniel cannot, so we never have to fetch _ back."
FILLER_WORDS = "before yesterday someone quietly repaired everything".split()
LETTER_OF_DIGIT = str.maketrans("0123456789", "abcdefghij")


def form(number: int = 0, **changes: str) -> dict[str, str]:
    """The fields of a filled-in form for a pair of twins.

    Each number gives texts that no rule finds similar to those of another number. `changes` replace fields.
    """
    suffix = str(number).translate(LETTER_OF_DIGIT)
    filler = " ".join(f"{word}{suffix}" for word in FILLER_WORDS)
    first = f"The terrier and the spaniel {filler} near the gate and _ had never eaten." if number else NEVER
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
    """Workers who come in, write and vote as a test says."""

    form = staticmethod(form)

    def newcomer(self, study: Study) -> Worker:
        """Add a worker who has consented and passed the screening."""
        worker = workers.join(study, "links")
        workers.consent(study, worker.id)
        return workers.screen(study, worker.id, native_speaker=True, has_seen_wsc=False)

    def write(self, study: Study, worker: Worker, number: int = 0) -> SubmissionReceipt:
        """Take a writing task and hand in the twins of a number."""
        task = tasks.lease(study, worker.id, "write")
        return submissions.submit(study, worker.id, task.token, form(number))

    def vote(self, study: Study, worker: Worker, kind: str = "validate", **fields: str) -> SubmissionReceipt:
        """Take a task of this kind and vote on it, for the problem unless the fields say otherwise."""
        task = tasks.lease(study, worker.id, kind)
        return submissions.submit(study, worker.id, task.token, self.ballot(task, **fields))

    def ballot(self, task: VoteTask, **fields: str) -> dict[str, str]:
        """The fields of a vote that agrees with the author of a problem made by `form`."""
        if task.kind in ("switchable", "associative"):
            return {"choice": "yes"} | fields
        text = task.before + task.after
        right_choice = "1" if "never" in text else "0"
        return {"choice": right_choice, "equally_plausible": "no", "local_decides": "no"} | fields
