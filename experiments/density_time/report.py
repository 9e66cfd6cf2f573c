"""Table, picture and reading of the prediction times; fast approximations beside."""

from types import SimpleNamespace

from benchmarks.figures.markdown import NOTHING, bold, seconds, shown, table
from benchmarks.figures.style import Looks, label, logarithmic, panels
from benchmarks.fits import power
from experiments.density_text import (
    known,
    mean,
    pick,
    ratio,
    sentences,
    times,
    values,
)
from experiments.density_time.approximations import approximations
from experiments.density_time.config import (
    AUTO,
    CLEAR,
    FUSED,
    LANDMARKS,
    MODELS,
    NUMPY,
    PANELS,
    PAPER,
)
from experiments.reports import Report, measured


def report(lines, album):
    """The page: the paper's curve, and what the paper leaves as future work."""
    results = measured(lines)
    parts = [_about(results)]
    drawn = {panel: pick(results, panel=panel) for panel in PANELS}
    drawn = {panel: own for panel, own in drawn.items() if own}
    if drawn:
        words = "Seconds of a prediction over the number of training rows"
        parts.append(album.add("density-time", _figure(drawn), words))
    for panel, own in drawn.items():
        parts += [f"## {panel}\n", _reading(own), _table(own)]
    parts.append(approximations())
    return Report("\n".join(filter(None, parts)))


def _about(results):
    if not results:
        return "Nothing has been measured.\n"
    settings = results[0]["settings"]
    threads = known(results, "threads")
    return (
        f"Seconds to ask {settings['queries']:,} rows for their density, rows in "
        f"single precision, {'/'.join(map(str, threads))} threads; D = "
        f"{settings['n_components']:,} for random features and landmarks, the low rank "
        f"is {settings['rank']}. Times are "
        "medians of rounds in which all models take turns; where a job takes more than "
        "half a second, the fastest of fewer runs. Models have answered before, so "
        "that nothing is compiled or factored on the clock. *Exponent* is the slope of "
        "the curve in the logarithms over the larger half of the sizes: 1 is "
        "proportional to the rows, 0 constant. MNIST-like rows are MNIST rows in 40 "
        "principal components, drawn with replacement, with noise of 0.01 in each "
        "column.\n"
    )


def _reading(own):
    most = max(known(own, "rows"))
    crossed = {name: _crossing(own, PAPER, name) for name in (NUMPY, FUSED)}
    best = AUTO if pick(own, case=AUTO) else LANDMARKS
    exact = _seconds(own, FUSED, most)
    gains = [ratio(exact, _seconds(own, name, most)) for name in (PAPER, best)]
    return sentences(
        *(_crossing_sentence(name, size) for name, size in crossed.items()),
        None not in gains
        and f"At {most:,} rows the fastest exact sums take {times(gains[0])} as long "
        f"as the paper's map, and {times(gains[1])} as long as {best}.",
    )


def _crossing_sentence(rival, size):
    if size is None:
        return f"At no size here is the paper's map faster than {rival}."
    verdict = ", as the paper says" if size <= CLEAR and rival == NUMPY else ""
    return f"The paper's map is faster than {rival} from {size:,} rows on{verdict}."


def _crossing(own, name, rival):
    """The smallest size from which on a model is always faster than its rival."""
    found = None
    for size in sorted(known(own, "rows"), reverse=True):
        first, second = _seconds(own, name, size), _seconds(own, rival, size)
        if first is None or second is None or first >= second:
            break
        found = size
    return found


def _seconds(own, name, size):
    return mean(values(own, case=name, rows=size))


def _table(own):
    sizes = sorted(known(own, "rows"))
    powers = [size for size in sizes if str(size).strip("0") == "1"]
    rows = [
        [
            bold(name, ours),
            *(seconds(_seconds(own, name, size)) for size in powers),
            _exponent(own, name),
            _error(own, name),
        ]
        for name, ours in MODELS.items()
        if pick(own, case=name)
    ]
    heads = ["seconds at N =", *(f"{size:,}" for size in powers)]
    return table([*heads, "exponent", "relative RMSE at the most rows"], rows)


def _exponent(own, name):
    measured_at = sorted(known(pick(own, case=name), "rows"))
    found = [_seconds(own, name, size) for size in measured_at]
    return f"{power(measured_at, found):z.2f}" if len(found) > 1 else NOTHING


def _error(own, name):
    """Against the fused loops, which are exact to single precision."""
    if name == FUSED:
        return NOTHING
    last = max(pick(own, case=name), key=lambda line: line["details"]["rows"])
    return shown(last["details"]["error"])


# ---- picture -------------------------------------------------------------------------


def _figure(drawn):
    looks = Looks(SimpleNamespace(name=n, ours=o) for n, o in MODELS.items())
    figure, axes = panels(len(drawn), columns=3, height=3.2, names=MODELS)
    for ax, (panel, own) in zip(axes, drawn.items(), strict=True):
        for name in MODELS:
            sizes = sorted(known(pick(own, case=name), "rows"))
            if sizes:
                taken = [_seconds(own, name, size) for size in sizes]
                ax.plot(sizes, taken, label=name, **looks[name].line())
        label(ax, panel, "training rows", f"seconds of {_queries(own):,} densities")
        ax.set_xscale("log")
        logarithmic(ax, "y")
    looks.legend(figure, axes)
    return figure


def _queries(own):
    return own[0]["settings"]["queries"]
