"""gradgradcheck: second derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tt
from tt.core.errors import AssertedError
from tt.core.tensor.base import TensorBase
from tt.testing.gradcheck.arrays import floating, from_array, random_array, tensors
from tt.testing.gradcheck.first import gradcheck
from tt.testing.gradcheck.problem import GradcheckProblem
from tt.testing.gradcheck.properties import check_inputs

__all__ = ["gradgradcheck"]


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check the gradients of the gradients of a function against finite differences.

    Parameters
    ----------
    func, inputs
        As for `gradcheck`.
    grad_outputs : tensor or tuple, optional
        The gradients of the outputs with which the inner pass starts; by default random ones.
    gen_non_contig_grad_outputs : bool
        Make the random gradients not contiguous.
    eps, atol, rtol, raise_exception, nondet_tol, check_undefined_grad, check_grad_dtypes, fast_mode
        As for `gradcheck`.
    check_batched_grad, masked
        As for `gradcheck`.
    check_fwd_over_rev, check_rev_over_rev : bool
        Whether to differentiate the gradients in forward mode, in reverse mode, or both.

    Examples
    --------
    >>> import tt
    >>> x = tt.tensor([0.5, 2.0], dtype=tt.float64, requires_grad=True)
    >>> tt.autograd.gradgradcheck(lambda x: x ** 3, x)
    True
    """
    if not check_fwd_over_rev and not check_rev_over_rev:
        raise AssertedError(
            "gradgradcheck(): without check_fwd_over_rev and check_rev_over_rev nothing is checked"
        )
    arguments = (inputs,) if isinstance(inputs, TensorBase) else tuple(inputs)
    problem = GradcheckProblem(func, arguments, eps, masked)
    check_inputs(problem, eps)
    outputs, _ = problem.record()
    known_places = [k for k, y in enumerate(outputs) if y.requires_grad]
    known = [outputs[k] for k in known_places]
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        # They are inputs of the checked function, too: the gradient is differentiated with respect to them as well.
        cotangents = [_random_like(y, rng, gen_non_contig_grad_outputs) for y in known]
    else:
        cotangents = tensors(grad_outputs)
    positions = problem.places
    count = len(arguments)

    def products(*values: Any) -> tuple[Any, ...]:
        """Return the gradients by a transform, which tangents go through."""
        args, vectors = list(values[:count]), values[count:]

        def of_leaves(*leaves: Any) -> tuple[Any, ...]:
            for i, leaf in zip(positions, leaves, strict=True):
                args[i] = leaf
            outputs = [y for y in tensors(func(*args)) if floating(y)]
            return tuple(outputs[k] for k in known_places)

        _, multiply = tt.func.vjp(of_leaves, *[args[i] for i in positions])
        result: tuple[Any, ...] = multiply(tuple(vectors))
        return result

    def gradients(*values: Any) -> tuple[Any, ...]:
        args, vectors = values[:count], values[count:]
        leaves = [args[i] if args[i].requires_grad else args[i].detach().requires_grad_() for i in positions]
        replaced = dict(zip(positions, leaves, strict=True))
        results = [y for y in tensors(func(*[replaced.get(i, a) for i, a in enumerate(args)])) if floating(y)]
        results = [y for y in results if y.requires_grad]
        grads = tt.autograd.grad(results, leaves, vectors, create_graph=True, allow_unused=True)
        # Every gradient is an output of the checked function: an unused leaf has zero, in its own layout.
        complete = [g if g is not None else leaf.detach() * 0 for g, leaf in zip(grads, leaves, strict=True)]
        return tuple(
            g.to_dense(masked_grad=masked) if g.layout.name.startswith("sparse") else g for g in complete
        )

    return gradcheck(
        products if check_fwd_over_rev else gradients,
        (*arguments, *cotangents),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _random_like(output: Any, rng: np.random.Generator, non_contiguous: bool) -> Any:
    shape = (*output.shape, 2) if non_contiguous else tuple(output.shape)
    values = random_array(rng, shape, output.dtype.is_complex)
    tensor = from_array(values.astype(output.dtype.numpy), output)
    return (tensor[..., 0] if non_contiguous else tensor).detach().requires_grad_()
