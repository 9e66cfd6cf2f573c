"""What all pictures of the page share: colours, panels, legends, files.

rhokit's own are filled marks in blues, the others hollow marks in muted colours that
people with any colour vision tell apart; no two share both colour and mark. Figures are
made without pyplot, so that drawing them leaves no state behind.
"""

import io
import math
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from PIL import Image

from rhokit.plots.canvas import CYCLE, FAINT, INK, PALE, tidy

__all__ = ["CYCLE", "FAINT", "INK", "PALE", "Album", "Looks", "tidy"]

OURS = "#0072B2", "#00345C", "#4FA3D9", "#1B4F9C", "#7FB2E5", "#5B6CC0"
# Paul Tol's muted scheme without its blues, and a grey.
OTHERS = (
    "#CC6677",
    "#117733",
    "#C2A83E",
    "#882255",
    "#44AA99",
    "#999933",
    "#AA4499",
    "#888888",
)
MARKS = "o", "s", "^", "D", "v", "P", "X", "h", "<"
_WIDTH = 9.0
_DPI = 150
_LONG = 2e4  # larger numbers are written as powers
_COLOURS = 256


@dataclass(frozen=True)
class Look:
    """Colour and mark of one contestant."""

    colour: str
    mark: str
    ours: bool

    def line(self):
        """Arguments of ``plot`` for a line with marks."""
        return self.dots() | {"linestyle": "-", "linewidth": 1.8 if self.ours else 0.9}

    def dots(self):
        """Arguments of ``plot`` for marks alone."""
        return {
            "color": self.colour,
            "marker": self.mark,
            "linestyle": "none",
            "markersize": 6 if self.ours else 5,
            "markeredgewidth": 1.1,
            "markerfacecolor": self.colour if self.ours else "white",
            "zorder": 4 if self.ours else 3,
        }


class Looks:
    """A look for every contestant of a section, the same in all its panels.

    Parameters
    ----------
    entries : iterable
        Things with a ``name`` that may be ``ours``, in the order of the legend.
    """

    def __init__(self, entries):
        kinds = {entry.name: entry.ours for entry in entries}
        self._looks = {}
        for ours, colours in ((True, OURS), (False, OTHERS)):
            names = [name for name, mine in kinds.items() if mine == ours]
            for i, name in enumerate(names):
                self._looks[name] = Look(
                    colours[i % len(colours)], MARKS[i % len(MARKS)], ours
                )

    def __getitem__(self, name):
        return self._looks[name]

    def legend(self, figure, axes):
        """A legend below the panels, of those that have something in them."""
        drawn = handles_by_name(axes)
        names = [name for name in self._looks if name in drawn]
        legend_below(figure, [drawn[name] for name in names], names)


class Album:
    """The pictures of a page.

    Parameters
    ----------
    folder : Path
        Of the page.
    inside : str
        Folder of the pictures, as seen from there.
    """

    def __init__(self, folder, inside="images/benchmarks"):
        self._folder, self._inside = folder, inside

    def add(self, name, figure, words):
        """Write a figure; return the Markdown that shows it.

        Parameters
        ----------
        name : str
            Of the file, without its ending.
        figure : matplotlib.figure.Figure
        words : str
            What the picture shows, for those who cannot see it.
        """
        place = f"{self._inside}/{name}.png"
        path = self._folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        save(figure, path)
        return f"![{words}]({place})\n"


def save(figure, path):
    """Write a figure as a small PNG: the same bytes for the same figure."""
    raw = io.BytesIO()
    figure.savefig(raw, format="png", dpi=_DPI, facecolor="white")
    raw.seek(0)
    # A palette keeps the file small; this way of choosing it spares rare colours, and
    # means bring it back to the pale ones of bands, which are many.
    with Image.open(raw) as picture:
        small = picture.convert("RGB").quantize(
            _COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE
        )
    small.save(path, optimize=True, dpi=(_DPI, _DPI))


def panels(count, *, columns=None, height=2.7, names=()):
    """A figure with so many panels, and their axes.

    Parameters
    ----------
    count : int
    columns : int, optional
        At most so many side by side; without it, as many as leave few places empty.
    height : float
        Of a row of panels, in inches.
    names : collection of str
        Of the legend that will stand below them.
    """
    columns = min(count, columns or (2 if count in (2, 4) else 3))
    rows = math.ceil(count / columns)
    width = _WIDTH if columns > 1 else 0.6 * _WIDTH
    size = width, rows * height + _legend_height(names, width)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    axes = list(grid.flat)
    for ax in axes[count:]:
        ax.set_axis_off()
    for ax in axes[:count]:
        ax.tick_params(labelsize=8, colors=INK)
        ax.grid(visible=True, color=PALE, linewidth=0.5)
        ax.set_axisbelow(True)
    return figure, axes[:count]


def handles_by_name(axes):
    """What stands in any of the panels, by its name."""
    drawn = {}
    for ax in axes:
        handles, names = ax.get_legend_handles_labels()
        drawn |= dict(zip(names, handles, strict=True))
    return drawn


def legend_below(figure, handles, names):
    """A legend that stands below the panels and covers none of them."""
    if handles:
        figure.legend(
            handles,
            names,
            loc="outside lower center",
            ncols=_legend_columns(names, figure.get_figwidth()),
            frameon=False,
            fontsize=8,
        )


def _legend_columns(names, width):
    """As many as surely fit, in a font of eight points."""
    longest = max(map(len, names))
    return max(1, min(4, int(width / (0.55 + 0.062 * longest))))


def _legend_height(names, width):
    if not names:
        return 0
    return 0.2 * (1 + math.ceil(len(names) / _legend_columns(names, width)))


def legend_under(ax):
    """A legend that stands below its own panel."""
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.22)}
    ax.legend(**place, frameon=False, fontsize=7.5)


def label(ax, title, x, y):
    """Title and labels of a small panel; the upright one at the left edge alone."""
    tidy(ax)
    ax.set_title(title, loc="left", fontsize=9, color=INK)
    ax.set_xlabel(x, fontsize=8, color=INK)
    if ax.get_subplotspec().is_first_col():
        ax.set_ylabel(y, fontsize=8, color=INK)


def logarithmic(ax, *sides):
    """Logarithmic axes, with 2 and 5 between the powers where these are few.

    To be called when all has been drawn: it looks at what there is to show.
    """
    for side in sides:
        getattr(ax, f"set_{side}scale")("log")
        axis = getattr(ax, f"{side}axis")
        low, high = getattr(ax, f"get_{side}lim")()
        decades = math.log10(high / low) if 0 < low < high else 0
        axis.set_minor_formatter(NullFormatter())
        if decades < 2.2 and high < _LONG:
            subs = (1, 2, 5) if decades > 0.6 else (1, 1.5, 2, 3, 4, 5, 6, 8)
            axis.set_major_locator(LogLocator(subs=subs))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        elif decades > 9:
            axis.set_major_locator(LogLocator(numticks=7))
