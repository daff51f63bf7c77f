"""A convolutional network reads digits of the size of MNIST's, drawn by formulas: seven strokes, moved and blurred.

Run it: python -m tt.examples.programs.convnet --steps 100
"""

from __future__ import annotations

import argparse

import tt as torch
import tt.nn.functional as F
from tt import nn, optim

# The ends of the strokes in a square from -1 to 1, and which of them each digit has.
ENDS = torch.tensor(
    [
        [[-1.0, -2.0], [1.0, -2.0]], [[-1.0, -2.0], [-1.0, 0.0]], [[1.0, -2.0], [1.0, 0.0]], [[-1.0, 0.0], [1.0, 0.0]],
        [[-1.0, 0.0], [-1.0, 2.0]], [[1.0, 0.0], [1.0, 2.0]], [[-1.0, 2.0], [1.0, 2.0]],
    ]
)  # fmt: skip
STROKES = torch.tensor(
    [[int(bit) for bit in f"{code:07b}"] for code in (119, 18, 93, 91, 58, 107, 111, 82, 127, 123)]
)


def fraction(x: torch.Tensor) -> torch.Tensor:
    """Return numbers from 0 to 1 without a pattern that one can see."""
    return (torch.sin(x) * 43758.5453).frac().abs().to(torch.float32)


def digits(first: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return images of shape (count, 1, 28, 28) and their digits; another `first` gives other images."""
    number = torch.arange(first, first + count, dtype=torch.float64)
    labels = torch.arange(first, first + count) % 10
    x_shift, y_shift, slant, size, width = (
        fraction(number * 12.9898 + 78.233 * k)[:, None, None] for k in range(5)
    )
    axis = torch.arange(28, dtype=torch.float32) - 13.5
    y = (axis[:, None] - 4 * (y_shift - 0.5)) / (4 + size)
    x = (axis - 4 * (x_shift - 0.5)) / (4 + size) + 0.3 * (slant - 0.5) * y
    points = torch.stack([x, y.expand_as(x)], -1).unsqueeze(1)  # count, 1, 28, 28, 2
    start, along = ENDS[:, None, None, 0], (ENDS[:, 1] - ENDS[:, 0])[:, None, None]
    part = ((points - start) * along).sum(-1, keepdim=True) / (along * along).sum(-1, keepdim=True)
    distance = (points - start - part.clamp(0, 1) * along).norm(dim=-1)
    ink = (1.5 - distance * (3 + width[:, None])).clamp(0, 1) * STROKES[labels][:, :, None, None]
    noise = fraction(torch.arange(count * 784, dtype=torch.float64).reshape(count, 28, 28) + 0.7 * first)
    return (ink.amax(1) * 0.8 + noise * 0.2).unsqueeze(1), labels


class Net(nn.Module):
    """Two convolutions, two linear layers, dropout between them."""

    def __init__(self, dropout: float = 0.25) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3)
        self.conv2 = nn.Conv2d(16, 32, 3)
        self.norm = nn.BatchNorm2d(32)
        self.dropout = nn.Dropout(dropout)
        self.fc1 = nn.Linear(32 * 12 * 12, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the logarithms of the probabilities of the ten digits."""
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.norm(self.conv2(x))), 2)
        x = self.dropout(torch.flatten(x, 1))
        x = F.relu(self.fc1(x))
        return F.log_softmax(self.fc2(self.dropout(x)), dim=1)


def train(model: Net, steps: int, batch: int = 32) -> list[float]:
    """Train, and return the losses."""
    optimizer = optim.Adadelta(model.parameters(), lr=0.5)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=50, gamma=0.7)
    losses = []
    model.train()
    for step in range(steps):
        images, labels = digits(step * batch, batch)
        optimizer.zero_grad()
        loss = F.nll_loss(model(images), labels)
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        if step % 10 == 0:
            print(f"step {step:4}  loss {loss.item():.4f}")
    return losses


@torch.no_grad()
def accuracy(model: Net) -> float:
    """Return the share of unseen images that the network reads correctly."""
    model.eval()
    images, labels = digits(1_000_000, 500)
    return (model(images).argmax(1) == labels).float().mean().item()


def main() -> None:
    """Train, and print the accuracy on unseen images."""
    parser = argparse.ArgumentParser(description="A convolutional network that reads drawn digits.")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    model = Net()
    train(model, args.steps)
    print(f"accuracy on unseen images: {accuracy(model):.1%}")


if __name__ == "__main__":
    main()
