"""Checks by PyTorch's underscored names."""

from __future__ import annotations

import pytest

import tt


@pytest.mark.parametrize(
    ("check", "kind"),
    [
        (tt._check, RuntimeError),
        (tt._check_index, IndexError),
        (tt._check_not_implemented, NotImplementedError),
        (tt._check_type, TypeError),
        (tt._check_value, ValueError),
    ],
)
def test_a_condition_that_fails_raises(check, kind):
    check(True)
    check(True, lambda: "never")
    with pytest.raises(kind, match=r"^the text$"):
        check(False, lambda: "the text")
    with pytest.raises(kind, match="Expected cond to be True"):
        check(False)
    with pytest.raises(TypeError, match="cond must be a bool"):
        check(1)
    with pytest.raises(TypeError, match="must be a callable"):
        check(False, "text")


def test_sizes_tensors_and_assertions():
    tt._check_is_size(3, max=4)
    with pytest.raises(RuntimeError):
        tt._check_is_size(-1)
    with pytest.raises(RuntimeError):
        tt._check_is_size(5, max=4)
    tt._check_tensor_all(tt.tensor([True, True]))
    with pytest.raises(RuntimeError, match="no"):
        tt._check_tensor_all(tt.tensor([True, False]), lambda: "no")
    with pytest.raises(TypeError, match="must be a tensor"):
        tt._check_tensor_all(True)
    with pytest.raises(TypeError, match=r"dtype tt\.bool"):
        tt._check_tensor_all(tt.ones(1))
    tt._assert(tt.ones(1) > 0, "positive")
    with pytest.raises(AssertionError, match="negative"):
        tt._assert(tt.ones(1) < 0, "negative")


def test_an_assertion_of_a_tensor_raises_what_pytorch_does():
    tt._assert_async(tt.tensor([2]), "two")
    with pytest.raises(RuntimeError, match="negative"):
        tt._assert_async(tt.tensor(1) < 0, "negative")
    with pytest.raises(RuntimeError, match="Expected Tensor with single nonzero value"):
        tt._assert_async(tt.tensor(0.0))
    with pytest.raises(RuntimeError, match="of one element, not of 2"):
        tt._assert_async(tt.ones(2))


def test_a_shape_as_a_tensor():
    found = tt._shape_as_tensor(tt.zeros(2, 0))
    assert found.tolist() == [2, 0] and found.dtype == tt.int64
