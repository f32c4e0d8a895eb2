"""A stand-in for Prolific that keeps books: the one place that says what we believe of its answers.

No account was ever asked: all of it is known from https://docs.prolific.com alone. A study has a `reward` in cents and
the currency it is shown in. A submission has a status; only one that is under way or awaits review can be approved or
screened out, and any other answer is 400. To set up a bonus pays nothing. To pay a bonus that was set up pays it each
time it is asked for, and shows it among the submission's `bonus_payments`, in cents, at once or later. A list of
submissions names no bonuses. 429 comes with `Retry-After`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

STUDY = f"70{0:022d}"
BEFORE = "before"
AFTER = "after"
HANG_UP = 0
NOT_FOUND = 404, {"error": {"detail": "not found"}}


class ProlificStandIn:
    """A simulated Prolific, whose calls can be made to fail.

    It keeps submissions, bonuses and payments. `trouble` maps a call's path to None, or to how it fails: `BEFORE` or
    `AFTER` it is carried out, and the HTTP status, or HANG_UP for no answer.
    """

    def __init__(self, reward: int = 50) -> None:
        self.reward = reward
        self.currency = "USD"
        self.url = ""
        self.wait_seconds = "7"
        self.shows_at_once = True
        self.submissions: dict[str, dict[str, Any]] = {}
        self.set_up: dict[str, tuple[str, int]] = {}
        self.to_show: list[tuple[str, int]] = []
        self.calls: list[tuple[str, str, Any]] = []
        self.token = ""
        self.trouble: Callable[[str], tuple[str, int] | None] = lambda path: None
        self.lock = threading.Lock()

    def arrives(self, number: int, visit: int = 0) -> dict[str, str]:
        """Open a submission, and return the parameters of the participant's link.

        `number` is the participant's number, `visit` counts their visits from 0.
        """
        person = f"5f{number:022d}"
        session = self.session(number, visit)
        submission: dict[str, Any] = {"id": session, "study_id": STUDY, "participant": person, "status": "ACTIVE"}
        submission |= {"bonus_payments": None, "paid": 0}
        self.submissions[session] = submission
        return {"PROLIFIC_PID": person, "STUDY_ID": STUDY, "SESSION_ID": session}

    def session(self, number: int, visit: int = 0) -> str:
        """Id of the submission of a participant's visit.

        `visit` counts from 0.
        """
        return f"{60 + visit}{number:022d}"

    def ends(self, session: str, status: str) -> None:
        """Give a submission a final status, as Prolific itself would.

        If it is APPROVED, its reward is paid.
        """
        submission = self.submissions[session]
        submission["status"] = status
        if status == "APPROVED":
            submission["paid"] += self.reward

    def pays_by_hand(self, session: str, cents: int) -> None:
        """Pay a bonus as somebody would on Prolific's own pages."""
        self.submissions[session]["paid"] += cents
        self.to_show.append((session, cents))
        self.show()

    def platform(self, **more: Any) -> dict[str, Any]:
        """The [platform] section of study.toml for a study on this stand-in."""
        return {"name": "prolific", "study_id": STUDY, "completion_code": "C", "api": self.url, **more}

    @property
    def paid(self) -> int:
        """Sum of all rewards and bonuses paid, in cents."""
        return sum(submission["paid"] for submission in self.submissions.values())

    def show(self) -> None:
        """Show the bonuses that were paid, as Prolific does some minutes later."""
        for session, cents in self.to_show:
            submission = self.submissions[session]
            submission["bonus_payments"] = [*(submission["bonus_payments"] or ()), float(cents)]
        self.to_show.clear()

    def do(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """Carry out an API call, and return its status and answer.

        The status is 404 for calls and ids that it does not know.
        """
        bare_path, _, _ = path.partition("?")
        parts = bare_path.strip("/").split("/")
        with self.lock:
            if method == "GET":
                return self._answer_question(path, parts)
            match parts:
                case "submissions", "bonus-payments":
                    return self._set_bonus_up(body)
                case "submissions", session, "transition" if session in self.submissions:
                    return self._close_submission(session, body)
                case "bulk-bonus-payments", number, "pay" if number in self.set_up:
                    return self._pay_bonus(number)
        return NOT_FOUND

    def _answer_question(self, path: str, parts: list[str]) -> tuple[int, Any]:
        """Answer a GET call about a study or its submissions."""
        match parts:
            case "studies", study:
                reward = {"reward": self.reward, "presentment_currency_code": self.currency}
                return 200, {"id": study, **reward}
            case ("submissions",):
                _, _, after_page = path.partition("&page=")
                page_number = int(after_page.partition("&")[0])
                first = 100 * (page_number - 1)
                page = list(self.submissions.values())[first : first + 100]
                return 200, {"results": [_list_submission(submission) for submission in page]}
            case "submissions", session if session in self.submissions:
                submission = self.submissions[session]
                return 200, {key: value for key, value in submission.items() if key != "paid"}
        return NOT_FOUND

    def _set_bonus_up(self, body: Any) -> tuple[int, Any]:
        """Set up a bonus, which is paid by a later call."""
        session, amount = body["csv_bonuses"].split(",")
        if self.submissions.get(session, {}).get("study_id") != body["study_id"]:
            return 400, {"error": {"detail": f"{session} has not taken part"}}
        units, hundredths = amount.split(".")
        number = f"bulk{len(self.set_up):020d}"
        self.set_up[number] = session, 100 * int(units) + int(hundredths)
        return 200, {"id": number, "study": body["study_id"]}

    def _close_submission(self, session: str, body: Any) -> tuple[int, Any]:
        """Approve a submission, or screen its worker out."""
        submission = self.submissions[session]
        if submission["status"] not in ("ACTIVE", "AWAITING REVIEW"):
            return 400, {"error": {"detail": f"the submission is {submission['status']}"}}
        self.ends(session, "APPROVED" if body["action"] == "APPROVE" else "SCREENED OUT")
        return 200, {"id": session, "status": submission["status"]}

    def _pay_bonus(self, number: str) -> tuple[int, Any]:
        """Pay a bonus that was set up, again with each call."""
        session, cents = self.set_up[number]
        self.submissions[session]["paid"] += cents
        self.to_show.append((session, cents))
        if self.shows_at_once:
            self.show()
        return 202, f"Bulk bonus payment with ID {number} is being processed asynchronously."


def _list_submission(submission: dict[str, Any]) -> dict[str, Any]:
    """The fields of a submission that a list of submissions has."""
    return {name: submission[name] for name in ("id", "participant", "status", "study_id")}


@contextmanager
def serve_stand_in(reward: int = 50) -> Iterator[ProlificStandIn]:
    """Serve a stand-in over HTTP while the block runs.

    `reward` is in cents.
    """
    books = ProlificStandIn(reward)

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            path = self.path.removeprefix("/api/v1")
            books.calls.append((self.command, path, body))
            books.token = self.headers["Authorization"]
            when, status = books.trouble(path) or ("", 0)
            done = books.do(self.command, path, body) if when != BEFORE else None
            if when and status == HANG_UP:
                self.close_connection = True
                return
            if when or done is None:
                code = status
                content: Any = {"error": {"detail": "no funds"}}
            else:
                code, content = done
            answer = json.dumps(content).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            if code == 429:
                self.send_header("Retry-After", books.wait_seconds)
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

        def handle(self) -> None:
            with suppress(ConnectionError):  # whoever asked was killed
                super().handle()

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        books.url = f"http://127.0.0.1:{server.server_port}/api/v1"
        try:
            yield books
        finally:
            server.shutdown()
            thread.join()
