"""Construction from Python data, arrays and buffers."""

from __future__ import annotations

import array
import warnings

import numpy as np
import pytest

import tt
from tt.core.errors import DeviceError
from tt.core.methods.nested import array_from_nested

# --- Python data -------------------------------------------------------------------------------------------------

DATA = [
    3, True, 1.5, 2j, [], (), [1, 2], [1, 2.5], [1, True], [True, False], [1, 2.5, 1j], [[1, 2], [3, 4]], ((1,), (2,)),
    [[]], [[], []], range(3), [range(2), range(2)], bytearray(b"abc"), np.float64(1.5), [np.float64(1.5), 2.0],
    [np.float32(1.5), 2], [np.int32(1), 2], [np.int8(1), np.uint8(2)], np.int16(7), np.bool_(True),
    [float("nan"), float("inf")], 1e300, [[[1.0]]],
]  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("data", DATA, ids=repr)
def test_dtype_shape_and_values_are_those_of_torch(data):
    torch = pytest.importorskip("torch")
    expected, found = torch.tensor(data), tt.tensor(data)
    assert str(found.dtype) == str(expected.dtype).replace("torch.", "tt.")
    assert tuple(found.shape) == tuple(expected.shape)
    np.testing.assert_array_equal(found.numpy(), expected.numpy())


@pytest.mark.torch
@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64", "complex64"]
)
@pytest.mark.parametrize("data", [2, -1, 1.7, -2.5, True, [0, 100], [0.1, 0.2], 70000.0], ids=repr)
def test_dtype_is_applied_as_torch_does(data, dtype):
    torch = pytest.importorskip("torch")
    try:
        expected = torch.tensor(data, dtype=getattr(torch, dtype))
    except (RuntimeError, ValueError, TypeError) as error:
        with pytest.raises(type(error)):
            tt.tensor(data, dtype=getattr(tt, dtype))
        return
    found = tt.tensor(data, dtype=getattr(tt, dtype))
    assert found.dtype is getattr(tt, dtype)
    np.testing.assert_array_equal(found.numpy(), expected.numpy())


@pytest.mark.torch
def test_half_precision_is_rounded_as_torch_rounds_it():
    torch = pytest.importorskip("torch")
    data = np.random.default_rng(0).standard_normal(1000).tolist()
    for name in ("float16", "bfloat16"):
        expected = torch.tensor(data, dtype=getattr(torch, name)).double().numpy()
        np.testing.assert_array_equal(tt.tensor(data, dtype=getattr(tt, name)).double().numpy(), expected)


def test_floats_take_the_default_dtype():
    with tt.default_dtype(tt.float64):
        assert tt.tensor([1.5]).dtype is tt.float64
        assert tt.tensor([1j]).dtype is tt.complex128
        assert tt.tensor([]).dtype is tt.float64
    assert tt.tensor([1.5]).dtype is tt.float32


def test_tensors_of_one_element_stand_for_their_number():
    assert tt.tensor([tt.tensor(1), 2]).tolist() == [1, 2]
    mixed = tt.tensor([tt.tensor(1), tt.tensor(2.5, dtype=tt.float64)])
    assert mixed.dtype is tt.float64 and mixed.tolist() == [1.0, 2.5]
    assert tt.tensor([tt.tensor([1]), tt.tensor([2])]).shape == (2,)


def test_nested_data_of_a_million_numbers_keeps_its_order():
    rows = [list(range(start, start + 1000)) for start in range(0, 1000_000, 1000)]
    found = array_from_nested(rows)
    np.testing.assert_array_equal(found, np.arange(1000_000).reshape(1000, 1000))


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ([[1, 2], [3]], ValueError, r"the sequences of dimension 1 differ in length: 2 and 1"),
        ([[[1, 2]], [[3]]], ValueError, r"the sequences of dimension 2 differ in length: 2 and 1"),
        ([[1], 2], TypeError, "not a sequence"),
        ([1, [2]], TypeError, "'list' object cannot be interpreted"),
        ("abc", TypeError, "invalid data type 'str'"),
        (["abc"], TypeError, "invalid data type 'str'"),
        (b"abc", TypeError, "invalid data type 'bytes'"),
        (None, RuntimeError, "no dtype follows from an object of type NoneType"),
        ([None], RuntimeError, "no dtype follows from an object of type NoneType"),
        ({1: 2}, RuntimeError, "no dtype follows from an object of type dict"),
        ({1}, RuntimeError, "no dtype follows from an object of type set"),
        (object(), RuntimeError, "no dtype follows from an object of type object"),
        (2**63, ValueError, "9223372036854775808 does not fit into int64"),
        ([1, 2**63], ValueError, "9223372036854775808 does not fit into int64"),
        (np.longdouble(1), TypeError, "no dtype corresponds to a NumPy array"),
        (np.array(["a"]), TypeError, "no dtype corresponds to a NumPy array"),
    ],
)
def test_data_that_is_no_tensor_is_refused(data, error, message):
    with pytest.raises(error, match=message):
        tt.tensor(data)


def test_a_sequence_inside_itself_is_refused():
    data: list = []
    data.append(data)
    with pytest.raises(ValueError, match="too many dimensions"):
        tt.tensor(data)


@pytest.mark.torch
@pytest.mark.parametrize("depth", [0, 1])
def test_a_sequence_that_cannot_be_read_has_no_shape(depth):
    import torch

    class Closed:
        def __len__(self):
            return 2

        def __getitem__(self, index):
            raise LookupError("closed")

    data = [Closed()] if depth else Closed()
    for library in (tt, torch):
        with pytest.raises(ValueError, match="shape"):
            library.tensor(data)


def test_tensors_of_several_elements_in_a_list_are_refused_with_the_way_to_stack_them():
    with pytest.raises(
        ValueError, match=r"only one element tensors can be converted to Python scalars(.|\n)*tt\.stack"
    ):
        tt.tensor([tt.tensor([1, 2]), tt.tensor([3, 4])])


@pytest.mark.parametrize(
    ("data", "dtype", "error"),
    [
        (300, "uint8", RuntimeError), (-300, "uint8", RuntimeError), ([128], "int8", RuntimeError),
        (float("nan"), "int32", RuntimeError), (1e30, "int64", RuntimeError), (2.0**63, "int64", RuntimeError),
        (1j, "float32", TypeError), (-1, "uint64", OverflowError), (2**64, "uint64", RuntimeError),
    ],
)  # fmt: skip
def test_numbers_that_do_not_fit_are_refused(data, dtype, error):
    with pytest.raises(error):
        tt.tensor(data, dtype=getattr(tt, dtype))


def test_numbers_at_the_limits_fit():
    for dtype in (tt.uint8, tt.int8, tt.int16, tt.int32, tt.int64, tt.uint16, tt.uint32, tt.uint64):
        info = tt.iinfo(dtype)
        assert tt.tensor([info.min, info.max], dtype=dtype).tolist() == [info.min, info.max]


def test_a_dtype_that_is_none_is_refused():
    with pytest.raises(TypeError, match=r"argument 'dtype' must be a tt\.dtype, not str"):
        tt.tensor([1], dtype="float32")
    with pytest.raises(RuntimeError, match="can require gradients"):
        tt.tensor([1, 2], requires_grad=True)


@pytest.mark.parametrize("make", [
    lambda **options: tt.tensor([1.0], **options), lambda **options: tt.zeros(2, **options),
    lambda **options: tt.arange(3, **options), lambda **options: tt.ones_like(tt.ones(2), **options),
    lambda **options: tt.normal(0.0, 1.0, (2,), **options),
])  # fmt: skip
def test_memory_is_pinned_for_an_accelerator_alone(make):
    assert (
        not make(pin_memory=False).is_pinned() and make(pin_memory=False, device="meta").device.type == "meta"
    )
    with pytest.raises(DeviceError, match="no accelerator is available"):
        make(pin_memory=True)
    with pytest.raises(DeviceError, match="only dense CPU tensors can be pinned"):
        make(pin_memory=True, device="meta")


@pytest.mark.torch
@pytest.mark.parametrize(
    "fill",
    [
        lambda library, options: library.zeros(2, **options),
        lambda library, options: library.empty((2,), **options),
        lambda library, options: library.full((2,), 3.0, **options),
        lambda library, options: library.rand(2, **options),
        lambda library, options: library.arange(2.0, **options),
        lambda library, options: library.linspace(0, 1, 2, **options),
        lambda library, options: library.normal(0.0, 1.0, (2,), **options),
    ],
)
def test_a_tensor_that_a_factory_fills_can_require_a_gradient(fill):
    import torch

    for library in (tt, torch):
        out = library.empty(2)
        result = fill(library, {"out": out, "requires_grad": True})
        assert result is out and out.requires_grad and out.is_leaf


@pytest.mark.torch
def test_integers_that_a_factory_fills_require_no_gradient():
    import torch

    for library in (tt, torch):
        with pytest.raises(RuntimeError, match="require gradients"):
            library.zeros(2, out=library.empty(2, dtype=library.int64), requires_grad=True)


def test_what_is_no_factory_takes_no_option_of_one():
    for refused in (
        lambda: tt.add(1, 2, pin_memory=True),
        lambda: tt.normal(tt.ones(2), 1.0, requires_grad=True),
    ):
        with pytest.raises(TypeError, match=r"pin_memory|requires_grad"):
            refused()
    assert tt.normal(0.0, 1.0, (2,), requires_grad=True).requires_grad


def test_python_types_are_dtypes():
    assert tt.tensor([1], dtype=float).dtype is tt.float64
    assert tt.tensor([1.5], dtype=int).dtype is tt.int64


# --- copying and sharing -------------------------------------------------------------------------------------------


def test_from_numpy_returns_tensors_as_they_are():
    x = tt.ones(2, requires_grad=True)
    assert hasattr(x.detach(), "__array_interface__")  # by which libraries take it for an array
    assert tt.from_numpy(x) is x
    with pytest.raises(TypeError, match=r"expected np\.ndarray"):
        tt.from_numpy([1.0])


def test_tensor_copies_arrays_and_as_tensor_and_from_numpy_share_them():
    source = np.array([1.0, 2.0])
    copied, shared, wrapped = tt.tensor(source), tt.as_tensor(source), tt.from_numpy(source)
    source[0] = 5.0
    assert copied.tolist() == [1.0, 2.0]
    assert shared.tolist() == wrapped.tolist() == [5.0, 2.0]
    assert shared.dtype is tt.float64


def test_as_tensor_returns_a_tensor_as_it_is_and_converts_others():
    x = tt.ones(2, requires_grad=True)
    assert tt.as_tensor(x) is x
    assert tt.as_tensor(x, dtype=tt.float64).requires_grad
    assert tt.as_tensor([1, 2], dtype=tt.float16).dtype is tt.float16
    assert tt.as_tensor(np.array([1, 2]), dtype=tt.float32).tolist() == [1.0, 2.0]


def test_copying_a_tensor_with_tt_tensor_warns():
    x = tt.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match=r"sourceTensor\.detach\(\)\.clone\(\)"):
        copy = tt.tensor(x)
    assert not copy.requires_grad and copy.data_ptr() != x.data_ptr()
    with pytest.warns(UserWarning):
        assert tt.tensor(x, dtype=tt.int32).dtype is tt.int32


def test_arrays_that_no_tensor_can_share_are_refused():
    with pytest.raises(TypeError, match=r"expected np\.ndarray \(got list\)"):
        tt.from_numpy([1])
    with pytest.raises(ValueError, match="negative"):
        tt.from_numpy(np.arange(3)[::-1])
    with pytest.raises(ValueError, match="byte order"):
        tt.from_numpy(np.arange(3).astype(">i4"))
    with pytest.raises(ValueError, match="strides not a multiple"):
        tt.from_numpy(np.zeros(2, dtype=[("a", "i1"), ("b", "i4")])["b"])
    for make in (tt.tensor, tt.as_tensor, tt.asarray):
        with pytest.raises(ValueError, match="negative"):
            make(np.arange(3)[::-1])


def test_a_read_only_array_is_shared_without_a_warning():
    source = np.arange(3)
    source.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tt.from_numpy(source).data_ptr() == source.ctypes.data
        tt.tensor(source)


class Interface:
    def __init__(self, **description):
        self.__array_interface__ = {"version": 3, "typestr": "<f8", **description}


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ({"shape": (100,), "data": b"abc"}, "the bytes 0 to 800 of a buffer of 3"),
        ({"shape": (1,), "data": bytearray(16), "offset": 12}, "the bytes 12 to 20 of a buffer of 16"),
        ({"shape": (1,), "data": bytearray(16), "offset": -8}, "the bytes -8 to 0 of a buffer of 16"),
        ({"shape": (2,), "data": bytearray(16), "strides": (800,)}, "the bytes 0 to 808"),
        ({"shape": (2, 2), "data": bytearray(16), "strides": (8,)}, "is not valid"),
        ({"shape": (2**62, 2**62), "data": bytearray(16)}, "of a buffer of 16"),
        ({"shape": (-4,), "data": bytearray(16)}, "is not valid"),
        ({"shape": (4,)}, "is not valid"),
        ({"shape": (2,), "data": bytearray(16), "typestr": "<zz"}, "is not valid"),
        ({"shape": "ab", "data": bytearray(16)}, "is not valid"),
    ],
)
def test_interfaces_that_reach_beyond_their_buffer_are_refused(description, message):
    for make in (tt.asarray, tt.as_tensor, tt.tensor):
        with pytest.raises(ValueError, match=message):
            make(Interface(**description))


def test_interfaces_share_the_memory_of_a_buffer_and_keep_it_alive():
    memory = bytearray(np.arange(4.0).tobytes())
    x = tt.asarray(Interface(shape=(2,), data=memory, offset=8))
    x.add_(1)
    assert np.frombuffer(memory).tolist() == [0.0, 2.0, 3.0, 3.0]
    del memory
    assert x.tolist() == [2.0, 3.0]


def test_as_strided_stays_within_memory_whose_elements_repeat():
    repeated = np.broadcast_to(np.arange(3.0), (50, 3))
    for x in (tt.from_numpy(repeated), tt.from_dlpack(repeated)):
        assert x.untyped_storage().nbytes() == 24
        assert x.as_strided((3,), (1,)).tolist() == [0.0, 1.0, 2.0]
        with pytest.raises(RuntimeError, match="reach 32 bytes into a memory of 24"):
            x.as_strided((4,), (1,))


def test_strided_arrays_keep_their_strides():
    source = np.arange(12.0).reshape(3, 4)
    assert tt.from_numpy(source.T).stride() == (1, 4)
    assert tt.from_numpy(source[:, ::2]).stride() == (4, 2)
    assert tt.from_numpy(np.array(1.5)).shape == ()


def test_asarray_copies_when_told_and_never_when_forbidden():
    source = np.array([1, 2])
    assert tt.asarray(source).data_ptr() == source.ctypes.data
    assert tt.asarray(source, copy=True).data_ptr() != source.ctypes.data
    assert tt.asarray(source, copy=False).data_ptr() == source.ctypes.data
    with pytest.raises(ValueError, match="cannot be shared as"):
        tt.asarray(source, copy=False, dtype=tt.float32)
    with pytest.raises(ValueError, match="a sequence of numbers has no memory to share"):
        tt.asarray([1, 2], copy=False)
    with pytest.raises(ValueError, match="cannot be shared with"):
        tt.asarray(source, copy=False, device="meta")


def test_asarray_takes_tensors_numbers_sequences_and_buffers():
    x = tt.ones(2)
    assert tt.asarray(x) is x
    assert tt.asarray(3).dtype is tt.int64
    assert tt.asarray(np.float64(3)).dtype is tt.float64
    assert tt.asarray([1, 2.5]).tolist() == [1.0, 2.5]
    assert tt.asarray(bytearray(b"ab"), dtype=tt.uint8).tolist() == [97, 98]


def test_asarray_and_gradients():
    leaf = tt.ones(2, requires_grad=True)
    assert tt.asarray(leaf, requires_grad=True) is leaf
    with pytest.warns(UserWarning, match="requires a gradient as the tensor does"):
        assert tt.asarray(leaf) is leaf
    assert not tt.asarray(leaf, requires_grad=False).requires_grad
    plain = tt.ones(2)
    assert tt.asarray(plain, requires_grad=True).requires_grad
    assert not plain.requires_grad


# --- buffers -----------------------------------------------------------------------------------------------------


def test_frombuffer_shares_the_memory():
    buffer = array.array("i", [1, 2, 3])
    x = tt.frombuffer(buffer, dtype=tt.int32)
    buffer[0] = 7
    assert x.tolist() == [7, 2, 3]
    x[1] = 9
    assert buffer[1] == 9
    assert tt.frombuffer(buffer, dtype=tt.int32, count=1, offset=4).tolist() == [9]


@pytest.mark.torch
@pytest.mark.parametrize(
    ("length", "options"),
    [
        (0, {}), (8, {"count": 0}), (8, {"offset": 8}), (8, {"offset": -1}), (7, {}), (8, {"offset": 3}),
        (8, {"count": 3}),
    ],
)  # fmt: skip
def test_buffers_that_do_not_fit_are_refused_as_by_torch(length, options):
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError):
        torch.frombuffer(bytearray(length), dtype=torch.int32, **options)
    with pytest.raises(ValueError, match=r"^frombuffer\(\): "):
        tt.frombuffer(bytearray(length), dtype=tt.int32, **options)


def test_frombuffer_refuses_what_is_no_buffer():
    with pytest.raises(ValueError, match="reads objects with a buffer"):
        tt.frombuffer([1], dtype=tt.int32)
    with pytest.raises(ValueError, match="do not lie one after the other"):
        tt.frombuffer(memoryview(bytearray(8))[::2], dtype=tt.uint8)
    with pytest.raises(TypeError, match="'count' and 'offset' must be int, not int and float"):
        tt.frombuffer(bytearray(8), dtype=tt.uint8, offset=1.5)


def test_buffers_that_are_read_only_are_shared_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tt.frombuffer(b"\1\0\0\0", dtype=tt.int32).tolist() == [1]


# --- devices -----------------------------------------------------------------------------------------------------


def test_the_device_is_given_or_the_default():
    assert tt.tensor([1, 2], device="meta").device.type == "meta"
    with tt.device("meta"):
        assert tt.tensor([1, 2]).is_meta
        assert tt.as_tensor(np.arange(3)).is_meta
    assert tt.tensor([1]).device.type == "cpu"


def test_asarray_takes_a_capsule_and_shares_its_memory():
    x = tt.ones(2)
    y = tt.asarray(tt.utils.dlpack.to_dlpack(x))
    y[0] = 5
    assert x.tolist() == [5.0, 1.0]
    assert tt.asarray(tt.utils.dlpack.to_dlpack(x), dtype=tt.int8).tolist() == [5, 1]


def test_asarray_cannot_share_a_numpy_scalar():
    with pytest.raises(ValueError, match="NumPy scalar") as refused:
        tt.asarray(np.float32(1), copy=False)
    assert isinstance(refused.value, RuntimeError)
    assert tt.asarray(np.float32(1)).item() == 1.0


def test_bools_bound_a_range_of_integers():
    for x in (tt.arange(True), tt.arange(False, True), tt.arange(False, True, True)):
        assert x.dtype is tt.int64 and x.tolist() == [0]
    assert tt.arange(False, 1.5, True).tolist() == [0.0, 1.0]


# --- storages ----------------------------------------------------------------------------------------------------

OF_STORAGES = {
    "tensor": lambda m, s, **o: m.tensor(s, **o),
    "as_tensor": lambda m, s, **o: m.as_tensor(s, **o),
    "asarray": lambda m, s, **o: m.asarray(s, **o),
    "new_tensor": lambda m, s, **o: m.zeros(1).new_tensor(s, **o),
    "new": lambda m, s, **o: m.zeros(1, **o).new(s),
    "Tensor": lambda m, s, **o: m.Tensor(s),
    "FloatTensor": lambda m, s, **o: m.FloatTensor(s),
}


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("make", OF_STORAGES)
@pytest.mark.parametrize("dtype", [None, "float32", "int64", "uint8", "complex64"])
def test_a_tensor_over_a_storage_shares_its_memory_and_reads_it_as_the_dtype(make, dtype):
    torch = pytest.importorskip("torch")

    def seen(m, storage):
        x = m.arange(5.0)[1:]
        memory = getattr(x, storage)()
        options = {} if dtype is None else {"dtype": getattr(m, dtype)}
        try:
            y = OF_STORAGES[make](m, memory, **options)
        except RuntimeError:
            return "refused"
        return str(y.dtype).split(".")[1], y.tolist(), y.data_ptr() == memory.data_ptr(), y.storage_offset()

    for storage in ("untyped_storage", "storage"):
        assert seen(tt, storage) == seen(torch, storage)
