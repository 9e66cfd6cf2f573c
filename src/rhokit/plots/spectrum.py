"""Eigenvalues of density matrices, and what a rank keeps of them."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rhokit.core import (
    DensityMatrix,
    LowRankDensityMatrix,
    ToeplitzDensityMatrix,
    choose_rank,
)
from rhokit.fast import small_algebra
from rhokit.plots.canvas import BLUE, CYCLE, FAINT, axes_for, percent, tidy
from rhokit.plots.models import answering

# Larger matrices of a grid are not formed.
_MOST_GRID_POINTS = 2048
# Of more outcomes, one curve for all is clearer.
_MOST_CURVES = 8
# Share of the largest eigenvalue below which others are rounding.
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
    ranks : array of shape (K,), optional
        How many of them are kept.
    names : list of str, optional
        Names of the outcomes.

    Attributes
    ----------
    kept : array of shape (K,) or None
        Share of the trace that the rank keeps.
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

    def __init__(self, *, eigenvalues, ranks=None, names=None):
        self.eigenvalues = eigenvalues
        self.ranks = ranks
        self.names = names

    @classmethod
    def from_estimator(cls, model, *, outcomes="auto", rank=None, ax=None, **kwargs):
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
        inner = answering(model)
        if isinstance(model, type) or not hasattr(type(inner), "density_matrix_"):
            name = model.__name__ if isinstance(model, type) else type(model).__name__
            raise TypeError(
                f"{cls.__name__} needs a fitted model with a density matrix, got {name}"
            )
        check_is_fitted(model)
        _refuse_large_grid(inner)
        state = inner.density_matrix_
        if rank is None and not _is_pooled(state, outcomes):
            rank = inner._rank()
        labels = getattr(inner, "classes_", None)
        names = None if labels is None else [str(label) for label in labels]
        return cls.from_state(
            state, outcomes=outcomes, rank=rank, names=names, ax=ax, **kwargs
        )

    @classmethod
    def from_state(
        cls, state, *, outcomes="auto", rank=None, names=None, ax=None, **kwargs
    ):
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
        _require_matrix(cls.__name__, state)
        if outcomes not in ("auto", "each", "pooled"):
            raise ValueError(
                f'outcomes must be "auto", "each" or "pooled", got {outcomes!r}'
            )
        if names is not None and len(names) != state.n_outcomes:
            raise ValueError(
                f"names must have one entry per outcome, {state.n_outcomes}, "
                f"got {len(names)}"
            )
        if _is_pooled(state, outcomes):
            shares = np.ones((1, state.n_outcomes))
            state, names = _to_numpy(state).mix(shares), None
        values = _eigenvalues(_to_numpy(state))
        ranks = _ranks(state, values, rank)
        return cls(eigenvalues=values, ranks=ranks, names=names).plot(ax, **kwargs)

    @property
    def kept(self):
        """Share of the trace that the rank keeps, shape (K,); None without a rank."""
        if self.ranks is None:
            return None
        shares = [
            values[:rank].sum() / values.sum() if values.sum() > 0 else np.nan
            for values, rank in zip(self.eigenvalues, self.ranks, strict=True)
        ]
        return np.array(shares)

    @property
    def effective_rank(self):
        """How many directions each state really uses, shape (K,)."""
        found = []
        for values in self.eigenvalues:
            shares = values[values > 0] / values.sum()
            entropy = -(shares * np.log(shares)).sum()
            found.append(np.exp(entropy) if len(shares) else 0.0)
        return np.array(found)

    def plot(self, ax=None, **kwargs):
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

    def _draw(self, ax, k, values, colour, single, style):
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

    def _name(self, k):
        name = f"outcome {k}" if self.names is None else self.names[k]
        if self.ranks is not None:
            return f"{name}: rank {int(self.ranks[k]):,}{self._keeps(k)}"
        return f"{name}: {self.effective_rank[k]:.3g}"

    def _keeps(self, k, of_what=""):
        """What the rank keeps, unless the rest is not known any more."""
        if self.ranks[k] >= self.eigenvalues.shape[1]:
            return ""
        return f" keeps {_almost(self.kept[k])}{of_what}"

    def _legend_title(self):
        if len(self.eigenvalues) > 1 and self.ranks is None:
            return "effective rank"
        return None

    def _title(self):
        ranks = self.effective_rank
        if len(ranks) == 1:
            return f"effective rank {ranks[0]:.3g} of {self.eigenvalues.shape[1]:,}"
        return f"effective ranks {ranks.min():.3g} to {ranks.max():.3g}"


# ---- the work ----------------------------------------------------------------------


def _is_pooled(state, outcomes):
    """Whether one curve is drawn for several outcomes."""
    most = {"auto": _MOST_CURVES, "pooled": 1}.get(outcomes, state.n_outcomes)
    return state.n_outcomes > most


def _almost(share):
    """A share in hundredths that says 100 only of all."""
    return percent(share) if share >= 1 or share < 0.9995 else "> 99.9 %"


def _require_matrix(owner, state):
    if isinstance(state, DensityMatrix | LowRankDensityMatrix):
        return
    if isinstance(state, ToeplitzDensityMatrix):
        raise TypeError(
            f"{owner} needs a matrix, but a ToeplitzDensityMatrix holds the "
            "coefficients of a series: give density_matrix_ of the model it belongs to"
        )
    raise TypeError(
        f"{owner} needs a DensityMatrix or a LowRankDensityMatrix, "
        f"got {type(state).__name__}"
    )


def _refuse_large_grid(model):
    if not model._has_grid():
        return
    size = model.feature_map_.n_components_
    if size > _MOST_GRID_POINTS:
        raise ValueError(
            f"SpectrumDisplay: the matrix of this model's grid would have {size:,} "
            f"rows, more than {_MOST_GRID_POINTS:,}: fit with "
            'feature_map="landmarks", or with a smaller gamma'
        )


def _to_numpy(state):
    """The same state on NumPy arrays in double precision."""

    def double(array):
        if hasattr(array, "resolve_conj"):  # torch
            array = array.detach().cpu().resolve_conj()
        array = np.asarray(array)
        return array.astype(np.result_type(array.dtype, np.float64))

    if isinstance(state, DensityMatrix):
        return DensityMatrix(double(state.total), double(state.weight))
    return LowRankDensityMatrix(double(state.factor), double(state.weight))


def _eigenvalues(state):
    """Of every outcome, descending, shape (K, r)."""
    with small_algebra(state.dim):
        if isinstance(state, LowRankDensityMatrix):
            return np.linalg.svdvals(state.factor) ** 2
        return state.eigenvalues()


def _ranks(state, values, rank):
    """How many eigenvalues of each outcome are kept; None for all."""
    if rank is not None:
        # Fractions and the elbow are of the dimension; what a factor lacks is zero.
        whole = np.zeros((len(values), state.dim))
        whole[:, : values.shape[1]] = values
        return np.array([choose_rank(each, rank) for each in whole])
    if isinstance(state, LowRankDensityMatrix) and state.rank < state.dim:
        return np.full(state.n_outcomes, state.rank)
    return None
