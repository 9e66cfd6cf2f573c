"""LeNet with three last layers: what is chosen by which images, and the page."""

import json

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from benchmarks import real_data
from benchmarks.figures.style import Album
from experiments import __main__ as command
from experiments import data, reports
from experiments.lenet import config, report, run
from experiments.registry import FULL, TINY

pytestmark = pytest.mark.filterwarnings("ignore::rhokit.nn.TrainingWarning")
N_TRAIN, N_TEST = 400, 200
SHORT = {"n_train": 60, "n_held": 40, "epochs": 1}
FINAL = {"n_train": 60, "n_held": 40, "epochs": 1, "n_test": 30}
SMALLEST = {
    "seeds": 2,
    "candidates": 2,
    **dict.fromkeys(("search", "long"), dict.fromkeys(config.SETS, SHORT)),
    "final": dict.fromkeys(config.SETS, FINAL),
}


@pytest.fixture(scope="module")
def arrays():
    """A few real images of each set, as a file would hold them."""
    found = {}
    for name in config.SETS:
        reason = real_data.missing(name)
        if reason:
            pytest.skip(reason)
        with np.load(real_data.data_folder() / f"{name}.npz") as file:
            images, labels = file["X_test"], file["y_test"]  # read sooner than the rest
        end = N_TRAIN + N_TEST
        found[name] = {
            "X_train": images[:N_TRAIN],
            "y_train": labels[:N_TRAIN],
            "X_test": images[N_TRAIN:end],
            "y_test": labels[N_TRAIN:end],
        }
    return found


@pytest.fixture
def known(arrays, monkeypatch):
    """The few images in place of the whole sets; change them to poison."""
    copies = {name: dict(parts) for name, parts in arrays.items()}
    monkeypatch.setattr(data, "load", copies.__getitem__)
    forget()
    yield copies
    forget()


def forget():
    run._arrays.cache_clear()
    run.training_rows.cache_clear()


@pytest.fixture(scope="module")
def made(arrays, tmp_path_factory):
    """Folder of a run by the command line, less than tiny, and its lines."""
    folder = tmp_path_factory.mktemp("lenet")
    for name, parts in arrays.items():
        np.savez(folder / f"{name}.npz", **parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(real_data.VARIABLE, str(folder))
        patch.setitem(config.SIZES, TINY, SMALLEST)
        for module in (command, reports):
            patch.setattr(module, "EXPERIMENTS", ("lenet",))
        places = ["--results", str(folder), "--pages", str(folder)]
        assert command.main(["lenet", "--tiny", "--jobs", "0", *places]) == 0
    texts = (folder / "lenet.jsonl").read_text(encoding="utf-8").splitlines()
    return folder, [json.loads(text) for text in texts]


def search(model):
    """What a short search of MNIST finds, and a long one around its best."""
    short = config.short_settings(TINY, "mnist", model)
    found = scores(short, run.SHORT)
    best = min(found, key=lambda each: each.value).details["choice"]
    return found + scores(config.long_settings(TINY, "mnist", model, best), run.LONG)


def scores(settings, metric):
    images = {"images": SHORT, "metric": metric}
    return [result for s in settings for result in run.score_candidate(**(s | images))]


# ---- from the command to the figure --------------------------------------------------


def test_a_tiny_run_writes_lines_a_page_and_a_figure(made):
    folder, lines = made
    page = (folder / "lenet.md").read_text(encoding="utf-8")
    for model in config.MODELS:
        assert model in page
    assert "0.989 ± 0.001" in page  # the paper's
    assert "(images/lenet-curves.png)" in page
    assert (folder / "images" / "lenet-curves.png").stat().st_size > 10_000
    finals = [line for line in lines if line["metric"] == run.ACCURACY]
    cells = {(*report._cell(line)[:2], line["seed"]) for line in finals}
    n_seeds = config.SIZES[TINY]["seeds"]
    assert len(cells) == len(config.SETS) * len(config.MODELS) * n_seeds


def test_the_networks_have_what_the_searches_scored_best(made):
    _, lines = made

    def best(case, metric, n):
        found = [x for x in lines if (x["metric"], x["case"]) == (metric, case)]
        assert len(found) == n
        return min(found, key=lambda line: line["value"])["details"]["choice"]

    for line in lines:
        if line["metric"] == run.ACCURACY:
            short = best(line["case"], run.SHORT, config.SIZES[TINY]["candidates"])
            long = best(line["case"], run.LONG, len(config.SHARES))
            assert line["details"]["choice"] == long
            assert long in [
                short | {"learning_rate": share * short["learning_rate"]}
                for share in config.SHARES
            ]


@pytest.mark.parametrize(
    "kept",
    [
        lambda line: False,
        lambda line: line["metric"] == run.SHORT,
        lambda line: line["metric"] == run.ACCURACY and line["seed"] == 1,
        lambda line: line["case"] == "mnist: LeNet DMKDC",
        lambda line: line["case"].startswith("cifar10") and line["seed"] == 0,
        lambda line: "landmarks" in line["case"],
    ],
)
def test_lines_may_be_incomplete(made, tmp_path, kept):
    _, lines = made
    some = [line for line in reports.measured(lines) if kept(line)]
    found = report.report(some, Album(tmp_path, "images"))
    for name in config.SETS:
        assert config.TITLES[name] in found.text
    there = {line["case"] for line in some if line["metric"] == run.ACCURACY}
    for verdict in found.verdicts:
        name = "mnist" if "MNIST" in verdict.what else "cifar10"
        needed = {f"{name}: {config.FOURIER}"}
        if "less" in verdict.what:
            needed.add(f"{name}: {config.LENET}")
        assert (verdict.value is None) == (not needed <= there)


def test_differences_are_those_of_pairs(made):
    _, lines = made
    rng = np.random.default_rng(0)
    finals = [
        line | {"value": rng.random()}
        for line in lines
        if line["metric"] == run.ACCURACY
    ]
    place = ("mnist", config.FOURIER, run.ACCURACY)
    ours = reports.over_seeds(finals, report._cell)[place]
    other = reports.over_seeds(finals, report._cell)["mnist", "LeNet", run.ACCURACY]
    differences = report._differences(finals, *place)
    assert_allclose(differences, ours - other)
    error = report._standard_error(differences)
    expected = stats.ttest_rel(ours, other).statistic
    assert_allclose(differences.mean() / error, expected)
    # A seed that only one of them has is no pair.
    fewer = [x for x in finals if not (x["case"] == "mnist: LeNet" and x["seed"] == 1)]
    assert_allclose(report._differences(fewer, *place), differences[:1])
    assert report._standard_error(differences[:1]) is None


# ---- which images decide what --------------------------------------------------------


@pytest.mark.parametrize("model", config.MODELS)
def test_the_search_never_sees_test_images(known, model):
    before = search(model)
    for part in ("X_test", "y_test"):
        del known["mnist"][part]  # whoever asks for them fails
    forget()
    assert search(model) == before


@pytest.mark.parametrize("model", config.MODELS)
def test_test_images_change_the_score_and_nothing_else(known, model):
    def outcome():
        forget()
        choice = config.CANDIDATES[model][0]
        return list(run.final("cifar10", model, choice, final=FINAL, seed=3))

    before = outcome()
    poisoned = known["cifar10"]
    poisoned["X_test"] = 255 - poisoned["X_test"]
    poisoned["y_test"] = np.roll(poisoned["y_test"], 1)
    after = outcome()
    assert [each.details for each in after] == [each.details for each in before]
    assert [each.value for each in after] != [each.value for each in before]


@pytest.mark.parametrize("name", config.SETS)
def test_images_are_scaled_by_the_training_images(known, name):
    rows, scaling = run.training_rows(name)
    images = rows.inputs[0].double()
    size, channels = config.SETS[name]
    assert images.shape == (N_TRAIN, channels, size, size)
    assert_allclose(images.mean(dim=(0, 2, 3)), np.zeros(channels), atol=1e-4)
    assert_allclose(images.std(dim=(0, 2, 3)), np.ones(channels), rtol=1e-4)
    test = run.test_rows(name, scaling, 5)
    # One pixel by hand: row 7, column 9 of the last channel.
    place = known[name]["X_test"][:5].reshape(5, size, size, channels)[:, 7, 9, -1]
    expected = (place / 255 - scaling[0][-1]) / scaling[1][-1]
    assert_allclose(test.inputs[0][:, -1, 7, 9], expected, rtol=1e-4, atol=1e-5)
    assert_array_equal(test.target, known[name]["y_test"][:5])


def test_rows_held_out_are_others(known):
    rows = run.TrainingRows((torch.arange(50.0)[:, None],), torch.arange(50))
    for seed in (0, 1):
        kept, held = run.held_out(rows, 30, 20, seed)
        assert len(kept) == 30
        assert len(held) == 20
        together = torch.cat([kept.target, held.target])
        assert_array_equal(together.sort().values, np.arange(50))
        assert_array_equal(held.inputs[0][:, 0], held.target)


def found(losses, metric=run.LONG):
    """Lines of a search that gave candidates these losses."""
    return [
        {
            "metric": metric,
            "value": loss,
            "details": {"set": "mnist", "model": config.LENET, "choice": name},
        }
        for name, loss in losses.items()
    ]


def test_the_least_loss_is_chosen():
    losses = {"a": 0.9, "b": 0.5, "c": 0.7}
    assert run.chosen(found(losses), run.LONG) == {("mnist", config.LENET): "b"}
    assert run.chosen(found(losses), run.SHORT) == {}
    tasks = run.then(FULL, found(losses))
    assert {task.settings["choice"] for task in tasks} == {"b"}
    assert len(tasks) == config.SIZES[FULL]["seeds"]  # others have no search yet


# ---- networks and tasks --------------------------------------------------------------


@pytest.mark.parametrize("model", config.MODELS)
def test_the_order_of_memory_makes_no_difference(known, model):
    rows, _ = run.training_rows("cifar10")
    rows = rows.take(torch.arange(80))
    choice = config.CANDIDATES[model][0] | {"features": 32}
    losses, gradients = [], []
    for order in (torch.channels_last, torch.contiguous_format):
        network = run.make_network(model, choice, rows, seed=0).double()
        images = rows.inputs[0].double().contiguous(memory_format=order)
        logs = network.to(memory_format=order)(images)
        assert_allclose(logs.exp().sum(dim=1).detach(), np.ones(80), rtol=1e-6)
        loss = run.cross_entropy(logs, rows.target)
        loss.backward()
        losses.append(loss.item())
        gradients.append(network[0][0].weight.grad.numpy())
    assert_allclose(losses[0], losses[1], rtol=1e-9)
    assert np.abs(gradients[0]).max() > 0
    assert_allclose(gradients[0], gradients[1], rtol=1e-6, atol=1e-9)


def test_a_long_search_compares_learning_rates():
    heads = {"slow": {"learning_rate": 1.0, "rank": 3}, "fast": {"learning_rate": 2.0}}
    lines = found({"slow": 0.5, "fast": 0.7}, run.SHORT)
    for line in lines:
        line["details"]["choice"] = heads[line["details"]["choice"]]
    tried = [task.settings["candidate"] for task in run.then(FULL, lines)]
    rates = [share * 1.0 for share in config.SHARES]
    assert tried == [{"learning_rate": rate, "rank": 3} for rate in rates]


def test_seeds_come_one_after_the_other():
    seeds = [task.settings["seed"] for task in run.then(FULL, found({"a": 1.0}))]
    assert seeds == sorted(seeds)


def test_more_seeds_leave_the_tasks_of_the_first_as_they_are(monkeypatch):
    lines = found({"a": 1.0})
    before = [task.key for task in run.then(FULL, lines)]
    more = config.SIZES[FULL] | {"seeds": config.SIZES[FULL]["seeds"] + 1}
    monkeypatch.setitem(config.SIZES, FULL, more)
    after = [task.key for task in run.then(FULL, lines)]
    assert after[: len(before)] == before
    assert len(after) > len(before)
