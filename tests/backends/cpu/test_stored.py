"""Tensors with eight bits per element: supported operations and refusals."""

import copy
import pickle

import numpy as np
import pytest

import tt
from tt.core.types.dtype import STORED

every = pytest.mark.parametrize("dtype", STORED, ids=str)


@pytest.fixture
def x(dtype):
    return tt.tensor([1.0, 2.0, tt.nan, 4.0], dtype=dtype)


def expect(found, values, dtype):
    assert found.dtype is dtype
    assert np.array_equal(found.float().numpy(), np.asarray(values, np.float32), equal_nan=True)


@every
def test_tensors_are_made_and_filled(dtype):
    zero = 2.0**-127 if dtype is tt.float8_e8m0fnu else 0.0
    expect(tt.zeros(2, dtype=dtype), [zero] * 2, dtype)
    expect(tt.ones(2, dtype=dtype), [1.0] * 2, dtype)
    expect(tt.full((2,), 4, dtype=dtype), [4.0] * 2, dtype)
    expect(tt.eye(2, dtype=dtype), [[1.0, zero], [zero, 1.0]], dtype)
    expect(tt.ones_like(tt.empty(2, dtype=dtype)), [1.0] * 2, dtype)
    expect(tt.empty(2, dtype=dtype).fill_(8), [8.0] * 2, dtype)
    expect(tt.ones(2, dtype=dtype).zero_(), [zero] * 2, dtype)
    expect(tt.ones(2, dtype=dtype).new_tensor([2.0, 0.5]), [2.0, 0.5], dtype)


@every
def test_elements_are_viewed_moved_and_written(x, dtype):
    nan = tt.nan
    expect(x.view(2, 2).t(), [[1, nan], [2, 4]], dtype)
    expect(x.view(2, 2).t().contiguous(), [[1, nan], [2, 4]], dtype)
    expect(x[1:], [2, nan, 4], dtype)
    expect(x[tt.tensor([3, 0])], [4, 1], dtype)
    expect(x[~x.isnan()], [1, 2, 4], dtype)
    expect(tt.cat([x, x[:1]]), [1, 2, nan, 4, 1], dtype)
    expect(tt.stack([x[:1], x[1:2]]), [[1], [2]], dtype)
    expect(x.roll(1), [4, 1, 2, nan], dtype)
    expect(x.repeat(2)[3:5], [4, 1], dtype)
    expect(tt.where(x.isnan(), 8.0, x), [1, 2, 8, 4], dtype)
    expect(tt.nn.functional.embedding(tt.tensor([1]), x.view(2, 2)), [[nan, 4]], dtype)
    written = x.clone()
    written[2], written[:2] = 16.0, tt.tensor([0.5, 32.0])
    written[tt.tensor([3])] = x[0]
    expect(written, [0.5, 32, 16, 1], dtype)
    expect(tt.zeros(4, dtype=tt.float64).copy_(x), [1, 2, nan, 4], tt.float64)
    expect(x.clone().copy_(tt.full((4,), 2.0)), [2] * 4, dtype)
    expect(tt.add(tt.ones(4), 1, out=x.clone()), [2] * 4, dtype)


@every
def test_the_bits_are_those_of_the_memory(x, dtype):
    bits = x.view(tt.uint8)
    assert bits.data_ptr() == x.data_ptr() and bits.view(dtype).dtype is dtype
    assert tt.ones(8, dtype=tt.uint8).view(tt.int64).view(dtype).shape == (8,)
    array = x.numpy()
    assert array.dtype == dtype.numpy and tt.from_numpy(array).data_ptr() == x.data_ptr()
    assert np.asarray(x).dtype == dtype.numpy
    assert not hasattr(x, "__array_interface__")  # whose names do not include it


@every
def test_they_are_compared_and_printed(x, dtype):
    assert (x == x).tolist() == [True, True, False, True]
    assert (x != 2).tolist() == [True, False, True, True]
    assert (x == tt.tensor(4)).tolist() == [False, False, False, True]
    assert x.isnan().tolist() == [False, False, True, False]
    assert x.any() and x.all() and x.any(0, keepdim=True).shape == (1,)
    assert repr(x).replace(" ", "") == f"tensor([1.,2.,nan,4.],dtype=tt.{dtype.name})"
    assert (x[0].item(), float(x[1]), bool(x[0]), x[:2].tolist()) == (1.0, 2.0, True, [1.0, 2.0])
    assert f"{x[1]:.1f}" == "2.0" and x.type() == f"tt.{dtype.name.capitalize()}Tensor"


@every
def test_copies_and_pickles_keep_the_dtype(x, dtype):
    for found in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.clone(), x.to("meta")):
        assert found.dtype is dtype and found.shape == x.shape


@every
def test_gradients_pass_through_conversions(dtype):
    x = tt.tensor([1.0, 2.0], requires_grad=True)
    (x.to(dtype).float() * tt.tensor([3.0, 4.0])).sum().backward()
    assert x.grad.tolist() == ([3.0, 4.0] if dtype is not tt.float8_e8m0fnu else [4.0, 4.0])
    y = tt.ones(2, dtype=dtype).requires_grad_()
    y.float().sum().backward()
    assert y.grad.dtype is dtype and y.grad.tolist() == [1.0, 1.0]


REFUSED = {
    "+": lambda x: x + x, "*": lambda x: x * 2, "-": lambda x: -x, "<": lambda x: x < 2, "sum": lambda x: x.sum(),
    "@": lambda x: x.view(2, 2) @ x.view(2, 2), "sort": lambda x: x.sort(), "exp": lambda x: x.exp(),
    "rand": lambda x: tt.rand(2, dtype=x.dtype), "arange": lambda x: tt.arange(2, dtype=x.dtype),
    "mean": lambda x: x.mean(), "clamp": lambda x: x.clamp(0, 1), "nonzero": lambda x: x.nonzero(),
    "equal": lambda x: tt.equal(x, x), "index_add": lambda x: x.index_add(0, tt.tensor([0]), x[:1]),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [*STORED, tt.bfloat16], ids=str)
def test_tensors_without_elements_are_viewed_and_exchanged(dtype):
    x = tt.empty(3, 0, dtype=dtype)
    made = {
        "diagonal": x.diagonal(),
        "diag": tt.diag(x[0]),
        "diagflat": tt.diagflat(x),
        "diag_embed": tt.diag_embed(x),
        "unfold": x.unfold(0, 2, 1),
        "as_strided": x.as_strided((0, 4), (4, 1)),
        "empty_strided": tt.empty_strided((2, 0), (1, 1), dtype=dtype),
        "unsqueeze": x.t().unsqueeze(1),
        "expand": x.expand(1, 3, 0),
        "numpy": tt.from_numpy(x.numpy()),
        "dlpack": tt.from_dlpack(x),
        "pickle": pickle.loads(pickle.dumps(x)),
        "share_memory_": x.clone().share_memory_(),
    }
    assert {name: made[name].dtype for name in made} == dict.fromkeys(made, dtype)
    assert {name: made[name].numel() for name in made} == dict.fromkeys(made, 0)
    assert made["unfold"].shape == (2, 0, 2)


@pytest.mark.parametrize("dtype", [*STORED, tt.bfloat16], ids=str)
def test_memory_with_gaps_is_viewed(dtype):
    class Foreign:  # NumPy's arrays lose their base; memory from a capsule has no owner
        def __dlpack_device__(self):
            return 1, 0

        def __dlpack__(self, **options):
            return tt.tensor([1.0, 0.5, 2.0, 0.5, 4.0, 0.5], dtype=dtype)[::2].__dlpack__(**options)

    x = tt.from_dlpack(Foreign())
    assert x.stride() == (2,)
    expect(x.unsqueeze(0), [[1, 2, 4]], dtype)
    expect(x.unfold(0, 2, 1), [[1, 2], [2, 4]], dtype)
    expect(x.as_strided((2,), (4,)), [1, 4], dtype)
    expect(x.as_strided((0, 2), (2, 1)), np.empty((0, 2)), dtype)


@every
@pytest.mark.parametrize("what", REFUSED)
def test_arithmetic_is_refused_on_the_cpu_and_on_meta(x, dtype, what):
    with pytest.raises(NotImplementedError, match=f"not implemented for {dtype.name} on cpu"):
        REFUSED[what](x)
    with pytest.raises((NotImplementedError, RuntimeError)):
        REFUSED[what](x.to("meta"))


@every
def test_other_dtypes_are_refused_by_name(x, dtype):
    for call in (lambda: x + tt.ones(4), lambda: x == tt.ones(4), lambda: tt.cat([x, tt.ones(4)])):
        with pytest.raises(tt.errors.PromotionError, match=dtype.name):
            call()


@pytest.mark.torch
@every
def test_torch_and_tt_share_memory(dtype):
    torch = pytest.importorskip("torch")
    x = tt.ones(3, dtype=dtype)
    there = torch.from_dlpack(x)
    assert (there.dtype, there.tolist(), there.data_ptr()) == (
        getattr(torch, dtype.name),
        [1.0] * 3,
        x.data_ptr(),
    )
    back = tt.from_dlpack(there)
    assert (back.dtype, back.data_ptr()) == (dtype, x.data_ptr())


def test_diagonals_are_filled():
    for dtype in (tt.float8_e5m2, tt.float8_e4m3fn):
        x = tt.zeros(2, 3, dtype=dtype).fill_diagonal_(1.5)
        assert x.dtype is dtype
        assert x.float().tolist() == [[1.5, 0.0, 0.0], [0.0, 1.5, 0.0]]


def test_a_number_that_is_chosen_saturates():
    zero = tt.zeros(1, dtype=tt.float8_e4m3fn)
    assert tt.where(tt.tensor([True]), 1e9, zero).float().tolist() == [448.0]
