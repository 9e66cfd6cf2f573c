"""The bound beside measured errors: from the command to the page."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.figures.style import Album
from experiments import __main__ as command
from experiments import reports
from experiments.bound import config, report, run
from rhokit import DMKDE, FourierFeatures
from rhokit.features import FourierBound


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Folder of a tiny run by the command line, and its lines."""
    folder = tmp_path_factory.mktemp("bound")
    with pytest.MonkeyPatch.context() as patch:
        for module in (command, reports):
            patch.setattr(module, "EXPERIMENTS", ("bound",))
        places = ["--results", str(folder), "--pages", str(folder)]
        assert command.main(["bound", "--tiny", "--jobs", "0", *places]) == 0
    texts = (folder / "bound.jsonl").read_text(encoding="utf-8").splitlines()
    return folder, [json.loads(text) for text in texts]


def test_a_tiny_run_writes_a_page_and_a_figure(made):
    folder, _ = made
    page = (folder / "bound.md").read_text(encoding="utf-8")
    for panel, gamma in config.GAMMAS.items():
        assert f"## {panel}, γ = {gamma:g}" in page
    for name in (config.CORRECTED, config.PRINTED, *config.RULES.values()):
        assert name in page
    assert (folder / "images" / "bound.png").stat().st_size > 10_000


def test_the_largest_error_is_below_the_bound_and_above_the_rest(made):
    _, lines = made
    by_metric = {}
    for line in reports.measured(lines):
        if "D" in line["details"] and line["metric"] != config.REACHED:
            place = (line["key"], line["details"]["D"])
            by_metric.setdefault(place, {})[line["case"], line["metric"]] = line[
                "value"
            ]
    assert by_metric
    for found in by_metric.values():
        largest = found[config.UNNORMALISED, config.LARGEST]
        assert found[config.UNNORMALISED, config.RMSE] < largest
        assert largest < found[config.CORRECTED, config.PROMISED]
        assert (
            found[config.PRINTED, config.DEMANDED]
            < found[config.CORRECTED, config.DEMANDED]
        )


@pytest.mark.parametrize("normalize", [False, True])
def test_errors_are_those_of_a_model(normalize):
    sample, at = run.draw_rows(config.SPIRALS, 200, 30, seed=0)
    model = DMKDE(
        gamma=256.0,
        scale=None,
        feature_map=FourierFeatures(
            n_components=40, normalize=normalize, random_state=3
        ),
    ).fit(sample)
    squares = ((at[:, None] - sample) ** 2).sum(axis=2)
    exact = np.exp(-256.0 * squares).mean(axis=1) * 256.0 / np.pi
    misses = model.density(at) - exact
    unit = np.sqrt(np.mean(exact**2))
    found = run.errors(
        FourierFeatures(
            gamma=256.0, n_components=40, normalize=normalize, random_state=3
        ),
        sample,
        at,
        exact,
    )
    expected = np.abs(misses).max() / unit, np.sqrt(np.mean(misses**2)) / unit
    assert_allclose(found, expected, rtol=1e-9)


def test_the_bound_is_that_of_the_box_of_all_rows():
    settings = {"rows": 100, "queries": 20, "sizes": [32], "seed": 0}
    found = {
        (result.case, result.metric): result
        for result in run.one_draw(config.LINE, 16.0, **settings)
    }
    sample, at = run.draw_rows(config.LINE, 100, 20, seed=0)
    both = np.concatenate([sample, at])
    bound = FourierBound(
        gamma=16.0, n_features=1, diameter=float(both.max() - both.min())
    )
    promised = found[config.CORRECTED, config.PROMISED]
    unit = promised.details["unit"]
    assert_allclose(promised.value * unit, bound.error(32, config.DELTA))
    largest = found[config.UNNORMALISED, config.LARGEST].value * unit
    demanded = found[config.CORRECTED, config.DEMANDED].value
    assert_allclose(bound.probability(largest, demanded), config.DELTA)


def test_sizes_are_judged_by_rows_and_draws_that_the_rule_has_not_seen(made):
    _, lines = made
    reached = [line for line in lines if line["metric"] == config.REACHED]
    beyond = [line for line in lines if line["metric"] == config.OUT_OF_REACH]
    assert reached
    assert {line["details"]["asked"] for line in beyond} <= {1e-4}
    assert any(line["details"]["map"] == "fourier" for line in beyond)
    for line in reached:
        assert line["value"] < 3 * line["details"]["asked"]


@pytest.mark.parametrize(
    "kept",
    [
        lambda line: False,
        lambda line: line["metric"] == config.LARGEST,
        lambda line: line["metric"] == config.PROMISED,
        lambda line: line["metric"] == config.OUT_OF_REACH,
        lambda line: line["case"] in config.RULES.values() and line["seed"] == 1,
        lambda line: line["details"].get("panel") == config.SPIRALS,
    ],
)
def test_lines_may_be_incomplete(made, tmp_path, kept):
    _, lines = made
    some = [line for line in reports.measured(lines) if kept(line)]
    found = report.report(some, Album(tmp_path, "images"))
    assert found.text
    assert len(found.verdicts) == len(config.GOALS)


def test_verdicts_count_what_kept_its_word(made):
    _, lines = made
    results = reports.measured(lines)
    assert report.report(results, _Nowhere()).verdicts[0].value == 1
    spoilt = [
        line | {"value": 1e9} if line["metric"] == config.LARGEST else line
        for line in results
    ]
    assert report.report(spoilt, _Nowhere()).verdicts[0].value == 0
    assert report.report([], _Nowhere()).verdicts[0].value is None


class _Nowhere:
    """An album that keeps nothing."""

    def add(self, name, figure, words):
        return f"![{words}]({name})\n"
