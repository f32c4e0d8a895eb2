"""`winokit collect serve`, in a process of its own, for what needs a real socket."""

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
    """A server at a port that it chose itself, and the wire to it."""

    def __init__(self, folder: Path, options: Sequence[str] = ()) -> None:
        command = [sys.executable, "-m", "winokit", "collect", "serve", str(folder), "--port", "0", *options]
        # Tests that a shell runs in the background ignore interrupts, and so would what they start.
        heeds = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        piped = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        self.process = subprocess.Popen(command, preexec_fn=heeds, **piped)
        self._lines: list[str] = []
        self._has_ended = False
        self._news = threading.Condition()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        try:
            # It listens by the time it says where, and answers once all of it has started.
            self.port = int(self.hear(r": http://127\.0\.0\.1:(\d+)$")[1])
            assert self.request("GET /health")[0] == 200, self.said()
        except BaseException:
            self.process.kill()
            raise

    def _listen(self) -> None:
        """Keep what it says, up to its end."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._news:
                self._lines.append(line)
                self._news.notify_all()
        with self._news:
            self._has_ended = True
            self._news.notify_all()

    def said(self) -> str:
        """What it has said so far."""
        return "".join(self._lines)

    def hear(self, pattern: str) -> re.Match[str]:
        """Wait until it says something; the match in all it has said."""

        def heard() -> re.Match[str] | None:
            return re.search(pattern, self.said(), re.MULTILINE)

        with self._news:
            self._news.wait_for(lambda: heard() or self._has_ended, HANGS)
        match = heard()
        assert match is not None, f"it does not say {pattern!r}, but {self.said()!r}"
        return match

    def raw(self, *pieces: bytes) -> bytes:
        """Send bytes as they are and hear all of the answer; a server that closes early is no error."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=HANGS) as line:
            try:
                for piece in pieces:
                    line.sendall(piece)
            except (BrokenPipeError, ConnectionResetError):
                pass
            heard = b""
            try:
                while more := line.recv(65536):
                    heard += more
            except ConnectionResetError:
                pass
            return heard

    def request(self, line: str, *headers: str, body: bytes = b"") -> tuple[int, bytes]:
        """The status and the whole answer to one request."""
        head = "\r\n".join((f"{line} HTTP/1.1", "Host: 127.0.0.1", "Connection: close", *headers, "", ""))
        heard = self.raw(head.encode("latin-1"), body)
        return int(heard.split(b" ", 2)[1]) if heard else 0, heard

    def most_memory(self) -> int:
        """The most memory that the server has had at once, in KiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(r"VmHWM:\s+(\d+)", status)[0])

    def stop(self) -> str:
        """End it; what it said meanwhile."""
        self.process.terminate()
        return self.ended()

    def ended(self) -> str:
        """Wait for its end; what it said meanwhile."""
        self.process.wait(HANGS)
        self._listener.join(HANGS)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return self.said()
