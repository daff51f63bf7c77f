"""`x.storage()`: the memory as elements, with PyTorch's warning."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest

import tt
from tt.core.methods.typed_storage import CASTS

MESSAGE = "TypedStorage is deprecated"


def test_the_storage_of_a_view_holds_all_elements_in_their_order() -> None:
    x = tt.tensor([[1, 2], [3, 4]])
    with pytest.warns(UserWarning, match=MESSAGE):
        memory = x.t()[1].storage()
    assert memory.tolist() == list(memory) == [1, 2, 3, 4] and memory[1:3] == [2, 3]
    assert len(memory) == memory.size() == 4 and memory.nbytes() == 32 and memory.element_size() == 8
    assert memory.dtype is tt.int64 and memory.device == x.device and memory.data_ptr() == x.data_ptr()
    assert memory.untyped() is x.untyped_storage()
    memory[0] = 7
    assert x[0, 0] == 7 and x._version == 1


def test_gradients_do_not_see_it() -> None:
    x = tt.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match=MESSAGE):
        assert x.storage().tolist() == [1.0, 1.0]


def test_a_sparse_tensor_has_none() -> None:
    with pytest.warns(UserWarning, match=MESSAGE), pytest.raises(RuntimeError, match="no storage of its own"):
        tt.eye(2).to_sparse().storage()


@pytest.mark.torch
def test_it_prints_as_in_torch() -> None:
    torch = pytest.importorskip("torch")
    with pytest.warns(UserWarning, match=MESSAGE):
        found = repr(tt.tensor([1.0, 2.5]).storage())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns once in a process
        expected = repr(torch.tensor([1.0, 2.5]).storage())
    assert found.replace("tt.", "torch.") == expected.replace("torch.storage.", "torch.")


def stored(*values: float) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tt.FloatStorage(values)


def test_elements_become_those_of_another_dtype_by_a_class_a_name_or_a_method() -> None:
    memory = stored(1, 2)
    assert memory.type() == "tt.FloatStorage" and memory.type(tt.FloatStorage) is memory
    for made in (memory.type("tt.DoubleStorage"), memory.type(tt.DoubleStorage), memory.double()):
        assert made.dtype is tt.float64 and made.tolist() == [1, 2] and made.data_ptr() != memory.data_ptr()
    with pytest.raises(TypeError, match=r"tt\.FloatStorage"):
        memory.type("Float")


@pytest.mark.torch
def test_methods_that_change_the_dtype_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = torch.FloatStorage([1, 0, 2])
        for name in CASTS:
            found, expected = getattr(stored(1, 0, 2), name)(), getattr(theirs, name)()
            assert found.type() == expected.type().replace("torch.", "tt.")
            if not name.startswith("float8"):
                assert found.tolist() == expected.tolist()
        missing = [name for name in dir(theirs) if not name.startswith("_") and not hasattr(stored(1), name)]
    assert missing == ["from_buffer", "from_file", "hpu", "is_hpu"]  # the first two are the classes'


def test_copies_have_memory_of_their_own_and_fills_write() -> None:
    memory = stored(1, 2)
    for made in (memory.clone(), copy.copy(memory), copy.deepcopy(memory)):
        assert made.fill_(3) is made and made.tolist() == [3, 3] and memory.tolist() == [1, 2]
    assert memory.copy_(stored(5, 6).int()).tolist() == [5, 6] and memory.cpu() is memory
    with pytest.raises(TypeError, match="sizes differ: 2 and 1"):
        memory.copy_(stored(1))


def test_the_size_stays() -> None:
    memory = stored(1, 2)
    memory.resize_(2)
    assert not memory.resizable() and memory.size() == 2
    with pytest.raises(RuntimeError, match="keep their memory"):
        memory.resize_(3)


def test_bytes_become_typed_storages() -> None:
    memory = tt.UntypedStorage([1, 2])
    assert memory.type() == "tt.storage.UntypedStorage" and memory.float().tolist() == [1, 2]
    assert memory.type(tt.IntStorage).type() == "tt.IntStorage"
    assert tt.zeros(1, dtype=tt.int16).storage_type() is tt.ShortStorage
