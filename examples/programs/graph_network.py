"""A graph network finds the groups of nodes by their edges: messages go along edges and are summed by `index_add`.

A third of the nodes bear the name of their group; the network learns on one graph and is tried on another.

Run it: python -m tt.examples.programs.graph_network --steps 60
"""

from __future__ import annotations

import argparse
import random

import tt as torch
import tt.nn.functional as F
from tt import nn

NODES, NAMED, GROUPS = 120, 40, 3


def graph(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Return edges of shape (2, n), each in both directions, and the groups; edges within a group are more likely."""
    draw = random.Random(seed)
    pairs = [
        (a, b)
        for a in range(NODES)
        for b in range(a)
        if draw.random() < (0.15 if a % GROUPS == b % GROUPS else 0.01)
    ]
    edges = torch.tensor(pairs + [(b, a) for a, b in pairs]).t().contiguous()
    return edges, torch.arange(NODES) % GROUPS


class MessagePassing(nn.Module):
    """Each node gets the mean of what its neighbours send, and keeps a part of itself (Gilmer et al. 2017)."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.message = nn.Sequential(nn.Linear(2 * inputs, outputs), nn.ReLU(), nn.Linear(outputs, outputs))
        self.keep = nn.Linear(inputs, outputs)
        self.norm = nn.LayerNorm(outputs)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        """Return a row for each node; `x` has one, and `edges` has the shape (2, n)."""
        source, target = edges
        messages = self.message(torch.cat([x[source], x[target]], dim=1))
        received = torch.zeros(len(x), messages.shape[1]).index_add(0, target, messages)
        degree = torch.bincount(target, minlength=len(x)).clamp(min=1).unsqueeze(1)
        return self.norm(self.keep(x) + received / degree)


class GraphNetwork(nn.Module):
    """Three rounds of messages, and scores for the groups."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.rounds = nn.ModuleList([MessagePassing(GROUPS if k == 0 else width, width) for k in range(3)])
        self.head = nn.Linear(width, GROUPS)

    def forward(self, edges: torch.Tensor, groups: torch.Tensor) -> torch.Tensor:
        """Return scores of shape (nodes, groups); of `groups` those of the first nodes are read."""
        x = F.one_hot(groups, GROUPS).float()
        x[NAMED:] = 0.0
        for messages in self.rounds:
            x = F.relu(messages(x, edges))
        return self.head(x)


def train(model: GraphNetwork, steps: int) -> list[float]:
    """Train on the nodes without a name, and return the losses."""
    edges, groups = graph()
    optimizer = torch.optim.NAdam(model.parameters(), lr=5e-3, weight_decay=1e-3)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=10)
    losses = []
    model.train()
    for step in range(steps):
        loss = F.cross_entropy(model(edges, groups)[NAMED:], groups[NAMED:], label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step(loss.item())
        losses.append(loss.item())
        if step % 10 == 0:
            print(f"step {step:4}  loss {loss.item():.4f}")
    return losses


@torch.no_grad()
def accuracy(model: GraphNetwork) -> float:
    """Return the share of nodes without a name whose group is found, in a graph that was not trained on."""
    model.eval()
    edges, groups = graph(seed=1)
    return (model(edges, groups)[NAMED:].argmax(1) == groups[NAMED:]).float().mean().item()


def main() -> None:
    """Train, and print how many groups are found in another graph."""
    parser = argparse.ArgumentParser(description="A graph network that finds groups.")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    model = GraphNetwork()
    train(model, args.steps)
    print(f"groups that are right in another graph: {accuracy(model):.1%}")


if __name__ == "__main__":
    main()
