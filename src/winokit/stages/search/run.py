"""`winokit search`: many fine-tuning runs over a space of settings, and their best.

After Liu et al., "Precise Task Formalization Matters in Winograd Schema Evaluations" (2020), section 4.

study.db                                  every trial, its settings and how it ended (optuna reads it)
trials/FORMALIZATION/NUMBER/              each run's results, curve and predictions; weights are not kept
ensembles/FORMALIZATION/                  predictions of the five best as one
results.json  trials.csv                  flat rows; one line per trial
report/                                   the page
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import winokit
from winokit.data.loading import Data
from winokit.methods.training.settings import TrainSettings, need_training
from winokit.problem import Dataset
from winokit.progress import Progress, tell
from winokit.settings import Help, Stored, Without, verb
from winokit.stages.search.settings import PATIENCE, UNDRAWN, UNOFFERED, Crew, SearchDesign, SearchSets

if TYPE_CHECKING:
    from winokit.stages.search.findings import SearchFindings
    from winokit.stages.search.trials import SearchJob, SearchTask, Trial
    from winokit.stages.search.workers import RunTrials


@verb
def search(
    data: Data,
    *,
    model: Annotated[str, Help("builtin, or hf:NAME_OR_DIR: any encoder.", "SPEC")] = "builtin",
    design: SearchDesign = SearchDesign(),
    sets: SearchSets = SearchSets(),
    settings: Annotated[TrainSettings, Without(*UNDRAWN, *UNOFFERED), Stored("training")] = TrainSettings(
        patience=PATIENCE
    ),
    crew: Crew = Crew(),
    out: Annotated[str | Path | None, Help("The folder to write. Default: searched/DATA.")] = None,
    progress: Progress | None = None,
) -> "SearchFindings":
    """Fine-tune a model many times under each formalization, and compare the trials.

    The same command continues an interrupted search; a higher --trials adds trials.

    Parameters
    ----------
    dev
        It alone decides what is best; test sets are looked at last.
    workers
        With one, trials run in this process; several may share a GPU.
    threads
        The same number gives the same scores to the bit, whatever the workers.

    Returns
    -------
    SearchFindings
        Every trial, the spread of scores, and what the best owes to luck.
    """
    need_training("search", "optuna")
    from winokit.stages.search.findings import search_findings
    from winokit.stages.search.page import write_search_page
    from winokit.stages.search.study import identity_of
    from winokit.stages.search.table import save_search
    from winokit.stages.search.trials import SearchJob

    names = design.formalizations_for(model)
    run_trials = crew.hired()
    loaded = sets.loaded(data, seed=design.seed)
    job = SearchJob(loaded, folder_of_search(out, loaded.train), model, settings)
    identity = identity_of(loaded.in_arm(), job, design.space, design.seed)
    trials = train_trials(job, identity, names, design, run_trials, progress)
    description = describe_search(identity, names, design, job)
    findings = search_findings(description, loaded.in_arm(), job.out, design.space, trials, design.human_share)
    save_search(findings)
    write_search_page(findings, job.out / "report")
    tell(findings.notes)
    return replace(findings, notes=(*loaded.notes, *findings.notes))


def folder_of_search(out: str | Path | None, dataset: Dataset) -> Path:
    """Return the folder to write, or with None one named after the training set."""
    if out is None:
        return Path("searched", dataset.card.file_name)
    return Path(out)


def train_trials(
    job: "SearchJob",
    identity: dict[str, Any],
    names: list[str],
    design: SearchDesign,
    run_trials: "RunTrials",
    progress: Progress | None,
) -> "dict[str, list[Trial]]":
    """Train the trials that have not ended, and return all trials by formalization.

    `names` are the formalizations, `identity` is what the folder's trials must share, and `run_trials` trains them.
    """
    from winokit.stages.search.study import TrialBook

    total = len(names) * design.trial_count
    shares_under_way: dict[Path, float] = {}
    with TrialBook(job.out, identity, design.space, design.seed) as book:
        book.plan(names, design.trial_count)

        def report_progress() -> None:
            """Show how many trials have ended, unfinished ones in part."""
            if progress is not None:
                progress(total - book.left + sum(shares_under_way.values()), total)

        def record_share(task: "SearchTask", share: float) -> None:
            """Note the finished share of a trial, and show progress."""
            shares_under_way[task.folder] = share
            report_progress()

        report_progress()
        for task, ended in run_trials(job, book.ask, record_share):
            book.tell(task, ended)
            record_share(task, 0.0)
        return {name: book.trials(name, design.trial_count) for name in names}


def describe_search(
    identity: dict[str, Any], names: list[str], design: SearchDesign, job: "SearchJob"
) -> dict[str, Any]:
    """Return the versions, settings and data of a search, for its record."""
    return {
        "winokit": winokit.__version__,
        **identity,
        "formalizations": names,
        "trials": design.trial_count,
        "dropped": job.data.dropped,
    }
