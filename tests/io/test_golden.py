"""Files of every protocol that there has been still load, and answer what they did."""

import hashlib
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import rhokit
from rhokit.features import MAPS
from rhokit.io import PROTOCOL
from rhokit.io.container import unpack
from rhokit.io.estimator_field import ONE_PASS, TRAINED
from rhokit.representations import REPRESENTATIONS
from tests.io.golden import make as making
from tests.io.golden.make import HOME, MOST_BYTES, decoded, questions

FOLDERS = sorted(HOME.glob("protocol*"))
EXPECTED = {
    (folder.name, name): expected
    for folder in FOLDERS
    for name, expected in json.loads((folder / "expected.json").read_text()).items()
}
CASES = [pytest.param(*key, id="-".join(key)) for key in EXPECTED]
BARE_STATES = {
    record.make.__name__
    for each in REPRESENTATIONS.values()
    for record in each.state_records.values()
}


def load(folder, name):
    return rhokit.load(HOME / folder / f"{name}.rhokit")


def is_single(model):
    inner = getattr(model, "estimator_", model)
    feature_map = getattr(inner, "feature_map_", inner)
    return getattr(feature_map, "dtype_", None) == np.float32


@pytest.mark.parametrize(("folder", "name"), CASES)
class TestEveryFile:
    def test_is_the_one_that_was_made(self, folder, name):
        data = (HOME / folder / f"{name}.rhokit").read_bytes()
        assert hashlib.sha256(data).hexdigest() == EXPECTED[folder, name]["sha256"]
        assert unpack(data)[0]["protocol"] == int(folder.removeprefix("protocol"))
        assert len(data) <= MOST_BYTES

    def test_answers_as_expected(self, folder, name):
        model, expected = load(folder, name), EXPECTED[folder, name]
        assert type(model).__name__ == expected["class"]
        said = questions(model, decoded(expected["queries"]))
        assert said.keys() >= expected["answers"].keys()  # models may learn to say more
        tol = 1e-5 if is_single(model) else 1e-9
        for each, value in expected["answers"].items():
            wanted = decoded(value)
            if wanted.dtype.kind in "fc":
                assert_allclose(said[each], wanted, rtol=tol, atol=tol, err_msg=each)
            else:
                assert_array_equal(said[each], wanted, err_msg=each)

    def test_can_be_saved_anew(self, folder, name):
        """In today's protocol, of which a file without a factor is the same again."""
        model = load(folder, name)
        data = rhokit.dumps(model)
        again = rhokit.loads(data)
        assert type(again) is type(model)
        tensors, wanted = unpack(rhokit.dumps(again))[1], unpack(data)[1]
        assert tensors.keys() == wanted.keys()
        for each in wanted.keys() - {key for key in wanted if "factor" in key}:
            assert_array_equal(tensors[each], wanted[each], err_msg=each)


class TestTheCollection:
    @pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
    def test_files_and_expectations_belong_together(self, folder):
        files = {path.stem for path in folder.glob("*.rhokit")}
        assert files == {name for home, name in EXPECTED if home == folder.name}

    def test_every_protocol_has_files(self):
        numbers = [int(folder.name.removeprefix("protocol")) for folder in FOLDERS]
        assert sorted(numbers) == list(range(1, PROTOCOL + 1))

    def test_every_class_has_a_file_of_todays_protocol(self):
        maps = {each.__name__ for each in MAPS.values()}
        known = {*maps, *ONE_PASS, *TRAINED, *BARE_STATES}
        golden = {
            expected["class"]
            for (folder, _), expected in EXPECTED.items()
            if folder == f"protocol{PROTOCOL}"
        }
        assert golden == known

    def test_most_files_answer_something(self):
        silent = [name for (_, name), each in EXPECTED.items() if not each["answers"]]
        assert {name.split("-")[-1] for name in silent} <= {"prepared", "unfitted"}

    def test_is_small(self):
        for folder in FOLDERS:
            size = sum(path.stat().st_size for path in folder.iterdir())
            assert size < 800_000


class TestMaking:
    """Of files that are there, none is written again."""

    def test_released_files_stay(self, monkeypatch, tmp_path):
        (tmp_path / "old.rhokit").write_bytes(b"old")
        monkeypatch.setattr(rhokit, "__version__", "1.0.0")
        for again in (False, True):
            with pytest.raises(SystemExit, match="stay as they are"):
                making.make(tmp_path, again=again)
        assert [path.name for path in tmp_path.iterdir()] == ["old.rhokit"]

    def test_others_are_replaced_only_when_asked_to(self, monkeypatch, tmp_path):
        (tmp_path / "old.rhokit").write_bytes(b"old")
        monkeypatch.setattr(rhokit, "__version__", "1.0.0.dev0")
        with pytest.raises(SystemExit, match="--again"):
            making.make(tmp_path)
        assert (tmp_path / "old.rhokit").read_bytes() == b"old"

    def test_answers_of_released_files_stay(self, monkeypatch, tmp_path):
        monkeypatch.setattr(rhokit, "__version__", "1.0.0")
        with pytest.raises(SystemExit, match="stay as they are"):
            making.ask_again(tmp_path)

    def test_files_that_are_asked_again_stay(self, monkeypatch, tmp_path):
        old = HOME / f"protocol{PROTOCOL}"
        data = (old / "density-landmarks.rhokit").read_bytes()
        expected = json.loads((old / "expected.json").read_text())["density-landmarks"]
        wrong = {**expected["answers"], "reach": {"dtype": "<f8", "values": [7.0]}}
        (tmp_path / "density-landmarks.rhokit").write_bytes(data)
        making.write(tmp_path, {"density-landmarks": {**expected, "answers": wrong}})
        monkeypatch.setattr(rhokit, "__version__", "1.0.0.dev0")
        making.ask_again(tmp_path)
        found = json.loads((tmp_path / "expected.json").read_text())
        assert found["density-landmarks"].keys() == expected.keys()
        answers = found["density-landmarks"]["answers"]
        assert_allclose(
            decoded(answers["reach"]), decoded(expected["answers"]["reach"])
        )
        assert (tmp_path / "density-landmarks.rhokit").read_bytes() == data

    def test_missing_ones_are_added_to_others(self, monkeypatch, tmp_path):
        old = '{\n"map-words": {"old": 0.1}\n}\n'
        (tmp_path / "map-words.rhokit").write_bytes(b"old")
        (tmp_path / "expected.json").write_text(old)
        kept = {name: making.FILES[name] for name in ("map-series-line", "map-words")}
        monkeypatch.setattr(making, "FILES", kept)
        monkeypatch.setattr(making, "STATES", {})
        monkeypatch.setattr(rhokit, "__version__", "1.0.0")
        making.make(tmp_path, add=True)
        assert (tmp_path / "map-words.rhokit").read_bytes() == b"old"
        expected = json.loads((tmp_path / "expected.json").read_text())
        assert expected["map-words"] == {"old": 0.1}
        assert expected["map-series-line"]["class"] == "GridFeatures"
        assert type(rhokit.load(tmp_path / "map-series-line.rhokit")).__name__ == (
            "GridFeatures"
        )
