"""`winokit collect serve`, in a process of its own, for what needs a real socket."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path


class Server:
    """A server, and the wire to it."""

    def __init__(self, folder: Path, before: str = "", options: Sequence[str] = ()) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        start = ["-c", f"{before}\nfrom winokit.cli.main import main; main()"] if before else ["-m", "winokit"]
        command = [sys.executable, *start, "collect", "serve", str(folder), "--port", str(self.port), *options]
        # Tests that a shell runs in the background ignore interrupts, and so would what they start.
        heeds = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        piped = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        self.process = subprocess.Popen(command, preexec_fn=heeds, **piped)
        for _ in range(1800):  # a minute and a half, of which a busy machine may need twenty seconds
            with socket.socket() as line:
                if line.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise AssertionError(f"no server: {self.stop()}")

    def raw(self, *pieces: bytes) -> bytes:
        """Send bytes as they are and hear all of the answer; a server that closes early is no error."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as line:
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
        return self.process.communicate(timeout=60)[0]
