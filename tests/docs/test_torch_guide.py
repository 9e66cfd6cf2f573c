"""Every section of docs/torch.md runs, on its own."""

import doctest
import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "torch.md"


def sections():
    """Title, text and first line of every section that has examples."""
    text = GUIDE.read_text(encoding="utf-8")
    for match in re.finditer(r"^## (.+?)\n.*?(?=^## |\Z)", text, re.M | re.S):
        if ">>>" in match[0]:
            yield pytest.param(
                match[0], text[: match.start()].count("\n"), match[1], id=match[1]
            )


# Lightning's own affairs: a name that newer versions of torch deprecate, and advice
# about data loaders that depends on the machine.
@pytest.mark.filterwarnings("ignore:.*LeafSpec.* is deprecated:FutureWarning")
@pytest.mark.filterwarnings("ignore:The 'train_dataloader' does not have many workers")
@pytest.mark.parametrize(("text", "line", "title"), list(sections()))
def test_a_section_runs(text, line, title):
    example = doctest.DocTestParser().get_doctest(text, {}, title, str(GUIDE), line)
    report = []
    failed, tried = doctest.DocTestRunner().run(example, out=report.append)
    assert tried > 0
    assert failed == 0, "".join(report)
