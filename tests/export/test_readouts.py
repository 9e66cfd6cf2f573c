"""Read-outs as nodes, against those of the core, on whatever is measured."""

import numpy as np
import onnxruntime
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rhokit.core import log_posterior
from rhokit.core.distributions import mean_and_std, quantiles
from rhokit.estimators.joint_classifier import DECISIONS, decide
from rhokit.export import readouts
from rhokit.export.graph import DOUBLE, Graph

# Zero, equal and vanishing shares come up often.
_SHARES = st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0, 1e-9, 1e-300])


def compute(build, rows):
    """What nodes built by ``build`` from an input (n, m) compute of rows."""
    graph = Graph("test")
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
    mass = draw(hnp.arrays(np.float64, shape, elements=_SHARES))
    mass[:, draw(st.integers(0, shape[1] - 1))] += 1.0
    return mass / mass.sum(axis=1, keepdims=True)


@given(
    distributions(),
    st.lists(st.floats(0.01, 0.99), min_size=1, max_size=4),
    st.floats(-1e6, 1e6),
)
def test_quantiles(chances, shares, offset):
    levels = offset + np.linspace(0, 3, chances.shape[1])
    shares = np.array(shares)
    build = Build(lambda v: readouts.quantiles(v, levels, shares), len(shares))
    found = compute(build, chances)
    # Where the distribution has a gap at the share itself, rounding decides.
    low, high = (quantiles(chances, levels, shares + s) for s in (-1e-12, 1e-12))
    assert ((found >= low - 1e-8) & (found <= high + 1e-8)).all()


@given(distributions())
def test_moments(chances):
    levels = np.linspace(-1, 2, chances.shape[1])
    for place, expected in enumerate(mean_and_std(chances, levels)):
        build = Build(lambda v, i=place: readouts.mean_and_std(v, levels)[i])
        np.testing.assert_allclose(compute(build, chances), expected, 0, 1e-12)


@given(distributions())
def test_decisions(chances):
    for decision in DECISIONS:
        build = Build(lambda v, d=decision: readouts.decided(v, chances.shape[1], d))
        # Ties between ranks are broken by rounding, unless it is all the same.
        found, expected = compute(build, chances), decide(chances, decision)
        tied = _is_tied(chances, decision)
        np.testing.assert_array_equal(found[~tied], expected[~tied])
        assert (np.abs(found - expected) <= 1).all() or decision == "mode"


def _is_tied(chances, decision):
    """Rows whose decision hangs on rounding."""
    if decision == "mode":
        return np.zeros(len(chances), bool)  # the first of equals, exactly
    if decision == "mean":
        mean = chances @ np.arange(chances.shape[1])
        return np.abs(mean % 1 - 0.5) < 1e-9
    return (np.abs(chances.cumsum(axis=1) - (0.5 - 1e-12)) < 1e-15).any(axis=1)


_LOGS = st.sampled_from([-np.inf, -np.inf, 0.0, -1.5, 3.0, -800.0, 700.0, -1e60])


@given(st.data(), st.sampled_from([0.0, 1e-13, 1e-3]))
def test_probabilities(data, least):
    shape = data.draw(st.integers(1, 4)), data.draw(st.integers(2, 5))
    logs = data.draw(hnp.arrays(np.float64, shape, elements=_LOGS))
    priors = data.draw(
        hnp.arrays(np.float64, shape[1], elements=st.sampled_from([-np.inf, -1.0]))
    )
    priors[0] = -2.0
    build = Build(lambda v: readouts.posterior(v, priors, least), shape[1])
    expected = np.exp(log_posterior(logs, priors, least))
    np.testing.assert_allclose(compute(build, logs), expected, 1e-12, 1e-300)


@given(hnp.arrays(np.float64, (3, 4), elements=_LOGS))
def test_sums_of_logarithms(logs):
    found = compute(Build(readouts.log_sum), logs)
    np.testing.assert_allclose(found, np.logaddexp.reduce(logs, axis=1), 1e-12)


@given(
    hnp.arrays(np.float64, (3, 4), elements=st.floats(-9, 9)),
    st.lists(st.sampled_from([0.1, 0.5, 0.9]), min_size=4, max_size=4),
)
def test_values_in_the_order_of_their_shares(values, shares):
    build = Build(lambda v: readouts.sorted_by_share(v, np.array(shares)), 4)
    found = compute(build, values)
    order = np.argsort(shares, kind="stable")
    np.testing.assert_array_equal(found[:, order], np.sort(values, axis=1))
