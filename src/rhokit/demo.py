"""A first look: ``python -m rhokit.demo`` fits two real data sets and draws them.

Both come with scikit-learn, so nothing is downloaded. Exact kernel density
estimation stands beside every number, at the same bandwidth and scaling.
"""

import argparse
import math
import sys
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_sample_image
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KernelDensity

from rhokit import DMKDE, __version__
from rhokit.progress import progress

_SEED = 0
_EXACT_ROWS = 500  # exact KDE would need minutes for a whole photograph
_DIGITS_IN_A_ROW = 10

_INK, _FAINT = "#222222", "#666666"
_CONTOUR_SHARES = (0.99, 0.9, 0.5)  # of the pixels that lie inside
_SHADES = ("#eceff4", "#d3dae6", "#aab6cc")
_TITLE = {"fontsize": 11, "color": _INK}
_NOTE = {"fontsize": 9, "color": _FAINT}
_DOTS = 1500  # more would hide the density

_MAPS = {
    "LandmarkFeatures": "landmarks: a row is known by its likeness to typical rows",
    "QuadratureFeatures": "grid: a row is known by waves on a grid of frequencies",
    "FourierFeatures": "random waves: a row is known by waves of random frequencies",
}


@dataclass(frozen=True)
class Timing:
    """Seconds to fit, and to score a thousand rows."""

    fit: float
    score: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """A fitted model and exact KDE on the same held-out rows."""

    model: Any
    logs: np.ndarray
    timing: Timing
    exact_logs: np.ndarray
    exact_timing: Timing


# ---- the work --------------------------------------------------------------------


def compare(train, held_out, what):
    """Fit DMKDE, with its defaults, and exact KDE to ``train``; score ``held_out``."""
    with progress(f"Fitting {what}"):
        warm_up(train)
        model, fit_time = timed(fit_and_prepare, train)
        logs, score_time = timed(model.score_samples, held_out, repeats=3)
    with progress(f"Exact KDE of {what}"):
        exact, exact_fit_time = timed(exact_kde, train, model)
        exact_logs, exact_score_time = timed(exact, held_out, repeats=3)
    thousands = len(held_out) / 1000
    return Comparison(
        model,
        logs,
        Timing(fit_time, score_time / thousands),
        exact_logs,
        Timing(exact_fit_time, exact_score_time / thousands),
    )


def warm_up(rows):
    """Let numba compile for rows like these, so that no clock counts it."""
    DMKDE(gamma=1.0, n_components=16).fit(rows[:64]).score_samples(rows[:64])


def fit_and_prepare(rows):
    """A model that has done the work which the first score would do."""
    model = DMKDE(random_state=_SEED).fit(rows)
    model.score_samples(rows[:1])
    return model


def exact_kde(rows, model):
    """Log-density by scikit-learn at the model's γ and scaling, in the user's units."""
    bandwidth = 1 / math.sqrt(2 * model.gamma_)
    kde = KernelDensity(bandwidth=bandwidth).fit(model.scaling_.apply(rows))

    def score_samples(rows):
        scaled = model.scaling_.apply(rows)
        return kde.score_samples(scaled) + model.scaling_.log_volume

    return score_samples


def timed(function, *arguments, repeats=1):
    """What the function returns, and the seconds of its fastest run."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        value = function(*arguments)
        times.append(time.perf_counter() - start)
    return value, min(times)


def merge_error(model, train, held_out):
    """Largest change of a log-density when two halves are fitted apart and merged."""
    middle = len(train) // 2
    first = model.blank().partial_fit(train[:middle])
    second = model.blank().partial_fit(train[middle:])
    merged = first.merge(second).score_samples(held_out)
    return float(np.abs(merged - model.score_samples(held_out)).max())


def colours(photo):
    """Brightness and warmth (red minus blue) of pixels (..., 3), as float32."""
    photo = photo.astype(np.float32)
    brightness = photo @ np.float32([0.299, 0.587, 0.114])
    return np.stack([brightness, photo[..., 0] - photo[..., 2]], axis=-1)


# ---- the words -------------------------------------------------------------------


def show(*lines):
    """Print indented lines, at once even in a pipe."""
    print(*(f"   {line}".rstrip() for line in lines), sep="\n", flush=True)


def describe(model):
    """What the model chose, for somebody who has never seen one."""
    feature_map, floor = model.feature_map_, model.floor_
    size = f"{feature_map.n_components_:,}"
    bandwidth = 1 / math.sqrt(2 * model.gamma_)
    return [
        *entry("map", _MAPS.get(type(feature_map).__name__, repr(feature_map))),
        *entry(
            "gamma",
            f"{model.gamma_:.3g}, chosen by leave-one-out likelihood: the kernel is "
            f"{bandwidth:.2g} standard deviations of a column wide",
        ),
        *entry(
            "dimension",
            f"{size}: the density matrix has {size} x {size} numbers, however many "
            "rows it is fitted to",
        ),
        *entry(
            "floor",
            "none: away from the data the density falls to zero"
            if math.isinf(floor)
            else f"{floor:.1f}: lower log-densities cannot be told from zero",
        ),
    ]


def entry(name, text):
    """A name, and its text wrapped beside it."""
    return wrap(f"{name:<12}{text}", 77, subsequent_indent=" " * 12)


def table(result):
    """Both estimators side by side, and how far apart they are."""
    rows = [
        ("", "mean log-density", "time", "time to score"),
        ("", "of held-out rows", "to fit", "1,000 rows"),
        _table_row("DMKDE", result.logs, result.timing),
        _table_row("exact KDE", result.exact_logs, result.exact_timing),
    ]
    gap = np.median(np.abs(result.logs - result.exact_logs))
    return [
        *(
            f"{name:<11}{mean:>17}{fit:>13}{score:>18}"
            for name, mean, fit, score in rows
        ),
        "",
        "DMKDE's time to fit includes the search for gamma, which exact KDE is given.",
        f"Half of the held-out log-densities differ by less than {gap:.1g}.",
    ]


def _table_row(name, logs, timing):
    return name, f"{logs.mean():.3f}", duration(timing.fit), duration(timing.score)


def duration(seconds):
    """A time in the unit that suits it."""
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"


def least_likely(logs, images, digits, count=5):
    """The images that the model finds strangest, the strangest first."""
    order = np.argsort(logs)[:count]
    rows = {
        "image": [f"{images[i]}" for i in order],
        "digit": [f"{digits[i]}" for i in order],
        "log-density": [f"{logs[i]:.1f}" for i in order],
    }
    return [f"{name:<11} " + "".join(f"{v:>10}" for v in rows[name]) for name in rows]


# ---- the two stories -------------------------------------------------------------


def tell_digits(output):
    """64 columns and few rows: likely, unlikely and new handwriting."""
    data = load_digits()
    train, held_out, _, images = train_test_split(
        data.data, np.arange(len(data.data)), test_size=0.25, random_state=_SEED
    )
    print("1. Handwritten digits: images of 8 x 8 pixels, 64 columns")
    show(f"{len(train):,} are fitted, {len(held_out):,} held out", "")
    result = compare(train, held_out, "the digits")
    show(*describe(result.model), "", *table(result), "")
    show("The five least likely of the held-out images:")
    show(*least_likely(result.logs, images, data.target[images]), "")
    with progress("Merging two halves"):
        error = merge_error(result.model, train, held_out)
    show(
        "Two halves, fitted apart and merged, are the model of the whole:",
        f"no held-out log-density changes by more than {error:.0e}.",
    )
    save(draw_digits, output / "digits.png", result, held_out)


def tell_photograph(output):
    """Two columns and many rows: common and rare colours."""
    print("2. A photograph: the brightness and warmth (red minus blue) of its pixels")
    if not installed("PIL"):
        show("Left out: reading it takes Pillow, pip install 'rhokit[plot]'")
        return
    photo = load_sample_image("flower.jpg")
    rows = colours(photo)
    train, rest = rows[::2, ::2].reshape(-1, 2), rows[1::2, 1::2].reshape(-1, 2)
    held_out = np.random.default_rng(_SEED).choice(rest, _EXACT_ROWS, replace=False)
    show(f"{len(train):,} are fitted, {len(held_out):,} of the others held out", "")
    result = compare(train, held_out, "the photograph")
    ratio = result.exact_timing.score / result.timing.score
    show(*describe(result.model), "", *table(result))
    show(f"DMKDE scores {ratio:.0f} times as fast; more rows would not slow it down.")
    save(draw_photograph, output / "photograph.png", result, photo)


# ---- the pictures ----------------------------------------------------------------


def installed(package):
    """Whether an optional package can be imported."""
    return find_spec(package) is not None


def save(draw, path, result, data):
    """Draw a picture if matplotlib is there, and say where it is."""
    if installed("matplotlib"):
        from matplotlib.figure import Figure

        with progress(f"Drawing {path.name}"):
            figure = Figure(layout="constrained", facecolor="white")
            draw(figure, result, data)
            figure.savefig(path, dpi=150)
        show("", f"Picture: {path}")
    print()


def draw_digits(figure, result, held_out):
    """The most and least likely digits, and new ones drawn from the density."""
    count = _DIGITS_IN_A_ROW
    order = np.argsort(result.logs)
    bands = {
        "Most likely of the held-out digits": held_out[order[::-1][:count]],
        "Least likely of the held-out digits": held_out[order[:count]],
        "New digits, drawn from the density": result.model.sample(count, _SEED),
    }
    figure.set_size_inches(9, 4.6)
    grid = figure.subplots(len(bands), count)
    for axes, (title, images) in zip(grid, bands.items(), strict=True):
        # Kept out of the layout, for it would widen the first column.
        corner = {"transform": axes[0].transAxes}
        axes[0].text(0, 1.08, title, **corner, **_TITLE).set_in_layout(False)
        logs = result.model.score_samples(images)
        for cell, image, log in zip(axes, images, logs, strict=True):
            _draw_digit(cell, image, f"{log:.0f}")
    figure.supxlabel("below each digit: its log-density", **_NOTE)
    figure.get_layout_engine().set(h_pad=0.16)


def _draw_digit(axes, image, caption):
    axes.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
    axes.set(xticks=[], yticks=[])
    axes.set_xlabel(caption, **_NOTE)
    axes.spines[:].set_color("#cccccc")


def draw_photograph(figure, result, photo):
    """The photograph, where its colours are rare, and their density."""
    figure.set_size_inches(11, 6.4)
    axes = figure.subplot_mosaic("AC;BC", width_ratios=[1, 1.25])
    rows = colours(photo).reshape(-1, 2)
    logs = result.model.score_samples(rows)
    axes["A"].imshow(photo)
    axes["A"].set_title("The photograph", loc="left", **_TITLE)
    axes["A"].axis("off")
    _draw_rarity(axes["B"], logs.reshape(photo.shape[:2]))
    _draw_density(axes["C"], result.model, rows, logs, photo.reshape(-1, 3) / 255)


def _draw_rarity(axes, logs):
    # A handful of pixels would take up half of the colours.
    low, high = np.quantile(logs, [0.005, 0.99])
    image = axes.imshow(logs, cmap="magma_r", vmin=low, vmax=high)
    axes.set_title("Its rare colours, bright", loc="left", **_TITLE)
    axes.axis("off")
    below = axes.inset_axes([0, -0.08, 1, 0.03])
    bar = axes.figure.colorbar(image, cax=below, orientation="horizontal")
    bar.set_label("log-density of the colour", **_NOTE)
    bar.ax.tick_params(labelsize=9, labelcolor=_FAINT)
    bar.outline.set_visible(False)


def _draw_density(axes, model, rows, logs, paint):
    x, y, surface = density_surface(model, rows)
    levels = np.quantile(logs, [1 - share for share in _CONTOUR_SHARES])
    axes.contourf(x, y, surface, [*levels, surface.max()], colors=_SHADES)
    dots = min(_DOTS, len(rows))
    chosen = np.random.default_rng(_SEED).choice(len(rows), dots, replace=False)
    axes.scatter(*rows[chosen].T, s=7, c=paint[chosen], linewidths=0)
    axes.contour(x, y, surface, levels, colors="white", linewidths=2, linestyles="-")
    axes.contour(x, y, surface, levels, colors=_INK, linewidths=0.7, linestyles="-")
    low, middle, high = (f"{share:.0%}" for share in sorted(_CONTOUR_SHARES))
    title = f"Density of the colours: the contours hold {low}, {middle} and {high}"
    axes.set_title(f"{title} of the pixels", loc="left", **_TITLE)
    axes.set_xlabel("brightness", **_NOTE)
    axes.set_ylabel("warmth (red minus blue)", **_NOTE)
    axes.tick_params(labelsize=9, labelcolor=_FAINT)
    axes.spines[["top", "right"]].set_visible(False)


def density_surface(model, rows, steps=200):
    """Log-density on a grid over the rows: x (steps,), y (steps,), (steps, steps)."""
    low, high = rows.min(axis=0), rows.max(axis=0)
    margin = 0.05 * (high - low)
    x, y = np.linspace(low - margin, high + margin, steps).T
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    return x, y, model.score_samples(grid).reshape(steps, steps)


# ---- the command -----------------------------------------------------------------


def main(argv=None):
    """Run the demo; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m rhokit.demo", description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    output = parser.parse_args(argv).output
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--output: cannot make the folder {output}: {error.strerror}")
    print(f"rhokit {__version__}: the density of data, from one small matrix\n")
    if not installed("matplotlib"):
        print("No pictures without matplotlib: pip install 'rhokit[plot]'\n")
    tell_digits(output)
    tell_photograph(output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
