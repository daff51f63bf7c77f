"""Composites of one recurrent layer in one direction, step by step, and of its gradients.

See Note [Recurrent layers] in `tt.core.shapes.recurrent` for the layout of rows and of saved values.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final

from tt.core.composites.helpers import as_type, check_shapes, is_integral, widened
from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import ValueRangeError
from tt.core.shapes.recurrent import GATES, SAVED, check_batch_sizes

composites: Final = CompositeTable()
composite = composites.composite

# --- rows ------------------------------------------------------------------------------------------------------


def _wide(x: Any) -> Any:
    """Return a tensor as gates are computed, None for None."""
    return None if x is None else widened(x)


def _sizes(op: str, input: Any, hx: Any, batch_sizes: Any) -> list[int]:
    """Return the number of rows of each step."""
    if batch_sizes is None:
        return [input.shape[1]] * input.shape[0]
    if batch_sizes.ndim != 1 or not is_integral(batch_sizes.dtype):
        raise ValueRangeError(
            f"{op}(): batch_sizes must be a vector of int64, got {batch_sizes.dtype} with {batch_sizes.ndim} dimensions"
        )
    sizes: list[int] = batch_sizes.tolist()
    check_batch_sizes(op, sizes, input.shape[0], hx.shape[0])
    return sizes


def _gaps(sizes: Sequence[int]) -> list[Any]:
    """Return a list with a place for each step."""
    return [None] * len(sizes)


def _rows(x: Any) -> Any:
    """Return a tensor by rows: without a dimension of steps."""
    return x if x is None or x.ndim == 2 else ops.reshape(x, (x.shape[0] * x.shape[1], x.shape[2]))


def _parts(x: Any, count: int) -> list[Any]:
    """Return equal parts of the last dimension."""
    width = x.shape[-1] // count
    return [ops.narrow(x, -1, k * width, width) for k in range(count)]


def _first(x: Any, count: int) -> Any:
    return x if x.shape[0] == count else ops.narrow(x, 0, 0, count)


def _with_first(x: Any, new: Any) -> Any:
    """Return x with its first rows replaced."""
    count, rows = new.shape[0], x.shape[0]
    return new if count == rows else ops.cat((new, ops.narrow(x, 0, count, rows - count)))


def _times(x: Any, weight: Any) -> Any:
    """Return x times a matrix."""
    return ops.mm(x, weight)


def _less(x: Any) -> Any:
    """Return 1 - x."""
    return ops.add(ops.neg(x), 1)


# --- one step --------------------------------------------------------------------------------------------------


def _lstm_step(own: Any, recurrent: Any, h: Any, c: Any) -> tuple[Any, Any, Any]:
    i, f, g, o = _parts(ops.add(own, recurrent), 4)
    i, f, g, o = ops.sigmoid(i), ops.sigmoid(f), ops.tanh(g), ops.sigmoid(o)
    c = ops.add(ops.mul(f, c), ops.mul(i, g))
    return ops.mul(o, ops.tanh(c)), c, ops.cat((i, f, g, o, c), -1)


def _gru_step(own: Any, recurrent: Any, h: Any, c: Any) -> tuple[Any, Any, Any]:
    (r, z, n), (to_r, to_z, to_n) = _parts(own, 3), _parts(recurrent, 3)
    r, z = ops.sigmoid(ops.add(r, to_r)), ops.sigmoid(ops.add(z, to_z))
    n = ops.tanh(ops.add(n, ops.mul(r, to_n)))
    return ops.add(n, ops.mul(z, ops.sub(h, n))), None, ops.cat((r, z, n, to_n), -1)


def _tanh_step(own: Any, recurrent: Any, h: Any, c: Any) -> tuple[Any, Any, Any]:
    return ops.tanh(ops.add(own, recurrent)), None, None


def _relu_step(own: Any, recurrent: Any, h: Any, c: Any) -> tuple[Any, Any, Any]:
    return ops.relu(ops.add(own, recurrent)), None, None


_STEPS: Final = {"lstm": _lstm_step, "gru": _gru_step, "tanh": _tanh_step, "relu": _relu_step}


@composite("_rnn_layer")
def rnn_layer(
    input: Any, hx: Any, cx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, w_hr: Any, batch_sizes: Any, mode: str,
    reverse: bool,
) -> tuple[Any, ...]:  # fmt: skip
    check_shapes("_rnn_layer", input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, batch_sizes, mode, reverse)
    sizes = _sizes("_rnn_layer", input, hx, batch_sizes)
    x, h, c, u, v, p, q, w = map(_wide, (_rows(input), hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr))
    step, starts = _STEPS[mode], [0, *accumulate(sizes)]
    own = ops.linear(x, u, p)
    outputs, saved = _gaps(sizes), _gaps(sizes)
    for t in range(len(sizes) - 1, -1, -1) if reverse else range(len(sizes)):
        before, cell = _first(h, sizes[t]), None if c is None else _first(c, sizes[t])
        now = ops.narrow(own, 0, starts[t], sizes[t])
        new, cell, saved[t] = step(now, ops.linear(before, v, q), before, cell)
        outputs[t] = new if w is None else ops.linear(new, w)
        h = _with_first(h, outputs[t])
        c = None if c is None else _with_first(c, cell)
    lead = tuple(input.shape[:-1])
    output = ops.reshape(ops.cat(outputs), (*lead, hx.shape[1]))
    width = SAVED[mode] * (w_hh.shape[0] // GATES[mode])
    kept = ops.reshape(ops.cat(saved), (*lead, width)) if width else ops.new_empty(h, (*lead, 0))
    last_cell = ops.new_empty(h, (0,)) if c is None else c
    # A single step's output is the last state too, and results share no memory.
    return (
        as_type(output, input.dtype), as_type(ops.clone(h), input.dtype), as_type(ops.clone(last_cell), input.dtype),
        kept,
    )  # fmt: skip


# --- gradients of one step -------------------------------------------------------------------------------------
#
# Each returns the gradients of both products, input's and state's, before the gates' functions; of the state, beyond
# its product; and of the cell.  `extra` is the gradient of what was saved.


def _lstm_back(
    g: Any, to_c: Any, kept: Any, extra: Any, before: Any, cell: Any, out: Any
) -> tuple[Any, Any, Any, Any]:
    i, f, n, o, c = _parts(kept, 5)
    bend = ops.tanh(c)
    to_c = ops.add(to_c, ops.tanh_backward(ops.mul(g, o), bend))
    to_o = ops.mul(g, bend)
    more = [None] * 5 if extra is None else _parts(extra, 5)
    to_c = _plus(to_c, more[4])
    found = ops.cat(
        (
            ops.sigmoid_backward(_plus(ops.mul(to_c, n), more[0]), i),
            ops.sigmoid_backward(_plus(ops.mul(to_c, cell), more[1]), f),
            ops.tanh_backward(_plus(ops.mul(to_c, i), more[2]), n),
            ops.sigmoid_backward(_plus(to_o, more[3]), o),
        ),
        -1,
    )
    return found, found, None, ops.mul(to_c, f)


def _gru_back(
    g: Any, to_c: Any, kept: Any, extra: Any, before: Any, cell: Any, out: Any
) -> tuple[Any, Any, Any, Any]:
    r, z, n, product = _parts(kept, 4)
    more = [None] * 4 if extra is None else _parts(extra, 4)
    to_n = ops.tanh_backward(_plus(ops.mul(g, _less(z)), more[2]), n)
    to_z = ops.sigmoid_backward(_plus(ops.mul(g, ops.sub(before, n)), more[1]), z)
    to_r = ops.sigmoid_backward(_plus(ops.mul(to_n, product), more[0]), r)
    to_product = _plus(ops.mul(to_n, r), more[3])
    return ops.cat((to_r, to_z, to_n), -1), ops.cat((to_r, to_z, to_product), -1), ops.mul(g, z), None


def _tanh_back(
    g: Any, to_c: Any, kept: Any, extra: Any, before: Any, cell: Any, out: Any
) -> tuple[Any, Any, Any, Any]:
    found = ops.tanh_backward(g, out)
    return found, found, None, None


def _relu_back(
    g: Any, to_c: Any, kept: Any, extra: Any, before: Any, cell: Any, out: Any
) -> tuple[Any, Any, Any, Any]:
    found = ops.threshold_backward(g, out, 0)
    return found, found, None, None


_BACK: Final = {"lstm": _lstm_back, "gru": _gru_back, "tanh": _tanh_back, "relu": _relu_back}


def _plus(one: Any, other: Any) -> Any:
    """Return a sum whose second operand may be absent."""
    return one if other is None else ops.add(one, other)


@composite("_rnn_layer_backward")
def rnn_layer_backward(
    grad: Any, h_grad: Any, c_grad: Any, saved_grad: Any, input: Any, hx: Any, cx: Any, w_ih: Any, w_hh: Any, w_hr: Any,
    batch_sizes: Any, output: Any, saved: Any, mode: str, reverse: bool,
) -> tuple[Any, ...]:  # fmt: skip
    op = "_rnn_layer_backward"
    check_shapes(
        op, grad, h_grad, c_grad, saved_grad, input, hx, cx, w_ih, w_hh, w_hr, batch_sizes, output, saved, mode, reverse
    )  # fmt: skip
    sizes = _sizes(op, input, hx, batch_sizes)
    g, extra, x, out, kept = (_wide(_rows(t)) for t in (grad, saved_grad, input, output, saved))
    h, c, u, v, w, d, to_c = map(_wide, (hx, cx, w_ih, w_hh, w_hr, h_grad, c_grad))
    back, starts = _BACK[mode], [0, *accumulate(sizes)]
    d = ops.zeros_like(h) if d is None else d
    to_c = ops.zeros_like(c) if to_c is None and c is not None else to_c
    own, recurrent, befores, slopes, projected = (
        _gaps(sizes),
        _gaps(sizes),
        _gaps(sizes),
        _gaps(sizes),
        _gaps(sizes),
    )
    hidden = w_hh.shape[0] // GATES[mode]
    cells: Any = None if c is None else ops.narrow(kept, 1, 4 * hidden, hidden)
    for t in range(len(sizes)) if reverse else range(len(sizes) - 1, -1, -1):
        size = sizes[t]
        place = starts[t], size
        here: Any = ops.narrow(kept, 0, *place)
        last = None if extra is None else ops.narrow(extra, 0, *place)
        before = _before(out, h, sizes, starts, t, reverse)
        cell = None if c is None else _before(cells, c, sizes, starts, t, reverse)
        slope = ops.add(ops.narrow(g, 0, *place), _first(d, size))
        if w is not None:
            slopes[t] = slope
            projected[t] = ops.mul(
                ops.narrow(here, 1, 3 * hidden, hidden), ops.tanh(ops.narrow(cells, 0, *place))
            )
            slope = _times(slope, w)
        own[t], recurrent[t], direct, to_cell = back(
            slope, None if c is None else _first(to_c, size), here, last, before, cell, ops.narrow(out, 0, *place)
        )  # fmt: skip
        befores[t] = before
        d = _with_first(d, _plus(_times(recurrent[t], v), direct))
        to_c = None if c is None else _with_first(to_c, to_cell)
    to_own, to_recurrent = ops.cat(own), ops.cat(recurrent)
    nothing = ops.new_empty(g, (0,))
    found = (
        ops.reshape(_times(to_own, u), tuple(input.shape)),
        d,
        nothing if c is None else to_c,
        _times(ops.transpose(to_own, 0, 1), x),
        _times(ops.transpose(to_recurrent, 0, 1), ops.cat(befores)),
        ops.sum.dim(to_own, (0,)),
        ops.sum.dim(to_recurrent, (0,)),
        ops.clone(nothing) if w is None else _times(ops.transpose(ops.cat(slopes), 0, 1), ops.cat(projected)),
    )
    return tuple(as_type(t, input.dtype) for t in found)


def _before(
    rows: Any, initial: Any, sizes: Sequence[int], starts: Sequence[int], t: int, reverse: bool
) -> Any:
    """Return the states from which a step came: those of the step before it, where a sequence had one."""
    size, previous = sizes[t], t + 1 if reverse else t - 1
    if not 0 <= previous < len(sizes):
        return _first(initial, size)
    known = min(size, sizes[previous])
    found = ops.narrow(rows, 0, starts[previous], known)
    return found if known == size else ops.cat((found, ops.narrow(initial, 0, known, size - known)))
