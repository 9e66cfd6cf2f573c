"""``rhokit info``: what a model file holds."""

from collections.abc import Iterator
from typing import Any

from rhokit.cli.console import Output, byte_size, listing, properties
from rhokit.cli.options import ModelPath

_MOST_LISTED = 30


def info(out: Output, model: ModelPath) -> None:
    """Show what a model file holds: kind, columns, rows, map, where it comes from."""
    from rhokit.cli.descriptions import described
    from rhokit.cli.stored_models import load_model

    stored = load_model(model, fitted=False)
    told = described(stored.model, stored.note)
    told |= {"file": str(model), "bytes": model.stat().st_size}
    told |= {"sources": list(stored.note.sources)}
    out.result(told, *_shown(told))


def _shown(told: dict[str, Any]) -> Iterator[Any]:
    from rhokit.cli.descriptions import described_pairs

    pairs = [pair for pair in described_pairs(told) if pair[0] != "classes"]
    yield properties(
        [
            ("kind", told["kind"]),
            *pairs,
            ("can go on learning", "yes" if told["learns"] else "no"),
            ("file", f"{told['file']} ({byte_size(told['bytes'])})"),
        ]
    )
    if told["classes"]:
        rows = list(told["classes"].items())
        yield listing(["class", "rows"], rows[:_MOST_LISTED], text={"class"})
        if len(rows) > _MOST_LISTED:
            yield f"and {len(rows) - _MOST_LISTED:,} more classes"
    if told["sources"]:
        yield _sources(told["sources"])


def _sources(sources: list[dict[str, Any]]) -> Any:
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
