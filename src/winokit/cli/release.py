"""`winokit release`: splits, sizes, card, tasks and metadata of filtered twins, and a hidden test kept apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winokit.cli.common import As, Json, Lenient, console, print_json, progress_bar, tell
from winokit.cli.guards import refuse_unused
from winokit.cli.score import CacheFile, open_cache
from winokit.errors import BadInput

if TYPE_CHECKING:
    from winokit.stages.evolve.next_version import Predecessor
    from winokit.stages.release.run import Release

STEPS = ("reading", "splitting", "checking", "writing")
OF_NEXT = ("watch", "majority", "alpha", "bring_back", "previous_hidden", "cache")
FORMALIZATION_HELP = (
    "How fine-tuned models are to read it: mc-mlm, mc-sent, mc-sent-no-softmax, mc-sent-no-pair-loss, p-sent or "
    "p-span. Causal models are scored by partial scoring."
)


def release(
    context: typer.Context,
    out: Annotated[Path, typer.Option("--out", help="The folder to write.", metavar="DIR", show_default=False)],
    kept: Annotated[
        str | None,
        typer.Argument(
            help="DATA, or a folder of winokit debias. With --previous: what is new, if anything is.",
            metavar="KEPT",
            show_default=False,
        ),
    ] = None,
    removed: Annotated[
        str | None,
        typer.Option(help="What filtering removed: for training. Default: what the folder has.", metavar="DATA"),
    ] = None,
    name: Annotated[str | None, typer.Option(help="What it is called. Default: the name of the data.")] = None,
    version: Annotated[str, typer.Option(help="Its version.")] = "1.0",
    licence: Annotated[
        str | None, typer.Option("--licence", "--license", help="Its licence. Default: that of the data, if stated.")
    ] = None,
    date: Annotated[str | None, typer.Option(help="When it is published, for the card.", metavar="YYYY-MM-DD")] = None,
    dev: Annotated[str, typer.Option(help="A share of the kept problems, or a number of them.")] = "0.1",
    test: Annotated[str, typer.Option(help="The same; 0 for no hidden test.")] = "0.15",
    sizes: Annotated[
        str | None,
        typer.Option(
            help="Problems in each training size, the smallest first: 160,640,2560. Default: all, a quarter, and so on."
        ),
    ] = None,
    split: Annotated[
        str,
        typer.Option(help="random, or knowledge: no special word with a candidate in two of train, dev and test."),
    ] = "random",
    complete: Annotated[
        bool, typer.Option("--complete", help="Only groups of which every member was kept in dev and test.")
    ] = False,
    singles: Annotated[
        bool, typer.Option("--singles", help="Problems without a twin in the training sizes too.")
    ] = False,
    formalization: Annotated[str, typer.Option(help=FORMALIZATION_HELP, metavar="NAME")] = "mc-mlm",
    audit: Annotated[
        list[Path] | None,
        typer.Option("--audit", help="A run of winokit audit, for the card; repeatable.", metavar="RUN"),
    ] = None,
    collection: Annotated[
        Path | None, typer.Option(help="An export of winokit collect, for the card.", metavar="DIR")
    ] = None,
    about: Annotated[
        Path | None, typer.Option(help="Markdown in your own words, for the card.", metavar="FILE")
    ] = None,
    hidden: Annotated[
        Path | None, typer.Option(help="Where the test's answers go. Default: DIR.hidden.", metavar="PATH")
    ] = None,
    secret: Annotated[
        Path | None,
        typer.Option(
            help="64 hexadecimal digits that splits and the test's order are drawn from. Default: DIR.hidden/secret, "
            "or a new one.",
            metavar="FILE",
        ),
    ] = None,
    previous: Annotated[
        Path | None,
        typer.Option(help="The release that this is the next version of. It needs --against.", metavar="DIR"),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            "--against",
            help="Retire what this model solves: SPEC, a file of predictions, or aflite:SPEC; repeatable.",
            metavar="SPEC",
        ),
    ] = None,
    watch: Annotated[
        list[str] | None,
        typer.Option("--watch", help="Show how this model fares, without filtering against it.", metavar="SPEC"),
    ] = None,
    majority: Annotated[float, typer.Option(help="Share of those models that must solve a group.")] = 1.0,
    alpha: Annotated[float, typer.Option(help="How surprising so many solved groups must be.")] = 0.05,
    bring_back: Annotated[
        bool, typer.Option("--bring-back", help="Train on what was retired before and is offered again.")
    ] = False,
    previous_hidden: Annotated[
        Path | None, typer.Option(help="The previous test's answers. Default: beside it.", metavar="PATH")
    ] = None,
    cache: CacheFile = None,
    seed: Annotated[int, typer.Option(help="Seed of what is public: the order of dev and training.")] = 0,
    as_: As = None,
    lenient: Lenient = False,
    json: Json = False,
) -> None:
    """Make a benchmark of filtered twins that others can use.

    Dev and a hidden test come from the kept problems, training sizes from all; twins never cross splits.
    The same input, seed and secret give the same files to the byte. With --previous, the next version of a release.
    """
    from winokit.stages.release.draws import read_secret
    from winokit.stages.release.run import ReleaseExtras
    from winokit.stages.release.settings import ReleaseSettings, amount_of

    settings = ReleaseSettings(
        name=name,
        version=version,
        licence=licence,
        seed=seed,
        dev=amount_of(dev, "dev"),
        test=amount_of(test, "test"),
        sizes=_sizes(sizes),
        split=split,
        complete=complete,
        singles=singles,
        formalization=formalization,
        date=date,
    )
    extras = ReleaseExtras(tuple(audit or ()), collection, about, hidden, read_secret(secret) if secret else None)
    common = {"removed": removed, "settings": settings, "extras": extras, "as_": as_, "lenient": lenient}
    if previous is None:
        refuse_unused(context, OF_NEXT, "an option of the next version of a release: --previous DIR")
        made, page = _first(kept, out, common, against), None
    else:
        from winokit.stages.evolve.next_version import Predecessor
        from winokit.stages.evolve.preparing import EvolveModels

        models = EvolveModels(tuple(against or ()), tuple(watch or ()))
        before = Predecessor(previous, models, majority, alpha, previous_hidden, bring_back)
        made, page = _next(before, kept, out, common, cache)
    tell(made.notes)
    tell(warnings(made))
    if json:
        print_json({**as_json(made), "page": str(page) if page else None})
    else:
        say(made)
        if page:
            typer.echo(f"what changed, and how models fare: {page}")


def _first(kept: str | None, out: Path, common: dict[str, Any], against: list[str] | None) -> Release:
    """Release problems for the first time."""
    from winokit.stages.release.run import release as run

    if kept is None:
        raise BadInput("name the problems to release, or the release to follow: --previous DIR")
    if against:
        raise BadInput("--against needs the release to filter again: --previous DIR")
    with steps() as step:
        return run(kept, out, **common, step=step)


def _next(
    before: Predecessor, kept: str | None, out: Path, common: dict[str, Any], cache: str | None
) -> tuple[Release, Path]:
    """Release the next version of a release."""
    from winokit.stages.evolve.next_version import release_next

    with open_cache(cache) as known, progress_bar("asking the models") as progress:
        made = release_next(before, out, kept=kept, **common, cache=known, progress=progress)
    return made.release, made.page


def _sizes(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise BadInput(f"--sizes {text}: numbers with commas between expected, such as 160,640,2560")
    return tuple(map(int, parts))


@contextmanager
def steps() -> Iterator[Callable[[str], None] | None]:
    """What is being done, on standard error, where a person looks."""
    from rich.console import Console

    screen = Console(stderr=True)
    if not screen.is_terminal:
        yield None
        return
    with screen.status("release") as status:
        yield lambda what: status.update(f"{what} ({STEPS.index(what) + 1} of {len(STEPS)})")


def warnings(made: Release) -> list[str]:
    """What a maker of benchmarks must not overlook."""
    from winokit.stages.release.licences import NOT_STATED

    told = []
    if made.licence == NOT_STATED:
        told.append("THE LICENCE IS NOT STATED, and the card says so: nobody may use the release. Give one: --licence")
    for crossing in made.crossings:
        if crossing.repeated or crossing.groups:
            told.append(
                f"{crossing.one} and {crossing.other}: {sum(crossing.repeated.values()):,} repeated texts, "
                f"{crossing.groups:,} groups in both"
            )
    for name, leaks in made.leaks.items():
        told += [f"{name}: {leak.says} in {leak.right:,} of {leak.n:,}" for leak in leaks]
    if made.test_leaks and made.hidden is not None:
        told.append(f"test: something predicts its answers without reading: {from_here(made.hidden / 'checks.json')}")
    return told


def say(made: Release) -> None:
    """The splits as a table, what stayed out, and where everything is."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("file", no_wrap=True)
    for heading in ("problems", "kept", "removed", "groups", "single"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, row in as_json(made)["splits"].items():
        table.add_row(name, *(f"{row[key]:,}" for key in ("problems", "kept", "removed", "groups", "single")))
    console().print(table)
    for reason, count in made.contents.left_out.items():
        typer.echo(f"left out: {count:,} ({reason})")
    typer.echo(f"{made.folder}: {made.settings.name} {made.settings.version}; card: {made.folder / 'README.md'}")
    if made.hidden is not None:
        typer.echo(f"answers and secret of the test: {from_here(made.hidden)} (keep it to yourself)")


def from_here(path: Path) -> Path:
    """A path as one would type it: without the folder one is in."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def as_json(made: Release) -> dict[str, Any]:
    """The same for scripts."""
    from dataclasses import asdict

    splits = {}
    for name, data in made.contents.shown.items():
        kept = sum(problem.id in made.contents.kept for problem in data)
        grouped = sum(map(len, data.groups.values()))
        counts = {"problems": len(data), "kept": kept, "removed": len(data) - kept}
        splits[name] = {**counts, "groups": len(data.groups), "single": len(data) - grouped}
    return {
        "name": made.settings.name,
        "version": made.settings.version,
        "licence": made.licence,
        "seed": made.settings.seed,
        "splits": splits,
        "left_out": made.contents.left_out,
        "crossings": [asdict(crossing) for crossing in made.crossings],
        "leaks": {name: [asdict(leak) for leak in leaks] for name, leaks in made.leaks.items()},
        "test_leaks": made.test_leaks,
        "notes": [*made.notes, *warnings(made)],
        "out": str(made.folder),
        "hidden": str(made.hidden) if made.hidden else None,
    }
