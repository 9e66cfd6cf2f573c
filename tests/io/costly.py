"""Small files of models that would take gigabytes or minutes.

``python -m tests.io.costly`` loads and asks them, each in a process that has a gigabyte
and a few seconds.
"""

import json

import numpy as np

from tests.io import asked
from tests.io.drafts import Draft

# All hashes of its multiples are zero.
COLLIDING = 2**61 - 1


def onehot_categories(count):
    """A map of categories whose hashes are all the same."""
    draft = Draft("words")
    draft.map["columns"]["width"] = 1
    categories = [[COLLIDING * number] for number in range(1, count + 1)]
    draft.fitted["categories"] = categories
    return draft


def _as_small(draft, count):
    """The model with one column of states, for so many outcomes."""
    tensors = draft.tensors
    place = "model.plan.feature_map"
    tensors[f"{place}.landmarks"] = tensors[f"{place}.landmarks"][:1]
    tensors[f"{place}.whitening"] = tensors[f"{place}.whitening"][:1, :1]
    tensors["model.state.total"] = np.ones((count, 1))
    tensors["model.state.weight"] = np.ones(count)
    draft.map["parameters"].update(n_components=1, landmarks=None)
    tensors.pop(f"{place}.parameters.landmarks", None)


def levels(count):
    """A regressor of so many levels, each of one number."""
    draft = Draft("values-one")
    _as_small(draft, count)
    draft.learned["n_levels"] = count
    draft.parameters["n_levels"] = count
    return draft


def labels(count):
    """A classifier of so many labels, each of one number."""
    draft = Draft("joint-random-map")
    _as_small(draft, count)
    draft.parameters["output_map"] = "onehot"
    draft.learned["classes"] = {"dtype": "<i8", "values": list(range(count))}
    return draft


def outputs(count, joint_rank=None):
    """A classifier with an output map of so many components."""
    draft = Draft("joint-random-map")
    draft.parameters["output_map"]["map"]["parameters"]["n_components"] = count
    draft.parameters["joint_rank"] = joint_rank
    return draft


def anchors(count):
    """A density with so many anchors to draw rows from."""
    draft = Draft("density-phase-double")
    for name in ("anchors", "widths"):
        key = f"model.plan.proposal.{name}"
        draft.tensors[key] = np.resize(draft.tensors[key], (count, 2))
    draft.tensors["model.plan.proposal.weights"] = np.full(count, 1 / count)
    return draft


def grid(scale, max_modes):
    """A grid without rows, of a box so many times as large."""
    draft = Draft("density-series-prepared")
    place = "model.plan.feature_map"
    period = draft.tensors[f"{place}.period"]
    for name in ("low", "high", "period"):
        draft.tensors[f"{place}.{name}"] = scale * draft.tensors[f"{place}.{name}"]
    ends = np.floor(draft.fitted["cut"] * scale * period / (2 * np.pi)).astype(np.int64)
    draft.tensors[f"{place}.shape"] = np.array([*(2 * ends[:-1] + 1), ends[-1] + 1])
    draft.map["parameters"]["max_modes"] = max_modes
    return draft


def targets(count):
    """A regressor of so many targets, without rows."""
    draft = Draft("values-prepared")
    for end in ("low", "high"):
        key = draft.key(end)
        draft.tensors[key] = np.resize(draft.tensors[key], count)
    draft.learned["one_target"] = False
    return draft


def waves(count):
    """A mean of so many complex waves."""
    draft = Draft("mean-complex-single")
    place = "model.plan.feature_map"
    for key, shape in (
        (f"{place}.amplitudes", (count,)),
        (f"{place}.frequencies", (2, count)),
        ("model.state.total", (1, count, 2)),
    ):
        draft.tensors[key] = np.resize(draft.tensors[key], shape)
    draft.map["parameters"]["n_components"] = count
    return draft


def batches(count):
    """The same, with all rows at once."""
    draft = waves(count)
    draft.parameters["batch_size"] = 10**12
    return draft


PLANE = np.zeros((2, 2))
WORDS = np.array([[COLLIDING]], dtype=object)
# Files, and rows to ask them for.
CASES = {
    "categories": (lambda: onehot_categories(30_000), WORDS),
    "levels": (lambda: levels(2**20), PLANE),
    "outputs": (lambda: outputs(2**16), PLANE),
    "joint rank": (lambda: outputs(2**16, joint_rank=300), PLANE),
    "labels": (lambda: labels(20_000), PLANE),
    "anchors": (lambda: anchors(20_000), PLANE),
    "grid": (lambda: grid(150.0, 10**9), PLANE),
    "targets": (lambda: targets(20_000), PLANE),
    "waves": (lambda: waves(2**17), PLANE.astype(np.float32)),
    "batches": (lambda: batches(2**16), PLANE.astype(np.float32)),
    "few levels": (lambda: levels(2**10), PLANE),
    "few outputs": (lambda: outputs(200), PLANE),
    "low joint rank": (lambda: outputs(200, joint_rank=10), PLANE),
    "few labels": (lambda: labels(1000), PLANE),
    "few anchors": (lambda: anchors(1000), PLANE),
    "few targets": (lambda: targets(200), PLANE),
    "small batches": (lambda: batches(2**10), PLANE.astype(np.float32)),
    "small grid": (lambda: grid(3.0, 10**9), PLANE),
}


def main():
    asked.be_quiet()
    files = {name: (make().data(), rows) for name, (make, rows) in CASES.items()}
    found = {name: asked.in_child(*file) for name, file in files.items()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
