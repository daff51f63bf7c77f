"""RNNCell, LSTMCell and GRUCell: values, states, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt import nn

CELLS = ("RNNCell", "LSTMCell", "GRUCell")


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("bias", [False, True])
def test_a_cell_takes_the_steps_of_its_layer(name, bias):
    cell, layer = getattr(nn, name)(3, 4, bias), getattr(nn, name[:-4])(3, 4, bias=bias)
    layer.load_state_dict({f"{k}_l0": v for k, v in cell.state_dict().items()})
    x, state = tt.randn(5, 2, 3), None
    for step, expected in zip(x, layer(x)[0], strict=True):
        state = cell(step, state)
        h = state[0] if name == "LSTMCell" else state
        np.testing.assert_allclose(h.detach().numpy(), expected.detach().numpy(), atol=1e-6)


def test_a_relu_cell_is_its_formula():
    cell, x, h = nn.RNNCell(3, 4, nonlinearity="relu"), tt.randn(2, 3), tt.randn(2, 4)
    u, v, p, q = (w.detach().numpy() for w in cell.parameters())
    expected = np.maximum(x.numpy() @ u.T + p + h.numpy() @ v.T + q, 0)
    np.testing.assert_allclose(cell(x, h).detach().numpy(), expected, atol=1e-6)


@pytest.mark.parametrize("name", CELLS)
def test_a_single_input_needs_no_batch(name):
    cell, x, h = getattr(nn, name)(3, 4), tt.randn(3), tt.randn(4)
    states = (h, h) if name == "LSTMCell" else h
    found, batch = cell(x, states), (h[None], h[None]) if name == "LSTMCell" else h[None]
    expected = cell(x[None], batch)
    found, expected = (found[1], expected[1]) if name == "LSTMCell" else (found, expected)
    assert found.shape == (4,)
    np.testing.assert_allclose(found.detach().numpy(), expected[0].detach().numpy(), atol=1e-6)


def test_representations_name_what_differs_from_defaults():
    assert repr(nn.LSTMCell(3, 4, bias=False)) == "LSTMCell(3, 4, bias=False)"
    assert repr(nn.RNNCell(3, 4, nonlinearity="relu")) == "RNNCell(3, 4, nonlinearity=relu)"


WRONG = [
    (lambda m, r: m.LSTMCell(3, 4)(r(2, 2, 3)), ValueError, "Expected input to be 1D or 2D, got 3D"),
    (lambda m, r: m.LSTMCell(3, 4)(r(2, 4)), RuntimeError, "inconsistent input_size: got 4 expected 3"),
    (
        lambda m, r: m.LSTMCell(3, 4)(r(2, 3), (r(3, 4), r(2, 4))),
        RuntimeError,
        "size 2 doesn't match hidden0",
    ),
    (
        lambda m, r: m.LSTMCell(3, 4)(r(2, 3), (r(2, 5), r(2, 4))),
        RuntimeError,
        "hidden_size: got 5, expected 4",
    ),
    (lambda m, r: m.GRUCell(3, 4)(r(2, 3), r(1, 2, 4)), ValueError, "Expected hidden to be 1D or 2D, got 3D"),
    (
        lambda m, r: m.GRUCell(3, 4)(r(2, 3), r(3, 4)),
        RuntimeError,
        "size 2 doesn't match hidden0 batch size 3",
    ),
    (lambda m, r: m.RNNCell(3, 4, nonlinearity="x")(r(2, 3)), RuntimeError, "Unknown nonlinearity: x"),
]


@pytest.mark.parametrize(("call", "error", "match"), WRONG)
def test_wrong_inputs_are_refused(call, error, match):
    with pytest.raises(error, match=match):
        call(nn, tt.randn)


@pytest.mark.torch
def test_errors_are_torchs():
    torch = pytest.importorskip("torch")
    for call, error, match in WRONG:
        with pytest.raises(error, match=match):
            call(torch.nn, torch.randn)


@pytest.mark.torch
@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("bias", [False, True])
def test_cells_are_torchs(name, bias):
    torch = pytest.importorskip("torch")
    theirs, ours = getattr(torch.nn, name)(3, 4, bias), getattr(nn, name)(3, 4, bias)
    assert list(theirs.state_dict()) == list(ours.state_dict())
    ours.load_state_dict({k: tt.from_numpy(v.numpy().copy()) for k, v in theirs.state_dict().items()})
    assert repr(theirs) == repr(ours)
    x, h = torch.randn(2, 3), torch.randn(2, 4)
    y, g = (tt.from_numpy(t.numpy().copy()) for t in (x, h))
    a, b = (ours(y, (g, g)), theirs(x, (h, h))) if name == "LSTMCell" else ((ours(y, g),), (theirs(x, h),))
    for one, other in zip(a, b, strict=True):
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-5, atol=1e-6)
    a[-1].sum().backward()
    b[-1].sum().backward()
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-4, atol=1e-6)
