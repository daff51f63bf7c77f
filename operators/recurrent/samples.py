"""Samples of recurrent layers, cells and packed sequences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tt.core.dispatch.registry.registry import ops
from tt.core.types.dtype import int64
from tt.operators._samples.base import OPTION, FamilyTable, Inputs, Sample
from tt.operators.recurrent.shapes import GATES

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

family = FamilyTable()

MODES = ("lstm", "gru", "tanh", "relu")
STEPS, BATCH, IN, HIDDEN, OUT = 3, 2, 3, 4, 2
# The second row of the batch ends after two steps, the first after three.
SIZES = (2, 2, 1)


def near(make: Inputs, *shape: int, layout: Any = "contiguous") -> Tensor:
    """Return small numbers, at which gates are not saturated."""
    return make.tensor(*shape, low=-1, high=1, layout=layout)


def weights(make: Inputs, mode: str, size: int, bias: bool = True, out: int | None = None) -> list[Any]:
    """Return w_ih, w_hh, b_ih, b_hh and w_hr of a layer."""
    rows = GATES[mode] * HIDDEN
    biases = [near(make, rows), near(make, rows)] if bias else [None, None]
    projection = None if out is None else near(make, out, HIDDEN)
    return [near(make, rows, size), near(make, rows, out or HIDDEN), *biases, projection]


def layers(make: Inputs) -> Iterator[tuple[str, list[Any]]]:
    """Yield names and arguments of `_rnn_layer`."""
    for mode in MODES:
        cell = near(make, BATCH, HIDDEN) if mode == "lstm" else None
        start = [near(make, STEPS, BATCH, IN), near(make, BATCH, HIDDEN), cell]
        yield mode, [*start, *weights(make, mode, IN), None, mode, False]
        yield f"{mode}, reverse, no bias", [*start, *weights(make, mode, IN, False), None, mode, True]
        packed = [near(make, sum(SIZES), IN), *start[1:]]
        sizes = make.of(SIZES, int64)
        for reverse in (False, True):
            name = f"{mode}, packed{', reverse' if reverse else ''}"
            yield name, [*packed, *weights(make, mode, IN), sizes, mode, reverse]
    states = [near(make, BATCH, OUT), near(make, BATCH, HIDDEN)]
    chosen = weights(make, "lstm", IN, True, OUT)
    yield "projection", [near(make, STEPS, BATCH, IN), *states, *chosen, None, "lstm", False]
    yield (
        "projection, packed, reverse",
        [near(make, sum(SIZES), IN), *states, *chosen, make.of(SIZES, int64), "lstm", True],
    )
    one = [near(make, 1, 1, IN), near(make, 1, HIDDEN), None]
    none = [near(make, STEPS, 0, IN), near(make, 0, HIDDEN), None]
    yield "no rows", [*none, *weights(make, "gru", IN), None, "gru", False]
    yield "one step, one row", [*one, *weights(make, "gru", IN), None, "gru", False]
    x = near(make, BATCH, STEPS, IN).transpose(0, 1)
    yield "batch first", [x, near(make, BATCH, HIDDEN), None, *weights(make, "gru", IN), None, "gru", False]


@family("rnn_layer")
def rnn_layer(make: Inputs) -> Iterator[Sample]:
    for name, args in layers(make):
        yield Sample(tuple(args), name=name)
    args = next(args for name, args in layers(make) if name == "gru")
    yield Sample(
        (*args[:1], near(make, BATCH, HIDDEN + 1), *args[2:]), name="error: hidden size", error=RuntimeError
    )
    yield Sample((near(make, 0, BATCH, IN), *args[1:]), name="error: no steps", error=RuntimeError)
    wrong = (near(make, sum(SIZES), IN), *args[1:8], make.of((1, 2, 2), int64), "gru", False)
    yield Sample(wrong, name="error: rising batch sizes", error=OPTION)


@family("rnn_layer_backward")
def rnn_layer_backward(make: Inputs) -> Iterator[Sample]:
    for name, args in layers(make):
        x, hx, cx, w_ih, w_hh, _, _, w_hr, sizes, mode, reverse = args
        output, h_n, c_n, saved = ops._rnn_layer(*args)
        rest = (x, hx, cx, w_ih, w_hh, w_hr, sizes, output, saved, mode, reverse)
        g = near(make, *output.shape)
        yield Sample((g, None, None, None, *rest), name=name)
        if sizes is None or w_hr is not None:
            to_c = None if cx is None else near(make, *c_n.shape)
            more = (near(make, *h_n.shape), to_c, near(make, *saved.shape).to(saved.dtype))
            yield Sample((g, *more, *rest), name=f"{name}, all gradients")
    yield Sample((near(make, 1), None, None, None, *rest), name="error: shapes", error=RuntimeError)


def networks(make: Inputs, mode: str, packed: bool) -> Iterator[tuple[str, list[Any]]]:
    """Yield names and arguments of networks of several layers and directions."""
    for count, both, bias in ((1, False, True), (2, True, False)):
        directions = 2 if both else 1
        params: list[Any] = []
        for layer in range(count):
            for _ in range(directions):
                # A layer reads what both directions of the one below wrote.
                tensors = weights(make, mode, HIDDEN * directions if layer else IN, bias)
                params += [w for w in tensors if w is not None]
        hx = [near(make, count * directions, BATCH, HIDDEN) for _ in range(2 if mode == "lstm" else 1)]
        states = hx if mode == "lstm" else hx[0]
        options = [bias, count, 0.0, False, both]
        name = f"{count} layers{', bidirectional' if both else ''}{'' if bias else ', no bias'}"
        if packed:
            yield name, [near(make, sum(SIZES), IN), make.of(SIZES, int64), states, params, *options]
            continue
        yield name, [near(make, STEPS, BATCH, IN), states, params, *options, False]
        yield f"{name}, batch first", [near(make, BATCH, STEPS, IN), states, params, *options, True]


def network(mode: str, packed: bool) -> Any:
    """Return the family of a network."""

    def samples(make: Inputs) -> Iterator[Sample]:
        for name, args in networks(make, mode, packed):
            yield Sample(tuple(args), name=name)
        wrong = (*args[: 2 + packed], args[2 + packed][:-1], *args[3 + packed :])
        yield Sample(wrong, name="error: number of parameters", error=RuntimeError)

    return samples


for op_name, op_mode in (("lstm", "lstm"), ("gru", "gru"), ("rnn_tanh", "tanh"), ("rnn_relu", "relu")):
    family(f"{op_name}_input")(network(op_mode, False))
    family(f"{op_name}_data")(network(op_mode, True))


@family("lstm_cell")
def lstm_cell(make: Inputs) -> Iterator[Sample]:
    states = [near(make, BATCH, HIDDEN), near(make, BATCH, HIDDEN)]
    yield Sample((near(make, BATCH, IN), states, *weights(make, "lstm", IN)[:4]), name="biases")
    yield Sample((near(make, BATCH, IN), states, *weights(make, "lstm", IN)[:2]), name="no biases")
    wrong = (near(make, BATCH, IN + 1), states, *weights(make, "lstm", IN)[:2])
    yield Sample(wrong, name="error: input size", error=RuntimeError)


def cell(mode: str) -> Any:
    """Return the family of a cell with one state."""

    def samples(make: Inputs) -> Iterator[Sample]:
        hx = near(make, BATCH, HIDDEN)
        yield Sample((near(make, BATCH, IN), hx, *weights(make, mode, IN)[:4]), name="biases")
        yield Sample((near(make, BATCH, IN), hx, *weights(make, mode, IN)[:2]), name="no biases")
        wrong = (near(make, BATCH + 1, IN), hx, *weights(make, mode, IN)[:2])
        yield Sample(wrong, name="error: batch", error=RuntimeError)

    return samples


for op_name, op_mode in (("gru_cell", "gru"), ("rnn_tanh_cell", "tanh"), ("rnn_relu_cell", "relu")):
    family(op_name)(cell(op_mode))


# --- packed sequences ------------------------------------------------------------------------------------------


@family("pack_padded_sequence")
def pack_padded_sequence(make: Inputs) -> Iterator[Sample]:
    for lengths in ((4, 3, 1), (2, 2, 2)):
        yield Sample((make.tensor(4, 3, 2), make.of(lengths, int64), False), name=f"lengths {lengths}")
    yield Sample((make.tensor(2, 3), make.of((3, 1), int64), True), name="batch first, no features")
    x = make.tensor(4, 2, 2)
    for name, wrong in (("order", (1, 2)), ("zero", (2, 0)), ("count", (2, 1, 1)), ("too long", (5, 1))):
        yield Sample((x, make.of(wrong, int64), False), name=f"error: {name}", error=OPTION)


@family("pad_packed_sequence")
def pad_packed_sequence(make: Inputs) -> Iterator[Sample]:
    data, sizes = make.tensor(6, 2), make.of((3, 2, 1), int64)
    yield Sample((data, sizes, False, 0, -1), name="padded with zeros")
    yield Sample((data, sizes, True, 2, 4), name="batch first, longer")
    yield Sample((data, sizes, False, 0, 2), name="error: too short", error=OPTION)
    yield Sample((data, make.of((2, 2, 1), int64), False, 0, -1), name="error: rows", error=OPTION)
