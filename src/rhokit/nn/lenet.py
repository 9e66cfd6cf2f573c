"""The paper's encoder of images."""

from torch import Tensor, nn


class LeNet(nn.Sequential):
    """LeNet up to its dense layer: images (n, channels, size, size) to (n, 84).

    20 and 50 filters of 5 × 5 with "same" padding, each with ReLU and average pooling
    by two, and a dense layer of 84 with ReLU.

    Parameters
    ----------
    size : int, default=28
        Height and width of the images.
    channels : int, default=1
    n_outputs : int, default=84

    Examples
    --------
    >>> import torch
    >>> from rhokit.nn import ClassifierHead, FourierLayer, LeNet
    >>> network = torch.nn.Sequential(
    ...     LeNet(8), ClassifierHead(FourierLayer(84, 256, gamma=0.05), 10)
    ... )
    >>> network(torch.zeros(2, 1, 8, 8)).shape
    torch.Size([2, 10])
    """

    def __init__(self, size: int = 28, channels: int = 1, n_outputs: int = 84) -> None:
        if size < 4:
            raise ValueError(f"size must be at least 4 pixels, got {size!r}")
        pooled = size // 2 // 2
        super().__init__(
            nn.Conv2d(channels, 20, 5, padding="same"),
            nn.ReLU(),
            nn.AvgPool2d(2),
            nn.Conv2d(20, 50, 5, padding="same"),
            nn.ReLU(),
            nn.AvgPool2d(2),
            nn.Flatten(),
            nn.Linear(50 * pooled**2, n_outputs),
            nn.ReLU(),
        )

    def forward(self, images: Tensor) -> Tensor:
        """Features (n, n_outputs) of images (n, channels, size, size)."""
        features = images
        for layer in self:
            features = layer(features)
        return features
