"""The training loop against one written out by hand, and what it does when it fails."""

import math
from copy import deepcopy

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch import nn

from rhokit.core.losses import mean_over_rows
from rhokit.nn import (
    ClassifierHead,
    FourierLayer,
    Recipe,
    TrainingRows,
    TrainingWarning,
    train,
)


class Lines(nn.Module):
    """Models side by side, each a linear function of the same rows."""

    def __init__(self, weights):
        super().__init__()
        self.weights = nn.Parameter(torch.tensor(weights, dtype=torch.float64))

    def forward(self, rows):
        return self.weights @ rows.mT  # (..., n)


def squares(output, target, weight):
    return mean_over_rows((output - target) ** 2, weight)


def line(seed=0, d=3):
    return Lines(np.random.default_rng(seed).normal(size=d))


def data(n=40, d=3, seed=1, noise=0.5):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d))
    target = rows @ np.arange(1.0, d + 1) + noise * rng.normal(size=n)
    return TrainingRows((torch.from_numpy(rows),), torch.from_numpy(target))


def numbers(module):
    return {name: value.numpy().copy() for name, value in module.state_dict().items()}


def assert_same_numbers(left, right, **tolerance):
    left, right = (
        each if isinstance(each, dict) else numbers(each) for each in (left, right)
    )
    assert left.keys() == right.keys()
    for name, value in left.items():
        if tolerance:
            assert_allclose(value, right[name], **tolerance)
        else:
            assert_array_equal(value, right[name])


class Epochs:
    """Remembers the module after every epoch."""

    def __init__(self, module):
        self.module, self.calls, self.states = module, [], []

    def __call__(self, done):
        self.calls.append(done)
        self.states.append(numbers(self.module))


def rates_by_hand(recipe, total):
    """A rise from a tenth over a tenth of the steps; then flat, or half a cosine."""
    rise = max(1, round(total / 10))
    for step in range(total):
        if step < rise:
            yield recipe.learning_rate * (0.1 + 0.9 * step / rise)
        elif recipe.schedule == "constant":
            yield recipe.learning_rate
        else:
            angle = math.pi * (step - rise) / (total - rise)
            yield recipe.learning_rate * (1 + math.cos(angle)) / 2


def trained_by_hand(module, rows, recipe):
    """The same in plain torch; returns the mean loss of each epoch."""
    (inputs,), target, weight = rows.inputs, rows.target, rows.weight
    steps = -(-len(rows) // recipe.batch_size)
    rates = rates_by_hand(recipe, steps * recipe.max_epochs)
    adam = torch.optim.AdamW(module.parameters(), weight_decay=recipe.weight_decay)
    losses = []
    for epoch in range(recipe.max_epochs):
        order = np.random.default_rng([recipe.seed, epoch]).permutation(len(rows))
        parts = [np.arange(len(rows))] if steps == 1 else np.array_split(order, steps)
        total = 0.0
        for part in parts:
            adam.param_groups[0]["lr"] = next(rates)
            errors = (module(inputs[part]) - target[part]) ** 2
            loss = (errors if weight is None else errors * weight[part]).mean()
            adam.zero_grad()
            loss.backward()
            adam.step()
            total += loss.item() * len(part)
        losses.append(total / len(rows))
    return losses


class TestByHand:
    @pytest.mark.parametrize("schedule", ["cycle", "constant"])
    @pytest.mark.parametrize("batch_size", [7, 40, 1000])
    @pytest.mark.parametrize("weight_decay", [0.0, 0.3])
    def test_plain_loop_ends_with_the_same_parameters(
        self, schedule, batch_size, weight_decay
    ):
        recipe = Recipe(0.05, 6, batch_size, weight_decay, schedule, seed=3)
        module, twin, rows = line(), line(), data()
        history = train(module, squares, rows, recipe)
        losses = trained_by_hand(twin, rows, recipe)
        assert_same_numbers(module, twin, rtol=1e-12)
        assert_allclose(history["loss"], losses, rtol=1e-12)
        total = 6 * -(-40 // batch_size)
        rates = list(rates_by_hand(recipe, total))
        assert_allclose(history["learning_rate"], rates[total // 6 - 1 :: total // 6])

    def test_weights_count(self):
        rows = data()
        weight = torch.arange(40, dtype=torch.float64)
        rows = TrainingRows(rows.inputs, rows.target, weight / weight.mean())
        module, twin, recipe = line(), line(), Recipe(0.05, 4, 9)
        train(module, squares, rows, recipe)
        trained_by_hand(twin, rows, recipe)
        assert_same_numbers(module, twin, rtol=1e-12)

    def test_rates_of_a_short_cycle(self):
        recipe = Recipe(2.0)
        rates = [recipe.rate(step, 20) for step in (0, 1, 2, 11, 19)]
        last = 1 + math.cos(math.pi * 17 / 18)
        assert_allclose(rates, [0.2, 1.1, 2.0, 1.0, last], rtol=1e-12)
        assert Recipe(2.0, schedule="constant").rate(19, 20) == 2.0

    def test_schedule_must_be_known(self):
        with pytest.raises(ValueError, match=r"schedule must be one of .*got 'step'"):
            Recipe(schedule="step")

    def test_seed_is_that_of_the_order(self):
        ends = []
        for seed in (0, 0, 1):
            module = line()
            train(module, squares, data(), Recipe(0.05, 3, 7, seed=seed))
            ends.append(numbers(module)["weights"])
        assert_array_equal(ends[0], ends[1])
        assert (ends[0] != ends[2]).any()


class TestCalls:
    def test_on_epoch_sees_every_epoch_and_the_start(self):
        module = line()
        start = numbers(module)
        epochs = Epochs(module)
        train(module, squares, data(), Recipe(0.05, 3, 7), on_epoch=epochs)
        assert epochs.calls == [0, 1, 2, 3]
        assert_same_numbers(epochs.states[0], start)
        assert_same_numbers(epochs.states[3], module)

    def test_training_and_judging_in_their_modes(self):
        class Spy(Lines):
            seen = ()

            def forward(self, rows):
                self.seen = (*self.seen, (self.training, torch.is_grad_enabled()))
                return super().forward(rows)

        module = Spy(np.ones(3))
        train(module, squares, data(), Recipe(0.05, 2, 20), validation=data(9))
        judged, trained = (False, False), (True, True)
        epoch = (trained, trained, judged)
        assert module.seen == (judged, judged, *epoch, *epoch, judged)
        assert not module.training

    def test_forward_may_be_something_else(self):
        module, twin = line(), line()
        train(
            module, squares, data(), Recipe(0.05, 3), forward=lambda x: module(x) + 1.0
        )
        shifted = TrainingRows(data().inputs, data().target - 1.0)
        train(twin, squares, shifted, Recipe(0.05, 3))
        assert_same_numbers(module, twin, rtol=1e-10)

    def test_frozen_weights_stay(self):
        module = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1)).double()
        module[0].requires_grad_(False)
        start = deepcopy(module)
        rows = data()
        rows = TrainingRows(rows.inputs, rows.target[:, None])
        train(module, squares_of_columns, rows, Recipe(0.05, 2))
        assert_same_numbers(module[0], start[0])
        assert (module[1].weight != start[1].weight).any()


def squares_of_columns(output, target, weight):
    return ((output - target) ** 2).mean()


class TestValidation:
    def test_best_epoch_is_kept(self):
        module = line(d=30)
        epochs = Epochs(module)
        history = train(
            module,
            squares,
            data(40, 30, noise=20.0),
            Recipe(2.0, 40, 10, schedule="constant"),
            validation=data(200, 30, 2, noise=20.0),
            on_epoch=epochs,
        )
        best = int(np.argmin(history["validation_loss"]))
        assert 0 < best < 39
        assert_same_numbers(module, epochs.states[best + 1])

    def test_without_validation_the_last_is_kept(self):
        module = line(d=30)
        epochs = Epochs(module)
        train(
            module, squares, data(40, 30, noise=20.0), Recipe(0.3, 5), on_epoch=epochs
        )
        assert_same_numbers(module, epochs.states[-1])

    def test_validation_rows_are_not_trained_on(self):
        paths = []
        for validation in (data(9, seed=5), data(9, seed=6, noise=1e3), None):
            module = line()
            epochs = Epochs(module)
            recipe = Recipe(0.05, 4, 7)
            train(
                module, squares, data(), recipe, validation=validation, on_epoch=epochs
            )
            paths.append(epochs.states)
        for states in zip(*paths, strict=True):
            assert_same_numbers(states[0], states[1])
            assert_same_numbers(states[0], states[2])

    @pytest.mark.parametrize("patience", [1, 3])
    def test_patience_stops(self, patience):
        """The validation loss falls until the weight is 0.05, then rises for ever."""
        module, rows, validation, loss = scripted(0.05)
        recipe = Recipe(0.01, 50, schedule="constant", patience=patience)
        history = train(module, loss, rows, recipe, validation=validation)
        best = int(np.argmin(history["validation_loss"]))
        assert len(history["loss"]) == best + 1 + patience

    def test_batch_norm_of_the_best_epoch_is_restored(self):
        torch.manual_seed(0)
        module = nn.Sequential(
            nn.Linear(30, 8), nn.BatchNorm1d(8), nn.Linear(8, 1)
        ).double()
        rows, judges = data(40, 30, noise=20.0), data(100, 30, 2, noise=20.0)
        rows, judges = (
            TrainingRows(each.inputs, each.target[:, None]) for each in (rows, judges)
        )
        epochs = Epochs(module)
        history = train(
            module,
            squares_of_columns,
            rows,
            Recipe(0.3, 15, 10, schedule="constant"),
            validation=judges,
            on_epoch=epochs,
        )
        best = int(np.argmin(history["validation_loss"]))
        assert best < 14
        assert "1.running_mean" in epochs.states[0]
        assert_same_numbers(module, epochs.states[best + 1])


def scripted(*turns):
    """Weights that rise by training, and losses that fall until a turn each."""
    shape = () if len(turns) == 1 else (len(turns),)
    module = Lines(np.zeros((*shape, 1)))
    turning = torch.tensor(turns, dtype=torch.float64).reshape(shape)
    one = torch.ones((1, 1), dtype=torch.float64)

    def loss(output, target, weight):
        if target is None:
            return -output.mean(dim=-1)
        return (output.mean(dim=-1) - turning).abs()

    return module, TrainingRows((one,)), TrainingRows((one,), one[0]), loss


class TestManyModels:
    @pytest.mark.parametrize("validation", [None, data(100, 20, 2, noise=20.0)])
    def test_each_is_as_if_alone(self, validation):
        weights = np.random.default_rng(0).normal(size=(3, 20)) * [[1], [30], [100]]
        rows = data(30, 20, noise=20.0)
        recipe = Recipe(0.5, 25, 8, schedule="constant")
        many = Lines(weights)
        history = train(many, squares, rows, recipe, validation=validation)
        kept = set()
        for k in range(3):
            alone = Lines(weights[k])
            own = train(alone, squares, rows, recipe, validation=validation)
            for name in set(own) - {"learning_rate"}:
                assert_allclose([each[k] for each in history[name]], own[name])
            assert_allclose(many.weights[k].detach(), alone.weights.detach(), rtol=1e-9)
            if validation is not None:
                kept.add(int(np.argmin(own["validation_loss"])))
        assert validation is None or len(kept) > 1

    def test_history_has_an_entry_per_model(self):
        history = train(
            Lines(np.ones((2, 3))), squares, data(), Recipe(0.01, 2), validation=data(5)
        )
        assert np.shape(history["loss"]) == (2, 2)
        assert np.shape(history["validation_loss"]) == (2, 2)
        assert np.shape(history["learning_rate"]) == (2,)

    def test_one_that_waits_in_vain_does_not_stop_the_others(self):
        module, rows, validation, loss = scripted(0.02, 0.4)
        recipe = Recipe(0.01, 30, schedule="constant", patience=2)
        history = train(module, loss, rows, recipe, validation=validation)
        assert len(history["loss"]) == 30
        assert_allclose(module.weights.detach()[:, 0], [0.02, 0.25], atol=0.05)

    def test_patience_of_each_is_as_if_alone(self):
        """The first model's loss dips at 0.02, and falls again beyond 0.06."""

        def lost(value, which):
            return (
                torch.where(value < 0.06, (value - 0.02).abs(), -value)
                if (which == 0)
                else -value
            )

        recipe = Recipe(0.01, 15, schedule="constant", patience=2)
        many, rows, validation, _ = scripted(0.0, 0.0)

        def side_by_side(output, target, weight):
            value = output.mean(dim=-1)
            if target is None:
                return -value
            return torch.stack([lost(value[0], 0), lost(value[1], 1)])

        def first(output, target, weight):
            value = output.mean(dim=-1)
            return -value if target is None else lost(value, 0)

        train(many, side_by_side, rows, recipe, validation=validation)
        alone, *_ = scripted(0.0)
        train(alone, first, rows, recipe, validation=validation)
        assert_allclose(many.weights.detach()[0], alone.weights.detach())


class TestWeights:
    def test_row_of_weight_zero_is_not_there(self):
        rows = data()
        weight = torch.ones(40, dtype=torch.float64)
        weight[::4] = 0
        weighted = TrainingRows(
            rows.inputs, rows.target.clone(), weight / weight.mean()
        )
        weighted.target[::4] = 1e6
        seen = torch.from_numpy(np.flatnonzero(weight.numpy()))
        module, twin = line(), line()
        recipe = Recipe(0.05, 10, 100)
        history = train(module, squares, weighted, recipe)
        twins = train(twin, squares, rows.take(seen), recipe)
        assert_same_numbers(module, twin, rtol=1e-12)
        assert_allclose(history["loss"], twins["loss"], rtol=1e-12)

    def test_weight_k_is_k_copies(self):
        rows = data()
        counts = np.random.default_rng(0).integers(0, 4, 40)
        weight = torch.from_numpy(counts / counts.mean())
        copies = torch.from_numpy(np.repeat(np.arange(40), counts))
        module, twin, recipe = line(), line(), Recipe(0.05, 10, 100)
        train(module, squares, TrainingRows(rows.inputs, rows.target, weight), recipe)
        train(twin, squares, rows.take(copies), recipe)
        assert_same_numbers(module, twin, rtol=1e-10)


def breaks_in_epoch(epoch, steps, models=None):
    """A loss that is NaN from the first step of an epoch on, perhaps in one model."""
    count = 0

    def loss(output, target, weight):
        nonlocal count
        losses = squares(output, target, weight)
        if not torch.is_grad_enabled():
            return losses
        count += 1
        if count <= (epoch - 1) * steps:
            return losses
        hit = torch.ones_like(losses) if models is None else torch.tensor(models)
        return losses * torch.where(hit > 0, torch.nan, 1.0)

    return loss


class TestGoingWrong:
    def test_epoch_before_the_first_nan_is_kept(self):
        module = line()
        epochs = Epochs(module)
        with pytest.warns(TrainingWarning, match=r"NaN within 2 epochs.*last good"):
            train(
                module,
                breaks_in_epoch(2, steps=4),
                data(),
                Recipe(0.05, 5, 10),
                on_epoch=epochs,
            )
        assert epochs.calls == [0, 1, 2]
        assert np.isnan(epochs.states[2]["weights"]).all()
        assert_same_numbers(module, epochs.states[1])

    def test_only_the_broken_model_is_kept_back(self):
        start = np.random.default_rng(0).normal(size=(3, 3))
        recipe = Recipe(0.05, 5, 10)
        module, first, whole = Lines(start), Lines(start), Lines(start)
        with pytest.warns(TrainingWarning, match="NaN within 5 epochs"):
            train(module, breaks_in_epoch(2, 4, [0.0, 1, 0]), data(), recipe)
        epochs = Epochs(first)
        train(first, squares, data(), recipe, on_epoch=epochs)
        train(whole, squares, data(), recipe)
        ends = module.weights.detach().numpy()
        assert_array_equal(ends[[0, 2]], whole.weights.detach().numpy()[[0, 2]])
        assert_array_equal(ends[1], epochs.states[1]["weights"][1])

    @pytest.mark.parametrize("rate", [1e3, 1e30, 1e300])
    @pytest.mark.parametrize("validation", [None, data(30, seed=2)])
    @pytest.mark.parametrize("batch_size", [10, 100])
    def test_far_too_large_steps_leave_the_start(self, rate, validation, batch_size):
        module = line()
        start = numbers(module)
        recipe = Recipe(rate, 4, batch_size)
        with pytest.warns(TrainingWarning, match=r"learning_rate=1e\+|=1000"):
            train(module, squares, data(), recipe, validation=validation)
        assert_same_numbers(module, start)

    def test_only_the_model_that_got_worse_is_put_back(self):
        good = np.arange(1.0, 4)
        module = Lines(np.stack([good, good + 50]))
        with pytest.warns(TrainingWarning, match=r"learning_rate=0\.5"):
            train(module, squares, data(noise=0.0), Recipe(0.5, 4, 10))
        ends = module.weights.detach().numpy()
        assert_array_equal(ends[0], good)
        assert (np.abs(ends[1] - good) < 50).all()

    def test_infinite_loss_at_the_start_is_said(self):
        rows = data()
        rows.target[0] = torch.inf
        with pytest.raises((ValueError, TrainingWarning)):
            train(line(), squares, rows, Recipe(0.05, 2))

    def test_more_rows_than_a_block_are_judged_as_one(self):
        """Validation loss of many rows is that of all, whatever the blocks."""
        judges = data(9001, seed=4)
        module = line()
        history = train(module, squares, data(), Recipe(0.05, 1), validation=judges)
        expected = (module(judges.inputs[0]) - judges.target).pow(2).mean().item()
        assert_allclose(history["validation_loss"], [expected], rtol=1e-10)


def test_weight_decay_leaves_feature_layers_alone():
    """Frequencies that fade would be another kernel; a factor's size means nothing."""
    features = FourierLayer(2, 8, trainable=True, random_state=0)
    head = ClassifierHead(features, 2, 2, random_state=0)
    rows = TrainingRows((torch.zeros(20, 2),), torch.zeros(20, dtype=torch.int64))
    starts, ends = [], []

    def keep(epoch):
        found = features.frequencies, head.measurement.factor
        (ends if epoch else starts).append([each.detach().clone() for each in found])

    def nothing(output, target, weight):
        return 0 * output.mean()

    recipe = Recipe(0.1, 1, weight_decay=1.0)
    with pytest.warns(TrainingWarning, match="raised the loss"):
        train(head, nothing, rows, recipe, on_epoch=keep)
    (frequencies, factor), (moved, faded) = starts[0], ends[0]
    assert_array_equal(moved, frequencies)
    assert (faded.abs() < 0.995 * factor.abs()).all()


def test_nothing_to_train():
    module = torch.nn.Linear(2, 1).requires_grad_(False)
    with pytest.raises(ValueError, match="nothing to train"):
        train(module, squares, data(), Recipe(0.1, 1, 10))
