"""Tensor programs on the emulated device."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest

import tt

DTYPES = [
    tt.bool, tt.uint8, tt.int8, tt.int16, tt.int32, tt.int64, tt.uint16, tt.uint32, tt.uint64, tt.float16, tt.bfloat16,
    tt.float32, tt.float64, tt.complex64, tt.complex128,
]  # fmt: skip


def same(found, expected):
    """Compare a tensor on the device with one on the CPU."""
    assert found.device == tt.device("cuda:0")
    assert (found.shape, found.dtype, found.stride()) == (expected.shape, expected.dtype, expected.stride())
    assert tt.equal(found.cpu(), expected)


# --- making and moving -------------------------------------------------------------------------------------------


def test_float16_with_complex_numbers_gives_complex64_where_complex32_is_missing():
    half = tt.tensor([1.0, 2.0]).half().cuda()
    for found in (half * 1j, half + tt.tensor(1j, device="cuda"), 1j - half, tt.where(half > 1, half, 1j)):
        assert found.dtype is tt.complex64
    assert (half * 1j).tolist() == [1j, 2j]
    for refused in (lambda: half.chalf(), lambda: tt.zeros(2, dtype=tt.complex32, device="cuda")):
        with pytest.raises((tt.errors.DtypeError, NotImplementedError), match="complex32"):
            refused()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_tensors_of_every_dtype_go_to_the_device_and_come_back(dtype):
    x = tt.tensor([[0, 1, 2], [3, 4, 5]], dtype=dtype)
    for there in (
        x.to("cuda"),
        x.cuda(),
        x.to(tt.device("cuda", 0)),
        tt.tensor(x.tolist(), dtype=dtype, device="cuda"),
    ):
        same(there, x)
        assert there.cpu().device == tt.device("cpu")
    assert x.cuda().cuda() is not None
    y = x.cuda()
    assert y.to("cuda") is y
    assert y.cuda() is y


LAID_OUT = {
    "channels last": lambda x: x.contiguous(memory_format=tt.channels_last),
    "three dimensions": lambda x: x[:, None].contiguous(memory_format=tt.channels_last_3d),
    "transposed": lambda x: x.transpose(1, 3),
    "row-major": lambda x: x,
}


@pytest.mark.parametrize("name", LAID_OUT)
def test_moves_keep_the_memory_format(name):
    x = LAID_OUT[name](tt.arange(120.0).reshape(2, 3, 4, 5))
    there = x.cuda()
    same(there, x)
    back = there.cpu()
    assert back.stride() == x.stride() and tt.equal(back, x)
    for dtype in (tt.float64, tt.int32):
        same(x.to("cuda", dtype), x.to(dtype))
        assert there.to("cpu", dtype).stride() == x.to(dtype).stride()
    for format_ in (tt.contiguous_format, tt.channels_last)[: 2 if x.ndim == 4 else 1]:
        same(x.to("cuda", memory_format=format_), x.to("cpu", copy=True, memory_format=format_))
        assert there.to("cpu", memory_format=format_).stride() == x.clone(memory_format=format_).stride()
    same(tt.empty_like(there).copy_(x), x)
    assert tt.equal(tt.zeros(x.shape).copy_(there), x)


def test_moves_keep_the_strides_of_one_pixel():
    x = tt.ones(2, 3, 1, 1).clone(memory_format=tt.channels_last)
    same(x.cuda(), x)
    assert x.cuda().cpu().stride() == x.stride() == (3, 1, 3, 3)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_factories_make_tensors_on_the_device(dtype):
    for make in (
        lambda **k: tt.zeros(2, 3, **k), lambda **k: tt.ones(2, **k), lambda **k: tt.full((2,), 1, **k),
        lambda **k: tt.eye(3, **k), lambda **k: tt.tensor([], **k), lambda **k: tt.scalar_tensor(1, **k),
    ):  # fmt: skip
        same(make(dtype=dtype, device="cuda"), make(dtype=dtype))


def test_values_of_numpy_are_copied():
    array = np.arange(6.0).reshape(2, 3)
    x = tt.tensor(array, device="cuda")
    array[:] = 0
    assert x.sum().item() == 15
    assert tt.as_tensor(array[::-1, ::2].copy(), device="cuda").tolist() == [[0, 0], [0, 0]]


def test_an_array_of_numpy_is_only_made_of_what_is_on_the_cpu():
    x = tt.ones(2, device="cuda")
    with pytest.raises(TypeError, match="cpu"):
        x.numpy()
    with pytest.raises(TypeError):
        np.asarray(x)
    assert x.cpu().numpy().tolist() == [1, 1]


def test_devices_are_not_mixed():
    x = tt.ones(2, device="cuda")
    with pytest.raises(RuntimeError, match="cuda:0"):
        x + tt.ones(2)
    same(x + tt.tensor(1.0), tt.full((2,), 2.0))  # a number may come from the CPU
    assert x.new_zeros(2).device == x.device
    assert tt.zeros_like(x).device == x.device


def test_the_default_device_can_be_cuda():
    with tt.device("cuda"):
        assert tt.ones(2).device == tt.device("cuda:0")
    assert tt.ones(2).device == tt.device("cpu")


# --- looking at them ---------------------------------------------------------------------------------------------


def test_printing_tells_the_device():
    assert repr(tt.tensor([[1.0, 2.0]], device="cuda")) == "tensor([[1., 2.]], device='cuda:0')"
    assert repr(tt.tensor([], device="cuda", dtype=tt.int32)) == "tensor([], device='cuda:0', dtype=tt.int32)"
    assert "..." in repr(tt.arange(2000, device="cuda"))
    assert f"{tt.tensor(1.5, device='cuda'):.2f}" == "1.50"


def test_python_numbers_are_read_from_tensors():
    x = tt.tensor([3.0], device="cuda")
    assert (x.item(), float(x), int(x), bool(x), x.tolist()) == (3.0, 3.0, 3, True, [3.0])
    assert [1, 2, 3][tt.tensor(1, device="cuda")] == 2


@pytest.mark.parametrize(
    "key",
    [
        0, -1, slice(1, None), (slice(None), 1), (Ellipsis, 0), None, (0, 1), (slice(None, None, 2), slice(1, 3)),
        [1, 0], ([0, 1], [1, 2]), (slice(None), [2, 0]), True,
    ],
    ids=str,
)  # fmt: skip
def test_indexing_reads_and_writes(key):
    x = tt.arange(12.0).reshape(3, 4)
    y = x.cuda()
    same(y[key], x[key])
    x, y = x.clone(), y.clone()
    x[key], y[key] = -1.0, -1.0
    same(y, x)


def test_tensors_index_tensors():
    x = tt.arange(12.0).reshape(3, 4)
    y = x.cuda()
    same(y[y > 4], x[x > 4])
    index = tt.tensor([2, 0])
    same(y[index], x[index])  # an index may come from the CPU
    same(y[index.cuda()], x[index])
    y[y > 4] = 0
    assert y.max().item() == 4
    with pytest.raises(IndexError):
        y[tt.tensor([3]).cuda()]


# --- memory ------------------------------------------------------------------------------------------------------


VIEWS = [
    lambda x: x.t(), lambda x: x[1:], lambda x: x.view(12), lambda x: x.select(0, 1), lambda x: x.unsqueeze(0),
    lambda x: x.expand(2, 3, 4)[0], lambda x: x.unfold(1, 2, 2), lambda x: x.as_strided((2, 2), (4, 1), 1),
    lambda x: x.diagonal(1), lambda x: x.view(tt.int32).view(tt.float32), lambda x: x.split(2, 1)[1],
    lambda x: x[:, ::3],
]  # fmt: skip


def test_views_share_memory_and_versions():
    base, expected = tt.zeros(3, 4, device="cuda"), tt.zeros(3, 4)
    for number, view in enumerate(VIEWS):
        part, version = view(base), base._version
        part.add_(number)
        assert base._version == version + 1
        assert part.untyped_storage().data_ptr() == base.untyped_storage().data_ptr()
        assert (part.stride(), part.storage_offset()) == (
            view(expected).stride(),
            view(expected).storage_offset(),
        )
        view(expected).add_(number)
    same(base, expected)
    assert base.data_ptr() + 16 == base[1].data_ptr()


def test_changes_in_place_and_out():
    x = tt.arange(6.0, device="cuda")
    same(x.mul_(2).sub_(1), tt.arange(6.0) * 2 - 1)
    out = tt.empty(6, device="cuda")
    assert tt.exp(x, out=out) is out
    same(x.zero_(), tt.zeros(6))
    same(x.copy_(tt.arange(6)), tt.arange(6.0))
    same(x.fill_(3), tt.full((6,), 3.0))
    with pytest.raises(RuntimeError):
        tt.arange(3, device="cuda").add_(0.5)


def test_copies_are_independent():
    x = tt.ones(3, device="cuda")
    for other in (x.clone(), copy.copy(x).clone(), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert other.device == x.device
        other.zero_()
        assert x.tolist() == [1, 1, 1]


def test_pickled_tensors_keep_the_order_of_their_dimensions():
    x = tt.arange(12.0, device="cuda").reshape(3, 4).t()
    for view, strides in ((x, (1, 4)), (x[1:], (3, 1)), (x[:, 0], (1,)), (x[0].expand(2, 3), (3, 1))):
        buffer = io.BytesIO()
        pickle.dump(view, buffer)
        again = pickle.loads(buffer.getvalue())
        assert tt.equal(again, view)
        assert again.stride() == strides


def test_a_storage_is_as_large_as_its_tensor():
    assert tt.zeros(3, device="cuda").untyped_storage().nbytes() == 12
    with pytest.raises(RuntimeError):
        tt.zeros(3, device="cuda").as_strided((4,), (1,))


# --- random numbers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [tt.float16, tt.bfloat16, tt.float32, tt.float64, tt.complex64], ids=str)
def test_a_seed_gives_the_numbers_that_it_gives_on_the_cpu(dtype):
    for draw in (tt.rand, tt.randn):
        tt.manual_seed(7)
        there = draw(100, dtype=dtype, device="cuda")
        tt.manual_seed(7)
        here = draw(100, dtype=dtype)
        if draw is tt.rand:
            same(there, here)
        else:
            assert tt.allclose(there.cpu(), here, rtol=1e-2 if dtype.itemsize == 2 else 1e-4, atol=1e-3)


def test_generators_belong_to_the_device():
    generator = tt.Generator(device="cuda").manual_seed(3)
    first = tt.randint(0, 100, (20,), generator=generator, device="cuda")
    same(first, tt.randint(0, 100, (20,), generator=tt.Generator().manual_seed(3)))
    state = tt.cuda.get_rng_state()
    a = tt.randperm(9, device="cuda")
    tt.cuda.set_rng_state(state)
    same(tt.randperm(9, device="cuda"), a.cpu())
    tt.cuda.manual_seed(5)
    assert tt.cuda.initial_seed() == 5


# --- refusals ----------------------------------------------------------------------------------------------------


def test_what_is_singular_raises():
    with pytest.raises(tt.errors.LinAlgError, match="singular"):
        tt.linalg.inv(tt.zeros(2, 2, device="cuda"))
    with pytest.raises(tt.errors.LinAlgError, match="singular"):
        tt.linalg.solve(tt.zeros(3, 2, 2, device="cuda"), tt.ones(3, 2, 2, device="cuda"))
    with pytest.raises(tt.errors.LinAlgError, match="positive-definite"):
        tt.linalg.cholesky(-tt.eye(2, device="cuda"))
    assert tt.linalg.cholesky_ex(-tt.eye(2, device="cuda"))[1].item() == 1


def test_an_integer_divided_by_zero_raises():
    with pytest.raises(ZeroDivisionError):
        tt.tensor([1], device="cuda") // tt.tensor([0], device="cuda")
