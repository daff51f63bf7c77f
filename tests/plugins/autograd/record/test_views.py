"""Views of another dtype than their base's: parts of complex numbers have a history, views of bits have none."""

from __future__ import annotations

from collections.abc import Callable
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


# --- gradients that are kept, and views that autograd does not know ---------------------------------------------------


def changed_view(lib: Any, written: str, used: str) -> Any:
    """Keep the gradients of a tensor and two views of it, write through one of the three, and use another."""
    x = lib.ones(4, requires_grad=True)
    y = x * 2
    tensors = {"base": y, "view": y.view(2, 2), "sibling": y[1:]}
    for tensor in tensors.values():
        tensor.retain_grad()
    tensors[written].mul_(3)
    (tensors[used] ** 2).sum().backward()
    return [None if t.grad is None else t.grad.tolist() for t in (x, *tensors.values())]


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")
@pytest.mark.parametrize("written", ["base", "view", "sibling"])
@pytest.mark.parametrize("used", ["base", "view", "sibling"])
def test_the_gradient_of_a_view_is_kept_after_a_write(written: str, used: str) -> None:
    torch = pytest.importorskip("torch")
    assert changed_view(tt, written, used) == changed_view(torch, written, used)


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "add_": lambda lib, b: b.add_(5),
    "fill_": lambda lib, b: b.fill_(5),
    "setitem": lambda lib, b: b.__setitem__(0, 5.0),
    "copy_": lambda lib, b: b.copy_(lib.ones(3)),
    "out": lambda lib, b: lib.add(lib.ones(3), 1, out=b),
    "composite": lambda lib, b: b.addcmul_(lib.ones(3), lib.ones(3)),
    "random": lambda lib, b: b.uniform_(),
    "list": lambda lib, b: lib._foreach_add_([b], 1),
    "a tensor with a gradient": lambda lib, b: b.mul_(lib.full((3,), 2.0, requires_grad=True)),
    "a view of the view": lambda lib, b: b[1:].mul_(2),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_leaf_is_not_changed_through_a_view_made_before_it_required_a_gradient(name: str) -> None:
    a = tt.full((3,), 7.0)
    b = a[:]
    a.requires_grad = True
    with pytest.raises(RuntimeError, match="view of a leaf"):
        WRITES[name](tt, b)
    assert a.tolist() == [7, 7, 7]
    with tt.no_grad():
        WRITES[name](tt, b)
    assert a.tolist() != [7, 7, 7]


def test_a_leaf_that_views_changed_memory_has_the_history_of_the_memory() -> None:
    a, factor = tt.ones(3), tt.full((3,), 2.0, requires_grad=True)
    b = a[1:]
    b.requires_grad_()
    a.mul_(factor)
    assert not b.is_leaf
    b.sum().backward()
    assert factor.grad is not None and factor.grad.tolist() == [0, 1, 1]


# --- views that a Function makes ------------------------------------------------------------------------------------


def function(lib: Any, forward: Callable[..., Any]) -> Any:
    class Made(lib.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return forward(ctx, x)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return lib.ones(2, 2)

    return Made.apply


@pytest.mark.torch
@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
@pytest.mark.parametrize(
    "forward",
    [
        lambda ctx, x: x.view(-1),
        lambda ctx, x: x[0],
        lambda ctx, x: x,
        lambda ctx, x: x * 2,
        lambda ctx, x: (x * 2).view(-1),
    ],
    ids=["view", "index", "argument", "new", "view of new"],
)
def test_a_view_that_a_function_returns_under_no_grad_is_one_made_there(forward: Any, mode: str) -> None:
    torch = pytest.importorskip("torch")

    def described(lib: Any) -> Any:
        x = lib.ones(2, 2, requires_grad=True)
        with getattr(lib, mode)():
            y = function(lib, forward)(x)
        facts = (y.requires_grad, y.is_leaf, y.grad_fn is None, y.is_inference())
        try:
            y.mul_(2)
        except RuntimeError:
            return facts, "refused"
        return facts, y.tolist()

    assert described(tt) == described(torch)


@pytest.mark.parametrize("write", [lambda v: v.mul_(3), lambda v: v.__setitem__(0, 3.0)])
def test_a_view_that_a_function_kept_of_its_result_is_not_changed_unnoticed(write: Any) -> None:
    kept = {}

    def forward(ctx: Any, x: Any) -> Any:
        result = x * 2
        kept["view"] = result[0]
        return result

    y = function(tt, forward)(tt.ones(2, 2, requires_grad=True))
    with pytest.raises(RuntimeError, match="how it was made is not known"):
        write(kept["view"])
    with tt.no_grad():
        write(kept["view"])
    assert y[0, 0].item() in (3, 6)


def test_a_result_without_a_gradient_that_is_a_view_stays_one() -> None:
    def of_argument(ctx: Any, x: Any) -> Any:
        ctx.mark_non_differentiable(x0 := x[0])
        return x * 2, x0

    def of_result(ctx: Any, x: Any) -> Any:
        y = x * 2
        ctx.mark_non_differentiable(y0 := y[0])
        return y, y0

    for forward in (of_argument, of_result):
        x = tt.ones(2, 2, requires_grad=True)
        _, marked = function(tt, forward)(x)
        assert marked._is_view() and marked.is_leaf
        with pytest.raises(RuntimeError, match="made under no_grad"):
            marked.mul_(3)


def test_a_view_marked_as_dirty_is_the_only_result() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        x.mul_(2)
        ctx.mark_dirty(x)
        return x, x[0]

    view = (tt.ones(2, 2, requires_grad=True) * 1)[:]
    with pytest.raises(RuntimeError, match="only if it is the only result"):
        function(tt, forward)(view)


def test_an_argument_returned_as_it_is_is_a_view_of_it() -> None:
    x, factor = tt.ones(2, 2), tt.full((2, 2), 3.0, requires_grad=True)
    y = function(tt, lambda ctx, x: x)(x)
    assert y is not x and y._base is x
    x.mul_(factor)
    y.sum().backward()
    assert factor.grad is not None and factor.grad.tolist() == [[1, 1], [1, 1]]
