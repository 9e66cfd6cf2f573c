"""What a file may cost: in proportion to its bytes, or it is refused."""

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rhokit
from rhokit import ModelFileError
from rhokit.features import OneHotFeatures
from tests.io import costly
from tests.io.drafts import DENSITY, REJECT, Draft, file_of

ROOT = Path(__file__).parents[2]
SOURCE = Path(rhokit.__file__).parents[1]


@pytest.fixture(scope="module")
def outcomes():
    """What became of costly files, in processes of their own."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(SOURCE), str(ROOT)]),
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.io.costly"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=300,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


class TestCostlyFiles:
    @pytest.mark.parametrize(
        "name",
        [
            "levels",
            "outputs",
            "joint rank",
            "labels",
            "anchors",
            "grid",
            "targets",
            "batches",
        ],
    )
    def test_those_that_cost_too_much_are_refused(self, outcomes, name):
        assert outcomes[name] == "refused"

    @pytest.mark.parametrize(
        "name", [n for n in costly.CASES if n.startswith(("few", "low", "small"))]
    )
    def test_the_same_at_a_size_that_may_be_is_asked(self, outcomes, name):
        assert outcomes[name] == "asked"

    def test_categories_whose_hashes_collide_cost_no_more_than_others(self, outcomes):
        assert outcomes["categories"] == "asked"

    def test_rows_are_drawn_from_many_waves(self, outcomes):
        """Thousands of them are tried, each of which costs as many waves."""
        assert outcomes["waves"] == "asked"


class TestLimit:
    def test_files_of_ones_own_may_cost_anything(self):
        data = costly.labels(20_000).data()
        with pytest.raises(ModelFileError, match="20000 outcomes"):
            rhokit.loads(data)
        assert len(rhokit.loads(data, limit=math.inf).classes_) == 20_000

    def test_the_limit_that_a_refusal_names_is_enough(self, tmp_path):
        path = tmp_path / "model.rhokit"
        path.write_bytes(costly.outputs(2**13).data())
        with pytest.raises(ModelFileError, match="limit=") as caught:
            rhokit.load(path)
        named = int(str(caught.value).split("limit=")[1].split()[0])
        rhokit.load(path, limit=named)
        with pytest.raises(ModelFileError, match="output_map"):
            rhokit.load(path, limit=named - 1)

    def test_it_may_be_lowered(self):
        with pytest.raises(ModelFileError, match="would cost"):
            rhokit.loads(file_of(DENSITY), limit=100)

    @pytest.mark.parametrize("limit", [0, -1, math.nan, "1 GB", True])
    def test_it_is_a_number_of_bytes(self, limit):
        with pytest.raises(ValueError, match="limit must be"):
            rhokit.loads(file_of(DENSITY), limit=limit)


class TestKeysOfCategories:
    def test_equal_values_are_one_category(self):
        rows = np.array([[1], [1.0], [True], [2], ["1"], [None]], dtype=object)
        onehot = OneHotFeatures().fit(rows)
        assert len(onehot.categories_) == 4
        asked = np.array([[np.int8(1)], [np.float32(2)], [np.nan], ["1"]], dtype=object)
        codes = onehot.transform(asked).argmax(axis=1)
        assert [onehot.categories_[code][0] for code in codes] == [1, 2, None, "1"]

    def test_numbers_that_differ_by_one_unit_of_rounding_differ(self):
        rows = np.array([[0.1], [np.nextafter(0.1, 1)], [2**53], [2**53 + 1]], object)
        assert (OneHotFeatures().fit(rows).transform(rows).sum(axis=0) == 1).all()

    def test_labels_have_64_bits_at_most(self):
        """Any number of longer integers may have one hash."""
        draft = Draft(REJECT)
        count = len(draft.learned["classes"]["values"])
        values = [costly.COLLIDING * 2**number for number in range(10, 10 + count)]
        draft.learned["classes"] = {"dtype": "|O", "values": values}
        draft.refused("labels of 64 bits")
        model = rhokit.loads(file_of(REJECT))
        labels = np.array(values, dtype=object)
        readout = replace(model.readout_, classes=labels)
        with pytest.raises(TypeError, match="64 bits"):
            rhokit.dumps(model.with_model(replace(model.model_, readout=readout)))
