"""Attention of several heads, written out in NumPy; a batch to itself takes a short way, which gives the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt
from tt import nn
from tt.errors import ValueRangeError


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attended(module, query, key, value, hidden=None):
    """Return the result and the mean weights for (L, E), (S, E) and (S, E)."""
    weight, bias = module.in_proj_weight.detach().numpy(), module.in_proj_bias.detach().numpy()
    size = module.embed_dim // module.num_heads
    q, k, v = (
        (x @ w.T + b).reshape(len(x), module.num_heads, size).transpose(1, 0, 2)
        for x, w, b in zip((query, key, value), np.split(weight, 3), np.split(bias, 3), strict=True)
    )
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(size)
    if hidden is not None:
        scores = np.where(hidden, -np.inf, scores)
    weights = softmax(scores)
    joined = (weights @ v).transpose(1, 0, 2).reshape(len(query), -1)
    return joined @ module.out_proj.weight.detach().numpy().T, weights.mean(0)


@pytest.fixture
def module():
    made = nn.MultiheadAttention(6, 2).double()
    nn.init.normal_(made.in_proj_bias)
    return made


@pytest.fixture
def inputs():
    rng = np.random.default_rng(0)
    return rng.standard_normal((3, 6)), rng.standard_normal((4, 6)), rng.standard_normal((4, 6))


@pytest.mark.parametrize("training", [True, False])
def test_heads_attend_by_themselves(module, inputs, training):
    module.train(training)
    got, weights = module(*map(tt.tensor, inputs))
    expected, mean = attended(module, *inputs)
    np.testing.assert_allclose(got.detach().numpy(), expected, rtol=1e-9)
    np.testing.assert_allclose(weights.detach().numpy(), mean, rtol=1e-9)


def test_a_mask_hides_keys(module, inputs):
    hidden = np.triu(np.ones((3, 4), bool), 2)
    got, weights = module(*map(tt.tensor, inputs), attn_mask=tt.tensor(hidden))
    expected, _ = attended(module, *inputs, hidden)
    np.testing.assert_allclose(got.detach().numpy(), expected, rtol=1e-9)
    assert float(weights.detach()[0, 2:].sum()) == 0


def test_padding_hides_keys_of_one_input(module, inputs):
    batch = [tt.tensor(np.stack([x, x], 1)) for x in inputs]
    padding = tt.tensor([[False] * 4, [False, False, True, True]])
    got, _ = module(*batch, key_padding_mask=padding)
    expected, _ = attended(module, *inputs, np.array([[False, False, True, True]]))
    np.testing.assert_allclose(got[:, 1].detach().numpy(), expected, rtol=1e-9)


def test_the_batch_can_come_first(module, inputs):
    first = nn.MultiheadAttention(6, 2, batch_first=True).double()
    first.load_state_dict(module.state_dict())
    q, k, v = (tt.tensor(np.stack([x, 2 * x])) for x in inputs)
    got, _ = first(q, k, v, need_weights=False)
    other, _ = module(q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1))
    tt.testing.assert_close(got, other.transpose(0, 1))


def test_weights_of_each_head(module, inputs):
    _, weights = module(*map(tt.tensor, inputs), average_attn_weights=False)
    assert weights.shape == (2, 3, 4)
    tt.testing.assert_close(weights.sum(-1), tt.ones(2, 3, dtype=tt.float64))


def test_other_sizes_have_projections_of_their_own():
    module = nn.MultiheadAttention(4, 2, kdim=3, vdim=5, add_bias_kv=True)
    assert module.in_proj_weight is None and module.k_proj_weight.shape == (4, 3)
    assert module.bias_k.shape == (1, 1, 4)
    got, weights = module(tt.zeros(2, 1, 4), tt.zeros(6, 1, 3), tt.zeros(6, 1, 5))
    assert got.shape == (2, 1, 4) and weights.shape == (1, 2, 7)


def test_heads_divide_the_features():
    with pytest.raises(AssertionError, match="divisible"):
        nn.MultiheadAttention(6, 4)


# --- the short way ---------------------------------------------------------------------------------------------

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "without bias": {"bias": False},
    "with a key and a value more": {"add_bias_kv": True},
    "with zeros": {"add_zero_attn": True},
}


def numbers(*shape: int) -> tt.Tensor:
    return tt.from_numpy(np.random.default_rng(0).standard_normal(shape))


def made(**options: Any) -> nn.MultiheadAttention:
    tt.manual_seed(0)
    layer = nn.MultiheadAttention(12, 3, batch_first=True, dtype=tt.float64, **options)
    for p in layer.parameters():
        tt.nn.init.normal_(p)
    return layer


def by_hand(layer: nn.MultiheadAttention, x: np.ndarray) -> np.ndarray:
    """Return the attention of a batch to itself, head by head."""
    state = {name: value.numpy() for name, value in layer.state_dict().items()}
    q, k, v = np.split(x @ state["in_proj_weight"].T + state["in_proj_bias"], 3, axis=-1)
    heads = []
    for part in np.split(np.arange(12), 3):
        scores = q[..., part] @ k[..., part].swapaxes(1, 2) / 2  # the root of the width of a head
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        heads.append(weights / weights.sum(-1, keepdims=True) @ v[..., part])
    return np.concatenate(heads, -1) @ state["out_proj.weight"].T + state["out_proj.bias"]


def test_it_is_what_the_formula_says() -> None:
    layer, x = made(), numbers(2, 5, 12)
    found, weights = layer(x, x, x, need_weights=False)
    assert weights is None
    np.testing.assert_allclose(found.detach().numpy(), by_hand(layer, x.numpy()), rtol=1e-10)


@pytest.mark.parametrize("name", OPTIONS)
def test_values_and_gradients_are_those_of_the_long_way(name: str) -> None:
    layer, found = made(**OPTIONS[name]), []
    for ask in (False, True):
        x = numbers(2, 5, 12).requires_grad_()
        layer.zero_grad()
        y = layer(x, x, x, need_weights=ask)[0]
        (y * y).sum().backward()
        found.append([y, x.grad, *(p.grad for p in layer.parameters())])
    for short, long in zip(*found, strict=True):
        np.testing.assert_allclose(
            short.detach().numpy(), long.detach().numpy(), rtol=1e-9, atol=1e-10
        )  # of hundreds


def test_dropout_drops_the_same_weights() -> None:
    layer, x, found = made(dropout=0.4), numbers(2, 5, 12), []
    for ask in (False, True):
        tt.manual_seed(1)
        found.append(layer(x, x, x, need_weights=ask)[0].detach().numpy())
    np.testing.assert_allclose(*found, rtol=1e-10)


def test_a_hint_without_a_mask_and_other_widths_are_refused() -> None:
    layer, x = made(), numbers(2, 5, 12)
    with pytest.raises(ValueRangeError, match="attn_mask"):
        layer(x, x, x, need_weights=False, is_causal=True)
    wide = numbers(2, 5, 13)
    with pytest.raises(RuntimeError, match="12"):
        layer(wide, wide, wide, need_weights=False)


def test_without_a_batch_the_result_has_none() -> None:
    layer, x = made(), numbers(5, 12)
    alone = layer(x, x, x, need_weights=False)[0]
    batch = x.unsqueeze(0)
    np.testing.assert_allclose(
        alone.detach().numpy(), layer(batch, batch, batch, need_weights=False)[0][0].detach().numpy()
    )


@pytest.mark.torch
def test_it_is_the_attention_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    layer, x = made(), numbers(2, 5, 12)
    theirs = torch.nn.MultiheadAttention(12, 3, batch_first=True, dtype=torch.float64)
    theirs.load_state_dict(
        {name: torch.from_numpy(value.numpy()) for name, value in layer.state_dict().items()}
    )
    y = torch.from_numpy(x.numpy())
    expected = theirs(y, y, y, need_weights=False)[0].detach().numpy()
    np.testing.assert_allclose(layer(x, x, x, need_weights=False)[0].detach().numpy(), expected, rtol=1e-10)


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("kind", ["bools", "numbers", "padding"])
def test_a_query_without_keys_gets_zeros_and_gives_no_nan(kind, need_weights):
    tt.manual_seed(0)
    module = tt.nn.MultiheadAttention(4, 2, batch_first=True).double()
    x = tt.randn(2, 3, 4, dtype=tt.float64, requires_grad=True)
    hidden = tt.zeros(3, 3, dtype=tt.bool)
    hidden[1] = True
    options = {
        "bools": {"attn_mask": hidden},
        "numbers": {"attn_mask": tt.zeros(3, 3, dtype=tt.float64).masked_fill(hidden, -tt.inf)},
        "padding": {"key_padding_mask": tt.tensor([[False] * 3, [True] * 3])},
    }[kind]
    result, weights = module(x, x, x, need_weights=need_weights, **options)
    result.sum().backward()
    assert result.isfinite().all()
    assert x.grad.isfinite().all()
    assert all(p.grad.isfinite().all() for p in module.parameters())
    alone = result[1] if kind == "padding" else result[:, 1]
    tt.testing.assert_close(alone, module.out_proj.bias.expand_as(alone))
    if weights is not None:
        assert not (weights[1] if kind == "padding" else weights[:, 1]).any()


@pytest.mark.parametrize("need_weights", [True, False])
def test_nan_in_a_masked_key_does_not_matter(need_weights):
    module = tt.nn.MultiheadAttention(4, 2)
    query, key = tt.randn(3, 4), tt.randn(3, 4)
    hidden = tt.tensor([False, False, True]).expand(3, 3)
    expected, _ = module(query, key, key, attn_mask=hidden, need_weights=need_weights)
    spoilt = key.clone()
    spoilt[2] = tt.nan
    result, _ = module(query, spoilt, key, attn_mask=hidden, need_weights=need_weights)
    tt.testing.assert_close(result, expected)


@pytest.mark.parametrize("need_weights", [True, False])
def test_an_empty_batch_gives_an_empty_result(need_weights):
    layer, x = tt.nn.MultiheadAttention(4, 2, batch_first=True), tt.ones(0, 3, 4, requires_grad=True)
    y, weights = layer(x, x, x, need_weights=need_weights)
    y.sum().backward()
    assert y.shape == x.grad.shape == (0, 3, 4)
    assert weights is None if not need_weights else weights.shape == (0, 3, 3)
