"""A network learns two interleaved spirals in float16, stops in the middle, and goes on from a checkpoint.

Run it: python -m tt.examples.programs.mixed_precision --steps 400
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import tt as torch
import tt.nn.functional as F
from tt import nn, optim


def spirals(step: int, count: int = 128) -> tuple[torch.Tensor, torch.Tensor]:
    """Return points of two spirals and which of them each is on; another step gives other points."""
    number = torch.arange(count, dtype=torch.float32)
    labels = torch.arange(count) % 2
    angle = (number + 0.37 * step) % count / count * 3 * torch.pi + 0.5
    turn = angle + labels * torch.pi
    points = torch.stack([turn.cos(), turn.sin()], 1) * (angle / 10)[:, None]
    return points, labels


class Net(nn.Module):
    """Three linear layers."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 2)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the scores of the two spirals."""
        scores: torch.Tensor = self.layers(x)
        return scores


class Training:
    """A model with all that a checkpoint has to hold: optimizer, scaler, and the number of steps so far."""

    def __init__(self) -> None:
        self.model = Net()
        self.optimizer = optim.Adam(self.model.parameters(), lr=0.01)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**20, growth_interval=50)
        self.step = 0

    def run(self, steps: int) -> list[float]:
        """Train for so many steps, and return the losses."""
        losses = []
        for _ in range(steps):
            points, labels = spirals(self.step)
            self.optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                loss = F.cross_entropy(self.model(points), labels)
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.scaler.step(self.optimizer)
            self.scaler.update()
            losses.append(loss.item())
            if self.step % 50 == 0:
                print(f"step {self.step:4}  loss {loss.item():.4f}  scale {self.scaler.get_scale():.0f}")
            self.step += 1
        return losses

    def save(self, path: Path) -> None:
        """Write a checkpoint."""
        parts = {name: getattr(self, name).state_dict() for name in ("model", "optimizer", "scaler")}
        torch.save({**parts, "step": self.step}, path)

    def load(self, path: Path) -> None:
        """Go back to a checkpoint."""
        checkpoint = torch.load(path)
        for name in ("model", "optimizer", "scaler"):
            getattr(self, name).load_state_dict(checkpoint[name])
        self.step = checkpoint["step"]


@torch.no_grad()
def accuracy(model: Net) -> float:
    """Return the share of points that the model puts on the right spiral."""
    points, labels = spirals(7777, 1000)
    return (model(points).argmax(1) == labels).float().mean().item()


def main() -> None:
    """Train, stop in the middle, and go on with new objects from a checkpoint."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint.pt"
        training = Training()
        training.run(options.steps // 2)
        training.save(path)
        training = Training()
        training.load(path)
    training.run(options.steps - options.steps // 2)
    print(f"accuracy {accuracy(training.model):.3f}")


if __name__ == "__main__":
    main()
