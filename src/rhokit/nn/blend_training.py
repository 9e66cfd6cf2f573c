r"""Training of blends: what their ridge regression gets wrong, by gradient.

A blend is left as it is, and a correction is learned of what it says of rows that are
left out of it,

.. math:: r(x) \to r(x) + E^\top f(x),

with the features f of its ridge regression, by the log-loss of classes, or by the
likelihood and the squared error of values. Rows that were held out judge: they are
taken out of the sums, so that neither the start nor the correction knows them. If they
are not better predicted with the correction, the start is handed back, to the bit.
Otherwise E moves the sums of the outcomes, :math:`B \to B + (G + \lambda) E`, and the
model is a blend like all others.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from rhokit.batch import Batch
from rhokit.features.links import LINKS
from rhokit.features.ridge import unpacked
from rhokit.models import MeasuredSample, Model
from rhokit.nn.corrections import CORRECTIONS, Correction, LeftOut
from rhokit.nn.holdout import split_batch
from rhokit.nn.recipe import TrainingRows
from rhokit.nn.tasks import TrainingTask
from rhokit.nn.trained import Trained
from rhokit.nn.training import train
from rhokit.representations import State

Floats = NDArray[np.float64]

# Directions of the features that are shorter than this, in units of their mean length
# and of features per row, are learned late.
_RIDGE_PER_ROW = 0.2
# Features of so many rows are kept to be trained on.
_MOST_BYTES = 2**30
_ROUNDING = 1e-10


class Linear(nn.Module):
    """Corrections (n, q) of features in round coordinates (n, F), none at first."""

    def __init__(self, n_features: int, n_outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n_features, n_outputs))

    def forward(self, features: torch.Tensor, *start: torch.Tensor) -> Any:
        """The correction, beside what the start says."""
        return features @ self.weight, start


@dataclass(frozen=True, eq=False)
class BlendTraining:
    """Trains the ridge regression of a blend.

    Parameters
    ----------
    shell : GradientEstimator
        Whose parameters count.
    task : TrainingTask
    """

    shell: Any
    task: TrainingTask

    def run(
        self, start: Any, whole: Batch, judges: Batch | None, *, goes_on: bool
    ) -> Trained:
        """Fit the one-pass model, and improve on it, if rows that judge say so.

        As :meth:`MatrixTraining.run`; where training goes on, it does so from the plan
        that is known.
        """
        shell, task = self.shell, self.task
        start = start.with_model(start.model_.blank()) if goes_on else start
        start = start.partial_fit(whole) if goes_on else start.fit(whole)
        model: Model = start.model_
        batch = whole.seen()
        rest = model.state
        if judges is None:
            asked = shell.early_stopping or "auto"
            groups = task.groups(batch)
            batch, judges = split_batch(batch, groups, shell.validation_fraction, asked)
            if judges is not None:
                target = model.readout.encode(judges.target, judges.weights)
                rest = rest - model.total(judges, target)
        else:
            task.refuse_unknown(start.readout_, judges, type(shell).__name__)
        unchanged = Trained(start, {"loss": [], "learning_rate": []}, improved=False)
        if judges is None or not model.plan.feature_map.link.needs_ridge:
            return unchanged
        return self._improved(start, rest, batch, judges) or unchanged

    def _improved(self, start: Any, rest: State, batch: Batch, judges: Batch) -> Any:
        """What training ends with; its model is the start, if that is better."""
        model: Model = start.model_
        trained = left_out(model, rest, batch.take(self._some(model, len(batch))))
        judging = left_out(model, rest, judges, known=False)
        blend: Any = model.plan.feature_map
        correction = CORRECTIONS[blend.link_].of(trained, self.task)
        basis = _coordinates(blend, rest)
        module = Linear(basis.shape[1], correction.n_outputs)
        history = self._descent(module, correction, basis, trained, judging)
        with torch.no_grad():
            learned = module.weight.double().numpy()
        change = correction.spread(basis @ learned)  # (F, K)
        gain = correction.losses(judging) - correction.losses(judging.moved(change))
        if not np.average(gain, weights=judging.weight) > 0:
            return Trained(start, history, improved=False)
        sample = model.sample
        if sample is not None and model.readout.kind == "values":
            # What the start missed: corrected rows were seen, and miss less.
            logs = model.log_left_out(sample)
            sample = MeasuredSample(sample.target, sample.weight, logs)
        state = moved(model, change)
        made = start.with_model(model.with_state(state, sample=sample))
        return Trained(made, history, improved=True)

    def _some(self, model: Model, n: int) -> NDArray[np.intp]:
        """Places of as many rows as there is memory for."""
        most = _MOST_BYTES // (4 * model.plan.feature_map.n_features)
        return np.linspace(0, n - 1, min(n, most)).astype(int)

    def _descent(
        self,
        module: Linear,
        correction: Correction,
        basis: Floats,
        trained: LeftOut,
        judging: LeftOut,
    ) -> dict[str, list[Any]]:
        """Train a module, and leave in it what is best for the rows that judge."""
        shell, device = self.shell, self.shell.device
        module.to(device)

        def tensors(rows: LeftOut) -> TrainingRows:
            inputs = rows.features @ basis, *correction.start(rows)
            target, weight = correction.target(rows), rows.weight / rows.weight.mean()
            return TrainingRows(
                tuple(
                    torch.as_tensor(np.float32(each), device=device) for each in inputs
                ),
                torch.as_tensor(target, device=device),
                torch.as_tensor(np.float32(weight), device=device),
            )

        with warnings.catch_warnings():
            # That nothing was left to learn is told by ``improved_``.
            warnings.filterwarnings("ignore", "training raised the loss")
            history = train(
                module,
                correction.loss,
                tensors(trained),
                shell.recipe(len(trained.weight), judged=True),
                validation=tensors(judging),
                checkpoint=shell.checkpoint,
                settings=shell.settings(),
                label=f"Training {type(shell).__name__}",
            )
        module.cpu()
        return history


def left_out(
    model: Model, state: State, batch: Batch, *, known: bool = True
) -> LeftOut:
    """What a state says of rows without themselves.

    Parameters
    ----------
    model : Model
        Whose plan is a blend.
    state : BlendSums
    batch : Batch
    known : bool
        Whether the rows are in the state's sums.
    """
    representation: Any = model.representation
    solution, blend = representation.solution(state), representation.blend
    readout = model.readout
    roots = readout.roots(readout.encode(batch.target, batch.weights))
    truth, weight = roots**2, batch.mass
    mass = truth * weight[:, None] if known else np.zeros_like(truth)

    def use(worker: int, which: Any, columns: Any, log_scale: Any) -> tuple[Any, ...]:
        features = blend.whitened(blend.features(columns))
        told = solution.told_without(columns, mass[which])
        return features.astype(np.float64), told

    parts = model.plan.for_blocks(batch.rows, use, batch_size=model.batch_size)
    return LeftOut.of(blend.link, solution.prior, parts, truth, weight)


def _coordinates(blend: Any, state: State) -> Floats:
    """From whitened features to coordinates in which rows are round, (F, F')."""
    weight = LINKS[blend.link_].row_mass(np.asarray(state.weight)[None])[0]
    values, vectors = np.linalg.eigh(unpacked(np.asarray(state.products)) / weight)
    kept = values > _ROUNDING * values[-1]
    values, vectors = values[kept], vectors[:, kept]
    ridge = _RIDGE_PER_ROW * len(values) / weight
    lengths = 1 / np.sqrt(values + ridge * values.mean())
    return np.asarray(vectors * lengths)


def moved(model: Model, change: Floats) -> State:
    """The state whose ridge regression has other coefficients by so much (F, K)."""
    representation: Any = model.representation
    blend, state = representation.blend, model.state
    assert state is not None
    products = unpacked(np.asarray(state.products))
    row_mass = LINKS[blend.link_].row_mass(np.asarray(state.weight)[None])[0]
    total = np.array(state.total)
    shift = products @ change + blend.strength_ * row_mass * change
    total[:, : blend.n_features] += shift.T
    return replace(state, total=total)
