"""A stand-in for Prolific that keeps books, and behaves as its documentation says.

To approve a submission twice pays its reward once. To set up a bonus pays nothing. To pay a bonus that was set up pays
it each time it is asked for, and shows it among the submission's `bonus_payments`, in cents, at once or later.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from support.waiting import HANGS

from winokit_collect.platforms import prolific

STUDY = f"70{0:022d}"
BEFORE, AFTER = "before", "after"
HANG_UP = 0


class ProlificStandIn:
    """Submissions, bonuses and what was paid. `trouble` says what goes wrong with a call, before or after it is done.

    It is given the path and gets to say None, or when and with which status it is answered; HANG_UP: not at all.
    """

    def __init__(self, reward: int = 50) -> None:
        self.reward, self.url = reward, ""
        self.shows_at_once = True
        self.submissions: dict[str, dict[str, Any]] = {}
        self.set_up: dict[str, tuple[str, int]] = {}
        self.to_show: list[tuple[str, int]] = []
        self.calls: list[tuple[str, str, Any]] = []
        self.token = ""
        self.trouble: Callable[[str], tuple[str, int] | None] = lambda path: None
        self.lock = threading.Lock()

    def arrives(self, number: int) -> dict[str, str]:
        """The address by which participant so-and-so is sent."""
        person, session = (f"{kind}{number:022d}" for kind in ("5f", "60"))
        status = {"id": session, "study_id": STUDY, "participant": person, "status": "ACTIVE"}
        self.submissions[session] = status | {"bonus_payments": None, "paid": 0}
        return {"PROLIFIC_PID": person, "STUDY_ID": STUDY, "SESSION_ID": session}

    def platform(self, **more: Any) -> dict[str, Any]:
        """The [platform] of a study to which it sends people."""
        return {"name": "prolific", "study_id": STUDY, "completion_code": "C", "api": self.url, **more}

    @property
    def paid(self) -> int:
        """All that has left, in cents."""
        return sum(submission["paid"] for submission in self.submissions.values())

    def show(self) -> None:
        """Minutes later: bonuses are shown that were paid."""
        for session, cents in self.to_show:
            submission = self.submissions[session]
            submission["bonus_payments"] = [*(submission["bonus_payments"] or ()), float(cents)]
        self.to_show.clear()

    def do(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """Carry a call out; the status and the answer."""
        with self.lock:
            match method, *path.strip("/").split("/"):
                case "GET", "submissions", session if session in self.submissions:
                    return 200, {key: value for key, value in self.submissions[session].items() if key != "paid"}
                case "POST", "submissions", "bonus-payments":
                    session, amount = body["csv_bonuses"].split(",")
                    if self.submissions.get(session, {}).get("study_id") != body["study_id"]:
                        return 400, {"error": {"detail": f"{session} has not taken part"}}
                    units, hundredths = amount.split(".")
                    number = f"bulk{len(self.set_up):020d}"
                    self.set_up[number] = session, 100 * int(units) + int(hundredths)
                    return 200, {"id": number, "study": body["study_id"]}
                case "POST", "submissions", session, "transition" if session in self.submissions:
                    submission = self.submissions[session]
                    if submission["status"] in ("ACTIVE", "AWAITING REVIEW"):
                        submission["status"] = "APPROVED" if body["action"] == "APPROVE" else "SCREENED OUT"
                        submission["paid"] += self.reward if body["action"] == "APPROVE" else 0
                    return 200, {"id": session, "status": submission["status"]}
                case "POST", "bulk-bonus-payments", number, "pay" if number in self.set_up:
                    session, cents = self.set_up[number]
                    self.submissions[session]["paid"] += cents
                    self.to_show.append((session, cents))
                    if self.shows_at_once:
                        self.show()
                    return 202, f"Bulk bonus payment with ID {number} is being processed asynchronously."
        return 404, {"error": {"detail": "not found"}}


@contextmanager
def prolific_stand_in(reward: int = 50) -> Iterator[ProlificStandIn]:
    """One that is served over HTTP, as long as it is needed."""
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
            code, content = (status, {"error": {"detail": "no funds"}}) if when or done is None else done
            answer = json.dumps(content).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

        def handle(self) -> None:
            with suppress(ConnectionError):  # whoever asked was killed
                super().handle()

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, pytest.MonkeyPatch.context() as patch:
        patch.setattr(prolific, "SECONDS", HANGS)  # a busy machine is not a platform that does not answer
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        books.url = f"http://127.0.0.1:{server.server_port}/api/v1"
        try:
            yield books
        finally:
            server.shutdown()
            thread.join()
