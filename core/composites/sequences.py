"""Composites of recurrent networks (layers and directions of `_rnn_layer`), of their cells, and of packed sequences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from tt.core.composites.helpers import as_type
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
from tt.core.shapes.recurrent import GATES
from tt.core.types.dtype import int64

composites: Final = CompositeTable()
composite = composites.composite

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
    found = []
    for start in range(0, len(params), each):
        part = list(params[start : start + each])
        biases = part[2:4] if has_biases else [None, None]
        found.append((part[0], part[1], biases[0], biases[1], part[-1] if projected else None))
    return found


def _run(
    op: str, mode: str, x: Any, batch_sizes: Any, hx: Sequence[Any], params: Sequence[Any], has_biases: bool,
    num_layers: int, dropout: float, train: bool, bidirectional: bool,
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
    projected = len(hx) == 2 and hx[0].shape[2] != hx[1].shape[2]
    weights = _weights(op, params, has_biases, num_layers, directions, projected)
    last: list[list[Any]] = [[] for _ in hx]
    for layer in range(num_layers):
        if layer and dropout and train:
            x = ops.dropout(x, dropout, True)
        outputs = []
        for direction in range(directions):
            place = layer * directions + direction
            u, v, p, q, w = weights[place]
            states = [ops.select(state, 0, place) for state in hx]
            cell = states[1] if len(states) > 1 else None
            found = ops._rnn_layer(x, states[0], cell, u, v, p, q, w, batch_sizes, mode, direction == 1)
            outputs.append(found[0])
            for k in range(len(hx)):
                last[k].append(found[1 + k])
        x = outputs[0] if directions == 1 else ops.cat(outputs, -1)
    finals = [ops.unsqueeze(f[0], 0) if len(f) == 1 else ops.stack(f) for f in last]
    return x, *finals


def _padded(op: str, mode: str, input: Any, hx: Sequence[Any], params: Any, *rest: Any) -> tuple[Any, ...]:
    """Run layers on a tensor of steps, whose batch may be its first dimension."""
    *options, batch_first = rest
    if input.ndim != 3:
        raise DimensionCountError(f"{op}(): input must have 3 dimensions, got {input.ndim}")
    x = ops.transpose(input, 0, 1) if batch_first else input
    output, *last = _run(op, mode, x, None, hx, params, *options)
    return ops.transpose(output, 0, 1) if batch_first else output, *last


def _packed(
    op: str, mode: str, data: Any, batch_sizes: Any, hx: Sequence[Any], params: Any, *options: Any
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
def lstm_input(input: Any, hx: Any, params: Any, *rest: Any) -> tuple[Any, ...]:
    return _padded("lstm", "lstm", input, _two("lstm", hx), params, *rest)


@composite("lstm.data")
def lstm_data(data: Any, batch_sizes: Any, hx: Any, params: Any, *rest: Any) -> tuple[Any, ...]:
    return _packed("lstm", "lstm", data, batch_sizes, _two("lstm", hx), params, *rest)


@composite("gru.input")
def gru_input(input: Any, hx: Any, params: Any, *rest: Any) -> tuple[Any, ...]:
    return _padded("gru", "gru", input, (hx,), params, *rest)


@composite("gru.data")
def gru_data(data: Any, batch_sizes: Any, hx: Any, params: Any, *rest: Any) -> tuple[Any, ...]:
    return _packed("gru", "gru", data, batch_sizes, (hx,), params, *rest)


@composite("rnn_tanh.input")
def rnn_tanh_input(input: Any, hx: Any, params: Any, *rest: Any) -> tuple[Any, ...]:
    return _padded("rnn_tanh", "tanh", input, (hx,), params, *rest)


@composite("rnn_tanh.data")
def rnn_tanh_data(data: Any, batch_sizes: Any, hx: Any, params: Any, *rest: Any) -> tuple[Any, ...]:
    return _packed("rnn_tanh", "tanh", data, batch_sizes, (hx,), params, *rest)


@composite("rnn_relu.input")
def rnn_relu_input(input: Any, hx: Any, params: Any, *rest: Any) -> tuple[Any, ...]:
    return _padded("rnn_relu", "relu", input, (hx,), params, *rest)


@composite("rnn_relu.data")
def rnn_relu_data(data: Any, batch_sizes: Any, hx: Any, params: Any, *rest: Any) -> tuple[Any, ...]:
    return _packed("rnn_relu", "relu", data, batch_sizes, (hx,), params, *rest)


# --- cells -----------------------------------------------------------------------------------------------------


def _cell(op: str, mode: str, input: Any, hx: Any, cx: Any, *weights: Any) -> tuple[Any, Any, Any]:
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
    found = ops._rnn_layer(x, hx, cx, w_ih, w_hh, b_ih, b_hh, None, None, mode, False)
    return found[0], found[1], found[2]


@composite("lstm_cell")
def lstm_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> tuple[Any, Any]:
    h, c = _two("lstm_cell", hx)
    return _cell("lstm_cell", "lstm", input, h, c, w_ih, w_hh, b_ih, b_hh)[1:]


@composite("gru_cell")
def gru_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
    return _cell("gru_cell", "gru", input, hx, None, w_ih, w_hh, b_ih, b_hh)[1]


@composite("rnn_tanh_cell")
def rnn_tanh_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
    return _cell("rnn_tanh_cell", "tanh", input, hx, None, w_ih, w_hh, b_ih, b_hh)[1]


@composite("rnn_relu_cell")
def rnn_relu_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
    return _cell("rnn_relu_cell", "relu", input, hx, None, w_ih, w_hh, b_ih, b_hh)[1]


# --- packed sequences ------------------------------------------------------------------------------------------


def _numbers(op: str, name: str, tensor: Any) -> list[int]:
    """Return the elements of a vector of lengths."""
    if tensor.ndim != 1 or tensor.dtype is not int64:
        raise DtypeError(
            f"{op}(): '{name}' argument should be a 1D CPU int64 tensor, but got {tensor.ndim}D {tensor.dtype} tensor"
        )
    if tensor.device.type == "meta":
        raise DataDependentError(op, "meta")
    found: list[int] = tensor.tolist()
    return found


def _places(sizes: Any, steps: int, batch: int) -> Any:
    """Return where packed rows lie among the steps * batch rows of a padded tensor."""
    columns = ops.arange(batch, device=sizes.device)
    chosen = ops.lt(ops.unsqueeze(columns, 0), ops.unsqueeze(sizes, 1))
    return ops.reshape(ops.nonzero(ops.reshape(chosen, (steps * batch,))), (-1,))


def _on(x: Any, device: Any) -> Any:
    return x if x.device == device else ops._to_copy(x, device=device)


@composite("_pack_padded_sequence")
def pack_padded_sequence(input: Any, lengths: Any, batch_first: bool) -> tuple[Any, Any]:
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
    sizes = ops.sum.dim(ops.lt(ops.unsqueeze(times, 1), ops.unsqueeze(lengths, 0)), (1,))
    rows = ops.reshape(ops.narrow(x, 0, 0, longest), (longest * batch, *x.shape[2:]))
    return ops.index_select(rows, 0, _on(_places(sizes, longest, batch), input.device)), as_type(sizes, int64)


@composite("_pad_packed_sequence")
def pad_packed_sequence(
    data: Any, batch_sizes: Any, batch_first: bool, padding_value: Any, total_length: int
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
    places = _on(_places(batch_sizes, len(sizes), batch), data.device)
    empty = ops.full((steps * batch, *rest), padding_value, dtype=data.dtype, device=data.device)
    padded = ops.reshape(ops.index_copy(empty, 0, places, data), (steps, batch, *rest))
    columns = ops.arange(batch, device=batch_sizes.device)
    lengths = ops.sum.dim(ops.lt(ops.unsqueeze(columns, 1), ops.unsqueeze(batch_sizes, 0)), (1,))
    return ops.transpose(padded, 0, 1) if batch_first else padded, as_type(lengths, int64)
