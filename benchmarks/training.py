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
import os
import tempfile
import time
import warnings
from dataclasses import replace
from functools import partial
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
from winokit.problem import Dataset

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


def settled() -> float:
    """The time, once the device has done what it was told."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def ours(folder: Path, train: Dataset, dev: Dataset, settings: TrainSettings) -> tuple[float, int, float, float]:
    """Seconds, problems, accuracy and padding of winokit."""
    network = load_network(f"hf:{folder}", Formalization.parse(settings.formalization), seed=settings.seed)
    examples, _ = training_examples(train, network)
    torch.manual_seed(settings.seed)
    start = settled()
    learner = Learner(network, examples, None, settings)
    learner.learn(folder, {})
    seconds = settled() - start
    taken = sum(len(batch) for _, step in learner.steps for batch in step)
    predictions = Evaluation(dev, network, "original").predictions(network)
    right = sum(p.prediction == problem.answer for p, problem in zip(predictions, dev, strict=True))
    return seconds, taken, right / len(dev), padding(examples, epoch_steps(examples, settings, 0))


class Guessing(torch.nn.Module):
    """A masked language model as a multiple-choice model: one masked text an option, logits everywhere."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, hidden, labels):
        shape = hidden.shape
        logits = self.model(input_ids=input_ids.flatten(0, 1), attention_mask=attention_mask.flatten(0, 1)).logits
        wanted = hidden.flatten(0, 1)
        scores = logits.float().log_softmax(-1).gather(-1, wanted.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        numbers = ((scores * (wanted >= 0)).sum(-1) / (wanted >= 0).sum(-1)).view(shape[:2])
        return {"loss": torch.nn.functional.cross_entropy(numbers, labels), "logits": numbers}


def rows_of(dataset: Dataset, folder: Path, name: str) -> list[dict]:
    """A dataset as Trainer gets it: two texts a problem, tokenised."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    if name == "mc-sent":
        texts = [(p.before, f"{option} {p.after.strip()}") for p in dataset for option in p.candidates]
        read = tokenizer([first for first, _ in texts], [second for _, second in texts])
        columns = {key: [value[at : at + 2] for at in range(0, len(texts), 2)] for key, value in read.items()}
    else:
        formalization = Formalization.parse(name)
        reader = load_network(f"hf:{folder}", formalization, device="cpu").reader
        columns = {"input_ids": [], "attention_mask": [], "hidden": []}
        for example in encode(cases(dataset, formalization), formalization, reader):
            ids = [list(example.rows[option.row].ids) for option in example.options]
            hidden = [[-1] * len(row) for row in ids]
            for option, row in zip(example.options, hidden, strict=True):
                for place, token in zip(option.places[0], option.tokens, strict=True):
                    row[place] = token
            columns["input_ids"].append(ids)
            columns["attention_mask"].append([[1] * len(row) for row in ids])
            columns["hidden"].append(hidden)
    lengths = [max(map(len, ids)) for ids in columns["input_ids"]]
    return [
        {**{key: value[at] for key, value in columns.items()}, "labels": problem.answer, "length": lengths[at]}
        for at, problem in enumerate(dataset)
    ]


def collator(pad: int):
    """Fill a batch up to its longest text."""
    fill = {"input_ids": pad, "hidden": -1}

    def collate(rows: list[dict]) -> dict[str, torch.Tensor]:
        longest = max(len(ids) for row in rows for ids in row["input_ids"])
        batch = {"labels": torch.tensor([row["labels"] for row in rows])}
        for key in rows[0].keys() - {"labels", "length"}:
            filled = [[[*cells, *[fill.get(key, 0)] * (longest - len(cells))] for cells in row[key]] for row in rows]
            batch[key] = torch.tensor(filled)
        return batch

    return collate


def theirs(folder: Path, train: list[dict], dev: list[dict], settings: TrainSettings, how: argparse.Namespace):
    """Seconds, problems, accuracy and padding of transformers.Trainer."""
    transformers.set_seed(settings.seed)
    if settings.formalization == "mc-sent":
        model = transformers.AutoModelForMultipleChoice.from_pretrained(folder)
    else:
        model = Guessing(transformers.AutoModelForMaskedLM.from_pretrained(folder))
    steps = settings.steps or settings.epochs * -(-len(train) // settings.batch_size)
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
        dataloader_num_workers=how.workers,
        seed=settings.seed,
        **({"train_sampling_strategy": "group_by_length"} if how.grouped else {}),
        use_cpu=not torch.cuda.is_available(),
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    trainer = transformers.Trainer(model, arguments, collator(tokenizer.pad_token_id or 0), train_dataset=train)
    trainer.remove_callback(transformers.PrinterCallback)
    start = settled()
    trainer.train()
    seconds = settled() - start
    guessed = trainer.predict(dev).predictions.argmax(-1)
    right = np.mean([guess == row["labels"] for guess, row in zip(guessed, dev, strict=True)])
    return (
        seconds,
        min(steps * settings.batch_size, settings.epochs * len(train)),
        float(right),
        shuffled_padding(train, settings),
    )


def padding(examples: list[Encoded], steps: list[list[list[int]]]) -> float:
    """The share of padding among all tokens that are read."""
    read = sum(
        sum(len(examples[index].rows) for index in batch) * max(examples[index].longest for index in batch)
        for step in steps
        for batch in step
    )
    own = sum(len(row.ids) for step in steps for batch in step for index in batch for row in examples[index].rows)
    return 1 - own / read


def shuffled_padding(rows: list[dict], settings: TrainSettings) -> float:
    """The share of padding in batches of a random order."""
    order = np.random.default_rng(0).permutation(len(rows))
    own = read = 0
    for at in range(0, len(order), settings.batch_size):
        lengths = [len(ids) for index in order[at : at + settings.batch_size] for ids in rows[index]["input_ids"]]
        own, read = own + sum(lengths), read + max(lengths) * len(lengths)
    return 1 - own / read


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
    how = parser.parse_args()
    if how.quick:
        how.limit, how.steps, how.rounds = 64, 4, 1
    if not Path(how.train).exists():
        print(f"training: skipped, {Path(how.train).name} is not there; set WINOKIT_DATA or name the files")
        return
    train, dev = load(how.train)[: how.limit], load(how.dev)[: how.limit]
    settings = TrainSettings(
        how.formalization,
        learning_rate=how.learning_rate,
        epochs=how.epochs,
        steps=how.steps,
        batch_size=how.batch_size,
        checkpoint_every=0,
    )
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(place)
        if how.model == "builtin":
            torch_model().save_pretrained(folder)
            torch_tokenizer().save_pretrained(folder)
        else:
            folder = Path(how.model.removeprefix("hf:"))
        theirs_train, theirs_dev = (rows_of(part, folder, how.formalization) for part in (train, dev))
        by_arm: dict[str, list[tuple[float, int, float, float]]] = {"winokit": [], "Trainer": []}
        for number in range(how.rounds + 1):
            own = replace(settings, seed=number)
            arms = {
                "winokit": partial(ours, folder, train, dev, own),
                "Trainer": partial(theirs, folder, theirs_train, theirs_dev, own, how),
            }
            for name, arm in arms.items():
                measured = arm()
                if number or not how.rounds:
                    by_arm[name].append(measured)
    where = torch.cuda.get_device_name() if torch.cuda.is_available() else f"CPU, {torch.get_num_threads()} threads"
    print(f"{how.formalization}, {how.model}, batches of {how.batch_size}, {where}, {how.rounds} rounds")
    speeds = {name: [taken / seconds for seconds, taken, _, _ in rows] for name, rows in by_arm.items()}
    for name, rows in by_arm.items():
        accuracies = ", ".join(f"{accuracy:.1%}" for _, _, accuracy, _ in rows)
        spread = f"{min(speeds[name]):,.1f} to {max(speeds[name]):,.1f}"
        print(
            f"{name:8} {median(speeds[name]):10,.1f} problems a second ({spread}), "
            f"{rows[0][3]:.1%} padding, dev {accuracies}"
        )
    print(f"ratio    {median(speeds['winokit']) / median(speeds['Trainer']):10.2f}")


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
