"""Eigenvalues of density matrices, and what a rank keeps of them."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rhokit.core import Spectrum
from rhokit.inspection import one_pass, spectrum, spectrum_of_state
from rhokit.plots.canvas import BLUE, CYCLE, FAINT, axes_for, percent, tidy

# Fraction of the largest eigenvalue below which others are rounding.
_ROUNDING = 1e-15


class SpectrumDisplay:
    r"""Eigenvalues of a state on a logarithmic scale, with its rank.

    Few large eigenvalues mean that the state has few directions, and that a small
    ``rank`` predicts as well. The effective rank is :math:`e^{S(\rho)}`, with the von
    Neumann entropy S.

    Parameters
    ----------
    eigenvalues : array of shape (K, r)
        Of each outcome's density matrix, descending.
    ranks : sequence of int, of length K, optional
        How many of them are kept.
    names : list of str, optional
        Names of the outcomes.

    Attributes
    ----------
    kept : array of shape (K,) or None
        Fraction of the trace that the rank keeps.
    effective_rank : array of shape (K,)
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit import DMKDE
    >>> from rhokit.plots import SpectrumDisplay
    >>> X = np.random.default_rng(0).normal(size=(500, 5))
    >>> model = DMKDE(n_components=64, rank=16, random_state=0).fit(X)
    >>> display = SpectrumDisplay.from_estimator(model)
    >>> display.eigenvalues.shape, display.ranks.tolist()
    ((1, 64), [16])
    """

    def __init__(
        self,
        *,
        eigenvalues: NDArray[np.float64],
        ranks: Sequence[int] | None = None,
        names: list[str] | None = None,
    ) -> None:
        self.eigenvalues = eigenvalues
        self.ranks = None if ranks is None else np.asarray(ranks)
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        outcomes: str = "auto",
        rank: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Decompose the density matrices of a model, and draw.

        Parameters
        ----------
        model : fitted estimator with ``density_matrix_``
            Or one trained by gradient. Of a model on a grid the matrix is formed,
            which must not have more than 2,048 rows.
        outcomes : {"auto", "each", "pooled"}, default="auto"
            A curve for every class or level, or one for the state of all rows;
            ``"auto"`` draws up to eight curves.
        rank : int, float, "elbow", optional
            The rank to mark; without it that of the model.
        ax : Axes, optional
        **kwargs :
            Passed on to :meth:`plot`.

        Returns
        -------
        display : SpectrumDisplay
        """
        found = spectrum(model, outcomes=outcomes, rank=rank)
        labels = getattr(one_pass(model), "classes_", ())
        names = [str(label) for label in labels]
        if len(names) != len(found.eigenvalues):  # no classes, or all together
            names = []
        return cls._of(found, names or None).plot(ax, **kwargs)

    @classmethod
    def from_state(
        cls,
        state: Any,
        *,
        outcomes: str = "auto",
        rank: Any = None,
        names: list[str] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Decompose a state, and draw.

        Parameters
        ----------
        state : DensityMatrix or LowRankDensityMatrix
        outcomes, rank, ax :
            As for :meth:`from_estimator`.
        names : list of str, optional
            Names of the outcomes.
        **kwargs :
            Passed on to :meth:`plot`.

        Returns
        -------
        display : SpectrumDisplay
        """
        found = spectrum_of_state(state, outcomes=outcomes, rank=rank)
        if names is not None and len(names) != state.n_outcomes:
            raise ValueError(
                f"names must have one entry per outcome, {state.n_outcomes}, "
                f"got {len(names)}"
            )
        pools = len(found.eigenvalues) < state.n_outcomes
        return cls._of(found, None if pools else names).plot(ax, **kwargs)

    @classmethod
    def _of(cls, found: Spectrum, names: list[str] | None) -> Self:
        return cls(eigenvalues=found.eigenvalues, ranks=found.ranks, names=names)

    @property
    def _spectrum(self) -> Spectrum:
        ranks = None if self.ranks is None else tuple(self.ranks.tolist())
        return Spectrum(self.eigenvalues, self.eigenvalues.shape[1], ranks)

    @property
    def kept(self) -> NDArray[np.float64] | None:
        """Fraction of the trace that the rank keeps, shape (K,); None without one."""
        kept = self._spectrum.kept
        return None if kept is None else np.array(kept)

    @property
    def effective_rank(self) -> NDArray[np.float64]:
        """How many directions each state really uses, shape (K,)."""
        return np.asarray(self._spectrum.effective_rank)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
        **kwargs :
            Passed on to ``Axes.plot``.

        Returns
        -------
        self
        """
        self.ax_ = ax = axes_for(type(self).__name__, ax, (6.4, 4.2))
        self.figure_ = ax.figure
        single = len(self.eigenvalues) == 1
        for k, values in enumerate(self.eigenvalues):
            colour = BLUE if single else CYCLE[k % len(CYCLE)]
            self._draw(ax, k, values, colour, single, kwargs)
        ax.set_yscale("log")
        tidy(
            ax, title=self._title(), x="eigenvalues, the largest first", y="eigenvalue"
        )
        if ax.get_legend_handles_labels()[0]:
            ax.legend(frameon=False, fontsize="small", title=self._legend_title())
        return self

    def _draw(
        self,
        ax: Any,
        k: int,
        values: NDArray[np.float64],
        colour: str,
        single: bool,
        style: dict[str, Any],
    ) -> None:
        shown = values[values > _ROUNDING * values.max(initial=0.0)]
        place = np.arange(1, len(shown) + 1)
        label = None if single and self.names is None else self._name(k)
        marker = "." if len(shown) <= 100 else None
        plain = {"color": colour, "linewidth": 1.3, "marker": marker, "label": label}
        ax.plot(place, shown, **(plain | style))
        if self.ranks is None:
            return
        rank = int(self.ranks[k])
        if single:
            words = f"rank {rank:,}{self._keeps(k, ' of the trace')}"
            ax.axvline(rank, color=FAINT, linestyle="--", linewidth=1, label=words)
        elif 0 < rank <= len(shown):
            ring = {"markersize": 9, "markeredgecolor": "white", "zorder": 3}
            ax.plot(rank, shown[rank - 1], "o", color=colour, **ring)

    def _name(self, k: int) -> str:
        name = f"outcome {k}" if self.names is None else self.names[k]
        if self.ranks is not None:
            return f"{name}: rank {int(self.ranks[k]):,}{self._keeps(k)}"
        return f"{name}: {self.effective_rank[k]:.3g}"

    def _keeps(self, k: int, of_what: str = "") -> str:
        """Words on what the rank keeps, unless the rest is not known any more."""
        ranks, kept = self.ranks, self.kept
        if ranks is None or kept is None or ranks[k] >= self.eigenvalues.shape[1]:
            return ""
        return f" keeps {_almost(kept[k])}{of_what}"

    def _legend_title(self) -> str | None:
        if len(self.eigenvalues) > 1 and self.ranks is None:
            return "effective rank"
        return None

    def _title(self) -> str:
        ranks = self.effective_rank
        if len(ranks) == 1:
            return f"effective rank {ranks[0]:.3g} of {self.eigenvalues.shape[1]:,}"
        return f"effective ranks {ranks.min():.3g} to {ranks.max():.3g}"


def _almost(fraction: float) -> str:
    """A fraction in hundredths that says 100 only of all."""
    if fraction >= 1 or fraction < 0.9995:
        return percent(fraction)
    return "> 99.9 %"
