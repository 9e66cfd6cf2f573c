"""``rhokit compare``: whether data have changed, told from two models."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from rhokit.cli.console import Output, listing, number, properties, short_list
from rhokit.cli.failures import FINE, LIMIT_PASSED


def compare(
    out: Output,
    old: Annotated[
        Path,
        typer.Argument(metavar="OLD", help="A model file.", show_default=False),
    ],
    new: Annotated[
        Path,
        typer.Argument(
            metavar="NEW", help="One fitted with --like OLD.", show_default=False
        ),
    ],
    fail_above: Annotated[
        float | None,
        typer.Option(
            metavar="RATIO",
            help="End with code 3 if the difference is more than so many times as "
            "large as by chance.",
        ),
    ] = None,
) -> int:
    """How far apart the data of two models are: their maximum mean discrepancy.

    It is given as a ratio to what chance would make of it, too: two samples of one
    source have about 1; above 2 they hardly are such samples, above 3 they are not.
    That is so of rows that are independent of one another: those of a time series
    differ by more without any change, and should be thinned before they are fitted.
    """
    from rhokit.cli.stored_models import check_alike, load_model
    from rhokit.metrics import class_discrepancies, maximum_mean_discrepancy

    pair = load_model(old), load_model(new)
    check_alike(*pair)
    first, second = (each.model for each in pair)
    found = maximum_mean_discrepancy(first, second)
    classes = class_discrepancies(first, second) if pair[0].has_labels else {}
    passed = fail_above is not None and found.ratio > fail_above
    told = _told(found) | {
        "changed": found.ratio > 2,
        "classes": {str(label): _told(each) for label, each in classes.items()},
        "fail_above": fail_above,
        "failed": passed,
    }
    shown = [_summary(pair, found, fail_above)]
    out.result(told, *shown, *_by_class(first, second, classes))
    return LIMIT_PASSED if passed else FINE


def verdict(ratio: float) -> str:
    """The meaning of a ratio, in words."""
    if ratio > 3:
        return "the data have changed"
    if ratio > 2:
        return "the data have probably changed (by chance in less than 5 % of cases)"
    return "no change that chance would not explain"


def _told(found: Any) -> dict[str, Any]:
    return {
        "discrepancy": found.value,
        "chance": found.chance,
        "ratio": found.ratio,
        "p_value_at_most": min(found.p_value, 1.0),
    }


def _summary(pair: Iterable[Any], found: Any, limit: float | None) -> Any:
    old, new = (
        f"{each.path} ({number(each.estimator.fitted_model().total_weight)} rows)"
        for each in pair
    )
    return properties(
        [
            ("old", old),
            ("new", new),
            ("discrepancy", f"{found.value:.4g}"),
            ("by chance alone", f"{found.chance:.4g}"),
            ("ratio", f"{found.ratio:.2f}{_against(found.ratio, limit)}"),
            ("verdict", verdict(found.ratio)),
        ]
    )


def _by_class(first: Any, second: Any, classes: dict[Any, Any]) -> Iterator[Any]:
    """A table of the classes that both have rows of, and the names of the others."""
    if not classes:
        return
    cells = [
        (str(label), f"{each.value:.4g}", f"{each.chance:.4g}", f"{each.ratio:.2f}")
        for label, each in sorted(classes.items(), key=lambda item: -item[1].ratio)
    ]
    yield listing(["class", "discrepancy", "by chance", "ratio"], cells, text={"class"})
    labels = {*first.classes_.tolist(), *second.classes_.tolist()}
    lone = sorted(str(label) for label in labels - classes.keys())
    if lone:
        yield f"Only one of the two has rows of: {short_list(lone)}"


def _against(ratio: float, limit: float | None) -> str:
    if limit is None:
        return ""
    return f" (limit {limit:g}: {'passed' if ratio > limit else 'kept'})"
