"""What the tests of torch layers share: instances, gradients, one model of many."""

import numpy as np
import torch
from torch.func import functional_call

from rhokit.features import LandmarkFeatures, QuadratureFeatures
from rhokit.nn import (
    ClassifierHead,
    DensityHead,
    FourierLayer,
    JointMeasurement,
    LandmarkLayer,
    Measurement,
    RegressorHead,
    feature_layer,
)
from tests.pairs import each_once

DTYPES = {torch.float32: torch.complex64, torch.float64: torch.complex128}


def in_turn(left, right, shift=0):
    """Every member of either in at least one pair; ``shift`` makes other pairs."""
    left = list(left)
    return each_once(left[shift:] + left[:shift], right)


def double(array, requires_grad=False):
    """The same numbers as a tensor in double precision."""
    return torch.tensor(np.asarray(array), dtype=torch.float64).requires_grad_(
        requires_grad
    )


def normal(*shape, seed=0, dtype=torch.float64):
    """Standard normal numbers."""
    drawn = np.random.default_rng(seed).normal(size=shape)
    if dtype.is_complex:
        drawn = drawn + 1j * np.random.default_rng(seed + 1).normal(size=shape)
    return torch.tensor(drawn, dtype=dtype)


def grid(low, high, count, d=1):
    """Points (count^d, d) of an even grid, and the volume around each."""
    axis = torch.linspace(low, high, count, dtype=torch.float64)
    return torch.cartesian_prod(*[axis] * d).reshape(-1, d), ((axis[1] - axis[0]) ** d)


# ---- instances: every kind of layer and head, small enough for finite differences ----


def _fourier(form, sampling="iid", **more):
    def make(**options):
        return FourierLayer(
            3,
            6,
            gamma=0.5,
            form=form,
            sampling=sampling,
            random_state=0,
            **more,
            **options,
        )

    return make


def _landmarks(m, d, normalize):
    def make(**options):
        return LandmarkLayer(
            normal(m, d, seed=1), gamma=0.7, normalize=normalize, **options
        )

    return make


def _far_landmarks(**options):
    """Six columns, but too far from each other for distances by product."""
    landmarks = normal(4, 6, seed=1).numpy()
    rows = np.concatenate([landmarks, np.full((1, 6), 1e8)])
    feature_map = LandmarkFeatures(gamma=0.7, landmarks=landmarks).fit(rows)
    return feature_layer(feature_map, **options)


def _quadrature(**options):
    return feature_layer(
        QuadratureFeatures(gamma=0.7, tol=1e-2).fit([[-2.0], [2.0]]),
        **options,
    )


TRAINABLE = {
    "phase": _fourier("phase"),
    "phase not normalised": _fourier("phase", normalize=False),
    "pair": _fourier("pair"),
    "complex": _fourier("complex"),
    "structured": _fourier("phase", "structured"),
    "landmarks": _landmarks(5, 2, False),
    "landmarks normalised": _landmarks(5, 2, True),
    "landmarks by product": _landmarks(4, 6, False),
    "landmarks normalised by product": _landmarks(4, 6, True),
    "landmarks far apart": _far_landmarks,
}
LAYERS = {**TRAINABLE, "quadrature": _quadrature}


def layer(name, dtype=torch.float64, **options):
    """A feature layer by its name."""
    return LAYERS[name](dtype=dtype, **options)


def rows_of(features, n=4, seed=2, dtype=torch.float64):
    """Rows that a feature layer takes."""
    d = next(features.parameters()).shape[-1 if hasattr(features, "landmarks") else -2]
    return normal(n, d, seed=seed).to(dtype)


def state_dtype(features, dtype=torch.float64):
    """The dtype of a layer's states."""
    return DTYPES[dtype] if getattr(features, "phases", 0) is None else dtype


def _on(make):
    """A head over a layer, in the dtype of its states."""

    def build(features, dtype=torch.float64, **options):
        dtype = state_dtype(features, dtype)
        return make(features, random_state=3, dtype=dtype, **options)

    return build


OVERLAPS = [[1.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.0]]
HEADS = {
    "density": _on(lambda f, **o: DensityHead(f, 2, log_norm=0.4, **o)),
    "classes": _on(lambda f, **o: ClassifierHead(f, 3, 2, **o)),
    "priors": _on(lambda f, **o: ClassifierHead(f, 3, 2, priors=[0.2, 0.5, 0.3], **o)),
    "joint": _on(lambda f, **o: ClassifierHead(f, 3, 2, joint=True, **o)),
    "overlaps": _on(
        lambda f, **o: ClassifierHead(f, 3, 2, joint=True, overlaps=OVERLAPS, **o)
    ),
    "values": _on(lambda f, **o: RegressorHead(f, 4, 2, bounds=(-1.0, 2.0), **o)),
}
MEASUREMENTS = {
    "together": lambda **o: Measurement(5, 2, 3, random_state=0, **o),
    "each": lambda **o: Measurement(5, 2, 3, trace="each", random_state=0, **o),
    "outputs": lambda **o: JointMeasurement(5, 2, 3, random_state=0, **o),
}


# ---- what is done with them ------------------------------------------------------


def trained_weights(module):
    """Names of the weights that are trained."""
    return {name for name, each in module.named_parameters() if each.requires_grad}


def check_gradients(module, *inputs):
    """Gradients by inputs and trained weights, against finite differences."""
    weights = {
        name: each.detach().clone().requires_grad_()
        for name, each in module.named_parameters()
        if each.requires_grad
    }
    leaves = [each.detach().clone().requires_grad_() for each in inputs]

    def compute(*tensors):
        given, values = tensors[: len(inputs)], tensors[len(inputs) :]
        return functional_call(module, dict(zip(weights, values, strict=True)), given)

    assert torch.autograd.gradcheck(compute, (*leaves, *weights.values()))


def one_model(module, index, *inputs):
    """What one of the models that a module holds side by side computes."""
    axes = len(index)
    weights = {name: each[index] for name, each in module.named_parameters()}
    assert all(
        each.ndim == weights[name].ndim + axes
        for name, each in module.named_parameters()
    )
    return functional_call(module, weights, inputs)


def parts(output):
    """An output as a list of arrays."""
    each = output if isinstance(output, tuple) else (output,)
    return [part.detach().numpy() for part in each]
