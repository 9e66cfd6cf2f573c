"""Files that are no models, damaged, newer, or described by nonsense."""

import contextlib
import hashlib
import json
import struct

import numpy as np
import pytest
import safetensors.numpy

import rhokit
from rhokit import LandmarkFeatures, ModelFileError
from rhokit.io import PROTOCOL, protocol
from rhokit.io.container import digest
from tests.io.drafts import (
    DENSITY,
    REJECT,
    Draft,
    drop,
    file_of,
    put,
    raw_file,
    refuses,
)

NUMBERS = np.arange(6.0)
SHAPES = [(6,), (2, 3), (3, 2), (6, 1), (1, 6), (1, 1, 6)]


class TestShapes:
    """The same numbers in another shape are something else."""

    def test_have_digests_of_their_own(self):
        found = {digest("", {"a": NUMBERS.reshape(shape)}) for shape in SHAPES}
        assert len(found) == len(SHAPES)

    def test_cannot_be_changed_in_a_file(self):
        """The digest is the file's own; all else would fit."""
        data = rhokit.dumps(LandmarkFeatures(n_components=4).fit(np.eye(4)))
        assert data.count(b'"shape":[4,4]') == 2
        changed = data.replace(b'"shape":[4,4]', b'"shape":[2,8]')
        with pytest.raises(ModelFileError, match="does not have the digest"):
            rhokit.loads(changed)

    def test_tell_maps_apart(self, monkeypatch):
        drawn, found = [], set()
        feature_map = LandmarkFeatures(n_components=4).fit(np.eye(4))
        monkeypatch.setattr(LandmarkFeatures, "_drawn", lambda self: drawn)
        for shape in SHAPES:
            drawn[:] = [NUMBERS.reshape(shape)]
            found.add(feature_map.fingerprint())
        assert len(found) == len(SHAPES)


class TestProtocol:
    @pytest.mark.parametrize("number", [0, -1, "1", 1.0, True, None, [1], {}])
    def test_that_is_none(self, number):
        change = put("tree", "protocol", number)
        refuses("states no protocol number", DENSITY, change)

    def test_missing(self):
        refuses("states no protocol number", DENSITY, drop("tree", "protocol"))

    @pytest.mark.parametrize("number", [PROTOCOL + 1, 99, 10**30])
    def test_newer_says_what_to_do(self, number):
        def change(draft):
            draft.tree["protocol"] = number
            draft.tree["rhokit"] = "9.9.9"

        message = rf"protocol {number}, written by rhokit 9\.9\.9.*upgrade rhokit"
        refuses(message, DENSITY, change)

    def test_older_ones_are_upgraded_one_after_the_other(self, monkeypatch):
        """Two changes of the format: a name, then a number."""

        def first(tree, tensors):
            tree["estimator"] = tree.pop("model of old")
            return tree, tensors

        def second(tree, tensors):
            tree["estimator"]["parameters"]["gamma"] *= 2
            return tree, tensors

        draft = Draft("density-unfitted")
        tree = {**draft.tree}
        tree["model of old"] = tree.pop("estimator")
        tree["protocol"] = PROTOCOL
        monkeypatch.setattr(protocol, "PROTOCOL", PROTOCOL + 2)
        upgrades = {PROTOCOL: first, PROTOCOL + 1: second}
        monkeypatch.setattr(protocol, "UPGRADES", upgrades)
        draft.tree = tree
        assert rhokit.loads(draft.data()).gamma == 2.0

    @pytest.mark.parametrize("value", ["another model", None, 1, {}])
    def test_another_format(self, value):
        refuses("something else than a rhokit", DENSITY, put("tree", "format", value))

    def test_missing_format(self):
        refuses("something else than a rhokit", DENSITY, drop("tree", "format"))

    def test_no_model(self):
        refuses("must hold one of", DENSITY, drop("tree", "estimator"))

    def test_two_models(self):
        refuses("must hold one of", DENSITY, put("tree", "state", {}))

    @pytest.mark.parametrize("note", [1, "text", [], True])
    def test_notes(self, note):
        refuses("note must be an object", DENSITY, put("tree", "note", note))


def metadata_file(text, **more):
    """A safetensors file whose description is this text, with its right digest."""
    sha = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return raw_file({"__metadata__": {"rhokit": text, "sha256": sha} | more})


class TestDescriptions:
    @pytest.mark.parametrize("text", ["", "{", "model", "{'a': 1}", "\x00", "nul"])
    def test_no_json(self, text):
        with pytest.raises(ModelFileError, match="no readable JSON"):
            rhokit.loads(metadata_file(text))

    @pytest.mark.parametrize("text", ["[]", "1", "null", '"text"', "NaN", "true"])
    def test_no_object(self, text):
        with pytest.raises(ModelFileError, match="no JSON object"):
            rhokit.loads(metadata_file(text))

    @pytest.mark.parametrize("depth", [500, 2000, 100_000])
    @pytest.mark.parametrize(("left", "right"), [("[", "]"), ('{"a":', "}")])
    def test_deep_nesting(self, depth, left, right):
        nest = left * depth + "1" + right * depth
        good = '{"format":"rhokit model","protocol":1,"estimator":%s}'
        fields = (
            '{"class":"DMKDE","parameters":{"gamma":%s},"model":null}',
            '{"class":%s,"parameters":{},"model":null}',
            '{"class":"DMKDE","parameters":{},"model":{"plan":%s,"readout":1,'
            '"state":null,"sample":null}}',
            "%s",
        )
        for text in (nest, *(good % (field % nest) for field in fields)):
            with pytest.raises(ModelFileError):
                rhokit.loads(metadata_file(text))
        with pytest.raises(ModelFileError):
            rhokit.loads(
                metadata_file('{"format":"rhokit model","protocol":' + nest + "}")
            )

    @pytest.mark.parametrize("digits", [400, 4000, 100_000])
    def test_huge_integers(self, digits):
        """Of the protocol, of a size, of a number."""
        for owner, key in (
            ("tree", "protocol"),
            ("columns", "width"),
            ("plan", "gamma"),
        ):
            draft = Draft(DENSITY)
            getattr(draft, owner)[key] = "HERE"
            text = json.dumps(draft.tree).replace('"HERE"', "9" * digits)
            data = safetensors.numpy.save(draft.tensors, metadata=_signed(draft, text))
            with pytest.raises(ModelFileError):
                rhokit.loads(data)

    def test_words_for_infinity(self):
        draft = Draft(DENSITY)
        assert draft.plan["gamma"] == 1.0
        draft.plan["gamma"] = "HERE"
        for word in ("NaN", "Infinity", "-Infinity"):
            whole = json.dumps(draft.tree).replace('"HERE"', word)
            data = safetensors.numpy.save(draft.tensors, metadata=_signed(draft, whole))
            with pytest.raises(ModelFileError, match="gamma"):
                rhokit.loads(data)

    @pytest.mark.parametrize("said", [None, "", "0" * 64, "sha"])
    def test_digests(self, said):
        draft = Draft(DENSITY)
        metadata = _signed(draft, json.dumps(draft.tree))
        if said is None:
            del metadata["sha256"]
        else:
            metadata["sha256"] = said
        with pytest.raises(ModelFileError, match="does not have the digest"):
            rhokit.loads(safetensors.numpy.save(draft.tensors, metadata=metadata))


def _signed(draft, text):
    return {"rhokit": text, "sha256": digest(text, draft.tensors)}


class TestForeignFiles:
    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"\x00",
            bytes(8),
            bytes(1000),
            b"model,1,2\n" * 100,
            "übrigens ein Text".encode(),
            b"\x80\x04\x95cos\nsystem\n(S'true'\ntR.",
            b"PK\x03\x04" + bytes(100),
            b"\x89HDF\r\n\x1a\n" + bytes(100),
            b"\xff" * 64,
            struct.pack("<Q", 2**63) + b"{}",
            struct.pack("<Q", 2) + b"{}",
            struct.pack("<Q", 2) + b"[]",
            struct.pack("<Q", 4) + b"null",
        ],
        ids=range(14),
    )
    def test_are_no_models(self, data):
        with pytest.raises(ModelFileError, match=r"no model|no rhokit model|holds"):
            rhokit.loads(data)

    @pytest.mark.parametrize("metadata", [None, {}, {"format": "pt"}, {"rho": "kit"}])
    def test_other_safetensors(self, metadata):
        data = safetensors.numpy.save({"weight": np.ones(3)}, metadata=metadata)
        with pytest.raises(
            ModelFileError, match="safetensors file, but holds no rhokit"
        ):
            rhokit.loads(data)

    @pytest.mark.parametrize("metadata", [7, "text", [], None, {"rhokit": {}}])
    def test_metadata_of_the_wrong_kind(self, metadata):
        with pytest.raises(ModelFileError):
            rhokit.loads(raw_file({"__metadata__": metadata}))

    @pytest.mark.parametrize("dtype", ["BF16", "F8_E4M3", "F4", "X9"])
    def test_tensors_of_a_dtype_that_numpy_lacks(self, dtype):
        header = {"a": {"dtype": dtype, "shape": [2], "data_offsets": [0, 4]}}
        with pytest.raises(ModelFileError, match=r"damaged|no model has|holds"):
            rhokit.loads(raw_file(header, bytes(4)))

    @pytest.mark.parametrize("data", [None, 7, "text", [1, 2]])
    def test_what_is_no_bytes(self, data):
        with pytest.raises((ModelFileError, TypeError)):
            rhokit.loads(data)

    def test_a_missing_file(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="absent"):
            rhokit.load(tmp_path / "absent.rhokit")

    def test_a_directory(self, tmp_path):
        with pytest.raises(OSError, match=str(tmp_path)):
            rhokit.load(tmp_path)

    def test_errors_name_the_file(self, tmp_path):
        path = tmp_path / "table.csv"
        path.write_text("a,b\n1,2\n")
        with pytest.raises(ModelFileError, match=r"table\.csv.*no model"):
            rhokit.load(path)

    def test_errors_are_value_errors(self):
        assert issubclass(ModelFileError, ValueError)


class TestDamage:
    @pytest.fixture(params=[DENSITY, REJECT])
    def data(self, request):
        return file_of(request.param)

    def test_truncated_anywhere(self, data):
        for part in range(50):
            with pytest.raises(ModelFileError, match=r"damaged|no model|no readable"):
                rhokit.loads(data[: len(data) * part // 50])

    def test_cut_by_one_byte(self, data):
        with pytest.raises(ModelFileError, match="damaged"):
            rhokit.loads(data[:-1])

    @pytest.mark.parametrize("tail", [b"\x00", b" ", bytes(4096), b"junk"])
    def test_with_a_tail(self, data, tail):
        with pytest.raises(ModelFileError, match="damaged"):
            rhokit.loads(data + tail)

    def test_one_flipped_bit_anywhere(self, data):
        """In the length, the header, the description, the tensors."""
        rng = np.random.default_rng(0)
        start = 8 + int.from_bytes(data[:8], "little")
        places = [
            *range(8),
            *rng.integers(8, start, 150),
            *rng.integers(start, len(data), 100),
            len(data) - 1,
        ]
        for place in places:
            damaged = bytearray(data)
            damaged[place] ^= 1 << int(rng.integers(8))
            if 8 <= place < start:
                # The header is JSON, whose white space and escapes mean nothing.
                with contextlib.suppress(ModelFileError):
                    rhokit.loads(bytes(damaged))
            else:
                with pytest.raises(ModelFileError):
                    rhokit.loads(bytes(damaged))

    def test_one_flipped_bit_of_a_number_is_seen(self, data):
        start = 8 + int.from_bytes(data[:8], "little")
        for place in range(start, len(data), 101):
            damaged = bytearray(data)
            damaged[place] ^= 1
            with pytest.raises(ModelFileError, match="does not have the digest"):
                rhokit.loads(bytes(damaged))
