"""Everything that is trained, as a queue of jobs: `python -m runs jobs --model mpnet=hf:DIR --data DIR --out DIR`.

A job is one training run: what is trained on, a model, settings, a number of steps, a seed, and what is tested. It
leaves one record, a small JSON file, the moment it ends. The same command goes on where it was stopped, and does what
has no record yet; trials are added by asking for more of them. Jobs run by rank, several at a time on one GPU, each in
a process that keeps its network for the next.

    records/NAME.json     settings, steps, seconds, rows of metrics, predictions as one character per problem
    aflite/SEED.npz       scores of the first phase, and what is kept
    failed/NAME.txt       why a job came to no end; the same command tries again
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from runs.job_queue import HEADED, SECOND, Queue, say
from runs.sets import FILES, HELD_OUT_OF_DPR, OPEN, RESTARTS, SEEDS, SIZES, WORD_SIZES, prepared
from winokit.errors import BadInput
from winokit.methods.training.settings import TrainSettings
from winokit.stages.search.space import SearchSpace

STEPS = 3789
"""Three epochs of train_xl in batches of 32: what every arm is given."""
MARKS = (250, 500, 1000, 2000, STEPS)
"""Steps at which every set is predicted, so that a number of steps can be chosen by the papers' rules."""
MPNET = "mpnet"
OURS = TrainSettings("mc-sent", learning_rate=2e-5, epochs=10**6, steps=STEPS, batch_size=32, checkpoint_every=0)
FORMALIZATIONS = {
    "mc-mlm": "mc-mlm",
    "mc-sent": "mc-sent",
    "mc-sent-no-softmax": "mc-sent-no-softmax",
    "mc-sent-no-pair-loss": "mc-sent-no-pair-loss",
    "p-sent": "p-sent",
    "p-span": "p-span",
    "mc-mlm-fresh": "mc-mlm?head=fresh",
}
SEARCHES = {
    # trials, epochs, what is chosen on, what is tested on
    "superglue-wsc": (20, "10,20", "superglue-wsc-val", ()),
    "dpr": (20, "5,10,20", HELD_OUT_OF_DPR, ("dpr-test",)),
    "winogrande-m": (6, "5,10", "winogrande-dev", ()),
}
PAIRS = tuple(
    f"{name}:{form}" for name in ("wsc", "wsc-na", "winogrande") for form in ("original", "no-cands", "part-sent")
)
FORMS = tuple(f"{name}:{form}" for name in ("wsc", "wsc-na", "winogrande") for form in ("matched", "words"))
HEAD = {"epochs": 2, "batch_size": 256, "learning_rate": 5e-5}
WEIGHTS, PER_TOKEN = 3.0, 1 / 1024
"""What a job takes of a device's memory, in GiB: for an encoder of 110M weights, and for each token of its batches."""
PADDED = {"train:liu-superglue-wsc": (128, 9), "": (48, 2)}
"""By training set, tokens of its longest texts, and how many such texts a problem of a batch counts for.

Problems of SuperGLUE-WSC have five options in the mean, but each number of options is recorded by itself: MC-Sent in
batches of 64 was seen to take 71 GiB. All others have what a pair of twins has.
"""
LAST = 1000
"""Above all ranks of the list."""
POINTWISE = ("p-sent", "p-span", "mc-sent-no-pair-loss")


@dataclass(frozen=True)
class Job:
    """One run, and what it needs and leaves."""

    name: str
    rank: float
    """Jobs of a lower rank come first; within one the largest, and a worker takes what its network is ready for."""
    model: str = MPNET
    train: str | None = None
    settings: TrainSettings = OURS
    tests: tuple[str, ...] = ()
    at_the_end: tuple[str, ...] = ()
    """Tests that are not taken at every mark."""
    marks: tuple[int, ...] = ()
    """Steps at which tests are taken; none: once an epoch."""
    chosen_on: str | None = None
    """The set whose best step is kept."""
    after: str | None = None
    """The job whose weights it begins with."""
    kind: str = "train"
    saves: bool = False
    makes: str = ""
    needs: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def network(self) -> tuple[str, str]:
        """What a worker keeps from job to job."""
        return self.model, self.settings.formalization

    @property
    def room(self) -> float:
        """What it may take of a device's memory, in GiB: its weights, and its largest batch."""
        tokens, options = PADDED.get(self.train or "", PADDED[""])
        texts = self.settings.batch_size * (1 if self.settings.formalization in POINTWISE else options)
        return WEIGHTS + texts * tokens * PER_TOKEN

    def products(self, out: Path, models: Mapping[str, str]) -> list[Path]:
        """Files that other jobs need of it."""
        from runs.trainer import weights_file

        files = [weights_file(out, self.name)] if self.saves else []
        if self.kind == "aflite":
            files.append(out / "aflite" / f"{self.settings.seed}.npz")
        return [*files, *([Path(models[self.makes].removeprefix("hf:"))] if self.makes else [])]


def all_jobs(corpus: str, trials: Mapping[str, int] | None = None) -> list[Job]:
    """Every job, in order."""
    trials = {name: search[0] for name, search in SEARCHES.items()} | dict(trials or {})
    jobs = [
        *_heads(corpus),
        *_transfer(),
        *_examples(),
        *_curve(),
        *_search(trials),
        *_aflite(),
        *_local_context(),
        *_pronouns(),
        *_square_one(),
        *_taught(),
    ]
    # One seed of everything comes before the second seed of anything that is not of the first four tables.
    later = (replace(job, rank=job.rank + 100 * (50 <= job.rank < 90 and job.settings.seed > 0)) for job in jobs)
    return sorted(later, key=lambda job: job.rank)


def _heads(corpus: str) -> Iterator[Job]:
    yield Job("head/mpnet", 13, MPNET, kind="head", makes=HEADED, more={**HEAD, "corpus": corpus})
    yield Job("head/minilm", 30, "minilm", kind="head", makes=SECOND, more={**HEAD, "corpus": corpus})
    tests = (*FILES, *PAIRS, *FORMS, "dev-local-context", "words-test")
    settings = replace(OURS, formalization="mc-mlm")
    yield Job("untrained/mpnet-head", 25, HEADED, None, settings, tests)


def _transfer() -> Iterator[Job]:
    """WinoGrande's Tables 4 to 6: arms of equal steps."""
    for seed in range(3):
        settings = replace(OURS, seed=seed)
        for arm in ("dpr", "xl", "wsc", "debiased"):
            more = (*PAIRS, *FORMS) if arm == "xl" else ()
            yield Job(
                f"transfer/{arm}/{seed}",
                10,
                MPNET,
                f"train:{arm}",
                settings,
                (*FILES, *more),
                more,
                MARKS,
                saves=arm == "dpr",
            )
        yield Job(
            f"transfer/dpr>xl/{seed}",
            21,
            MPNET,
            "train:xl",
            settings,
            (*FILES, OPEN),
            (OPEN,),
            MARKS,
            after=f"transfer/dpr/{seed}",
        )


def _examples() -> Iterator[Job]:
    """What `make demo` shows beside the built-in model: an encoder trained on WinoGrande, on the bundled twins."""
    yield Job("example/xl", 14, MPNET, "train:xl", OURS, ("winogrande-dev", OPEN), marks=(STEPS,))


def _curve() -> Iterator[Job]:
    """The AAAI learning curve, every size for as many steps; train_xl is an arm above."""
    for seed in range(3):
        for size in SIZES:
            tests = ("winogrande-dev",)
            yield Job(f"curve/{size}/{seed}", 20, MPNET, f"train:{size}", replace(OURS, seed=seed), tests, marks=MARKS)


def _search(trials: Mapping[str, int]) -> Iterator[Job]:
    """Liu et al.: the same draws for every formalization; the draw of a trial depends on the set and its number."""
    for on, (_, epochs, dev, tests) in SEARCHES.items():
        space = SearchSpace(epochs=epochs)
        for number in range(trials[on]):
            drawn = space.draw(0, number)
            early = number < trials[on] // 2
            for model in (HEADED, SECOND):
                known = FORMALIZATIONS if model == HEADED else {name: name for name in ("mc-mlm", "mc-sent")}
                if model == SECOND and on == "winogrande-m":
                    continue
                for name, formalization in known.items():
                    settings = TrainSettings(formalization, **drawn, checkpoint_every=0)
                    yield Job(
                        f"liu/{on}/{model}/{name}/{number:02}",
                        (31 if early else 91) + (model == SECOND) + (2 if on == "winogrande-m" else number // 5) / 10,
                        model,
                        f"train:liu-{on}",
                        settings,
                        (dev, *tests),
                        chosen_on=dev,
                    )


def _aflite() -> Iterator[Job]:
    """AFLite on features of a model that was fine-tuned on 6,000 problems, against what its authors removed."""
    for seed in range(SEEDS):
        settings = replace(OURS, steps=None, epochs=3, keep="best", seed=seed)
        yield Job(f"aflite/{seed}", 12 if seed == 0 else 40, settings=settings, kind="aflite")


def _local_context() -> Iterator[Job]:
    """Two words before the blank and what follows, after DPR: what AFLite kept, and as many at random."""
    for seed in range(3):
        for kind in ("random", "kept"):
            yield Job(
                f"local-context/{kind}/{seed}",
                26,
                MPNET,
                f"train:{kind}:25000:{seed}:local-context",
                replace(OURS, steps=2344, seed=seed),
                ("dev-local-context",),
                marks=(2344,),
                after=f"transfer/dpr/{seed}",
                needs="aflite/0",
            )


def _pronouns() -> Iterator[Job]:
    """The formalization that reads the pronoun, on Winogender; and WinoGrande as true or false."""
    tests = ("winogender", "dpr-test", "superglue-wsc-val")
    for seed in range(3):
        for on in ("dpr", "superglue-wsc"):
            settings = replace(OURS, formalization="p-span", steps=2000, seed=seed)
            marks = (250, 500, 1000, 2000)
            yield Job(f"p-span/{on}/{seed}", 24, MPNET, f"train:{on}", settings, tests, marks=marks)
        settings = replace(OURS, formalization="p-sent", batch_size=64, seed=seed)
        tested = ("winogrande-dev", "wsc273", "dpr-test")
        yield Job(f"true-false/{seed}", 25, MPNET, "train:xl", settings, tested, marks=(STEPS,))


def _square_one() -> Iterator[Job]:
    """Square One: artifacts with the MLM head, either form of the same pairs, and curves on special words."""
    for seed in range(3):
        settings = replace(OURS, formalization="mc-mlm", seed=seed)
        tests = ("winogrande-dev", "wsc273", *PAIRS, *FORMS)
        yield Job(f"square-one/mc-mlm/{seed}", 70, HEADED, "train:xl", settings, tests, marks=(STEPS,))
        for name, model in (("mc-sent", MPNET), ("mc-mlm", HEADED)):
            settings = replace(OURS, formalization=name, seed=seed)
            yield Job(f"words/{name}/{seed}", 71, model, "train:words", settings, FORMS, marks=(STEPS,))
    for restart in range(RESTARTS):
        for name, model in (("mc-sent", MPNET), ("mc-mlm", HEADED)):
            settings = replace(OURS, formalization=name, steps=1500, seed=restart)
            tests = ("words-test",)
            yield Job(f"word-curve/{name}/0/{restart}", 75, model, None, settings, tests)
            for size in WORD_SIZES:
                train = f"train:words-{size}-{restart}"
                yield Job(f"word-curve/{name}/{size}/{restart}", 75, model, train, settings, tests, marks=(1500,))


def _taught() -> Iterator[Job]:
    """Does what AFLite keeps teach less than as many problems at random?"""
    for seed in range(3):
        for kind in ("kept", "random"):
            settings, train = replace(OURS, seed=seed), f"train:{kind}:0:{seed}"
            tests = ("winogrande-dev",)
            yield Job(f"taught/{kind}/{seed}", 80, MPNET, train, settings, tests, marks=MARKS, needs="aflite/0")


def chosen_jobs(jobs: Iterable[Job], only: Sequence[str], steps: int | None = None) -> list[Job]:
    """Jobs whose names begin with one of these, in the order of these; all of them where there are none.

    Several names in one, with commas between them, stay in the order of the list. With fewer steps it is a try.
    """
    queue = list(jobs)
    if only:
        groups = [tuple(filter(None, names.split(","))) for names in only]
        places = [next((at for at, names in enumerate(groups) if job.name.startswith(names)), None) for job in queue]
        ranked = [(job, at) for job, at in zip(queue, places, strict=True) if at is not None]
        queue = sorted((replace(job, rank=LAST * at + job.rank) for job, at in ranked), key=lambda job: job.rank)
        unmatched = [name for names in groups for name in names if not any(job.name.startswith(name) for job in queue)]
        if unmatched:
            raise BadInput(f"--only {unmatched[0]}: no job's name begins so; --list shows the names")
    if steps is None:
        return queue
    short = [(job, min(steps, job.settings.steps or steps)) for job in queue]
    return [replace(job, settings=replace(job.settings, steps=n), marks=job.marks and (n,)) for job, n in short]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the queue, or list it; 1 if a job failed or could not begin."""
    parser = argparse.ArgumentParser(
        "python -m runs jobs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("WINOKIT_DATA", "data")), metavar="DIR")
    parser.add_argument("--out", type=Path, default=Path("runs", "trained"), metavar="DIR")
    parser.add_argument("--sets", type=Path, metavar="FILE", help="where prepared datasets are kept; default: in --out")
    parser.add_argument("--model", action="append", default=[], metavar="NAME=SPEC", help="mpnet=hf:DIR, minilm=hf:DIR")
    parser.add_argument("--corpus", default="", metavar="FILE", help="text that heads are learned from")
    parser.add_argument("--workers", type=int, default=1, help="jobs at a time")
    parser.add_argument(
        "--room", type=float, default=math.inf, metavar="GIB", help="device memory for all jobs at a time"
    )
    parser.add_argument("--minutes", type=float, default=10**6, help="start no job after so many")
    parser.add_argument(
        "--only", action="append", default=[], metavar="PREFIX", help="jobs of that name; repeatable, in that order"
    )
    parser.add_argument("--trials", action="append", default=[], metavar="SET=N", help="other numbers of trials")
    parser.add_argument("--steps", type=int, metavar="N", help="at most so many each: a try, not a result")
    parser.add_argument("--device", help="default: the best there is")
    parser.add_argument("--list", action="store_true", help="what there is to do")
    given = parser.parse_args(arguments)
    given.sets = given.sets or given.out / "sets.pkl.xz"
    given.models = {
        HEADED: f"hf:{given.out / 'models' / HEADED}",
        SECOND: f"hf:{given.out / 'models' / SECOND}",
        **dict(text.split("=", 1) for text in given.model),
    }
    trials = {name: int(count) for name, count in (text.split("=", 1) for text in given.trials)}
    queue = Queue(chosen_jobs(all_jobs(given.corpus, trials), given.only, given.steps), given)
    if given.list:
        say("\n".join(f"{job.rank:5} {'done' if queue.done(job) else '    '} {job.name}" for job in queue.jobs))
        return 0
    if not given.sets.exists():
        say(f"preparing the datasets of {given.data} (some minutes of a CPU, once): {given.sets}")
    queue.check(prepared(given.sets, given.data))
    return 1 if queue.run() else 0


if __name__ == "__main__":
    sys.exit(main())
