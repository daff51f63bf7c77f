"""Forward mode: tangents against the transposed gradients, for every operator; the API against torch's."""

# ruff: noqa: N806 - matrices are named as on paper.

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tt
import tt.autograd.forward_ad as forward_ad
from tests.plugins.autograd.calls import DIFFERENTIABLE, Call, calls, is_moderate, serves
from tt.core.library import OpDefinition

# torch compiles something of its own the first time that it makes a dual number, and warns itself of that.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")

# Singular vectors have a phase, and further columns of Q are any basis: a random cotangent has no gradient.  What does
# not depend on the choice is checked below.
NOT_UNIQUE = {"linalg_svd", "svd", "linalg_eigh", "linalg_eig", "linalg_qr", "qr"}


def cases(dtype: tt.dtype) -> list[Any]:
    return [
        pytest.param(d, id=d.name) for d in DIFFERENTIABLE if d.name not in NOT_UNIQUE and serves(d, dtype)
    ]


def inner(first: Any, second: Any) -> float:
    """Return the real inner product, for which gradients of complex tensors are defined."""
    product = (first.conj() * second).sum()
    return float(product.real.item() if product.is_complex() else product.item())


def random_like(tensor: Any) -> Any:
    return tt.randn(tuple(tensor.shape), dtype=tensor.dtype)


def outputs_of(call: Call, tensors: list[Any]) -> list[Any]:
    found = call(*tensors)
    found = [found] if isinstance(found, tt.Tensor) else list(found)
    return [t for t in found if t.is_floating_point() or t.is_complex()]


def check_adjoints(definition: OpDefinition, dtype: tt.dtype) -> None:
    """Compare <u, J t> with <J* u, t>, at points where both are numbers, of which there is one at least."""
    tt.manual_seed(0)
    moderate = [pair for pair in calls(definition, dtype) if all(is_moderate(t) for t in pair[1].inputs)]
    if not moderate and definition.kind == "composite" and dtype.is_complex:
        pytest.skip("a part of the composite takes no complex numbers")
    assert moderate
    for name, call in moderate:
        check_adjoint(call, name)


def check_adjoint(call: Call, name: str) -> None:
    tangents = [random_like(t) for t in call.inputs]
    leaves = [t.detach().clone().requires_grad_() for t in call.inputs]
    outputs = outputs_of(call, leaves)
    with forward_ad.dual_level():
        duals = [
            forward_ad.make_dual(t.detach().clone(), d) for t, d in zip(call.inputs, tangents, strict=True)
        ]
        moved = [forward_ad.unpack_dual(o) for o in outputs_of(call, duals)]
    assert len(moved) == len(outputs)
    tolerance = max(100 * tt.finfo(t.dtype).eps for t in [*outputs, *call.inputs])
    for output, (primal, tangent) in zip(outputs, moved, strict=True):
        tt.testing.assert_close(primal, output.detach(), equal_nan=True)
        if not output.requires_grad:
            assert tangent is None or not tangent.any(), name
            continue
        if not output.isfinite().all():
            continue
        cotangent = random_like(output)
        gradients = tt.autograd.grad(output, leaves, cotangent, retain_graph=True, materialize_grads=True)
        right = sum(inner(g, t) for g, t in zip(gradients, tangents, strict=True))
        if not math.isfinite(right):
            continue  # no derivative there
        left = 0.0 if tangent is None else inner(cotangent, tangent)
        assert left == pytest.approx(right, rel=tolerance, abs=max(tolerance, 1e-8)), name


@pytest.mark.sampled(4)
@pytest.mark.parametrize("definition", cases(tt.float64))
def test_tangents_are_the_transpose_of_gradients(definition: OpDefinition) -> None:
    check_adjoints(definition, tt.float64)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("definition", cases(tt.complex128))
def test_tangents_of_complex_numbers_are_the_transpose_of_gradients(definition: OpDefinition) -> None:
    check_adjoints(definition, tt.complex128)


# --- decompositions, by what does not depend on the choice of vectors ------------------------------------------


def tangent_of(function: Any, *pairs: Any) -> Any:
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(primal, tangent) for primal, tangent in pairs]
        return forward_ad.unpack_dual(function(*duals)).tangent


@pytest.mark.parametrize("dtype", [tt.float64, tt.complex128])
def test_products_of_factors_have_the_tangent_of_the_matrix(dtype: tt.dtype) -> None:
    tt.manual_seed(0)
    A, moved = tt.randn((4, 3), dtype=dtype), tt.randn((4, 3), dtype=dtype)

    def from_svd(x: Any) -> Any:
        U, S, Vh = tt.linalg.svd(x, full_matrices=False)
        return (U * S.to(U.dtype)) @ Vh

    def from_qr(x: Any) -> Any:
        Q, R = tt.linalg.qr(x)
        return Q @ R

    for function in (from_svd, from_qr):
        tt.testing.assert_close(tangent_of(function, (A, moved)), moved)
    square, turned = A @ A.mH + 4 * tt.eye(4, dtype=dtype), moved @ moved.mH

    def from_eigh(x: Any) -> Any:
        values, vectors = tt.linalg.eigh(x)
        return (vectors * values.to(vectors.dtype)) @ vectors.mH

    tt.testing.assert_close(tangent_of(from_eigh, (square, turned)), turned)


# --- the interface ---------------------------------------------------------------------------------------------


def test_a_tangent_is_seen_inside_of_its_level_only() -> None:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(tt.tensor([1.0, 2.0]), tt.tensor([1.0, 0.0]))
        y = x.sin()
        assert forward_ad.unpack_dual(y).tangent.tolist() == pytest.approx([0.5403023, 0.0])
    assert forward_ad.unpack_dual(y).tangent is None
    assert (y * 2).tolist() == pytest.approx([1.6829420, 1.8185949])


def test_in_place_operations_and_views_move_the_tangent() -> None:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(tt.tensor([[1.0, 2.0], [3.0, 4.0]]), tt.ones(2, 2))
        y = x * 1
        y[0].mul_(3)
        y[:, 1].zero_()
        value, tangent = forward_ad.unpack_dual(y)
    assert value.tolist() == [[3.0, 0.0], [3.0, 0.0]]
    assert tangent.tolist() == [[3.0, 0.0], [1.0, 0.0]]


def test_a_plain_tensor_is_not_changed_by_one_with_a_tangent() -> None:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(tt.ones(2), tt.ones(2))
        with pytest.raises(tt.errors.InplaceError, match="without a tangent"):
            tt.zeros(2).add_(x)
        with pytest.raises(tt.errors.InplaceError, match="without a tangent"):
            tt.add(x, 1, out=tt.zeros(2))


def test_detach_drops_the_tangent() -> None:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(tt.ones(2), tt.ones(2))
        assert forward_ad.unpack_dual(x.detach()).tangent is None


def test_integers_and_comparisons_have_no_tangent() -> None:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(tt.tensor([3.0, 1.0]), tt.ones(2))
        assert forward_ad.unpack_dual(x > 2).tangent is None
        values, indices = x.sort()
        assert forward_ad.unpack_dual(indices).tangent is None
        assert forward_ad.unpack_dual(values).tangent.tolist() == [1.0, 1.0]
        assert bool(x[0] > 2)


def test_levels_nest() -> None:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(tt.tensor(2.0), tt.tensor(1.0))
        with forward_ad.dual_level():
            y = forward_ad.make_dual(x, tt.tensor(1.0))
            inner_tangent = forward_ad.unpack_dual(y**3).tangent
        assert forward_ad.unpack_dual(inner_tangent).tangent.item() == 12.0


def test_a_tangent_can_be_differentiated_backwards() -> None:
    x = tt.tensor([0.5, 1.0], requires_grad=True, dtype=tt.float64)
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(forward_ad.make_dual(x, tt.ones(2, dtype=tt.float64)).exp()).tangent
    tangent.sum().backward()
    tt.testing.assert_close(x.grad, x.detach().exp())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: forward_ad.make_dual(tt.ones(2), tt.ones(3)), "shape"),
        (lambda: forward_ad.make_dual(tt.ones(2), tt.ones(2, dtype=tt.float64)), "float64"),
        (lambda: forward_ad.make_dual(tt.arange(2), tt.arange(2)), "no derivative"),
        (lambda: forward_ad.make_dual(tt.ones(2), 1.0), "must be a Tensor"),
        (lambda: forward_ad.make_dual(tt.ones(2), tt.ones(2), level=3), "level 3 does not exist"),
    ],
)
def test_what_cannot_be_a_pair_is_refused(make: Any, message: str) -> None:
    with forward_ad.dual_level(), pytest.raises((RuntimeError, TypeError), match=message):
        make()


def test_without_a_level_there_are_no_tangents() -> None:
    with pytest.raises(RuntimeError, match="dual_level"):
        forward_ad.make_dual(tt.ones(1), tt.ones(1))
    with pytest.raises(RuntimeError, match="no level"):
        forward_ad.exit_dual_level()
    assert forward_ad.unpack_dual(tt.ones(1)).tangent is None


# --- backward passes inside of a level -------------------------------------------------------------------------


def pass_through(lib: Any, kind: str) -> Any:
    """Run a backward pass of tensors with tangents; return values and tangents of what it gives."""
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
