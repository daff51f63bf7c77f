"""A classifier of handwritten digits: two linear layers, trained by stochastic gradient descent with momentum.

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

__all__ = ["Network", "Settings", "Training", "accuracy", "train"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What a training run depends on, besides the data."""

    seed: int = 0
    epochs: int = 20
    batch: int = 32
    hidden: int = 64
    learning_rate: float = 0.1
    momentum: float = 0.9
    dropout: float = 0.1
    shuffle_labels: bool = False


@dataclass(frozen=True, slots=True)
class Training:
    """What came of a training run: the share of held-out digits told right, the last loss, and the time it took."""

    settings: Settings
    accuracy: float
    loss: float
    seconds: float


class Network:
    """Two linear layers with a ReLU between them: 64 pixels to hidden features to 10 scores."""

    def __init__(self, hidden: int, dropout: float) -> None:
        self.dropout = dropout
        self.weight1, self.bias1 = linear_parameters(64, hidden)
        self.weight2, self.bias2 = linear_parameters(hidden, 10)

    def parameters(self) -> list[tt.Tensor]:
        """Return what is trained."""
        return [self.weight1, self.bias1, self.weight2, self.bias2]

    def __call__(self, images: tt.Tensor, *, training: bool = False) -> tt.Tensor:
        """Return ten scores for each image; the highest names the digit."""
        features = F.relu(F.linear(images, self.weight1, self.bias1))
        features = F.dropout(features, self.dropout, training)
        return F.linear(features, self.weight2, self.bias2)


def linear_parameters(inputs: int, outputs: int) -> tuple[tt.Tensor, tt.Tensor]:
    """Return a weight that keeps the variance of its inputs (He et al. 2015, arXiv:1502.01852) and a bias of zeros."""
    weight = tt.randn(outputs, inputs) * math.sqrt(2 / inputs)
    return weight.requires_grad_(), tt.zeros(outputs, requires_grad=True)


class MomentumSGD:
    """Gradient descent that keeps a running sum of past gradients: v = momentum * v + g, p = p - rate * v."""

    def __init__(self, parameters: list[tt.Tensor], rate: float, momentum: float) -> None:
        self.parameters, self.rate, self.momentum = parameters, rate, momentum
        self.velocities = [tt.zeros_like(parameter) for parameter in parameters]

    def step(self) -> None:
        """Move the parameters against their gradients and forget the gradients."""
        with tt.no_grad():
            for parameter, velocity in zip(self.parameters, self.velocities, strict=True):
                if parameter.grad is not None:
                    velocity.mul_(self.momentum).add_(parameter.grad)
                    parameter.sub_(velocity, alpha=self.rate)
                    parameter.grad = None


def accuracy(network: Network, digits: Digits) -> float:
    """Return the share of the digits that the network tells right."""
    with tt.no_grad():
        predicted = network(digits.images).max(1).indices
        return float((predicted == digits.labels).sum().item() / len(digits))


def train(
    digits: Digits, settings: Settings, on_epoch: Callable[[int, float], None] | None = None
) -> Training:
    """Train on four fifths of the digits and measure the accuracy on the rest.

    Parameters
    ----------
    digits : Digits
        All of them; the seed decides which fifth is held out.
    settings : Settings
        Seed, length of the training and so on.
    on_epoch : callable, optional
        Called after each epoch with its number, from 1, and its mean loss.
    """
    start = time.perf_counter()
    tt.manual_seed(settings.seed)
    training, held_out = split(digits, shuffle_labels=settings.shuffle_labels)
    network = Network(settings.hidden, settings.dropout)
    optimizer = MomentumSGD(network.parameters(), settings.learning_rate, settings.momentum)
    mean_loss = math.nan
    for epoch in range(1, settings.epochs + 1):
        total = 0.0
        for batch in permutation(len(training)).split(settings.batch):
            part = training.at(batch)
            loss = F.cross_entropy(network(part.images, training=True), part.labels)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(part)
        mean_loss = total / len(training)
        if on_epoch is not None:
            on_epoch(epoch, mean_loss)
    return Training(settings, accuracy(network, held_out), mean_loss, time.perf_counter() - start)
