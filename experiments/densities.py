"""The density models that stand side by side in the experiments, and their errors.

γ is that of the density everywhere. The paper's code counts that of the feature map,
half as large, so each experiment is made with the printed number and with its double.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.exact import log_mass, rmse
from rhokit import DMKDE, DMKDESGD, MeanEmbeddingKDE

EXACT = "exact KDE"
PAPER = "DMKDE, paper's map and rank"
PAPER_FULL = "DMKDE, paper's map, full rank"
PAPER_SGD = "DMKDE-SGD, paper's map and rank"
RFF = "RFF-KDE, paper's map"
SGD = "DMKDE-SGD, auto"
LANDMARKS = "DMKDE, landmarks"
QUADRATURE = "DMKDE, quadrature"
AUTO = "DMKDE, auto"
_FEATURE_SEEDS = (
    10_000  # rows and features of a seed have nothing to do with each other
)
_FEW_COLUMNS = 2


@dataclass(frozen=True)
class Setting:
    """What the models of an experiment share.

    Parameters
    ----------
    gamma : float
        Of the density's kernel ``exp(-γ‖x-y‖²)``.
    n_components : int
        D of random features, or the number of landmarks.
    rank : int
        The paper's r.
    seed : int
        Of features, landmarks and training.
    max_epochs : int
        Of the models trained by gradient.
    """

    gamma: float
    n_components: int
    rank: int
    seed: int
    max_epochs: int = 30

    def common(self):
        """Arguments that every model takes."""
        return {
            "gamma": self.gamma,
            "scale": None,
            "n_components": self.n_components,
            "random_state": _FEATURE_SEEDS + self.seed,
        }


@dataclass(frozen=True)
class Contestant:
    """A model by name.

    Parameters
    ----------
    name : str
    ours : bool
        False for the paper's own.
    build : callable
        Makes it from a :class:`Setting`.
    few_columns : bool
        Whether it is for one or two columns alone.
    """

    name: str
    ours: bool
    build: Callable[[Setting], DMKDE]
    few_columns: bool = False


def _one_pass(feature_map, kind=DMKDE, **others):
    return lambda s: kind(feature_map=feature_map, **s.common(), **others)


def _ranked(setting):
    return DMKDE(feature_map="fourier", rank=setting.rank, **setting.common())


def _trained_as_printed(setting):
    return DMKDESGD(
        feature_map="fourier",
        rank=setting.rank,
        max_epochs=setting.max_epochs,
        **setting.common(),
    )


def _trained(setting):
    return DMKDESGD(max_epochs=setting.max_epochs, **setting.common())


CONTESTANTS = (
    Contestant(PAPER, False, _ranked),
    Contestant(PAPER_FULL, False, _one_pass("fourier")),
    Contestant(PAPER_SGD, False, _trained_as_printed),
    Contestant(RFF, False, _one_pass("fourier", MeanEmbeddingKDE)),
    Contestant(LANDMARKS, True, _one_pass("landmarks")),
    Contestant(QUADRATURE, True, _one_pass("quadrature"), few_columns=True),
    Contestant(AUTO, True, _one_pass("auto"), few_columns=True),
    Contestant(SGD, True, _trained),
)


def contestants(d):
    """Those that answer for d columns; for many, ``auto`` is landmarks."""
    return [each for each in CONTESTANTS if d <= _FEW_COLUMNS or not each.few_columns]


def fitted(contestant, setting, rows):
    """The model, fitted, and what the lines say of it."""
    model = contestant.build(setting)
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(rows)
    seconds = time.perf_counter() - start
    columns = getattr(model, "estimator_", model).feature_map_.n_columns_
    details = {"gamma": setting.gamma, "columns": columns, "fit_seconds": seconds}
    if caught:
        details["warnings"] = [str(each.message) for each in caught]
    return model, details


def floored_logs(model, rows):
    """Log-densities (n,), and which of them stand at the floor.

    RFF-KDE may be zero or negative, where there is no logarithm: less than 1/D of the
    kernel's peak, which random features cannot tell from zero, counts as that. What
    DMKDE says is never negative, and stays as it is.
    """
    logs = model.score_samples(rows)
    if not isinstance(model, MeanEmbeddingKDE):
        return logs, np.zeros(len(logs), dtype=bool)
    peak = -log_mass(model.gamma_, rows.shape[1])
    floor = peak - np.log(model.n_components)
    return np.maximum(logs, floor), logs < floor


def log_errors(logs, exact_logs):
    """RMSE of log-densities, and their correlation with the exact ones."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return rmse(logs, exact_logs), float(np.corrcoef(logs, exact_logs)[0, 1])
