"""make_tensor: shapes, bounds and options as PyTorch documents them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tt
from tt.core.library import DTYPES
from tt.testing import make_tensor


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_values_lie_between_the_documented_bounds(dtype):
    x = make_tensor(20, 50, dtype=dtype, device="cpu")
    assert (x.shape, x.dtype, x.device.type, x.is_contiguous()) == ((20, 50), dtype, "cpu", True)
    values = np.asarray(x.numpy(), dtype=np.complex128)
    low, high = {
        "bool": (0, 2), "unsigned": (0, 10), "signed": (-9, 10), "floating": (-9, 9), "complex": (-9, 9),
    }[dtype.kind]  # fmt: skip
    assert (values.real >= low).all() and (values.real < high).all()
    assert len(np.unique(values)) >= min(high - low, 10)


@pytest.mark.parametrize(
    "dtype",
    [tt.float8_e4m3fn, tt.float8_e5m2, tt.float8_e4m3fnuz, tt.float8_e5m2fnuz, tt.float8_e8m0fnu],
    ids=str,
)
@pytest.mark.parametrize("options", [{}, {"noncontiguous": True}, {"exclude_zero": True}], ids=str)
def test_numbers_of_eight_bits_lie_between_the_bounds(dtype, options):
    x = make_tensor(20, 50, dtype=dtype, device="cpu", **options)
    values = x.float().numpy()
    assert x.dtype is dtype and x.shape == (20, 50) and (values >= -9).all() and (values < 9).all()
    assert len(np.unique(values)) >= 8


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 4)])
def test_the_shape_is_given_as_ints_or_as_one_sequence(shape):
    for given_shape in (shape, (shape,), (list(shape),), (tt.Size(shape),)):
        assert tuple(make_tensor(*given_shape, dtype=tt.float32, device="cpu").shape) == shape


@given(
    low=st.integers(-200, 300),
    width=st.integers(1, 50),
    dtype=st.sampled_from([tt.int8, tt.uint8, tt.int64, tt.float16]),
)
def test_bounds_are_cut_to_what_the_dtype_holds(low, width, dtype):
    info = tt.finfo(dtype) if dtype.is_floating_point else tt.iinfo(dtype)
    if low > info.max or low + width <= info.min:
        with pytest.raises(ValueError, match="holds no value"):
            make_tensor(3, dtype=dtype, device="cpu", low=low, high=low + width)
        return
    values = make_tensor(100, dtype=dtype, device="cpu", low=low, high=low + width).numpy().astype(np.float64)
    assert (
        (values >= max(low, info.min)).all() and (values < low + width).all() and (values <= info.max).all()
    )


def test_gaps_are_left_between_the_elements():
    x = make_tensor(2, 3, dtype=tt.float32, device="cpu", noncontiguous=True)
    assert not x.is_contiguous() and x.shape == (2, 3)
    assert make_tensor(1, dtype=tt.float32, device="cpu", noncontiguous=True).is_contiguous()


def test_a_memory_format_is_kept():
    x = make_tensor(2, 3, 4, 5, dtype=tt.float32, device="cpu", memory_format=tt.channels_last)
    assert x.is_contiguous(memory_format=tt.channels_last)


@pytest.mark.parametrize("dtype", [tt.bool, tt.int32, tt.float32, tt.complex64])
def test_zeros_are_replaced(dtype):
    if dtype is tt.bool:
        assert make_tensor(50, dtype=dtype, device="cpu", exclude_zero=True).all()
    else:
        assert (make_tensor(500, dtype=dtype, device="cpu", low=0, high=2, exclude_zero=True) != 0).all()


def test_it_is_a_leaf_that_requires_a_gradient():
    x = make_tensor(2, 3, dtype=tt.float64, device="cpu", requires_grad=True, noncontiguous=True)
    assert x.requires_grad and x.is_leaf
    assert not make_tensor(2, dtype=tt.float64, device="cpu").requires_grad


def test_the_same_seed_gives_the_same_values():
    made = []
    for _ in range(2):
        tt.manual_seed(3)
        made.append(make_tensor(5, dtype=tt.float32, device="cpu").tolist())
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"low": 2, "high": 2}, "must be less than"),
        ({"low": float("nan")}, "cannot be NaN"),
        ({"dtype": tt.int32, "low": 0.2, "high": 0.8}, "holds no value"),
        ({"dtype": tt.int32, "requires_grad": True}, "needs a floating-point"),
        ({"noncontiguous": True, "memory_format": tt.contiguous_format}, "exclude each other"),
    ],
)
def test_what_cannot_be_made_is_refused(options, says):
    with pytest.raises(ValueError, match=says):
        make_tensor(3, **{"dtype": tt.float32, "device": "cpu", **options})
