"""How much each column counts: bars of a model's importances."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rhokit.inspection.subjects import column_names
from rhokit.plots.canvas import BLUE, FAINT, count, named_bars, tidy
from rhokit.validation import check_count


class ImportanceDisplay:
    """Importances of columns, as shares of all, the largest first.

    Of a blend they are shares of what the splits of its trees make targets more alike;
    of other models, of the columns' spreads after scaling.

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
        values, colours = [*(100 * shares[drawn])], [BLUE] * len(drawn)
        if len(others):
            values.append(100 * shares[others].sum())
            colours.append(FAINT)
            labels.append(f"{len(others):,} more")
        self.ax_ = ax = named_bars(self, ax, values, labels, colours, **kwargs)
        self.figure_ = ax.figure
        even = 100 / len(shares)
        label = "all alike"
        ax.axvline(even, color=FAINT, linestyle="--", linewidth=1, label=label)
        ax.legend(frameon=False, loc="lower right", fontsize="small")
        title = f"{count(len(shares), 'column')} by importance"
        tidy(ax, title=title, x="share, %")
        return self
