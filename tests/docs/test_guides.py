"""Every section of the guides runs, on its own."""

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
GUIDES = (
    "start",
    "density",
    "classes",
    "values",
    *(f"coming-from/{path.stem}" for path in sorted(DOCS.glob("coming-from/*.md"))),
    "anomalies",
    "drift",
    "grids",
    "blend",
    "mosaic",
    "torch",
    "scale",
    "mixed",
    "inspection",
    "kernels",
    "information",
    "plots",
    "onnx",
    "quantum",
    "report",
    "theory",
)


def sections():
    """Text, first line and title of every section that has examples."""
    for guide in GUIDES:
        text = (DOCS / f"{guide}.md").read_text(encoding="utf-8")
        for match in re.finditer(r"^##? (.+?)\n.*?(?=^## |\Z)", text, re.M | re.S):
            if ">>>" in match[0]:
                line = text[: match.start()].count("\n")
                title = f"{guide}: {match[1]}"
                yield pytest.param(match[0], line, title, id=title)


# Lightning's own affairs: a name that newer versions of torch deprecate, and advice
# about data loaders that depends on the machine.
@pytest.mark.filterwarnings("ignore:.*LeafSpec.* is deprecated:FutureWarning")
@pytest.mark.filterwarnings("ignore:The 'train_dataloader' does not have many workers")
@pytest.mark.parametrize(("text", "line", "title"), list(sections()))
def test_a_section_runs(text, line, title):
    example = doctest.DocTestParser().get_doctest(text, {}, title, title, line)
    report = []
    failed, tried = doctest.DocTestRunner().run(example, out=report.append)
    assert tried > 0
    assert failed == 0, "".join(report)
