"""Training of a table's models, through `winokit train`: `python -m runs TABLE --model NAME=SPEC`.

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
"""Steps a second of stored runs of a 110M encoder on an NVIDIA H200, in batches of 32: slowest, fastest."""
TRY = "try"
"""The setting of a record that says why it is no result."""
PAUSE = 0.2
"""Seconds between looks at running jobs."""


@dataclass(frozen=True)
class Order:
    """Options of one command: the model, the folders of data and results, and how much may be done."""

    name: str
    """The model's name in tables."""
    spec: str
    data: Path
    """The folder of the datasets."""
    out: Path
    """The folder of the results."""
    sets: Path
    """The file of the prepared datasets."""
    device: str | None = None
    minutes: float | None = None
    """Time after which jobs are stopped; None: no limit."""
    at_a_time: int = 1
    only: tuple[str, ...] = ()
    """Prefixes of the names of jobs to run; none: all jobs."""
    limit: int | None = None
    steps: int | None = None

    @property
    def tried(self) -> str | None:
        """Reason why records of this order are no results, or None if they are."""
        parts = []
        if self.limit is not None:
            parts.append(f"the first {self.limit} problems of every file")
        if self.steps is not None:
            parts.append(f"at most {self.steps} steps")
        return " and ".join(parts) or None

    def jobs(self, table: str) -> list[ProtocolJob]:
        """Select the jobs of a table by the prefixes of `only`. Raises BadInput if a prefix names no job."""
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
        """File of a job's record."""
        return self.out / "records" / f"{job.file_name}.json"

    def folder(self, job_name: str) -> Path:
        """Folder that `winokit train` writes for a job."""
        return self.out / "trained" / job_name.replace("/", "__")


def run_table(table: str, order: Order) -> int:
    """Run the jobs of a table, and return the exit code: 1 if a job failed or could not begin.

    Without a GPU and --device, only the cost is printed. The table's records are written to OUT/TABLE.json.
    """
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
    """Print a line without delay."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def has_gpu() -> bool:
    """Whether there is a CUDA device, which trains a large encoder in reasonable time."""
    import torch

    return bool(torch.cuda.is_available())


def cost_of(jobs: Sequence[ProtocolJob]) -> str:
    """Say how many steps and hours the jobs take, and how to train without a GPU."""
    steps = sum(map(steps_of, jobs))
    fast, slow = hours_of(steps)
    hours = f"{number(fast)} to {number(slow)} hours for an encoder of 110M weights on an NVIDIA H200"
    way_out = "There is no GPU here: add --device cpu to train all the same, --steps and --limit to try"
    return f"{plural(len(jobs), 'job')}, {steps:,} steps; about {hours}. {way_out}."


def hours_of(steps: int) -> tuple[float, float]:
    """Hours that a number of steps takes, at the fastest and at the slowest."""
    slow, fast = (steps / speed / 3600 for speed in STEPS_A_SECOND)
    return fast, slow


def steps_of(job: ProtocolJob) -> int:
    """Number of training steps of a job."""
    batches_per_epoch = math.ceil(job.problems / job.settings.batch_size)
    all_epochs = job.settings.epochs * batches_per_epoch
    return min(all_epochs, job.settings.steps or all_epochs)


def check_weights(spec_text: str) -> None:
    """Refuse a model that cannot be trained or does not exist, before anything is read. Raises BadInput."""
    from winokit.models.registry import Spec

    spec = Spec.parse(spec_text)
    if spec.prefix == "builtin":
        return
    if spec.prefix != "hf":
        raise BadInput(f"{spec_text}: cannot be trained; expected builtin or hf:NAME_OR_FOLDER")
    folder = Path(spec.place).expanduser()
    is_path = folder.is_absolute() or spec.place.startswith((".", "~")) or spec.place.count("/") > 1
    if folder.is_dir():
        has_weights = any(any(folder.glob(pattern)) for pattern in WEIGHTS)
        if not (folder / "config.json").is_file() or not has_weights:
            raise BadInput(f"{folder}: no model; expected a folder with config.json and weights")
    elif is_path:
        raise BadInput(f"{spec.place}: no such folder; give a folder with a model, or a name of the hub")
    elif not is_cached(spec.place):
        check_hub(spec.place)


def is_cached(name: str) -> bool:
    """Whether a model of the hub has been downloaded before."""
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(name, "config.json"), str)


def check_hub(name: str) -> None:
    """Try to reach the hub. Raises BadInput if it does not answer within `REACHED_WITHIN` seconds."""
    from huggingface_hub import constants

    address = urlsplit(constants.ENDPOINT)
    default_port = 80 if address.scheme == "http" else 443
    port = address.port or default_port
    try:
        socket.create_connection((str(address.hostname), port), timeout=REACHED_WITHIN).close()
    except OSError as error:
        reason = error.strerror or error
        raise BadInput(f"{name}: no such folder, and {address.hostname} cannot be reached ({reason})") from None


def identity_of(job: ProtocolJob, order: Order, data: Mapping[str, Dataset]) -> dict[str, Any]:
    """Settings that identify a record: those of the training, digests of weights and data, and why it is a try."""
    from winokit.methods.training.finetune import model_identity

    settings = job.settings.identity()
    settings |= {"model": short(order.spec), "weights": model_identity(order.spec)["model_content"]}
    settings |= {"train": job.train, "train_data": dataset_of(job.train, data).content_hash, "after": job.after}
    settings |= {"test_data": {name: dataset_of(name, data).content_hash for name in tested_sets(job)}}
    return {**settings, TRY: order.tried}


def tested_sets(job: ProtocolJob) -> tuple[str, ...]:
    """Names of the sets that a record has predictions of."""
    return job.tests if job.dev is None else (job.dev, *job.tests)


def check_record(job: ProtocolJob, order: Order, data: Mapping[str, Dataset]) -> None:
    """Refuse a record of the same job with other settings, weights or data. Raises BadInput."""
    path = order.record_path(job)
    if not path.exists():
        return
    settings = json.loads(json.dumps(identity_of(job, order, data)))
    stored_settings = Store(path)[job.name].settings
    for name, value in settings.items():
        stored_value = stored_settings.get(name)
        if stored_value != value:
            values = f"{str(stored_value)[:40]}, now {str(value)[:40]}"
            raise BadInput(f"{path}: a record of {job.name} with another {name} ({values}); choose another --out")


def dataset_of(name: str, data: Mapping[str, Dataset]) -> Dataset:
    """Return a prepared set under its short name, or draw one. Raises BadInput if there is none."""
    from runs.sets import LIKE_DEBIASED, drawn_like, renamed

    if name.startswith(LIKE_DEBIASED):
        random_subset = drawn_like(data["train:xl"], data["train:debiased"], int(name.removeprefix(LIKE_DEBIASED)))
        return renamed(random_subset, name)
    if name not in data:
        raise BadInput(f"{name}: not among the prepared datasets; more problems are needed (--limit), or a new --sets")
    return renamed(data[name], name)


def run_jobs(jobs: Iterable[ProtocolJob], order: Order) -> dict[str, str]:
    """Run jobs in order, some at a time, and return why jobs failed or could not begin, by the job's name.

    Jobs that the minutes did not suffice for are not in it: the same command goes on with them.
    """
    context = multiprocessing.get_context("spawn")
    deadline = math.inf if order.minutes is None else time.monotonic() + 60 * order.minutes
    waiting = [job for job in jobs if not order.record_path(job).exists()]
    running: dict[Any, ProtocolJob] = {}
    failed: dict[str, str] = {}
    say(f"{plural(len(waiting), 'job')} to do, {order.at_a_time} at a time")
    while waiting or running:
        failed |= remove_ended(running, order)
        if time.monotonic() > deadline:
            stop(running)
            say(f"the minutes are over; {plural(len(waiting) + len(running), 'job')} left for the next time")
            return failed
        ready = [job for job in waiting if waits_for(job, order) is None]
        if not running and not ready:
            break
        if ready and len(running) < order.at_a_time:
            job = ready[0]
            waiting.remove(job)
            process = context.Process(target=work, args=(job, order), daemon=True)
            process.start()
            running[process] = job
        else:
            time.sleep(PAUSE)
    for job in waiting:
        failed[job.name] = f"not begun: waits for {waits_for(job, order)}"
    return failed


def remove_ended(running: dict[Any, ProtocolJob], order: Order) -> dict[str, str]:
    """Remove jobs whose processes have ended, and return why those without a record failed."""
    failed = {}
    for process in list(running):
        if process.is_alive():
            continue
        job = running.pop(process)
        if not order.record_path(job).exists():
            failed[job.name] = f"failed (exit code {process.exitcode}); the message is above"
    return failed


def stop(running: Iterable[Any]) -> None:
    """End running processes, whose last checkpoints stay."""
    for process in running:
        process.terminate()
    for process in running:
        process.join()


def waits_for(job: ProtocolJob, order: Order) -> str | None:
    """Name what a job needs before it can begin, or None if it can begin."""
    if job.after is None or (order.folder(job.after) / "config.json").is_file():
        return None
    return f"the weights of {job.after}"


def work(job: ProtocolJob, order: Order) -> None:
    """Train a job, write its record, and print its accuracies.

    It runs in a process of its own, and exits with 2 if the job is refused. The weights are removed unless another job
    begins with them.
    """
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
    accuracy_rows = [row for row in record.rows if row.metric == "accuracy"]
    accuracies = ", ".join(f"{row.dataset} {100 * row.value:.1f}" for row in accuracy_rows)
    say(f"{job.name}: {number(time.monotonic() - began, 0)} s: {accuracies}")


def trained(job: ProtocolJob, order: Order, data: Mapping[str, Dataset]) -> Record:
    """Train and test as a job says, through `winokit.train`, and return the record."""
    import winokit
    from winokit.methods.training.finetune import DEV

    model = order.spec if job.after is None else f"hf:{order.folder(job.after)}"
    train = dataset_of(job.train, data)
    tests = {name: dataset_of(name, data) for name in job.tests}
    folder = order.folder(job.name)
    dev = None if job.dev is None else dataset_of(job.dev, data)
    outcome = winokit.train(
        train,
        model=model,
        settings=job.settings,
        dev=dev,
        test=list(tests.values()),
        out=folder,
        device=order.device,
        drop_overlap=True,
    )
    predictions = {}
    rows: list[Metric] = []
    for name, test in tests.items():
        predictions[name] = read_predictions(folder, test.card.file_name)
        rows += kept_rows(outcome.on(test.card.name), name)
    if job.dev is not None:
        predictions[job.dev] = read_predictions(folder, DEV)
        dev_rows = [row for row in outcome.metrics if row.subset == DEV]
        rows += kept_rows(dev_rows, job.dev)
    settings = {
        **identity_of(job, order, data),
        "problems": len(train),
        "dropped": outcome.run["dropped"],
        "steps_taken": outcome.curve["steps"],
    }
    machine = machine_name(order.device)
    return Record(job.name, settings, tuple(rows), predictions, made_with=made_with("torch", machine=machine))


def read_predictions(folder: Path, file_name: str) -> str:
    """Read the predictions that training wrote for a set, as `letters`."""
    lines = (folder / "predictions" / f"{file_name}.jsonl").read_text("utf-8").splitlines()
    return letters(json.loads(line)["prediction"] for line in lines)


def kept_rows(rows: Iterable[Metric], name: str) -> list[Metric]:
    """Rows of the metrics that records keep, under the set's name in tables."""
    return [renamed_row(row, name) for row in rows if row.metric in KEPT_METRICS]


def machine_name(device: str | None) -> str:
    """Name of the device that training runs on."""
    import torch

    if device == CPU or not torch.cuda.is_available():
        return "CPU"
    return str(torch.cuda.get_device_name())


def renamed_row(row: Metric, name: str) -> Metric:
    """Copy a row under the set's name in tables, as one of all its problems and of no model."""
    return Metric.from_json({**row.to_json(), "dataset": name, "model": "", "subset": "all"})


def show_runs(store: Store) -> str:
    """Table of single problems and pairs by arm and test, mean and deviation over seeds.

    A sentence below it says if the records are of a try.
    """
    from runs.trained import mean_sd

    arms: dict[str, list[Record]] = {}
    reasons = set()
    for record in store.records.values():
        arms.setdefault(record.key.rpartition("/")[0], []).append(record)
        if record.settings.get(TRY):
            reasons.add(str(record.settings[TRY]))
    lines = []
    for arm, records in arms.items():
        for test in tests_of(records):
            cells = [mean_sd(rows_of(records, test, metric)) for metric in ("accuracy", "group_accuracy")]
            lines.append((arm, len(records), test, *cells))
    table = grid(["trained", "seeds", "test", "single", "pairs"], lines)
    return f"{table}\n\nA try, not a result: {'; '.join(sorted(reasons))}." if reasons else table


def tests_of(records: Iterable[Record]) -> list[str]:
    """Names of the sets that records have rows of, in order."""
    names: dict[str, None] = {}
    for record in records:
        names |= dict.fromkeys(row.dataset for row in record.rows)
    return list(names)


def rows_of(records: Iterable[Record], test: str, metric: str) -> Iterator[Metric]:
    """Yield the rows of one metric and test set, of every record that has them."""
    for record in records:
        yield from (row for row in record.rows if row.dataset == test and row.metric == metric)
