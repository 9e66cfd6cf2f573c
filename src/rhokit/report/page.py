"""The page: sections in a template, with style and script inlined."""

import base64
import hashlib
import os
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from rhokit.inspection import PredictedLabels
from rhokit.io.atomic import write_atomically
from rhokit.progress import progress
from rhokit.report.facts import MAIN_COVERAGE, Facts, gather
from rhokit.report.sections import Entry, all_sections
from rhokit.report.words import count, fixed, number, percent

# A smaller share of learned rows is not worth a word.
_SOME = 0.02
_ASSETS = files("rhokit.report") / "assets"


def write_report(
    model: Any,
    X: Any,
    path: str | os.PathLike[str],
    *,
    y: Any = None,
    title: str | None = None,
    source: str | None = None,
    training: bool | None = None,
    max_rows: int | None = None,
    labels: Any = None,
    targets: Sequence[str] | None = None,
) -> Path:
    """Write one HTML page about a fitted model, for a colleague to open.

    The page holds everything it needs and asks nothing of a network: what was fitted
    and how, how sure the model is, densities, the least likely rows, the spectrum.
    Each part is there only if the model can answer it.

    Parameters
    ----------
    model : fitted estimator
        A density, classifier or regressor of rhokit, one-pass or trained.
    X : frame (pandas, polars, pyarrow) or array-like of shape (n, d)
        Rows to look at.
    path : str or path
        The file, written whole or not at all.
    y : array-like of shape (n,) or (n, t), optional
        Labels or values of the rows, against which answers are judged.
    title, source : str, optional
        The heading, and where the rows come from.
    training : bool, optional
        Whether the rows are those that the model was fitted to; without it that is told
        from the rows, of which a model keeps a sample. Densities are then computed
        with each row left out; other figures say that they are flattering.
    max_rows : int, optional
        Of more rows a sample of this size is looked at, and the page says so: 5,000
        without it, 2,000 for classes and 1,000 for values.
    labels : sequence of length n, optional
        What rows are called: their numbers in a file, say. Without it a frame's index
        says so, or their places.
    targets : sequence of str, optional
        Names of the targets; those of y, where it has some, without it.

    Returns
    -------
    path : Path

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> from rhokit.report import write_report
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = DMKDE(random_state=0).fit(X)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> page = write_report(model, X, path, training=True, title="Two columns")
    >>> "<h1>Two columns</h1>" in page.read_text()
    True
    """
    template = page_template()  # what is missing is missed before the work
    with progress(f"Asking the {type(model).__name__} for its report"):
        facts = gather(
            model,
            X,
            y=y,
            title=title,
            source=source,
            training=training,
            max_rows=max_rows,
            labels=labels,
            targets=targets,
        )
    text = render(facts, template)
    try:
        # Names may hold halves of characters, which no file can.
        write_atomically(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise OSError(f"{str(path)!r} could not be written: {error}") from error
    return Path(path)


def render(facts: Facts, template: Any = None) -> str:
    """The page as text."""
    return str(
        (template or page_template()).render(
            with_assets(
                title=facts.title or _title(facts),
                lede=_lede(facts),
                facts=facts,
                tiles=_tiles(facts),
                sections=all_sections(facts),
            )
        )
    )


def with_assets(**known: Any) -> dict[str, Any]:
    """What a page is made of, with style, script and the policy that lets them run."""
    style, script = _read("page.css"), _read("page.js")
    return known | {"style": style, "script": script, "policy": _policy(style, script)}


def page_template() -> Any:
    """The template of all pages."""
    try:
        import jinja2
    except ImportError as error:
        raise ImportError(
            "reports need jinja2: pip install 'rhokit[report]'"
        ) from error
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.from_string(_read("page.html.j2"))


def _read(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """A policy that lets the page run its own style and script, and nothing else."""

    def digest(text: str) -> str:
        hashed = hashlib.sha256(text.encode()).digest()
        return f"'sha256-{base64.b64encode(hashed).decode()}'"

    return f"default-src 'none'; style-src {digest(style)}; script-src {digest(script)}"


def _title(facts: Facts) -> str:
    fitted = facts.fitted
    columns = count(fitted.n_columns, "column")
    names = " and ".join(facts.targets)
    if facts.classes is not None:
        classes = count(len(facts.classes.classes), "class", "classes")
        return f"{classes}{f' of {names}' if names else ''} from {columns}"
    if facts.values:
        return f"{names or 'Values'} from {columns}"
    return f"Density of {columns}"


def _lede(facts: Facts) -> str:
    fitted, rows = facts.fitted, facts.rows
    looked_at = count(len(rows), "row")
    if rows.is_sample:
        looked_at = f"a random sample of {len(rows):,} of {count(rows.n_given, 'row')}"
    which = "that it was fitted to" if facts.training else "given to this report"
    words = (
        f"A {fitted.name} fitted to {count(fitted.weight, 'row')} of "
        f"{count(fitted.n_columns, 'column')}, looked at with {looked_at} {which}."
    )
    if not facts.training and facts.learned_share > _SOME:
        share = percent(facts.learned_share, 0)
        words += f" About {share} of them it was fitted to: it does better on these."
    return words


def _tiles(facts: Facts) -> list[Entry]:
    """The few figures that somebody in a hurry wants."""
    rows = Entry("rows fitted", number(round(facts.fitted.weight, 6), 9))
    if facts.classes is not None:
        return [*_seen(facts, _class_tiles(facts.classes)), rows]
    if facts.values:
        return [*_seen(facts, _value_tiles(facts)), rows]
    tiles = [Entry(f"mean {facts.score_words}", fixed(facts.density.scores.mean, 2))]
    if facts.spectrum is not None:
        rank = fixed(facts.spectrum.effective_rank[0], 1)
        tiles.append(Entry("effective rank", rank))
    n_columns = facts.fitted.n_columns
    word = "column" if n_columns == 1 else "columns"
    return [*tiles, rows, Entry(word, str(n_columns))]


def _seen(facts: Facts, tiles: list[Entry]) -> list[Entry]:
    """Figures of which the first says so, where they are of rows that were learned."""
    if not facts.training or facts.rows.y is None:
        return tiles
    first, *others = tiles
    return [Entry(f"{first.term}, of rows it was fitted to", first.value), *others]


def _class_tiles(classes: PredictedLabels) -> list[Entry]:
    curve = classes.reliability
    known = [
        ("right answers", classes.accuracy),
        ("without an answer", None if curve is None else classes.rejected_fraction),
        ("calibration error", None if curve is None else curve.error),
    ]
    tiles = [Entry(word, percent(v)) for word, v in known if v is not None]
    return [*tiles, Entry("classes", str(len(classes.classes)))]


def _value_tiles(facts: Facts) -> list[Entry]:
    value = facts.values[0]
    main = value.nominal.index(MAIN_COVERAGE)
    if len(facts.values) > 1:
        return [Entry("targets", str(len(facts.values)))]
    if value.achieved is None or value.r2 is None or value.absolute_error is None:
        return [Entry("mean width of intervals", number(value.widths[main]))]
    return [
        Entry("R²", fixed(value.r2, 2)),
        Entry("mean absolute error", number(value.absolute_error)),
        Entry(
            f"inside {percent(MAIN_COVERAGE, 0)} intervals",
            percent(value.achieved[main]),
        ),
    ]
