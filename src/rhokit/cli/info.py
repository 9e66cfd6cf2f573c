"""``rhokit info``: what a model file holds."""

from rhokit.cli.console import byte_size, listing, number, properties, short_list
from rhokit.cli.options import ModelPath

_MOST_LISTED = 30


def info(out, model: ModelPath):
    """What a model file holds: kind, columns, rows, map, where it comes from."""
    from rhokit.cli.models import load_model

    loaded = load_model(model, fitted=False)
    told = described(loaded.model, loaded.note)
    told |= {"file": str(model), "bytes": model.stat().st_size}
    told |= {"sources": list(loaded.note.sources)}
    pairs = [("kind", told["kind"]), *described_pairs(told)]
    pairs = [pair for pair in pairs if pair[0] != "classes"]  # listed below
    pairs += [("can go on learning", "yes" if told["learns"] else "no")]
    pairs += [("file", f"{model} ({byte_size(told['bytes'])})")]
    shown = [properties(pairs)]
    if told["classes"]:
        rows = list(told["classes"].items())
        shown.append(listing(["class", "rows"], rows[:_MOST_LISTED], text={"class"}))
        if len(rows) > _MOST_LISTED:
            shown.append(f"and {len(rows) - _MOST_LISTED:,} more classes")
    if loaded.note.sources:
        shown.append(_sources(loaded.note.sources))
    out.result(told, *shown)


def described(model, note):
    """What a model is, for programs."""
    from rhokit.cli.models import kind_of

    has_rows = getattr(model, "state_", None) is not None
    gamma = getattr(model, "gamma_", None)
    names = getattr(model, "feature_names_in_", None)
    levels = getattr(model, "levels_", None)
    return {
        "kind": kind_of(model),
        "class": type(model).__name__,
        "rows": _rows(model),
        "columns": None if names is None else names.tolist(),
        "n_columns": getattr(model, "n_features_in_", None),
        "categories": _categories(model),
        "target": list(note.target),
        "weight": note.weight,
        "classes": _class_weights(model) if has_rows else None,
        "lowest": None if levels is None else levels[0].tolist(),
        "highest": None if levels is None else levels[-1].tolist(),
        "map": _map_name(model),
        "dimension": _dimension(model),
        "gamma": gamma,
        "bandwidth": None if gamma is None else (2 * gamma) ** -0.5,
        "fingerprint": _fingerprint(model),
        "learns": hasattr(getattr(model, "state_", None), "total"),
    }


def described_pairs(told):
    """The same for people."""
    columns, count = told["columns"], told["n_columns"]
    names = "" if columns is None else f": {short_list(columns)}"
    yield "model", told["class"]
    yield "rows", None if told["rows"] is None else number(told["rows"])
    yield "columns", None if count is None else f"{number(count)}{names}"
    if told["categories"]:
        counts = [f"{name} ({len(each)})" for name, each in told["categories"].items()]
        yield "categories", short_list(counts)
    yield "target", ", ".join(told["target"]) or None
    yield "weight", told["weight"]
    yield "classes", None if not told["classes"] else short_list(told["classes"])
    yield "values", _range(told)
    if told["map"] is not None:
        yield "map", f"{told['map']}, {number(told['dimension'])} dimensions"
    if told["gamma"] is not None:
        width = number(told["bandwidth"], 3)
        yield "gamma", f"{number(told['gamma'])} (a bandwidth of {width} scaled units)"


def _class_weights(model):
    if not hasattr(model, "classes_"):
        return None
    pairs = zip(model.classes_.tolist(), model.state_.weight.tolist(), strict=True)
    return {str(label): _count(weight) for label, weight in pairs}


def _rows(model):
    """Rows that a model has seen; None of one that was trained, and does not say."""
    from rhokit.cli.models import total_weight

    if not hasattr(model, "state_"):
        return None
    return 0 if model.state_ is None else _count(total_weight(model))


def _count(weight):
    """A weight as a whole number, if it is one."""
    return round(weight) if abs(weight - round(weight)) < 1e-9 * weight else weight


def _categories(model):
    """Values of the columns that are no numbers, by column."""
    schema = getattr(model, "schema_", None)
    if schema is None:
        return {}
    columns = zip(schema.names, schema.categories, strict=True)
    return {name: list(known) for name, known in columns if known is not None}


def _map_name(model):
    chosen = getattr(model, "feature_map_", None)
    if chosen is None:
        return None
    name = type(chosen).__name__.removesuffix("Features").lower()
    return "landmarks" if name == "landmark" else name


def _dimension(model):
    """How many numbers the state of a row has."""
    chosen = getattr(model, "feature_map_", None)
    return None if chosen is None else int(chosen.n_components_)


def _fingerprint(model):
    """Models that share it can be merged and compared."""
    if not hasattr(model, "fingerprint") or not hasattr(model, "feature_map_"):
        return None
    return model.fingerprint()


def _range(told):
    low, high = told["lowest"], told["highest"]
    if low is None:
        return None
    if not isinstance(low, list):
        return f"{number(low)} to {number(high)}"
    pairs = zip(told["target"] or ["?"] * len(low), low, high, strict=True)
    return "; ".join(f"{name} {number(a)} to {number(b)}" for name, a, b in pairs)


def _sources(sources):
    rows = [
        (
            str(each.get("name", "?")),
            each.get("rows") if isinstance(each.get("rows"), int) else "",
            byte_size(each["bytes"]) if isinstance(each.get("bytes"), int) else "",
            str(each.get("sha256", ""))[:12],
        )
        for each in sources[:_MOST_LISTED]
    ]
    return listing(
        ["fitted to", "rows", "size", "sha256"], rows, text={"fitted to", "sha256"}
    )
