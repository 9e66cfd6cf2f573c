"""Share of the hardware: flops per second against those of a plain product."""

from benchmarks.figures.markdown import NOTHING, fixed, percent, phrase, table
from benchmarks.figures.readings import finite, grouped, results
from benchmarks.figures.style import CYCLE, FAINT, INK, label, legend_below, panels

_METHOD = """\
Flops per second of a fit (N·D², what a symmetric sum needs) and of answers (2·N·D²,
what a plain product would take) as a share of those of a plain product in single
precision (SGEMM), measured in the same rounds; complex columns count four times.
Answers can be above 1: a triangular factor halves their work, and a rank below D does
even more. *Choosing* is the part of a fit that choosing the map takes, which does not
grow with the rows; *columns* is the part of an answer that computing the map takes.
"""


def chapter(lines, album):
    """A bar for every map, step and number of threads, and the figures."""
    lines = [line for line in results(lines) if line["details"].get("step")]
    if not lines:
        return "No share has been measured.\n"
    parts = [_METHOD]
    if any(finite(line["value"]) is not None for line in lines):
        figure = _figure(lines)
        parts.append(album.add("hardware", figure, "Shares of the SGEMM peak"))
    return "\n".join([*parts, _table(lines), _notes(lines)])


def _map(line):
    """The map as the case names it, which may say more than the map alone."""
    return line["case"].removeprefix(f"{line['details']['step']}, ")


def _cores(threads):
    return "1 core" if threads == 1 else f"{threads} cores"


def _figure(lines):
    lines = [line for line in lines if finite(line["value"]) is not None]
    steps = grouped(lines, lambda line: line["details"]["step"])
    maps = list(grouped(lines, _map))
    threads = sorted({line["threads"] for line in lines})
    height = 0.7 + 0.17 * (len(threads) + 0.8) * len(maps)
    figure, axes = panels(
        len(steps), columns=2, height=height, names=[_cores(n) for n in threads]
    )
    for ax, (step, group) in zip(axes, steps.items(), strict=True):
        values = {(_map(line), line["threads"]): line["value"] for line in group}
        _bars(ax, values, maps, threads)
        label(ax, step, "share of the SGEMM peak", "")
    for ax in axes[1:]:
        ax.set_yticklabels([])
    legend_below(figure, *axes[0].get_legend_handles_labels())
    return figure


def _bars(ax, values, maps, threads):
    width = 0.8 / len(threads)
    for i, count in enumerate(threads):
        places = [
            row + (i - (len(threads) - 1) / 2) * width for row in range(len(maps))
        ]
        shares = [values.get((name, count), 0) for name in maps]
        colour = CYCLE[0] if i == len(threads) - 1 else CYCLE[4]
        bars = ax.barh(places, shares, width, color=colour, label=_cores(count))
        texts = [fixed(share, 2) if share else "" for share in shares]
        ax.bar_label(bars, texts, padding=2, fontsize=6.5, color=INK)
    ax.axvline(1, color=FAINT, linewidth=0.8, linestyle="--", zorder=0.5)
    ax.set_yticks(range(len(maps)), maps)
    ax.set_ylim(len(maps) - 0.45, -0.55)
    ax.grid(visible=False, axis="y")
    ax.set_xlim(0, 1.12 * max(1, *values.values()))


def _table(lines):
    columns = sorted(grouped(lines, _column))
    rows = [
        [name, *(_cell(group, column) for column in columns), *_parts(group)]
        for name, group in grouped(lines, _map).items()
    ]
    heads = [f"{step}, {_cores(threads)}" for step, threads in columns]
    return table(["map", *heads, "choosing", "columns"], rows)


def _column(line):
    return line["details"]["step"], line["threads"]


def _cell(group, column):
    found = [line for line in group if _column(line) == column]
    if not found:
        return NOTHING
    value = finite(found[0]["value"])
    pace = found[0]["details"].get("rows_per_second")
    if value is None and pace is not None:
        return f"{float(f'{pace:.2g}'):,.0f} rows/s"
    return fixed(value, 2)


def _parts(group):
    """Parts of fits and answers that go to the map, with the fewest threads."""
    ordered = sorted(group, key=lambda line: line["threads"])
    for step, key in (("fit", "choosing_share"), ("predict", "map_share")):
        shares = [
            line["details"].get(key)
            for line in ordered
            if line["details"]["step"] == step
        ]
        yield next((percent(share) for share in shares if share is not None), NOTHING)


def _notes(lines):
    away = [line for line in lines if line["details"].get("reason")]
    reasons = grouped(away, lambda line: phrase(line["details"]["reason"]))
    return "".join(
        f"- {'; '.join(grouped(group, _map))}: {reason}\n"
        for reason, group in reasons.items()
    )
