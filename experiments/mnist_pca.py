"""MNIST in 40 columns: principal components, scaled to the unit box."""

import numpy as np
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split

from benchmarks.real_data import Split
from experiments.data import load_split, unit_box

COLUMNS = 40


def mnist_rows(n, n_test, seed, d=COLUMNS):
    """Rows drawn from the training and from the test images, classes as frequent there.

    Components and ranges are those of the training rows that were drawn, so that test
    rows may leave the box.

    Parameters
    ----------
    n, n_test : int
    seed : int
        Of the draw.
    d : int

    Returns
    -------
    rows : array of shape (n, d), float64
    queries : array of shape (n_test, d), float64
    """
    images = load_split("mnist")
    train = _stratified(images.train_rows, images.train_target, n, seed)
    test = _stratified(images.test_rows, images.test_target, n_test, seed)
    components = PCA(d, random_state=seed).fit(train)
    parts = [components.transform(part).astype(np.float64) for part in (train, test)]
    nothing = np.empty(0)
    split = unit_box(Split(parts[0], nothing, parts[1], nothing))
    return split.train_rows, split.test_rows


def _stratified(rows, labels, n, seed):
    chosen, _ = train_test_split(
        np.arange(len(rows)), train_size=n, stratify=labels, random_state=seed
    )
    return rows[chosen]
