"""Models on the backend of an array library train to the CPU's numbers: weights, dropout masks and losses."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest

import tt
from tests.backends.array_api.devices import device
from tt import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(9, 6)
        self.lstm = nn.LSTM(6, 5, num_layers=2, dropout=0.3, bidirectional=True)
        self.last = nn.Linear(10, 4)

    def forward(self, x):
        return self.last(self.lstm(self.table(x))[0]).flatten(0, 1)


def convolutions():
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.GELU(),
        nn.MaxPool2d(2),
        nn.Dropout2d(0.2),
        nn.ConvTranspose2d(4, 4, 2, stride=2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.LazyLinear(4),
    )


def attention():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
    return nn.Sequential(nn.TransformerEncoder(layer, 1), nn.Flatten(), nn.Linear(24, 4))


PROGRAMS = {
    "convolutions": (convolutions, lambda: tt.randn(8, 2, 6, 6), tt.optim.SGD),
    "recurrent": (Tagger, lambda: tt.randint(0, 9, (2, 4)), tt.optim.Adagrad),
    # No Adam: it would make steps of the rounding errors in the gradient of the keys' bias, which is 0.
    "attention": (attention, lambda: tt.randn(8, 3, 8), tt.optim.SGD),
}


def trained(name, place):
    """Return the first weights, the losses of some steps, and the last weights."""
    make, draw, optimizer = PROGRAMS[name]
    tt.manual_seed(0)
    with tt.device(place):
        model, x, y = make(), draw(), tt.randint(0, 4, (8,))
        model(x)  # lazy layers get their shapes
    first = [p.detach().cpu().numpy().copy() for p in model.parameters()]
    steps = optimizer(model.parameters(), lr=0.02)
    losses = []
    for _ in range(3):
        steps.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        steps.step()
        losses.append(loss.item())
    assert {p.device.type for p in model.parameters()} == {tt.device(place).type}
    return first, losses, [p.detach().cpu().numpy() for p in model.parameters()]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_model_trains_to_the_numbers_of_the_cpu(name):
    first, losses, last = trained(name, "cpu")
    with device(array_api_strict, "trains"):
        other_first, other_losses, other_last = trained(name, "trains")
    np.testing.assert_allclose(other_losses, losses, rtol=1e-5)
    for mine, others in ((first, other_first), (last, other_last)):
        for one, other in zip(mine, others, strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-6)
    assert losses[0] != losses[-1]
