"""What is saved can be loaded; what could not be is not saved."""

from dataclasses import replace

import numpy as np
import pytest

import rhokit
from rhokit import DMKDE, ModelFileError
from rhokit.io import model_files
from tests.io.models import CASES, plane

FOUR = np.random.default_rng(0).normal(size=(60, 4))
SMALL = {"gamma": 1.0, "scale": None, "n_components": 12, "feature_map": "landmarks"}


def fitted(rows):
    return DMKDE(**SMALL, random_state=0).fit(rows)


def with_plan(model, **changes):
    """A model whose plan does not belong together."""
    plan = replace(model.plan_, **changes)
    return model.with_model(replace(model.model_, plan=plan))


def test_a_density_of_four_columns_fitted_to_two():
    model = fitted(FOUR)
    assert model.plan_.proposal.anchors.shape[1] == 4
    again = rhokit.loads(rhokit.dumps(model.fit(plane())))
    assert again.plan_.proposal.anchors.shape[1] == 2
    np.testing.assert_array_equal(
        again.sample(3, random_state=0), model.sample(3, random_state=0)
    )


@pytest.mark.parametrize("name", ["proposal", "scaling", "columns", "feature_map"])
def test_a_plan_with_a_part_of_another(name, tmp_path):
    path, good = tmp_path / "model.rhokit", fitted(plane())
    rhokit.save(good, path)
    before = path.read_bytes()
    broken = with_plan(good, **{name: getattr(fitted(FOUR).plan_, name)})
    with pytest.raises(ModelFileError, match="cannot be saved"):
        rhokit.save(broken, path)
    assert path.read_bytes() == before


def test_a_parameter_that_no_class_has():
    with pytest.raises(ModelFileError, match=r"cannot be saved.*rank"):
        rhokit.dumps(DMKDE(rank=-1))


def test_nothing_is_built_to_see_that(monkeypatch):
    """It costs little: what is written is read, and no more."""
    monkeypatch.setattr(model_files, "built", None)
    assert rhokit.dumps(CASES["density-landmarks-double"].model)
