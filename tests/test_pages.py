"""All pages share one shell: a page fills in its blocks, and writes no head, footer or brand of its own."""

import re
from pathlib import Path

import pytest

import winokit

STAGES = Path(winokit.__file__).parent / "stages"
REPORT = '{% extends "drawing/templates/report.html.j2" %}'
PAGES = sorted(STAGES.glob("*/page.html.j2"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_a_page_extends_the_shell_of_all_pages(page):
    text = page.read_text("utf-8")
    assert text.startswith(REPORT)
    assert re.search(r'^\{% set verb = "\w+" %\}$', text, re.MULTILINE)
    assert not re.search(r"<html|<head|<footer|block brand", text)


def test_ten_verbs_have_a_page():
    assert len(PAGES) >= 10
