"""An example study: the bundled twins, as if example workers had written and judged them.

`python -m winokit_collect.demo` fills a folder, prints an address, a login and an invite link, and serves the
pages. The workers are simulated, and the pages say so: they hand in twins of `open` and vote by its answers, with
some mistakes.
"""

import json
import re
import secrets
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from winokit import Problem, load
from winokit.extend import owner_only, twin_rules, write_whole
from winokit_collect.study import invites, moderation, requesters, submissions, tasks, workers
from winokit_collect.study.config import RulesConfig, parse_config
from winokit_collect.study.content import bundled, read_gold
from winokit_collect.study.refusals import Incomplete, NotNow
from winokit_collect.study.schema import ASSOCIATIVE, SWITCHABLE, VALIDATE, WRITE, Worker
from winokit_collect.study.study import Signer, Study, utc_now
from winokit_collect.study.voting import VoteTask, clause
from winokit_collect.verbs import announce, listen, run_app

Pair = tuple[Problem, Problem]
WORD = re.compile(r"\w+(?:['’]\w+)*")
NAME = "demo"
HOST = "127.0.0.1"
WRITERS = 3
JUDGES = 6
A_DAYS_VOTES = 5
SLIPS = 0.04
CARELESS_SLIPS = 0.5
CONSENT = """# An example

This study shows what winokit's pages look like. Its twins are those that come with winokit, and its workers are made
up. What you do here is kept on this computer only, and nobody is paid.
"""
CONFIG = {
    "title": "Example study",
    "topics": "topics.jsonl",
    "tasks": {"kinds": ["write", "validate", "switchable", "associative"], "twins": 60},
    "quality": {"quiz_pass_mark": 0.3, "quiz_attempts": 5},
    "adversary": {"model": "builtin"},
}


class DemoCast:
    """Simulated workers of the example study, who act at moments in the past.

    The same seed gives the same study. Making one replaces the study's clock and signer.
    """

    def __init__(self, study: Study, pairs: list[Pair], seed: int = 0) -> None:
        self.study = study
        self.moment = study.now()
        self.random = Random(seed)
        self.joined = 0
        study.now = lambda: self.moment
        study.signer = Signer(NAME.encode())
        self.stock: dict[tuple[str, str], list[Pair]] = defaultdict(list)
        for pair in pairs:
            self.stock[_get_topic_and_domain(pair)].append(pair)
        gold = read_gold(bundled("gold.jsonl"))
        self.known = {problem.text: problem for problem in (*load("open"), *gold)}
        self.known |= {clause(problem) or "": problem for problem in self.known.values()}

    def wait(self, seconds: float) -> None:
        """Move the simulated clock forward."""
        self.moment += timedelta(seconds=seconds)

    def newcomer(self) -> Worker:
        """Add a worker who has passed consent, screening and the quiz."""
        self.joined += 1
        worker = workers.join(self.study, "links", code=f"w-example-{self.joined}")
        self.wait(60)
        workers.consent(self.study, worker.id)
        workers.screen(self.study, worker.id, native_speaker=True, has_seen_wsc=False)
        if self.study.quiz:
            answers = [question.answer for question in self.study.quiz]
            workers.take_quiz(self.study, worker.id, answers)
        return worker

    def may_work(self, worker: Worker) -> bool:
        """Whether a worker may still work, and was not blocked."""
        row = workers.get(self.study, worker.code)
        return workers.step_of(self.study, row) == workers.WORK

    def write(self, worker: Worker) -> None:
        """Let a worker hand in a pair on the next topic.

        They give the topic back if no pair is left for it, or if the rules refuse the pair.
        """
        try:
            task = tasks.lease(self.study, worker.id, WRITE)
        except NotNow:
            return
        assert not isinstance(task, VoteTask)
        self.wait(self.random.uniform(90, 420))
        pairs = self.stock[task.topic["topic"], task.task_domain]
        form = _fill_form(*pairs.pop()) if pairs else {}
        try:
            submissions.submit(self.study, worker.id, task.token, form)
        except Incomplete:  # No pair is left on the topic, or it is too like an earlier one: somebody else gets it.
            tasks.give_back(self.study, worker.id, task.token)

    def judge(self, worker: Worker, kind: str, slips: float) -> bool:
        """Let a worker vote on the next problem.

        Returns whether there was one. `slips` is the probability that they answer wrongly.
        """
        try:
            task = tasks.lease(self.study, worker.id, kind)
        except NotNow:
            return False
        assert isinstance(task, VoteTask)
        is_careless = slips == CARELESS_SLIPS
        seconds = self.random.uniform(1, 3) if is_careless else self.random.uniform(8, 40)
        self.wait(seconds)
        ballot = self._make_ballot(task, slips)
        submissions.submit(self.study, worker.id, task.token, ballot)
        return True

    def _make_ballot(self, task: VoteTask, slips: float) -> dict[str, str]:
        """Fill in the form of a vote: right, except with probability `slips`."""
        text = (task.clause or "") if task.before is None else f"{task.before}_{task.after}"
        problem = self.known.get(text)
        is_slip = self.random.random() < slips
        if task.kind in (SWITCHABLE, ASSOCIATIVE):
            label = bool(problem and problem.labels.get(task.kind))
            return {"choice": "yes" if label != is_slip else "no"}
        choices = {name: choice for choice, name in task.options}
        right_name = (problem and problem.right) or ""
        right = choices.get(right_name, 0)
        choice = 1 - right if is_slip else right
        doubt = "yes" if self.random.random() < slips / 2 else "no"
        return {"choice": str(choice), "equally_plausible": doubt, "local_decides": "no"}


@owner_only()
def fill(folder: Path, days: int = 6) -> None:
    """Make an example study with `days` days of simulated work."""
    start = utc_now() - timedelta(days=days)
    pairs: list[Pair] = [(first, second) for first, second in load("open").groups.values()]
    write_whole(folder / "consent.md", CONSENT.encode())
    topic_lines = "".join(f"{json.dumps(row)}\n" for row in _collect_topics(pairs))
    write_whole(folder / "topics.jsonl", topic_lines.encode())
    with closing(Study.create(folder, parse_config(CONFIG), clock=lambda: start)) as study:
        # Nobody is there to answer warnings, and reading takes the model a while.
        study.config = study.config.model_copy(update={"rules": RulesConfig(warn=False)})
        _play_days(DemoCast(study, pairs), days)


def _play_days(cast: DemoCast, days: int) -> None:
    """Let the workers work for some days.

    Three write, six judge, and one is careless.
    """
    start = cast.moment
    writers = [cast.newcomer() for _ in range(WRITERS)]
    judges = [(cast.newcomer(), SLIPS) for _ in range(JUDGES)]
    careless = cast.newcomer()
    for day in range(days):
        for worker in writers * 2:
            cast.write(worker)
        for worker, slips in ((careless, CARELESS_SLIPS), *judges):
            for kind in (ASSOCIATIVE, VALIDATE, SWITCHABLE):
                for _ in range(A_DAYS_VOTES):
                    if not cast.may_work(worker) or not cast.judge(worker, kind, slips):
                        break
        cast.moment = max(cast.moment, start + timedelta(days=day + 1))
    if cast.may_work(careless):
        moderation.block(cast.study, careless.code, "answers faster than anybody can read", "system", discard_work=True)


def _get_topic_and_domain(pair: Pair) -> tuple[str, str]:
    """Topic and domain of a pair of twins."""
    problem = pair[0]
    topic = str(problem.labels["topic"]).capitalize()
    return topic, str(problem.domain)


def _fill_form(first: Problem, second: Problem) -> dict[str, str]:
    """Fill in the form for twins with a pair of problems."""
    one, other = first.candidates
    first_answer = first.candidates.index(first.right or "")
    second_answer = first.candidates.index(second.right or "")
    return {
        "first": first.text,
        "second": second.text,
        "candidate_1": one,
        "candidate_2": other,
        "answer_1": str(1 + first_answer),
        "answer_2": str(1 + second_answer),
        "anchor": str(first.labels["anchor"]),
    }


def _collect_topics(pairs: list[Pair]) -> Iterator[dict[str, object]]:
    """Yield the topics of the pairs, with their domains and words."""
    words: dict[tuple[str, str], list[str]] = defaultdict(list)
    for pair in pairs:
        problem = pair[0]
        candidates = " ".join(problem.candidates)
        topic_words = words[_get_topic_and_domain(pair)]
        topic_words.append(str(problem.labels["anchor"]))
        # The topic of a text is in its long words that are not in its candidates.
        for word in WORD.findall(problem.text):
            is_long = len(word) >= 6 and word.islower()
            if is_long and word not in candidates and twin_rules.anchor_word(word) is None:
                topic_words.append(word)
    for (topic, domain), topic_words in words.items():
        distinct_words = list(dict.fromkeys(topic_words))
        yield {"topic": topic, "domain": domain, "words": distinct_words[:8]}


def main(port: Annotated[int, typer.Option(help="The port to listen on.")] = 8000) -> None:
    """Fill an example study in a folder that is deleted afterwards, and serve it until Ctrl-C."""
    with TemporaryDirectory(prefix="winokit-demo-") as place:
        folder = Path(place) / "study"
        typer.echo("filling the example study …")
        fill(folder)
        with listen(HOST, port) as socket, closing(Study.open(folder)) as study:
            base = f"http://{HOST}:{socket.getsockname()[1]}"
            password = secrets.token_urlsafe(9)
            requesters.add(study, NAME, password, "system")
            link = invites.create(study, "for a visitor", uses=100)
            typer.echo(f"the requester's pages: {base}/login   name: {NAME}   password: {password}")
            typer.echo(f"take part as a worker: {base}{link.path}")
            study.adversary.prepare(study)
            announce(study, base, typer.echo)
            run_app(study, socket, base, behind_proxy=False)


if __name__ == "__main__":
    typer.run(main)
