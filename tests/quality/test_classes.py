"""Classes of real data: as accurate as the project promises."""

import pytest

from benchmarks import real_data
from benchmarks.goals import classes

# Sets whose 20 partitions take more than a few seconds.
LARGE = ("stocks", "abalone")


def load(loader, name, *arguments):
    """Real data, or a skipped test where they are not there."""
    reason = real_data.missing(name)
    if reason is not None:
        pytest.skip(reason)
    return loader(name, *arguments)


@pytest.mark.slow
@pytest.mark.parametrize("name", classes.LEAST_ACCURACY)
def test_accuracy_with_a_thousand_features(name):
    split = load(real_data.load_classes, name)
    result = classes.class_accuracy(name, split)
    assert result.goal is not None
    assert result.goal.is_met(result.value), result


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in LARGE else [])
        for name in classes.MOST_ORDINAL_ERROR
    ],
)
def test_error_of_labels_that_have_an_order(name):
    partitions = load(real_data.load_partitions, name, "y_ordinal")
    assert len(partitions) == 20
    result = classes.ordinal_error(name, partitions)
    assert result.goal is not None
    assert result.goal.is_met(result.value), result
