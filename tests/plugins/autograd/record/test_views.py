"""Views of another dtype than their base's: parts of complex numbers have a history, views of bits have none."""

from __future__ import annotations

from typing import Any

import pytest

import tt

ASPECTS = {
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "view_as_real": tt.view_as_real,
    "a part of the real parts": lambda x: tt.view_as_real(x)[1:, 0],
    "real again complex": lambda x: tt.view_as_complex(tt.view_as_real(x)[1:]),
}


def weights(x: Any) -> Any:
    """Return different numbers in the shape of a tensor, so that a gradient shows where it came from."""
    found = tt.arange(1.0, x.numel() + 1, dtype=tt.float64).reshape(x.shape)
    return found * (2 - 1j) if x.is_complex() else found


def total(x: Any) -> Any:
    """Return a sum of all real and imaginary parts of a tensor, with weights."""
    x = tt.view_as_real(x) if x.is_complex() else x
    return (x * weights(x)).sum()


@pytest.mark.parametrize("aspect", ASPECTS)
def test_parts_of_numbers_get_the_history_that_their_base_gets(aspect: str) -> None:
    leaf = tt.ones(3, dtype=tt.complex128, requires_grad=True)
    base = tt.zeros(3, dtype=tt.complex128)
    view = ASPECTS[aspect](base)
    base.add_(leaf * (3 + 2j))
    assert view.requires_grad
    total(view).backward()
    other = leaf.detach().clone().requires_grad_()
    total(ASPECTS[aspect](other * (3 + 2j))).backward()
    assert leaf.grad.tolist() == other.grad.tolist()


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize("aspect", ASPECTS)
def test_parts_of_numbers_stay_where_they_are_when_their_base_is_seen_in_another_way(
    aspect: str, changed: bool
) -> None:
    leaf = tt.tensor([1 + 2j, 3 - 1j, -2 + 5j], dtype=tt.complex128, requires_grad=True)
    base = leaf.unsqueeze(0) * 1
    base.squeeze_()
    view = ASPECTS[aspect](base)
    base.unsqueeze_(-1)
    if changed:
        view.mul_(3)
    (total(view) + total(base)).backward()
    other = leaf.detach().clone().requires_grad_()
    again = other * 1
    view = ASPECTS[aspect](again)
    if changed:
        view.mul_(3)
    (total(view) + total(again.unsqueeze(-1))).backward()
    assert leaf.grad.tolist() == other.grad.tolist()


def test_pairs_of_real_numbers_get_the_history_that_their_base_gets() -> None:
    leaf = tt.ones(4, 2, dtype=tt.float64, requires_grad=True)
    base = tt.zeros(4, 2, dtype=tt.float64)
    view = tt.view_as_complex(base)[1:3]
    base.add_(leaf)
    total(view).backward()
    assert leaf.grad.tolist() == [[0, 0], [1, 2], [3, 4], [0, 0]]


@pytest.mark.parametrize("changed", ["base", "view"])
def test_a_change_of_real_parts_reaches_the_complex_numbers(changed: str) -> None:
    leaf = tt.ones(3, dtype=tt.float64, requires_grad=True)
    base = tt.zeros(3, dtype=tt.complex128)
    real = base.real
    (real if changed == "view" else base).add_(leaf)
    total(base).backward()
    assert leaf.grad.tolist() == [1, 3, 5]


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex64", "bfloat16"])
def test_a_view_of_bits_has_no_part_in_the_history_of_its_base(dtype: str) -> None:
    leaf = tt.ones(4, dtype=tt.float64, requires_grad=True)
    base = tt.zeros(4, dtype=tt.float64)
    bits = base.view(getattr(tt, dtype))
    part = bits[1:]
    base.add_(leaf)
    if dtype != "float64":  # of the same dtype, it is one of numbers
        assert not bits.requires_grad and not part.requires_grad
    base.sum().backward()
    assert leaf.grad.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("base", [tt.zeros(3, dtype=tt.int64), tt.zeros(3, dtype=tt.float64)])
def test_a_change_of_a_view_of_bits_has_a_history_of_its_own(base: Any) -> None:
    dtype = tt.float32 if base.dtype is tt.float64 else tt.float64
    view = base.view(dtype)
    leaf = tt.ones(view.shape, dtype=dtype, requires_grad=True)
    view.add_(leaf)
    assert not base.requires_grad and view.requires_grad
    view.sum().backward()
    assert leaf.grad.tolist() == [1] * len(leaf)


def test_views_of_a_leaf_made_of_bits_lead_to_the_leaf() -> None:
    leaf = tt.ones(3, dtype=tt.float64, requires_grad=True)
    numbers = leaf * 2
    bits = numbers.view(tt.float32).requires_grad_()
    part = bits[1:4]
    numbers.mul_(3)
    part.sum().backward()
    assert leaf.grad is None
    assert bits.grad.tolist() == [0, 1, 1, 1, 0, 0]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64"])
def test_the_result_of_abs_may_be_changed(dtype: str) -> None:
    if dtype != "complex64":
        x = tt.tensor([3.0, -2.0], dtype=getattr(tt, dtype), requires_grad=True)
        y = (x * 1).abs_()
        y.mul_(2)
        y.sum().backward()
        assert x.grad.tolist() == [2, -2]
    x = tt.tensor([3.0, -2.0], dtype=getattr(tt, dtype), requires_grad=True)
    y = x.abs()
    y.add_(1)
    y.sum().backward()
    assert x.grad.tolist() == [1, -1]


def test_gradients_of_real_parts_lie_anywhere() -> None:
    x = tt.tensor([[[1 + 2j, 3 - 1j]]], requires_grad=True)
    expected = 2 * x.detach()
    tt.view_as_real(x).movedim(-3, -1).square().sum().backward()  # a size of 1 has an odd stride
    assert x.grad.equal(expected)
    odd = tt.stack([expected.real, expected.imag], -1).reshape(-1)
    odd = tt.cat([odd[:1], odd])[1:].view(1, 1, 2, 2)
    (found,) = tt.autograd.grad(tt.view_as_real(x), x, odd)
    assert odd.storage_offset() == 1 and found.equal(expected)
