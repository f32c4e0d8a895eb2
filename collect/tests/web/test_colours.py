"""Text and shapes of the collection app have enough contrast in every theme."""

import re

import pytest

from winokit_collect.web.rendering import STATIC

SHEET = (STATIC / "collect.css").read_text("utf-8")
LEAST_TEXT_CONTRAST = 4.5
LEAST_SHAPE_CONTRAST = 3.0
"""Both from the Web Content Accessibility Guidelines, level AA."""
GROUNDS = {
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


def theme_colours(theme):
    """Hexadecimal value of each colour of a theme, by name."""
    _, _, theme_start = SHEET.partition(THEMES[theme])
    block, _, _ = theme_start.partition("}")
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))


def linear_light(channel):
    """Linear light of a channel of sRGB between 0 and 1."""
    if channel <= 0.03928:
        return channel / 12.92
    return ((channel + 0.055) / 1.055) ** 2.4


def relative_luminance(colour):
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (linear_light(channel) for channel in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast_ratio(first, second):
    dark, bright = sorted((relative_luminance(first), relative_luminance(second)))
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", THEMES)
def test_text_stands_out(theme):
    colours = theme_colours(theme)
    for ink, grounds in GROUNDS.items():
        for ground in grounds:
            assert contrast_ratio(colours[ink], colours[ground]) >= LEAST_TEXT_CONTRAST, (ink, ground)


@pytest.mark.parametrize("theme", THEMES)
def test_bars_and_borders_stand_out(theme):
    colours = theme_colours(theme)
    for name in ("s0", "s1", "s3", "s4", "soft"):
        assert contrast_ratio(colours[name], colours["card"]) >= LEAST_SHAPE_CONTRAST, name


def test_both_ways_to_darkness_are_the_same():
    assert theme_colours("dark") == theme_colours("dark by system")


def test_no_text_is_made_fainter():
    assert re.findall(r"opacity: (?!1;)", SHEET) == []
