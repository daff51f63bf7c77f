"""assert_close: its message, classes, and None."""

from __future__ import annotations

import pytest

import tt
from tt.testing import assert_close


def test_a_message_replaces_the_text_and_a_function_changes_it():
    one, two = tt.tensor([1.0]), tt.tensor([2.0])
    with pytest.raises(AssertionError, match=r"^they differ$"):
        assert_close(one, two, msg="they differ")
    with pytest.raises(AssertionError, match=r"^layer 3: Tensors are not close: 1 of 1"):
        assert_close(one, two, msg=lambda text: f"layer 3: {text}")
    with pytest.raises(AssertionError, match=r"^\['a'\] \[1\] Tensors are not close"):
        assert_close({"a": [one, one]}, {"a": [one, two]})
    with pytest.raises(AssertionError, match=r"^whole$"):
        assert_close({"a": [one, one]}, {"a": [one, two]}, msg="whole")
    assert_close(one, one, msg="never")


def test_classes_may_have_to_agree():
    plain, parameter = tt.ones(2), tt.nn.Parameter(tt.ones(2))
    assert_close(plain, parameter)
    with pytest.raises(TypeError, match="of the classes Tensor and Parameter"):
        assert_close(plain, parameter, allow_subclasses=False)
    assert_close(plain, plain, allow_subclasses=False)


def test_nothing_is_close_to_nothing_only():
    assert_close(None, None)
    assert_close([None, 1], [None, 1])
    for one, two in ((None, 1), (tt.ones(1), None)):
        with pytest.raises(AssertionError, match="None mismatch"):
            assert_close(one, two)
