"""`get_kernel`: a later kernel calls those that it replaces."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt import library


@pytest.mark.parametrize("key", ["cpu", "CPU", tt.device("cpu")])
def test_a_kernel_calls_the_one_that_it_replaces(key):
    x = tt.tensor([-1.0, 2.0])
    with library.scoped():
        kernel = library.get_kernel("sin", key)

        @library.register_kernel("sin", "cpu", override=True)
        def sin_of_positive(self):
            return kernel.call_boxed(None, self) if (self > 0).all() else np.zeros_like(self)

        assert tt.sin(x).tolist() == [0.0, 0.0]
        assert np.allclose(tt.sin(x + 2).numpy(), np.sin([1.0, 4.0]))
        assert np.allclose(kernel.call_boxed(None, x).numpy(), np.sin([-1.0, 2.0]))
    assert np.allclose(tt.sin(x).numpy(), np.sin([-1.0, 2.0]))


def test_arrays_give_arrays_and_tensors_tensors():
    kernel = library.get_kernel(tt.ops.sort, "cpu")
    values, indices = kernel.call_boxed(None, np.array([3, 1, 2]), descending=True)
    assert type(values) is np.ndarray and values.tolist() == [3, 2, 1] and indices.tolist() == [0, 2, 1]
    both = library.get_kernel("cat", "cpu").call_boxed(None, [np.ones(1), np.zeros(1)])
    assert type(both) is np.ndarray or isinstance(both, tt.Tensor)
    assert both.tolist() == [1.0, 0.0]
    found = kernel.call_boxed(None, tt.tensor([3, 1, 2]))
    assert isinstance(found.values, tt.Tensor) and found.values.tolist() == [1, 2, 3]


def test_gradients_and_operators_without_a_kernel_are_as_ever():
    x = tt.tensor([2.0], requires_grad=True)
    library.get_kernel("square", "cpu").call_boxed(None, x).backward()
    assert x.grad.item() == 4
    assert library.get_kernel("addmv", "meta").call_boxed(None, *map(meta, ((2,), (2, 3), (3,)))).shape == (
        2,
    )


def meta(shape):
    return tt.empty(shape, device="meta")


@pytest.mark.torch
def test_what_does_not_exist_is_refused_as_in_pytorch():
    import torch

    for module, op in ((torch, "aten::sin"), (tt, "sin")):
        with pytest.raises(ValueError, match=r"(?i)warp"):
            module.library.get_kernel(op, "warp")
        with pytest.raises(RuntimeError):
            module.library.get_kernel("no::operator", "CPU")
        with pytest.raises((ValueError, TypeError)):
            module.library.get_kernel(3, "CPU")
