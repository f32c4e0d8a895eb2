"""The verbs of `winokit collect`, as calls that take a study's folder."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import winokit
from winokit import WinokitError
from winokit.extend import DATA_HELP, BadInput, Help, Lines, owner_only, tell, verb

if TYPE_CHECKING:
    from winokit_collect.study.study import Study

NEW_OBJECTS = 5_000
"""Number of new objects after which the garbage collector runs: as many as several pages make."""
WAITING = 2048
"""Number of connections that may wait to be accepted, as in uvicorn."""
PROCESSES = 2
"""Number of server processes on PostgreSQL. Each uses a core and some 30 of the usual 100 connections."""
NEVER_SERVED = "http://127.0.0.1:8000"
"""Address of links to a study that was never served: where `serve` listens by default."""
Folder = Annotated[Path, Help("The study's folder.", metavar="STUDY")]
Database = Annotated[
    str | None, Help("postgresql://…; default: $WINOKIT_COLLECT_DB, the one in study.toml, or study.db.", metavar="URL")
]
Address = Annotated[
    str | None, Help("The public address; default: [server] url in study.toml, or where it is served.", metavar="URL")
]
Pilot = Annotated[bool, Help("Pilot: the consent page may have gaps, and everyone who takes part is marked.")]


@dataclass(frozen=True)
class StudyAnswer:
    """Result of a command.

    `record` is plain data for scripts, `lines` are for people to read.
    """

    record: Any
    lines: Lines


def opened(folder: str | Path, db: str | None = None, *, pilot: bool = False, to_read: bool = False) -> closing[Study]:
    """Open a study, to be closed at the end of a `with` block.

    With `pilot`, workers who join are marked. With `to_read`, the database may be one that cannot be written.
    """
    from winokit_collect.study.study import Study

    return closing(Study.open(folder, db, pilot=pilot, to_read=to_read))


def links_address(study: Study, url: str | None) -> str:
    """Public address of a study, with which its links begin.

    `url`, else the one in study.toml, else that at which the study was served last. It has no slash at the end.
    """
    base = url or study.config.server.url or study.served.get("url") or NEVER_SERVED
    return base.rstrip("/")


@verb
@owner_only()
def init(
    folder: Folder,
    *,
    title: Annotated[str | None, Help("Shown on every page.")] = None,
    language: Annotated[
        str | None, Help("Language of workers and texts, in BCP 47 (bundled: en, de). Default: that of DATA, or en.")
    ] = None,
    twins: Annotated[int, Help("How many pairs of twins to collect.", least=1)] = 100,
    votes: Annotated[int, Help("How many workers judge each problem.", least=1)] = 3,
    kind: Annotated[
        tuple[str, ...], Help("write, validate, switchable or associative; repeatable. Default: write, validate.")
    ] = (),
    evaluate: Annotated[str | None, Help(f"Let people solve a dataset instead. {DATA_HELP}", metavar="DATA")] = None,
    judge: Annotated[
        str | None, Help(f"Let people judge a dataset instead; --kind says how. {DATA_HELP}", metavar="DATA")
    ] = None,
    variant: Annotated[
        tuple[str, ...], Help("original, switched, no-cands, part-sent or local-context of that dataset; repeatable.")
    ] = (),
    limit: Annotated[
        int, Help("Only this many of its problems: the first; with --judge, random whole groups. 0: all.", least=0)
    ] = 0,
    adversary: Annotated[str, Help("A model that twins should fool.", metavar="SPEC")] = "",
    db: Database = None,
) -> StudyAnswer:
    """Make a study: a folder with a config and texts to edit. The database is made when it is first opened."""
    from winokit_collect.study import content, new_tasks, study
    from winokit_collect.study.config import parse_config

    folder = Path(folder)
    study.refuse_existing(folder)
    _check_data_options(evaluate, judge, kind, variant, limit, adversary)
    # Only in new studies: an update must not take out votes that counted yesterday.
    settings: dict[str, Any] = {"quality": {"discard_blocked": True, "second_opinions": True}}
    if title:
        settings["title"] = title
    if evaluate:
        settings["title"] = title or f"People solve {Path(evaluate).stem}"
        settings["tasks"] = {"votes": votes, "kinds": ["evaluate"], "twins": 0}
        settings["evaluate"] = {"data": new_tasks.DATA, "variants": list(variant) or ["original"], "limit": limit}
    elif judge:
        settings["title"] = title or f"People judge {Path(judge).stem}"
        settings["tasks"] = {"votes": votes, "kinds": list(kind), "twins": 0}
        settings["judge"] = {"data": new_tasks.DATA}
    else:
        settings["tasks"] = {"votes": votes, "kinds": list(kind) or ["write", "validate"], "twins": twins}
        settings["adversary"] = {"model": adversary}
    data = evaluate or judge
    dataset = _load_in_language(data, language) if data else None
    settings["language"] = language or "en"
    if dataset and not language and len(dataset.languages) == 1:
        settings["language"] = dataset.languages[0]
    config = parse_config(settings, "winokit collect init")
    if dataset is not None:
        if judge:
            dataset = new_tasks.draw_groups(dataset, limit, config.seed)
            notes = new_tasks.check_judgeable(dataset, kind)
        else:
            _, notes = new_tasks.evaluation_problems(dataset[: limit or None], config.evaluate.variants)
        # A copy, so that the study does not change when the file elsewhere does.
        winokit.write(dataset, folder / new_tasks.DATA)
        tell(notes)
    study.write_folder(folder, config, db)
    kinds = list(config.tasks.kinds)
    kind_names = ", ".join(kinds)
    lines = [f"{folder}: {config.title}, {kind_names}"]
    if not content.is_bundled(config.language):
        lines.append(
            f"no texts are bundled in {config.language!r}: those in {folder} are in English, for you to translate"
        )
    config_path = folder / "study.toml"
    lines.append(f"edit {config_path} and the texts next to it, then run: winokit collect serve {folder}")
    record = {"study": str(folder), "title": config.title, "language": config.language}
    return StudyAnswer({**record, "kinds": kinds, "votes": config.tasks.votes}, lines)


def _check_data_options(
    evaluate: str | None,
    judge: str | None,
    kinds: Sequence[str],
    variants: Sequence[str],
    limit: int,
    adversary: str,
) -> None:
    """Raise BadInput for options of `init` that do not go together."""
    from winokit_collect.study.schema import JUDGEMENTS

    if variants and not evaluate:
        raise BadInput("--variant rewrites a dataset: name the dataset with --evaluate DATA")
    if evaluate and (kinds or adversary or judge):
        raise BadInput("--evaluate cannot be combined with --kind, --judge or --adversary")
    can_judge = bool(kinds) and set(kinds) <= set(JUDGEMENTS)
    if judge and (adversary or not can_judge):
        judgements = " or ".join(JUDGEMENTS)
        raise BadInput(f"--judge requires --kind {judgements} (repeatable), and does not take --adversary")
    if limit and not (evaluate or judge):
        raise BadInput("--limit requires data: name it with --evaluate DATA or --judge DATA")


def _load_in_language(data: str, language: str | None) -> winokit.Dataset:
    """Load a dataset in a language.

    Raises BadInput if it has several and none is chosen.
    """
    from winokit.extend import with_language

    dataset = winokit.load(data)
    if language:
        dataset = with_language(dataset, language)
        tell(dataset.notes)
    elif len(dataset.languages) > 1:
        languages = ", ".join(dataset.languages)
        raise BadInput(f"{data}: in {languages}; choose one with --language")
    return dataset


@verb
def serve(
    folder: Folder,
    *,
    host: Annotated[str, Help("The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Help("The port to listen on.", least=0, most=65535)] = 8000,
    url: Address = None,
    pilot: Pilot = False,
    processes: Annotated[
        int | None, Help("How many processes serve; default: 2 on PostgreSQL, 1 on SQLite.", least=1, most=64)
    ] = None,
    db: Database = None,
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Serve a study's pages until Ctrl-C. The first visit makes the requester's account."""
    with opened(folder, db, pilot=pilot) as study, listen(host, port) as place:
        if study.store.is_sqlite and (processes or 1) > 1:
            raise BadInput(f"--processes {processes}: SQLite is served by 1; --db postgresql://… takes more")
        public_url = url or study.config.server.url
        base = links_address(study, public_url or f"http://{host}:{place.getsockname()[1]}")
        study.remember_served(base)
        study.adversary.prepare(study)
        announce(study, base, say)
        if study.store.is_sqlite or processes == 1:
            run_app(study, place, base, behind_proxy=bool(public_url))
            return
        from winokit_collect.study.study import read_secret

        read_secret(study.folder)  # Makes a missing one, before several processes look for it.
        del study.adversary  # each process loads the model
        study.close()
        _start_servers(processes or PROCESSES, place, base, bool(public_url), study.folder, db, pilot)


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket at an address.

    Port 0 chooses a free port. Connections made before the pages are served wait. Raises BadInput if the address is in
    use.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # TCP by name: asyncio sends small answers at once (TCP_NODELAY) only if it knows that this is TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        # Of two sockets that are bound to one address, only the first may listen.
        listener.listen(WAITING)
    except OSError as error:
        listener.close()
        raise BadInput(f"{host}:{port}: cannot listen there ({error.strerror}); choose another --port") from None
    return listener


def announce(study: Study, base: str, say: Callable[[str], None]) -> None:
    """Say the address, warnings, and the link for the first account.

    `say` is called with each line.
    """
    from winokit_collect.platforms.base import platform_of, warn_of_reward
    from winokit_collect.study.requesters import setup_path

    reward = warn_of_reward(study)
    say(f"{study.config.title}: {base}")
    closed = study.why_closed and f"workers cannot enter yet: {study.why_closed}"
    pilot = "pilot: everyone who takes part now is marked and can be removed later" if study.pilot else ""
    is_seen = os.name == "posix" and study.folder.stat().st_mode & 0o077
    others = f"other users can read {study.folder}; run: chmod 700 {study.folder}" if is_seen else ""
    notes = (closed, pilot, others, *study.notes, platform_of(study).warning(), reward)
    for note in filter(None, notes):
        say(f"warning: {note}")
    path = setup_path(study)
    if path:
        say(f"create the requester's account (valid for one day): {base}{path}")


def run_app(study: Study, place: socket.socket, base: str, *, behind_proxy: bool) -> None:
    """Serve a study's pages at a socket in this process, until Ctrl-C.

    `base` is the public address. With `behind_proxy`, addresses of clients are read from a proxy's headers.
    """
    import uvicorn

    from winokit_collect.web.app import create_app
    from winokit_collect.web.protocol import ImpatientProtocol

    app = create_app(study, secure=base.startswith("https://"), url=base)
    # h11 refuses endless headers, unlike the other parser that uvicorn may find installed. Addresses are not logged:
    # some of them let people in.
    quiet: dict[str, Any] = {"log_level": "warning", "access_log": False}
    config = uvicorn.Config(app, http=ImpatientProtocol, proxy_headers=behind_proxy, **quiet)
    _freeze_loaded_objects()
    with _stop_on_term():
        uvicorn.Server(config).run(sockets=[place])


@contextmanager
def _stop_on_term() -> Iterator[None]:
    """Let SIGTERM end the block by an exception, so that databases are closed.

    Only in the main thread. uvicorn handles the signal first and then raises it again, which would end the process at
    once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _start_servers(processes: int, *how: Any) -> None:
    """Serve in several processes until Ctrl-C.

    `how` has the arguments of `_run_server`. If one process ends, the others are stopped and WinokitError is raised.
    """
    spawn = multiprocessing.get_context("spawn")
    children = [spawn.Process(target=_run_server, args=how) for _ in range(processes)]
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        for child in children:
            child.start()
        wait([child.sentinel for child in children])
    finally:
        started = [child for child in children if child.pid is not None]
        for child in started:
            child.terminate()
        for child in started:
            child.join()
        signal.signal(signal.SIGTERM, before)
    raise WinokitError("a server process ended by itself; the others were stopped")


def _run_server(place: socket.socket, base: str, behind_proxy: bool, folder: Path, db: str | None, pilot: bool) -> None:
    """Serve the pages in a child process, at a socket that all processes share.

    It ends when its parent process ends.
    """
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    try:
        with suppress(KeyboardInterrupt), opened(folder, db, pilot=pilot) as study:
            study.adversary.prepare(study)
            run_app(study, place, base, behind_proxy=behind_proxy)
    except WinokitError as error:
        sys.exit(f"winokit: {error}")


def _stop_with_parent() -> None:
    """Wait until the parent process has ended, then end this one."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    signal.raise_signal(signal.SIGTERM)


def _freeze_loaded_objects() -> None:
    """Exclude all objects loaded by now from garbage collection.

    A pass over them would stop all pages for 0.1 s.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)


@verb
def invite(
    folder: Folder,
    *,
    count: Annotated[int, Help("How many links.", least=1, most=10_000)] = 1,
    uses: Annotated[int, Help("How many people may use each link.", least=1)] = 1,
    days: Annotated[
        float | None, Help("How long they are valid; default: see study.toml.", least=0.01, most=3650)
    ] = None,
    label: Annotated[str, Help("A note for yourself.")] = "",
    worker: Annotated[str | None, Help("Instead, let this worker back in on another device.", metavar="CODE")] = None,
    url: Address = None,
    pilot: Pilot = False,
    db: Database = None,
) -> StudyAnswer:
    """Make links that let workers in: signed, expiring, one for each by default."""
    if worker is not None and (count > 1 or uses > 1):
        raise BadInput("--worker makes one link for one person; it does not take --count or --uses")
    with opened(folder, db, pilot=pilot) as study:
        from winokit_collect.study import invites

        base = links_address(study, url)
        if pilot and study.served.get("pilot") is False:
            tell([f"{folder} was last served without --pilot: people who join are not marked"])
        links = [invites.create(study, label, uses=uses, days=days, worker=worker) for _ in range(count)]
    record: list[dict[str, Any]] = []
    for invite, path in links:
        expires_at = str(invite.expires_at)
        record.append({"url": base + path, "id": invite.id, "uses": invite.most_uses, "expires_at": expires_at})
    return StudyAnswer(record, [link["url"] for link in record])


@verb
def publish(
    folder: Folder,
    *,
    visits: Annotated[int, Help("How many to offer.", least=1)] = 10,
    minutes: Annotated[int, Help("How long a visit may take.", least=1)] = 60,
    url: Address = None,
    yes: Annotated[bool, Help("Do not ask whether you are sure.")] = False,
    db: Database = None,
) -> StudyAnswer:
    """Offer visits on Mechanical Turk: a HIT with the reward and the qualifications of study.toml."""
    if not yes:
        raise BadInput(f"{folder}: publishing spends money; confirm with --yes (in Python: yes=True)")
    with opened(folder, db) as study:
        from sqlalchemy import select

        from winokit_collect.platforms.base import platform_of
        from winokit_collect.study.schema import LogEntry

        platform = platform_of(study)
        base = links_address(study, url)
        with study.store.read() as session:
            published = select(LogEntry.target).where(LogEntry.action == "publish").order_by(LogEntry.id)
            earlier = session.scalars(published).all()
        offer_id = platform.publish(base, study.config.title, visits, minutes, earlier)
        study.note("terminal", "publish", offer_id, visits=visits)
    return StudyAnswer({"id": offer_id, "visits": visits, "url": f"{base}/start"}, [f"{platform.title}: {offer_id}"])


@verb
def reconcile(
    folder: Folder,
    *,
    adopt: Annotated[bool, Help("Enter into the ledger what the platform has paid for visits by itself.")] = False,
    db: Database = None,
) -> StudyAnswer:
    """Compare the ledger with the platform, visit by visit."""
    with opened(folder, db) as study:
        from winokit_collect.platforms import reconcile as books
        from winokit_collect.web.rendering import money

        entered = books.adopt(study, "terminal") if adopt else 0
        comparison = books.reconcile(study)
        study.note("terminal", "reconcile", cents=comparison.disagreement_cents)
    tell(comparison.notes)
    lines = []
    if adopt:
        lines.append(f"entered into the ledger: {entered:,} visits")
    for difference in comparison.differences:
        amount = money(difference.cents, comparison.currency)
        lines.append(f"{difference.code or 'unknown'}: {difference.kind}, {amount}: {difference.why}")
    paid = money(comparison.platform_cents, comparison.currency)
    noted = money(comparison.ledger_cents, comparison.currency)
    lines.append(f"{comparison.platform}: {comparison.visits:,} visits, {paid} paid; the ledger says {noted}")
    lines.append(f"the two books disagree on {money(comparison.disagreement_cents, comparison.currency)}")
    return StudyAnswer(comparison.to_json() | {"entered": entered}, lines)


@verb
def status(
    folder: Folder,
    *,
    workers: Annotated[bool, Help("Also show statistics on each worker's work.")] = False,
    db: Database = None,
) -> StudyAnswer:
    """Show how far a study has come, how far people agree and what it has cost."""
    with opened(folder, db, to_read=True) as study:
        from winokit_collect.study import progress, quality

        now = progress.snapshot(study)
        people = quality.workers(study) if workers else []
        notes = study.notes
    tell(notes)
    record = now.to_json() | {"notes": notes}
    if workers:
        record["people"] = [vars(person) for person in people]
    return StudyAnswer(record, progress.status_lines(now, people))


@verb
def check(folder: Folder, *, db: Database = None) -> StudyAnswer:
    """Check a study before it is served: its texts, its consent page, and what an hour pays."""
    with opened(folder, db, to_read=True) as study:
        from winokit_collect.study.pay_floor import check_prices, pay_floor
        from winokit_collect.study.progress import price_lines, usual_seconds

        floor = pay_floor(study.config)
        prices = check_prices(study.config, usual_seconds(study))
        notes = [*filter(None, [study.why_closed]), *study.notes]
        lines = list(price_lines(prices, floor, study.config))
    low = [price.kind for price in prices if price.is_low]
    lines += [f"note: {note}" for note in notes] or ["texts and consent page: nothing is missing"]
    prices_record = [asdict(price) | {"is_low": price.is_low} for price in prices]
    is_ready = not low and not notes
    record = {"prices": prices_record, "notes": notes, "ready": is_ready}
    record |= {"floor_cents": floor.cents, "floor_of": floor.reason}
    return StudyAnswer(record, lines)


@verb
def rehearse(
    folder: Folder,
    *,
    pairs: Annotated[int, Help("How many pairs, or groups of problems, are played.", least=1, most=2000)] = 30,
    bots: Annotated[float, Help("Share of people who press anything.", least=0.0, most=0.9)] = 0.1,
    seed: Annotated[int, Help("Seed for every random choice.")] = 0,
    out: Annotated[Path | None, Help("The page; default: STUDY/rehearsal.html.", metavar="FILE")] = None,
    db: Database = None,
) -> StudyAnswer:
    """Play a study through with made-up people, on a platform that goes wrong.

    The page says what was owed and paid, what an hour pays, which rejections hang on whom, and whether the finished
    study can tell two models apart. Nothing in the study is changed.
    """
    from winokit.extend import write_whole
    from winokit_collect.rehearsal import play
    from winokit_collect.rehearsal.plan import RehearsalPlan
    from winokit_collect.study.config import FILE, read_config
    from winokit_collect.web.rendering import money, render_file

    folder = Path(folder)
    read_config(folder / FILE)
    seconds = play.seconds_of(folder, db)
    plan = RehearsalPlan(pairs=pairs, bot_share=bots, seed=seed, seconds=seconds)
    played = play.rehearse(folder, plan)
    contract = play.stand_in_contract()
    page_bytes = render_file("rehearsal", played=played, contract=contract)
    page = Path(out or folder / "rehearsal.html")
    write_whole(page, page_bytes)
    tell(list(played.notes))
    sums = played.money
    hour = played.hour
    verdicts = played.verdicts
    power = played.power
    owed_amount = money(sums.owed_cents, sums.currency)
    paid_amount = money(sums.paid_cents, sums.currency)
    disagreement = money(sums.disagreement_cents, sums.currency)
    hourly = money(hour.hourly_cents, sums.currency)
    least = ""
    if hour.floor.cents:
        least = f" (should: {money(hour.floor.cents, sums.currency)})"
    hanging = f"{verdicts.hang_on_blocked:,} of these hang on a blocked worker, {verdicts.hang_on_bots:,} on a bot"
    share = f"{100 * power.power:.0f} % with {power.problems:,} problems"
    lines = [
        f"owed {owed_amount}, paid {paid_amount}; the two books disagree on {disagreement}",
        f"an hour pays {hourly}{least}, a worker stays {hour.minutes_a_visit:.0f} min",
        f"{verdicts.valid:,} valid, {verdicts.invalid:,} rejected; {hanging}",
        f"power to see 5 points: {share}; 80 % needs {power.needed:,}",
        str(page),
    ]
    record = play.to_record(played)
    record["page"] = str(page)
    return StudyAnswer(record, lines)


@verb
def export(
    folder: Folder,
    *,
    out: Annotated[Path | None, Help("Default: STUDY/export.", metavar="DIR")] = None,
    rule: Annotated[
        Literal["v1", "majority", "dawid-skene"] | None,
        Help("Decide again what is valid, by one rule; default: by the rule that each problem was made under."),
    ] = None,
    db: Database = None,
) -> StudyAnswer:
    """Write problems with votes, times and pseudonymous workers, and people's answers as predictions."""
    target = Path(out or Path(folder) / "export")
    with opened(folder, db, to_read=True) as study:
        from winokit_collect.study import export

        exported = export.export(study, target, rule)
    files = exported.files
    notes = exported.notes
    tell(notes)
    lines = [f"{target / name}: {rows:,}" for name, rows in files.items()]
    if files.get("predictions.jsonl"):
        evaluated_path = target / "evaluated.jsonl"
        predictions_path = target / "predictions.jsonl"
        lines.append(f"audit people: winokit audit {evaluated_path} --predictions {predictions_path}")
    if "labels.jsonl" in files:
        lines.append(f"use the labels: winokit audit DATA --labels {target / 'labels.jsonl'}")
    return StudyAnswer({"out": str(target), "files": files, "notes": notes}, lines)


@verb
def backup(
    folder: Folder,
    *,
    out: Annotated[Path | None, Help("The file; default: STUDY/backups/DATE.tar.gz.", metavar="FILE")] = None,
    db: Database = None,
) -> StudyAnswer:
    """Write the database, the texts and the key into one file, also while serving."""
    with opened(folder, db, to_read=True) as study:
        from winokit_collect.study import backups

        stamp = f"{study.now():%Y%m%d-%H%M%S}"
        default_path = Path(folder) / backups.BACKUPS / f"{stamp}.tar.gz"
        backup_made = backups.make_backup(study, Path(out or default_path))
    lines = [f"{backup_made.path}: {backup_made.summary}", "checked: it was opened and counted"]
    if not backup_made.has_key:
        tell([f"{folder}: no secret.key is in the backup; if the key comes from the environment, keep it too"])
    record = {"backup": str(backup_made.path), "made_at": backup_made.made_at, "counts": dict(backup_made.counts)}
    return StudyAnswer(record | {"has_key": backup_made.has_key}, lines)


@verb
def restore(
    folder: Folder,
    backup: Annotated[Path, Help("A file that `backup` has written.", metavar="BACKUP")],
    *,
    yes: Annotated[bool, Help("Do not ask whether you are sure.")] = False,
    db: Database = None,
) -> StudyAnswer:
    """Put a study back as a backup has it. Stop the server first.

    What is there now is kept in STUDY/backups.
    """
    from winokit_collect.study import backups

    if not yes:
        raise BadInput(f"{folder}: restoring replaces what is there; confirm with --yes (in Python: yes=True)")
    restored, replaced = backups.restore_backup(Path(folder), Path(backup), db)
    lines = [f"{folder}: as of {restored.made_at}", f"opened and counted: {restored.summary}"]
    if replaced:
        lines.append(f"what was there before is kept: {replaced}")
    record: dict[str, Any] = {"study": str(folder), "made_at": restored.made_at, "counts": dict(restored.counts)}
    record["kept"] = str(replaced) if replaced else None
    return StudyAnswer(record, lines)


@verb
def withdraw(
    folder: Folder,
    worker: Annotated[str, Help("The worker's code.", metavar="CODE")],
    *,
    yes: Annotated[bool, Help("Do not ask whether you are sure.")] = False,
    db: Database = None,
) -> StudyAnswer:
    """Take out what a worker has written and judged, for good, as they have asked. What they earned stays owed."""
    if not yes:
        raise BadInput(f"{worker}: withdrawing cannot be undone; confirm with --yes (in Python: yes=True)")
    with opened(folder, db) as study:
        from winokit_collect.study import moderation, workers
        from winokit_collect.web.rendering import money

        workers.get(study, worker)
        done = moderation.withdraw(study, worker, "terminal")
        owed = money(done.open_cents, study.config.pay.currency)
    lines = [f"{worker}: deleted {done.judgements:,} judgements and {done.texts:,} sentences; still owed: {owed}"]
    if not done.is_forgotten:
        lines.append("their platform id is kept until that is paid, then deleted")
    return StudyAnswer(asdict(done), lines)


@verb
def account(
    folder: Folder,
    name: Annotated[str | None, Help("Whose account; default: list all accounts.", metavar="NAME")] = None,
    *,
    add: Annotated[bool, Help("Create the account and print a link for choosing its password.")] = False,
    reset: Annotated[bool, Help("Print such a link for somebody who forgot their password.")] = False,
    remove: Annotated[bool, Help("Remove the account and end its sessions.")] = False,
    role: Annotated[
        Literal["owner", "editor", "viewer"] | None,
        Help("owner: everything; editor: all but paying, managing accounts and removing a pilot; viewer: look."),
    ] = None,
    url: Address = None,
    db: Database = None,
) -> StudyAnswer:
    """List the accounts of requesters, or make, change or remove one."""
    if (add or reset or remove or role) and name is None:
        raise BadInput("name the account: winokit collect account STUDY NAME …")
    changes_role = role is not None and not add
    if sum((add, reset, remove, changes_role)) > 1:
        raise BadInput("--add, --reset, --remove and --role: one at a time (--add may have a --role)")
    with opened(folder, db) as study:
        from winokit_collect.study import requesters

        requester_name = name or ""
        link = ""
        if add:
            requesters.add(study, requester_name, None, "terminal", role=role or "viewer")
        elif role:
            requesters.change_role(study, requester_name, role, "terminal")
        elif remove:
            requesters.remove(study, requester_name, "terminal")
        if add or reset:
            link = links_address(study, url) + requesters.password_path(study, requester_name, "terminal")
        all_accounts = _list_accounts(study)
    accounts = [account for account in all_accounts if name in (None, account["name"])]
    if not accounts and name and not remove:
        names = ", ".join(account["name"] for account in all_accounts) or "none"
        raise BadInput(f"no account {name}; known: {names}")
    lines = [f"{account['name']}: {account['role']}, since {account['since'][:10]}" for account in accounts]
    if link:
        lines.append(f"choose a password (works once, for one day): {link}")
    return StudyAnswer({"accounts": accounts, "link": link or None}, lines or ["no accounts"])


def _list_accounts(study: Study) -> list[dict[str, str]]:
    """Name, role and date of every requester's account."""
    from winokit_collect.study import requesters

    accounts = []
    for requester in requesters.everybody(study):
        accounts.append({"name": requester.name, "role": requester.role, "since": str(requester.created_at)})
    return accounts


@verb
def reset_pilot(
    folder: Folder,
    *,
    write_off: Annotated[bool, Help("Also cancel what pilot workers are still owed.")] = False,
    yes: Annotated[bool, Help("Do not ask whether you are sure.")] = False,
    db: Database = None,
) -> StudyAnswer:
    """Delete what people did in a pilot, for good. What was paid stays in the ledger."""
    if not yes:
        raise BadInput(f"{folder}: removing cannot be undone; confirm with --yes (in Python: yes=True)")
    with opened(folder, db) as study:
        from winokit_collect.study.pilot import remove_pilot_data

        done = asdict(remove_pilot_data(study, "terminal", write_off=write_off))
    counts = []
    for name, count in done.items():
        noun = name.replace("_", " ")
        counts.append(f"{noun}: {count:,}")
    return StudyAnswer(done, [", ".join(counts)])
