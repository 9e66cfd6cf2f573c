"""What is done to a model and to the slow model beside it."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import numpy as np
import pytest
from numpy.testing import assert_allclose

import rhokit
from rhokit import Stream
from rhokit.testing.cases import take
from rhokit.testing.comparisons import (
    assert_same_answers,
    assert_same_sample,
    assert_same_state,
)

OPERATIONS = {}
MOST_ROWS = 500
THREADS = 4
MOST_QUESTIONS = 12


def operation(often, needs_rows=True):
    """Register an operation, and how often it comes up."""

    def register(function):
        OPERATIONS[function.__name__] = function, often, needs_rows
        return function

    return register


# ---- learning ------------------------------------------------------------------------


@operation(6, needs_rows=False)
def learn(world, rng):
    """New rows, sometimes while the others fade."""
    if len(world.truth) > MOST_ROWS:
        unlearn(world, rng)
        return
    batch, decay = world.batch(int(rng.integers(1, 60)), rng), None
    if rng.random() < 0.2:
        decay = float(rng.uniform(0.3, 1))
        fade_rows(world, decay)
    world.model.partial_fit(*batch.data(), sample_weight=batch.weights, decay=decay)
    world.truth = world.truth.plus(batch)
    world.noticed(faded=decay is not None)


@operation(2)
def learn_again(world, rng):
    """Rows that were learned before come again."""
    which = some_of(world, rng)
    batch = world.batch(len(which), rng)
    rows, target = world.truth.data(which)
    again = type(batch)(rows, target, batch.weights, batch.ids, batch.peak)
    world.model.partial_fit(rows, target, sample_weight=again.weights)
    world.truth = world.truth.plus(again)
    world.noticed()


@operation(5)
def unlearn(world, rng):
    """Forget rows, or part of their weight; seldom all of them."""
    which = some_of(world, rng)
    if rng.random() < 0.05:
        which = rng.permutation(len(world.truth))
    weights = world.truth.weights[which]
    if rng.random() < 0.3:
        weights = weights * rng.choice([0.25, 0.5, 0.9])
    rows, target = world.truth.data(which)
    world.model.unlearn(rows, target, sample_weight=weights)
    world.truth = world.truth.minus(which, weights)
    drop_broken_parts(world)
    world.noticed(lost=True)


@operation(2)
def fade(world, rng):
    """Let all rows count less."""
    factor = float(rng.uniform(0.3, 1))
    world.model.fade(factor)
    fade_rows(world, factor)
    world.noticed(faded=True)


@operation(3, needs_rows=False)
def merge(world, rng):
    """Add what another model has seen."""
    rows = world.batch(int(rng.integers(1, 40)), rng)
    other = world.fitted(rows)
    if rng.random() < 0.3:
        other = pickle.loads(pickle.dumps(other))
    world.model.merge(other)
    world.truth = world.truth.plus(rows)
    world.parts.append((other, rows))
    world.noticed()


@operation(3)
def unmerge(world, rng):
    """Take out what another model has seen."""
    if world.parts:
        other, rows = world.parts.pop(int(rng.integers(len(world.parts))))
        world.model.unmerge(other)
        world.truth = world.truth.without(rows)
        drop_broken_parts(world)
        world.noticed(lost=True)


def some_of(world, rng):
    """Places of some rows, at most half of them."""
    n = len(world.truth)
    return rng.permutation(n)[: int(rng.integers(1, max(n // 2, 1) + 1))]


def fade_rows(world, factor):
    """Fade the slow model, and what may be taken out again."""
    world.truth = world.truth.faded(factor)
    world.parts = [
        (other.with_model(other.prepared_model()).fade(factor), rows.faded(factor))
        for other, rows in world.parts
    ]


def drop_broken_parts(world):
    """Models of which rows were forgotten since can no more be taken out."""
    world.parts = [part for part in world.parts if world.truth.holds(part[1])]


# ---- streams -------------------------------------------------------------------------


@operation(0.5, needs_rows=False)
def stream(world, rng):
    """A stream of rows is a fit to those in its window, or to those that fade."""
    rows = world.batch(int(rng.integers(20, 150)), rng)
    memory = [{}, {"window": 30}, {"half_life": 25.0}][int(rng.integers(3))]
    buffered = int(rng.integers(1, 60))
    learner = Stream(world.empty.blank(), **memory, buffer_rows=buffered)
    cuts = np.sort(rng.integers(0, len(rows), 4))
    for which in np.split(np.arange(len(rows)), cuts):
        if len(which):
            learner.learn_many(*rows.data(which), sample_weight=rows.weights[which])
    ages = np.arange(len(rows))[::-1]
    faded = np.exp2(-ages / memory.get("half_life", np.inf)) * rows.weights
    kept = np.flatnonzero(ages < memory.get("window", np.inf))
    held = replace(rows, weights=faded, forgot="window" in memory).only(kept)
    # Windows and half-lives may make rows leave a sample that is full.
    loose = bool(memory) and len(rows) > world.empty.plan_.sample_rows
    world.beside(learner.model, held, loose=loose, uneven=loose).check(rng)


# ---- refusals ------------------------------------------------------------------------


@operation(1)
def refuse(world, rng):
    """What is refused leaves the model as it was."""
    before = world.model.model_
    batch = world.batch(3, rng)
    rows, target = batch.data()
    method = world.model.partial_fit if rng.random() < 0.5 else world.model.unlearn
    with pytest.raises(ValueError, match="weight"):
        method(rows, target, sample_weight=[1.0, -1.0, 1.0])
    heavy = np.full(3, 10 * world.truth.total)
    with pytest.raises(ValueError, match="more than was seen"):
        world.model.unlearn(rows, target, sample_weight=heavy)
    with pytest.raises(ValueError, match="decay"):
        world.model.partial_fit(rows, target, decay=1.5)
    assert world.model.model_ is before


# ---- copies --------------------------------------------------------------------------


@operation(2, needs_rows=False)
def save_and_load(world, rng):
    """Go on with what a file holds."""
    path = world.folder / "model.rhokit"
    rhokit.save(world.model, path)
    again = rhokit.load(path)
    if len(world.truth):
        assert_same_bits(world, again, world.model, rng)
    world.model = again


@operation(1, needs_rows=False)
def pickled(world, rng):
    """Go on with a pickled copy."""
    again = pickle.loads(pickle.dumps(world.model))
    if len(world.truth):
        assert_same_bits(world, again, world.model, rng)
    world.model = again


@operation(1)
def compact(world, rng):
    """The smallest model that predicts the same does."""
    queries = world.queries(rng)
    _, tolerance = world.tolerances(world.expected())
    small = world.model.compact()
    found, wanted = (world.asked(each, queries) for each in (small, world.model))
    assert_same_answers(found, wanted, max(tolerance, world.case.unlearned_tolerance))


@operation(1)
def leave_one_out(world, rng):
    """The density of a row without itself is that of a fit without it."""
    truth, model = world.truth, world.model
    which = np.flatnonzero(truth.weights >= 1)[:3]
    if model.rank is not None or len(truth) < 10 or not len(which):
        return
    if model.readout_.recognises_rows:  # and leaves them out by itself
        return
    rows, target = truth.data(which)
    found = model.score_samples(rows, target, leave_one_out=True)
    wanted = np.zeros(len(which))
    for i, place in enumerate(which):
        without = world.expected(truth.minus([place], 1.0))
        wanted[i] = without.score_samples(take(rows, [i]))[0]
    _, tolerance = world.tolerances(world.expected())
    top = np.exp(model.score_samples(rows)).max()
    assert_allclose(np.exp(found), np.exp(wanted), rtol=0, atol=tolerance * top)


def assert_same_bits(world, actual, expected, rng):
    """Two models of equal bits."""
    assert actual.fingerprint() == expected.fingerprint()
    assert_same_state(actual.state_, expected.state_, 0)
    assert_same_sample(actual.sample_, expected.sample_)
    queries = world.queries(rng)
    found, wanted = (world.asked(each, queries) for each in (actual, expected))
    assert_same_answers(found, wanted)


# ---- threads -------------------------------------------------------------------------


@operation(1)
def ask_from_threads(world, rng):
    """Answers that threads get while one learns are of the model before or after."""
    queries, done = world.queries(rng), Event()
    model, before, loose = world.model, world.snapshot(), world.loose

    def ask(_):
        found = [world.asked(model, queries, loose)]
        while not done.is_set() and len(found) < MOST_QUESTIONS:
            found.append(world.asked(model, queries, loose))
        return found

    change = [learn, learn_again, fade][int(rng.integers(3))]
    if len(world.truth) > MOST_ROWS:
        change = fade  # learning would unlearn rows, perhaps all
    with ThreadPoolExecutor(THREADS) as pool:
        asked = [pool.submit(ask, i) for i in range(THREADS)]
        try:
            change(world, rng)
        finally:
            done.set()
    snapshots = before, world.snapshot()
    possible = [world.asked(each, queries, loose) for each in snapshots]
    for found in (found for each in asked for found in each.result()):
        for name, answer in found.items():
            ones = [one[name] for one in possible]
            if not any(np.array_equal(answer, one, _is_float(answer)) for one in ones):
                raise AssertionError(
                    f"{name}: of no model that there was", answer, ones
                )


def _is_float(answer):
    return answer.dtype.kind == "f"
