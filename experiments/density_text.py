"""Numbers, tables and sentences of the pages on densities."""

import numpy as np

from benchmarks.figures.markdown import NOTHING

_NORMAL_95 = 1.96


def pick(lines, **wanted):
    """Lines that have these values, as fields of their own or among the details."""
    return [
        line
        for line in lines
        if all(_get(line, key) == value for key, value in wanted.items())
    ]


def values(lines, **wanted):
    """Values of such lines that are numbers, as an array over seeds."""
    found = (line["value"] for line in pick(lines, **wanted))
    return np.array([value for value in found if value is not None], dtype=float)


def known(lines, key):
    """What a field takes, each once, in the order of the lines."""
    found = (_get(line, key) for line in lines)
    return [value for value in dict.fromkeys(found) if value is not None]


def _get(line, key):
    return line[key] if key in line else line["details"].get(key)


def mean(array):
    """The mean; None of nothing."""
    return float(np.mean(array)) if len(array) else None


def ratio(upper, lower):
    """Of two means; None where one of them is not known or nothing to divide by."""
    return upper / lower if upper is not None and lower else None


def mean_and_half_band(array):
    """The mean over seeds and half its 95 % interval, ``1.96 s/√n``."""
    if len(array) < 2:
        return mean(array), 0.0
    return mean(array), float(_NORMAL_95 * np.std(array, ddof=1) / np.sqrt(len(array)))


def cell(array, form=".3g"):
    """Such as "0.0039 ± 0.0004" (the standard deviation); a dash for nothing."""
    if not len(array):
        return NOTHING
    text = f"{mean(array):z{form}}"
    spread = ".2g" if form.endswith("g") else form
    return text if len(array) == 1 else f"{text} ± {np.std(array, ddof=1):{spread}}"


def maybe(value, template="{:.3g}"):
    """A number in a template; a dash where there is none."""
    return NOTHING if value is None else template.format(value)


def times(factor):
    """Such as "2.4 times" or "1,200 times"."""
    return f"{factor:,.0f} times" if factor >= 10 else f"{factor:.2g} times"


def sentences(*texts):
    """Those that are there, as one paragraph."""
    there = [text for text in texts if text]
    return " ".join(there) + "\n" if there else ""


def gamma_note(gammas):
    """Why there are two γ."""
    if len(gammas) < 2:
        return ""
    return (
        f"The printed γ = {gammas[0]:g} may be that of the feature map, half the "
        f"density's, so everything is made with γ = {gammas[0]:g} and with "
        f"{gammas[1]:g}.\n"
    )
