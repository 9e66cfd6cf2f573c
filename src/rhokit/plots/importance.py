"""How much each column counts: bars of a model's importances."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rhokit.inspection.subjects import column_names
from rhokit.plots.canvas import BLUE, FAINT, axes_for, count, tidy
from rhokit.validation import check_count

_ROW_HEIGHT = 0.28


class ImportanceDisplay:
    """Spreads of columns after scaling, as shares of all, the largest first.

    Parameters
    ----------
    importances : array of shape (d,)
        Shares, which sum to one.
    names : sequence of str, of length d, optional
    k : int, default=20
        How many columns are drawn; the others are one bar together.

    Attributes
    ----------
    order : array of shape (d,)
        Places of the columns, the most important first.
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import QMRegressor
    >>> from rhokit.plots import ImportanceDisplay
    >>> X = np.random.default_rng(0).normal(size=(300, 4))
    >>> model = QMRegressor(random_state=0).fit(X, np.sin(2 * X[:, 2]))
    >>> display = ImportanceDisplay.from_estimator(model)
    >>> int(display.order[0])
    2
    """

    def __init__(
        self,
        *,
        importances: NDArray[np.float64],
        names: Sequence[str] | None = None,
        k: int = 20,
    ) -> None:
        self.importances = importances
        self.names = names
        self.k = k

    @classmethod
    def from_estimator(
        cls, model: Any, *, k: int = 20, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Take the importances of a model, and draw.

        Parameters
        ----------
        model : fitted model with ``feature_importances_``
        k : int, default=20
            How many columns are drawn.
        ax : Axes, optional
        **kwargs :
            Passed on to :meth:`plot`.

        Returns
        -------
        display : ImportanceDisplay
        """
        check_count("k", k)
        found = model.feature_importances_
        display = cls(importances=found, names=column_names(model), k=k)
        return display.plot(ax, **kwargs)

    @property
    def order(self) -> NDArray[np.intp]:
        """Places of the columns, the most important first."""
        return np.argsort(-np.asarray(self.importances), kind="stable")

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
        **kwargs :
            Passed on to ``Axes.barh``.

        Returns
        -------
        self
        """
        shares, order = np.asarray(self.importances, float), self.order
        names = self.names or [f"column {place}" for place in range(len(shares))]
        drawn, others = order[: self.k], order[self.k :]
        labels = [names[place] for place in drawn]
        height = 1.1 + _ROW_HEIGHT * (len(drawn) + bool(len(others)))
        self.ax_ = ax = axes_for(type(self).__name__, ax, (6.4, max(2.2, height)))
        self.figure_ = ax.figure
        style = {"color": BLUE, "alpha": 0.75} | kwargs
        places = np.arange(len(drawn))
        ax.barh(places, 100 * shares[drawn], **style)
        if len(others):
            rest = 100 * shares[others].sum()
            ax.barh(len(drawn), rest, **(style | {"color": FAINT}))
            labels.append(f"{len(others):,} more")
        even = 100 / len(shares)
        label = "all alike"
        ax.axvline(even, color=FAINT, linestyle="--", linewidth=1, label=label)
        ax.set_yticks(np.arange(len(labels)), labels)
        ax.invert_yaxis()
        ax.legend(frameon=False, loc="lower right", fontsize="small")
        title = f"{count(len(shares), 'column')} by their spread after scaling"
        tidy(ax, title=title, x="share of all spreads, %")
        return self
