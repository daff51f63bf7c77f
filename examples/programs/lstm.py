"""An LSTM learns to continue a text, letter by letter.

Run it: python -m tt.examples.programs.lstm --steps 200
"""

from __future__ import annotations

import argparse

import tt as torch
from tt import nn

TEXT = """
The river came down from the hills in spring and carried the snow with it. It ran past the mill, past the long wall of
the garden, and under the bridge where the children stood and counted boats. In summer it was slow and green. The boats
lay on their sides, the mill was silent, and the children walked across the stones to the other bank. In autumn the rain
came, and the river grew, and the miller opened the gate and let the wheel turn again. All winter it turned. At night
one heard it from the bridge, from the garden, and from the houses on the hill, and whoever heard it knew that there
would be bread in the morning. Then the spring came back, and the river carried the snow down from the hills.
""".replace("\n", " ").strip()
LETTERS = sorted(set(TEXT))
CODES = torch.tensor([LETTERS.index(letter) for letter in TEXT])
State = tuple[torch.Tensor, torch.Tensor]


class Writer(nn.Module):
    """Letters to vectors, two layers of LSTM, scores for the next letter."""

    def __init__(self, hidden: int = 96, dropout: float = 0.1) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(LETTERS), 32)
        self.lstm = nn.LSTM(32, hidden, num_layers=2, dropout=dropout, batch_first=True)
        self.head = nn.Linear(hidden, len(LETTERS))

    def forward(self, letters: torch.Tensor, state: State | None = None) -> tuple[torch.Tensor, State]:
        """Return the scores after each letter, and the state after the last."""
        output, state = self.lstm(self.embedding(letters), state)
        return self.head(output), state


def train(model: Writer, steps: int, rows: int = 8, length: int = 24) -> list[float]:
    """Train on parts of the text, each row of which goes on where its last part ended; return the losses."""
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=max(steps, 2))
    criterion = nn.CrossEntropyLoss()
    columns = CODES[: len(CODES) // rows * rows].reshape(rows, -1)
    state, start, losses = None, 0, []
    model.train()
    for step in range(steps):
        if start + length + 1 > columns.shape[1]:
            state, start = None, 0
        part = columns[:, start : start + length + 1]
        start += length
        scores, state = model(part[:, :-1], state)
        state = state[0].detach(), state[1].detach()
        loss = criterion(scores.transpose(1, 2), part[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        if step % 20 == 0:
            print(f"step {step:4}  loss {loss.item():.4f}  rate {scheduler.get_last_lr()[0]:.5f}")
    return losses


@torch.no_grad()
def write(model: Writer, beginning: str, length: int = 120) -> str:
    """Continue a text with letters drawn from the network's predictions."""
    model.eval()
    text, state = beginning, None
    letters = torch.tensor([[LETTERS.index(letter) for letter in beginning]])
    for _ in range(length):
        scores, state = model(letters, state)
        letters = torch.multinomial(torch.softmax(scores[:, -1] / 0.5, dim=-1), 1)
        text += LETTERS[int(letters.item())]
    return text


def main() -> None:
    """Train, and print a continuation."""
    parser = argparse.ArgumentParser(description="An LSTM that continues a text.")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    model = Writer()
    train(model, args.steps)
    print(write(model, "The river "))


if __name__ == "__main__":
    main()
