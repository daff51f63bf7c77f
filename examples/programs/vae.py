"""A variational autoencoder (Kingma and Welling 2014, arXiv:1312.6114) learns pictures of a bump by two numbers each.

Run it: python -m tt.examples.programs.vae --steps 1000
"""

from __future__ import annotations

import argparse

import tt as torch
import tt.nn.functional as F
from tt import nn, optim

SIDE = 16


def bumps(count: int, step: int) -> torch.Tensor:
    """Return pictures of shape (count, 256), each with a bump somewhere; another step gives others."""
    number = torch.arange(count, dtype=torch.float32) + count * step
    x0, y0 = (((number * ratio) % 1.0 * 0.7 + 0.15) * SIDE for ratio in (0.7548777, 0.5698403))
    axis = torch.arange(SIDE, dtype=torch.float32)
    squares = (axis - x0[:, None, None]) ** 2 + (axis[:, None] - y0[:, None, None]) ** 2
    return torch.exp(squares / -10.0).flatten(1)


class VAE(nn.Module):
    """Pictures to the mean and the variance of a code, a drawn code to a picture."""

    def __init__(self, hidden: int = 128, code: int = 2) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(SIDE * SIDE, hidden), nn.SiLU())
        self.mean = nn.Linear(hidden, code)
        self.logvar = nn.Linear(hidden, code)
        self.decoder = nn.Sequential(nn.Linear(code, hidden), nn.SiLU(), nn.Linear(hidden, SIDE * SIDE))

    def forward(self, pictures: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the scores of the pixels, the mean and the logarithm of the variance."""
        hidden = self.encoder(pictures)
        mean, logvar = self.mean(hidden), self.logvar(hidden)
        code = mean + torch.randn_like(mean) * torch.exp(0.5 * logvar)
        return self.decoder(code), mean, logvar


def loss_of(
    scores: torch.Tensor, pictures: torch.Tensor, mean: torch.Tensor, logvar: torch.Tensor
) -> torch.Tensor:
    """Return the negative lower bound of the evidence, for each picture."""
    error = F.binary_cross_entropy_with_logits(scores, pictures, reduction="sum")
    divergence = -0.5 * torch.sum(1 + logvar - mean.pow(2) - logvar.exp())
    return (error + divergence) / len(pictures)


def train(model: VAE, steps: int, batch: int = 64) -> list[float]:
    """Train, and return the losses."""
    optimizer = optim.Adam(model.parameters(), lr=2e-3)
    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=max(steps, 1))
    losses = []
    model.train()
    for step in range(steps):
        pictures = bumps(batch, step)
        scores, mean, logvar = model(pictures)
        loss = loss_of(scores, pictures, mean, logvar)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        if step % 100 == 0:
            print(f"step {step:4}  loss {loss.item():.3f}")
    return losses


@torch.no_grad()
def drawn(model: VAE) -> str:
    """Return a row of pictures whose codes were drawn at random, in letters."""
    model.eval()
    pictures = torch.sigmoid(model.decoder(torch.randn(4, 2))).reshape(4, SIDE, SIDE)
    lines = [
        [" .:*#"[min(int(p * 5), 4)] for p in row] for row in pictures.transpose(0, 1).flatten(1).tolist()
    ]
    return "\n".join("".join(line) for line in lines)


def main() -> None:
    """Train, and print pictures that the model draws."""
    parser = argparse.ArgumentParser(description="A variational autoencoder that draws bumps.")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    model = VAE()
    train(model, args.steps)
    print(drawn(model))


if __name__ == "__main__":
    main()
