"""Members of tensors: what they are, conversions, containers, copies."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import tt
from tt.core.errors import ArgumentError, DataDependentError

# --- shape and memory ----------------------------------------------------------------------------------------------


@pytest.mark.torch
@pytest.mark.parametrize("expression", [
    "x.size()", "x.size(1)", "x.size(-1)", "x.dim()", "x.ndim", "x.ndimension()", "x.numel()", "x.nelement()",
    "x.stride()", "x.stride(0)", "x.stride(-1)", "x.storage_offset()", "x[1:].storage_offset()", "x[:, 1:].stride()",
    "x.element_size()", "x.itemsize", "x.nbytes", "x.is_contiguous()", "x.t().is_contiguous()",
    "x[:1].t().is_contiguous()",
    "x[:0].t().is_contiguous()", "len(x)", "x.is_floating_point()", "x.is_complex()", "x.is_signed()", "x.is_cuda",
    "x.is_meta", "x.is_sparse", "x.get_device()", "x.T.size()", "x.mT.size()", "x.H.size()", "x.mH.size()",
    "x.untyped_storage().nbytes()",
    "x[1:].untyped_storage().nbytes()", "x.is_cpu", "x._is_view()", "x[0]._is_view()", "x.shape.numel()",
])  # fmt: skip
def test_members_are_those_of_torch(expression):
    torch = pytest.importorskip("torch")
    found = eval(expression, {"x": tt.arange(12.0).reshape(3, 4).clone()})
    expected = eval(expression, {"x": torch.arange(12.0).reshape(3, 4).clone()})
    assert found == expected


@pytest.mark.parametrize("name", ["size", "stride"])
def test_a_dimension_that_is_not_there_is_refused(name):
    with pytest.raises(
        IndexError, match=r"there is no dimension 2: a tensor with 2 dimensions has those from -2 to 1"
    ):
        getattr(tt.ones(2, 3), name)(2)
    with pytest.raises(TypeError, match="argument 'dim' must be int, not str"):
        getattr(tt.ones(2, 3), name)("a")


def test_other_memory_formats_are_named():
    x = tt.zeros(2, 4, 4, 3).permute(0, 3, 1, 2)
    assert x.is_contiguous(memory_format="channels_last") and not x.is_contiguous()
    with pytest.raises(ValueError, match="unknown memory format 'channels_lats'; did you mean"):
        x.is_contiguous(memory_format="channels_lats")


def test_views_share_storage_and_pointers_tell_where():
    x = tt.arange(6)
    view = x[2:]
    assert view.data_ptr() == x.data_ptr() + 2 * 8
    assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr() == x.data_ptr()
    assert view.is_set_to(x[2:]) and not view.is_set_to(x)
    assert view._base is x and x._base is None


# --- to ------------------------------------------------------------------------------------------------------------


def test_to_returns_the_tensor_itself_when_nothing_changes():
    x = tt.ones(2)
    for same in (
        x.to(tt.float32), x.to("cpu"), x.to(tt.device("cpu")), x.to("cpu", tt.float32), x.to(tt.ones(3)), x.to(),
        x.to(None), x.to(dtype=tt.float32), x.to(device="cpu"), x.cpu(), x.float(), x.type(tt.float32), x.type_as(x),
    ):  # fmt: skip
        assert same is x
    assert x.to(copy=True) is not x and x.to(tt.float32, False, True).data_ptr() != x.data_ptr()


def test_to_takes_all_of_pytorchs_forms():
    x, other = tt.tensor([1.7, -2.2]), tt.ones(1, dtype=tt.int32)
    for converted in (
        x.to(tt.int32), x.to("cpu", tt.int32), x.to(other), x.to(other=other), x.to(dtype=tt.int32),
        x.to(None, tt.int32),
        x.to(tt.int32, non_blocking=True), x.to(device="cpu", dtype=tt.int32, copy=True), x.int(), x.type(tt.int32),
        x.type("tt.IntTensor"), x.type_as(other),
    ):  # fmt: skip
        assert converted.dtype is tt.int32 and converted.tolist() == [1, -2]
    assert x.to(float).dtype is tt.float64 and x.to(int).dtype is tt.int64
    assert x.to("meta").is_meta and x.to("meta", tt.int8).dtype is tt.int8


@pytest.mark.parametrize(
    "call", ["x.to(tt.int32, 5)", "x.to(other=1)", "x.to(1.5)", "x.to(tt.int32, dtype=tt.int32)", "x.to(what=1)",
             "x.to('cpu', tt.int32, False, False, 1)"],
)  # fmt: skip
def test_to_refuses_what_fits_no_form(call):
    with pytest.raises(ArgumentError, match=r"signature: to\.device\(Tensor\(a\) self"):
        eval(call, {"x": tt.ones(2), "tt": tt})


def test_a_cuda_tensor_needs_cuda():
    if tt.cuda.is_available():
        pytest.skip("this machine has a CUDA device")
    with pytest.raises(RuntimeError, match="cuda"):
        tt.ones(2).cuda()
    with pytest.raises(RuntimeError, match="takes a device of cuda"):
        tt.ones(2).cuda("cpu")


@pytest.mark.parametrize(
    ("method", "dtype"),
    [
        ("float", "float32"), ("double", "float64"), ("half", "float16"), ("bfloat16", "bfloat16"), ("int", "int32"),
        ("long", "int64"), ("short", "int16"), ("char", "int8"), ("byte", "uint8"), ("bool", "bool"),
        ("cfloat", "complex64"), ("cdouble", "complex128"),
    ],
)  # fmt: skip
def test_conversion_methods_are_named_after_c_types(method, dtype):
    assert getattr(tt.tensor([0, 1, 2]), method)().dtype is getattr(tt, dtype)


def test_type_names_dtype_and_device():
    assert tt.ones(2).type() == "tt.FloatTensor"
    assert tt.ones(2, dtype=tt.bfloat16).type() == "tt.BFloat16Tensor"
    assert tt.ones(2, device="meta").type() == "tt.meta.FloatTensor"


# --- Python numbers and lists --------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [True, 3, -2.5, 1 + 2j])
def test_item_returns_the_python_number(value):
    assert tt.tensor(value).item() == value and type(tt.tensor(value).item()) is type(value)
    assert tt.tensor([[value]]).item() == value


def test_item_needs_exactly_one_element():
    with pytest.raises(RuntimeError, match="only a tensor of one element is a number; this one has 2"):
        tt.ones(2).item()
    with pytest.raises(RuntimeError, match="only a tensor of one element is a number; this one has 0"):
        tt.ones(0).item()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "complex64"])
def test_tolist_gives_nested_python_numbers(dtype):
    x = tt.tensor([[1, 0], [1, 1]], dtype=getattr(tt, dtype))
    assert x.tolist() == [[1, 0], [1, 1]]
    assert type(x.tolist()[0][0]) in (bool, int, float, complex)
    assert x[0, 0].tolist() == 1 and tt.ones(0, 2).tolist() == []


def test_truth_needs_exactly_one_element():
    assert tt.tensor([[2.0]]) and not tt.tensor(0)
    with pytest.raises(RuntimeError, match="a tensor with more than one value is neither true nor false"):
        bool(tt.ones(2))
    with pytest.raises(RuntimeError, match="a tensor with no values is neither true nor false"):
        bool(tt.ones(0))
    assert tt.tensor(1).is_nonzero()


def test_numbers_from_tensors():
    assert int(tt.tensor([1.7])) == 1 and float(tt.tensor(3)) == 3.0 and complex(tt.tensor(1.5)) == 1.5
    assert [10, 20, 30][tt.tensor(1)] == 20 and range(5)[tt.tensor([2])] == 2
    with pytest.raises(TypeError, match="only a tensor of one integer is an index"):
        [1, 2][tt.tensor(1.0)]
    with pytest.raises(RuntimeError, match="is beyond the range of float64"):
        float(tt.tensor(1j))
    with pytest.raises(ValueError):
        int(tt.ones(2))


def test_format_applies_to_numbers():
    assert f"{tt.tensor(3.14159):.2f}" == "3.14"
    with pytest.raises(TypeError, match="unsupported format string"):
        f"{tt.ones(2):.2f}"


def test_tensors_without_values_refuse_to_tell_them():
    x = tt.ones((), device="meta")
    for read in (lambda: x.item(), lambda: x.tolist(), lambda: x.numpy(), lambda: bool(x), lambda: float(x)):
        with pytest.raises(DataDependentError, match="depends on the values"):
            read()


# --- arrays --------------------------------------------------------------------------------------------------------


def test_numpy_shares_the_memory():
    x = tt.zeros(2, 3)
    array = x.t().numpy()
    assert array.shape == (3, 2) and array.strides == (4, 12)
    array[0, 0] = 5.0
    assert x[0, 0].item() == 5.0
    array.flags.writeable = False  # of the array alone
    x.add_(1)
    assert array[0, 0] == 6.0


def test_numpy_refuses_what_is_not_plain_memory_of_the_host():
    leaf = tt.ones(2, requires_grad=True)
    for convert in (lambda: leaf.numpy(), lambda: np.asarray(leaf), lambda: np.array(leaf)):
        with pytest.raises(RuntimeError, match=r"numpy\(\) of a tensor that requires a gradient"):
            convert()
    assert leaf.numpy(force=True).tolist() == [1.0, 1.0]


def test_numpy_functions_take_tensors():
    x = tt.arange(4.0)
    assert np.asarray(x).dtype == np.float32 and np.shares_memory(np.asarray(x), x.numpy())
    assert np.array(x, dtype="int8").dtype == np.int8
    assert not np.shares_memory(np.array(x, copy=True), x.numpy())
    assert np.sum(x.numpy()) == 6.0
    with pytest.raises(ValueError, match="copy"):
        np.array(x, dtype="int8", copy=False)
    import ml_dtypes

    assert np.asarray(x.bfloat16()).dtype == ml_dtypes.bfloat16


def test_array_protocols_are_there_only_where_they_apply():
    assert tt.ones(2).__array_interface__["shape"] == (2,)
    assert not hasattr(tt.ones(2, device="meta"), "__array_interface__")
    assert not hasattr(tt.ones(2), "__cuda_array_interface__")


def test_arithmetic_with_numpy_arrays_on_the_left_is_not_taken_over_by_numpy():
    found = np.float64(2.0) * tt.ones(2)
    assert isinstance(found, tt.Tensor)


# --- containers ----------------------------------------------------------------------------------------------------


def test_iteration_yields_views():
    x = tt.zeros(2, 2)
    for row in x:
        row += 1
    assert x.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    first, second = tt.tensor([3, 4])
    assert (first.item(), second.item()) == (3, 4)


def test_a_number_is_no_container():
    with pytest.raises(TypeError, match="a tensor without dimensions has nothing to iterate over"):
        iter(tt.tensor(1))
    with pytest.raises(TypeError, match=r"len\(\) of a 0-d tensor"):
        len(tt.tensor(1))


def test_membership_compares_elements():
    x = tt.tensor([1, 3])
    assert 3 in x and 2 not in x and tt.tensor(1) in x
    with pytest.raises(RuntimeError, match=r"looks for a number or a tensor among the elements"):
        _ = "a" in x


def test_tensors_hash_by_identity_and_compare_by_element():
    x, y = tt.ones(2), tt.ones(2)
    assert len({x, y, x}) == 2 and hash(x) == hash(x)
    assert (x == y).tolist() == [True, True]
    assert (x != None) is True and (x == "a") is False  # noqa: E711 - the comparison is the subject


def test_transposed_attributes_name_matrices():
    with pytest.raises(RuntimeError, match=r"\.mT is for matrices and batches of them"):
        _ = tt.ones(4).mT
    with pytest.raises(RuntimeError, match=r"\.H is for matrices, and the tensor has 3 dimensions"):
        _ = tt.ones(2, 2, 2).H


def test_new_tensor_takes_dtype_and_device_of_its_tensor():
    assert tt.ones(2, dtype=tt.float64).new_tensor([1, 2]).dtype is tt.float64
    assert tt.ones(2, device="meta").new_tensor([1]).is_meta
    assert tt.ones(2).new_tensor([1], dtype=tt.int8).dtype is tt.int8


# --- copies --------------------------------------------------------------------------------------------------------


def round_trip(value):
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("copier", [round_trip, copy.deepcopy])
@pytest.mark.parametrize(
    "make",
    [
        lambda: tt.tensor(3), lambda: tt.arange(6).reshape(2, 3), lambda: tt.arange(6).reshape(2, 3).t(),
        lambda: tt.arange(6)[::2], lambda: tt.ones(0, 3), lambda: tt.ones(3).expand(2, 3), lambda: tt.tensor([True]),
        lambda: tt.tensor([1.5, 2], dtype=tt.bfloat16), lambda: tt.tensor([1j]), lambda: tt.ones(2, requires_grad=True),
    ],
)  # fmt: skip
def test_copies_keep_values_dtype_strides_and_gradients(make, copier):
    x = make()
    y = copier(x)
    assert (
        type(y) is type(x)
        and y.dtype is x.dtype
        and y.shape == x.shape
        and y.requires_grad == x.requires_grad
    )
    assert y.stride() == x.stride() or x.numel() == 0
    assert y.tolist() == x.tolist()
    assert y.numel() == 0 or y.data_ptr() != x.data_ptr()


@pytest.mark.parametrize("copier", [round_trip, copy.deepcopy])
def test_views_that_travel_together_keep_sharing(copier):
    x = tt.zeros(2, 3)
    together = copier({"base": x, "view": x[1].t(), "again": x})
    base, view = together["base"], together["view"]
    assert together["again"] is base
    view += 1
    assert base.tolist() == [[0.0] * 3, [1.0] * 3]
    assert base._version == view._version == 1
    assert x.sum().item() == 0.0


@pytest.mark.parametrize("copier", [round_trip, copy.deepcopy, copy.copy])
def test_copies_keep_class_and_attributes(copier):
    x = tt.ones(2).as_subclass(Image)
    x.label = "cat"
    y = copier(x)
    assert type(y) is Image and y.label == "cat"


class Image(tt.Tensor):
    """A subclass; on module level, so that pickle finds it."""


def test_meta_tensors_are_pickled_without_values():
    x = round_trip(tt.zeros(2, 3, device="meta").t())
    assert x.is_meta and x.shape == (3, 2) and x.stride() == (1, 3)


def test_a_shallow_copy_shares_memory():
    x = tt.ones(2, requires_grad=True)
    y = copy.copy(x)
    assert y is not x and y.data_ptr() == x.data_ptr() and y.requires_grad and y.is_leaf


def test_deepcopy_needs_leaves_and_copies_gradients():
    x = tt.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Only Tensors created explicitly by the user \(graph leaves\)"):
        copy.deepcopy(x * 2)
    (x * 2).sum().backward()
    y = copy.deepcopy(x)
    assert y.grad.tolist() == [2.0, 2.0] and y.grad is not x.grad


def test_data_is_the_same_memory_unseen_by_autograd():
    x = tt.ones(2, requires_grad=True)
    y = x * x
    x.data.add_(1)
    assert x.tolist() == [2.0, 2.0] and x._version == 0 and not x.data.requires_grad
    y.sum().backward()
    x.data = tt.tensor([5.0, 6.0, 7.0])
    assert x.tolist() == [5.0, 6.0, 7.0] and x.requires_grad
    with pytest.raises(TypeError, match="data must be set to a Tensor"):
        x.data = [1]
    with pytest.raises(RuntimeError, match="must be floating point or complex"):
        x.data = tt.tensor([1])


def test_weak_references_and_attributes():
    x = tt.ones(2)
    x.note = "kept"
    reference = weakref.ref(x)
    assert reference() is x and x.note == "kept"
    del x
    gc.collect()
    assert reference() is None


def test_as_subclass_shares_memory_and_history():
    x = tt.ones(2, requires_grad=True)
    y = (x * 2).as_subclass(Image)
    assert isinstance(y, Image) and y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.raises(TypeError, match="takes a subclass of Tensor"):
        x.as_subclass(int)


def test_array_namespace_says_what_there_is():
    try:
        assert hasattr(tt.ones(1).__array_namespace__(), "asarray")
    except NotImplementedError as error:
        assert "array API" in str(error)


# --- backends whose arrays cannot change, and transforms -----------------------------------------------------------


@pytest.fixture
def immutable():
    """A device of array-api-strict, whose arrays neither change nor share memory."""
    strict = pytest.importorskip("array_api_strict")
    from tt.core.library import REGISTRY
    from tt.core.types.device import Device
    from tt.library import ArrayApiBackend

    backend = ArrayApiBackend(strict, "immutable")
    handles = [REGISTRY.add_backend(backend), REGISTRY.add(backend.kernels())]
    # Otherwise the manifest of a plugin makes the name of a device known.
    yield Device._intern("immutable", None)
    for handle in reversed(handles):
        handle.remove()


def test_aliases_on_an_immutable_backend_see_each_others_changes(immutable):
    x = tt.zeros(2, 3, device=immutable)
    shallow, subclass, data, detached = copy.copy(x), x.as_subclass(Image), x.data, x.detach()
    parameter, view = tt.nn.Parameter(x), x[0]
    subclass[0] = 5.0
    for other in (x, shallow, data, detached, parameter):
        assert other.tolist() == [[5.0] * 3, [0.0] * 3]
    assert view.tolist() == [5.0] * 3
    data[1, [0, 2]] = 7.0
    assert x.tolist() == subclass.tolist() == [[5.0] * 3, [7.0, 0.0, 7.0]]


@pytest.mark.parametrize("copier", [round_trip, copy.deepcopy])
def test_copies_on_an_immutable_backend_share_nothing(immutable, copier):
    x = tt.arange(6.0, device=immutable).reshape(2, 3)
    x[0, 0] = 9.0
    y = copier(x)
    assert y.device is immutable and y.tolist() == x.tolist()
    y[0] = 1.0
    assert x.tolist() == [[9.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_conversions_on_an_immutable_backend(immutable):
    x = tt.arange(4.0, device=immutable).reshape(2, 2)
    view = x.t()
    x[0, 1] = 8.0
    assert view.stride() == (1, 2) and view[1:].storage_offset() == 1 and x.data_ptr() == 0
    assert view.cpu().tolist() == view.numpy(force=True).tolist() == [[0.0, 2.0], [8.0, 3.0]]
    assert view[1, 0].item() == 8.0 and repr(view[1]) == "tensor([8., 3.], device='immutable')"
    with pytest.raises(TypeError, match=r"NumPy cannot reach the memory of immutable; call tensor.cpu\(\)"):
        x.numpy()
    assert not hasattr(x, "__array_interface__")


def test_a_tensor_inside_vmap_keeps_its_values_to_itself():
    def function(row):
        assert repr(row).startswith("BatchedTensor(lvl=1, bdim=0, value=\n    tensor([[0., 1.]")
        for read in (row.tolist, row.numpy, row.sum().item, lambda: bool(row[0])):
            with pytest.raises(RuntimeError, match=r"vmap|transform"):
                read()
        row = row.clone()
        row[0] = 5.0
        row[[1]] += 1.0
        assert len(row) == 2
        return row[1:], row[tt.tensor(0)]

    tail, head = tt.func.vmap(function)(tt.arange(4.0).reshape(2, 2))
    assert tail.tolist() == [[2.0], [4.0]] and head.tolist() == [5.0, 5.0]


def test_an_index_that_the_device_does_not_have_is_refused() -> None:
    assert tt.ones(2).to("cpu:0").device == tt.device("cpu")
    with pytest.raises(RuntimeError, match="there is no device 'cpu:3'"):
        tt.ones(2).to("cpu:3")
