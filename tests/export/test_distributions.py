"""Read-outs as nodes, against those of the core, on whatever is measured."""

import numpy as np
import onnxruntime
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rhokit.core import log_posterior
from rhokit.core.distributions import mean_and_std, quantiles
from rhokit.export import distribution_nodes as nodes
from rhokit.export.graph import DOUBLE
from rhokit.export.onnx_graph import OnnxGraph
from rhokit.readouts.joint import DECISIONS, decide

# Zero, equal and vanishing weights come up often.
_WEIGHTS = st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0, 1e-9, 1e-300])


def compute(build, rows):
    """What nodes built by ``build`` from an input (n, m) compute of rows."""
    graph = OnnxGraph("test")
    result = build(graph.input("X", DOUBLE, rows.shape[1]))
    graph.output("mean", result, *build.shape)
    data = graph.to_bytes({}, "0")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(data, options)
    return session.run(None, {"X": rows})[0]


class Build:
    """A function of a value, and the shape of a row of its result."""

    def __init__(self, function, *shape):
        self.function, self.shape = function, shape

    def __call__(self, value):
        return self.function(value)


@st.composite
def distributions(draw):
    """Probabilities (n, m), with gaps."""
    shape = draw(st.integers(1, 4)), draw(st.integers(2, 6))
    mass = draw(hnp.arrays(np.float64, shape, elements=_WEIGHTS))
    mass[:, draw(st.integers(0, shape[1] - 1))] += 1.0
    return mass / mass.sum(axis=1, keepdims=True)


@given(
    distributions(),
    st.lists(st.floats(0.01, 0.99), min_size=1, max_size=4),
    st.floats(-1e6, 1e6),
)
def test_quantiles(probabilities, levels, offset):
    values = offset + np.linspace(0, 3, probabilities.shape[1])
    levels = np.array(levels)
    build = Build(lambda v: nodes.quantiles(v, values, levels), len(levels))
    found = compute(build, probabilities)
    # Where the distribution has a gap at the level itself, rounding decides.
    low, high = (quantiles(probabilities, values, levels + s) for s in (-1e-12, 1e-12))
    assert ((found >= low - 1e-8) & (found <= high + 1e-8)).all()


@given(distributions())
def test_moments(probabilities):
    levels = np.linspace(-1, 2, probabilities.shape[1])
    for place, expected in enumerate(mean_and_std(probabilities, levels)):
        build = Build(lambda v, i=place: nodes.mean_and_std(v, levels)[i])
        np.testing.assert_allclose(compute(build, probabilities), expected, 0, 1e-12)


@given(distributions())
def test_decisions(probabilities):
    for decision in DECISIONS:
        build = Build(lambda v, d=decision: nodes.decided(v, probabilities.shape[1], d))
        # Ties between ranks are broken by rounding, unless it is all the same.
        found, expected = compute(build, probabilities), decide(probabilities, decision)
        tied = _is_tied(probabilities, decision)
        np.testing.assert_array_equal(found[~tied], expected[~tied])
        assert (np.abs(found - expected) <= 1).all() or decision == "mode"


def _is_tied(probabilities, decision):
    """Rows whose decision hangs on rounding."""
    if decision == "mode":
        return np.zeros(len(probabilities), bool)  # the first of equals, exactly
    if decision == "mean":
        mean = probabilities @ np.arange(probabilities.shape[1])
        return np.abs(mean % 1 - 0.5) < 1e-9
    return (np.abs(probabilities.cumsum(axis=1) - (0.5 - 1e-12)) < 1e-15).any(axis=1)


_LOGS = st.sampled_from([-np.inf, -np.inf, 0.0, -1.5, 3.0, -800.0, 700.0, -1e60])


@given(st.data(), st.sampled_from([0.0, 1e-13, 1e-3]))
def test_probabilities(data, least):
    shape = data.draw(st.integers(1, 4)), data.draw(st.integers(2, 5))
    logs = data.draw(hnp.arrays(np.float64, shape, elements=_LOGS))
    priors = data.draw(
        hnp.arrays(np.float64, shape[1], elements=st.sampled_from([-np.inf, -1.0]))
    )
    priors[0] = -2.0
    build = Build(lambda v: nodes.posterior(v, priors, least), shape[1])
    expected = np.exp(log_posterior(logs, priors, least))
    np.testing.assert_allclose(compute(build, logs), expected, 1e-12, 1e-300)


@given(hnp.arrays(np.float64, (3, 4), elements=_LOGS))
def test_sums_of_logarithms(logs):
    found = compute(Build(nodes.log_sum), logs)
    np.testing.assert_allclose(found, np.logaddexp.reduce(logs, axis=1), 1e-12)


@given(
    hnp.arrays(np.float64, (3, 4), elements=st.floats(-9, 9)),
    st.lists(st.sampled_from([0.1, 0.5, 0.9]), min_size=4, max_size=4),
)
def test_values_in_the_order_of_their_levels(values, levels):
    build = Build(lambda v: nodes.sorted_by_level(v, np.array(levels)), 4)
    found = compute(build, values)
    order = np.argsort(levels, kind="stable")
    np.testing.assert_array_equal(found[:, order], np.sort(values, axis=1))
