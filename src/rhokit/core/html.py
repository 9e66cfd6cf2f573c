"""States as notebooks show them: a small table, and a chart of the eigenvalues."""

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from array_api_compat import array_namespace

from rhokit.core.arrays import Array, is_complex, real
from rhokit.core.spectrum import Spectrum, state_spectrum

# A notebook shows a state in passing: larger matrices are not decomposed for it.
_MOST_DECOMPOSED = 256
# Bars of the chart, and decades below the largest eigenvalue that it shows.
_MOST_BARS = 48
_DECADES = 8
_BAR, _GAP, _HEIGHT = 4, 1, 40
# Weights of so many outcomes are listed one by one.
_MOST_WEIGHTS = 6

# Colours come from the page, so that light and dark ones both suit.
_FRAME = (
    "display:inline-block;padding:8px 12px;border:1px solid rgba(128,128,128,.45);"
    "border-radius:4px;font:13px/1.45 system-ui,sans-serif;color:inherit"
)
_NAME = (
    "padding:0 14px 0 0;text-align:left;font-weight:normal;opacity:.65;"
    "background:none;border:none"
)
_VALUE = "padding:0;text-align:left;background:none;border:none"
_NOTE = "font-size:11px;opacity:.65"


def state_html(state: Any) -> str:
    """A state as a snippet of HTML that needs nothing else.

    Parameters
    ----------
    state : Sums or LowRankDensityMatrix

    Examples
    --------
    >>> import numpy as np
    >>> from rhokit.core import DensityMatrix
    >>> rho = DensityMatrix.from_states(np.eye(3))
    >>> snippet = state_html(rho)
    >>> "DensityMatrix" in snippet, "<svg" in snippet
    (True, True)
    """
    rows = "".join(
        f'<tr style="background:none"><th style="{_NAME}">{escape(name)}</th>'
        f'<td style="{_VALUE}">{escape(value)}</td></tr>'
        for name, value in _facts(state)
    )
    return (
        f'<div style="{_FRAME}"><strong>{escape(type(state).__name__)}</strong>'
        f'<table style="border:none;border-collapse:collapse;margin:4px 0 0;'
        f'font:inherit;color:inherit">{rows}</table>{_chart(state)}</div>'
    )


def _facts(state: Any) -> list[tuple[str, str]]:
    """Names and values of what is worth knowing."""
    numbers = state.numbers
    facts = [("outcomes", f"{state.n_outcomes:,}")]
    if hasattr(state, "dim"):
        facts.append(("dimension", f"{state.dim:,}"))
    else:  # a series
        size = " × ".join(f"{side:,}" for side in numbers.shape[1:])
        facts += [("columns", f"{state.n_columns:,}"), ("coefficients", size)]
    if hasattr(state, "rank"):
        facts.append(("rank", f"{state.rank:,}"))
    facts.append(("weight", _weights(state.weight)))
    facts.append(("memory", f"{_megabytes(numbers)}, {_dtype_name(numbers)}"))
    return facts


def _weights(weight: Array) -> str:
    """The total, and of few outcomes the parts."""
    parts = [float(weight[k]) for k in range(weight.shape[0])]
    total = f"{math.fsum(parts):,.6g}" if all(map(math.isfinite, parts)) else "nan"
    if not 1 < len(parts) <= _MOST_WEIGHTS:
        return total
    return f"{total} = {' + '.join(f'{part:,.6g}' for part in parts)}"


def _megabytes(numbers: Array) -> str:
    bits = array_namespace(numbers).finfo(real(numbers).dtype).bits
    bits *= 2 if is_complex(numbers) else 1
    return f"{math.prod(numbers.shape) * bits / 8 / 1e6:,.3g} MB"


def _dtype_name(numbers: Array) -> str:
    return str(numbers.dtype).rpartition(".")[2]


# ---- the chart ---------------------------------------------------------------------


def _chart(state: Any) -> str:
    """A chart of the eigenvalues of a small state, all outcomes together."""
    spectrum = _pooled_spectrum(state)
    if spectrum is None or not float(spectrum.eigenvalues[0, 0]) > 0:
        return ""
    found = spectrum.eigenvalues
    values = [float(found[0, i]) for i in range(found.shape[1])]
    first = "" if len(values) <= _MOST_BARS else f"{_MOST_BARS} of {len(values)} "
    of_all = " of all outcomes" if state.n_outcomes > 1 else ""
    words = (
        f"{first}eigenvalues{of_all}, log scale: the largest {values[0]:.3g}, "
        f"effective rank {float(spectrum.effective_rank[0]):.3g}"
    )
    return f'{_bars(values, words)}<div style="{_NOTE}">{escape(words)}</div>'


def _pooled_spectrum(state: Any) -> Spectrum | None:
    """None where there is no matrix, or a large one."""
    if not 0 < getattr(state, "dim", 0) <= _MOST_DECOMPOSED or not state.n_outcomes:
        return None
    xp = array_namespace(state.weight)
    pooled = state.mix(xp.ones_like(state.weight)[None, :])
    if not hasattr(pooled, "eigenvalues"):
        return None
    if not bool(xp.all(xp.isfinite(pooled.normalized()))):
        return None  # not every library decomposes such matrices without an error
    return state_spectrum(pooled)


def _bars(values: Sequence[float], words: str) -> str:
    """Bars as high as the logarithm of each value is above the least one shown."""
    shown = [value for value in values[:_MOST_BARS] if value > 0]
    width = len(shown) * (_BAR + _GAP) - _GAP
    bars = []
    for place, value in enumerate(shown):
        share = 1 + math.log10(value / shown[0]) / _DECADES
        if share <= 0:
            break
        height = max(0.5, share * _HEIGHT)
        bars.append(
            f'<rect x="{place * (_BAR + _GAP)}" y="{_HEIGHT - height:.1f}" '
            f'width="{_BAR}" height="{height:.1f}"/>'
        )
    return (
        f'<svg role="img" aria-label="{escape(words)}" width="{width}" '
        f'height="{_HEIGHT}" viewBox="0 0 {width} {_HEIGHT}" '
        'style="display:block;margin:8px 0 2px;fill:currentColor;opacity:.7">'
        f"{''.join(bars)}</svg>"
    )
