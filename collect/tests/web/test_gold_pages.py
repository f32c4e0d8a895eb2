"""Nothing that a worker sees, or can measure, tells a gold question from the rest.

A study is played over HTTP: the bundled twins stand for what workers write, with gold mixed in. A classifier then reads
the pages as an attacker would, words, markup, headers and sizes, and is held against the same classifier on shuffled
labels. What used to give gold away must be found, so that the test is known to see.
"""

import re
from collections import Counter, defaultdict

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline, make_union
from sqlalchemy import event, select

from winokit import load
from winokit_collect.study import schema, voting
from winokit_collect.study.new_tasks import add_judgements
from winokit_collect.study.settings import rule_of
from winokit_collect.study.study import Signer

SKIN = re.compile(r'(?:/task/[\w-]+|value="[\w.:-]{20,}"|hx-headers=\'[^\']*\'|w-[a-z0-9]{10})')
"""What is other on every page: tokens, and the worker's code."""
VOTES = 60
SHUFFLES = 20
SURE = 4
"""Standard deviations of what shuffled labels give: chance does not get there in any run of this test."""


def write(study, pairs):
    """Store twins as if workers had written them."""
    with study.store.write() as session:
        for pair in pairs:
            group = schema.Group(origin=schema.WRITTEN)
            session.add(group)
            session.flush()
            for twin in pair:
                problem = twin.replace(pronoun=None, labels={"anchor": twin.labels["anchor"]})
                row = schema.to_row(problem, schema.WRITTEN, study.now(), group_id=group.id)
                session.add(row)
                session.flush()
                add_judgements(session, study, row, problem)


def play(study, browser_of, kind, people, votes=VOTES):
    """Judge for a while, as some people: (page, headers, whether it is gold, its group) for each page seen."""
    pages = []
    for _ in range(people):
        person = browser_of(study).join(study)
        path = person.take(kind)
        for _ in range(votes):
            response = person.get(f"{path}/vote")
            token = path.rpartition("/")[2]
            with study.store.read() as session:
                lease = select(schema.Lease.task_id).where(schema.Lease.token == token)
                task = session.scalars(select(schema.Task).where(schema.Task.id.in_(lease))).one()
            headers = {name: value for name, value in response.headers.items() if name != "set-cookie"}
            pages.append((response.text, headers, task.gold, task.group_id))
            fields = {"choice": "yes"} if kind != "validate" else {"choice": "0", "equally_plausible": "no"}
            answer = person.send(f"{path}/vote", **fields, local_decides="no")
            path = str(answer.url.path).removesuffix("/vote")
    return pages


def seen_by_an_attacker(page, headers):
    """Words, markup, headers and sizes of a page, as one text."""
    page = SKIN.sub("", page)
    tags = " ".join(f"tag{re.sub(r'[^a-z0-9]+', '', tag)}" for tag in re.findall(r"<[^>]*>", page))
    sizes = f"size{len(page) // 20} length{int(headers.pop('content-length')) // 20}"
    words = re.sub(r"<[^>]*>", " ", page[page.index("<article") :])
    return f"{words} {tags} {sizes} {sorted(headers.items())}"


def told_apart(pages):
    """How well gold is told from the rest on pages not seen before (area under the curve), and on shuffled labels."""
    texts = [seen_by_an_attacker(page, dict(headers)) for page, headers, _, _ in pages]
    gold = np.array([page[2] for page in pages])
    groups = np.array([page[3] for page in pages])
    model = make_pipeline(
        make_union(
            TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2)),
            TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3), max_features=3000),
        ),
        LogisticRegression(C=10, class_weight="balanced", solver="liblinear"),
    )
    features = model[0].fit_transform(texts)  # the words alone; what they mean is learned from other pages

    def area(labels):
        folds = StratifiedGroupKFold(4, shuffle=True, random_state=0)
        scores = cross_val_predict(model[1], features, labels, groups=groups, cv=folds, method="decision_function")
        return roc_auc_score(labels, scores)

    names = np.unique(groups)
    chance = np.random.default_rng(0)
    is_gold = dict(zip(groups, gold, strict=True))
    shuffled = []
    for _ in range(SHUFFLES):
        drawn = dict(zip(names, chance.permutation([is_gold[name] for name in names]), strict=True))
        shuffled.append(area(np.array([drawn[name] for name in groups])))
    return area(gold), np.mean(shuffled) + SURE * np.std(shuffled)


@pytest.fixture
def mixed(make_study):
    """Makes studies of one kind of judgement in which nearly half of what comes is gold."""

    def make(kind="validate"):
        study = make_study(
            tasks={"kinds": ["write", kind], "twins": 0}, quality={"gold_share": 0.4, "block_by_gold": False}
        )
        study.signer = Signer(b"the same draws in every run")
        pairs = list(load("open").groups.values())
        write(study, [pairs[at] for at in np.random.default_rng(1).permutation(len(pairs))[:100]])
        with study.store.read() as session:
            for settings_id in (None, study.settings_id):  # A server reads each once, for gold or for the rest.
                rule_of(session, study, settings_id)
        return study

    return make


@pytest.mark.parametrize("kind", ["validate", "associative"])
def test_a_classifier_tells_gold_from_the_rest_no_better_than_chance(mixed, browser_of, kind):
    pages = play(mixed(kind), browser_of, kind, people=2)
    assert 30 <= sum(gold for _, _, gold, _ in pages) <= 80
    area, bound = told_apart(pages)
    assert area < bound


def test_the_same_classifier_finds_gold_by_the_pronoun_in_its_blank(mixed, browser_of, monkeypatch):
    study = mixed()
    with study.store.write() as session:
        for row in session.scalars(select(schema.ProblemRow).where(schema.ProblemRow.origin == schema.GOLD)):
            row.pronoun = "she" if row.domain == "social" else "it"
    pages = play(study, browser_of, "validate", people=1)
    area, bound = told_apart(pages)
    assert area < bound, "a pronoun of gold is not shown where twins are written"
    monkeypatch.setattr(voting, "WRITE", "nowhere")
    area, bound = told_apart(play(study, browser_of, "validate", people=1))
    assert area > max(min(bound, 0.99), 0.95)  # of one person's pages, four deviations may be more than there is


def test_gold_takes_the_same_statements_as_the_rest(mixed, browser_of):
    """Time on a server is statements; those of a vote and of the page after it, in their order."""
    study = mixed()
    statements = []
    by_gold = defaultdict(Counter)
    study.config = study.config.model_copy(update={"tasks": study.config.tasks.model_copy(update={"votes": 3})})

    def note(connection, cursor, statement, *rest):
        statements.append(statement)

    event.listen(study.store.engine, "before_cursor_execute", note)
    for _ in range(3):  # the third person's votes are the last on their problems
        person = browser_of(study).join(study)
        path = person.take("validate")
        for _ in range(25):
            token = path.rpartition("/")[2]
            with study.store.read() as session:
                query = select(schema.Task.gold).join(schema.Lease).where(schema.Lease.token == token)
                is_gold = session.scalar(query)
            person.get(f"{path}/vote")
            statements.clear()
            ballot = {"choice": "0", "equally_plausible": "no", "local_decides": "no"}
            path = str(person.send(f"{path}/vote", **ballot).url.path).removesuffix("/vote")
            # Leases end once a second, whoever comes; and a problem may have no clause to be asked about.
            taken = [line for line in statements if "expires_at <=" not in line]
            taken = tuple(line.partition("(")[0] if line.startswith("INSERT") else line for line in taken)
            by_gold[is_gold][taken] += 1
    assert sum(by_gold[True].values()) > 15
    assert set(by_gold[True]) <= set(by_gold[False])
    assert len(by_gold[True]) > 1, "as long as a last vote, now and then"


def test_correcting_gold_takes_the_same_statements_as_correcting_the_rest(mixed, browser_of):
    study = mixed()
    statements = []
    by_gold = defaultdict(set)
    event.listen(study.store.engine, "before_cursor_execute", lambda *call: statements.append(call[2]))
    person = browser_of(study).join(study)
    ballot = {"choice": "0", "equally_plausible": "no", "local_decides": "no"}
    path = person.take("validate")
    for _ in range(25):
        with study.store.read() as session:
            lease = schema.Lease.token == path.rpartition("/")[2]
            is_gold = session.scalar(select(schema.Task.gold).join(schema.Lease).where(lease))
        person.get(f"{path}/vote")
        after = str(person.send(f"{path}/vote", **ballot).url.path).removesuffix("/vote")
        statements.clear()
        person.send(f"{path}/vote", **ballot | {"equally_plausible": "yes"})
        by_gold[is_gold].add(tuple(line for line in statements if "expires_at <=" not in line))
        path = after
    assert by_gold[True] == by_gold[False]
