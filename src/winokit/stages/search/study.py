"""The record of a search: `study.db`, SQLite through optuna, one study per formalization.

A trial is recorded with its settings before it is run, and with its outcome afterwards. One process does all the
writing, so that workers on any machine need no access to the file. A trial that was interrupted by a kill, or that
failed, is marked as failed and repeated under the same number, with the same settings and in the same folder.
"""

import sqlite3
from collections import deque
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

from winokit.errors import BadInput, refusing
from winokit.files import refused
from winokit.methods.training.data import TrainingData
from winokit.methods.training.finetune import model_identity
from winokit.methods.training.learner import check_same
from winokit.stages.search.space import SEEDS, SearchSpace
from winokit.stages.search.trials import DONE, FAILED, EndedTrial, SearchJob, SearchTask, Trial

DATABASE = "study.db"
LOCK = "study.lock"
NUMBER = "number"
ENDED = "ended"
IDENTITY = "identity"


class TrialBook:
    """The record of a search's trials, opened by a `with` block.

    Raises BadInput if another process has it open, or if the folder has another search.
    """

    def __init__(self, out: Path, identity: dict[str, Any], space: SearchSpace, seed: int) -> None:
        self.out = out
        self.space = space
        self.seed = seed
        self._identity = identity
        self._studies: dict[str, optuna.Study] = {}
        self._pending: deque[tuple[str, int]] = deque()
        self._running: dict[tuple[str, int], optuna.Trial] = {}

    def __enter__(self) -> "TrialBook":
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        with refused(self.out):
            self.out.mkdir(parents=True, exist_ok=True)
        self._lock = _lock_file(self.out / LOCK)
        try:
            self._storage = _open_storage(self.out / DATABASE)
            for summary in optuna.get_all_study_summaries(self._storage):
                check_same(self.out, summary.user_attrs.get(IDENTITY, {}), self._identity)
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._storage.remove_session()
        self._storage.engine.dispose()
        self._lock.close()

    def plan(self, formalizations: Iterable[str], trials: int) -> None:
        """Plan the trials to run: those that have not ended.

        Failed trials are run again. So are those that a kill left unfinished, which are marked as failed. The first
        trials of all formalizations come before the second ones, and so on. `trials` is the number of trials of each
        formalization.
        """
        pending = []
        for place, name in enumerate(formalizations):
            study = optuna.create_study(
                storage=self._storage, study_name=name, direction="maximize", load_if_exists=True
            )
            study.set_user_attr(IDENTITY, self._identity)
            self._studies[name] = study
            # Trials that a kill left waiting or running have failed: no other process works while we have the lock.
            while study.get_trials(deepcopy=False, states=(TrialState.WAITING,)):
                study.ask()
            for row in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
                study.tell(row.number, state=TrialState.FAIL)
            ended_trials = self.trials(name, trials)
            ended_numbers = {trial.number for trial in ended_trials if trial.ended.state != FAILED}
            pending += [(number, place, name) for number in range(trials) if number not in ended_numbers]
        self._pending = deque((name, number) for number, _, name in sorted(pending))

    def ask(self) -> SearchTask | None:
        """Record the next trial as running, and return it.

        None if no trial is left to run.
        """
        if not self._pending:
            return None
        name, number = self._pending.popleft()
        study = self._studies[name]
        settings = self.space.draw(self.seed, number)
        study.enqueue_trial(settings, user_attrs={NUMBER: number})
        trial = study.ask(distributions(self.space))
        self._running[name, number] = trial
        return SearchTask(name, number, trial.params)

    def tell(self, task: SearchTask, ended: EndedTrial) -> None:
        """Record the outcome of a trial that `ask` returned."""
        trial = self._running.pop((task.formalization, task.number))
        trial.set_user_attr(ENDED, asdict(ended))
        for name in ("group_accuracy", "warnings", "why"):
            if value := getattr(ended, name):
                trial.set_user_attr(name, value)
        study = self._studies[task.formalization]
        if ended.state == DONE:
            study.tell(trial, ended.accuracy)
        else:
            study.tell(trial, state=TrialState.FAIL)

    @property
    def left(self) -> int:
        """Number of trials that have not ended."""
        return len(self._pending) + len(self._running)

    def trials(self, formalization: str, trials: int) -> list[Trial]:
        """Return a formalization's ended trials by number, each with its last outcome.

        Failed ones are among them. `trials` is the number of planned trials: those with a higher number are left out.
        """
        by_number: dict[int, Trial] = {}
        names = list(distributions(self.space))
        for row in self._studies[formalization].get_trials(deepcopy=False):
            try:
                number = int(row.user_attrs[NUMBER])
                ended = _read_outcome(row)
            except (KeyError, TypeError, ValueError) as error:
                raise BadInput(
                    f"{self.out / DATABASE}: has notes on trials that cannot be read ({error}): written by another "
                    "version of winokit; choose another --out"
                ) from None
            if number < trials and ended is not None:
                trial_settings = {name: row.params[name] for name in names}
                by_number[number] = Trial(formalization, number, trial_settings, ended)
        return [by_number[number] for number in sorted(by_number)]


def _read_outcome(row: optuna.trial.FrozenTrial) -> EndedTrial | None:
    """Return the recorded outcome of a trial.

    None while it waits or runs, or if it was killed.
    """
    outcome = row.user_attrs.get(ENDED) if row.state.is_finished() else None
    if outcome is None:
        return None
    tuples = {name: tuple(outcome[name]) for name in ("warnings", "notes")}
    return EndedTrial(**{**outcome, **tuples})


def identity_of(data: TrainingData, job: SearchJob, space: SearchSpace, seed: int) -> dict[str, Any]:
    """Return the settings and hashes that all trials of a search share.

    `data` are the variants to train on. The dict is flat, so that messages can name the entry that differs.
    """
    drawn_names = (*space.parts, "seed", "formalization")
    fixed_settings = {name: value for name, value in job.settings.identity().items() if name not in drawn_names}
    return {
        **model_identity(job.model),
        **data.identity(),
        "tests": [test.card.name for test in data.tests],
        "tests_content": [test.content_hash for test in data.tests],
        **space.told(),
        **fixed_settings,
        "seed": seed,
    }


def distributions(space: SearchSpace) -> dict[str, BaseDistribution]:
    """Return the values of each setting as optuna's distributions, by name."""
    by_name: dict[str, BaseDistribution] = {}
    for name, part in space.parts.items():
        kind: Any = IntDistribution if isinstance(part.values[0], int) else FloatDistribution
        by_name[name] = kind(*part.values, log=True) if part.is_range else CategoricalDistribution(part.values)
    return by_name | {"seed": IntDistribution(0, SEEDS - 1)}


def _open_storage(path: Path) -> optuna.storages.RDBStorage:
    """Open the database, or make it.

    Raises BadInput if the file is no database of optuna.
    """
    try:
        return optuna.storages.RDBStorage(f"sqlite:///{path}")
    except Exception as error:  # other files can raise any error
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise BadInput(f"{path}: cannot be opened as a study ({first}); choose another --out") from None


def _lock_file(path: Path) -> sqlite3.Connection:
    """Lock a file until the returned connection is closed.

    Raises BadInput if another search has locked it. The lock of a killed process is released.
    """
    with refusing(f"{path}: cannot be written", sqlite3.OperationalError):
        lock = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError:
        lock.close()
        raise BadInput(f"{path.parent}: another search is running there; wait, or choose another --out") from None
    return lock
