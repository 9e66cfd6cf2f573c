"""Good model files with a field or two pushed to their limits.

What a file holds is known from reading a good one: which numbers stand where, which
axes of which tensors have a size in common, which values the parameters of a class may
have. A change keeps to that, so that most of the files are still good ones, or nearly:
sizes grow wherever they stand, parameters take the ends of their intervals, numbers the
ends of their types.
"""

import math
import pickle
from collections import defaultdict

import numpy as np

import rhokit
from rhokit.features import MAPS
from rhokit.io import model_files
from rhokit.io.container import pack, unpack
from rhokit.records import Reader
from rhokit.validation import Interval, StrOptions

TINY, LARGEST = float(np.finfo(float).tiny), float(np.finfo(float).max)
NUMBERS = (0.0, 5e-324, TINY, 1e-150, 1e-9, 0.5, 1.0, 1e9, 1e150, 1e300, LARGEST)
FACTORS = (1e-300, 1e-100, 1e-9, 1e-3, 0.5, 1 - 1e-9, 1 + 1e-9, 2.0, 1e3, 1e9, 1e100)
INTEGERS = (0, 1, 2, 3, 7, 100, 2**10, 2**16, 2**20, 2**22, 2**31, 2**53, 2**62)
SIZES = (1, 1, 2, 3, 5, 20, 100, 100, 1000, 5000, 20_000, 2**16)
LARGEST_TENSOR = 2**17  # numbers, of a tensor that grows
TEXTS = ("", " ", "\x00", "\x1b[2J", "=1+1", "é", "1", "nan", "None", "x" * 300)


def recording(seen):
    """A reader that remembers which sizes the axes of tensors have."""

    class Recorder(Reader):
        def bind(self, size, value, path):
            seen[path].append(size)
            super().bind(size, value, path)

    return Recorder


class GoodFile:
    """A good file, and what is known of its fields."""

    def __init__(self, name, data):
        self.name = name
        seen = defaultdict(list)
        plain, model_files.Reader = model_files.Reader, recording(seen)
        try:
            model = rhokit.loads(data)
        finally:
            model_files.Reader = plain
        # As this version writes it: what still loads is then mostly saved as it was.
        self.tree, self.tensors = unpack(rhokit.dumps(model))
        self.axes = {path: seen[path] for path in self.tensors}
        self._pickled = pickle.dumps(self.tree)  # copied sooner than by deepcopy

    @property
    def root(self):
        return next(k for k in ("estimator", "map", "state") if k in self.tree)

    def draft(self):
        return Changed(pickle.loads(self._pickled), dict(self.tensors), self)


class Changed:
    """A file in the making."""

    def __init__(self, tree, tensors, origin):
        self.tree, self.tensors, self.origin = tree, tensors, origin

    @property
    def content(self):
        return self.tree[self.origin.root]

    def leaves(self, wanted):
        """Pairs (owner, key) of plain values of some types; truth is no number."""
        return [
            (owner, key)
            for owner, key in places(self.content)
            if type(owner[key]) in wanted
        ]

    def data(self):
        return pack(self.tree, self.tensors)


def places(node):
    """All (container, key) pairs of a tree, as a list."""
    found = []
    _add_places(node, found)
    return found


def _add_places(node, found):
    items = node.items() if type(node) is dict else enumerate(node)
    for key, value in items:
        found.append((node, key))
        if type(value) is dict or type(value) is list:
            _add_places(value, found)


def members(node):
    """The (object, name) pairs among them: entries of lists are left out."""
    for key, value in node.items() if type(node) is dict else enumerate(node):
        if type(node) is dict:
            yield node, key
        if type(value) is dict or (type(value) is list and _holds_more(value)):
            yield from members(value)


def _holds_more(values):
    """Whether a list is one of objects or of lists of them; the first is like all."""
    first = values[0] if values else None
    return type(first) is dict or (type(first) is list and _holds_more(first))


# ---- changes -------------------------------------------------------------------------


def change_number(rng, draft, _):
    owner, key = rng.choice(draft.leaves((float,)) or draft.leaves((int,)))
    value = owner[key] * rng.choice(FACTORS)
    owner[key] = rng.choice((*NUMBERS, value if math.isfinite(value) else LARGEST))


def change_integer(rng, draft, _):
    owner, key = rng.choice(draft.leaves((int,)))
    near = owner[key] + rng.choice((-1, 1))
    owner[key] = rng.choice((*INTEGERS, near, near, near))


def change_flag(rng, draft, _):
    found = draft.leaves((bool,))
    if found:
        owner, key = rng.choice(found)
        owner[key] = not owner[key]


def change_word(rng, draft, words):
    """Another word that stands in the same place in another file."""
    owner, key = rng.choice(draft.leaves((str,)))
    known = sorted(words[key]) if isinstance(key, str) else TEXTS
    owner[key] = rng.choice((*known, *known, *TEXTS))


_MAY_LACK = ("model", "state", "sample", "proposal", "estimator", "history", "bounds")


def leave_out(rng, draft, _):
    """A part that need not be there, with its tensors."""
    parts = [
        (owner, key)
        for owner, key in places(draft.content)
        if isinstance(owner[key], dict) or owner[key] == "tensor"
    ]
    may_lack = [part for part in parts if part[1] in _MAY_LACK]
    owner, key = rng.choice(may_lack if rng.random() < 0.8 else parts)
    owner[key] = None
    kept = set(_paths(draft.content, ""))
    draft.tensors = {k: v for k, v in draft.tensors.items() if k in kept}


def _paths(node, path):
    """Paths of tensors that a tree names, as fields build them."""
    if isinstance(node, str) and node in ("tensor", "complex tensor"):
        yield path
    elif isinstance(node, dict):
        for key, value in node.items():
            if key in ("value", "fitted", "learned", "map", "array", "numbers"):
                yield from _paths(value, path)
            else:
                yield from _paths(value, f"{path}.{key}" if path else key)


def change_parameter(rng, draft, _):
    """A value at an end of what a class allows."""
    found = [o for o, k in members(draft.tree) if k == "parameters"]
    owner = rng.choice(found or [None])
    if owner is None:
        return
    cls = MAPS.get(owner.get("name")) or getattr(rhokit, owner.get("class", ""), None)
    table = getattr(cls, "_parameter_table", {})
    names = sorted(table.keys() & owner["parameters"].keys())
    if names:
        name = rng.choice(names)
        owner["parameters"][name] = rng.choice(list(_allowed(table[name])) or [None])


def _allowed(constraints):
    for each in constraints:
        if each is None:
            yield None
        elif isinstance(each, StrOptions):
            yield from sorted(each.options)
        elif isinstance(each, Interval):
            yield from _ends(each)


def _ends(interval):
    whole = interval.type.__name__ == "Integral"
    low = 0 if interval.left is None else interval.left
    high = 2**40 if interval.right is None else interval.right
    if whole:
        yield from (low, low + 1, low + 2, 300, 2**16, high - 1, high)
    else:
        yield from (low, high, TINY, 1e-9, 0.5 * (low + high), 1e300)


def change_entries(rng, draft, _):
    """One number of a tensor, a row of them, or all."""
    if not draft.tensors:
        return
    name = rng.choice(sorted(draft.tensors))
    array = draft.tensors[name].copy()
    if not array.size:
        return
    if array.dtype.kind != "f":
        ends = np.iinfo(array.dtype)
        values = (0, 1, 2, min(2**20, int(ends.max)), int(ends.max), int(ends.min))
    else:
        values = (*NUMBERS, *(-number for number in NUMBERS))
        values = [v for v in values if abs(v) <= float(np.finfo(array.dtype).max)]
    value = rng.choice(values)
    kind = rng.randrange(5)
    if kind == 0:
        array.flat[rng.randrange(array.size)] = value
    elif kind == 1:
        array[rng.randrange(len(array)) if array.ndim else ()] = value
    elif kind == 2:
        array[...] = value
    elif kind == 3 and array.ndim:
        array[...] = array[:1]  # all alike
    elif array.dtype.kind == "f":
        with np.errstate(all="ignore"):
            array = (array * rng.choice(FACTORS)).astype(array.dtype)
    draft.tensors[name] = array


# Sizes that are the same number, or a multiple of it, by what a map is.
_TOGETHER = {"m": ("m", "D", "F"), "D": ("m", "D", "F"), "F": ("m", "D", "F")}


def grow(rng, draft, _):
    """Another size wherever it stands."""
    known = {size for sizes in draft.origin.axes.values() for size in sizes}
    sizes = sorted(size for size in known if isinstance(size, str) and size != "modes")
    if not sizes:
        return
    size, new = rng.choice(sizes), rng.choice(SIZES)
    together = _TOGETHER.get(size, (size,)) if rng.random() < 0.8 else (size,)
    pairs = {"m": 2, "D": 2} if _form(draft) == "pair" else {}
    wanted = {each: new * pairs.get(each, 1) for each in together}
    if "t" in known and size == "K":
        wanted = {"K": new, "t": 1}
    if "lines" in known:
        wanted = _of_blend(draft, size, new, wanted)
    for path, axes in draft.origin.axes.items():
        if path in draft.tensors:
            draft.tensors[path] = _resized(draft.tensors[path], axes, wanted)
    for owner, key in places(draft.content):
        _resize_leaf(owner, key, wanted)
    _keep_promises(draft, wanted)


def _of_blend(draft, size, new, wanted):
    """Sizes of a blend: moments of targets; features, and products of these."""
    links = [owner[key] for owner, key in members(draft.content) if key == "link"]
    if size in ("K", "t") and links == ["values"]:
        return {"t": new, "K": 3 * new}
    lengths = {path.split(".")[-1]: len(each) for path, each in draft.tensors.items()}
    lines = lengths["lines"]
    if size == "d" and lines:
        wanted, lines = {"d": new, "lines": new}, new
    if size in ("m", "d"):
        (place,) = (path for path in draft.tensors if path.endswith("lines"))
        features = draft.tensors[place.replace("lines", "forest.features")]
        count = wanted.get("m", lengths["landmarks"]) + 1 + lines
        cells = int((features < 0).sum()) + lengths.get("points", 0)
        wanted |= {"p": count + cells, "f": count * (count + 1) // 2}
    return wanted


def _form(draft):
    forms = [o[k] for o, k in members(draft.content) if k == "form"]
    return forms[0] if forms else None


def _resized(array, axes, wanted):
    shape = list(array.shape)
    triangle = len(axes) > 2 and axes[1] is None
    for axis, size in enumerate(axes[: array.ndim]):
        if size in wanted:
            shape[axis] = wanted[size]
    if triangle and axes[2] in wanted:
        dim = wanted[axes[2]]
        shape[1] = dim * (dim + 1) // 2
    if shape == list(array.shape) or math.prod(shape) > LARGEST_TENSOR:
        return array
    for axis, size in enumerate(shape):
        array = np.take(array, np.arange(size) % max(array.shape[axis], 1), axis=axis)
    return array


def _resize_leaf(owner, key, wanted):
    if key == "width" and "d" in wanted:
        owner[key] = wanted["d"]
    elif key == "names" and "d" in wanted and owner[key]:
        owner[key] = [f"column {number}" for number in range(wanted["d"])]
    elif key == "n_levels" and "K" in wanted:
        owner[key] = wanted["K"]
    elif key in ("n_components", "dim") and "m" in wanted:
        owner[key] = wanted["m"]
    elif key == "classes" and "K" in wanted:
        owner[key] = {"dtype": "<i8", "values": list(range(wanted["K"]))}
    elif key == "categories" and "m" in wanted and owner[key]:
        length = len(owner[key][0]) if isinstance(owner[key][0], list) else 1
        owner[key] = [[number] * length for number in range(wanted["m"])]


def _keep_promises(draft, wanted):
    """What must hold of tensors that have become longer."""
    for path, array in draft.tensors.items():
        if path.endswith("sample.keys"):
            draft.tensors[path] = np.arange(len(array), dtype=np.uint64)
        elif path.endswith("state.total") and "p" in wanted:
            draft.tensors[path] = np.abs(array)  # weights of cells have moved
        elif path.endswith("importances") and "d" in wanted:
            draft.tensors[path] = np.full(wanted["d"], 1 / wanted["d"])
        elif path.endswith("edge_stops"):
            draft.tensors[path] = np.sort(array)
        elif path.endswith("proposal.weights"):
            draft.tensors[path] = np.full(len(array), 1 / len(array))


CHANGES = (
    change_number,
    change_integer,
    change_flag,
    change_word,
    leave_out,
    change_parameter,
    change_parameter,
    change_entries,
    change_entries,
    change_entries,
    grow,
    grow,
    grow,
)


def words_of(files):
    """Words by the names of the fields that they stand in, in any of the files."""
    words = defaultdict(set)
    for file in files:
        for owner, key in file.draft().leaves((str,)):
            if isinstance(key, str):
                words[key].add(owner[key])
    return words


def changed(rng, file, words):
    """A draft of a good file, with a field or two at their limits."""
    draft = file.draft()
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        rng.choice(CHANGES)(rng, draft, words)
    return draft
