"""A mosaic against landmarks: ratios of times, nats, pace, bytes."""

from benchmarks.figures.markdown import NOTHING, phrase, shown, table
from benchmarks.figures.readings import finite, grouped, results

_METHOD = f"""\
`DMKDE(feature_map="mosaic")` and `DMKDE(feature_map="landmarks", n_components=1024)`
take turns on the same float32 rows, with all cores; ratios are medians over the rounds,
above 1 where the mosaic is faster. *Nats* are those of rows that neither has seen, per
row. {NOTHING}: not measured.
"""


def chapter(lines, album):
    """A table of all that was measured."""
    lines = results(lines)
    rows = [
        [line["case"], line["metric"], shown(finite(line["value"])), _beside(line)]
        for line in lines
    ]
    if not rows:
        return "Nothing has been measured.\n"
    made = table(["case", "measure", "value", "behind it"], rows, "llrl")
    return "\n".join([_METHOD, made, _notes(lines)])


def _beside(line):
    """The times and likelihoods that the value was made of."""
    pairs = (
        ("landmarks_seconds", "landmarks {} s"),
        ("mosaic_seconds", "mosaic {} s"),
        ("landmarks_nats", "landmarks {}"),
        ("mosaic_nats", "mosaic {}"),
        ("rows", "{} rows"),
    )
    found = line["details"]
    return ", ".join(
        text.format(shown(found[key])) for key, text in pairs if key in found
    )


def _notes(lines):
    away = [line for line in lines if line["details"].get("reason")]
    reasons = grouped(away, lambda line: phrase(line["details"]["reason"]))
    return "".join(
        f"- {'; '.join(grouped(group, lambda line: line['case']))}: {reason}\n"
        for reason, group in reasons.items()
    )
