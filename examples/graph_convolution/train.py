"""A network of two graph convolutions (Kipf and Welling 2017, arXiv:1609.02907), trained on a few known nodes."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import tt
import tt.nn.functional as F
from tt.examples.graph_convolution.graphs import Graph, normalised

__all__ = ["Network", "Result", "Settings", "train"]


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a training run, besides the graph."""

    seed: int = 0
    layout: str = "sparse_csr"
    hidden: int = 16
    epochs: int = 100
    learning_rate: float = 0.02
    decay: float = 5e-4


@dataclass(frozen=True, slots=True)
class Result:
    """The accuracy on the other nodes, the last loss, all scores, and the time."""

    accuracy: float
    loss: float
    scores: tt.Tensor
    seconds: float


class Network:
    """Two layers: each node gets the mean of the features of its neighbourhood, times a weight."""

    def __init__(self, inputs: int, hidden: int, classes: int) -> None:
        self.weights = [_weight(inputs, hidden), _weight(hidden, classes)]

    def __call__(self, matrix: tt.Tensor, features: tt.Tensor) -> tt.Tensor:
        """Return scores of each node for each class; `matrix` averages neighbourhoods."""
        first, second = self.weights
        hidden = F.relu(matrix @ (features @ first))
        return matrix @ (hidden @ second)


def _weight(inputs: int, outputs: int) -> tt.Tensor:
    """Return a weight that keeps the variance in both directions (Glorot and Bengio 2010)."""
    bound = math.sqrt(6 / (inputs + outputs))
    weight: tt.Tensor = (tt.rand(inputs, outputs, dtype=tt.float64) * 2 - 1) * bound
    weight.requires_grad_()
    return weight


class Adam:
    """Gradient descent whose steps are scaled by the size of past gradients (Kingma and Ba 2015, arXiv:1412.6980)."""

    def __init__(self, parameters: list[tt.Tensor], rate: float, decay: float) -> None:
        self.parameters, self.rate, self.decay, self.count = parameters, rate, decay, 0
        self.means = [tt.zeros_like(p) for p in parameters]
        self.squares = [tt.zeros_like(p) for p in parameters]

    @tt.no_grad()
    def step(self) -> None:
        """Move the parameters and forget their gradients."""
        self.count += 1
        for p, mean, square in zip(self.parameters, self.means, self.squares, strict=True):
            if p.grad is None:
                continue
            gradient = p.grad + self.decay * p
            mean.mul_(0.9).add_(gradient, alpha=0.1)
            square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
            root = (square / (1 - 0.999**self.count)).sqrt_().add_(1e-8)
            p.addcdiv_(mean, root, value=-self.rate / (1 - 0.9**self.count))
            p.grad = None


def train(graph: Graph, settings: Settings) -> Result:
    """Train on the known nodes, and measure the accuracy on the others.

    Parameters
    ----------
    graph : Graph
        The nodes and their edges.
    settings : Settings
        With the layout "strided" the graph is a dense matrix, which computes the same.
    """
    tt.manual_seed(settings.seed)
    matrix, features = normalised(graph, settings.layout), graph.features
    if settings.layout == "strided":
        features = features.to_dense()
    network = Network(int(features.shape[1]), settings.hidden, int(graph.labels.max().item()) + 1)
    optimizer = Adam(network.weights, settings.learning_rate, settings.decay)
    start = time.perf_counter()
    loss = math.nan
    for _ in range(settings.epochs):
        scores = network(matrix, features)
        error = F.cross_entropy(scores[graph.known], graph.labels[graph.known])
        error.backward()
        optimizer.step()
        loss = error.item()
    seconds = time.perf_counter() - start
    with tt.no_grad():
        scores = network(matrix, features)
    unknown = tt.ones(len(graph), dtype=tt.bool)
    unknown[graph.known] = False
    right = (scores.argmax(1) == graph.labels)[unknown]
    return Result(float(right.to(tt.float64).mean().item()), loss, scores, seconds)
