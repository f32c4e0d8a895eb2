"""`winokit collect serve` in a process of its own, for tests that need a real socket."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from support.waiting import HANGS


class Server:
    """A running server at a free port, its output and raw requests to it."""

    def __init__(self, folder: Path, options: Sequence[str] = ()) -> None:
        command = [sys.executable, "-m", "winokit", "collect", "serve", str(folder), "--port", "0", *options]
        # Tests that a shell runs in the background ignore interrupts, and so would what they start.
        heed_interrupts = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        self.process = subprocess.Popen(command, preexec_fn=heed_interrupts, **pipes)
        self._lines: list[str] = []
        self._has_ended = False
        self._news = threading.Condition()
        self._listener = threading.Thread(target=self._collect_lines, daemon=True)
        self._listener.start()
        try:
            # It listens by the time it says where, and answers once all of it has started.
            self.port = int(self.wait_for_output(r": http://127\.0\.0\.1:(\d+)$")[1])
            status, _ = self.request("GET /health")
            assert status == 200, self.output()
        except BaseException:
            self.process.kill()
            raise

    def _collect_lines(self) -> None:
        """Collect the lines that the server prints, until it ends."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._news:
                self._lines.append(line)
                self._news.notify_all()
        with self._news:
            self._has_ended = True
            self._news.notify_all()

    def output(self) -> str:
        """Everything that the server has printed so far."""
        return "".join(self._lines)

    def wait_for_output(self, pattern: str) -> re.Match[str]:
        """Wait until the output matches a pattern, and return the match. AssertionError if it never does."""

        def search_output() -> re.Match[str] | None:
            return re.search(pattern, self.output(), re.MULTILINE)

        with self._news:
            self._news.wait_for(lambda: search_output() or self._has_ended, HANGS)
        match = search_output()
        assert match is not None, f"it does not say {pattern!r}, but {self.output()!r}"
        return match

    def send_raw(self, *pieces: bytes) -> bytes:
        """Send bytes as they are and return the whole answer, also if the server closes early."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=HANGS) as line:
            try:
                for piece in pieces:
                    line.sendall(piece)
            except (BrokenPipeError, ConnectionResetError):
                pass
            answer = b""
            try:
                while chunk := line.recv(65536):
                    answer += chunk
            except ConnectionResetError:
                pass
            return answer

    def request(self, line: str, *headers: str, body: bytes = b"") -> tuple[int, bytes]:
        """The status and the whole answer, with its head, to one request. Status 0 if there is no answer."""
        head = "\r\n".join((f"{line} HTTP/1.1", "Host: 127.0.0.1", "Connection: close", *headers, "", ""))
        answer = self.send_raw(head.encode("latin-1"), body)
        status = int(answer.split(b" ", 2)[1]) if answer else 0
        return status, answer

    def peak_memory(self) -> int:
        """The most memory that the server has used at once, in KiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(r"VmHWM:\s+(\d+)", status)[0])

    def stop(self) -> str:
        """End the server and return its whole output."""
        self.process.terminate()
        return self.wait_for_end()

    def wait_for_end(self) -> str:
        """Wait until the server has ended, and return its whole output."""
        self.process.wait(HANGS)
        self._listener.join(HANGS)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return self.output()
