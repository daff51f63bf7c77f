"""Parts of PyTorch's checkpointing that other libraries import."""

from __future__ import annotations

import pytest

import tt
from tt.utils.checkpoint import check_backward_validity, detach_variable, get_device_states, set_device_states


def test_the_generator_of_the_cpu_is_left_to_the_caller():
    assert get_device_states(tt.ones(1), {"x": [tt.ones(2)]}, 3) == ([], [])
    set_device_states([], [])


def test_detached_inputs_require_gradients_as_before():
    x = tt.ones(2, requires_grad=True) * 2
    leaf, plain, number = detach_variable((x, tt.zeros(1), 3))
    assert leaf.is_leaf and leaf.requires_grad and not plain.requires_grad and number == 3
    with pytest.raises(TypeError, match="takes a tuple of tensors, not list"):
        detach_variable([x])


def test_inputs_without_gradients_are_warned_of():
    check_backward_validity([1, tt.ones(1, requires_grad=True)])
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        check_backward_validity([tt.ones(1)])
