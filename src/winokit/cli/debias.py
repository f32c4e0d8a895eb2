"""`winokit debias aflite|pmi|random`: what can be guessed from features or words alone, removed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from winokit.cli.common import DATA_HELP, As, Json, Lenient
from winokit.cli.debias_run import Common, refuse_passed_over, run
from winokit.cli.guards import refuse_unused
from winokit.cli.score import MODEL_HELP, CacheFile, Limit

app = typer.Typer(
    help="Filter a dataset: AFLite, or its baselines, and a page on what that changed.", no_args_is_help=True
)

Data = Annotated[str, typer.Argument(help=DATA_HELP, metavar="DATA", show_default=False)]
Out = Annotated[
    Path | None, typer.Option("--out", help="The folder to write. Default: runs/DATA-METHOD.", metavar="DIR")
]
FeatureFile = Annotated[
    Path | None,
    typer.Option("--features", help="A .npy file of winokit embed, or a folder of such files.", metavar="X.npy"),
]
Model = Annotated[
    str | None, typer.Option("--model", help=f"Embed with this now: {MODEL_HELP} Default: builtin.", metavar="SPEC")
]
Kind = Annotated[str, typer.Option("--kind", help="With --model: concat (both candidates), difference or single.")]
Pooling = Annotated[str, typer.Option(help="With --model: first token, mean over tokens, or span.")]
Size = Annotated[int, typer.Option("--size", help="How many problems to keep.", min=1, metavar="N", show_default=False)]
Seed = Annotated[int, typer.Option(help="Seed of everything drawn at random.")]
Twins = Annotated[str, typer.Option(help="apart (problems one by one, as in the paper) or together (whole groups).")]
Compare = Annotated[
    list[str] | None,
    typer.Option(
        "--compare", help="Show this method beside, at the same size; repeatable; or none. Default: random and pmi."
    ),
]
Assess = Annotated[bool, typer.Option(help="Look at features before and after: probe, components, divergence.")]
Folds = Annotated[int, typer.Option(help="Folds of the linear probe.", min=2)]
Bins = Annotated[int | None, typer.Option(help="Bins of histograms. Default: fitted to the smallest arm.", min=2)]
Neighbours = Annotated[int, typer.Option(help="Neighbours of the k-NN estimate of divergence.", min=1)]


@app.command()
def aflite(
    context: typer.Context,
    data: Data,
    features: FeatureFile = None,
    model: Model = None,
    out: Out = None,
    ensemble_size: Annotated[int, typer.Option(help="Classifiers in each phase.", min=1)] = 64,
    train_size: Annotated[
        int | None, typer.Option(help="Problems each trains on. Default: 10,000, or 40 % where there are fewer.", min=1)
    ] = None,
    cutoff: Annotated[
        int | None,
        typer.Option(help="Most problems to remove in a phase. Default: in proportion, 500 of 44,000.", min=1),
    ] = None,
    threshold: Annotated[float, typer.Option(help="Least share of right predictions of a problem that leaves.")] = 0.75,
    regularisation: Annotated[float, typer.Option(help="C of the logistic regressions (L2).")] = 1.0,
    twins: Twins = "apart",
    stratified: Annotated[
        bool, typer.Option("--stratified", help="Keep the share of answers in training subsets.")
    ] = False,
    ties: Annotated[str, typer.Option(help="Equal scores at the cutoff: random or order.")] = "random",
    min_predictions: Annotated[int, typer.Option(help="Fewest predictions a score needs.", min=1)] = 1,
    stop_below: Annotated[
        float | None, typer.Option(help="Stop when the ensemble's held-out accuracy falls below this; 0.5 is chance.")
    ] = None,
    null_runs: Annotated[
        int,
        typer.Option(
            help="Most runs on relabelled problems, to know what goes by chance: 19 can tell, 0 for none.", min=0
        ),
    ] = 39,
    seeds: Annotated[
        int, typer.Option(help="Seeds to run, from --seed on: how often is a problem kept? The first decides.", min=1)
    ] = 3,
    majority: Annotated[bool, typer.Option("--majority", help="Keep what more than half of the seeds keep.")] = False,
    tolerance: Annotated[float | None, typer.Option(help="How exactly to solve. Default: by precision.")] = None,
    max_steps: Annotated[int, typer.Option(help="Most steps of the solver.", min=1)] = 300,
    engine: Annotated[
        str, typer.Option("--engine", "--backend", help="auto, numpy, torch, torch:cpu, torch:cuda or ray.")
    ] = "auto",
    workers: Annotated[int | None, typer.Option(help="Ray's workers. Default: one a core.", min=1)] = None,
    address: Annotated[str | None, typer.Option(help="A Ray cluster. Default: this machine.")] = None,
    seed: Seed = 0,
    kind: Kind = "concat",
    pooling: Pooling = "first",
    compare: Compare = None,
    assess: Assess = True,
    folds: Folds = 5,
    bins: Bins = None,
    neighbours: Neighbours = 10,
    limit: Limit = None,
    as_: As = None,
    cache: CacheFile = None,
    lenient: Lenient = False,
    json: Json = False,
) -> None:
    """Remove the problems that linear classifiers of their features predict too well (Sakaguchi et al., 2020).

    The state is kept after every phase: run the same command again after an interruption and it goes on.
    """
    from winokit.methods.aflite.aflite import AFLite
    from winokit.stages.debias.arms import DebiasChoices

    common = Common.of("aflite", locals())
    refuse_passed_over(context, common)
    if engine != "ray":
        refuse_unused(context, ["workers", "address"], "an option of --engine ray")
    chosen = AFLite(
        ensemble_size,
        train_size,
        cutoff,
        threshold,
        seed,
        regularisation=regularisation,
        twins=twins,
        stratified=stratified,
        ties=ties,
        min_predictions=min_predictions,
        stop_below=stop_below,
        tolerance=tolerance,
        max_steps=max_steps,
        backend=engine,
        workers=workers,
        address=address,
    )
    choices = DebiasChoices(
        seed=seed,
        twins=twins,
        aflite=chosen,
        null_runs=null_runs,
        seeds=seeds,
        majority=majority,
        compare=common.compared,
    )
    run(common, choices)


@app.command()
def pmi(
    context: typer.Context,
    data: Data,
    size: Size,
    features: FeatureFile = None,
    model: Model = None,
    out: Out = None,
    variant: Annotated[
        str, typer.Option(help="difference (f), absolute (|f|), maximum or second-order (pairs of words).")
    ] = "difference",
    smoothing: Annotated[float, typer.Option(help="What is added to every count.")] = 100.0,
    count: Annotated[str, typer.Option(help="tokens (each time a word stands in a text) or types (once).")] = "tokens",
    alone: Annotated[
        str, typer.Option(help="Problems without a twin: own (ranked by their own words), first or last to be kept.")
    ] = "own",
    seed: Seed = 0,
    kind: Kind = "concat",
    pooling: Pooling = "first",
    compare: Compare = None,
    assess: Assess = True,
    folds: Folds = 5,
    bins: Bins = None,
    neighbours: Neighbours = 10,
    limit: Limit = None,
    as_: As = None,
    cache: CacheFile = None,
    lenient: Lenient = False,
    json: Json = False,
) -> None:
    """Keep the twins whose words say least about the answer: the lexical baseline of Sakaguchi et al. (2019)."""
    from winokit.methods.aflite.pmi import PMIFilter
    from winokit.stages.debias.arms import DebiasChoices

    common = Common.of("pmi", locals())
    refuse_passed_over(context, common)
    chosen = PMIFilter(size, variant, smoothing, count, alone, seed)
    run(common, DebiasChoices(size=size, seed=seed, pmi=chosen, compare=common.compared))


@app.command()
def random(
    context: typer.Context,
    data: Data,
    size: Size,
    features: FeatureFile = None,
    model: Model = None,
    out: Out = None,
    twins: Twins = "apart",
    seed: Seed = 0,
    kind: Kind = "concat",
    pooling: Pooling = "first",
    compare: Compare = None,
    assess: Assess = True,
    folds: Folds = 5,
    bins: Bins = None,
    neighbours: Neighbours = 10,
    limit: Limit = None,
    as_: As = None,
    cache: CacheFile = None,
    lenient: Lenient = False,
    json: Json = False,
) -> None:
    """Keep problems drawn at random: the baseline that removes as much and knows nothing."""
    from winokit.stages.debias.arms import DebiasChoices

    common = Common.of("random", locals())
    refuse_passed_over(context, common)
    run(common, DebiasChoices(size=size, seed=seed, twins=twins, compare=common.compared))
