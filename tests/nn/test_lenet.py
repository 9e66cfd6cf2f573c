"""The paper's encoder of images."""

import pytest
import torch
from torch import nn

from rhokit.nn import ClassifierHead, CrossEntropy, FourierLayer, LeNet


@pytest.mark.parametrize(
    ("size", "channels", "flat"),
    [
        (28, 1, 50 * 7 * 7),
        (32, 3, 50 * 8 * 8),
        (8, 1, 50 * 2 * 2),
        (4, 1, 50),
        (9, 2, 200),
    ],
)
def test_shapes(size, channels, flat):
    network = LeNet(size, channels)
    assert network(torch.zeros(2, channels, size, size)).shape == (2, 84)
    assert network[7].in_features == flat


def test_the_layers_of_the_paper():
    network = LeNet()
    kinds = [type(each) for each in network]
    block = [nn.Conv2d, nn.ReLU, nn.AvgPool2d]
    assert kinds == [*block, *block, nn.Flatten, nn.Linear, nn.ReLU]
    first, second = network[0], network[3]
    assert (first.in_channels, first.out_channels) == (1, 20)
    assert (second.in_channels, second.out_channels) == (20, 50)
    for filters in (first, second):
        assert filters.kernel_size == (5, 5)
        assert filters.stride == (1, 1)
        assert filters.padding == "same"
    assert [network[i].kernel_size for i in (2, 5)] == [2, 2]
    assert network[7].out_features == 84
    assert network(torch.ones(1, 1, 28, 28)).min() >= 0  # the last layer is a ReLU


def test_pooling_is_of_averages():
    network = LeNet(8)
    image = torch.arange(64.0).reshape(1, 1, 8, 8)
    pooled = network[2](image)
    assert pooled[0, 0, 0, 0] == (0 + 1 + 8 + 9) / 4


def test_other_widths():
    assert LeNet(8, n_outputs=10)(torch.zeros(2, 1, 8, 8)).shape == (2, 10)


@pytest.mark.parametrize("size", [0, 1, 3])
def test_too_small_images(size):
    with pytest.raises(ValueError, match=f"size must be at least 4 .*got {size}"):
        LeNet(size)


@pytest.mark.parametrize("trainable", [False, True])
def test_gradients_reach_every_weight(trainable):
    torch.manual_seed(0)
    features = FourierLayer(84, 32, gamma=0.5, trainable=trainable, random_state=0)
    network = nn.Sequential(LeNet(8), ClassifierHead(features, 3, 2, random_state=0))
    images = torch.randn(6, 1, 8, 8)
    CrossEntropy()(network(images), torch.tensor([0, 1, 2, 0, 1, 2])).backward()
    for name, weight in network.named_parameters():
        if name.startswith("1.features") and not trainable:
            assert weight.grad is None
        else:
            assert weight.grad.abs().max() > 0, name


def test_an_encoder_learns_with_its_head():
    torch.manual_seed(0)
    features = FourierLayer(84, 32, gamma=0.5, random_state=0)
    network = nn.Sequential(LeNet(8), ClassifierHead(features, 3, 2, random_state=0))
    images, codes = torch.randn(12, 1, 8, 8), torch.arange(12) % 3
    optimizer = torch.optim.Adam(network.parameters(), 3e-3)
    for _ in range(60):
        optimizer.zero_grad()
        loss = CrossEntropy()(network(images), codes)
        loss.backward()
        optimizer.step()
    assert loss < 0.2
