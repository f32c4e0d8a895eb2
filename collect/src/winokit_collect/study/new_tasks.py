"""Make the tasks of a study: topics to write about, gold questions, and problems to solve or judge.

Preparing a study again adds what the config asks for beyond what is there, and takes nothing away.

With `evaluate`, people are asked as if they were a model: the problems of an existing dataset, whole or distorted.
The papers only expect people to fail where the text is cut so that nobody could know; here they can be asked. With
`judge`, they say of its problems what they would say of written ones, as Trichelair et al. (2018) had WSC273
judged.
"""

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from winokit import Dataset, Problem, load
from winokit.extend import ORIGINAL, TRANSFORMS, BadInput, Variant, grouped, switch
from winokit_collect.study import schema
from winokit_collect.study.config import StudyConfig
from winokit_collect.study.content import DOMAINS, Topic, read_topics, text_path
from winokit_collect.study.gold import add_gold_from_file, uses_gold_file
from winokit_collect.study.study import Study
from winokit_collect.study.voting import SHOWN_AS

DATA = "problems.jsonl"


def prepare(study: Study) -> None:
    """Add the tasks that the study's settings ask for and that are missing."""
    kinds = study.config.tasks.kinds
    with study.store.read() as session:
        twin_count = study.config.tasks.twins if schema.WRITE in kinds else 0
        lacks_topics = twin_count > _count_written(session)
        lacks_gold = not _has_problems(session, schema.GOLD)
        lacks_data = not _has_problems(session, schema.IMPORTED)
    if lacks_topics:
        _add_topics(study, twin_count)
    if lacks_gold and uses_gold_file(study):
        with study.store.write(alone=True) as session:
            if not _has_problems(session, schema.GOLD):
                add_gold_from_file(study, session)
    if (schema.EVALUATE in kinds or study.config.judge.data) and lacks_data:
        _add_data(study)


# What is there is asked again under the lock: another process may have been faster.
def _count_written(session: Session) -> int:
    """Number of writing tasks in the database."""
    return session.scalar(select(func.count()).where(schema.Task.kind == schema.WRITE)) or 0


def _has_problems(session: Session, origin: str) -> bool:
    """Whether the database has problems of an origin."""
    query = select(schema.ProblemRow.id).where(schema.ProblemRow.origin == origin).limit(1)
    return session.scalar(query) is not None


def _add_topics(study: Study, wanted: int) -> None:
    """Add writing tasks until there are `wanted` of them."""
    topics = read_topics(text_path(study, study.config.topics, "topics.jsonl"))
    social_share = study.config.tasks.social_share
    with study.store.write(alone=True) as session:
        for rank in range(_count_written(session), wanted):
            domain = domain_at(rank, social_share)
            social = int(rank * social_share)
            number = social if domain == DOMAINS[0] else rank - social
            topic = topic_at(number, domain, topics, study.config.seed)
            topic_fields = {"topic": topic.topic, "words": list(topic.words)}
            session.add(schema.Task(kind=schema.WRITE, asked=1, rank=rank, domain=domain, topic=topic_fields))


def domain_at(rank: int, social_share: float) -> str:
    """Domain (social or physical) of the writing task at a rank.

    The share of social tasks up to any rank is as near as possible to `social_share`. Ranks are counted from 0.

    >>> [domain_at(rank, 0.5) for rank in range(4)]
    ['physical', 'social', 'physical', 'social']
    """
    social, physical = DOMAINS
    socials_before = int(rank * social_share)
    socials_after = int((rank + 1) * social_share)
    return social if socials_after > socials_before else physical


def topic_at(place: int, domain: str, topics: list[Topic], seed: int) -> Topic:
    """Topic of the writing task number `place` within its domain, counted from 0.

    All topics of the domain come once in a random order, then again in another order.
    """
    fitting = [topic for topic in topics if topic.fits(domain)] or topics
    round_, place = divmod(place, len(fitting))
    order = list(range(len(fitting)))
    random.Random(f"{seed} {domain} {round_}").shuffle(order)
    return fitting[order[place]]


def _add_data(study: Study) -> None:
    """Store the study's dataset, with tasks for its problems."""
    dataset = imported_dataset(study.folder, study.config)
    judges = bool(study.config.judge.data)
    if judges:
        check_judgeable(dataset, study.config.tasks.kinds)
    variants = [ORIGINAL] if judges else study.config.evaluate.variants
    problems, _ = evaluation_problems(dataset, variants)
    with study.store.write(alone=True) as session:
        if _has_problems(session, schema.IMPORTED):
            return
        names = dict.fromkeys(problem.group for _, problem in problems if problem.group is not None)
        groups = {name: schema.Group(name=name, origin=schema.IMPORTED) for name in names}
        session.add_all(groups.values())
        session.flush()
        rows = []
        for variant, problem in problems:
            group_id = None if problem.group is None else groups[problem.group].id
            references = {"group_id": group_id, "settings_id": study.settings_id}
            rows.append(schema.to_row(problem, schema.IMPORTED, study.now(), variant, **references))
        session.add_all(rows)
        session.flush()
        for row, (_, problem) in zip(rows, problems, strict=True):
            if judges:
                add_judgements(session, study, row, problem)
            else:
                session.add(schema.task_about(row, schema.EVALUATE, row.id, asked=study.config.tasks.votes))


def add_judgements(session: Session, study: Study, row: schema.ProblemRow, problem: Problem) -> None:
    """Add the tasks to judge a new problem, one for each kind.

    A kind that does not fit the problem is left out.
    """
    for kind in schema.JUDGEMENTS:
        if kind in study.config.tasks.kinds and _find_obstacle(problem, kind) is None:
            session.add(schema.task_about(row, kind, row.id, asked=study.config.tasks.votes))


def imported_dataset(folder: Path, config: StudyConfig) -> Dataset:
    """Load the dataset that the study's people solve or judge.

    A dataset to solve is cut to the study's `limit`, one to judge is not.
    """
    name = config.judge.data or config.evaluate.data
    limit = 0 if config.judge.data else config.evaluate.limit
    dataset = load(folder / name if (folder / name).exists() else name)
    return dataset[:limit] if limit else dataset


def draw_groups(dataset: Dataset, limit: int, seed: int) -> Dataset:
    """Draw whole groups at random, at most `limit` problems in all.

    The problems stay in the dataset's order. A limit of 0 keeps all. Raises BadInput if no group fits.
    """
    if not limit:
        return dataset
    members_by_group = grouped((problem.group or problem.id, problem.id) for problem in dataset)
    groups = list(members_by_group.values())
    random.Random(seed).shuffle(groups)
    drawn_ids: set[str] = set()
    for members in groups:
        if len(drawn_ids) + len(members) <= limit:
            drawn_ids |= set(members)
    if not drawn_ids:
        smallest = min(map(len, groups))
        raise BadInput(f"--limit {limit}: no group fits into that; the smallest has {smallest} problems")
    return dataset.filter(lambda problem: problem.id in drawn_ids)


def check_judgeable(dataset: Dataset, kinds: Sequence[str]) -> list[str]:
    """Check that a dataset can be judged.

    Returns notes on problems that cannot. Raises BadInput if no problem fits one of the kinds of judgement.
    """
    name = dataset.card.name
    notes = []
    for kind in kinds:
        reasons: Counter[str] = Counter()
        for problem in dataset:
            reason = _find_obstacle(problem, kind)
            if reason is not None:
                reasons[reason] += 1
        if not reasons:
            continue
        main_reason, count = reasons.most_common(1)[0]
        left_out = f"{kind}: {reasons.total():,} of {len(dataset):,} problems cannot be used for this question"
        notes.append(f"{left_out}, mostly: {main_reason} ({count:,})")
        if reasons.total() == len(dataset):
            raise BadInput(f"{name}: no problem can be used for {kind} judgements: {main_reason}")
    return notes


def _find_obstacle(problem: Problem, kind: str) -> str | None:
    """Reason why a problem cannot be judged in a kind of task.

    None if it can.
    """
    if problem.is_whole or problem.is_continuation:
        return "whole texts to choose from, without candidates in a text"
    if problem.query is not None:
        return "a yes/no judgement; convert the data with: winokit convert --as choice"
    if kind == schema.VALIDATE:
        return "it has no answer to validate" if problem.answer is None else None
    if kind == schema.SWITCHABLE:
        switched = switch(problem, style="mended")
        return switched if isinstance(switched, str) else None
    return None if SHOWN_AS[kind](problem) is not None else "no clause can be cut out"


def evaluation_problems(dataset: Dataset, variants: Sequence[str]) -> tuple[list[tuple[str, Problem]], list[str]]:
    """Make the (variant, problem) pairs that people are asked to solve.

    Also returns notes on problems of which a variant could not be made. A variant's problem has its original's id in
    `provenance["of"]`. Raises BadInput if no problem is left.
    """
    shown_problems: list[tuple[str, Problem]] = []
    notes: list[str] = []
    choices = dataset.filter(lambda problem: problem.query is None)
    for variant in variants:
        is_original = variant == ORIGINAL
        transformed = Variant(dataset) if is_original else TRANSFORMS[variant](choices)
        shown_problems += [(variant, problem) for problem in transformed.problems]
        reasons = Counter(transformed.refused.values())
        if not is_original:
            reasons["a yes/no judgement"] += len(dataset) - len(choices)
        if reasons.total():
            main_reason, count = reasons.most_common(1)[0]
            left_out = f"not made of {reasons.total():,} of {len(dataset):,} problems"
            notes.append(f"{variant}: {left_out}, mostly: {main_reason} ({count:,})")
    if not shown_problems:
        reasons_given = "; ".join(notes)
        raise BadInput(f"{dataset.card.name}: no problem is left for people to solve: {reasons_given}")
    return shown_problems, notes
