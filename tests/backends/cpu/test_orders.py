"""The order of dimensions that results of several arrays have in memory: NumPy's functions follow the shape rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest

import tt
from tt import Tensor
from tt.backends.cpu.backend import CpuBackend, element_strides
from tt.backends.cpu.general import GeneralKernels
from tt.backends.cpu.native import loading

LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "rows": lambda x: x,
    "first last": lambda x: x.permute(1, 2, 0).contiguous().permute(2, 0, 1),
    "reversed": lambda x: x.permute(2, 1, 0).contiguous().permute(2, 1, 0),
    "middle last": lambda x: x.permute(0, 2, 1).contiguous().permute(0, 2, 1),
    "repeated": lambda x: x[:1].expand(2, 3, 4),
    "gaps": lambda x: x.repeat(1, 1, 2)[:, :, ::2],
    "one row": lambda x: x[0, 0],
}
FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "add": tt.add,
    "le": tt.le,
    "logical_xor": tt.logical_xor,
    "maximum": tt.maximum,
    "where": lambda x, y: tt.where(x > 2, y, x),
}


@pytest.mark.parametrize("dtype", [tt.float32, tt.uint8, tt.complex64], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_first_tensor_that_orders_two_dimensions_decides(name: str, dtype: tt.dtype) -> None:
    if dtype is tt.complex64 and name in ("le", "maximum", "where"):
        pytest.skip("complex numbers have no order")
    x = tt.arange(1, 25).reshape(2, 3, 4).to(dtype)
    for first, second in product(LAYOUTS, repeat=2):
        a, b = LAYOUTS[first](x), LAYOUTS[second](x)
        described = [tt.empty_strided(t.shape, t.stride(), dtype=dtype, device="meta") for t in (a, b)]
        result = FUNCTIONS[name](a, b)
        assert result.stride() == FUNCTIONS[name](*described).stride(), (first, second)
        dense = FUNCTIONS[name](a.contiguous(), b.contiguous())
        np.testing.assert_array_equal(result.numpy(), dense.numpy())


ONES: tuple[tuple[Sequence[int], Sequence[int]], ...] = (
    ((1, 3, 2), (1, 1, 3)),
    ((2, 1, 3), (1, 1, 2)),
    ((1, 1, 3, 2), (1, 3, 1, 3)),
    ((2, 1, 1, 2), (1, 2, 4, 2)),
    ((3, 3), (0, 1)),
)
"""Shapes with dimensions of one element, or that repeat, and strides out of order."""


@pytest.mark.parametrize(("shape", "strides"), ONES)
@pytest.mark.parametrize("op", ["relu", "sinc", "sign"])
def test_what_where_made_of_one_tensor_has_the_strides_of_the_rule(
    op: str, shape: Sequence[int], strides: Sequence[int]
) -> None:
    array = np.lib.stride_tricks.as_strided(
        np.arange(-4.0, 4.0, dtype=np.float32), shape, [4 * s for s in strides]
    )
    rule = getattr(tt, op)(tt.empty_strided(shape, strides, device="meta")).stride()
    (kernel,) = (kernel for kernel in GeneralKernels(CpuBackend()).of(op) if kernel.takes is None)
    assert element_strides(kernel.function(array)) == rule


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_mixed_memory_formats_give_the_strides_of_torch(dtype: str) -> None:
    import torch

    def strides(library: object, first: bool) -> tuple[int, ...]:
        rows = library.ones(2, 3, 4, 5, dtype=getattr(library, dtype))  # type: ignore[attr-defined]
        last = rows.contiguous(memory_format=library.channels_last)  # type: ignore[attr-defined]
        pair = (last, rows) if first else (rows, last)
        return tuple((pair[0] * pair[1]).stride())

    for first in (False, True):
        assert strides(tt, first) == strides(torch, first)


@pytest.mark.parametrize(
    "shape", [(8, 1, 3, 3), (4, 3, 1, 1), (1, 1, 2, 3), (2, 1, 2, 1), (1, 3, 1, 1)], ids=str
)
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_copies_keep_the_strides_of_dimensions_of_one_element(device: str, shape: tuple[int, ...]) -> None:
    # Only these say that an image of one channel, or weights of one pixel, have their channels last.
    x = tt.empty(shape, memory_format=tt.channels_last, device=device).fill_(2.5)
    assert x.stride() != tt.empty(shape).stride() and x.is_contiguous()
    copies = (x.clone(), x.double(), x.long(), x.bfloat16(), x.to(tt.complex64), x.bool().float())
    likes = (
        tt.zeros_like(x),
        tt.ones_like(x),
        tt.full_like(x, 3),
        tt.empty_like(x),
        tt.zeros_like(x, dtype=tt.int8),
    )
    drawn = (tt.rand_like(x), tt.randn_like(x), tt.randint_like(x, 9))
    assert {y.stride() for y in (*copies, *likes, *drawn)} == {x.stride()}
    assert x.clone(memory_format=tt.contiguous_format).stride() == tt.empty(shape).stride()
    if device == "cpu":
        values = [y.unique().tolist() for y in (*copies[:4], *likes[:3])]
        assert values == [[2.5], [2.5], [2], [2.5], [0.0], [1.0], [3.0]]


@pytest.mark.skipif(
    not loading.status().active, reason="NumPy chooses the strides of dimensions of one element"
)
@pytest.mark.parametrize("shape", [(10, 3, 1, 1), (8, 1, 3, 3), (1, 3, 1, 1), (1, 1, 2, 3)], ids=str)
def test_numbers_and_broadcast_tensors_leave_the_strides_of_dimensions_of_one_element(
    shape: tuple[int, ...],
) -> None:
    operations: list[Callable[[Tensor, Tensor], Tensor]] = [
        lambda x, y: x * 5, lambda x, y: 1 - x, lambda x, y: x > 0.5, lambda x, y: x + y, lambda x, y: y / x,
    ]  # fmt: skip
    for memory_format in (tt.channels_last, tt.contiguous_format):
        x, y = tt.rand(shape).to(memory_format=memory_format), tt.rand(shape[1], 1, 1)
        like = tt.empty_strided(shape, x.stride(), device="meta")
        for operation in operations:
            assert operation(x, y).stride() == operation(like, y.to("meta")).stride()
            assert (
                operation(x, y).tolist() == operation(x.clone(memory_format=tt.contiguous_format), y).tolist()
            )


def test_copies_of_flipped_dimensions_of_one_element_have_no_negative_strides() -> None:
    x = tt.empty((1, 1, 2, 3), memory_format=tt.channels_last).fill_(2.5)
    for flipped in (
        x.flip(0),
        x.flip((0, 1)),
        x.flip(0).double(),
        tt.zeros_like(x.flip(1)),
        x.flip(0).clone(),
    ):
        assert min(flipped.stride()) > 0 and flipped.shape == x.shape


def test_weights_of_one_pixel_hand_their_format_to_the_result() -> None:
    layer = tt.nn.Conv2d(4, 6, 1).to(memory_format=tt.channels_last)
    layer.weight.data = tt.randn_like(layer.weight)
    for weights in (layer, layer.double().float()):
        assert weights(tt.ones(2, 4, 3, 3)).is_contiguous(memory_format=tt.channels_last)
