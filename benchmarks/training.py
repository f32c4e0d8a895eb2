"""Fine-tuning throughput and accuracy against transformers.Trainer: same model, data, batches and precision, one run.

python benchmarks/training.py [--model hf:DIR] [--formalization mc-sent] [--train train_m.jsonl] [--dev dev.jsonl]
                              [--epochs 1] [--steps N] [--batch-size 16] [--rounds 3] [--workers 0] [--grouped]
                              [--quick]

mc-sent is compared with AutoModelForMultipleChoice, as in transformers' own examples: text pairs, batches filled up to
their longest. mc-mlm is compared with AutoModelForMaskedLM, one masked text an option. Arms take turns, `--rounds`
times after one round that does not count; every round has a seed of its own, so that accuracies show their noise.
Tokenising is not timed. `--grouped` lets Trainer sort by length too.
"""

import argparse
import math
import os
import tempfile
import time
import warnings
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from statistics import median

import numpy as np
import torch
import transformers

from winokit.data.loading import load
from winokit.methods.formalizations.base import Formalization
from winokit.methods.formalizations.cases import cases
from winokit.methods.formalizations.inputs import Encoded, encode
from winokit.methods.formalizations.network import load_network
from winokit.methods.training.evaluation import Evaluation
from winokit.methods.training.finetune import training_examples
from winokit.methods.training.learner import Learner, epoch_steps
from winokit.methods.training.settings import TrainSettings
from winokit.models.builtin_torch import torch_model, torch_tokenizer
from winokit.problem import Dataset, Problem

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


@dataclass(frozen=True)
class Training:
    """Measurements of one training run."""

    seconds: float
    problems: int
    """Problems taken in all steps."""
    accuracy: float
    padding: float
    """Share of padding among all tokens that were read."""

    @property
    def speed(self) -> float:
        """Problems a second."""
        return self.problems / self.seconds


def time_when_idle() -> float:
    """The time in seconds, once the device has finished all its work."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def train_ours(folder: Path, train: Dataset, dev: Dataset, settings: TrainSettings) -> Training:
    """Train with winokit, timed, and measure the accuracy on `dev`."""
    network = load_network(f"hf:{folder}", Formalization.parse(settings.formalization), seed=settings.seed)
    examples, _ = training_examples(train, network)
    torch.manual_seed(settings.seed)
    start = time_when_idle()
    learner = Learner(network, examples, None, settings)
    learner.learn(folder, {})
    seconds = time_when_idle() - start
    problem_count = 0
    for _, step in learner.steps:
        problem_count += sum(map(len, step))
    predictions = Evaluation(dev, network, "original").predictions(network)
    is_right = [p.prediction == problem.answer for p, problem in zip(predictions, dev, strict=True)]
    steps = epoch_steps(examples, settings, 0)
    return Training(seconds, problem_count, sum(is_right) / len(dev), padding(examples, steps))


class Guessing(torch.nn.Module):
    """A masked language model as a multiple-choice model: one masked text an option, logits everywhere."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, hidden, labels):
        output = self.model(input_ids=input_ids.flatten(0, 1), attention_mask=attention_mask.flatten(0, 1))
        logprobs = output.logits.float().log_softmax(-1)
        tokens = hidden.flatten(0, 1)
        is_hidden = tokens >= 0
        token_logprobs = logprobs.gather(-1, tokens.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        mean_logprobs = (token_logprobs * is_hidden).sum(-1) / is_hidden.sum(-1)
        scores = mean_logprobs.view(hidden.shape[:2])
        return {"loss": torch.nn.functional.cross_entropy(scores, labels), "logits": scores}


def rows_of(dataset: Dataset, folder: Path, name: str) -> list[dict]:
    """Encode a dataset for Trainer, a row per problem, with two tokenised texts each.

    `name` is that of a formalization, "mc-sent" or "mc-mlm".
    """
    if name == "mc-sent":
        rows = [encode_text_pairs(problem, folder) for problem in dataset]
    else:
        rows = encode_masked_texts(dataset, folder, name)
    for row, problem in zip(rows, dataset, strict=True):
        row["labels"] = problem.answer
        row["length"] = max(map(len, row["input_ids"]))
    return rows


def encode_text_pairs(problem: Problem, folder: Path) -> dict:
    """Columns of one problem as text pairs, of which the blank begins the second text."""
    seconds = [f"{candidate} {problem.after.strip()}" for candidate in problem.candidates]
    firsts = [problem.before] * len(seconds)
    return dict(load_tokenizer(folder)(firsts, seconds))


@lru_cache
def load_tokenizer(folder: Path) -> transformers.PreTrainedTokenizerBase:
    """Load the tokenizer of a folder, once."""
    return transformers.AutoTokenizer.from_pretrained(folder)


def encode_masked_texts(dataset: Dataset, folder: Path, name: str) -> list[dict]:
    """Columns of each problem as masked texts, with the hidden tokens at their places and -1 elsewhere."""
    formalization = Formalization.parse(name)
    reader = load_network(f"hf:{folder}", formalization, device="cpu").reader
    rows = []
    for example in encode(cases(dataset, formalization), formalization, reader):
        row = {"input_ids": [], "attention_mask": [], "hidden": []}
        for option in example.options:
            ids = list(example.rows[option.row].ids)
            hidden = [-1] * len(ids)
            for place, token in zip(option.places[0], option.tokens, strict=True):
                hidden[place] = token
            row["input_ids"].append(ids)
            row["attention_mask"].append([1] * len(ids))
            row["hidden"].append(hidden)
        rows.append(row)
    return rows


def collator(pad: int):
    """Return a function that makes a batch of rows, each text filled up to the longest."""
    fillers = {"input_ids": pad, "hidden": -1}

    def fill_texts(texts: list[list[int]], filler: int, length: int) -> list[list[int]]:
        return [text + [filler] * (length - len(text)) for text in texts]

    def collate(rows: list[dict]) -> dict[str, torch.Tensor]:
        longest = max(max(map(len, row["input_ids"])) for row in rows)
        batch = {"labels": torch.tensor([row["labels"] for row in rows])}
        for key in rows[0].keys() - {"labels", "length"}:
            filler = fillers.get(key, 0)
            batch[key] = torch.tensor([fill_texts(row[key], filler, longest) for row in rows])
        return batch

    return collate


def train_theirs(
    folder: Path, train: list[dict], dev: list[dict], settings: TrainSettings, options: argparse.Namespace
) -> Training:
    """Train with transformers.Trainer, timed, and measure the accuracy on `dev`."""
    transformers.set_seed(settings.seed)
    if settings.formalization == "mc-sent":
        model = transformers.AutoModelForMultipleChoice.from_pretrained(folder)
    else:
        model = Guessing(transformers.AutoModelForMaskedLM.from_pretrained(folder))
    steps = settings.steps or settings.epochs * math.ceil(len(train) / settings.batch_size)
    sampling = {"train_sampling_strategy": "group_by_length"} if options.grouped else {}
    arguments = transformers.TrainingArguments(
        output_dir=str(folder / "trainer"),
        max_steps=steps,
        per_device_train_batch_size=settings.batch_size,
        per_device_eval_batch_size=64,
        learning_rate=settings.learning_rate,
        warmup_steps=int(settings.warmup * steps),
        bf16=torch.cuda.is_available(),
        save_strategy="no",
        logging_steps=50,
        disable_tqdm=True,
        report_to=[],
        remove_unused_columns=False,
        label_names=["labels"],
        dataloader_num_workers=options.workers,
        seed=settings.seed,
        **sampling,
        use_cpu=not torch.cuda.is_available(),
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    trainer = transformers.Trainer(model, arguments, collator(tokenizer.pad_token_id or 0), train_dataset=train)
    trainer.remove_callback(transformers.PrinterCallback)
    start = time_when_idle()
    trainer.train()
    seconds = time_when_idle() - start
    choices = trainer.predict(dev).predictions.argmax(-1)
    accuracy = float(np.mean(choices == [row["labels"] for row in dev]))
    problem_count = min(steps * settings.batch_size, settings.epochs * len(train))
    return Training(seconds, problem_count, accuracy, shuffled_padding(train, settings))


def padding(examples: list[Encoded], steps: list[list[list[int]]]) -> float:
    """Share of padding among all tokens that are read.

    Each step is a list of batches, each batch a list of indices of examples.
    """
    batch_lengths = []
    for step in steps:
        for batch in step:
            rows = chain.from_iterable(examples[index].rows for index in batch)
            batch_lengths.append([len(row.ids) for row in rows])
    return share_of_padding(batch_lengths)


def shuffled_padding(rows: list[dict], settings: TrainSettings) -> float:
    """Share of padding in batches of a random order."""
    order = np.random.default_rng(0).permutation(len(rows))
    batch_lengths = []
    for start in range(0, len(order), settings.batch_size):
        batch = order[start : start + settings.batch_size]
        texts = chain.from_iterable(rows[index]["input_ids"] for index in batch)
        batch_lengths.append([len(ids) for ids in texts])
    return share_of_padding(batch_lengths)


def share_of_padding(batch_lengths: list[list[int]]) -> float:
    """Share of padding if the texts of each batch, given by their lengths, are filled up to its longest."""
    token_count = sum(map(sum, batch_lengths))
    read_count = sum(max(lengths) * len(lengths) for lengths in batch_lengths)
    return 1 - token_count / read_count


def main() -> None:
    data = Path(os.environ.get("WINOKIT_DATA") or Path(__file__).parents[2] / "shared" / "data") / "winogrande"
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="builtin")
    parser.add_argument("--formalization", default="mc-sent", choices=("mc-sent", "mc-mlm"))
    parser.add_argument("--train", default=str(data / "train_m.jsonl"))
    parser.add_argument("--dev", default=str(data / "dev.jsonl"))
    parser.add_argument("--limit", type=int)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--learning-rate", type=float, default=1e-5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--grouped", action="store_true")
    parser.add_argument("--quick", action="store_true", help="4 steps on 64 problems, one round")
    options = parser.parse_args()
    if options.quick:
        options.limit = 64
        options.steps = 4
        options.rounds = 1
    if not Path(options.train).exists():
        print(f"training: skipped, {Path(options.train).name} is not there; set WINOKIT_DATA or name the files")
        return
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainings = run_rounds(options, Path(place))
    report(options, trainings)


def run_rounds(options: argparse.Namespace, folder: Path) -> dict[str, list[Training]]:
    """Train with each arm in turns, and return the trainings by arm, without those of the first round."""
    train = load(options.train)[: options.limit]
    dev = load(options.dev)[: options.limit]
    settings = TrainSettings(
        options.formalization,
        learning_rate=options.learning_rate,
        epochs=options.epochs,
        steps=options.steps,
        batch_size=options.batch_size,
        checkpoint_every=0,
    )
    if options.model == "builtin":
        torch_model().save_pretrained(folder)
        torch_tokenizer().save_pretrained(folder)
    else:
        folder = Path(options.model.removeprefix("hf:"))
    train_rows = rows_of(train, folder, options.formalization)
    dev_rows = rows_of(dev, folder, options.formalization)
    trainings: dict[str, list[Training]] = {"winokit": [], "Trainer": []}
    for number in range(options.rounds + 1):
        round_settings = replace(settings, seed=number)
        our_training = train_ours(folder, train, dev, round_settings)
        their_training = train_theirs(folder, train_rows, dev_rows, round_settings, options)
        if number or not options.rounds:
            trainings["winokit"].append(our_training)
            trainings["Trainer"].append(their_training)
    return trainings


def report(options: argparse.Namespace, trainings: dict[str, list[Training]]) -> None:
    """Print a line per arm, and the ratio of the median speeds."""
    where = torch.cuda.get_device_name() if torch.cuda.is_available() else f"CPU, {torch.get_num_threads()} threads"
    print(
        f"{options.formalization}, {options.model}, batches of {options.batch_size}, {where}, {options.rounds} rounds"
    )
    medians = {}
    for name, of_arm in trainings.items():
        speeds = [training.speed for training in of_arm]
        medians[name] = median(speeds)
        accuracies = ", ".join(f"{training.accuracy:.1%}" for training in of_arm)
        spread = f"{min(speeds):,.1f} to {max(speeds):,.1f}"
        padding_and_accuracy = f"{of_arm[0].padding:.1%} padding, dev {accuracies}"
        print(f"{name:8} {medians[name]:10,.1f} problems a second ({spread}), {padding_and_accuracy}")
    print(f"ratio    {medians['winokit'] / medians['Trainer']:10.2f}")


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
