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
from sklearn.pipeline import make_union
from sqlalchemy import event, select

from winokit import load
from winokit_collect.study import schema, voting
from winokit_collect.study.new_tasks import add_judgements
from winokit_collect.study.settings import rule_of
from winokit_collect.study.study import Signer

UNIQUE_PARTS = re.compile(r'(?:/task/[\w-]+|value="[\w.:-]{20,}"|hx-headers=\'[^\']*\'|w-[a-z0-9]{10})')
"""Parts that differ on every page: tokens, and the worker's code."""
BALLOT = {"choice": "0", "equally_plausible": "no", "local_decides": "no"}
VOTES = 60
SHUFFLES = 20
DEVIATIONS = 4
"""Standard deviations of what shuffled labels give: chance does not get there in any run of this test."""


def store_pairs(study, pairs):
    """Store pairs of twins as if workers had written them."""
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


def judge_pages(study, browser_of, kind, people, votes=VOTES):
    """Let new workers vote, `votes` each, and return the pages that they see.

    A page is (HTML, headers, whether its task is gold, its group).
    """
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
            choice = "0" if kind == "validate" else "yes"
            answer = person.send(f"{path}/vote", choice=choice, equally_plausible="no", local_decides="no")
            path = str(answer.url.path).removesuffix("/vote")
    return pages


def describe_page(page, headers):
    """Words, markup, headers and sizes of a page, as one text."""
    page = UNIQUE_PARTS.sub("", page)
    tag_words = ["tag" + re.sub(r"[^a-z0-9]+", "", tag) for tag in re.findall(r"<[^>]*>", page)]
    tags = " ".join(tag_words)
    content_length = int(headers.pop("content-length"))
    sizes = f"size{len(page) // 20} length{content_length // 20}"
    words = re.sub(r"<[^>]*>", " ", page[page.index("<article") :])
    return f"{words} {tags} {sizes} {sorted(headers.items())}"


def classify_gold(pages):
    """Area under the curve of a classifier of gold on pages it was not trained on, and a bound on it by chance.

    The bound is the mean over shuffled labels plus DEVIATIONS standard deviations.
    """
    texts = [describe_page(page, dict(headers)) for page, headers, _, _ in pages]
    gold = np.array([page[2] for page in pages])
    groups = np.array([page[3] for page in pages])
    words = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2))
    letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3), max_features=3000)
    features = make_union(words, letters).fit_transform(texts)  # their weights are learned from other pages
    classifier = LogisticRegression(C=10, class_weight="balanced", solver="liblinear")

    def area_under_curve(labels):
        folds = StratifiedGroupKFold(4, shuffle=True, random_state=0)
        scores = cross_val_predict(classifier, features, labels, groups=groups, cv=folds, method="decision_function")
        return roc_auc_score(labels, scores)

    names = np.unique(groups)
    draw = np.random.default_rng(0)
    is_gold = dict(zip(groups, gold, strict=True))
    group_labels = [is_gold[name] for name in names]
    chance_areas = []
    for _ in range(SHUFFLES):
        shuffled = dict(zip(names, draw.permutation(group_labels), strict=True))
        labels = np.array([shuffled[name] for name in groups])
        chance_areas.append(area_under_curve(labels))
    bound = np.mean(chance_areas) + DEVIATIONS * np.std(chance_areas)
    return area_under_curve(gold), bound


@pytest.fixture
def mixed(make_study):
    """A function that makes a study of one kind of judgement, with nearly half of the tasks gold."""

    def make_mixed_study(kind="validate"):
        study = make_study(
            tasks={"kinds": ["write", kind], "twins": 0}, quality={"gold_share": 0.4, "block_by_gold": False}
        )
        study.signer = Signer(b"the same draws in every run")
        pairs = list(load("open").groups.values())
        indices = np.random.default_rng(1).permutation(len(pairs))[:100]
        store_pairs(study, [pairs[index] for index in indices])
        with study.store.read() as session:
            for settings_id in (None, study.settings_id):  # A server reads each once, for gold or for the rest.
                rule_of(session, study, settings_id)
        return study

    return make_mixed_study


@pytest.mark.parametrize("kind", ["validate", "associative"])
def test_a_classifier_tells_gold_from_the_rest_no_better_than_chance(mixed, browser_of, kind):
    pages = judge_pages(mixed(kind), browser_of, kind, people=2)
    assert 30 <= sum(gold for _, _, gold, _ in pages) <= 80
    area, bound = classify_gold(pages)
    assert area < bound


def test_the_same_classifier_finds_gold_by_the_pronoun_in_its_blank(mixed, browser_of, monkeypatch):
    study = mixed()
    with study.store.write() as session:
        gold_problems = select(schema.ProblemRow).where(schema.ProblemRow.origin == schema.GOLD)
        for row in session.scalars(gold_problems):
            row.pronoun = "she" if row.domain == "social" else "it"
    pages = judge_pages(study, browser_of, "validate", people=1)
    area, bound = classify_gold(pages)
    assert area < bound, "a pronoun of gold is not shown where twins are written"
    monkeypatch.setattr(voting, "WRITE", "nowhere")
    area, bound = classify_gold(judge_pages(study, browser_of, "validate", people=1))
    assert area > max(min(bound, 0.99), 0.95)  # of one person's pages, four deviations may be more than there is


def is_gold_task(study, path):
    """Whether the task at this path is a gold question."""
    token = path.rpartition("/")[2]
    with study.store.read() as session:
        return session.scalar(select(schema.Task.gold).join(schema.Lease).where(schema.Lease.token == token))


def without_expiry(statements):
    """The statements except those that end leases, which is done once a second, whoever comes."""
    return [statement for statement in statements if "expires_at <=" not in statement]


def shorten_insert(statement):
    """The statement without the columns of an INSERT: a problem may have no clause to be asked about."""
    return statement.partition("(")[0] if statement.startswith("INSERT") else statement


def test_gold_takes_the_same_statements_as_the_rest(mixed, browser_of):
    """The statements of a vote and of the page after it, in their order, decide how long it takes."""
    study = mixed()
    statements = []
    by_gold = defaultdict(Counter)
    three_votes = study.config.tasks.model_copy(update={"votes": 3})
    study.config = study.config.model_copy(update={"tasks": three_votes})

    def note_statement(connection, cursor, statement, *_):
        statements.append(statement)

    event.listen(study.store.engine, "before_cursor_execute", note_statement)
    for _ in range(3):  # the third person's votes are the last on their problems
        person = browser_of(study).join(study)
        path = person.take("validate")
        for _ in range(25):
            is_gold = is_gold_task(study, path)
            person.get(f"{path}/vote")
            statements.clear()
            answer = person.send(f"{path}/vote", **BALLOT)
            path = str(answer.url.path).removesuffix("/vote")
            sequence = tuple(shorten_insert(statement) for statement in without_expiry(statements))
            by_gold[is_gold][sequence] += 1
    assert sum(by_gold[True].values()) > 15
    assert set(by_gold[True]) <= set(by_gold[False])
    assert len(by_gold[True]) > 1, "as long as a last vote, now and then"


def test_correcting_gold_takes_the_same_statements_as_correcting_the_rest(mixed, browser_of):
    study = mixed()
    statements = []
    by_gold = defaultdict(set)
    event.listen(study.store.engine, "before_cursor_execute", lambda *call: statements.append(call[2]))
    person = browser_of(study).join(study)
    path = person.take("validate")
    for _ in range(25):
        is_gold = is_gold_task(study, path)
        person.get(f"{path}/vote")
        answer = person.send(f"{path}/vote", **BALLOT)
        statements.clear()
        person.send(f"{path}/vote", **BALLOT | {"equally_plausible": "yes"})
        by_gold[is_gold].add(tuple(without_expiry(statements)))
        path = str(answer.url.path).removesuffix("/vote")
    assert by_gold[True] == by_gold[False]
