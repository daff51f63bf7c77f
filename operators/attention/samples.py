"""Samples of attention."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tt.core.dispatch.registry.registry import ops
from tt.operators._samples.base import OPTION, FamilyTable, Inputs, Sample

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor


family = FamilyTable()


@family("attention")
def attention(make: Inputs) -> Iterator[Sample]:
    for batch in ((), (2,), (2, 3)):
        inputs = (make.tensor(*batch, 3, 4), make.tensor(*batch, 5, 4), make.tensor(*batch, 5, 2))
        yield Sample(inputs, name=f"batch {batch}")
        yield Sample(inputs, {"is_causal": True}, f"batch {batch}, causal")
        yield Sample((*inputs, make.mask(3, 5)), name=f"batch {batch}, mask of bools")
        yield Sample((*inputs, make.tensor(3, 5)), name=f"batch {batch}, mask of numbers")
        yield Sample(inputs, {"scale": 0.3}, f"batch {batch}, scale")
    grouped = (make.tensor(2, 4, 3, 2), make.tensor(2, 2, 5, 2), make.tensor(2, 2, 5, 2))
    yield Sample(grouped, {"enable_gqa": True}, "grouped heads")
    yield Sample(
        (make.tensor(3, 4), make.tensor(5, 3), make.tensor(5, 2)), name="error: widths", error=RuntimeError
    )
    causal = (make.tensor(3, 4), make.tensor(3, 4), make.tensor(3, 4), make.mask(3, 3))
    yield Sample(causal, {"is_causal": True}, "error: two masks", OPTION)


@family("plain_attention")
def plain_attention(make: Inputs) -> Iterator[Sample]:
    yield from _plain_attention(make, make.tensor)


def _plain_attention(make: Inputs, tensor: Callable[..., Tensor]) -> Iterator[Sample]:
    for batch in ((), (2,), (2, 3)):
        inputs = (tensor(*batch, 3, 4), tensor(*batch, 5, 4), tensor(*batch, 5, 2))
        yield Sample((*inputs, None, False, 0.5), name=f"batch {batch}")
        yield Sample((*inputs, None, True, 0.5), name=f"batch {batch}, causal")
        yield Sample((*inputs, make.mask(*batch, 3, 5), False, 0.5), name=f"batch {batch}, mask")
        yield Sample((*inputs, make.mask(*batch, 3, 5), True, 0.5), name=f"batch {batch}, mask, causal")
        yield Sample((*inputs, tensor(*batch, 3, 5), False, 0.5), name=f"batch {batch}, mask of numbers")
        yield Sample(
            (*inputs, tensor(*batch, 3, 5), True, 0.5), name=f"batch {batch}, mask of numbers, causal"
        )
    q, k, v = tensor(2, 3, 4), tensor(2, 0, 4), tensor(2, 0, 2)
    yield Sample((q, k, v, None, False, 1.0), name="no keys")
    yield Sample((q[:0], q[:0], q[:0], None, False, 1.0), name="empty batch")
    yield Sample(
        (q.transpose(1, 2), q.transpose(1, 2), q.transpose(1, 2), None, False, 1.0), name="transposed"
    )
    yield Sample((q, q[:1], q, None, False, 1.0), name="error: batches", error=RuntimeError)
    yield Sample((q, q[..., :2], q, None, False, 1.0), name="error: widths", error=RuntimeError)


@family("plain_attention_backward")
def plain_attention_backward(make: Inputs) -> Iterator[Sample]:
    # Where one weight is almost 1, the terms of the gradients cancel: with values up to 5, the rounding of float32
    # alone exceeds its tolerance for one seed in twenty.
    small = functools.partial(make.tensor, low=-1, high=1)
    for sample in _plain_attention(make, small):
        if sample.error is None:
            query, value = sample.args[0], sample.args[2]
            grad = small(*query.shape[:-1], value.shape[-1])
            outputs = ops._attention(*sample.args)
            yield Sample((grad, *sample.args[:4], *outputs, *sample.args[4:]), name=sample.name)
    q = make.tensor(2, 3, 4)
    rows = q.sum(-1)
    yield Sample((q[:1], q, q, q, None, q, rows, False, 1.0), name="error: gradient", error=RuntimeError)
    yield Sample((q, q, q, q, None, q, q, False, 1.0), name="error: logsumexp", error=RuntimeError)
