"""Backward passes of tensors with tangents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt
import tt.autograd.forward_ad as forward_ad

# torch compiles something of its own the first time that it makes a dual number, and warns itself of that.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")


def pass_through(lib: Any, kind: str) -> Any:
    """Run a backward pass of tensors with tangents; return values and tangents of its results."""
    forward = lib.autograd.forward_ad
    with forward.dual_level():
        p, v = lib.tensor([1.0, 2.0], requires_grad=True), lib.tensor([1.0, 3.0])
        x = forward.make_dual(p, v)
        other = lib.tensor([3.0, 1.0], requires_grad=True)
        found: Any = {
            "by the value": lambda: lib.autograd.grad((x**3).sum(), p),
            "by the tensor with a tangent": lambda: lib.autograd.grad((x**3).sum(), x),
            "by two": lambda: lib.autograd.grad((x * other).sin().sum(), [p, other]),
            "a vector with a tangent": lambda: lib.autograd.grad(
                x**3, p, forward.make_dual(lib.ones(2), lib.tensor([2.0, 0.0]))
            ),
            "twice": lambda: lib.autograd.grad(
                lib.autograd.grad((x**3).sum(), p, create_graph=True)[0].sum(), p
            ),
            "unused": lambda: lib.autograd.grad((x**3).sum(), [p, other], allow_unused=True),
            "what has no tangent": lambda: lib.autograd.grad((other**2).sum(), other),
            "backward": lambda: (x**3).sum().backward() or [p.grad],
            "a leaf by its tangent's tensor": lambda: _of_later_leaf(lib, forward, v),
        }[kind]()
        return [
            None if pair is None else [None if part is None else part.tolist() for part in pair]
            for pair in (None if g is None else forward.unpack_dual(g) for g in found)
        ]


def _of_later_leaf(lib: Any, forward: Any, v: Any) -> Any:
    later = forward.make_dual(lib.tensor([1.0, 2.0]), v)
    later.requires_grad_()
    assert later.requires_grad
    return lib.autograd.grad((later**3).sum(), later)


PASSES = [
    "by the value",
    "by the tensor with a tangent",
    "by two",
    "a vector with a tangent",
    "twice",
    "unused",
    "what has no tangent",
    "backward",
    "a leaf by its tangent's tensor",
]


@pytest.mark.torch
@pytest.mark.parametrize("kind", PASSES)
def test_passes_of_tensors_with_tangents_are_those_of_torch(kind: str) -> None:
    torch = pytest.importorskip("torch")
    for mine, theirs in zip(pass_through(tt, kind), pass_through(torch, kind), strict=True):
        assert (mine is None) == (theirs is None)
        for a, b in zip(mine or [], theirs or [], strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(a, b, rtol=1e-5)


def test_a_gradient_of_a_dual_tensor_has_the_second_derivative_for_its_tangent() -> None:
    ((value, tangent),) = pass_through(tt, "by the value")
    assert value == [3.0, 12.0] and tangent == [6.0, 36.0]


def test_wrong_passes_of_tensors_with_tangents_are_refused() -> None:
    with forward_ad.dual_level():
        p = tt.ones(2, requires_grad=True)
        x = forward_ad.make_dual(p, tt.ones(2))
        with pytest.raises(RuntimeError, match="needs a gradient to start from"):
            tt.autograd.grad(x * 2, p)
        with pytest.raises(RuntimeError, match="do not depend on input 0"):
            tt.autograd.grad((x * 2).sum(), tt.ones(2, requires_grad=True))
        plain = forward_ad.make_dual(tt.ones(2), tt.ones(2))
        with pytest.raises(RuntimeError, match="has no history to differentiate"):
            tt.autograd.grad(plain.sum(), p)
    leaf = tt.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"try: tt.func.grad or tt.func.vjp inside of vmap"):
        tt.func.vmap(lambda row: tt.autograd.grad(row * 2, row))(leaf)


def test_vectors_may_be_mapped_over_in_a_pass() -> None:
    """PyTorch's way to a Jacobian in one call: the pass itself in vmap, from outputs that lie outside."""
    x = tt.tensor([1.0, 2.0], requires_grad=True)
    y = x * x * tt.tensor([1.0, 3.0])
    rows = tt.func.vmap(lambda v: tt.autograd.grad(y, x, v, retain_graph=True)[0])(tt.eye(2))
    assert rows.tolist() == [[2.0, 0.0], [0.0, 12.0]]
