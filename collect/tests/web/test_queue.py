"""Requesters decide one problem after the other, with its twin beside it and the filter kept."""

import re

import pytest
from sqlalchemy import select

from winokit_collect.study import listings
from winokit_collect.study.schema import Adjudication


@pytest.fixture
def pairs(study, crew):
    """Ids of the problems of three pairs that nobody has judged, in the order of the list."""
    author = crew.newcomer(study)
    for number in (0, 7, 9):
        crew.write(study, author, number)
    return [row.id for row in listings.problems(study).rows]


def shown_number(requester):
    return int(re.search(r"<h2>Problem (\d+)", requester.seen)[1])


def test_twins_stand_side_by_side_with_the_special_word_marked(requester, pairs):
    requester.get("/requester/queue")
    assert shown_number(requester) == pairs[0]
    assert re.findall(r"<mark>(.*?)</mark>", requester.seen) == ["always", "never"]
    assert "Its twin" in requester.seen


def test_the_filter_is_kept_from_one_decision_to_the_next(study, requester, crew, pairs):
    requester.get("/requester/queue?status=open&text=near")
    first = shown_number(requester)
    answer = requester.send(f"/requester/queue/{first}/decide", valid="invalid", kept="status=open&text=near")
    assert answer.url.path == "/requester/queue"
    assert dict(answer.url.params) == {"status": "open", "text": "near", "after": str(first)}
    assert shown_number(requester) < first
    with study.store.read() as session:
        assert session.execute(select(Adjudication.problem_id, Adjudication.valid)).all() == [(first, False)]


def test_what_is_skipped_comes_after_the_others(requester, pairs):
    requester.get("/requester/queue")
    numbers = []
    for _ in range(len(pairs) + 1):
        numbers.append(shown_number(requester))
        skip_link = re.search(r'href="(/requester/queue\?[^"]*)" data-key="s"', requester.seen)[1]
        requester.get(skip_link.replace("&amp;", "&"))
    assert numbers == [*pairs, pairs[0]]


def test_nothing_is_left_when_all_is_decided(requester, pairs):
    requester.get("/requester/queue")
    for _ in pairs:
        requester.send(f"/requester/queue/{shown_number(requester)}/decide", valid="valid")
    assert "Nothing is left to decide" in requester.seen
    assert "0 left" in requester.seen


def test_a_problems_page_leads_back_to_the_filter(requester, pairs):
    requester.get("/requester/problems?status=open")
    assert f'href="/requester/problems/{pairs[0]}?status=open&amp;origin=written"' in requester.seen
    requester.get(f"/requester/problems/{pairs[0]}?status=open&evil=%22%3E&text=%22%3Ex")
    assert 'href="/requester/problems?status=open&amp;text=%22%3Ex"' in requester.seen
    assert "evil" not in re.search(r'<p><a href="/requester/problems[^>]*>', requester.seen)[0]
