"""Train LeNet and a density-matrix classifier (DMKDC) as one network on images.

    python examples/lenet_digits.py

The images are scikit-learn's digits, 8 × 8 pixels. Beside it stands LeNet with a linear
softmax layer, trained by the same recipe on the same rows. The rows held out are the
last third.
"""

import argparse

import torch
from sklearn.datasets import load_digits
from torch import nn

from rhokit.core import cross_entropy
from rhokit.nn import ClassifierHead, FourierLayer, LeNet, Recipe, TrainingRows, train

TRAINING_ROWS = 1200


def load_rows() -> tuple[TrainingRows, TrainingRows]:
    """Images (n, 1, 8, 8) and labels, to train on and held out."""
    digits = load_digits()
    images = torch.tensor(digits.images[:, None] / 4, dtype=torch.float32)
    every = TrainingRows((images,), torch.tensor(digits.target))
    return (
        every.take(torch.arange(TRAINING_ROWS)),
        every.take(torch.arange(TRAINING_ROWS, len(images))),
    )


def density_matrices(seed: int) -> nn.Module:
    """A density matrix per class, over random features that are trained too."""
    features = FourierLayer(84, 256, gamma=0.05, trainable=True, random_state=seed)
    return ClassifierHead(features, 10, random_state=seed)


def linear_softmax(seed: int) -> nn.Module:
    """The usual last layer."""
    return nn.Sequential(nn.Linear(84, 10), nn.LogSoftmax(dim=1))


def main() -> None:
    """Train both networks and print how they do on the rows held out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    known, new = load_rows()
    recipe = Recipe(
        learning_rate=5e-3,
        max_epochs=arguments.epochs,
        batch_size=64,
        seed=arguments.seed,
    )
    for make_last in (density_matrices, linear_softmax):
        torch.manual_seed(arguments.seed)
        network = nn.Sequential(LeNet(8), make_last(arguments.seed))
        train(network, cross_entropy, known, recipe)
        with torch.no_grad():
            logs = network.eval()(*new.inputs)
        accuracy = (logs.argmax(dim=1) == new.target).double().mean().item()
        loss = cross_entropy(logs, new.target).item()
        name = make_last.__name__.replace("_", " ")
        print(f"LeNet + {name:16}  accuracy {accuracy:.4f}  log-loss {loss:.4f}")


if __name__ == "__main__":
    main()
