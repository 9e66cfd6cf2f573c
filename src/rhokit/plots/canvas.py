"""Axes to draw on, colours and words that all pictures have in common."""

from typing import Any

# Okabe and Ito's colours, which people with any colour vision tell apart.
BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
CYCLE = (BLUE, ORANGE, GREEN, "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8C8C00")
INK, FAINT, PALE = "#333333", "#777777", "#d9dde3"
SEQUENCE = "Blues"
# Of a bar and the space around it, in inches.
_BAR_HEIGHT = 0.28


def pyplot(owner: str) -> Any:
    """matplotlib's pyplot, for a display of this name."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{owner} needs matplotlib: pip install 'rhokit[plot]'"
        ) from error
    return plt


def axes_for(owner: str, ax: Any, size: tuple[float, float]) -> Any:
    """Axes to draw on: those given, or those of a new figure of this size."""
    plt = pyplot(owner)
    if ax is None:
        _, ax = plt.subplots(figsize=size, layout="constrained")
    return ax


def named_bars(
    display: Any, ax: Any, values: Any, names: Any, colours: Any, **style: Any
) -> Any:
    """Axes with a horizontal bar for each name, the first one on top."""
    height = max(2.2, 1.1 + _BAR_HEIGHT * len(names))
    ax = axes_for(type(display).__name__, ax, (6.4, height))
    places = range(len(names))
    ax.barh(places, values, **({"color": colours, "alpha": 0.75} | style))
    ax.set_yticks(places, names)
    ax.invert_yaxis()
    return ax


def tidy(
    ax: Any, *, title: str | None = None, x: str | None = None, y: str | None = None
) -> None:
    """Title, labels, and no more lines than needed."""
    if title is not None:
        ax.set_title(title, loc="left", fontsize="medium")
    if x is not None:
        ax.set_xlabel(x)
    if y is not None:
        ax.set_ylabel(y)
    ax.spines[["top", "right"]].set_visible(False)


def percent(fraction: float) -> str:
    """A fraction in hundredths, with a decimal only where it says something."""
    return f"{round(100 * float(fraction), 1):g} %"


def count(number: int, noun: str) -> str:
    """So many of something."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
