"""No path is taken from a file: what is loaded writes nowhere but where it is told."""

import os
from pathlib import Path

import pytest

import rhokit
from rhokit import DMKDESGD
from rhokit.io.estimator_field import ONE_PASS, TRAINED
from rhokit.nn.parameters import PATHS
from tests.io.drafts import put, refuses
from tests.io.models import CASES, plane

QUICK = {"gamma": 1.0, "scale": None, "n_components": 8, "rank": 2, "max_epochs": 1}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "secret" / "training.pt"


@pytest.mark.parametrize("kind", [str, Path])
def test_checkpoints_stay_where_they_are(path, kind):
    path.parent.mkdir()
    model = DMKDESGD(**QUICK, random_state=0, checkpoint=kind(path)).fit(plane())
    data = rhokit.dumps(model)
    assert b"secret" not in data
    path.unlink()
    again = rhokit.loads(data)
    assert again.checkpoint is None
    again.fit(plane())
    assert not os.listdir(path.parent)
    assert model.checkpoint == kind(path)


@pytest.mark.parametrize("given", ["/tmp/mine", "", {"array": "parameters.checkpoint"}])
def test_files_that_name_one_are_refused(given):
    said = refuses(
        "checkpoint", "trained-density", put("parameters", "checkpoint", given)
    )
    assert "parameters.checkpoint" in str(said)


def test_every_parameter_that_may_be_a_path_is_known():
    """By what it takes; labels may be anything, and nothing is written to them."""
    assert set(PATHS) == {"checkpoint"}
    for name in (*ONE_PASS, *TRAINED):
        cls = getattr(rhokit, name)
        taken = {each for each in cls().get_params() if takes_path(cls, each)}
        assert taken - {"reject_label"} == set(getattr(cls, "path_parameters", ()))


def takes_path(cls, name):
    try:
        cls.check_constructor({name: Path("some/file")})
    except (ValueError, TypeError):
        return False
    return True


def test_paths_elsewhere_are_no_parameters():
    model = CASES["classes-reject"].fresh().set_params(reject_label=Path("some/file"))
    with pytest.raises(TypeError, match="reject_label"):
        rhokit.dumps(model)
