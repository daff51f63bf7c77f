"""A classifier of handwritten digits: a small convolutional network, trained by gradient descent with momentum.

Every number that this program computes passes through the dispatcher, the kernels of a backend and, while it
trains, the autograd plugin.  `tt demo` runs it and shows which operators that took.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import tt
import tt.nn.functional as F
from tt.examples.digits.data import Digits, permutation, split

__all__ = ["Network", "Settings", "Training", "accuracy", "fit", "train"]


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a training run, besides the data."""

    seed: int = 0
    epochs: int = 12
    batch: int = 32
    channels: tuple[int, int] = (32, 64)
    learning_rate: float = 0.1
    momentum: float = 0.9
    dropout: float = 0.4
    label_smoothing: float = 0.1
    shuffle_labels: bool = False


@dataclass(frozen=True, slots=True)
class Training:
    """The result of a training run: the accuracy on held-out digits, the last loss, and the time."""

    settings: Settings
    accuracy: float
    loss: float
    seconds: float


class Network:
    """Two convolutions and a linear layer: 8x8 pixels to features of every 3x3 neighbourhood to 10 scores."""

    def __init__(self, channels: tuple[int, int], dropout: float) -> None:
        first, second = channels
        self.dropout = dropout
        self.weight1, self.bias1 = parameters(first, 1, 3, 3)
        self.weight2, self.bias2 = parameters(second, first, 3, 3)
        self.weight3, self.bias3 = parameters(10, second * 4 * 4)

    def parameters(self) -> list[tt.Tensor]:
        """Return the trained tensors."""
        return [self.weight1, self.bias1, self.weight2, self.bias2, self.weight3, self.bias3]

    def __call__(self, images: tt.Tensor, *, training: bool = False) -> tt.Tensor:
        """Return ten scores for each image; the highest names the digit."""
        x = images.reshape(-1, 1, 8, 8)
        x = F.max_pool2d(F.relu(F.conv2d(x, self.weight1, self.bias1, padding=1)), 2)
        x = F.relu(F.conv2d(x, self.weight2, self.bias2, padding=1)).flatten(1)
        return F.linear(F.dropout(x, self.dropout, training), self.weight3, self.bias3)


def parameters(*size: int) -> tuple[tt.Tensor, tt.Tensor]:
    """Return a weight that keeps the variance of its inputs (He et al. 2015, arXiv:1502.01852) and a bias of zeros."""
    weight = tt.randn(size) * math.sqrt(2 / math.prod(size[1:]))
    return weight.requires_grad_(), tt.zeros(size[0], requires_grad=True)


class MomentumSGD:
    """Gradient descent that keeps a running sum of past gradients: v = momentum * v + g, p = p - rate * v."""

    def __init__(self, parameters: list[tt.Tensor], momentum: float) -> None:
        self.parameters, self.momentum = parameters, momentum
        self.velocities = [tt.zeros_like(parameter) for parameter in parameters]

    def step(self, rate: float) -> None:
        """Move the parameters against their gradients and forget the gradients."""
        with tt.no_grad():
            for parameter, velocity in zip(self.parameters, self.velocities, strict=True):
                if parameter.grad is not None:
                    velocity.mul_(self.momentum).add_(parameter.grad)
                    parameter.sub_(velocity, alpha=rate)
                    parameter.grad = None


def accuracy(network: Network, digits: Digits) -> float:
    """Return the accuracy of the network."""
    with tt.no_grad():
        predicted = network(digits.images).max(1).indices
        return float((predicted == digits.labels).sum().item() / len(digits))


def fit(
    digits: Digits, settings: Settings, on_epoch: Callable[[int, float], None] | None = None
) -> tuple[Network, Digits, float]:
    """Train on four fifths of the digits; return the network, the digits that were held out, and the last mean loss.

    Parameters
    ----------
    digits : Digits
        All of them; the seed decides which fifth is held out.
    settings : Settings
        Seed, length of the training and so on.
    on_epoch : callable, optional
        Called after each epoch with its number, from 1, and its mean loss.
    """
    tt.manual_seed(settings.seed)
    training, held_out = split(digits, shuffle_labels=settings.shuffle_labels)
    network = Network(settings.channels, settings.dropout)
    optimizer = MomentumSGD(network.parameters(), settings.momentum)
    mean_loss = math.nan
    for epoch in range(1, settings.epochs + 1):
        total = 0.0
        rate = settings.learning_rate * (1 - (epoch - 1) / settings.epochs)
        for batch in permutation(len(training)).split(settings.batch):
            part = training.at(batch)
            scores = network(part.images, training=True)
            loss = F.cross_entropy(scores, part.labels, label_smoothing=settings.label_smoothing)
            loss.backward()
            optimizer.step(rate)
            total += loss.item() * len(part)
        mean_loss = total / len(training)
        if on_epoch is not None:
            on_epoch(epoch, mean_loss)
    return network, held_out, mean_loss


def train(
    digits: Digits, settings: Settings, on_epoch: Callable[[int, float], None] | None = None
) -> Training:
    """Train as `fit` does, and measure the accuracy on what was held out."""
    start = time.perf_counter()
    network, held_out, mean_loss = fit(digits, settings, on_epoch)
    return Training(settings, accuracy(network, held_out), mean_loss, time.perf_counter() - start)
