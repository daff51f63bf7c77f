"""Forward mode: tangents against the transposed gradients, for every operator; the API against torch's."""

# ruff: noqa: N806 - matrices are named as on paper.

from __future__ import annotations

import math
from typing import Any

import pytest

import tt
import tt.autograd.forward_ad as forward_ad
from tests.plugins.autograd.calls import DIFFERENTIABLE, Call, calls, is_moderate, serves
from tt.core.library import OpDefinition

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


def check_adjoint(call: Call, name: str) -> None:
    """Compare <u, J t> with <J* u, t>, at points where both are numbers."""
    if not all(is_moderate(t) for t in call.inputs):
        return
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


@pytest.mark.parametrize("definition", cases(tt.float64))
def test_tangents_are_the_transpose_of_gradients(definition: OpDefinition) -> None:
    tt.manual_seed(0)
    for name, call in calls(definition, tt.float64):
        check_adjoint(call, name)


@pytest.mark.parametrize("definition", cases(tt.complex128))
def test_tangents_of_complex_numbers_are_the_transpose_of_gradients(definition: OpDefinition) -> None:
    tt.manual_seed(0)
    for name, call in calls(definition, tt.complex128):
        check_adjoint(call, name)


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
        (lambda: forward_ad.make_dual(tt.ones(2), tt.ones(2), level=3), "no level 3"),
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
