"""Composites of one recurrent layer in one direction, step by step, and of its gradients.

See Note [Recurrent layers] in `tt.operators.recurrent.shapes` for the layout of rows and of saved values.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import (
    DataDependentError,
    DeviceMismatchError,
    DimensionCountError,
    DtypeError,
    ShapeError,
    ValueRangeError,
)
from tt.core.types.dtype import int64
from tt.operators.helpers import as_type, check_shapes, is_integral, widened
from tt.operators.recurrent.shapes import GATES, SAVED, check_batch_sizes

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite

# --- rows ------------------------------------------------------------------------------------------------------


def _wide(x: Tensor | None) -> Any:
    """Return a tensor as gates are computed, None for None."""
    return None if x is None else widened(x)


def _sizes(op: str, input: Tensor, hx: Tensor, batch_sizes: Tensor | None) -> list[int]:
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


def _rows(x: Tensor | None) -> Any:
    """Return a tensor by rows: without a dimension of steps."""
    return x if x is None or x.ndim == 2 else ops.reshape(x, (x.shape[0] * x.shape[1], x.shape[2]))


def _parts(x: Tensor, count: int) -> list[Any]:
    """Return equal parts of the last dimension."""
    width = x.shape[-1] // count
    return [ops.narrow(x, -1, k * width, width) for k in range(count)]


def _first(x: Tensor, count: int) -> Tensor:
    return x if x.shape[0] == count else ops.narrow(x, 0, 0, count)


def _with_first(x: Tensor, new: Tensor) -> Tensor:
    """Return x with its first rows replaced."""
    count, rows = new.shape[0], x.shape[0]
    return new if count == rows else ops.cat((new, ops.narrow(x, 0, count, rows - count)))


def _times(x: Tensor, weight: Tensor) -> Tensor:
    """Return x times a matrix."""
    return ops.mm(x, weight)


def _less(x: Tensor) -> Tensor:
    """Return 1 - x."""
    return ops.add(ops.neg(x), 1)


# --- one step --------------------------------------------------------------------------------------------------


def _lstm_step(own: Tensor, recurrent: Tensor, h: Tensor, c: Tensor) -> tuple[Any, Any, Any]:
    i, f, g, o = _parts(ops.add(own, recurrent), 4)
    i, f, g, o = ops.sigmoid(i), ops.sigmoid(f), ops.tanh(g), ops.sigmoid(o)
    c = ops.add(ops.mul(f, c), ops.mul(i, g))
    return ops.mul(o, ops.tanh(c)), c, ops.cat((i, f, g, o, c), -1)


def _gru_step(own: Tensor, recurrent: Tensor, h: Tensor, c: Any) -> tuple[Any, Any, Any]:
    (r, z, n), (to_r, to_z, to_n) = _parts(own, 3), _parts(recurrent, 3)
    r, z = ops.sigmoid(ops.add(r, to_r)), ops.sigmoid(ops.add(z, to_z))
    # PyTorch's and cuDNN's form: the gate multiplies the product with the state, not the state before it.
    n = ops.tanh(ops.add(n, ops.mul(r, to_n)))
    # (1 - z) n + z h with one product less.
    return ops.add(n, ops.mul(z, ops.sub(h, n))), None, ops.cat((r, z, n, to_n), -1)


def _tanh_step(own: Tensor, recurrent: Tensor, h: Tensor, c: Any) -> tuple[Any, Any, Any]:
    return ops.tanh(ops.add(own, recurrent)), None, None


def _relu_step(own: Tensor, recurrent: Tensor, h: Tensor, c: Any) -> tuple[Any, Any, Any]:
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
    # One product for all steps is much faster than one for each; only the state's product must wait.
    own = ops.linear(x, u, p)
    outputs, saved = _gaps(sizes), _gaps(sizes)
    for t in range(len(sizes) - 1, -1, -1) if reverse else range(len(sizes)):
        before, cell = _first(h, sizes[t]), None if c is None else _first(c, sizes[t])
        now = ops.narrow(own, 0, starts[t], sizes[t])
        new, cell, saved[t] = step(now, ops.linear(before, v, q), before, cell)
        outputs[t] = new if w is None else ops.linear(new, w)
        # Sequences are sorted by length: the first rows are those that still go on.
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
    g: Tensor, to_c: Tensor, kept: Tensor, extra: Tensor | None, before: Tensor, cell: Tensor, out: Tensor
) -> tuple[Any, Any, Any, Any]:
    i, f, n, o, c = _parts(kept, 5)
    # Computed again, as it would be a sixth tensor to save for each step.
    bend = ops.tanh(c)
    to_c = ops.add(to_c, ops.tanh_backward(ops.mul(g, o), bend))
    to_o = ops.mul(g, bend)
    more = [None] * 5 if extra is None else _parts(extra, 5)
    to_c = _plus(to_c, more[4])
    slopes = ops.cat(
        (
            ops.sigmoid_backward(_plus(ops.mul(to_c, n), more[0]), i),
            ops.sigmoid_backward(_plus(ops.mul(to_c, cell), more[1]), f),
            ops.tanh_backward(_plus(ops.mul(to_c, i), more[2]), n),
            ops.sigmoid_backward(_plus(to_o, more[3]), o),
        ),
        -1,
    )
    return slopes, slopes, None, ops.mul(to_c, f)


def _gru_back(
    g: Tensor, to_c: Any, kept: Tensor, extra: Any, before: Tensor, cell: Any, out: Tensor
) -> tuple[Any, Any, Any, Any]:
    r, z, n, product = _parts(kept, 4)
    more = [None] * 4 if extra is None else _parts(extra, 4)
    to_n = ops.tanh_backward(_plus(ops.mul(g, _less(z)), more[2]), n)
    to_z = ops.sigmoid_backward(_plus(ops.mul(g, ops.sub(before, n)), more[1]), z)
    to_r = ops.sigmoid_backward(_plus(ops.mul(to_n, product), more[0]), r)
    to_product = _plus(ops.mul(to_n, r), more[3])
    return ops.cat((to_r, to_z, to_n), -1), ops.cat((to_r, to_z, to_product), -1), ops.mul(g, z), None


def _tanh_back(
    g: Tensor, to_c: Any, kept: Tensor, extra: Any, before: Tensor, cell: Any, out: Tensor
) -> tuple[Any, Any, Any, Any]:
    slope = ops.tanh_backward(g, out)
    return slope, slope, None, None


def _relu_back(
    g: Tensor, to_c: Any, kept: Tensor, extra: Any, before: Tensor, cell: Any, out: Tensor
) -> tuple[Any, Any, Any, Any]:
    slope = ops.threshold_backward(g, out, 0)
    return slope, slope, None, None


_BACK: Final = {"lstm": _lstm_back, "gru": _gru_back, "tanh": _tanh_back, "relu": _relu_back}


def _plus(one: Tensor, other: Tensor | None) -> Tensor:
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
    # Saved behind the four gates of each step.
    cells: Any = None if c is None else ops.narrow(kept, 1, 4 * hidden, hidden)
    for t in range(len(sizes)) if reverse else range(len(sizes) - 1, -1, -1):
        size = sizes[t]
        rows = starts[t], size
        here: Any = ops.narrow(kept, 0, *rows)
        last = None if extra is None else ops.narrow(extra, 0, *rows)
        before = _before(out, h, sizes, starts, t, reverse)
        cell = None if c is None else _before(cells, c, sizes, starts, t, reverse)
        # A state is used twice: as the output of its step and by the next step.
        slope = ops.add(ops.narrow(g, 0, *rows), _first(d, size))
        if w is not None:
            slopes[t] = slope
            projected[t] = ops.mul(
                ops.narrow(here, 1, 3 * hidden, hidden), ops.tanh(ops.narrow(cells, 0, *rows))
            )
            slope = _times(slope, w)
        own[t], recurrent[t], direct, to_cell = back(
            slope, None if c is None else _first(to_c, size), here, last, before, cell, ops.narrow(out, 0, *rows)
        )  # fmt: skip
        befores[t] = before
        d = _with_first(d, _plus(_times(recurrent[t], v), direct))
        to_c = None if c is None else _with_first(to_c, to_cell)
    # Gradients of the weights sum over all steps: one product of the joined rows.
    to_own, to_recurrent = ops.cat(own), ops.cat(recurrent)
    nothing = ops.new_empty(g, (0,))
    grads = (
        ops.reshape(_times(to_own, u), tuple(input.shape)),
        d,
        nothing if c is None else to_c,
        _times(ops.transpose(to_own, 0, 1), x),
        _times(ops.transpose(to_recurrent, 0, 1), ops.cat(befores)),
        ops.sum.dim(to_own, (0,)),
        ops.sum.dim(to_recurrent, (0,)),
        ops.clone(nothing) if w is None else _times(ops.transpose(ops.cat(slopes), 0, 1), ops.cat(projected)),
    )
    return tuple(as_type(t, input.dtype) for t in grads)


def _before(
    rows: Tensor, initial: Tensor, sizes: Sequence[int], starts: Sequence[int], t: int, reverse: bool
) -> Tensor:
    """Return the states from which a step came: those of the step before it, where a sequence had one."""
    size, previous = sizes[t], t + 1 if reverse else t - 1
    if not 0 <= previous < len(sizes):
        return _first(initial, size)
    known = min(size, sizes[previous])
    earlier = ops.narrow(rows, 0, starts[previous], known)
    return earlier if known == size else ops.cat((earlier, ops.narrow(initial, 0, known, size - known)))


Weights = tuple[Any, Any, Any, Any, Any]
"""w_ih, w_hh, b_ih, b_hh and w_hr of one direction of a layer; None for those that it lacks."""

# --- layers and directions -------------------------------------------------------------------------------------


def _weights(
    op: str, params: Sequence[Any], has_biases: bool, num_layers: int, directions: int, projected: bool
) -> list[Weights]:
    """Return the parameters of each direction of each layer."""
    each = (4 if has_biases else 2) + projected
    if num_layers < 1 or len(params) != each * num_layers * directions:
        raise ShapeError(
            f"{op}(): got an incorrect number of RNN parameters: {num_layers} layers in {directions} directions have "
            f"{each * num_layers * directions}, {each} each; got {len(params)}"
        )
    result = []
    for start in range(0, len(params), each):
        part = list(params[start : start + each])
        biases = part[2:4] if has_biases else [None, None]
        result.append((part[0], part[1], biases[0], biases[1], part[-1] if projected else None))
    return result


def _run(
    op: str, mode: str, x: Tensor, batch_sizes: Tensor | None, hx: Sequence[Any], params: Sequence[Any],
    has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """Return the output and the last states of all layers."""
    directions = 2 if bidirectional else 1
    if not 0 <= dropout <= 1:
        raise ValueRangeError(f"{op}(): dropout probability has to be between 0 and 1, but got {dropout}")
    for state in hx:
        if state.ndim != 3 or state.shape[0] != num_layers * directions:
            raise ShapeError(
                f"{op}(): hx must be of shape ({num_layers * directions}, batch, size), one for each layer and "
                f"direction; got {list(state.shape)}"
            )
        if state.dtype is not x.dtype:
            raise DtypeError(f"{op}(): Input and hidden tensors are not the same dtype, found input tensor with "
                             f"{x.dtype} and hidden tensor with {state.dtype}")  # fmt: skip
        if state.device != x.device:
            raise DeviceMismatchError(op, [("input", str(x.device)), ("hx", str(state.device))])
    for weight in params:
        if weight.dtype is not x.dtype:
            raise DtypeError(f"{op}(): Input and parameter tensors are not the same dtype, found input tensor with "
                             f"{x.dtype} and parameter tensor with {weight.dtype}")  # fmt: skip
    # Only an LSTM has two states, and only a projection makes them differ in size.
    projected = len(hx) == 2 and hx[0].shape[2] != hx[1].shape[2]
    weights = _weights(op, params, has_biases, num_layers, directions, projected)
    last: list[list[Any]] = [[] for _ in hx]
    for layer in range(num_layers):
        # Between layers only, as in PyTorch.
        if layer and dropout and train:
            x = ops.dropout(x, dropout, True)
        outputs = []
        for direction in range(directions):
            number = layer * directions + direction
            u, v, p, q, w = weights[number]
            states = [ops.select(state, 0, number) for state in hx]
            cell = states[1] if len(states) > 1 else None
            results = ops._rnn_layer(x, states[0], cell, u, v, p, q, w, batch_sizes, mode, direction == 1)
            outputs.append(results[0])
            for k in range(len(hx)):
                last[k].append(results[1 + k])
        x = outputs[0] if directions == 1 else ops.cat(outputs, -1)
    finals = [ops.unsqueeze(f[0], 0) if len(f) == 1 else ops.stack(f) for f in last]
    return x, *finals


def _padded(
    op: str, mode: str, input: Tensor, hx: Sequence[Any], params: Sequence[Tensor], *rest: Any
) -> tuple[Any, ...]:
    """Run layers on a tensor of steps, whose batch may be its first dimension."""
    *options, batch_first = rest
    if input.ndim != 3:
        raise DimensionCountError(f"{op}(): input must have 3 dimensions, got {input.ndim}")
    x = ops.transpose(input, 0, 1) if batch_first else input
    output, *last = _run(op, mode, x, None, hx, params, *options)
    return ops.transpose(output, 0, 1) if batch_first else output, *last


def _packed(
    op: str,
    mode: str,
    data: Tensor,
    batch_sizes: Tensor,
    hx: Sequence[Any],
    params: Sequence[Tensor],
    *options: Any,
) -> tuple[Any, ...]:
    """Run layers on packed sequences."""
    if data.ndim != 2:
        raise DimensionCountError(f"{op}(): packed data must have 2 dimensions, got {data.ndim}")
    if batch_sizes.dtype is not int64 or batch_sizes.ndim != 1:
        raise DtypeError(
            f"{op}(): batch_sizes must be a 1-D int64 tensor, got {batch_sizes.ndim}-D {batch_sizes.dtype}"
        )
    return _run(op, mode, data, batch_sizes, hx, params, *options)


def _two(op: str, hx: Sequence[Any]) -> Sequence[Any]:
    if len(hx) != 2:
        raise ShapeError(f"{op}() expects two hidden states, got {len(hx)}")
    return hx


@composite("lstm.input")
def lstm_input(input: Tensor, hx: Sequence[Tensor], params: Sequence[Tensor], *rest: Any) -> tuple[Any, ...]:
    return _padded("lstm", "lstm", input, _two("lstm", hx), params, *rest)


@composite("lstm.data")
def lstm_data(
    data: Tensor, batch_sizes: Tensor, hx: Sequence[Tensor], params: Sequence[Tensor], *rest: Any
) -> tuple[Any, ...]:
    return _packed("lstm", "lstm", data, batch_sizes, _two("lstm", hx), params, *rest)


@composite("gru.input")
def gru_input(input: Tensor, hx: Tensor, params: Sequence[Tensor], *rest: Any) -> tuple[Any, ...]:
    return _padded("gru", "gru", input, (hx,), params, *rest)


@composite("gru.data")
def gru_data(
    data: Tensor, batch_sizes: Tensor, hx: Tensor, params: Sequence[Tensor], *rest: Any
) -> tuple[Any, ...]:
    return _packed("gru", "gru", data, batch_sizes, (hx,), params, *rest)


@composite("rnn_tanh.input")
def rnn_tanh_input(input: Tensor, hx: Tensor, params: Sequence[Tensor], *rest: Any) -> tuple[Any, ...]:
    return _padded("rnn_tanh", "tanh", input, (hx,), params, *rest)


@composite("rnn_tanh.data")
def rnn_tanh_data(
    data: Tensor, batch_sizes: Tensor, hx: Tensor, params: Sequence[Tensor], *rest: Any
) -> tuple[Any, ...]:
    return _packed("rnn_tanh", "tanh", data, batch_sizes, (hx,), params, *rest)


@composite("rnn_relu.input")
def rnn_relu_input(input: Tensor, hx: Tensor, params: Sequence[Tensor], *rest: Any) -> tuple[Any, ...]:
    return _padded("rnn_relu", "relu", input, (hx,), params, *rest)


@composite("rnn_relu.data")
def rnn_relu_data(
    data: Tensor, batch_sizes: Tensor, hx: Tensor, params: Sequence[Tensor], *rest: Any
) -> tuple[Any, ...]:
    return _packed("rnn_relu", "relu", data, batch_sizes, (hx,), params, *rest)


# --- cells -----------------------------------------------------------------------------------------------------


def _cell(
    op: str, mode: str, input: Tensor, hx: Tensor, cx: Tensor | None, *weights: Any
) -> tuple[Any, Any, Any]:
    """Run one step; return the result and the states."""
    w_ih, w_hh, b_ih, b_hh = weights
    states = {f"hidden{k}": state for k, state in enumerate((hx, cx)) if state is not None}
    for name, value in {"input": input, **states}.items():
        if value.ndim != 2:
            raise DimensionCountError(f"{op}(): {name} must have 2 dimensions, got {value.ndim}")
    if w_ih.ndim == 2 and input.shape[1] != w_ih.shape[1]:
        raise ShapeError(
            f"{op}(): input has inconsistent input_size: got {input.shape[1]} expected {w_ih.shape[1]}"
        )
    hidden = w_ih.shape[0] // GATES[mode] if w_ih.ndim else 0
    for name, state in states.items():
        if state.shape[0] != input.shape[0]:
            raise ShapeError(
                f"{op}(): Input batch size {input.shape[0]} doesn't match {name} batch size {state.shape[0]}"
            )
        if state.shape[1] != hidden:
            raise ShapeError(
                f"{op}(): {name} has inconsistent hidden_size: got {state.shape[1]}, expected {hidden}"
            )
    x = ops.unsqueeze(input, 0)
    results = ops._rnn_layer(x, hx, cx, w_ih, w_hh, b_ih, b_hh, None, None, mode, False)
    return results[0], results[1], results[2]


@composite("lstm_cell")
def lstm_cell(
    input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None
) -> tuple[Any, Any]:
    h, c = _two("lstm_cell", hx)
    return _cell("lstm_cell", "lstm", input, h, c, w_ih, w_hh, b_ih, b_hh)[1:]


@composite("gru_cell")
def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None
) -> Any:
    return _cell("gru_cell", "gru", input, hx, None, w_ih, w_hh, b_ih, b_hh)[1]


@composite("rnn_tanh_cell")
def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None
) -> Any:
    return _cell("rnn_tanh_cell", "tanh", input, hx, None, w_ih, w_hh, b_ih, b_hh)[1]


@composite("rnn_relu_cell")
def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None
) -> Any:
    return _cell("rnn_relu_cell", "relu", input, hx, None, w_ih, w_hh, b_ih, b_hh)[1]


# --- packed sequences ------------------------------------------------------------------------------------------


def _numbers(op: str, name: str, tensor: Tensor) -> list[int]:
    """Return the elements of a vector of lengths."""
    if tensor.ndim != 1 or tensor.dtype is not int64:
        raise DtypeError(
            f"{op}(): '{name}' argument should be a 1D CPU int64 tensor, but got {tensor.ndim}D {tensor.dtype} tensor"
        )
    if tensor.device.type == "meta":
        raise DataDependentError(op, "meta")
    numbers: list[int] = tensor.tolist()
    return numbers


def _places(sizes: Tensor, steps: int, batch: int) -> Tensor:
    """Return where packed rows lie among the steps * batch rows of a padded tensor."""
    columns = ops.arange(batch, device=sizes.device)
    chosen = ops.lt(ops.unsqueeze(columns, 0), ops.unsqueeze(sizes, 1))
    return ops.reshape(ops.nonzero(ops.reshape(chosen, (steps * batch,))), (-1,))


def _on(x: Tensor, device: Any) -> Tensor:
    return x if x.device == device else ops._to_copy(x, device=device)


@composite("_pack_padded_sequence")
def pack_padded_sequence(input: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Any, Any]:
    op = "_pack_padded_sequence"
    if input.ndim < 2:
        raise DimensionCountError(f"{op}(): input must have at least 2 dimensions, got {input.ndim}")
    numbers = _numbers(op, "lengths", lengths)
    x = ops.transpose(input, 0, 1) if batch_first else input
    steps, batch = x.shape[:2]
    if not input.numel():
        raise ShapeError(f"{op}(): Cannot pack empty tensors.")
    if len(numbers) != batch:
        raise ShapeError(f"{op}(): Expected `len(lengths)` to be equal to batch_size, but got {len(numbers)} "
                         f"(batch_size={batch})")  # fmt: skip
    if min(numbers) <= 0:
        raise ValueRangeError(
            f"{op}(): Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if any(a < b for a, b in pairwise(numbers)):
        raise ValueRangeError(
            f"{op}(): `lengths` array must be sorted in decreasing order when `enforce_sorted` is True; got {numbers}. "
            f"You can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this "
            f"requirement if you do not need ONNX exportability."
        )
    longest = numbers[0]
    if longest > steps:
        raise ShapeError(
            f"{op}(): Expected sequence length to be at least {longest}, the first of lengths; input has {steps} steps"
        )
    times = ops.arange(longest, device=lengths.device)
    # A step has as many rows as there are sequences longer than it.
    sizes = ops.sum.dim(ops.lt(ops.unsqueeze(times, 1), ops.unsqueeze(lengths, 0)), (1,))
    rows = ops.reshape(ops.narrow(x, 0, 0, longest), (longest * batch, *x.shape[2:]))
    return ops.index_select(rows, 0, _on(_places(sizes, longest, batch), input.device)), as_type(sizes, int64)


@composite("_pad_packed_sequence")
def pad_packed_sequence(
    data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: Any, total_length: int
) -> tuple[Any, Any]:
    op = "_pad_packed_sequence"
    sizes = _numbers(op, "batch_sizes", batch_sizes)
    falling = all(a >= b for a, b in pairwise(sizes))
    if not sizes or sizes[-1] < 1 or not falling or not data.ndim or sum(sizes) != data.shape[0]:
        raise ValueRangeError(
            f"{op}(): batch_sizes must be positive, never rise and add up to the rows of data, {list(data.shape)}; got "
            f"{sizes}"
        )
    steps, batch = max(len(sizes), total_length), sizes[0]
    if 0 < total_length < len(sizes):
        raise ValueRangeError(
            f"{op}(): Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {len(sizes)}"
        )
    rest = tuple(data.shape[1:])
    positions = _on(_places(batch_sizes, len(sizes), batch), data.device)
    empty = ops.full((steps * batch, *rest), padding_value, dtype=data.dtype, device=data.device)
    padded = ops.reshape(ops.index_copy(empty, 0, positions, data), (steps, batch, *rest))
    columns = ops.arange(batch, device=batch_sizes.device)
    lengths = ops.sum.dim(ops.lt(ops.unsqueeze(columns, 1), ops.unsqueeze(batch_sizes, 0)), (1,))
    return ops.transpose(padded, 0, 1) if batch_first else padded, as_type(lengths, int64)
