"""The section on what was fitted, and how."""

import math

from rhokit.inspection import Description
from rhokit.inspection.subjects import NUMBER
from rhokit.report.facts import Facts
from rhokit.report.sections.parts import Entry, Section
from rhokit.report.tables import columns_table
from rhokit.report.words import count, number, size

_CLASSES = (
    "The rows of each class are summed up in a density matrix; measuring a "
    "new row with all of them gives the probabilities of the classes."
)
_BY_KIND = {
    "density": "All rows are summed up in one density matrix; how likely a row is, is "
    "one measurement of it.",
    "classes": _CLASSES,
    "outliers": "All rows are summed up in one density matrix, which forgets the "
    "oddest ones if they may be outliers, and a sample of them is kept; how odd a row "
    "is, its density and its distances to these rows say together.",
    "ordered": _CLASSES,
    "values": "The range of the value is cut into levels, and the rows of each level "
    "are summed up in a density matrix; measuring a new row with all of them gives "
    "a distribution over the levels.",
}
_MEAN = "All rows are summed up in one mean of features; how likely a row is, is its "
_MEAN += "overlap with that mean."
_MOSAIC = "Rows are sent to the cells of several layers and summed up in a small "
_MOSAIC += "density matrix of each cell; how likely a row is, all cells say together."
_MAPS = {
    "LandmarkFeatures": "A row is known by its likeness to {n} typical rows.",
    "GridFeatures": "Rows add up to waves on a regular grid, which is exact to eight "
    "digits.",
    "QuadratureFeatures": "A row is known by {n} waves of regular frequencies.",
    "FourierFeatures": "A row is known by {n} waves of random frequencies.",
    "OneHotFeatures": "Each of {n} combinations of values stands for itself.",
    "SoftmaxFeatures": "A row is known by its likeness to {n} levels.",
    "MosaicFeatures": "{cells} in {layers}, each with its own metric: {n} numbers per "
    "cell.",
}
_MAP_NAMES = {
    "LandmarkFeatures": "landmarks",
    "GridFeatures": "grid",
    "QuadratureFeatures": "quadrature",
    "FourierFeatures": "random Fourier features",
    "OneHotFeatures": "one-hot",
    "SoftmaxFeatures": "softmax",
    "MosaicFeatures": "mosaic",
}
_SCALINGS = {
    "none": ("none", "Distances are measured in the columns' own units."),
    "columns": ("each column", "Every column is divided by a width of its own."),
    "common": ("common", "All columns are divided by one width."),
    "mixed": ("mixed", "Columns are mixed, so that their correlations do not count."),
}


def fitted_section(facts: Facts) -> Section:
    """Model, rows, map, scaling, rank, size and kernel, and a table of the columns."""
    fitted = facts.fitted
    entries = [
        Entry("Model", fitted.name, _model_words(fitted)),
        Entry("Rows", count(fitted.weight, "row"), _rows_words(facts)),
        Entry("Columns", str(fitted.n_columns), _kinds(fitted)),
        Entry(
            "Feature map",
            _MAP_NAMES.get(fitted.map_name, fitted.map_name),
            _map(fitted),
        ),
        *_scaling(fitted),
        *_rank(fitted),
        Entry("Size", size(fitted.memory), _size_words(fitted)),
        *_kernel(fitted),
    ]
    return Section(
        "fitted",
        "What was fitted",
        entries=tuple(entries),
        tables=(columns_table(fitted.columns, facts.ranges),),
        about=_about(facts),
    )


def _model_words(fitted: Description) -> str:
    own = {"mean": _MEAN, "mosaic": _MOSAIC}
    words = _BY_KIND.get(fitted.kind, "")
    if fitted.kind != "outliers":
        words = own.get(fitted.representation, words)
    return f"{words} It was trained by gradient." if fitted.is_trained else words


def _rows_words(facts: Facts) -> str:
    weight = facts.fitted.weight
    whole = math.isclose(weight, round(weight), rel_tol=1e-9)
    what = "What the model has seen" if whole else "What their weights add up to"
    return f"{what}. This page looks at {count(len(facts.rows), 'row')}."


def _kinds(fitted: Description) -> str:
    kinds = [column.kind for column in fitted.columns]
    n_numbers = kinds.count(NUMBER)
    parts = [count(n_numbers, "number")] if n_numbers else []
    for kind, many in (("category", "categories"), ("ordered", "ordered categories")):
        one = "ordered category" if kind == "ordered" else kind
        parts += [count(kinds.count(kind), one, many)] if kind in kinds else []
    if n_numbers == len(kinds):
        return "All are numbers." if n_numbers > 1 else "It is a number."
    return f"{' and '.join(parts)}."


def _kernel(fitted: Description) -> list[Entry]:
    if fitted.gamma is None or fitted.bandwidth is None:
        return []
    unit = (
        "in the columns' own units" if fitted.scaling == "none" else "in scaled units"
    )
    words = (
        f"A row speaks for others within about {number(fitted.bandwidth, 3)} of it, "
        f"{unit}: the bandwidth, 1/\u2060√(2γ)."
    )
    return [Entry("Kernel", f"γ = {number(fitted.gamma, 3)}", words)]


def _scaling(fitted: Description) -> list[Entry]:
    is_scaled = fitted.gamma is not None or fitted.representation == "mosaic"
    return [Entry("Scaling", *_SCALINGS[fitted.scaling])] if is_scaled else []


def _map(fitted: Description) -> str:
    words = _MAPS.get(fitted.map_name, "States of {n} numbers.")
    return words.format(
        n=f"{fitted.dimension:,}",
        cells=count(fitted.n_cells or 0, "cell"),
        layers=count(fitted.n_layers or 0, "layer"),
    )


def _rank(fitted: Description) -> list[Entry]:
    if fitted.representation != "matrix" or fitted.rank is None:
        return []
    words = f"Of {fitted.dimension:,} eigenvectors of each matrix, this many are kept."
    return [Entry("Rank", f"{fitted.rank:,}", words)]


def _size_words(fitted: Description) -> str:
    return (
        f"{fitted.n_numbers:,} numbers and the map. It does not grow with the number "
        "of rows."
    )


def _about(facts: Facts) -> str:
    columns = facts.fitted.columns
    if all(column.kind != NUMBER for column in columns):
        return "Categories are counted among the rows of this report."
    ends = "Minimum, median and maximum are those of the rows of this report, in "
    ends += "their own units."
    if any(column.bandwidth for column in columns):
        width = "The bandwidth says how far apart two values of a column may be and "
        return f"{ends} {width}still count as alike."
    if facts.fitted.representation == "mosaic":
        return f"{ends} Every cell has widths of its own, so columns have no bandwidth."
    return f"{ends} Where columns are mixed by the scaling, none has a bandwidth."
