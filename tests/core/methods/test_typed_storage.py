"""`x.storage()`: the memory as elements, with PyTorch's warning."""

from __future__ import annotations

import warnings

import pytest

import tt

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
