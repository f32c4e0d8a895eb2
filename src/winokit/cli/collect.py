"""`winokit collect`: a study in which people write and judge problems."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winokit.cli.common import DATA_HELP, Json, print_json, tell
from winokit.cli.options import show

if TYPE_CHECKING:
    from winokit.collect.study.invites import InviteInfo
    from winokit.collect.study.study import Study

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Collect twins and judgements from people.")

Folder = Annotated[Path, typer.Argument(help="The study's folder.", metavar="STUDY", show_default=False)]
Database = Annotated[
    str | None,
    typer.Option(
        "--db", help="postgresql://…; default: $WINOKIT_COLLECT_DB, the config's, or study.db.", metavar="URL"
    ),
]


@app.command()
def init(
    folder: Folder,
    title: Annotated[str | None, typer.Option(help="Shown on every page.")] = None,
    twins: Annotated[int, typer.Option(help="How many pairs of twins to ask for.", min=1)] = 100,
    votes: Annotated[int, typer.Option(help="How many workers judge each problem.", min=1)] = 3,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind", help="write, validate, switchable or associative; repeatable. Default: write, validate."
        ),
    ] = None,
    evaluate: Annotated[
        str | None,
        typer.Option("--evaluate", help=f"Let people solve a dataset instead. {DATA_HELP}", metavar="DATA"),
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(help="original, switched, no-cands, part-sent or local-context of that dataset; repeatable."),
    ] = None,
    limit: Annotated[int, typer.Option(help="Only the first so many problems of it; 0: all.", min=0)] = 0,
    adversary: Annotated[str, typer.Option(help="A model that twins should fool.", metavar="SPEC")] = "",
    db: Database = None,
    json: Json = False,
) -> None:
    """Make a study: a folder with a config and texts to edit. The database is made when it is first opened."""
    from winokit.collect import need_extra

    need_extra()
    from winokit.collect.study.study import StudyWishes, create_study

    wishes = StudyWishes(title, twins, votes, tuple(kind or ()), evaluate, tuple(variant or ()), limit, adversary)
    config, notes = create_study(folder, wishes, db)
    tell(notes)
    asked = config.tasks
    if json:
        print_json({"study": str(folder), "title": config.title, "kinds": list(asked.kinds), "votes": asked.votes})
        return
    typer.echo(f"{folder}: {config.title}, {', '.join(asked.kinds)}")
    typer.echo(f"edit {folder / 'study.toml'} and the texts beside it, then: winokit collect serve {folder}")


@app.command()
def serve(
    folder: Folder,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on.", min=0, max=65535)] = 8000,
    url: Annotated[
        str | None, typer.Option(help="The address people see, where a proxy stands before the server.", metavar="URL")
    ] = None,
    db: Database = None,
) -> None:
    """Serve a study's pages until Ctrl-C. The first visit makes the requester's account."""
    with _opened(folder, db) as study:
        from winokit.collect.serving import listen, run

        with listen(host, port) as place:
            base = (url or f"http://{host}:{place.getsockname()[1]}").rstrip("/")
            run(study, place, base, behind_proxy=url is not None, say=typer.echo)


@app.command()
def invite(
    folder: Folder,
    count: Annotated[int, typer.Option(help="How many links.", min=1, max=10_000)] = 1,
    uses: Annotated[int, typer.Option(help="How many people may come in by each.", min=1)] = 1,
    days: Annotated[float | None, typer.Option(help="How long they are good; default: the config's.", min=0.01)] = None,
    label: Annotated[str, typer.Option(help="A note for yourself.")] = "",
    worker: Annotated[
        str | None, typer.Option(help="Let this worker in again instead, on another device.", metavar="CODE")
    ] = None,
    url: Annotated[str, typer.Option(help="The address people see.", metavar="URL")] = "http://127.0.0.1:8000",
    db: Database = None,
    json: Json = False,
) -> None:
    """Make links that let workers in: signed, expiring, one for each by default."""
    from winokit.errors import BadInput

    if worker is not None and (count > 1 or uses > 1):
        raise BadInput("--worker makes one link for one person: leave out --count and --uses")
    with _opened(folder, db) as study:
        from winokit.collect.study import invites

        if worker is not None:
            made = [invites.return_link(study, worker, days=days)]
        else:
            made = [invites.create(study, label, uses=uses, days=days) for _ in range(count)]
    links = [_link(one, url) for one in made]
    if json:
        print_json(links)
    else:
        for link in links:
            typer.echo(link["url"])


@app.command()
def status(
    folder: Folder,
    workers: Annotated[bool, typer.Option("--workers", help="Also what is known about each worker's work.")] = False,
    db: Database = None,
    json: Json = False,
) -> None:
    """Show how far a study has come, how far people agree and what it has cost."""
    from dataclasses import asdict

    with _opened(folder, db) as study:
        from winokit.collect.study import progress, quality

        now = progress.snapshot(study)
        people = quality.workers(study) if workers else []
    if json:
        print_json(now.to_json() | ({"people": [asdict(one) for one in people]} if workers else {}))
        return
    from winokit.collect.study.progress import status_lines

    show(status_lines(now, people), machine=False)


@app.command()
def export(
    folder: Folder,
    out: Annotated[Path | None, typer.Option("--out", help="Default: STUDY/export.", metavar="DIR")] = None,
    db: Database = None,
    json: Json = False,
) -> None:
    """Write problems with votes, times and pseudonymous workers, and people's answers as predictions."""
    target = out or folder / "export"
    with _opened(folder, db) as study:
        from winokit.collect.study.export import export as run

        done = run(study, target)
    tell(done.notes)
    if json:
        print_json({"out": str(target), "files": done.files, "notes": done.notes})
        return
    for name, rows in done.files.items():
        typer.echo(f"{target / name}: {rows:,}")
    if done.files.get("predictions.jsonl"):
        typer.echo(
            f"audit people: winokit audit {target / 'evaluated.jsonl'} --predictions {target / 'predictions.jsonl'}"
        )


@app.command()
def withdraw(
    folder: Folder,
    worker: Annotated[str, typer.Argument(help="The worker's code.", metavar="CODE", show_default=False)],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether you are sure.")] = False,
    db: Database = None,
    json: Json = False,
) -> None:
    """Take out what a worker has written and judged, for good, as they have asked. What they earned stays owed."""
    from dataclasses import asdict

    with _opened(folder, db) as study:
        from winokit.collect.study import moderation, workers
        from winokit.collect.web.rendering import money

        workers.get(study, worker)
        if not yes:
            typer.confirm(f"Delete the sentences and judgements of {worker}? They cannot be put back.", abort=True)
        done = moderation.withdraw(study, worker, "terminal")
        owed = money(done.open_cents, study.config.pay.currency)
    if json:
        print_json(asdict(done))
        return
    typer.echo(f"{worker}: taken out {done.judgements:,} judgements and {done.texts:,} sentences; still owed: {owed}")
    if not done.is_forgotten:
        typer.echo("their id on the platform is kept until that is paid, and deleted then")


@contextmanager
def _opened(folder: Path, db: str | None) -> Iterator[Study]:
    from winokit.collect import need_extra

    need_extra()
    from winokit.collect.study.study import Study

    study = Study.open(folder, db)
    try:
        yield study
    finally:
        study.close()


def _link(one: InviteInfo, url: str) -> dict[str, Any]:
    return {"url": url.rstrip("/") + one.path, "id": one.id, "uses": one.most_uses, "expires_at": str(one.expires_at)}
