"""Hogwild: four processes train one model in shared memory, without locks.

Run it: python -m tt.examples.programs.hogwild --steps 150
"""

from __future__ import annotations

import argparse

import tt as torch
import tt.multiprocessing as mp
from tt import nn


class Net(nn.Module):
    """Points with ten coordinates to scores of four classes."""

    def __init__(self, hidden: int = 32) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(10, hidden), nn.Tanh(), nn.Linear(hidden, 4))

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        """Return the scores of points."""
        return self.layers(points)


def batch(count: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Return points, and the classes that a rule gives them."""
    points = torch.randn(count, 10, generator=generator)
    return points, (points[:, 0] > 0) * 2 + (points[:, 1] + points[:, 2] > 0).long()


def work(rank: int, model: Net, steps: int, seed: int) -> None:
    """Train the model that all processes share; each one has an optimizer and data of its own."""
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(1000 * seed + rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    criterion = nn.CrossEntropyLoss()
    for _ in range(steps):
        points, classes = batch(32, generator)
        optimizer.zero_grad()
        criterion(model(points), classes).backward()
        optimizer.step()


def train(model: Net, steps: int, seed: int = 0, processes: int = 4) -> list[int | None]:
    """Train the model in several processes; return their exit codes."""
    model.share_memory()
    workers = [mp.Process(target=work, args=(rank, model, steps, seed)) for rank in range(processes)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return [worker.exitcode for worker in workers]


def accuracy(model: Net) -> float:
    """Return the share of new points whose class is right."""
    points, classes = batch(1000, torch.Generator().manual_seed(999_999))
    with torch.no_grad():
        return (model(points).argmax(1) == classes).float().mean().item()


def main() -> None:
    """Train a model and show how well it does."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    model = Net()
    print(f"before  accuracy {accuracy(model):.3f}")
    codes = train(model, args.steps, args.seed)
    print(f"after {len(codes)} x {args.steps} steps  accuracy {accuracy(model):.3f}")


if __name__ == "__main__":
    main()
