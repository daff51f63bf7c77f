"""Every class of modules, called with something other than it takes: the error is tt's, and names the layer."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest")

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

import tt
from tests.api.nn.modules.module_db import CLASSES, MORE, ROWS, samples, to_tt
from tt.nn.modules.failing_layer import _origin

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore"),  # torch warns of inputs from its own database
]

WITHOUT_INPUT = {
    "Container", "Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "RNNBase", "RNNCellBase",
    "SyncBatchNorm",
}  # fmt: skip


def instances(name: str) -> Iterator[tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    """Yield what makes a module, and its input, for a few of the rows of a class."""
    for make, given in MORE.get(name, ())[:1]:
        if given is not None:
            yield lambda make=make: make(tt.nn), to_tt(given), {}
    for sample in samples(name, True)[:2] if name in ROWS else ():
        ctor, forward = sample.constructor_input, sample.forward_input
        if forward is not None:
            yield (
                lambda ctor=ctor: getattr(tt.nn, name)(*to_tt(ctor.args), **to_tt(ctor.kwargs)),
                to_tt(forward.args),
                to_tt(forward.kwargs),
            )


def wrong(value: Any) -> Iterator[Any]:
    """Yield values of other types, and for a tensor other shapes, dtypes and devices."""
    yield from (None, "x", 3, [1.0], (value,), object())
    if isinstance(value, tt.Tensor):
        x = value.detach()
        yield from (tt.ones((), dtype=x.dtype), x.unsqueeze(0).unsqueeze(0), x.to("meta"))
        yield from (x.to(dtype) for dtype in (tt.bool, tt.int64, tt.float32, tt.complex64))
        if x.ndim:
            yield from (x[0], tt.cat([x, x], -1), tt.cat([x, x], 0), x[:0], x[..., :0])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CLASSES)
def test_a_wrong_input_is_refused_with_the_name_of_the_layer(name: str) -> None:
    calls = refused = 0
    for make, args, kwargs in instances(name):
        for place, value in enumerate(args):
            for bad in wrong(value):
                module = make().to(tt.float64)
                calls += 1
                try:
                    module(*args[:place], bad, *args[place + 1 :], **kwargs)
                except Exception as error:
                    refused += 1
                    what = f"{name}, argument {place}, {bad!r:.60}: {type(error).__name__}: {error}"
                    origin, stated = _origin(error)
                    assert isinstance(error, tt.errors.TTError) or (stated and origin.startswith("tt.")), what
                    shown = (name, type(module).__name__)  # a lazy module becomes another
                    assert any(kind in note for note in error.__notes__ for kind in shown), what
                    assert str(error), what
    assert bool(calls) == (name not in WITHOUT_INPUT)
    assert refused >= (calls > 0) or name in {"Identity"}


RNNS = [tt.nn.RNN, tt.nn.GRU, tt.nn.LSTM]


def states(kind: Any, *shape: int, **options: Any) -> Any:
    state = tt.zeros(*shape, **options)
    return (state, state) if kind is tt.nn.LSTM else state


@pytest.mark.parametrize("kind", RNNS)
@pytest.mark.parametrize(
    ("shape", "options", "error", "text"),
    [
        ((1, 2, 5), {}, RuntimeError, r"Expected hidden.* size \(1, 2, 4\), got \[1, 2, 5\]"),
        ((1, 3, 4), {}, RuntimeError, r"Expected hidden.* size \(1, 2, 4\), got \[1, 3, 4\]"),
        ((2, 4), {}, RuntimeError, "For batched 3-D input, hx .*should also be 3-D but got .*2-D"),
        (
            (1, 2, 4),
            {"dtype": tt.float64},
            RuntimeError,
            "input tensor with tt.float32 and hidden tensor with tt.float64",
        ),
        ((1, 2, 4), {"device": "meta"}, RuntimeError, "'input' is on cpu\n  argument 'hx' is on meta"),
    ],
)
def test_recurrent_layers_say_which_states_they_take(kind, shape, options, error, text):
    with pytest.raises(error, match=text) as caught:
        kind(3, 4)(tt.ones(5, 2, 3), states(kind, *shape, **options))
    assert isinstance(caught.value, tt.errors.TTError)
    assert caught.value.__notes__ == [f"in {kind.__name__}(3, 4)"]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("hx", "error", "text"),
    [
        (
            tt.zeros(1, 2, 4),
            TypeError,
            r"must be tuple of Tensors \(h_0, c_0\), not Tensor of shape \[1, 2, 4\]",
        ),
        ((tt.zeros(1, 2, 4), None), TypeError, "not tuple of Tensor, NoneType"),
        (3, TypeError, "not int"),
        ((tt.zeros(1, 2, 4),), RuntimeError, r"expected two hidden states \(h_0, c_0\), got 1"),
    ],
)
def test_an_lstm_takes_a_pair_of_states(packed, hx, error, text):
    x = tt.ones(5, 2, 3)
    given = tt.nn.utils.rnn.pack_padded_sequence(x, [5, 5]) if packed else x
    with pytest.raises(error, match=text):
        tt.nn.LSTM(3, 4)(given, hx)
    if not packed and error is TypeError:
        with pytest.raises(TypeError):
            tt.nn.LSTMCell(3, 4)(x[0], hx)


@pytest.mark.parametrize("kind", RNNS)
def test_recurrent_layers_take_tensors_and_packed_sequences(kind):
    with pytest.raises(TypeError, match="must be Tensor or PackedSequence, not ndarray"):
        kind(3, 4)(np.ones((5, 2, 3)))


def test_what_a_program_raises_inside_a_layer_is_left_alone():
    def activation(x: Any) -> Any:
        return None.nothing

    layer = tt.nn.TransformerEncoderLayer(4, 2, 8, activation=activation)
    with pytest.raises(AttributeError, match="nothing") as caught:
        layer(tt.ones(3, 1, 4))
    assert not hasattr(caught.value, "__notes__")


def test_the_same_in_pytorch():
    with pytest.raises(RuntimeError, match=r"Expected hidden size \(1, 2, 4\), got \[1, 2, 5\]"):
        torch.nn.GRU(3, 4)(torch.ones(5, 2, 3), torch.zeros(1, 2, 5))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda lib: lib.nn.NLLLoss()(lib.ones(4, 3), lib.tensor(1)), ValueError),
        (lambda lib: lib.nn.CrossEntropyLoss()(lib.ones(4, 3), lib.tensor([1, 2])), ValueError),
        (lambda lib: lib.nn.RMSNorm(3)(lib.tensor(1.0)), ValueError),
        (lambda lib: lib.nn.LayerNorm(2.5), TypeError),
        (lambda lib: lib.nn.FractionalMaxPool3d(0, output_size=2), ValueError),
    ],
)
def test_errors_are_of_pytorchs_kinds(call, error):
    for library in (torch, tt):
        with pytest.raises(error):
            call(library)
