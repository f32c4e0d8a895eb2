"""The built-in model's graph as trained (logits everywhere) against the trimmed one (logits where they are read).

python benchmarks/builtin.py [--quick]

Both read the same 200 bundled sentences, one masked token each, in the same padded batches, one after the other in
every round. The times are sums over rounds; loading is timed in fresh processes, also in turns.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # as winokit does: the import alone reports otherwise

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

import winokit
from winokit.models.builtin import BUDGET, FOLDER, usable_threads
from winokit.models.packing import packed

ROUNDS = 3
LOAD = """
import sys, time
start = time.perf_counter()
import onnxruntime, tokenizers
tokenizers.Tokenizer.from_file(sys.argv[2])
onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
print(time.perf_counter() - start)
"""


def masked_sentences(count: int) -> tuple[list[list[int]], list[int]]:
    """Tokens of bundled sentences, each filled with its first candidate, and the column of one masked token in each."""
    tokenizer = Tokenizer.from_str((FOLDER / "tokenizer.json").read_text("utf-8"))
    mask = tokenizer.token_to_id("[MASK]")
    rng = np.random.default_rng(0)
    texts, columns = [], []
    for problem in list(winokit.load("open"))[:count]:
        ids = tokenizer.encode(problem.before + problem.candidates[0] + problem.after).ids
        column = int(rng.integers(1, len(ids) - 1))
        ids[column] = mask
        texts.append(ids)
        columns.append(column)
    return texts, columns


def batches(texts: list[list[int]], columns: list[int]):
    """Padded batches, and where the masked token of each row stands."""
    for batch in packed([len(ids) for ids in texts], BUDGET):
        width = max(len(texts[at]) for at in batch)
        ids = np.array([texts[at] + [0] * (width - len(texts[at])) for at in batch])
        mask = np.array([[1] * len(texts[at]) + [0] * (width - len(texts[at])) for at in batch])
        yield ids, mask, np.array([(row, columns[at]) for row, at in enumerate(batch)])


def everywhere(session, ids, mask, positions):
    logits = session.run(["logits"], {"input_ids": ids, "attention_mask": mask})[0]
    return logits[tuple(positions.T)]


def where_read(session, ids, mask, positions):
    return session.run(["logits"], {"input_ids": ids, "attention_mask": mask, "positions": positions})[0]


def compare(old: Path, new: Path, rounds: int, count: int) -> None:
    """Run both graphs in turns and print the ratio of their times."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = usable_threads()
    arms = [
        (run, onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]))
        for run, path in ((everywhere, old), (where_read, new))
    ]
    work = list(batches(*masked_sentences(count)))
    wall, cpu, apart = [0.0, 0.0], [0.0, 0.0], 0.0
    for _ in range(rounds):
        for batch in work:
            logits = []
            for arm, (run, session) in enumerate(arms):
                start, busy = time.perf_counter(), time.process_time()
                logits.append(run(session, *batch))
                wall[arm] += time.perf_counter() - start
                cpu[arm] += time.process_time() - busy
            apart = max(apart, float(np.abs(logits[0] - logits[1]).max()))
    for name, arm in (("logits everywhere", 0), ("where they are read", 1)):
        print(f"{name:20} {wall[arm] / rounds:6.2f} s wall {cpu[arm] / rounds:6.2f} s CPU  {count} sentences")
    print(
        f"ratio {wall[0] / wall[1]:.1f} (wall) {cpu[0] / cpu[1]:.1f} (CPU); largest difference of a logit {apart:.1e}"
    )


def loading(old: Path, new: Path, tries: int) -> None:
    """Load both graphs in fresh processes, in turns."""
    seconds: dict[Path, list[float]] = {old: [], new: []}
    for _ in range(tries):
        for path in (old, new):
            command = [sys.executable, "-c", LOAD, str(path), str(FOLDER / "tokenizer.json")]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            seconds[path].append(float(done.stdout))
    for name, path in (("as trained", old), ("trimmed", new)):
        print(f"loading, {name:11} {min(seconds[path]):6.2f} s, imports included, least of {tries}")


def main() -> None:
    folder = Path(os.environ.get("WINOKIT_MODELS") or Path(__file__).parents[2] / "shared" / "models")
    old = folder / "minilm-mlm" / "model_int8.onnx"
    if not old.exists():
        print("builtin: skipped, the graph as trained is not there; set WINOKIT_MODELS to a folder with minilm-mlm/")
        return
    new = Path(str(FOLDER / "model_int8.onnx"))
    quick = "--quick" in sys.argv
    compare(old, new, 1 if quick else ROUNDS, 40 if quick else 200)
    loading(old, new, 1 if quick else 5)


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
