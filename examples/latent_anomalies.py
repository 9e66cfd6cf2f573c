"""Anomalies of wide rows behind an encoder: autoencoder and density trained together.

An autoencoder makes a few numbers of every row; a density head sees these, and how far
and in what direction the row that is decoded from them is off, and both are trained at
once: the squared error of the rows, and the negative log-likelihood of what was made of
them (LEAN-DMKDE of Gallego-Mejia et al. is of this form). Rows of low density are odd.
`DMKDOutlierDetector` stands beside it, fitted to the rows themselves, and to what the
encoder made of them.

    python examples/latent_anomalies.py                 # digits: 8 among the others
    python examples/latent_anomalies.py rows.npz        # arrays X, y (1: an anomaly)

With ``--clean`` everything is fitted to half of the normal rows alone.
"""

import argparse

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler
from torch import nn

from rhokit import DMKDOutlierDetector
from rhokit.nn import DensityHead, FourierLayer, NegativeLogLikelihood


class LatentDensity(nn.Module):
    """Encoder, decoder, and the density of what the encoder says of rows.

    Parameters
    ----------
    d, n_latent : int
        Columns of the rows, and numbers that are made of them.
    """

    def __init__(self, d, n_latent=8, n_hidden=64, n_components=512, rank=64, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.encoder = nn.Sequential(
            nn.Linear(d, n_hidden), nn.ReLU(), nn.Linear(n_hidden, n_latent), nn.Tanh()
        )
        self.decoder = nn.Sequential(
            nn.Linear(n_latent, n_hidden), nn.ReLU(), nn.Linear(n_hidden, d)
        )
        features = FourierLayer(
            n_latent + 2, n_components, gamma=2.0, random_state=seed
        )
        self.head = DensityHead(features, rank, random_state=seed)

    def latent(self, rows):
        """Numbers of the encoder, distance and angle to the decoded row; and that."""
        numbers = self.encoder(rows)
        decoded = self.decoder(numbers)
        away = (rows - decoded).square().mean(dim=1).add(1e-12).log() / 2
        angle = nn.functional.cosine_similarity(rows, decoded, dim=1)
        return torch.cat([numbers, away[:, None], angle[:, None]], dim=1), decoded

    def forward(self, rows):
        """Log-densities (n,), and the squared error of the rows."""
        made, decoded = self.latent(rows)
        return self.head(made), (rows - decoded).square().mean()


def trained(rows, *, epochs=60, weight=0.1, batch_size=128, seed=0):
    """The model after so many epochs; ``weight`` is that of the likelihood."""
    model = LatentDensity(rows.shape[1], seed=seed)
    optimiser = torch.optim.Adam(model.parameters(), lr=2e-3)
    loss, generator = NegativeLogLikelihood(), torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        for which in torch.randperm(len(rows), generator=generator).split(batch_size):
            logs, error = model(rows[which])
            optimiser.zero_grad()
            (error + weight * loss(logs)).backward()
            optimiser.step()
    return model.eval()


def areas(rows, labels, *, clean, epochs=60, seed=0):
    """Areas under the ROC curve: on the rows, behind the encoder, joint."""
    fitted = asked = np.arange(len(rows))
    if clean:
        usual = np.random.default_rng(seed).permutation(np.flatnonzero(labels == 0))
        fitted = usual[: len(usual) // 2]
        asked = np.setdiff1d(asked, fitted)
    rows = StandardScaler().fit(rows[fitted]).transform(rows)
    training = "clean" if clean else "contaminated"
    detector = DMKDOutlierDetector(training=training, random_state=seed)
    plain = detector.fit(rows[fitted]).score_samples(rows[asked])
    wide = torch.from_numpy(rows).float()
    model = trained(wide[fitted], epochs=epochs, seed=seed)
    with torch.no_grad():
        made = model.latent(wide)[0].double().numpy()
        joint = model(wide[asked])[0].numpy()
    behind = detector.fit(made[fitted]).score_samples(made[asked])
    found = {"on the rows": plain, "behind the encoder": behind, "joint": joint}
    return {name: roc_auc_score(labels[asked], -s) for name, s in found.items()}


def digits():
    """All digits but 8, and a few of these as anomalies."""
    rows, digit = load_digits(return_X_y=True)
    odd = np.flatnonzero(digit == 8)[:40]
    which = np.concatenate([np.flatnonzero(digit != 8), odd])
    return rows[which], (digit[which] == 8).astype(int)


def main():
    """Print the areas of a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", help="an .npz file with X and y")
    parser.add_argument("--clean", action="store_true")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rows", type=int, default=2000)
    options = parser.parse_args()
    rows, labels = digits()
    if options.file:
        arrays = np.load(options.file)
        rows, labels = arrays["X"].astype(float), arrays["y"]
    for seed in range(options.seeds):
        order = np.random.default_rng(seed).permutation(len(rows))[: options.rows]
        found = areas(
            rows[order],
            labels[order],
            clean=options.clean,
            epochs=options.epochs,
            seed=seed,
        )
        print(", ".join(f"{name} {area:.3f}" for name, area in found.items()))


if __name__ == "__main__":
    main()
