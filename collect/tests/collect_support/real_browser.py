"""Steps that people take in a real browser, and twins for them to write."""

from __future__ import annotations

import re

from collect_support.people import PASSWORD
from winokit_collect.study import requesters

EXPECTED_MESSAGES = re.compile("status of (422|409)|Status Error Code 409")
"""Messages in the console when a form is rightly refused: incomplete, or not taken any more."""
GATE = "The terrier can squeeze under the garden gate but the spaniel cannot, so we {} have to fetch _ back."
SHELF = "The blue jar stands on the top shelf and the green jar on the lowest, so {} people usually take _ first."


def pair_fields(text, words, **fields):
    """The fields of a form for twins that differ in one of two words."""
    return {"first": text.format(words[0]), "second": text.format(words[1]), **fields}


DOGS = ("the terrier", "the spaniel")
JARS = ("the blue jar", "the green jar")
PAIRS = [
    pair_fields(GATE, ("never", "always"), anchor="gate", candidate_1=DOGS[0], candidate_2=DOGS[1], answer_1="2"),
    pair_fields(SHELF, ("tall", "short"), anchor="shelf", candidate_1=JARS[0], candidate_2=JARS[1], answer_1="1"),
]


def join(page, link):
    """Come in by a link, agree, answer the screening, and return the page."""
    page.goto(link)
    page.click("main button")
    page.check("#agree")
    page.click("main button")
    page.check("[name=native_speaker][value=yes]")
    page.check("[name=has_seen_wsc][value=no]")
    page.click("main button")
    page.wait_for_url("**/begin")
    return page


def set_up(page, study):
    """Make the requester's account and return the page."""
    page.goto(requesters.setup_path(study))
    page.fill("#name", "ann")
    page.fill("#password", PASSWORD)
    page.fill("#again", PASSWORD)
    page.click("main button")
    page.wait_for_url("**/requester")
    return page


def tab_to(page, selector):
    """Press Tab until the selected element has the focus. AssertionError if it cannot be reached."""
    for _ in range(60):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} cannot be reached by keyboard")


def overflow(page):
    """Pixels by which a page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
