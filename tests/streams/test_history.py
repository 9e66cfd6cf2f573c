"""Streams with a history: models of past periods, changes, times, and their files."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import rhokit
from rhokit import DMKDE, DMKDClassifier, DMKDOutlierDetector, History, Stream
from rhokit.drift import Watch
from rhokit.drift.tables import table_of
from rhokit.errors import DataError
from rhokit.io.container import pack, unpack

PLAIN = {"gamma": 1.0, "scale": None, "n_components": 8, "random_state": 0}


def rows(n, seed=0, d=2):
    return np.random.default_rng(seed).normal(size=(n, d))


def changing(n=6000, at=4000):
    X = rows(n)
    X[at:, 1] += 1
    return X


def learned(X, *, pieces=(), **options):
    """A stream that has learned rows, in pieces."""
    stream = Stream(DMKDE(**PLAIN), **{"history": 100, "warm_up": 50} | options)
    for start, stop in zip([0, *pieces], [*pieces, len(X)], strict=True):
        stream.learn_many(X[start:stop])
    return stream


class TestPeriods:
    def test_a_span_is_the_model_of_its_rows(self):
        X = rows(3000)
        history = learned(X).history
        assert history.n_rows == 3000
        assert [p.start for p in history.periods][1:] == [
            p.stop for p in history.periods
        ][:-1]
        for start, stop in [(None, None), (0, 800), (2000, 2500), (2950, 3000)]:
            low, high = history.span(start, stop)
            expected = history.estimator.blank().partial_fit(X[low : high + 1])
            found = history.model(start, stop)
            assert_allclose(found.state_.total, expected.state_.total, atol=1e-10)
            assert found.state_.weight == high + 1 - low

    @pytest.mark.parametrize("detail", [1, 3, 8])
    def test_room_is_logarithmic_and_recent_periods_are_short(self, detail):
        history = learned(rows(25_000), history=History(100, detail)).history
        assert len(history.periods) <= (detail + 1) * np.log2(250 / detail + 2) + 1
        lengths = [len(period) for period in history.periods]
        assert lengths == sorted(lengths, reverse=True)
        assert lengths[-1] <= 100 * (1 + (detail == 1))
        for period in history.periods:  # short beside their age
            age = 25_000 - period.start
            assert len(period) <= max(100, 2 * age / detail)

    def test_any_split_gives_the_same(self):
        X = changing()
        given = {"buffer_rows": 400}  # the first piece chooses the plan
        one = learned(X, pieces=[400, 407, 530, 2000], **given).history
        other = learned(X, pieces=range(400, 6000, 333), **given).history
        assert one.changes == other.changes
        assert [p.stop for p in one.periods] == [p.stop for p in other.periods]
        for a, b in zip(one.periods, other.periods, strict=True):
            assert_allclose(a.model.state.total, b.model.state.total, atol=1e-10)

    def test_changes_are_those_of_a_watch(self):
        X = changing()
        stream = learned(X)
        assert stream.history.changes == Watch().after(table_of(X)).changes
        (change,) = stream.history.changes
        assert change.columns == ("column 1",)

    def test_rows_one_by_one_with_names(self):
        X = changing(1500, 1000)
        stream = Stream(DMKDE(**PLAIN), history=100, warm_up=50, buffer_rows=64)
        for a, b in X:
            stream.learn_one({"flow": a, "heat": b})
        (change,) = stream.history.changes
        assert change.columns == ("heat",)

    def test_the_stream_itself_is_as_without(self):
        X = changing(2000, 1000)
        for options in ({"half_life": 300.0}, {"window": 400}, {}):
            with_it = learned(X, **options).model
            without = learned(X, history=None, **options).model
            assert_array_equal(with_it.state_.total, without.state_.total)
        assert learned(X, history=None).history is None

    def test_rows_that_are_skipped_or_weigh_nothing(self):
        X = rows(900)
        X[600::20] += 9
        stream = Stream(
            DMKDOutlierDetector(random_state=0),
            history=300,
            warm_up=300,
            buffer_rows=100,
            learn_above=0.005,
        )
        stream.learn_many(X)
        history = stream.history
        assert history.n_rows == 900
        assert stream.n_skipped >= 15
        assert history.model().state_.weight == 900 - stream.n_skipped
        weighed = Stream(DMKDE(**PLAIN), history=100)
        weighed.learn_many(X, sample_weight=np.arange(900) % 2)
        assert weighed.history.n_rows == 450

    def test_targets_and_new_classes(self):
        rng = np.random.default_rng(0)
        X, y = rows(3000), rng.choice(["a", "b"], 3000).astype(object)
        y[2000:] = rng.choice(["a", "b", "c"], 1000)
        stream = Stream(DMKDClassifier(**PLAIN), history=250, warm_up=100)
        stream.learn_many(X, y.astype(str))
        (change,) = stream.history.changes
        assert change.columns == ("target",)
        assert change.began > 1950
        assert list(stream.history.model().classes_) == ["a", "b", "c"]
        assert stream.history.model(0, 1000).state_.weight[2] == 0

    def test_categories(self):
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"x": rng.normal(size=2000)})
        frame["colour"] = pd.Categorical(rng.choice(["red", "blue"], 2000))
        frame.loc[1200:, "colour"] = "red"
        stream = Stream(DMKDE(n_components=32, random_state=0), history=200)
        stream.learn_many(frame)
        history = stream.history
        assert [change.columns for change in history.changes] == [("colour",)]
        track = next(t for t in history.timeline().tracks if t.name == "colour")
        assert track.values["red"][-1] == 1


class TestTimes:
    @pytest.fixture
    def stream(self):
        X = changing(3000, 2000)
        stream = Stream(DMKDE(**PLAIN), history=100, warm_up=50)
        days = np.datetime64("2023-01-01") + np.arange(3000) // 10
        stream.learn_many(X[:1500], time=days[:1500])
        for row, day in zip(X[1500:], days[1500:], strict=True):
            stream.learn_one(row, time=str(day))
        return stream

    def test_last_march(self, stream):
        history = stream.history
        low, high = history.span("2023-03-01", "2023-04-01")
        assert abs(low - np.datetime64("2023-03-01")) <= np.timedelta64(20, "D")
        assert abs(high - np.datetime64("2023-04-01")) <= np.timedelta64(20, "D")
        march = history.model("2023-03-01", "2023-04-01")
        assert 100 <= march.state_.weight <= 700
        (change,) = history.changes
        assert change.columns == ("column 1",)
        expected = np.datetime64("2023-01-01") + change.noticed // 10
        assert change.noticed_time == expected
        assert abs(change.began_time - np.datetime64("2023-07-20")) < np.timedelta64(
            10, "D"
        )

    def test_a_time_line(self, stream):
        timeline = stream.history.timeline()
        assert timeline.changed
        assert timeline.edge_times[0] == np.datetime64("2023-01-01")
        assert timeline.comparisons[0].columns[0].name == "column 1"
        assert "2023-07" in str(timeline)

    def test_refusals(self, stream):
        with pytest.raises(DataError, match="row 3,000: came at 2020-01-01, before"):
            stream.learn_one([0.0, 0.0], time="2020-01-01")
        with pytest.raises(DataError, match="row 1: came at"):
            stream.learn_many(rows(2), time=["2024-01-02", "2024-01-01"])
        for time, words in ((None, "must be given"), (3.0, "must be dates")):
            with pytest.raises(ValueError, match=words):
                stream.learn_one([0.0, 0.0], time=time)
        assert stream.n_seen == 3000
        history = stream.history
        with pytest.raises(ValueError, match="must be dates"):
            history.model(0, 100)
        with pytest.raises(ValueError, match="goes from 2023-01-01 to 2023-10-27"):
            history.model("2024-01-01")
        with pytest.raises(ValueError, match="before stop"):
            history.model("2023-04-01", "2023-03-01")
        plain = Stream(DMKDE(**PLAIN), history=100)
        with pytest.raises(ValueError, match="history is empty"):
            plain.history.model()
        plain.learn_many(rows(10))
        with pytest.raises(ValueError, match="rows before had none"):
            plain.learn_many(rows(10), time=np.arange(10))
        with pytest.raises(ValueError, match="needs a stream with a history"):
            Stream(DMKDE(**PLAIN)).learn_one([0.0], time=1)
        with pytest.raises(ValueError, match="period_rows must be"):
            Stream(DMKDE(**PLAIN), history=0)


CASES = {
    "plain": ({}, {}, lambda X: None),
    "window": ({"window": 700}, {}, lambda X: None),
    "fading": ({"half_life": 500.0}, {}, lambda X: None),
    "labels": (
        {"window": 300},
        {"time": True},
        lambda X: np.where(X[:, 0] > 0, "a", "b"),
    ),
}


class TestFiles:
    @pytest.mark.parametrize("name", CASES)
    @pytest.mark.parametrize("at", [120, 1300, 2060])
    def test_a_stream_goes_on_as_if_it_had_not_stopped(self, tmp_path, name, at):
        options, extras, target = CASES[name]
        X = changing(3000, 2000)
        y = target(X)
        model = DMKDE(**PLAIN) if y is None else DMKDClassifier(**PLAIN)
        stream = Stream(model, history=100, warm_up=100, buffer_rows=64, **options)

        def learn(into, start, stop):
            days = np.datetime64("2020-01-01") + np.arange(start, stop)
            given = {"time": days} if extras else {}
            into.learn_many(
                X[start:stop], None if y is None else y[start:stop], **given
            )

        learn(stream, 0, at)
        stream.save(tmp_path / "stream")
        again = Stream.load(tmp_path / "stream")
        for each in (stream, again):
            learn(each, at, 3000)
        assert again.n_seen == stream.n_seen == 3000
        assert again.n_held == stream.n_held
        assert again.history.changes == stream.history.changes
        assert len(again.history.changes) == 1
        assert_allclose(again.model.state_.total, stream.model.state_.total, atol=1e-10)
        for a, b in zip(again.history.periods, stream.history.periods, strict=True):
            assert (a.start, a.stop, a.start_time) == (b.start, b.stop, b.start_time)
            assert_allclose(a.model.state.total, b.model.state.total, atol=1e-10)

    def test_what_is_no_stream_is_refused(self, tmp_path):
        path = tmp_path / "stream"
        stream = learned(changing(3000, 2000))
        stream.save(path)
        data = path.read_bytes()
        rhokit.save(stream.model, tmp_path / "model")
        with pytest.raises(rhokit.ModelFileError, match="something else"):
            Stream.load(tmp_path / "model")
        with pytest.raises(rhokit.ModelFileError, match="something else"):
            rhokit.load(path)
        path.write_bytes(data[:-100])
        with pytest.raises(rhokit.ModelFileError, match="damaged"):
            Stream.load(path)
        with pytest.raises(ValueError, match="learned nothing yet"):
            Stream(DMKDE(**PLAIN)).save(path)

    def test_hostile_trees_are_refused(self, tmp_path):
        """Whatever a value becomes, an error of ours says that it does not fit."""
        learned(changing(3000, 2000)).save(tmp_path / "stream")
        tree, tensors = unpack((tmp_path / "stream").read_bytes())
        values = (None, -1, 2**70, "x", [], {}, 1e300)
        cases = [(place, bad) for place in leaves(tree) for bad in values]
        some = np.random.default_rng(0).permutation(len(cases))[:150]
        assert (
            sum(self.is_refused(tree, tensors, cases[k], tmp_path) for k in some) > 80
        )

    @staticmethod
    def is_refused(tree, tensors, case, folder):
        (folder / "bad").write_bytes(pack(changed(tree, *case), tensors))
        try:
            Stream.load(folder / "bad").learn_many(rows(300))
        except rhokit.ModelFileError:
            return True
        except DataError:  # loaded, and refuses rows by what it says
            return False
        return False

    def test_tensors_of_other_shapes_are_refused(self, tmp_path):
        learned(changing(3000, 2000)).save(tmp_path / "stream")
        tree, tensors = unpack((tmp_path / "stream").read_bytes())
        for name in tensors:
            other = tensors | {name: tensors[name][..., :-1]}
            (tmp_path / "bad").write_bytes(pack(tree, other))
            with pytest.raises(rhokit.ModelFileError):
                Stream.load(tmp_path / "bad")


def leaves(tree, place=()):
    """Places of values in a tree; of long lists, only the first."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree[:1])
    for key, value in items:
        if isinstance(value, dict | list) and value:
            yield from leaves(value, (*place, key))
        yield (*place, key)


def changed(tree, place, value):
    """A tree with another value at a place."""
    first, *rest = place
    copied = dict(tree) if isinstance(tree, dict) else list(tree)
    copied[first] = changed(tree[first], rest, value) if rest else value
    return copied
