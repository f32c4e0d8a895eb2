"""`completions:` scores with llama-cpp-python's server as `gguf:` does with SmolLM2-135M in this process.

SmolLM2's texts begin without BOS, and there llama-cpp-python 0.3.36 gives each token the numbers of the next place:
that is refused. With BOS before every text its numbers are right, and `gguf:…?bos=on` says the same.
"""

import os
import socket
import subprocess
import sys
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest
from support.waiting import HANGS, until

import winokit
from winokit.errors import BadInput

pytest.importorskip("llama_cpp", reason="needs the 'gguf' extra, which builds llama.cpp from source")
pytest.importorskip("starlette_context", reason="needs llama-cpp-python[server]")
FILE = os.environ.get("WINOKIT_SMOLLM2")
pytestmark = pytest.mark.skipif(not FILE, reason="set WINOKIT_SMOLLM2 to SmolLM2's GGUF file, or to its folder")
BOS = "<|im_start|>"
PROBLEMS = int(os.environ.get("WINOKIT_SERVED_PROBLEMS", "40"))
"""Number of WinoGrande dev problems: few, since the server sorts the whole vocabulary at each token."""


@pytest.fixture(scope="module")
def gguf() -> Path:
    path = Path(FILE or "")
    return path if path.is_file() else next(path.rglob("*.gguf"))


@pytest.fixture(scope="module")
def url(gguf: Path):
    place = socket.socket()  # is held to the end, so that nobody else is given its port
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    place.bind(("127.0.0.1", 0))
    port = place.getsockname()[1]
    command = [sys.executable, "-m", "llama_cpp.server", "--model", str(gguf), "--model_alias", "smol"]
    command += [
        "--logits_all",
        "true",
        "--n_ctx",
        "160",
        "--n_threads",
        "1",
        "--n_threads_batch",
        "1",
        "--port",
        str(port),
    ]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}/v1"

    def answers() -> bool:
        assert server.poll() is None
        with suppress(OSError):
            urllib.request.urlopen(f"{address}/models", timeout=HANGS).close()
            return True
        return False

    try:
        until(answers)
        yield address
    finally:
        server.kill()
        server.wait()
        place.close()


def test_numbers_of_the_wrong_place_are_refused(url: str):
    with pytest.raises(BadInput, match=r"shifted by one token.*\?bos="):
        winokit.score("open", f"completions:smol@{url}", limit=1, cache="off")


def test_the_server_predicts_as_llama_cpp_does_in_process(url: str, gguf: Path):
    dev = f"winogrande:{os.environ['WINOKIT_DATA']}/winogrande/dev.jsonl"
    spec = f"completions:smol@{url}?bos={BOS}&concurrency=1&timeout=600"
    served = winokit.score(dev, spec, limit=PROBLEMS, cache="off").predictions
    local = winokit.score(dev, f"gguf:{gguf}?bos=on&n_threads=1", limit=PROBLEMS, cache="off").predictions
    assert len(served) == PROBLEMS
    for ours, theirs in zip(served, local, strict=True):
        assert ours.scores == pytest.approx(theirs.scores, abs=0.02)
        assert ours.prediction == theirs.prediction or (ours.margin or 0) < 0.02
