"""A small GPT learns to add numbers of two digits, from sums that are written out: "37+45=280".

Run it: python -m tt.examples.programs.gpt --steps 600
"""

from __future__ import annotations

import argparse
import math

import tt as torch
import tt.nn as nn
import tt.nn.functional as F

LENGTH, SIGNS = 8, "0123456789+="


def sums(first: int, count: int) -> torch.Tensor:
    """Return sums as codes of shape (count, 9), from the 10,000 that exist in an order that mixes them."""
    found = []
    for number in range(first, first + count):
        a, b = divmod(number * 7919 % 10_000, 100)
        answer = f"{a + b:03}"[::-1]  # the last digit first, as one adds by hand
        found.append([SIGNS.index(sign) for sign in f"{a:02}+{b:02}={answer}"])
    return torch.tensor(found)


class Attention(nn.Module):
    """Every position attends to itself and to what comes before it (Vaswani et al. 2017, arXiv:1706.03762)."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return a tensor of the shape of `x`: (batch, position, width)."""
        batch, length, width = x.shape
        parts = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = parts.unbind(0)
        dropout = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """Attention and a small network, each added to what comes in."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, dropout)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return a tensor of the shape of `x`."""
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Signs and positions to vectors, blocks, scores for the next sign (Radford et al. 2018)."""

    def __init__(self, width: int = 64, heads: int = 4, layers: int = 2, dropout: float = 0.0) -> None:
        super().__init__()
        self.sign = nn.Embedding(len(SIGNS), width)
        self.position = nn.Embedding(LENGTH, width)
        self.blocks = nn.ModuleList([Block(width, heads, dropout) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, len(SIGNS), bias=False)
        self.head.weight = self.sign.weight  # one matrix for both ends
        self.apply(self.begin)

    @staticmethod
    def begin(module: nn.Module) -> None:
        """Begin with small weights."""
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, signs: torch.Tensor) -> torch.Tensor:
        """Return scores of shape (batch, position, sign)."""
        x = self.sign(signs) + self.position(torch.arange(signs.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def train(model: GPT, steps: int, batch: int = 64) -> list[float]:
    """Train on the three signs after "=", and return the losses."""
    matrices = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": matrices, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=3e-3, betas=(0.9, 0.98))
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / 20, 0.5 + 0.5 * math.cos(math.pi * step / steps))
    )
    losses = []
    model.train()
    for step in range(steps):
        lines = sums(step * batch % 9000, batch)
        scores = model(lines[:, :-1])[:, -3:]
        loss = F.cross_entropy(scores.reshape(-1, len(SIGNS)), lines[:, -3:].reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        if step % 50 == 0:
            print(f"step {step:4}  loss {loss.item():.4f}")
    return losses


@torch.no_grad()
def accuracy(model: GPT) -> float:
    """Return the share of unseen sums that the model gets right, sign by sign after its own answers."""
    model.eval()
    lines = sums(9100, 500)
    answered = lines[:, :6]
    for _ in range(3):
        answered = torch.cat([answered, model(answered)[:, -1].argmax(-1, keepdim=True)], 1)
    return (answered == lines).all(1).float().mean().item()


def main() -> None:
    """Train, and print how many unseen sums come out right."""
    parser = argparse.ArgumentParser(description="A small GPT that adds.")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    model = GPT()
    print(f"{sum(p.numel() for p in model.parameters())} parameters")
    train(model, args.steps)
    print(f"unseen sums that are right: {accuracy(model):.1%}")


if __name__ == "__main__":
    main()
