"""Shape rules of recurrent layers.

Note [Recurrent layers]
-----------------------
`lstm`, `gru`, `rnn_tanh` and `rnn_relu` are composites over one operator, `_rnn_layer`: one layer in one direction,
over all steps.  Its input is (steps, batch, features) or, with batch_sizes, packed: (rows, features), where the first
batch_sizes[0] rows are the first step, the next batch_sizes[1] rows the second, and so on.  Its last result holds
values for the gradients, by rows like the output:

    lstm    the gates i, f, g, o after their functions, and the cell c      (.., 5 * hidden)
    gru     the gates r, z, n after their functions, and w_hn h + b_hn      (.., 4 * hidden)
    tanh, relu    nothing                                                   (.., 0)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from tt.core.errors import DimensionCountError, ShapeError, ValueRangeError
from tt.core.shapes.geometry import Described
from tt.core.shapes.registry import RuleTable

__all__ = ["GATES", "SAVED", "check_batch_sizes", "rule"]

rule = RuleTable()

Shape = tuple[int, ...]

GATES: Final = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}
"""The number of gates in the weights of each mode."""

SAVED: Final = {"lstm": 5, "gru": 4, "tanh": 0, "relu": 0}
"""The number of vectors of the hidden size that each mode saves for the gradients."""


def expect(op: str, name: str, value: Described | None, shape: Shape) -> None:
    """Raise unless a tensor, if given, has a shape."""
    if value is not None and tuple(value.shape) != shape:
        raise ShapeError(f"{op}(): expected {name} of shape {list(shape)}, got {list(value.shape)}")


def check_batch_sizes(op: str, sizes: Sequence[int], rows: int, batch: int) -> None:
    """Raise unless batch sizes describe packed rows: positive, never rising, and as many as there are."""
    falling = all(a >= b for a, b in pairwise(sizes))
    if not sizes or sizes[-1] < 1 or not falling or sum(sizes) != rows or sizes[0] != batch:
        raise ValueRangeError(
            f"{op}(): batch_sizes must be positive, never rise, start with the batch of hx ({batch}) and add up to "
            f"the {rows} rows of the packed input; got {list(sizes)}"
        )


@rule("rnn_layer")
def rnn_layer(
    input: Described,
    hx: Described,
    cx: Described | None,
    w_ih: Described,
    w_hh: Described,
    b_ih: Described | None,
    b_hh: Described | None,
    w_hr: Described | None,
    batch_sizes: Described | None,
    mode: str,
    *,
    op: str,
) -> tuple[Shape, Shape, Shape, Shape]:
    """The output, the last states, and the values that gradients need."""
    ndim = 3 if batch_sizes is None else 2
    if input.ndim != ndim:
        kind = "packed" if batch_sizes is not None else "padded"
        raise DimensionCountError(f"{op}(): a {kind} input has {ndim} dimensions, got {input.ndim}")
    if not input.shape[0]:
        raise ShapeError(f"{op}(): Expected sequence length to be larger than 0 in RNN")
    if hx.ndim != 2 or (batch_sizes is None and hx.shape[0] != input.shape[1]):
        raise ShapeError(f"{op}(): hx {list(hx.shape)} does not fit an input of shape {list(input.shape)}")
    if batch_sizes is not None and batch_sizes.ndim != 1:
        raise DimensionCountError(f"{op}(): batch_sizes must be a vector, got {batch_sizes.ndim} dimensions")
    gates = GATES[mode]
    if w_ih.ndim != 2 or w_ih.shape[0] % gates:
        raise ShapeError(f"{op}(): w_ih {list(w_ih.shape)} is not a matrix of {gates} gates")
    hidden, batch, out = w_ih.shape[0] // gates, hx.shape[0], hx.shape[1]
    if (cx is None) != (mode != "lstm"):
        raise ShapeError(f"{op}(): {'an lstm needs cx' if cx is None else f'{mode} takes no cx'}")
    if w_hr is not None and mode != "lstm":
        raise ShapeError(f"{op}(): only an lstm has projections")
    expect(op, "w_ih", w_ih, (gates * hidden, input.shape[-1]))
    # A projection makes the state shorter than the cell.
    expect(op, "hx", hx, (batch, out if w_hr is not None else hidden))
    expect(op, "cx", cx, (batch, hidden))
    expect(op, "w_hh", w_hh, (gates * hidden, out))
    expect(op, "b_ih", b_ih, (gates * hidden,))
    expect(op, "b_hh", b_hh, (gates * hidden,))
    expect(op, "w_hr", w_hr, (out, hidden))
    lead = tuple(input.shape[:-1])
    # A rule has one number of results for all modes.
    last_cell = (batch, hidden) if mode == "lstm" else (0,)
    return (*lead, out), (batch, out), last_cell, (*lead, SAVED[mode] * hidden)


@rule("rnn_layer_backward")
def rnn_layer_backward(
    grad: Described,
    h_grad: Described | None,
    c_grad: Described | None,
    saved_grad: Described | None,
    input: Described,
    hx: Described,
    cx: Described | None,
    w_ih: Described,
    w_hh: Described,
    w_hr: Any,
    batch_sizes: Described | None,
    output: Described,
    saved: Described,
    mode: str,
    *,
    op: str,
) -> tuple[Shape, ...]:
    """The gradients of input, states, weights and biases; without elements for an absent argument."""
    shapes = rnn_layer(input, hx, cx, w_ih, w_hh, None, None, w_hr, batch_sizes, mode, op=op)
    for name, value, shape in (
        ("grad", grad, shapes[0]), ("h_grad", h_grad, shapes[1]), ("c_grad", c_grad, shapes[2]),
        ("saved_grad", saved_grad, shapes[3]), ("output", output, shapes[0]), ("saved", saved, shapes[3]),
    ):  # fmt: skip
        expect(op, name, value, shape)
    bias = (w_ih.shape[0],)
    return (
        tuple(input.shape), tuple(hx.shape), (0,) if cx is None else tuple(cx.shape), tuple(w_ih.shape),
        tuple(w_hh.shape), bias, bias, (0,) if w_hr is None else tuple(w_hr.shape),
    )  # fmt: skip
