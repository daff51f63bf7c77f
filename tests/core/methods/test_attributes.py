"""Members of tensors: values, conversions, containers, copies."""

from __future__ import annotations

import copy
import gc
import weakref

import pytest

import tt
from tests.core.methods.memory.test_pickling import Image, round_trip

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


def test_tensors_without_memory_are_set_to_each_other_only_as_views():
    x = tt.zeros(3, device="meta")
    assert x.is_set_to(x) and x.is_set_to(x.view(3)) and not x[1:].is_set_to(x[:2])
    assert not tt.zeros(3, device="meta").is_set_to(x)
    assert not tt.tensor([]).is_set_to(tt.tensor([]))


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


def test_resize_as_takes_the_size_of_another_tensor():
    x = tt.arange(6.0)
    assert x.resize_as_(tt.zeros(2, 2)) is x and x.tolist() == [[0.0, 1.0], [2.0, 3.0]]
    with pytest.raises(TypeError, match=r"resize_as_\(\): argument 'the_template' is a tensor, not tuple"):
        x.resize_as_((2, 2))


def test_facts_of_devices_and_dtypes_that_do_not_exist_are_false():
    x = tt.zeros(1)
    names = ["is_ipu", "is_mkldnn", "is_mps", "is_mtia", "is_quantized", "is_vulkan", "is_xla", "is_xpu"]
    assert [getattr(x, name) for name in names] == [False] * len(names)
    assert not x.is_distributed() and x.const_data_ptr() == x.data_ptr()


def test_weak_references_and_attributes():
    x = tt.ones(2)
    x.note = "kept"
    reference = weakref.ref(x)
    assert reference() is x and x.note == "kept"
    del x
    gc.collect()
    assert reference() is None


@pytest.mark.torch
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2)])
def test_reversed_turns_the_first_dimension_only(shape):
    torch = pytest.importorskip("torch")
    results = [reversed(m.arange(m.zeros(shape).numel()).reshape(shape)) for m in (tt, torch)]
    assert results[0].tolist() == results[1].tolist()


def test_the_parts_of_complex_numbers_are_assigned():
    x = tt.zeros(2, dtype=tt.complex64)
    x.real = tt.tensor([1.0, 2.0])
    x.imag = 3
    assert x.tolist() == [1 + 3j, 2 + 3j]
    y = tt.zeros(2)
    y.real = tt.ones(2)
    assert y.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="imag"):
        y.imag = tt.ones(2)


def test_an_assigned_part_has_a_gradient():
    x = tt.ones(2, requires_grad=True)
    z = tt.zeros(2, dtype=tt.complex64)
    z.imag = x * 3
    z.imag.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


@pytest.mark.torch
def test_a_nested_and_another_tensor_are_not_compared_in_size():
    torch = pytest.importorskip("torch")
    for library in (tt, torch):
        nested = library.nested.nested_tensor([library.ones(2)], layout=library.jagged)
        with pytest.raises(ValueError, match=r"nested|Nested"):
            library.is_same_size(nested, library.ones(1, 2))


def test_every_listed_member_of_a_tensor_is_there():
    for x in (tt.ones(2, 2), tt.ones(2, 2, dtype=tt.complex64)):
        names = dir(x)
        assert "shape" in names and "__array_interface__" in names
        assert "__cuda_array_interface__" not in names
        if not x.is_complex():
            names.remove("imag")  # raises for real tensors, as in PyTorch
        assert [name for name in names if not hasattr(x, name)] == []
