"""gradcheck: first derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tt.core.errors import AssertedError, GradcheckError, ValueRangeError
from tt.core.tensor.base import TensorBase
from tt.testing.gradcheck.comparisons import compare, compare_fast, compare_forward
from tt.testing.gradcheck.problem import GradcheckProblem
from tt.testing.gradcheck.properties import (
    check_batched,
    check_batched_forward,
    check_deterministic,
    check_dtypes,
    check_inputs,
    check_layouts,
    check_linear,
    check_undefined,
    check_undefined_forward,
)

__all__ = ["gradcheck"]


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Check the gradients of a function against finite differences.

    Parameters
    ----------
    func : callable
        Takes tensors (and anything else) and returns a tensor or a tuple of them.
    inputs : tensor or tuple
        The arguments; those that require gradients are checked, and should be float64 or complex128.
    eps : float
        The step of the differences.
    atol, rtol : float
        How far the two Jacobians may differ.
    raise_exception : bool
        Raise on a mismatch instead of returning False.
    nondet_tol : float
        How far two backward passes may differ.
    check_undefined_grad : bool
        Check that an output without a gradient, or an input without a tangent, counts as one with zeros.
    check_grad_dtypes : bool
        Check that gradients have the dtypes of their inputs.
    check_batched_grad : bool
        Check that a backward pass with several vectors at once agrees with a pass for each.
    check_batched_forward_grad : bool
        The same of forward passes and tangents; needs check_forward_ad.
    check_forward_ad, check_backward_ad : bool
        Which modes to check: forward, backward, or both.
    fast_mode : bool
        Compare along random directions instead of whole Jacobians; forward mode is always compared as a whole.
    masked : bool, optional
        Whether the elements that an input does not store (of a sparse layout) are constants; by default they are
        variables that happen to be zero.

    Returns
    -------
    bool
        Whether all gradients are right.

    Raises
    ------
    GradcheckError
        With both Jacobians.

    Examples
    --------
    >>> import tt
    >>> x = tt.tensor([0.5, 2.0], dtype=tt.float64, requires_grad=True)
    >>> tt.autograd.gradcheck(lambda x: (x * x).sum(), x)
    True
    """
    if not check_backward_ad and not check_forward_ad:
        raise AssertedError("gradcheck(): without check_forward_ad and check_backward_ad nothing is checked")
    if check_batched_grad and not check_backward_ad:
        raise ValueRangeError("gradcheck(): check_batched_grad=True needs check_backward_ad=True")
    if check_batched_forward_grad and not check_forward_ad:
        raise ValueRangeError("gradcheck(): check_batched_forward_grad=True needs check_forward_ad=True")
    arguments = (inputs,) if isinstance(inputs, TensorBase) else tuple(inputs)
    problem = GradcheckProblem(func, arguments, eps, bool(masked))
    check_inputs(problem, eps)
    try:
        if check_forward_ad:
            compare_forward(problem, rtol, atol)
            if check_undefined_grad:
                check_undefined_forward(problem)
            if check_batched_forward_grad:
                check_batched_forward(problem)
        if not check_backward_ad:
            return True
        outputs, leaves = problem.record()
        # Without a history all gradients are zero, which is right for a constant.
        if not any(y.requires_grad for y in outputs):
            compare(problem, outputs, leaves, rtol, atol)
            return True
        (compare_fast if fast_mode else compare)(problem, outputs, leaves, rtol, atol)
        check_linear(problem, outputs, leaves)
        check_layouts(problem, outputs, leaves)
        check_deterministic(problem, outputs, leaves, nondet_tol)
        if check_undefined_grad:
            check_undefined(problem, outputs, leaves)
        if check_grad_dtypes:
            check_dtypes(problem, outputs, leaves)
        if check_batched_grad:
            check_batched(problem, outputs, leaves)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True
