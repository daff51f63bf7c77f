"""Operators without a derivative: their results require a gradient, which backward refuses to compute."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import tt
from tests.plugins.autograd.calls import DEFINITIONS, Call, serves, tensors_of
from tests.plugins.autograd.formulas.in_torch import call_torch, to_torch
from tt.core.library import REGISTRY, OpDefinition
from tt.errors import NoDerivativeError
from tt.testing.samples import samples

X, N = tt.tensor([1.5, 2.5]), tt.tensor([2.0, 3.0])
SYMMETRIC = tt.tensor([[2.0, 1.0], [1.0, 3.0]])
FACTOR, PIVOTS = tt.linalg.ldl_factor(SYMMETRIC)
CALLS = {
    "x // 2": (lambda x: x // 2, X),
    "2 // x": (lambda x: 2 // x, X),
    "floor_divide": (lambda x: tt.floor_divide(N, x), X),
    "floor_divide_": (lambda x: (x * 1).floor_divide_(2), X),
    "heaviside": (lambda x: tt.heaviside(x, N), X),
    "heaviside, its values": (lambda x: tt.heaviside(N, x), X),
    "heaviside_": (lambda x: (x * 1).heaviside_(N), X),
    "bincount": (lambda x: tt.bincount(tt.tensor([0, 1]), x), X),
    "histogram": (lambda x: tt.histogram(x, 3)[0], X),
    "histogram of edges": (lambda x: tt.histogram(x, N)[0], X),
    "histogram, its weight": (lambda x: tt.histogram(N, 3, weight=x)[0], X),
    "histogramdd": (lambda x: tt.histogramdd(x, [2, 2])[0], SYMMETRIC),
    "unique": (tt.unique, X),
    "unique, a method": (lambda x: x.unique(return_counts=True)[0], X),
    "unique along a dimension": (lambda x: tt.unique(x, dim=0), SYMMETRIC),
    "unique_consecutive": (tt.unique_consecutive, X),
    "geqrf": (lambda x: tt.geqrf(x)[1], SYMMETRIC),
    "ldl_factor": (lambda x: tt.linalg.ldl_factor(x)[0], SYMMETRIC),
    "ldl_factor_ex": (lambda x: tt.linalg.ldl_factor_ex(x)[0], SYMMETRIC),
    "ldl_solve": (lambda x: tt.linalg.ldl_solve(FACTOR, PIVOTS, x), SYMMETRIC),
    "airy_ai": (tt.special.airy_ai, X),
    "binomial": (lambda x: tt.binomial(N, x / 4), X),
    "igamma": (lambda x: tt.igamma(x, N), X),
    "igammac": (lambda x: tt.igammac(x, N), X),
    "zeta": (lambda x: tt.special.zeta(x, N), X),
}


@pytest.mark.parametrize("name", CALLS)
def test_backward_raises_where_it_reaches_an_operator_without_a_derivative(name):
    function, point = CALLS[name]
    x = point.clone().requires_grad_()
    result = function(x)
    assert result.requires_grad
    with pytest.raises(NoDerivativeError, match="is not implemented"):
        result.sum().backward()


@pytest.mark.parametrize("name", ["x // 2", "heaviside", "ldl_solve", "airy_ai", "igamma", "zeta"])
def test_forward_mode_raises_at_an_operator_without_a_derivative(name):
    function, point = CALLS[name]
    with pytest.raises(NoDerivativeError, match="is not implemented"):
        tt.func.jvp(function, (point,), (tt.ones_like(point),))


def test_other_ways_to_the_tensor_are_differentiated():
    x = X.clone().requires_grad_()
    result = (x // 2).detach() * x + tt.igamma(N, x)
    result.sum().backward()
    assert x.grad.isfinite().all()


def test_integers_of_an_operator_without_a_derivative_require_no_gradient():
    values, inverse, counts = tt.unique(X.clone().requires_grad_(), return_inverse=True, return_counts=True)
    assert [t.requires_grad for t in (values, inverse, counts)] == [True, False, False]
    assert not tt.bincount(tt.tensor([0, 1, 1])).requires_grad


def test_without_recording_no_result_requires_a_gradient():
    x = X.clone().requires_grad_()
    with tt.no_grad():
        assert not (x // 2).requires_grad
        assert not tt.igamma(x, N).requires_grad


# --- every operator, against torch -------------------------------------------------------------------------------

MORE = {
    "linalg_lstsq": "the singular values have a derivative",
    "native_layer_norm": "means and deviations have derivatives",
    "native_batch_norm": "as for native_layer_norm",
    "_ctc_loss": "second derivatives of the loss go through log_alpha",
    "special_airy_ai": "torch takes it for a constant, and gives a gradient of zero",
} | {
    f"special_{name}": "torch takes it for a constant"
    for name in (
        "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0", "modified_bessel_i1",
        "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
        "spherical_bessel_j0",
    )
}  # fmt: skip
"""Operators more of whose results require a gradient than in torch, and why."""

LESS = {
    "bernoulli.p": "a draw does not depend on the tensor that gives its shape",
    "randint_like": "as for bernoulli.p",
    "randint_like.low_dtype": "as for bernoulli.p",
    "linspace.tensors": "torch's public function gives a constant, too",
    "logspace.tensors": "torch's public function gives a constant, too",
    "detach_copy": "it is a copy without a history",
    "vander": "powers of zero are constants, as in torch's public function",
}
"""Operators fewer of whose results require a gradient, and why."""

ENDS_TORCH = {"to.other", "_embedding_bag", "lu_unpack"}
"""Operators whose samples end the process in torch."""

COMPARED = [
    d for d in DEFINITIONS
    if d.samples and d.signature.returns and d.name not in ENDS_TORCH
    and any(a.type.is_tensor for a in d.signature.arguments)
]  # fmt: skip


def recorded(definition: OpDefinition, dtype: tt.dtype) -> Any:
    """Yield the first calls of an operator, all of whose floating point tensors are to require a gradient."""
    operator = REGISTRY.operator(definition.name)
    caller = operator.overload("inplace" if "inplace_only" in definition.tags else "functional")
    binder = caller.binder or operator.binder(caller)
    for sample in list(samples(definition, "cpu", dtype))[:6]:
        if sample.error is None:
            call = Call(definition, binder(sample.args, sample.kwargs))
            call.wanted = set(range(len(call.bound)))
            call.inputs = [t for value in call.bound for t in tensors_of(value)]
            if call.inputs:
                yield sample.name, call


def flat(value: Any, kind: type) -> list[Any]:
    if isinstance(value, kind):
        return [value]
    return [t for item in value for t in flat(item, kind)] if isinstance(value, list | tuple) else []


@pytest.mark.sampled(4)
@pytest.mark.torch
@pytest.mark.parametrize("definition", COMPARED, ids=lambda d: d.name)
def test_the_results_that_require_a_gradient_are_those_of_torch(definition: OpDefinition) -> None:
    torch = pytest.importorskip("torch")
    compared = 0
    for dtype in (tt.float64, tt.complex128):
        for name, call in recorded(definition, dtype) if serves(definition, dtype) else ():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    expected = call_torch(call, [to_torch(t).clone().requires_grad_() for t in call.inputs])
                    result = call(*[t.detach().clone().requires_grad_() for t in call.inputs])
                except (RuntimeError, TypeError, AttributeError, IndexError, ValueError):
                    continue  # another signature, or a gradient that one of the two refuses at the call
            # Of lists among the results, and of results that were not asked for, torch has more.
            for ours, theirs in zip(flat(result, tt.Tensor), flat(expected, torch.Tensor), strict=False):
                compared += 1
                more, less = definition.name in MORE, definition.name in LESS
                assert ours.requires_grad == theirs.requires_grad or (more if ours.requires_grad else less), (
                    name
                )
    if not compared:
        pytest.skip("torch has no such call")
