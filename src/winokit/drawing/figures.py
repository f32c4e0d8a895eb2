"""The plots of a report as figures of matplotlib, for slides and papers.

The numbers come from `plots`. A function here only draws them on an axis. Colour-blind readers can distinguish the
colours, also in grey. Chance and intervals are on every plot of accuracies.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from winokit.drawing.plots import COLOURS, Forest, ForestMark
from winokit.errors import needing
from winokit.results import ABOVE, BELOW

if TYPE_CHECKING:
    import matplotlib.axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure as Canvas

Axes: TypeAlias = "matplotlib.axes.Axes"
WHOLE = "#0067a3"
PART = "#9db8cb"
NONE = "#d1661a"
GREY = "#5d6066"
STYLE: Any = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "text.parse_math": False}
"""Matplotlib's style. A dollar sign in a name is a dollar sign."""
DPI = 160
CLOSE = 0.7
"""Distance between the scorers of one line, in distances of lines."""
WIDEST = 10.0
"""Maximal width in inches. Further panels go into another row, since a page shrinks a wider figure too much."""


@dataclass(frozen=True)
class Figure:
    """Functions that draw the panels of a figure, and their size.

    The size is that of one panel, in inches.
    """

    panels: Sequence[Callable[[Axes], None]]
    width: float
    height: float

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns in which panels are arranged."""
        widest_columns = max(1, int(WIDEST // self.width))
        columns = min(len(self.panels), widest_columns)
        rows = math.ceil(len(self.panels) / columns)
        return rows, columns


def canvas(figure: Figure) -> "Canvas":
    """Draw a figure with matplotlib.

    The result is a matplotlib figure: a notebook shows it, `savefig` writes it. Raises MissingExtra without
    matplotlib.
    """
    with needing("a figure", "figures"):
        from matplotlib import rc_context
        from matplotlib.figure import Figure as Canvas

    with rc_context(STYLE):
        rows, columns = figure.shape
        size = (figure.width * columns, figure.height * rows)
        matplotlib_figure = Canvas(figsize=size, dpi=DPI, layout="constrained")
        for position, draw in enumerate(figure.panels, 1):
            draw(matplotlib_figure.add_subplot(rows, columns, position))
        _draw_legend(matplotlib_figure)
    return matplotlib_figure


def _draw_legend(matplotlib_figure: "Canvas") -> None:
    """Draw one legend for all panels, above them.

    Inside a panel it would hide what is drawn, and long names would squeeze it.
    """
    handle_of_label: dict[str, Any] = {}
    for ax in matplotlib_figure.axes:
        handles, labels = ax.get_legend_handles_labels()
        handle_of_label.update(zip(labels, handles, strict=True))
    if not handle_of_label:
        return
    longest = max(map(len, handle_of_label))
    label_width = 0.5 + 0.075 * longest
    columns = max(1, int(matplotlib_figure.get_figwidth() / label_width))
    options: Any = {"loc": "outside upper left", "frameon": False, "fontsize": "small"}
    matplotlib_figure.legend(handle_of_label.values(), handle_of_label.keys(), ncols=columns, **options)


def shortened(name: str, longest: int = 32) -> str:
    """Shorten a long name by leaving out its middle.

    The ends remain, because they distinguish paths.

    >>> shortened("hf:/models/llama/checkpoint-9000", 20)
    'hf:/model…point-9000'
    """
    if len(name) <= longest:
        return name
    start_length = (longest - 1) // 2
    end_length = longest // 2
    return f"{name[:start_length]}…{name[-end_length:]}"


def forest_figures(forests: Mapping[str, Forest], names: Sequence[str]) -> dict[str, Figure]:
    """Figure for each forest that has a line, by the forest's name.

    `names` are those of the scorers, for the legend.
    """
    figures = {}
    for name, forest in forests.items():
        if forest.blocks:
            panel = partial(draw_forest, forest=forest, names=names)
            figures[name] = Figure([panel], 7.5, forest_height(forest))
    return figures


def forest_height(forest: Forest) -> float:
    """Height of a forest in inches, for equal distances between lines."""
    headings = 1.2 * len(forest.blocks) if len(forest.blocks) > 1 else 0.2
    lines = sum(1 + CLOSE * (len(line.marks) - 1) for line in forest.lines)
    return 1.2 + 0.26 * (lines + headings)


def whole_ticks(axis: "Axis") -> None:
    """Set ticks at whole numbers only, with commas and no sign."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=1))
    axis.set_major_formatter(lambda value, _: f"{abs(value):,.0f}")


def draw_forest(ax: Axes, forest: Forest, names: Sequence[str]) -> None:
    """Draw a forest on an axis: each value with its interval.

    A dotted line marks chance, and a hollow dot a value that is indistinguishable from it. `names` are those of the
    scorers.
    """
    is_difference = forest.low < 0
    labels, marks, lowest = _place_lines(forest)
    _draw_marks(ax, marks, 0.0 if is_difference else None)
    ax.set_ylim(lowest + 0.6, -0.8)
    ax.set_xlim(100 * forest.low, 100 * forest.high)
    ax.set_xticks([100 * value for value, _ in forest.ticks], [label for _, label in forest.ticks])
    ax.set_yticks([y for y, _, _ in labels], [shortened(text, 64) for _, text, _ in labels])
    for tick, (_, _, is_heading) in zip(ax.get_yticklabels(), labels, strict=True):
        tick.set_fontweight("bold" if is_heading else "normal")
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color="#e2e1db", linewidth=0.8)
    ax.set_axisbelow(True)
    against = "zero" if is_difference else "chance"
    ax.set_xlabel(f"{forest.unit}\n(dotted: {against}; hollow: indistinguishable from it)")
    if len(names) > 1:
        for scorer in sorted({mark.scorer for _, mark in marks}):
            ax.plot([], [], "o", color=COLOURS[scorer % len(COLOURS)], label=shortened(names[scorer]))


def _place_lines(forest: Forest) -> tuple[list[tuple[float, str, bool]], list[tuple[float, ForestMark]], float]:
    """Assign heights to the lines of a forest, from top to bottom.

    Returns labels (height, text, whether a heading), marks with their heights, and the lowest height.
    """
    labels: list[tuple[float, str, bool]] = []
    marks: list[tuple[float, ForestMark]] = []
    y = -1.0
    for block in forest.blocks:
        if len(forest.blocks) > 1:
            y += 1
            labels.append((y, block.title, True))
        for line in block.lines:
            y += 1
            heights = [y + CLOSE * index for index in range(len(line.marks))]
            marks += zip(heights, line.marks, strict=True)
            middle = sum(heights) / len(heights)
            labels.append((middle, line.title, False))
            y = heights[-1]
        y += 0.2
    return labels, marks, y


def _draw_marks(ax: Axes, marks: Sequence[tuple[float, ForestMark]], zero: float | None) -> None:
    """Draw the chance levels, intervals and values of marks.

    Marks are given with their heights. `zero` is the level of marks without a chance level; None if they have none.
    """
    chances = _find_chances(marks, zero)
    chance_heights = [y for y, _ in chances]
    ax.vlines(
        [100 * chance for _, chance in chances],
        [y - CLOSE / 2 for y in chance_heights],
        [y + CLOSE / 2 for y in chance_heights],
        colors=GREY,
        linestyles="dotted",
        linewidth=1.3,
    )
    spans = [(y, mark) for y, mark in marks if mark.row.low is not None and mark.row.high is not None]
    ax.hlines(
        [y for y, _ in spans],
        [100 * (mark.row.low or 0) for _, mark in spans],
        [100 * (mark.row.high or 0) for _, mark in spans],
        colors=[_choose_colour(mark) for _, mark in spans],
        linewidth=2,
    )
    heights = [y for y, _ in marks]
    values = [100 * mark.row.value for _, mark in marks]
    edges = [_choose_colour(mark) for _, mark in marks]
    faces = [_choose_face(mark) for _, mark in marks]
    dots = ax.scatter(values, heights, s=36, facecolors=faces, edgecolors=edges, zorder=3)
    # Without a clip, a dot at the very end of the axis is whole.
    dots.set_clip_on(False)


def _find_chances(marks: Sequence[tuple[float, ForestMark]], zero: float | None) -> list[tuple[float, float]]:
    """Height and chance level of each mark.

    Without a level of its own, a mark has `zero`. If that is None too, it is left out.
    """
    chances = []
    for y, mark in marks:
        chance = zero if mark.row.level is None else mark.row.level
        if chance is not None:
            chances.append((y, chance))
    return chances


def _choose_face(mark: ForestMark) -> str:
    """Fill colour of a mark's dot.

    White, so that the dot is hollow, if the value is indistinguishable from chance.
    """
    if mark.position in (ABOVE, BELOW):
        return _choose_colour(mark)
    return "white"


def _choose_colour(mark: ForestMark) -> str:
    """Colour of a mark's scorer."""
    return COLOURS[mark.scorer % len(COLOURS)]
