"""A model trains on arrays of the standard to the numbers of the CPU: weights, dropout masks, gradients, steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import tt
from tt import nn

Weights = dict[str, np.ndarray]


class Convolutional(nn.Module):
    """Convolutions, batch norm, pooling, both kinds of dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25),
            nn.Conv2d(4, 6, 3, stride=2), nn.Dropout2d(0.3), nn.GELU(), nn.Flatten(),
        )  # fmt: skip
        self.head = nn.Linear(24, 3)

    def forward(self, images: tt.Tensor) -> tt.Tensor:
        return self.head(self.features(images))

    @staticmethod
    def inputs() -> tt.Tensor:
        return tt.rand(6, 1, 12, 12)


class Transformer(nn.Module):
    """Embeddings and two encoder layers."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(7, 8)
        self.position = nn.Parameter(tt.randn(5, 8))
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.2, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(8, 3)

    def forward(self, words: tt.Tensor) -> tt.Tensor:
        return self.head(self.encoder(self.embedding(words) + self.position).mean(1))

    @staticmethod
    def inputs() -> tt.Tensor:
        return tt.randint(0, 7, (6, 5))


class Recurrent(nn.Module):
    """Two layers of LSTM, and a GRU in both directions."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(7, 8)
        self.lstm = nn.LSTM(8, 6, 2, dropout=0.2, batch_first=True)
        self.gru = nn.GRU(6, 5, bidirectional=True, batch_first=True)
        self.head = nn.Linear(10, 3)

    def forward(self, words: tt.Tensor) -> tt.Tensor:
        return self.head(self.gru(self.lstm(self.embedding(words))[0])[0].mean(1))

    inputs = Transformer.inputs


MODELS = [Convolutional, Transformer, Recurrent]
OPTIMIZERS: dict[str, Callable[..., tt.optim.Optimizer]] = {
    "SGD": lambda parameters: tt.optim.SGD(parameters, lr=0.1, momentum=0.9),
    "AdamW": lambda parameters: tt.optim.AdamW(parameters, lr=0.01),
}


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    """Make float64 the default: Adam magnifies the rounding of gradients that are zero, such as of biases of keys."""
    with tt.default_dtype(tt.float64):
        yield


def trained(
    cls: type[nn.Module], make: Callable[..., tt.optim.Optimizer], device: object
) -> tuple[list[float], Weights]:
    """Train for a few steps; return the losses, and the state as it is then."""
    tt.manual_seed(3)
    inputs, targets = cls.inputs().to(device), tt.randint(0, 3, (6,)).to(device)
    model = cls().to(device)
    optimizer = make(model.parameters())
    scheduler = tt.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    loss_of = nn.CrossEntropyLoss(label_smoothing=0.1)
    tt.manual_seed(5)  # from here the generator of the device is drawn from
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = loss_of(model(inputs), targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return losses, {name: value.cpu().numpy() for name, value in model.state_dict().items()}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("model", MODELS, ids=lambda cls: cls.__name__)
def test_a_model_trains_to_the_numbers_of_the_cpu(device, model, optimizer):
    losses, weights = trained(model, OPTIMIZERS[optimizer], device)
    expected_losses, expected = trained(model, OPTIMIZERS[optimizer], "cpu")
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-9)
    assert len(set(expected_losses)) == 4  # it moved, and the masks of dropout differ
    assert list(weights) == list(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(weights[name], value, rtol=1e-7, atol=1e-7, err_msg=name)


@pytest.mark.parametrize("model", MODELS, ids=lambda cls: cls.__name__)
def test_a_model_that_is_made_on_the_device_begins_with_the_same_weights(device, model):
    tt.manual_seed(3)
    expected = model().state_dict()
    tt.manual_seed(3)
    with device:
        made = model().state_dict()
    for name, value in expected.items():
        assert made[name].device == device
        np.testing.assert_allclose(made[name].cpu().numpy(), value.numpy(), rtol=1e-12, err_msg=name)


@pytest.mark.parametrize(
    "kind", [nn.Dropout, nn.Dropout2d, nn.AlphaDropout, nn.FeatureAlphaDropout, nn.RReLU]
)
def test_layers_that_draw_draw_the_same(device, kind):
    layer, x = kind(), -tt.rand(3, 4, 5, 6)
    tt.manual_seed(7)
    expected = layer(x).numpy()
    tt.manual_seed(7)
    np.testing.assert_allclose(layer(x.to(device)).cpu().numpy(), expected, rtol=1e-12)
