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
from tt import nn, optim
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


class Network(nn.Module):
    """Two convolutions and a linear layer: 8x8 pixels to features of every 3x3 neighbourhood to 10 scores."""

    def __init__(self, channels: tuple[int, int], dropout: float) -> None:
        super().__init__()
        first, second = channels
        self.features = nn.Sequential(
            nn.Unflatten(1, (1, 8, 8)),
            nn.Conv2d(1, first, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(first, second, 3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.dropout = nn.Dropout(dropout)
        self.scores = nn.Linear(second * 4 * 4, 10)
        self.apply(begin)

    def forward(self, images: tt.Tensor) -> tt.Tensor:
        """Return ten scores for each image; the highest names the digit."""
        found: tt.Tensor = self.scores(self.dropout(self.features(images)))
        return found


def begin(module: nn.Module) -> None:
    """Begin with weights that keep the variance of their inputs (He et al. 2015, arXiv:1502.01852), without biases."""
    if isinstance(module, nn.Conv2d | nn.Linear):
        nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def accuracy(network: Callable[[tt.Tensor], tt.Tensor], digits: Digits) -> float:
    """Return the accuracy of a network in eval mode."""
    with tt.no_grad():
        predicted = network(digits.images).max(1).indices
        return float((predicted == digits.labels).sum().item() / len(digits))


def fit(
    digits: Digits, settings: Settings, on_epoch: Callable[[int, float], None] | None = None
) -> tuple[Network, Digits, float]:
    """Train on four fifths of the digits; return the network in eval mode, the held-out digits, and the last mean loss.

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
    optimizer = optim.SGD(network.parameters(), lr=settings.learning_rate, momentum=settings.momentum)
    scheduler = optim.lr_scheduler.LinearLR(
        optimizer, 1.0, 1 / settings.epochs, total_iters=settings.epochs - 1
    )
    criterion = nn.CrossEntropyLoss(label_smoothing=settings.label_smoothing)
    mean_loss = math.nan
    for epoch in range(1, settings.epochs + 1):
        total = 0.0
        for batch in permutation(len(training)).split(settings.batch):
            part = training.at(batch)
            optimizer.zero_grad()
            loss = criterion(network(part.images), part.labels)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(part)
        scheduler.step()
        mean_loss = total / len(training)
        if on_epoch is not None:
            on_epoch(epoch, mean_loss)
    return network.eval(), held_out, mean_loss


def train(
    digits: Digits, settings: Settings, on_epoch: Callable[[int, float], None] | None = None
) -> Training:
    """Train as `fit` does, and measure the accuracy on what was held out."""
    start = time.perf_counter()
    network, held_out, mean_loss = fit(digits, settings, on_epoch)
    return Training(settings, accuracy(network, held_out), mean_loss, time.perf_counter() - start)
