"""Data parallel training: each process has a part of each batch, and all take the same steps.

Run it: tt run --nproc-per-node=2 -m tt.examples.programs.data_parallel --steps 150
"""

from __future__ import annotations

import argparse

import tt as torch
import tt.distributed as dist
from tt import nn
from tt.nn.parallel import DistributedDataParallel
from tt.utils.data import DataLoader, DistributedSampler, TensorDataset

BATCH = 64
"""Of all processes together."""


class Net(nn.Module):
    """Points with ten coordinates to scores of four classes."""

    def __init__(self, hidden: int = 32) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(10, hidden), nn.Tanh(), nn.Linear(hidden, 4))

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        """Return the scores of points."""
        return self.layers(points)


def data(count: int, seed: int) -> TensorDataset:
    """Return points, and the classes that a rule gives them."""
    points = torch.randn(count, 10, generator=torch.Generator().manual_seed(seed))
    return TensorDataset(points, (points[:, 0] > 0) * 2 + (points[:, 1] + points[:, 2] > 0).long())


def train(model: nn.Module, steps: int, seed: int = 0) -> list[float]:
    """Train on this process's part of the data; return the losses, averaged over all processes."""
    parallel = DistributedDataParallel(model)
    samples = data(BATCH * 20, seed)
    sampler = DistributedSampler(samples, seed=seed)
    loader: DataLoader[list[torch.Tensor]] = DataLoader(
        samples, batch_size=BATCH // dist.get_world_size(), sampler=sampler
    )
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.1, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    losses: list[float] = []
    while len(losses) < steps:
        sampler.set_epoch(len(losses) // len(loader))
        for points, classes in loader:
            optimizer.zero_grad()
            loss = criterion(parallel(points), classes)
            loss.backward()
            optimizer.step()
            average = loss.detach()
            dist.all_reduce(average, op=dist.ReduceOp.AVG)
            losses.append(average.item())
            if len(losses) == steps:
                break
    return losses


def main() -> None:
    """Train a model and show how well it does."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    dist.init_process_group("gloo")
    torch.manual_seed(args.seed)
    model = Net()
    losses = train(model, args.steps, args.seed)
    if dist.get_rank() == 0:
        print(
            f"first loss {losses[0]:.3f}, last loss {losses[-1]:.3f}, with {dist.get_world_size()} processes"
        )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
