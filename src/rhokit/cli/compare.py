"""``rhokit compare``: whether data have changed, told from two models."""

from pathlib import Path
from typing import Annotated

import typer

from rhokit.cli.errors import LIMIT_PASSED


def compare(
    out,
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
):
    """How far apart the data of two models are: their maximum mean discrepancy.

    It is given as a ratio to what chance would make of it, too: two samples of one
    source have about 1; above 2 they hardly are such samples, above 3 they are not.
    """
    from rhokit.cli.merge import check_alike
    from rhokit.cli.models import load_model
    from rhokit.metrics import class_discrepancies, maximum_mean_discrepancy

    first, second = load_model(old), load_model(new)
    check_alike(first, second)
    found = maximum_mean_discrepancy(first.model, second.model)
    classes = {}
    if hasattr(first.model, "classes_"):
        classes = class_discrepancies(first.model, second.model)
    passed = fail_above is not None and found.ratio > fail_above
    told = _told(found) | {
        "changed": found.ratio > 2,
        "classes": {str(label): _told(each) for label, each in classes.items()},
        "fail_above": fail_above,
        "failed": passed,
    }
    out.result(told, *_shown(first, second, found, classes, fail_above))
    return LIMIT_PASSED if passed else 0


def verdict(ratio):
    """What a ratio means, in words."""
    if ratio > 3:
        return "the data have changed"
    if ratio > 2:
        return "the data have probably changed (by chance in less than 5 % of cases)"
    return "no change that chance would not explain"


def _told(found):
    return {
        "discrepancy": found.value,
        "chance": found.chance,
        "ratio": found.ratio,
        "p_value_at_most": min(found.p_value, 1.0),
    }


def _shown(first, second, found, classes, fail_above):
    from rhokit.cli.console import listing, number, properties
    from rhokit.cli.models import total_weight

    rows = [number(total_weight(each.model)) for each in (first, second)]
    yield properties(
        [
            ("old", f"{first.path} ({rows[0]} rows)"),
            ("new", f"{second.path} ({rows[1]} rows)"),
            ("discrepancy", f"{found.value:.4g}"),
            ("by chance alone", f"{found.chance:.4g}"),
            ("ratio", f"{found.ratio:.2f}{_against(found.ratio, fail_above)}"),
            ("verdict", verdict(found.ratio)),
        ]
    )
    if classes:
        cells = [
            (str(label), f"{each.value:.4g}", f"{each.chance:.4g}", f"{each.ratio:.2f}")
            for label, each in sorted(classes.items(), key=lambda item: -item[1].ratio)
        ]
        headers = ["class", "discrepancy", "by chance", "ratio"]
        yield listing(headers, cells, text={"class"})
        lacking = _lacking(first, second, classes)
        if lacking:
            yield lacking


def _against(ratio, limit):
    if limit is None:
        return ""
    return f" (limit {limit:g}: {'passed' if ratio > limit else 'kept'})"


def _lacking(first, second, classes):
    """Classes that only one of the two has rows of."""
    from rhokit.cli.console import short_list

    labels = {*first.model.classes_.tolist(), *second.model.classes_.tolist()}
    lone = sorted(str(label) for label in labels - classes.keys())
    return f"Only one of the two has rows of: {short_list(lone)}" if lone else None
