"""Every colour that text is written in can be read on every ground that it is written on, in light and in dark."""

import re

import pytest

from winokit_collect.web.rendering import STATIC

SHEET = (STATIC / "collect.css").read_text("utf-8")
LEAST = 4.5
LEAST_OF_SHAPES = 3.0
"""Of the Web Content Accessibility Guidelines, level AA: for text, and for what only has to be seen."""
WRITTEN_ON = {
    "ink": ("paper", "card", "wash", "accent-wash", "bad-wash", "mark"),
    "soft": ("paper", "card", "wash", "accent-wash"),
    "accent": ("paper", "card", "wash", "accent-wash"),
    "on-accent": ("accent",),
    "good": ("paper", "card", "wash"),
    "bad": ("paper", "card", "wash", "bad-wash"),
}
THEMES = {
    "light": ":root {",
    "dark": ':root[data-theme="dark"] {',
    "dark by system": ':root:not([data-theme="light"]) {',
}


def colours(theme):
    block = SHEET.split(THEMES[theme], 1)[1].split("}", 1)[0]
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))


def luminance(colour):
    shares = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    dark, bright = sorted((luminance(one), luminance(other)))
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", THEMES)
def test_text_stands_out(theme):
    known = colours(theme)
    low = {(ink, ground) for ink, grounds in WRITTEN_ON.items() for ground in grounds
           if contrast(known[ink], known[ground]) < LEAST}  # fmt: skip
    assert low == set()


@pytest.mark.parametrize("theme", THEMES)
def test_bars_and_borders_stand_out(theme):
    known = colours(theme)
    for name in ("s0", "s1", "s3", "s4", "soft"):
        assert contrast(known[name], known["card"]) >= LEAST_OF_SHAPES, name


def test_both_ways_to_darkness_are_the_same():
    assert colours("dark") == colours("dark by system")


def test_no_text_is_made_fainter():
    assert re.findall(r"opacity: (?!1;)", SHEET) == []
