"""The digits network with weights in float32 and in int8: accuracy, memory, speed."""

from __future__ import annotations

import time
from dataclasses import dataclass

import tt
from tt.examples.digits.data import load
from tt.examples.digits.train import Network, Settings, accuracy, fit
from tt.examples.quantized.weight import Int8Weight, quantize_

__all__ = ["Comparison", "compare", "weight_bytes"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of a network: accuracies on held-out digits, share of equal answers, bytes, milliseconds."""

    float_accuracy: float
    int8_accuracy: float
    agreement: float
    float_bytes: int
    int8_bytes: int
    float_ms: float
    int8_ms: float


def weight_bytes(network: Network) -> int:
    """Return how many bytes the weights of a network take, its biases left out."""
    weights: list[tt.Tensor] = [p for p in network.parameters() if p.ndim >= 2]
    return sum(w.kept_bytes if isinstance(w, Int8Weight) else w.nbytes for w in weights)


def compare(seed: int, epochs: int = Settings().epochs) -> Comparison:
    """Train a network, replace its weights, and compare."""
    network, held_out, _ = fit(load(), Settings(seed=seed, epochs=epochs))
    before, float_bytes = accuracy(network, held_out), weight_bytes(network)
    answers, float_ms = _answers(network, held_out.images)
    quantize_(network)
    after, int8_bytes = accuracy(network, held_out), weight_bytes(network)
    again, int8_ms = _answers(network, held_out.images)
    same = (answers == again).to(tt.float32).mean().item()
    return Comparison(before, after, same, float_bytes, int8_bytes, float_ms, int8_ms)


def _answers(network: Network, images: tt.Tensor) -> tuple[tt.Tensor, float]:
    """Return the digits that a network reads, and the milliseconds that the fastest of five passes took."""
    best = float("inf")
    with tt.no_grad():
        for _ in range(5):
            start = time.perf_counter()
            scores = network(images)
            best = min(best, time.perf_counter() - start)
    return scores.max(1).indices, best * 1000
