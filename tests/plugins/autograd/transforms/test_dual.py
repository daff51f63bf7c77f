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

pytestmark = [
    # torch compiles something of its own the first time that it makes a dual number, and warns itself of that.
    pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning"),
    # Operators that are deprecated have tangents, too.
    pytest.mark.filterwarnings("ignore:upsample:UserWarning"),
    pytest.mark.filterwarnings("ignore:lu:UserWarning"),
]

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
    if (
        not moderate
        and definition.kind == "composite"
        and (dtype.is_complex or definition.dtypes == "complex")
    ):
        pytest.skip("a part of the composite takes no such numbers")
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
