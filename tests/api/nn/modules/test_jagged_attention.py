"""Attention and Transformers on jagged tensors: the results of single rows, PyTorch's weights, and its refusals."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tt

RNG = np.random.default_rng(5)
ROWS = [RNG.normal(size=(n, 8)) for n in (2, 5, 1)]
OTHER = [RNG.normal(size=(n, 8)) for n in (3, 1, 4)]


def tensors(arrays: Any) -> list[tt.Tensor]:
    return [tt.tensor(array) for array in arrays]


def jagged(arrays: Any) -> tt.Tensor:
    return tt.nested.as_nested_tensor(tensors(arrays))


def attention(**options: Any) -> Any:
    tt.manual_seed(2)
    return tt.nn.MultiheadAttention(8, 2, batch_first=True, dtype=tt.float64, **options)


def assert_rows(found: Any, expected: Any) -> None:
    assert found.is_nested
    for one, other in zip(found.unbind(), expected, strict=True):
        tt.testing.assert_close(one, other)


@pytest.mark.parametrize("options", [{}, {"bias": False}, {"kdim": 8, "vdim": 8}])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("need_weights", [True, False])
def test_each_row_attends_to_itself(options: Any, training: bool, need_weights: bool) -> None:
    module = attention(**options).train(training)
    x = jagged(ROWS)
    found, weights = module(x, x, x, need_weights=need_weights)
    alone = [module(row[None], row[None], row[None]) for row in tensors(ROWS)]
    assert_rows(found, [result[0] for result, _ in alone])
    assert found.shape[1] == x.shape[1]
    assert (weights is None) != need_weights


def test_weights_are_padded_with_zeros() -> None:
    module = attention()
    x = jagged(ROWS)
    _, weights = module(x, x, x)
    _, apart = module(x, x, x, average_attn_weights=False)
    assert (weights.shape, apart.shape) == ((3, 5, 5), (3, 2, 5, 5))
    tt.testing.assert_close(apart.mean(1), weights)
    for k, row in enumerate(tensors(ROWS)):
        n = len(row)
        tt.testing.assert_close(weights[k, :n, :n], module(row[None], row[None], row[None])[1][0])
        assert not weights[k, n:].any() and not weights[k, :, n:].any()


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("options", [{}, {"kdim": 6, "vdim": 5}])
def test_rows_attend_to_rows_of_other_lengths(options: Any, need_weights: bool) -> None:
    module = attention(**options)
    keys = [array[:, : options.get("kdim", 8)] for array in OTHER]
    values = [array[:, -options.get("vdim", 8) :] for array in OTHER]
    found, weights = module(jagged(ROWS), jagged(keys), jagged(values), need_weights=need_weights)
    alone = [
        module(q[None], k[None], v[None]) for q, k, v in zip(*map(tensors, (ROWS, keys, values)), strict=True)
    ]
    assert_rows(found, [result[0] for result, _ in alone])
    if need_weights:
        for k, (_, one) in enumerate(alone):
            tt.testing.assert_close(weights[k, : one.shape[1], : one.shape[2]], one[0])


@pytest.mark.parametrize("need_weights", [True, False])
def test_gradients_are_those_of_the_rows(need_weights: bool) -> None:
    def grads(run: Any) -> list[tt.Tensor]:
        module = attention()
        rows = [row.requires_grad_() for row in tensors(ROWS)]
        run(module, rows).backward()
        return [p.grad for p in module.parameters()] + [row.grad for row in rows]

    def together(module: Any, rows: Any) -> Any:
        x = tt.nested.as_nested_tensor(rows)
        found, weights = module(x, x, x, need_weights=need_weights)
        return found.values().sin().sum() + (weights.square().sum() if need_weights else 0)

    def alone(module: Any, rows: Any) -> Any:
        pairs = [module(row[None], row[None], row[None]) for row in rows]
        return sum(r.sin().sum() + (w.square().sum() if need_weights else 0) for r, w in pairs)

    for one, other in zip(grads(together), grads(alone), strict=True):
        tt.testing.assert_close(one, other)


def test_rows_without_places_give_no_nan() -> None:
    module = attention()
    x = jagged([ROWS[0], np.zeros((0, 8))])
    keys = jagged([np.zeros((0, 8)), ROWS[1]])
    found, weights = module(x, keys, keys)
    assert found.unbind()[1].shape == (0, 8)
    tt.testing.assert_close(found.unbind()[0], module.out_proj.bias.expand(2, 8))
    assert not weights.isnan().any()
    found.values().sum().backward()
    assert all(p.grad.isfinite().all() for p in module.parameters())


def test_gaps_between_rows_are_not_read() -> None:
    dense = tt.tensor(RNG.normal(size=(2, 6, 8)))
    x = tt.nested.narrow(dense, 1, tt.tensor([1, 0]), tt.tensor([2, 4]), layout=tt.jagged)
    module = attention()
    for need in (True, False):
        found, _ = module(x, x, x, need_weights=need)
        alone = [module(row[None], row[None], row[None])[0][0] for row in x.unbind()]
        assert_rows(found, alone)


def test_dropout_zeroes_weights_in_training_only() -> None:
    module = attention(dropout=0.5)
    x = jagged(ROWS)
    _, weights = module(x, x, x, average_attn_weights=False)
    assert (weights[1] == 0).any()
    _, weights = module.eval()(x, x, x, average_attn_weights=False)
    assert not (weights[1] == 0).any()


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_encoders_encode_each_row_alone(norm_first: bool, training: bool) -> None:
    tt.manual_seed(1)
    layer = tt.nn.TransformerEncoderLayer(
        8, 2, 16, 0.0, activation="gelu", batch_first=True, norm_first=norm_first, dtype=tt.float64
    )
    encoder = tt.nn.TransformerEncoder(layer, 2, tt.nn.LayerNorm(8, dtype=tt.float64)).train(training)
    for module in (layer, encoder):
        assert_rows(module(jagged(ROWS)), [module(row[None])[0] for row in tensors(ROWS)])


def test_decoders_decode_each_row_alone() -> None:
    tt.manual_seed(1)
    layer = tt.nn.TransformerDecoderLayer(8, 2, 16, 0.0, batch_first=True, dtype=tt.float64)
    decoder = tt.nn.TransformerDecoder(layer, 2)
    alone = [decoder(a[None], b[None])[0] for a, b in zip(tensors(ROWS), tensors(OTHER), strict=True)]
    assert_rows(decoder(jagged(ROWS), jagged(OTHER)), alone)


def test_what_pytorch_refuses_is_refused() -> None:
    x, dense = jagged(ROWS), tt.zeros(3, 5, 8, dtype=tt.float64)
    square, keys = tt.zeros(5, 5, dtype=tt.float64), tt.zeros(3, 5, dtype=tt.bool)
    module = attention()
    layer = tt.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dtype=tt.float64)
    for call, why in (
        (lambda: module(x, x, x, attn_mask=square), "attn_mask is not possible"),
        (lambda: module(x, x, x, key_padding_mask=keys), "key_padding_mask is not possible"),
        (lambda: module(x, x, x, is_causal=True), "is_causal is not possible"),
        (lambda: module(x, dense, dense), "key has to be jagged"),
        (lambda: module(dense, x, x), "query has to be jagged"),
        (lambda: module(dense, dense, x), "query has to be jagged"),
        (lambda: attention(add_bias_kv=True)(x, x, x), "add_bias_kv"),
        (lambda: attention(add_zero_attn=True)(x, x, x), "add_zero_attn"),
        (lambda: tt.nn.MultiheadAttention(8, 2, dtype=tt.float64)(x, x, x), "batch_first=True"),
        (lambda: layer(x, src_mask=square), "attn_mask is not possible"),
        (lambda: layer(x, src_key_padding_mask=keys), "key_padding_mask is not possible"),
    ):
        with pytest.raises(AssertionError, match=why):
            call()
    with pytest.raises(tt.errors.ShapeError, match="got 4 dimensions"):
        module(*(x.unsqueeze(2),) * 3)


@pytest.mark.torch
@pytest.mark.parametrize("average", [True, False])
def test_results_and_weights_are_pytorchs(average: bool) -> None:
    torch = pytest.importorskip("torch")
    module, peer = (
        attention().eval(),
        torch.nn.MultiheadAttention(8, 2, batch_first=True, dtype=torch.float64).eval(),
    )
    peer.load_state_dict(
        {name: torch.tensor(p.tolist(), dtype=torch.float64) for name, p in module.state_dict().items()}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a prototype, once in a process
        y = torch.nested.nested_tensor([torch.tensor(row) for row in ROWS], layout=torch.strided)
    with torch.no_grad():
        expected, theirs = peer(y, y, y, average_attn_weights=average)
    x = jagged(ROWS)
    found, weights = module(x, x, x, average_attn_weights=average)
    assert_rows(found, [tt.tensor(row.numpy()) for row in expected.unbind()])
    tt.testing.assert_close(weights, tt.tensor(theirs.numpy()))
