"""Why a row is improbable: bars of what its columns contribute."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rhokit.plots.canvas import BLUE, FAINT, ORANGE, named_bars, tidy
from rhokit.validation import check_count


class ExplanationDisplay:
    """Contributions of the columns to how improbable a row is, the largest first.

    Parameters
    ----------
    contributions : array of shape (d,)
        Nats: see ``explain`` of detectors and densities.
    names : sequence of str, of length d
    text : str, optional
        The title.
    k : int, default=20
        How many columns are drawn.

    Attributes
    ----------
    order : array of shape (d,)
        Places of the columns, the largest contribution first.
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> from rhokit.plots import ExplanationDisplay
    >>> X = np.random.default_rng(0).normal(size=(500, 4))
    >>> model = DMKDE(random_state=0).fit(X)
    >>> display = ExplanationDisplay.from_estimator(model, [[0, 0, 9, 0]])
    >>> int(display.order[0])
    2
    """

    def __init__(
        self,
        *,
        contributions: NDArray[np.float64],
        names: Sequence[str],
        text: str | None = None,
        k: int = 20,
    ) -> None:
        self.contributions = contributions
        self.names = names
        self.text = text
        self.k = k

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, *, row: int = 0, k: int = 20, ax: Any = None
    ) -> Self:
        """Explain a row, and draw.

        Parameters
        ----------
        model : fitted model with ``explain``
        X : array-like or frame of shape (n, d)
        row : int, default=0
            The place of the row that is drawn.
        k : int, default=20
            How many columns are drawn.
        ax : Axes, optional

        Returns
        -------
        display : ExplanationDisplay
        """
        return cls.from_explanation(model.explain(X), row=row, k=k, ax=ax)

    @classmethod
    def from_explanation(
        cls, explanation: Any, *, row: int = 0, k: int = 20, ax: Any = None
    ) -> Self:
        """Draw a row of an explanation."""
        check_count("k", k)
        n = len(explanation)
        if not 0 <= row < n:
            raise ValueError(f"row must be from 0 to {n - 1}, got {row!r}")
        display = cls(
            contributions=explanation.contributions[row],
            names=explanation.names,
            text=explanation.texts[row],
            k=k,
        )
        return display.plot(ax)

    @property
    def order(self) -> NDArray[np.intp]:
        """Places of the columns, the largest contribution first."""
        return np.argsort(-np.asarray(self.contributions), kind="stable")

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
        drawn = self.order[: self.k]
        values = np.asarray(self.contributions, float)[drawn]
        colours = [ORANGE if place == 0 else BLUE for place in range(len(drawn))]
        labels = [self.names[place] for place in drawn]
        self.ax_ = ax = named_bars(self, ax, values, labels, colours, **kwargs)
        self.figure_ = ax.figure
        ax.axvline(0, color=FAINT, linewidth=1)
        tidy(ax, title=self.text, x="nats less probable than usual, given the others")
        return self
