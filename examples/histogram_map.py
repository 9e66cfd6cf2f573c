"""A feature map of one's own: the bin that a number falls into.

A density matrix over this map is a histogram that adds up across files and machines,
forgets, and answers whatever other densities do: ``CONTRIBUTING.md`` explains it.

    python examples/histogram_map.py
"""

from numbers import Integral

import numpy as np

from rhokit import DMKDE
from rhokit.features import FeatureMap
from rhokit.records import Array
from rhokit.testing import check_map
from rhokit.validation import Interval


class HistogramFeatures(FeatureMap):
    """The bin that a number falls into, one of equally wide ones."""

    name = "histogram"
    file_fields = FeatureMap.file_fields | {"edges": Array(("B",))}
    _parameter_table = {"n_bins": [Interval(Integral, 1, None, closed="left")]}  # noqa: RUF012

    def __init__(self, *, n_bins=10):
        self.n_bins = n_bins

    def _draw(self, rows, weights):
        seen = rows if weights is None else rows[weights > 0]
        self.edges_ = np.linspace(seen.min(), seen.max(), self.n_bins + 1)
        self.restore()

    def restore(self):  # what follows from the fields that a file keeps
        self.n_columns_ = self.n_components_ = len(self.edges_) - 1

    def columns(self, rows, *, relative=False, row_scale=None, out=None):
        places = np.searchsorted(self.edges_[1:-1], rows[:, 0], side="right")
        columns = np.eye(self.n_columns_, dtype=self.dtype_)[places]
        return columns if row_scale is None else columns * row_scale[:, None], None

    def log_mass(self, power=2):
        return float(np.log(self.edges_[1] - self.edges_[0]))

    def _drawn(self):  # two maps that drew the same give states that add up
        return [self.edges_]


def one_column(n, seed):
    """Rows for the laws."""
    return np.random.default_rng(seed).normal(size=(n, 1))


def main():
    """A histogram as a density, and the laws that it keeps."""
    rows = one_column(1000, 0)
    model = DMKDE(feature_map=HistogramFeatures(n_bins=20)).fit(rows)
    heights, edges = np.histogram(rows, 20, density=True)
    middles = (edges[1:] + edges[:-1])[:, None] / 2
    error = np.abs(model.density(middles) - heights).max()
    print(f"largest difference to numpy.histogram: {error:.1e}")
    check_map(HistogramFeatures(n_bins=8), one_column)
    print("all laws of rhokit.testing hold")


if __name__ == "__main__":
    main()
