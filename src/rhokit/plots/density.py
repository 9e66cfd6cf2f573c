"""Densities: a curve, a map, or the marginals of many columns as a grid of pairs."""

from collections.abc import Sequence
from itertools import combinations
from textwrap import fill
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rhokit.inspection import NoMarginalError, marginal_grid
from rhokit.inspection.rows import number_rows, some_places, take_rows
from rhokit.inspection.subjects import (
    column_names,
    find_columns,
    number_columns,
    require_kind,
)
from rhokit.plots.canvas import SEQUENCE, axes_for, pyplot, tidy
from rhokit.plots.hues import Hues
from rhokit.plots.panels import draw_curve, draw_histogram, draw_map, draw_scatter

# More panels than these columns make are too small to read.
_MOST_COLUMNS = 5
# Letters of a line of a label, so that those of neighbours do not touch.
_LABEL = 15
_PROBABILITIES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)

Floats = NDArray[np.float64]
Curves = dict[int, tuple[Floats, Floats]]
Maps = dict[tuple[int, int], tuple[Floats, Floats, Floats]]


class DensityDisplay:
    """A density as a curve (one column), a map (two), or a grid of pairs (more).

    Maps show regions of highest density: the contour of 90 % encloses nine tenths of
    the probability in the smallest area. A grid of pairs has the marginal density of
    every column on its diagonal and those of all pairs below. Models that have no
    marginal densities (those of random features, and :class:`MeanEmbeddingKDE`, of
    more than two columns) are shown by their rows instead, coloured by log-density.

    Parameters
    ----------
    names : list of str
        Names of the k columns.
    curves : dict
        By the place of a column in ``names``, a pair ``(x, density)``.
    maps : dict
        By a pair of places ``(i, j)``, a triple ``(x, y, density)`` with
        ``density[b, a]`` at ``x[a]`` of column i and ``y[b]`` of column j.
    rows : array of shape (n, k), optional
        The data.
    log_density : array of shape (n,), optional
        Of the rows, where there are no maps.
    n_columns : int, optional
        Columns of the model, where these are only some.
    hues : Hues, optional
        Groups of the rows, by which they are coloured.

    Attributes
    ----------
    ax_ : Axes, or array of Axes of shape (k, k)
        What was drawn on; of a grid of pairs, None above the diagonal.
    figure_ : Figure

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> from rhokit.plots import DensityDisplay
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = DMKDE(random_state=0).fit(X)
    >>> display = DensityDisplay.from_estimator(model, X)
    >>> display.ax_.get_xlabel()
    'column 0'
    """

    def __init__(
        self,
        *,
        names: list[str],
        curves: Curves,
        maps: Maps,
        rows: Floats | None = None,
        log_density: Floats | None = None,
        n_columns: int | None = None,
        hues: Hues | None = None,
    ) -> None:
        self.names = names
        self.curves = curves
        self.maps = maps
        self.rows = rows
        self.log_density = log_density
        self.n_columns = n_columns
        self.hues = hues

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        *,
        columns: Any = None,
        n: int | None = None,
        hue: Any = None,
        max_points: int | None = 2000,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Compute the densities of a model's columns, and draw them.

        Parameters
        ----------
        model : fitted DMKDE, MeanEmbeddingKDE or DMKDESGD
        X : array-like of shape (m, d), optional
            Rows to show with the density.
        columns : int, str, or list of these, optional
            Places or names of the columns to show; without it all columns of
            numbers, at most the first five.
        n : int, optional
            Points per axis of curves and maps: see :meth:`DMKDE.grid`.
        hue : str or array-like of shape (m,), optional
            A column of X, or values, by which rows are coloured.
        max_points : int or None, default=2000
            Of more rows, so many are drawn, chosen at random.
        ax : Axes, or array of Axes of shape (k, k), optional
        **kwargs :
            Passed on to :meth:`plot`.

        Returns
        -------
        display : DensityDisplay
        """
        require_kind(
            model, "density", "a density (DMKDE, MeanEmbeddingKDE or DMKDESGD)"
        )
        places = _chosen(model, columns)
        names = column_names(model)
        rows = None if X is None else number_rows(model, X)[:, places]
        hues = None if hue is None else Hues.of(hue, X)
        numbers: dict[str, Any] = {"rows": rows}
        try:
            numbers["curves"], numbers["maps"] = _densities(model, places, n)
        except NoMarginalError as error:
            _require_rows_instead(error, places, X)
            numbers = _scored_rows(model, X, np.asarray(rows), max_points)
        display = cls(
            names=[names[place] for place in places],
            n_columns=model.n_features_in_,
            hues=hues,
            **numbers,
        )
        return display.plot(ax, max_points=max_points, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        marks: str | None = "rug",
        points: bool = True,
        probabilities: Sequence[float] = _PROBABILITIES,
        max_points: int | None = 2000,
        colorbar: bool = True,
        cmap: Any = SEQUENCE,
        curve_kw: dict[str, Any] | None = None,
        point_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, or array of Axes of shape (k, k), optional
            A grid of pairs takes the place of a single one.
        marks : {"rug", "histogram"} or None, default="rug"
            How the rows are shown with curves.
        points : bool, default=True
            Whether the rows are shown over maps.
        probabilities : sequence of float in (0, 1)
            Probabilities that the contours of maps enclose.
        max_points : int or None, default=2000
            Of more rows, so many are drawn over maps and as a rug.
        colorbar : bool, default=True
            Whether maps, and rows coloured by log-density, get one.
        cmap : str or Colormap
            Of maps.
        curve_kw, point_kw : dict, optional
            Passed on to ``Axes.plot`` and ``Axes.scatter``.

        Returns
        -------
        self
        """
        if marks not in ("rug", "histogram", None):
            raise ValueError(f'marks must be "rug", "histogram" or None, got {marks!r}')
        self._style: dict[str, Any] = {
            "marks": marks,
            "points": points,
            "probabilities": probabilities,
            "colorbar": colorbar,
            "cmap": cmap,
            "curve_kw": curve_kw or {},
            "point_kw": point_kw or {},
        }
        n = 0 if self.rows is None else len(self.rows)
        self._shown = some_places(n, max_points)
        if len(self.names) <= 2:
            self._plot_one(ax)
        else:
            self._plot_pairs(ax)
        return self

    # ---- one panel ------------------------------------------------------------------

    def _plot_one(self, ax: Any) -> None:
        size = (6.4, 4.0) if len(self.names) == 1 else (6.4, 5.2)
        self.ax_ = ax = axes_for(type(self).__name__, ax, size)
        self.figure_ = ax.figure
        if len(self.names) == 1:
            self._curve(ax, 0)
            tidy(ax, x=self.names[0], y="density")
        else:
            filled = self._pair(ax, 0, 1)
            tidy(ax, x=self.names[0], y=self.names[1])
            self._add_colorbar(filled, ax)
        if self.hues is not None:
            self.hues.legend(ax)

    def _curve(self, ax: Any, place: int) -> None:
        """The density of a column; of rows without one, their histogram."""
        style = self._style
        values = None if self.rows is None else self.rows[:, place]
        if place in self.curves:
            x, density = self.curves[place]
            if style["marks"] == "rug" and values is not None:
                values = values[self._shown]
                if self.hues is not None:
                    self.hues.rug(ax, values, self._shown)
                    values = None
            draw_curve(ax, x, density, values, style["marks"], style["curve_kw"])
        elif values is not None:
            draw_histogram(ax, values)

    def _pair(self, ax: Any, i: int, j: int) -> Any:
        """The density of two columns, or rows coloured by it."""
        style, points = self._style, None
        if self.rows is not None:
            points = self.rows[self._shown][:, [i, j]]
        if (i, j) in self.maps:
            shown = points if style["points"] and self.hues is None else None
            if self.hues is not None and points is not None and style["points"]:
                self.hues.scatter(ax, points, self._shown, style["point_kw"])
            levels, cmap = style["probabilities"], style["cmap"]
            return draw_map(ax, self.maps[i, j], levels, shown, cmap, style["point_kw"])
        logs = np.asarray(self.log_density)[self._shown]
        return draw_scatter(ax, np.asarray(points), logs, style["point_kw"])

    def _add_colorbar(self, filled: Any, *axes: Any, **where: Any) -> None:
        if filled is None or not self._style["colorbar"]:
            return
        bar = self.figure_.colorbar(filled, ax=list(axes) or None, **where)
        bar.outline.set_visible(False)
        if self.maps:
            bar.set_ticks(filled.levels[:-1], labels=filled.labels)
            bar.ax.minorticks_off()
        label = "% of the probability inside" if self.maps else "log-density"
        bar.set_label(label, fontsize="small")
        bar.ax.tick_params(labelsize="small")

    # ---- a grid of pairs ------------------------------------------------------------

    def _plot_pairs(self, ax: Any) -> None:
        k, filled = len(self.names), None
        self.ax_ = self._pair_axes(ax, k)
        for j in range(k):
            self._curve(self.ax_[j, j], j)
            for i in range(j):
                filled = self._pair(self.ax_[j, i], i, j)
        self._label_pairs(k)
        if self._style["colorbar"]:
            # In the empty corner, where it must not push other panels aside.
            place = self.ax_[0, 0].inset_axes([1.3, 0.5, 1.2, 0.09])
            place.set_in_layout(False)
            self._add_colorbar(filled, cax=place, orientation="horizontal")
        if self.hues is not None:
            corner = {"bbox_to_anchor": (2.7, 1.0), "loc": "upper left"}
            self.hues.legend(self.ax_[0, 0], **corner).set_in_layout(False)

    def _pair_axes(self, ax: Any, k: int) -> NDArray[Any]:
        """Axes of the lower triangle, on a new figure or in the place of one axes."""
        plt = pyplot(type(self).__name__)
        if isinstance(ax, np.ndarray | list | tuple):
            return self._given_axes(ax, k)
        if ax is None:
            side = max(5.5, 1.9 * k)
            self.figure_ = plt.figure(figsize=(side, side), layout="constrained")
            cells = self.figure_.add_gridspec(k, k)
        else:
            self.figure_ = ax.figure
            ax.set_axis_off()
            cells = _cells_of(ax, k)
        axes = np.full((k, k), None, dtype=object)
        for j, i in zip(*np.tril_indices(k), strict=True):
            axes[j, i] = self.figure_.add_subplot(
                cells[j, i],
                sharex=axes[i, i],
                sharey=axes[j, 0] if 0 < i < j else None,
            )
        return axes

    def _given_axes(self, ax: Any, k: int) -> NDArray[Any]:
        """An array of axes, of which the upper triangle stays empty."""
        given = np.asarray(ax, dtype=object)
        if given.shape != (k, k):
            raise ValueError(
                f"ax must be one Axes, or an array of shape ({k}, {k}) for "
                f"{k} columns, got shape {given.shape}"
            )
        self.figure_ = given[k - 1, 0].figure
        for place in zip(*np.triu_indices(k, 1), strict=True):
            if given[place] is not None:
                given[place].set_axis_off()
        return given

    def _label_pairs(self, k: int) -> None:
        for j in range(k):
            for i in range(j + 1):
                ax = self.ax_[j, i]
                tidy(ax)
                ax.tick_params(labelsize="small", labelbottom=j == k - 1)
                ax.tick_params(labelleft=i == 0 and j > 0)
                if j == k - 1:
                    ax.set_xlabel(fill(self.names[i], _LABEL))
                if i == 0 and j > 0:
                    ax.set_ylabel(fill(self.names[j], _LABEL))
            self.ax_[j, j].tick_params(left=False, labelleft=False)
            self.ax_[j, j].spines["left"].set_visible(False)
        if self.n_columns is not None and k < self.n_columns:
            words = f"{k} of {self.n_columns} columns"
            self.ax_[0, 0].set_title(words, loc="left", fontsize="medium")


# ---- the work ----------------------------------------------------------------------


def _chosen(model: Any, columns: Any) -> list[int]:
    """Places of the columns to show."""
    if columns is not None:
        return find_columns(model, "columns", columns)
    numbers = number_columns(model)
    if not numbers:
        raise ValueError("DensityDisplay needs columns of numbers, there are none")
    return numbers[:_MOST_COLUMNS]


def _densities(model: Any, places: list[int], n: int | None) -> tuple[Curves, Maps]:
    """Curves of all columns and maps of all pairs, as many as the picture needs."""
    every = range(len(places))
    curves: Curves = {}
    if len(places) != 2:
        for i in every:
            curves[i] = _grid(model, [places[i]], n)
    pairs = combinations(every, 2)
    return curves, {(i, j): _grid(model, [places[i], places[j]], n) for i, j in pairs}


def _grid(model: Any, places: list[int], n: int | None) -> Any:
    """Points and density of one column or two, in the order of ``places``."""
    found = marginal_grid(model, places, n)
    return (*found.axes, found.density)


def _require_rows_instead(error: Exception, places: list[int], X: Any) -> None:
    """Refuse to draw rows in the place of a curve, or rows that are not there."""
    if len(places) == 1:
        raise ValueError(f"columns must not be a single one: {error}") from error
    if X is None:
        raise ValueError(f"X must be given to draw its rows: {error}") from error


def _scored_rows(model: Any, X: Any, rows: Floats, most: int | None) -> dict[str, Any]:
    """Some rows with their log-densities, for a picture without densities."""
    which = some_places(len(rows), most)
    logs = model.score_samples(take_rows(X, which))
    return {"curves": {}, "maps": {}, "rows": rows[which], "log_density": logs}


def _cells_of(ax: Any, k: int) -> Any:
    """A grid of cells in the place of an axes."""
    cell = ax.get_subplotspec()
    if cell is not None:
        return cell.subgridspec(k, k)
    box = ax.get_position()
    return ax.figure.add_gridspec(
        k, k, left=box.x0, right=box.x1, bottom=box.y0, top=box.y1
    )
