"""`winokit search`: many fine-tuning runs over a space of settings, and what the best of them is worth.

After Liu et al., "Precise Task Formalization Matters in Winograd Schema Evaluations" (2020), section 4.

study.db                                  every trial, its settings and how it ended (optuna reads it)
trials/FORMALIZATION/NUMBER/              each run's results, curve and predictions; weights are not kept
ensembles/FORMALIZATION/                  predictions of the five best as one
results.json  trials.csv                  flat rows; one line per trial
report/                                   the page
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import winokit
from winokit.data.loading import Data, Loading, Plain
from winokit.drawing.page import INDEX
from winokit.drawing.tables import Lines, table
from winokit.drawing.wording import percent, say, say_interval
from winokit.errors import BadInput
from winokit.files import as_file_name, csv_bytes, result_bytes, write_whole
from winokit.methods.cluster import Address, Engine
from winokit.methods.scoring.scorer import write_predictions
from winokit.methods.training import settings as training
from winokit.methods.training.data import VariantArm
from winokit.problem import Dataset
from winokit.progress import Progress, tell
from winokit.results import rows_to_json
from winokit.settings import Help, Without, verb
from winokit.stages.search.space import SearchSpace
from winokit.stages.train.run import Holdout, TrainLimit, load_sets

if TYPE_CHECKING:
    from winokit.stages.search.findings import SearchFinding, SearchFindings
    from winokit.stages.search.trials import SearchTask

TRIALS = 60
"""As many as Liu et al. made of each formalization."""
PATIENCE = 20
"""Evaluations without a better one after which Liu et al.'s code stops."""


@verb
def search(
    data: Data,
    *,
    model: Annotated[str, Help("builtin, or hf:NAME_OR_DIR: any encoder.", "SPEC")] = "builtin",
    formalization: Annotated[
        Sequence[str],
        Help(f"{training.FORMALIZATION_HELP}. Repeatable. Default: all that train this kind of model.", "NAME"),
    ] = (),
    dev: Annotated[str | Path | Dataset | None, Help("Choose on this.", "DATA")] = None,
    holdout: Holdout = None,
    test: Annotated[
        Sequence[str | Path | Dataset], Help("Test the chosen trial and the ensemble on this; repeatable.", "DATA")
    ] = (),
    out: Annotated[str | Path | None, Help("The folder to write. Default: searched/DATA.")] = None,
    trials: Annotated[int | None, Help("Trials per formalization. Default: 60; of a grid, all.", "N", least=1)] = None,
    space: SearchSpace = SearchSpace(),
    settings: Annotated[
        training.TrainSettings,
        Without(  # what is drawn, and what a search does not offer
            *("formalization", "learning_rate", "batch_size", "epochs", "warmup", "weight_decay", "seed"),
            *("tokens", "clip", "keep", "checkpoint_every"),
        ),
    ] = training.TrainSettings(patience=PATIENCE),
    seed: Annotated[int, Help("Decides the settings and the seed of every trial, and the holdout.", least=0)] = 0,
    workers: Annotated[int, Help("Trials at a time, each in a process of its own.", least=1)] = 1,
    devices: Annotated[
        str | Sequence[str] | None,
        Help("cuda:0,cuda:1: given to workers in turn. Default: the best there is.", typed=str | None),
    ] = None,
    threads: Annotated[
        int | None, Help("CPU threads of each worker. Default: an equal share of the cores.", least=1)
    ] = None,
    engine: Engine = "local",
    address: Address = None,
    variant: training.VariantName = None,
    arm: training.ArmName = None,
    human: Annotated[
        float | None, Help("Human accuracy in per cent, if the dataset does not state it.", above=1, most=100)
    ] = None,
    drop_overlap: training.DropOverlap = False,
    limit: TrainLimit = None,
    loading: Plain = Loading(),
    progress: Progress | None = None,
) -> "SearchFindings":
    """Fine-tune a model many times under each formalization; show the spread of scores and what the best is worth.

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
    training.need_training("search", "optuna")
    from winokit.methods.formalizations.base import Formalization, formalizations_of
    from winokit.methods.formalizations.network import kind_of
    from winokit.stages.search.findings import search_findings
    from winokit.stages.search.page import write_search_page
    from winokit.stages.search.study import TrialBook, identity_of
    from winokit.stages.search.trials import SearchJob
    from winokit.stages.search.workers import TrialCrew, engine_of

    chosen = formalization or formalizations_of(kind_of(model))
    names = list(dict.fromkeys(Formalization.parse(name).spec for name in chosen))
    trials = trials or (space.size if space.sampler == "grid" else None) or TRIALS
    crew = TrialCrew(workers, tuple(devices.split(",") if isinstance(devices, str) else devices or ()), threads)
    run_trials = engine_of(engine, address, crew)
    loaded = load_sets(data, dev, holdout, test, seed, loading, limit)
    checked = replace(loaded, arm=VariantArm.of(variant, arm)).checked(drop_overlap=drop_overlap)
    tell(checked.notes)
    if checked.dev is None:
        raise BadInput(
            "a search needs a dev set to choose on: --dev DATA, or --holdout N for a part of the training set"
        )
    folder = Path("searched", loaded.train.card.file_name) if out is None else Path(out)
    job = SearchJob(checked, folder, model, settings)
    identity = identity_of(checked.in_arm(), job, space, seed)
    with TrialBook(folder, identity, space, seed) as book:
        book.plan(names, trials)
        total, under_way = len(names) * trials, dict[Path, float]()

        def moved(task: "SearchTask | None" = None, share: float = 0.0) -> None:
            """Tell how far the search has come, trials that are under way counted in part."""
            if task is not None:
                under_way[task.folder] = share
            if progress is not None:
                progress(total - book.left + sum(under_way.values()), total)

        moved()
        for task, ended in run_trials(job, book.ask, crew, moved):
            book.tell(task, ended)
            moved(task, 0.0)
        ended_trials = {name: book.trials(name, trials) for name in names}
    run = {"winokit": winokit.__version__, **identity, "formalizations": names, "trials": trials}
    run["dropped"] = checked.dropped
    share = None if human is None else human / 100
    findings = search_findings(run, checked.in_arm(), folder, space, ended_trials, share)
    save(findings)
    write_search_page(findings, folder / "report")
    tell(findings.notes)
    return replace(findings, notes=(*checked.notes, *findings.notes))


RESULTS, LISTED, ENSEMBLES = "results.json", "trials.csv", "ensembles"
ENDED = ("state", "accuracy", "group_accuracy", "steps", "kept_step", "stopped_early", "seconds")


def as_json(findings: "SearchFindings") -> dict[str, Any]:
    """What scripts read of a search."""
    return {
        "out": str(findings.folder),
        "report": str(findings.folder / "report" / INDEX),
        "run": findings.run,
        "metrics": rows_to_json(findings.metrics),
        "notes": findings.notes,
    }


def lines(findings: "SearchFindings") -> Lines:
    """One line per formalization: how trials lie, the best of them; then what the numbers are to be held against."""
    heads = "formalization trials degenerate median quartiles best std kurtosis corrected guessing".split()
    for test in findings.answered.values():
        heads += [f"chosen on {test.card.name}", f"five on {test.card.name}"]
    yield table(heads, ([finding.formalization, *_cells(finding, findings)] for finding in findings.found))
    luck, folder = findings.overall, findings.folder
    people = "" if findings.human is None else f", people {percent(findings.human)}"
    guessing = f"guessing {percent(findings.chance)}, commonest answer {percent(findings.majority)}"
    yield f"{findings.dev.card.name}: {guessing}{people}"
    p = "< 0.001" if luck.p_guessing < 0.001 else f"= {luck.p_guessing:.3f}"
    expected = luck.corrected and f"; on problems it was not chosen on {percent(luck.corrected)} expected"
    yield (
        f"best of {luck.trials:,} trials {percent(luck.best)}; of as many guessers {percent(luck.guessing)} (p {p})"
        f"{expected or ''}"
    )
    yield f"{folder / LISTED}, results.json, study.db; page: {folder / 'report' / INDEX}"


def _cells(finding: "SearchFinding", findings: "SearchFindings") -> list[str]:
    spread, luck = finding.spread, finding.luck
    if spread is None or luck is None:
        return ["0", str(finding.degenerate)]
    scores = [finding.score(which, name) for name in findings.answered for which in ("chosen", "ensemble")]
    return [
        str(spread.n),
        str(finding.degenerate),
        percent(spread.median),
        f"{100 * spread.lower_quartile:.1f} to {100 * spread.upper_quartile:.1f}",
        percent(spread.best),
        "" if spread.std is None else f"{100 * spread.std:.1f}",
        "" if spread.excess_kurtosis is None else f"{spread.excess_kurtosis:.1f}",
        "" if luck.corrected is None else percent(luck.corrected),
        percent(finding.chance),
        *("" if row is None else f"{say(row)} {say_interval(row)}".strip() for row in scores),
    ]


def save(findings: "SearchFindings") -> None:
    """Write trials.csv, the ensembles' predictions and results.json.

    One line of trials.csv per trial. Test scores are not in it: no trial can be chosen by them.
    """
    rows = [
        {
            "formalization": trial.formalization,
            "trial": trial.number,
            **trial.drawn,
            **{name: getattr(trial.ended, name) for name in ENDED},
            "degenerate": trial.degenerate,
            "warnings": "; ".join(trial.ended.warnings),
            "why": trial.ended.why or "",
        }
        for trial in findings.trials
    ]
    write_whole(findings.folder / LISTED, csv_bytes([rows[0], *(row.values() for row in rows)]))
    for finding in findings.found:
        folder = findings.folder / ENSEMBLES / as_file_name(finding.formalization)
        for which, predictions in finding.voted.items():
            write_predictions(predictions, folder / f"{which}.jsonl")
    results = {"run": findings.run, "metrics": rows_to_json(findings.metrics), "notes": findings.notes}
    write_whole(findings.folder / RESULTS, result_bytes(results))
