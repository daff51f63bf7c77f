"""Memory from elsewhere: elements that are not aligned, and bools whose bytes are neither 0 nor 1."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt.core.library import handle_of

BYTES = np.frombuffer(bytes(range(256)) * 16, np.uint8)


def unaligned(dtype: str) -> np.ndarray:
    return BYTES[1:4001].view(dtype)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int16", "complex64"])
def test_elements_that_are_not_aligned_are_copied_or_refused(dtype):
    array = unaligned(dtype)
    assert not array.flags.aligned
    with pytest.raises(tt.errors.ValueRangeError, match="multiples of"):
        tt.from_numpy(array)
    for make in (tt.asarray, tt.as_tensor, tt.tensor, tt.from_dlpack):
        made = make(array)
        assert made._handle.flags.aligned
        np.testing.assert_array_equal(made.numpy(), array)
    made = tt.frombuffer(BYTES, dtype=getattr(tt, dtype), offset=1, count=10)
    assert made._handle.flags.aligned
    np.testing.assert_array_equal(made.numpy(), array[:10])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_view_as_a_wider_dtype_begins_at_a_multiple_of_its_size():
    whole = tt.tensor(BYTES)
    with pytest.raises(tt.errors.ShapeError, match="offset"):
        whole[1:4001].view(tt.float32)
    assert whole[4:4004].view(tt.float32).shape == (1000,)


ODD = np.frombuffer(bytes([2, 255, 1, 0]) * 5000, np.bool_)
CALLS = {
    "sum": lambda x: x.sum(),
    "sum, rows": lambda x: x.reshape(200, 100).sum(1),
    "sum, columns": lambda x: x.reshape(200, 100).sum(0),
    "sum, steps": lambda x: x[::3].sum(),
    "prod": lambda x: x[:3].prod(),
    "cumsum": lambda x: x.cumsum(0),
    "mean": lambda x: x.float().mean(),
    "add": lambda x: x + 1,
    "multiply": lambda x: x * 2.5,
    "divide": lambda x: x / 2,
    "power": lambda x: x**2,
    "exp": lambda x: tt.exp(x),
    "in place": lambda x: tt.ones(20000).add_(x),
    "copy": lambda x: tt.zeros(20000, dtype=tt.uint8).copy_(x),
    "where": lambda x: tt.where(x, 1, 2),
    "cat": lambda x: tt.cat([x, tt.ones(3)]),
    "sort": lambda x: tt.sort(x, stable=True)[1],
    "unique": lambda x: tt.unique(x, return_counts=True)[1],
    "unique_consecutive": lambda x: tt.unique_consecutive(x).long(),
    "masked": lambda x: tt.arange(20000)[x],
    "nonzero": lambda x: x.nonzero(),
    "equal": lambda x: x == tt.from_numpy(ODD.view(np.uint8) != 0),
    "any": lambda x: x.reshape(200, 100).any(0),
    "amin": lambda x: x[:3].amin(),
    **{
        str(dtype): lambda x, dtype=dtype: x.to(dtype)
        for dtype in (
            tt.uint8,
            tt.int8,
            tt.int16,
            tt.int32,
            tt.int64,
            tt.float16,
            tt.bfloat16,
            tt.float32,
            tt.float64,
            tt.complex64,
        )
    },
}


@pytest.mark.parametrize("name", CALLS)
def test_a_bool_is_true_whatever_byte_but_zero_it_has(name):
    odd, plain = tt.from_numpy(ODD.copy()), tt.from_numpy(ODD.view(np.uint8) != 0)
    found, wanted = CALLS[name](odd), CALLS[name](plain)
    assert found.tolist() == wanted.tolist()


def test_a_cast_of_a_bool_without_dimensions_is_an_array_of_its_own() -> None:
    found = [tt.isnan(tt.tensor(1.0, dtype=tt.float16)) for _ in range(2)]
    assert all(type(handle_of(x)) is np.ndarray for x in found)
    found[0].fill_(True)
    assert [x.item() for x in found] == [True, False]


MOVES = {
    "copy": lambda x, i, m: x.clone(),
    "transposed copy": lambda x, i, m: x.t().contiguous(),
    "every other one": lambda x, i, m: x[:, ::2].contiguous(),
    "into every other one": lambda x, i, m: tt.zeros(40, 80, dtype=x.dtype)[:, ::2].copy_(x),
    "cast": lambda x, i, m: x[:, ::3].to(tt.complex128),
    "reciprocal_, in steps": lambda x, i, m: x[:, ::2].reciprocal_(),
    "add, in steps": lambda x, i, m: x[:, ::2] + x[:, 1::2],
    "fill_": lambda x, i, m: x.fill_(1 + 2j),
    "cat": lambda x, i, m: tt.cat([x, x.t()], 1),
    "stack": lambda x, i, m: tt.stack([x, x.t()], 2),
    "index_select": lambda x, i, m: x.index_select(0, i),
    "index_select, columns": lambda x, i, m: x.index_select(1, i),
    "index": lambda x, i, m: x[i],
    "index_fill": lambda x, i, m: x.index_fill_(0, i, 3j),
    "index_copy": lambda x, i, m: x.index_copy_(0, i, x.clone()),
    "index_add": lambda x, i, m: x.index_add_(0, i, x.clone()),
    "take": lambda x, i, m: x.take(i),
    "gather": lambda x, i, m: x.gather(1, i[:, None].expand(40, 3)),
    "gather, rows": lambda x, i, m: x.gather(0, i[:, None].expand(40, 40)),
    "scatter": lambda x, i, m: x.scatter_(0, i[:, None].expand(40, 40), x.clone()),
    "scatter_add": lambda x, i, m: x.scatter_add_(0, i[:, None].expand(40, 40), x.clone()),
    "masked_select": lambda x, i, m: x.masked_select(m),
    "masked_fill": lambda x, i, m: x.masked_fill_(m, 2j),
    "masked_scatter": lambda x, i, m: x.masked_scatter_(m, x.clone()),
    "where": lambda x, i, m: tt.where(m, x, 1j),
    "flip": lambda x, i, m: x.flip(1),
    "roll": lambda x, i, m: x.roll(3, 1),
    "repeat": lambda x, i, m: x.repeat(2, 3),
    "repeat_interleave": lambda x, i, m: x.repeat_interleave(2, 1),
    "tril": lambda x, i, m: x.tril(),
    "diag": lambda x, i, m: x.diagonal().contiguous(),
    "cumsum": lambda x, i, m: x.cumsum(1),
    "sum": lambda x, i, m: x[:, ::2].sum(0),
    "pad": lambda x, i, m: tt.nn.functional.pad(x, (1, 2)),
}


@pytest.mark.parametrize("name", MOVES)
def test_complex64_may_begin_at_any_multiple_of_four_bytes(name):
    parts = np.random.default_rng(0).standard_normal(3201).astype(np.float32)
    shifted = np.frombuffer(bytearray(parts.tobytes()), np.complex64, offset=4).reshape(40, 40)
    assert shifted.ctypes.data % 8 == 4
    assert shifted.flags.aligned  # for NumPy, so that it comes to the kernels as it is
    straight = shifted.copy()
    index = tt.tensor(np.random.default_rng(1).permutation(40))
    mask = tt.tensor(np.random.default_rng(2).random((40, 40)) < 0.5)
    call = MOVES[name]
    result = call(tt.from_numpy(shifted), index, mask)
    np.testing.assert_array_equal(result.numpy(), call(tt.from_numpy(straight), index, mask).numpy())
    np.testing.assert_array_equal(shifted, straight)
