"""The plots of a report as figures of matplotlib, for slides and papers.

The numbers come from `plots`; a function here only draws them on an axis. Colours are told apart by colour-blind
readers and in grey; chance and intervals are on every plot of accuracies.
"""

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
"""How matplotlib draws; a name is a name, dollar signs and all."""
DPI = 160
CLOSE = 0.7
"""Scorers of one line stand closer together than lines."""
WIDEST = 10.0
"""Inches across, after which panels go on in another row: wider, and a page shrinks the words beyond reading."""


@dataclass(frozen=True)
class Figure:
    """What goes into each panel, and how large each is in inches."""

    panels: Sequence[Callable[[Axes], None]]
    width: float
    height: float

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of panels."""
        columns = min(len(self.panels), max(1, int(WIDEST // self.width)))
        return -(-len(self.panels) // columns), columns


def canvas(figure: Figure) -> "Canvas":
    """The figure as one of matplotlib's, drawn: a notebook shows it, `savefig` writes it."""
    with needing("a figure", "figures"):
        from matplotlib import rc_context
        from matplotlib.figure import Figure as Canvas

    with rc_context(STYLE):
        rows, columns = figure.shape
        drawn = Canvas(figsize=(figure.width * columns, figure.height * rows), dpi=DPI, layout="constrained")
        for place, draw in enumerate(figure.panels, 1):
            draw(drawn.add_subplot(rows, columns, place))
        # One legend for all panels, above them: inside it would hide what is drawn, and long names would squeeze it.
        each = (zip(*ax.get_legend_handles_labels(), strict=True) for ax in drawn.axes)
        named = {label: handle for panel in each for handle, label in panel}
        if named:
            fit = max(1, int(drawn.get_figwidth() / (0.5 + 0.075 * max(map(len, named)))))
            where: Any = {"loc": "outside upper left", "frameon": False, "fontsize": "small"}
            drawn.legend(named.values(), named.keys(), ncols=fit, **where)
    return drawn


def shortened(name: str, longest: int = 32) -> str:
    """A long name with its middle left out: paths are told apart by their ends.

    >>> shortened("hf:/models/llama/checkpoint-9000", 20)
    'hf:/model…point-9000'
    """
    return name if len(name) <= longest else f"{name[: (longest - 1) // 2]}…{name[-(longest // 2) :]}"


def forest_figures(forests: Mapping[str, Forest], names: Sequence[str]) -> dict[str, Figure]:
    """A figure for each forest that has something in it, with the names of the scorers."""
    return {
        name: Figure([partial(draw_forest, forest=forest, names=names)], 7.5, forest_height(forest))
        for name, forest in forests.items()
        if forest.blocks
    }


def forest_height(forest: Forest) -> float:
    """Inches that keep lines equally far apart, however many."""
    headings = 1.2 * len(forest.blocks) if len(forest.blocks) > 1 else 0.2
    units = sum(1 + CLOSE * (len(line.marks) - 1) for line in forest.lines) + headings
    return 1.2 + 0.26 * units


def whole_ticks(axis: "Axis") -> None:
    """Ticks at whole numbers alone, with commas and no sign: nothing is half a problem, nor fewer than none."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=1))
    axis.set_major_formatter(lambda value, _: f"{abs(value):,.0f}")


def draw_forest(ax: Axes, forest: Forest, names: Sequence[str]) -> None:
    """Each result with its interval; a dotted line marks chance, a hollow dot an interval that includes it."""
    labels: list[tuple[float, str, bool]] = []
    marks: list[tuple[float, ForestMark]] = []
    y = -1.0
    for block in forest.blocks:
        if len(forest.blocks) > 1:
            y += 1
            labels.append((y, block.title, True))
        for line in block.lines:
            y += 1
            places = [y + CLOSE * below for below in range(len(line.marks))]
            marks += zip(places, line.marks, strict=True)
            labels.append((sum(places) / len(places), line.title, False))
            y = places[-1]
        y += 0.2
    _draw_marks(ax, marks, 0.0 if forest.low < 0 else None)
    ax.set_ylim(y + 0.6, -0.8)
    ax.set_xlim(100 * forest.low, 100 * forest.high)
    ax.set_xticks([100 * value for value, _ in forest.ticks], [label for _, label in forest.ticks])
    ax.set_yticks([place for place, _, _ in labels], [shortened(text, 64) for _, text, _ in labels])
    for tick, (_, _, heading) in zip(ax.get_yticklabels(), labels, strict=True):
        tick.set_fontweight("bold" if heading else "normal")
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color="#e2e1db", linewidth=0.8)
    ax.set_axisbelow(True)
    against = "zero" if forest.low < 0 else "chance"
    ax.set_xlabel(f"{forest.unit}\n(dotted: {against}; hollow: indistinguishable from it)")
    if len(names) > 1:
        for index in sorted({mark.scorer for _, mark in marks}):
            ax.plot([], [], "o", color=COLOURS[index % len(COLOURS)], label=shortened(names[index]))


def _draw_marks(ax: Axes, marks: Sequence[tuple[float, ForestMark]], zero: float | None) -> None:
    """Draw chance, intervals and values, each kind in one stroke."""
    chances = [(y, m.row.level if m.row.level is not None else zero) for y, m in marks]
    known = [(y, 100 * chance) for y, chance in chances if chance is not None]
    ax.vlines(
        [chance for _, chance in known],
        [y - CLOSE / 2 for y, _ in known],
        [y + CLOSE / 2 for y, _ in known],
        colors=GREY,
        linestyles="dotted",
        linewidth=1.3,
    )
    spans = [(y, m) for y, m in marks if m.row.low is not None and m.row.high is not None]
    ax.hlines(
        [y for y, _ in spans],
        [100 * (m.row.low or 0) for _, m in spans],
        [100 * (m.row.high or 0) for _, m in spans],
        colors=[_colour(m) for _, m in spans],
        linewidth=2,
    )
    faces = [_colour(m) if m.stands in (ABOVE, BELOW) else "white" for _, m in marks]
    values = [100 * m.row.value for _, m in marks]
    places = [y for y, _ in marks]
    # A dot at the very end of the axis is whole.
    dots = ax.scatter(values, places, s=36, facecolors=faces, edgecolors=[_colour(m) for _, m in marks], zorder=3)
    dots.set_clip_on(False)


def _colour(mark: ForestMark) -> str:
    return COLOURS[mark.scorer % len(COLOURS)]
