"""Draws ``docs/images/plots-information.png``: relative entropies of three wines.

Run it from the repository's root:

    python docs/pictures/information.py
"""

from pathlib import Path

from sklearn.datasets import load_wine

from rhokit import QMClassifier
from rhokit.plots import InformationDisplay

TARGET = Path(__file__).parents[1] / "images" / "plots-information.png"


def main() -> None:
    """Fit the guide's model, and draw its table."""
    X, y = load_wine(return_X_y=True)
    model = QMClassifier(n_components=32, random_state=0).fit(X, y)
    InformationDisplay.from_estimator(model).figure_.savefig(TARGET, dpi=110)


if __name__ == "__main__":
    main()
