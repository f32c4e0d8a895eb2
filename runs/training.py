"""What a table trains, through `winokit train`: `python -m runs TABLE --model NAME=SPEC`.

Jobs come from `runs/protocols/pass.toml`. Each is one call of `winokit.train` in a process of its own; what it leaves
is a record. The same command goes on where it was stopped, also inside a job, and does not do twice what has a record.

    OUT/sets.pkl.xz             the prepared datasets
    OUT/records/JOB.json        settings, digests of weights and data, rows, predictions as one character per problem
    OUT/trained/JOB             the folder of `winokit train`, while a job is under way or another one begins with it
    OUT/TABLE.json              the records of a table
"""

from __future__ import annotations

import json
import math
import multiprocessing
import shutil
import socket
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from runs.protocol_jobs import ProtocolJob, jobs_of_table
from runs.store import Record, Store, letters, made_with
from runs.tables import RESULTS, grid, number, short
from winokit.drawing.wording import plural
from winokit.errors import BadInput, WinokitError
from winokit.results import Metric

if TYPE_CHECKING:
    from winokit.problem import Dataset

CPU = "cpu"
REACHED_WITHIN = 5.0
"""Seconds in which the hub has to answer."""
WEIGHTS = ("*.safetensors", "*.bin")
KEPT_METRICS = ("accuracy", "group_accuracy", "expected_accuracy", "abstained")
STEPS_A_SECOND = (11, 25)
"""What stored runs of a 110M encoder did on an NVIDIA H200, several at a time, in batches of 32: slowest, fastest."""
TRY = "try"
"""In a record's settings: why it is no result."""
PAUSE = 0.2


@dataclass(frozen=True)
class Order:
    """What is asked for: the model, where data and results are, and how much may be done."""

    name: str
    """The model's name in tables."""
    spec: str
    data: Path
    out: Path
    sets: Path
    device: str | None = None
    minutes: float | None = None
    at_a_time: int = 1
    only: tuple[str, ...] = ()
    limit: int | None = None
    steps: int | None = None

    @property
    def tried(self) -> str | None:
        """Why records of this order are no results; None if they are."""
        parts = []
        if self.limit is not None:
            parts.append(f"the first {self.limit} problems of every file")
        if self.steps is not None:
            parts.append(f"at most {self.steps} steps")
        return " and ".join(parts) or None

    def jobs(self, table: str) -> list[ProtocolJob]:
        """The jobs of a table that are asked for. Raises BadInput if a prefix names none."""
        jobs = jobs_of_table(table)
        for prefix in self.only:
            if not any(job.name.startswith(prefix) for job in jobs):
                arms = ", ".join(dict.fromkeys(job.arm for job in jobs))
                raise BadInput(f"--only {prefix}: no job of {table} has a name that begins so; it has {arms}")
        if self.only:
            jobs = [job for job in jobs if job.name.startswith(self.only)]
        if self.steps is not None:
            jobs = [replace(job, settings=replace(job.settings, steps=self.steps)) for job in jobs]
        return jobs

    def record_path(self, job: ProtocolJob) -> Path:
        """The file of a job's record."""
        return self.out / "records" / f"{job.file_name}.json"

    def folder(self, job_name: str) -> Path:
        """The folder that `winokit train` writes for a job."""
        return self.out / "trained" / job_name.replace("/", "__")


def run_table(table: str, order: Order) -> int:
    """Run the jobs of a table; 0 if all have a record, 1 if a job failed or could not begin."""
    from winokit.methods.training.settings import need_training

    if order.out.resolve() == RESULTS:
        raise BadInput("runs/results holds what is published; choose another --out for what is trained")
    jobs = order.jobs(table)
    need_training("train")
    check_weights(order.spec)
    if order.device is None and not has_gpu():
        say(cost_of(jobs))
        return 0
    from runs.sets import prepared

    if not order.sets.exists():
        say(f"preparing the datasets of {order.data}: some minutes, once, for {order.sets}")
    sets = prepared(order.sets, order.data, order.limit)
    for job in jobs:
        check_record(job, order, sets.data)
    unready = run_jobs(jobs, order)
    store = Store(order.out / f"{table}.json")
    finished = [job for job in jobs if order.record_path(job).exists()]
    if finished:
        store.put(*(Store(order.record_path(job))[job.name] for job in finished))
        say(f"\n{show_runs(store)}\n\n{store.path}")
    for name, why in unready.items():
        say(f"{name}: {why}")
    say(f"{len(finished)} of {plural(len(jobs), 'job')} done")
    return 1 if unready else 0


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def has_gpu() -> bool:
    """Whether there is a device that trains a large encoder in reasonable time."""
    import torch

    return bool(torch.cuda.is_available())


def cost_of(jobs: Sequence[ProtocolJob]) -> str:
    """What the jobs would take."""
    steps = sum(map(steps_of, jobs))
    fast, slow = hours_of(steps)
    took = f"{number(fast)} to {number(slow)} hours for an encoder of 110M weights on an NVIDIA H200"
    way_out = "There is no GPU here: add --device cpu to train all the same, --steps and --limit to try"
    return f"{plural(len(jobs), 'job')}, {steps:,} steps; about {took}. {way_out}."


def hours_of(steps: int) -> tuple[float, float]:
    """How long steps take, at the fastest and at the slowest."""
    slow, fast = (steps / speed / 3600 for speed in STEPS_A_SECOND)
    return fast, slow


def steps_of(job: ProtocolJob) -> int:
    """How many steps a job has."""
    whole = job.settings.epochs * math.ceil(job.problems / job.settings.batch_size)
    return min(whole, job.settings.steps or whole)


def check_weights(spec_text: str) -> None:
    """Refuse a model that cannot be trained or is not there, in seconds. Raises BadInput."""
    from winokit.models.registry import Spec

    spec = Spec.parse(spec_text)
    if spec.prefix == "builtin":
        return
    if spec.prefix != "hf":
        raise BadInput(f"{spec_text}: cannot be trained; expected builtin or hf:NAME_OR_FOLDER")
    folder = Path(spec.place).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file() or not any(any(folder.glob(name)) for name in WEIGHTS):
            raise BadInput(f"{folder}: no model; expected a folder with config.json and weights")
    elif folder.is_absolute() or spec.place.startswith((".", "~")) or spec.place.count("/") > 1:
        raise BadInput(f"{spec.place}: no such folder; give a folder with a model, or a name of the hub")
    elif not is_cached(spec.place):
        check_hub(spec.place)


def is_cached(name: str) -> bool:
    """Whether a model of the hub has been downloaded before."""
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(name, "config.json"), str)


def check_hub(name: str) -> None:
    """Raises BadInput if the hub does not answer within some seconds."""
    from huggingface_hub import constants

    address = urlsplit(constants.ENDPOINT)
    port = address.port or (80 if address.scheme == "http" else 443)
    try:
        socket.create_connection((str(address.hostname), port), timeout=REACHED_WITHIN).close()
    except OSError as error:
        why = error.strerror or error
        raise BadInput(f"{name}: no such folder, and {address.hostname} cannot be reached ({why})") from None


def identity_of(job: ProtocolJob, order: Order, data: Mapping[str, Dataset]) -> dict[str, Any]:
    """What a record is known by: settings, digest of weights, digests of data."""
    from winokit.methods.training.finetune import model_identity

    settings = job.settings.identity()
    settings |= {"model": short(order.spec), "weights": model_identity(order.spec)["model_content"]}
    settings |= {"train": job.train, "train_data": dataset_of(job.train, data).content_hash, "after": job.after}
    settings |= {"test_data": {name: dataset_of(name, data).content_hash for name in tested_sets(job)}}
    return {**settings, TRY: order.tried}


def tested_sets(job: ProtocolJob) -> tuple[str, ...]:
    """The sets that a record has predictions of."""
    return job.tests if job.dev is None else (job.dev, *job.tests)


def check_record(job: ProtocolJob, order: Order, data: Mapping[str, Dataset]) -> None:
    """Refuse a record of the same job with other settings, weights or data. Raises BadInput."""
    path = order.record_path(job)
    if not path.exists():
        return
    now = json.loads(json.dumps(identity_of(job, order, data)))
    before = Store(path)[job.name].settings
    for name, value in now.items():
        if before.get(name) != value:
            values = f"{str(before.get(name))[:40]}, now {str(value)[:40]}"
            raise BadInput(f"{path}: a record of {job.name} with another {name} ({values}); choose another --out")


def dataset_of(name: str, data: Mapping[str, Dataset]) -> Dataset:
    """A prepared set under its short name, or one that is drawn. Raises BadInput if there is none."""
    from runs.sets import LIKE_DEBIASED, drawn_like, renamed

    if name.startswith(LIKE_DEBIASED):
        drawn = drawn_like(data["train:xl"], data["train:debiased"], int(name.removeprefix(LIKE_DEBIASED)))
        return renamed(drawn, name)
    if name not in data:
        raise BadInput(f"{name}: not among the prepared datasets; more problems are needed (--limit), or a new --sets")
    return renamed(data[name], name)


def run_jobs(jobs: Iterable[ProtocolJob], order: Order) -> dict[str, str]:
    """Run jobs in order, some at a time; why each that failed, or cannot begin, has no record.

    What the minutes did not suffice for is not in it: the same command goes on.
    """
    context = multiprocessing.get_context("spawn")
    over = math.inf if order.minutes is None else time.monotonic() + 60 * order.minutes
    left = [job for job in jobs if not order.record_path(job).exists()]
    running: dict[Any, ProtocolJob] = {}
    failed: dict[str, str] = {}
    say(f"{plural(len(left), 'job')} to do, {order.at_a_time} at a time")
    while left or running:
        for process in [process for process in running if not process.is_alive()]:
            job = running.pop(process)
            if not order.record_path(job).exists():
                failed[job.name] = f"failed (exit code {process.exitcode}); the message is above"
        if time.monotonic() > over:
            stop(running)
            say(f"the minutes are over; {plural(len(left) + len(running), 'job')} left for the next time")
            return failed
        ready = [job for job in left if waits_for(job, order) is None]
        if not running and not ready:
            break
        if ready and len(running) < order.at_a_time:
            left.remove(ready[0])
            process = context.Process(target=work, args=(ready[0], order), daemon=True)
            process.start()
            running[process] = ready[0]
        else:
            time.sleep(PAUSE)
    return failed | {job.name: f"not begun: waits for {waits_for(job, order)}" for job in left}


def stop(running: Iterable[Any]) -> None:
    """End jobs under way; what they had learned by their last checkpoint stays."""
    for process in running:
        process.terminate()
    for process in running:
        process.join()


def waits_for(job: ProtocolJob, order: Order) -> str | None:
    """What a job needs before it can begin; None if it can begin."""
    if job.after is None or (order.folder(job.after) / "config.json").is_file():
        return None
    return f"the weights of {job.after}"


def work(job: ProtocolJob, order: Order) -> None:
    """A process of its own: train, and write the record. Exits with 2 if the job is refused."""
    from runs.sets import prepared

    began = time.monotonic()
    try:
        record = trained(job, order, prepared(order.sets, order.data, order.limit).data)
    except (WinokitError, OSError) as error:
        sys.stderr.write(f"runs: {job.name}: {error}\n")
        raise SystemExit(2) from None
    Store(order.record_path(job)).put(replace(record, seconds=time.monotonic() - began))
    if not any(other.after == job.name for other in jobs_of_table(job.table)):
        shutil.rmtree(order.folder(job.name))  # the weights of a run are large, and no other job begins with these
    shown = ", ".join(f"{row.dataset} {100 * row.value:.1f}" for row in record.rows if row.metric == "accuracy")
    say(f"{job.name}: {number(time.monotonic() - began, 0)} s: {shown}")


def trained(job: ProtocolJob, order: Order, data: Mapping[str, Dataset]) -> Record:
    """Train and test as a job says, through `winokit.train`."""
    import winokit
    from winokit.methods.training.finetune import DEV

    model = order.spec if job.after is None else f"hf:{order.folder(job.after)}"
    train = dataset_of(job.train, data)
    tests = [dataset_of(name, data) for name in job.tests]
    folder = order.folder(job.name)
    dev = None if job.dev is None else dataset_of(job.dev, data)
    outcome = winokit.train(
        train,
        model=model,
        settings=job.settings,
        dev=dev,
        test=tests,
        out=folder,
        device=order.device,
        drop_overlap=True,
    )
    made = {
        name: (test.card.file_name, outcome.on(test.card.name)) for name, test in zip(job.tests, tests, strict=True)
    }
    if job.dev is not None:
        made[job.dev] = (DEV, [row for row in outcome.metrics if row.subset == DEV])
    predictions = {}
    rows: list[Metric] = []
    for name, (file_name, own_rows) in made.items():
        lines = (folder / "predictions" / f"{file_name}.jsonl").read_text("utf-8").splitlines()
        predictions[name] = letters(json.loads(line)["prediction"] for line in lines)
        rows += [renamed_row(row, name) for row in own_rows if row.metric in KEPT_METRICS]
    settings = {
        **identity_of(job, order, data),
        "problems": len(train),
        "dropped": outcome.run["dropped"],
        "steps_taken": outcome.curve["steps"],
    }
    machine = machine_name(order.device)
    return Record(job.name, settings, tuple(rows), predictions, made_with=made_with("torch", machine=machine))


def machine_name(device: str | None) -> str:
    """The device that training runs on, in words."""
    import torch

    if device == CPU or not torch.cuda.is_available():
        return "CPU"
    return str(torch.cuda.get_device_name())


def renamed_row(row: Metric, name: str) -> Metric:
    """A row of a test set under the name that tables have."""
    return Metric.from_json({**row.to_json(), "dataset": name, "model": "", "subset": "all"})


def show_runs(store: Store) -> str:
    """Single problems and pairs by arm and test, mean and deviation over seeds."""
    from runs.trained import mean_sd

    arms: dict[str, list[Record]] = {}
    for record in store.records.values():
        arms.setdefault(record.key.rpartition("/")[0], []).append(record)
    lines = []
    for arm, records in arms.items():
        for test in dict.fromkeys(row.dataset for record in records for row in record.rows):
            cells = [mean_sd(rows_of(records, test, metric)) for metric in ("accuracy", "group_accuracy")]
            lines.append((arm, len(records), test, *cells))
    tried = {str(record.settings[TRY]) for record in store.records.values() if record.settings.get(TRY)}
    table = grid(["trained", "seeds", "test", "single", "pairs"], lines)
    return f"{table}\n\nA try, not a result: {'; '.join(sorted(tried))}." if tried else table


def rows_of(records: Iterable[Record], test: str, metric: str) -> Iterator[Metric]:
    """One metric of a test set in every record that has it."""
    for record in records:
        yield from (row for row in record.rows if row.dataset == test and row.metric == metric)
