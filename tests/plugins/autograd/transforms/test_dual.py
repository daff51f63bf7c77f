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
from tt.plugins.autograd.transforms.inplace import levels_of
from tt.plugins.autograd.transforms.levels import batched, dual, enter_dual, leave_dual, running
from tt.testing.checks.aliasing import overlap, overlaps_itself

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


def is_refused(call: Call) -> bool:
    """Return whether a formula refuses these arguments: `linalg.qr` without Q, for instance."""
    leaves = [t.detach().clone().requires_grad_() for t in call.inputs]
    outputs = [t for t in outputs_of(call, leaves) if t.requires_grad]
    try:
        tt.autograd.grad(outputs, leaves, [tt.ones_like(t) for t in outputs], allow_unused=True)
    except tt.core.errors.GradientError:
        return True
    return False


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


# --- memory ----------------------------------------------------------------------------------------------------


@pytest.mark.sampled(4)
@pytest.mark.parametrize("definition", [d for d in DIFFERENTIABLE if d.grad], ids=lambda d: d.name)
def test_a_tangent_shares_memory_where_its_value_does(definition: OpDefinition) -> None:
    dtypes = [dtype for dtype in (tt.float64, tt.complex128) if serves(definition, dtype)]
    for name, call in [pair for dtype in dtypes for pair in calls(definition, dtype)]:
        if is_refused(call):
            continue
        if any(overlaps_itself(x) for x in call.inputs):
            continue  # such memory is not written to
        values = [t.detach() for t in call.inputs]
        tangents = [tt.empty_like(x).copy_(random_like(x)) for x in values]
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(x, t) for x, t in zip(values, tangents, strict=True)]
            try:
                results = outputs_of(call, duals)
            except tt.core.errors.NoDerivativeError:
                continue
            pairs = [forward_ad.unpack_dual(r) for r in results]
            # A view lays the tangent out as the value is: it may be in other memory from then on.
            known = [forward_ad.unpack_dual(one) for one in duals]
        for value, tangent in pairs:
            if tangent is None:
                continue
            for other, its in known:
                assert overlap(tangent, its) == overlap(value, other), name
                assert not overlap(tangent, other), name
            assert overlaps_itself(value) or not overlaps_itself(tangent), name
            known.append((value, tangent))


# --- levels ----------------------------------------------------------------------------------------------------


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "definition", [d for d in DIFFERENTIABLE if d.grad and serves(d, tt.float64)], ids=lambda d: d.name
)
def test_results_have_no_levels_that_the_arguments_have_not(definition: OpDefinition) -> None:
    pairs = [pair for pair in calls(definition, tt.float64) if not is_refused(pair[1])]
    for name, call in pairs[:1] + pairs[-1:]:
        values = [tt.stack([x, x]).detach() for x in call.inputs]
        with running(2) as outer:
            level = enter_dual()
            with running(3):
                further_in = [dual(batched(x, 0, outer), batched(x * 2, 0, outer), level) for x in values]
                results = outputs_of(call, further_in)
                assert levels_of(results) <= {outer, level}, name
            leave_dual(level)
        level = enter_dual()
        with running(2) as inner, running(3):
            results = outputs_of(call, [batched(dual(x, x * 2, level), 0, inner) for x in values])
            assert levels_of(results) <= {inner, level}, name
        leave_dual(level)


def test_forward_over_reverse_over_forward_mode_can_be_recorded() -> None:
    def f(x: Any) -> Any:
        return x.ceil() * tt.nn.functional.layer_norm(x, (3,))

    def sums(outer: Any, middle: Any, inner: Any) -> Any:
        return outer(lambda x: middle(lambda y: inner(f)(y).sum())(x).sin().sum())

    x = tt.tensor([-0.761, -0.074, -1.48], dtype=tt.float64, requires_grad=True)
    found = sums(tt.func.jacfwd, tt.func.hessian, tt.func.jacfwd)(x)
    expected = sums(tt.func.grad, lambda g: tt.func.jacrev(tt.func.grad(g)), tt.func.jacrev)(x)
    tt.testing.assert_close(found, expected)
    assert found.requires_grad


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


def test_the_tangent_of_pairs_may_begin_at_an_odd_place() -> None:
    x = tt.arange(6.0, dtype=tt.float64).view(3, 2)
    behind = tt.sin(tt.arange(7.0, dtype=tt.float64))[1:].view(3, 2)
    result = tangent_of(lambda p: tt.view_as_complex(p) ** 2, (x, behind))
    pairs = [z[..., 0].numpy() + 1j * z[..., 1].numpy() for z in (x, behind)]
    np.testing.assert_allclose(result.numpy(), 2 * pairs[0] * pairs[1], rtol=1e-15)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weight", [None, [0.0, 1.0, 2.0]])
def test_the_tangent_of_a_loss_is_unknown_where_the_loss_is(reduction, smoothing, weight):
    x = tt.tensor([[-math.inf] * 3, [1.0, 2.0, 3.0], [-math.inf] * 3])
    options = {"weight": weight and tt.tensor(weight), "reduction": reduction, "label_smoothing": smoothing}

    def tangent(target: list[int]) -> Any:
        loss = lambda x: tt.nn.functional.cross_entropy(x, tt.tensor(target), **options)  # noqa: E731
        return tt.func.jvp(loss, (x,), (tt.tensor([[1.0, 2.0, 4.0]]).expand(3, 3),))[1]

    counted, ignored = tangent([0, 1, -100]), tangent([-100, 1, -100])
    assert counted.reshape(-1)[0].isnan()
    assert ignored.isfinite().all()
    if reduction == "none":
        assert counted.isnan().tolist() == [True, False, False] and ignored[::2].tolist() == [0.0, 0.0]
