"""How far the states of outcomes are from each other, as a table of colours."""

from typing import Any, Self

import numpy as np

from rhokit.inspection import JointInformation, joint_information
from rhokit.plots.canvas import SEQUENCE, axes_for, percent, tidy

# Tables of more outcomes show colours alone.
_MOST_NUMBERS = 12
_MOST_NAMES = 30


class InformationDisplay:
    """Relative entropies of outcomes' states, and what inputs tell of outcomes.

    Row k, column l: by how many nats rows of outcome k are evidence against outcome l,
    each; infinite where they have patterns that l never has.

    Parameters
    ----------
    information : JointInformation

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from rhokit import QMClassifier
    >>> from rhokit.plots import InformationDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> model = QMClassifier(n_components=32, random_state=0).fit(X, y)
    >>> display = InformationDisplay.from_estimator(model)
    >>> bool(display.information.share > 0.8)
    True
    """

    def __init__(self, *, information: JointInformation) -> None:
        self.information = information

    @classmethod
    def from_estimator(
        cls, model: Any, *, target: int = 0, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Compute the information of a model, and draw.

        Parameters
        ----------
        model : fitted classifier or regressor
        target : int, default=0
            Which of several targets.
        ax : Axes, optional
        **kwargs :
            Passed on to :meth:`plot`.

        Returns
        -------
        display : InformationDisplay
        """
        found = joint_information(model, target=target)
        return cls(information=found).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
        **kwargs :
            Passed on to ``Axes.imshow``.

        Returns
        -------
        self
        """
        found, table = self.information, self.information.relative_entropies
        size = min(8.0, 3.6 + 0.4 * len(table))
        self.ax_ = ax = axes_for(type(self).__name__, ax, (size + 1, size))
        self.figure_ = ax.figure
        finite = table[np.isfinite(table)]
        most = max(float(finite.max(initial=0)), np.finfo(float).tiny)
        shown = np.where(np.isinf(table), 1.25 * most, table)
        style = {"cmap": SEQUENCE, "vmin": 0, "vmax": 1.4 * most}
        ax.imshow(shown, **(style | kwargs))
        for (row, column), value in np.ndenumerate(table):
            if len(table) <= _MOST_NUMBERS and row != column:
                text = "∞" if np.isinf(value) else f"{value:.1f}"
                colour = "white" if shown[row, column] > 0.8 * most else "black"
                ax.text(column, row, text, ha="center", va="center", color=colour)
        if len(table) <= _MOST_NAMES:
            names = [_name(each) for each in found.outcomes]
            ax.set_xticks(range(len(names)), names, rotation="vertical")
            ax.set_yticks(range(len(names)), names)
        title = (
            f"inputs tell {found.holevo:.2f} of {found.outcome_entropy:.2f} nats "
            f"({percent(found.share)})"
        )
        tidy(ax, title=title, x="against", y="rows of")
        return self


def _name(outcome: Any) -> str:
    """A label, or a level with three digits."""
    if isinstance(outcome, float | np.floating):
        return f"{outcome:.3g}"
    return str(outcome)
