"""gradcheck: the gradients of a function against finite differences.

Complex numbers are pairs of real ones here: a function of n complex inputs and m complex outputs has a real Jacobian
of 2n x 2m, and a gradient stands for one of its columns, the derivatives with respect to the real parts plus i times
those with respect to the imaginary parts.

Autograd is reached through the members that it gives to tensors (`requires_grad_`, `backward`, `grad`) only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from tt.core.errors import ArgumentError, GradcheckError, ValueRangeError
from tt.core.tensor_base import TensorBase

__all__ = ["gradcheck", "gradgradcheck"]

Array = np.ndarray[Any, Any]


# --- tensors and arrays ----------------------------------------------------------------------------------------


def _to_array(tensor: Any) -> Array:
    """Return the values of a tensor as an array of its own."""
    dense = tensor.detach().cpu()
    if dense.layout.name != "strided":
        dense = dense.to_dense()
    return np.array(dense.numpy())


def _from_array(array: Array, like: Any) -> Any:
    from tt.core.construct import from_array

    return from_array(array, like.device)


def _components(array: Array) -> Array:
    """Return the real numbers that an array holds, as one row."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if np.iscomplexobj(flat):
        return np.stack([flat.real, flat.imag], -1).reshape(-1)
    return flat.astype(np.float64, copy=False)


def _tensors(values: Any) -> list[Any]:
    return [values] if isinstance(values, TensorBase) else list(values)


def _differentiable(tensor: Any) -> bool:
    return isinstance(tensor, TensorBase) and bool(tensor.requires_grad)  # type: ignore[attr-defined]


class _Problem:
    """A function, the point at which it is checked, and how to evaluate both sides."""

    def __init__(self, func: Callable[..., Any], inputs: Sequence[Any], eps: float) -> None:
        self.func, self.inputs, self.eps = func, inputs, eps
        self.places = [i for i, x in enumerate(inputs) if _differentiable(x)]
        self.points = {i: _to_array(inputs[i]) for i in self.places}

    def evaluate(self, points: dict[int, Array]) -> list[Array]:
        """Return the floating-point outputs at a point, without recording."""
        args = [
            _from_array(points[i].copy(), x) if i in points else _plain(x) for i, x in enumerate(self.inputs)
        ]
        return [_to_array(y) for y in _tensors(self.func(*args)) if _floating(y)]

    def record(self) -> tuple[list[Any], dict[int, Any]]:
        """Return the outputs that have a history, and the leaves."""
        leaves = {i: _from_array(a.copy(), self.inputs[i]).requires_grad_() for i, a in self.points.items()}
        args = [leaves.get(i, x) for i, x in enumerate(self.inputs)]
        return [y for y in _tensors(self.func(*args)) if _floating(y)], leaves

    def gradients(
        self, outputs: list[Any], leaves: dict[int, Any], cotangents: Sequence[Array | None]
    ) -> dict[int, Any]:
        """Return the gradients of the leaves; None where there is none."""
        for leaf in leaves.values():
            leaf.grad = None
        chosen = [
            (y, v) for y, v in zip(outputs, cotangents, strict=True) if v is not None and y.requires_grad
        ]
        for y, v in chosen:
            y.backward(_from_array(v.astype(y.dtype.numpy), y), retain_graph=True)
        return {i: leaf.grad for i, leaf in leaves.items()}

    # --- Jacobians: rows are components of an input, columns components of an output ---------------------------

    def numerical(self, place: int) -> list[Array]:
        """Return the Jacobian of each output with respect to one input, by central differences."""
        point = self.points[place]
        rows: list[list[Array]] = []
        steps = (self.eps, 1j * self.eps) if np.iscomplexobj(point) else (self.eps,)
        for index, step in product(np.ndindex(point.shape), steps):
            sides = []
            for sign in (1, -1):
                moved = point.copy()
                moved[index] += sign * step
                sides.append(self.evaluate({**self.points, place: moved}))
            rows.append(
                [(_components(a) - _components(b)) / (2 * self.eps) for a, b in zip(*sides, strict=True)]
            )
        outputs = self.evaluate(self.points)
        return [
            np.stack([row[k] for row in rows]) if rows else np.zeros((0, _components(outputs[k]).size))
            for k in range(len(outputs))
        ]

    def analytical(self, outputs: list[Any], leaves: dict[int, Any]) -> dict[int, list[Array]]:
        """Return the Jacobian of each output with respect to each input, by backward passes."""
        found: dict[int, list[Array]] = {i: [] for i in self.places}
        for k, output in enumerate(outputs):
            columns: dict[int, list[Array]] = {i: [] for i in self.places}
            units = (1, 1j) if output.dtype.is_complex else (1,)
            for index, unit in product(np.ndindex(tuple(output.shape)), units):
                cotangent = np.zeros(tuple(output.shape), output.dtype.numpy)
                cotangent[index] = unit
                gradients = self.gradients(
                    outputs, leaves, [cotangent if j == k else None for j in range(len(outputs))]
                )
                for i, gradient in gradients.items():
                    point = self.points[i]
                    array = np.zeros_like(point) if gradient is None else _to_array(gradient)
                    columns[i].append(_components(array))
            for i in self.places:
                size = _components(self.points[i]).size
                found[i].append(np.stack(columns[i], 1) if columns[i] else np.zeros((size, 0)))
        return found


def _plain(value: Any) -> Any:
    return value.detach() if isinstance(value, TensorBase) else value  # type: ignore[attr-defined]


def _floating(value: Any) -> bool:
    return isinstance(value, TensorBase) and (value.dtype.is_floating_point or value.dtype.is_complex)


# --- the checks ------------------------------------------------------------------------------------------------


def _check_inputs(problem: _Problem, eps: float) -> None:
    if not problem.places:
        raise ValueRangeError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them have "
            "requires_grad=True."
        )
    for place in problem.places:
        if problem.inputs[place].dtype.name not in ("float64", "complex128"):
            import warnings

            warnings.warn(
                f"Input #{place} requires gradient and is not a double precision floating point or complex. This "
                "check will likely fail if all the inputs are not of double precision floating point or complex. "
                f"(eps={eps})",
                UserWarning,
                stacklevel=4,
            )


def _close(a: Array, b: Array, rtol: float, atol: float) -> bool:
    return a.shape == b.shape and bool(np.allclose(a, b, rtol, atol, equal_nan=True))


def _compare(problem: _Problem, outputs: list[Any], leaves: dict[int, Any], rtol: float, atol: float) -> None:
    analytical = problem.analytical(outputs, leaves)
    for place in problem.places:
        for k, numerical in enumerate(problem.numerical(place)):
            found = analytical[place][k]
            if not _close(found, numerical, rtol, atol):
                worst = (
                    float(np.max(np.abs(found - numerical)))
                    if found.shape == numerical.shape
                    else float("nan")
                )
                raise GradcheckError(
                    f"Jacobian mismatch for output {k} with respect to input {place},\n"
                    f"numerical:{numerical}\nanalytical:{found}\n"
                    f"largest difference: {worst:.3g} (rows: components of the input; columns: of the output)"
                )


def _compare_fast(
    problem: _Problem, outputs: list[Any], leaves: dict[int, Any], rtol: float, atol: float
) -> None:
    """Compare u^T J v for one random pair of directions for each input and output."""
    rng = np.random.default_rng(0)

    def direction(array: Array) -> Array:
        found: Any = rng.standard_normal(array.shape)
        if np.iscomplexobj(array):
            found = found + 1j * rng.standard_normal(array.shape)
        result: Array = found / max(float(np.linalg.norm(found)), 1e-30)
        return result

    arrays = [_to_array(y) for y in outputs]
    for place, (k, y) in product(problem.places, enumerate(arrays)):
        v, u = direction(problem.points[place]), direction(y)
        sides = [
            problem.evaluate({**problem.points, place: problem.points[place] + sign * problem.eps * v})[k]
            for sign in (1, -1)
        ]
        numerical = float(_components(u) @ (_components(sides[0]) - _components(sides[1]))) / (
            2 * problem.eps
        )
        gradient = problem.gradients(outputs, leaves, [u if j == k else None for j in range(len(arrays))])[
            place
        ]
        analytical = 0.0 if gradient is None else float(_components(_to_array(gradient)) @ _components(v))
        if not np.isclose(analytical, numerical, rtol, atol, equal_nan=True):
            raise GradcheckError(
                f"Jacobian mismatch for output {k} with respect to input {place}, along random directions,\n"
                f"numerical: {numerical}\nanalytical: {analytical}\n"
                "fast_mode=False shows both Jacobians"
            )


def _compare_forward(problem: _Problem, rtol: float, atol: float) -> None:
    """Compare the Jacobians that forward mode makes, a row for each component of an input."""
    import tt

    forward = tt.autograd.forward_ad
    for place in problem.places:
        point = problem.points[place]
        units = (1, 1j) if np.iscomplexobj(point) else (1,)
        rows: list[list[Array]] = []
        for index, unit in product(np.ndindex(point.shape), units):
            direction = np.zeros_like(point)
            direction[index] = unit
            with forward.dual_level():
                args = [
                    _from_array(problem.points[i].copy(), x) if i in problem.points else _plain(x)
                    for i, x in enumerate(problem.inputs)
                ]
                args[place] = forward.make_dual(args[place], _from_array(direction, problem.inputs[place]))
                pairs = [forward.unpack_dual(y) for y in _tensors(problem.func(*args)) if _floating(y)]
                rows.append(
                    [
                        _components(
                            np.zeros_like(_to_array(p.primal)) if p.tangent is None else _to_array(p.tangent)
                        )
                        for p in pairs
                    ]
                )
        for k, numerical in enumerate(problem.numerical(place)):
            found = np.stack([row[k] for row in rows]) if rows else np.zeros_like(numerical)
            if not _close(found, numerical, rtol, atol):
                raise GradcheckError(
                    f"forward mode: Jacobian mismatch for output {k} with respect to input {place},\n"
                    f"numerical:{numerical}\nforward mode:{found}\n"
                    "(rows: components of the input; columns: of the output)"
                )


def _check_batched(problem: _Problem, outputs: list[Any], leaves: dict[int, Any]) -> None:
    """One pass with several vectors must give what one pass for each of them gives."""
    import tt

    inputs = list(leaves.values())
    rng = np.random.default_rng(0)
    for k, output in enumerate(outputs):
        if not output.requires_grad:
            continue
        vectors = rng.standard_normal((2, *output.shape))
        if output.dtype.is_complex:
            vectors = vectors + 1j * rng.standard_normal(vectors.shape)
        stacked = _from_array(vectors.astype(output.dtype.numpy), output)
        options: dict[str, Any] = {"retain_graph": True, "allow_unused": True}
        together = tt.autograd.grad(output, inputs, stacked, is_grads_batched=True, **options)
        for number in range(2):
            alone = tt.autograd.grad(output, inputs, stacked[number], **options)
            for place, one, many in zip(leaves, alone, together, strict=True):
                if one is None and many is None:
                    continue
                if (
                    one is None
                    or many is None
                    or not _close(_to_array(many[number]), _to_array(one), 1e-8, 1e-10)
                ):
                    raise GradcheckError(
                        f"a backward pass with several vectors at once gives another gradient of output {k} with "
                        f"respect to input {place} than a pass for each:\n{many}\ninstead of\n{one}\nin place {number}"
                    )


def _check_deterministic(
    problem: _Problem, outputs: list[Any], leaves: dict[int, Any], tolerance: float
) -> None:
    ones = [np.ones(tuple(y.shape), y.dtype.numpy) for y in outputs]
    runs = [
        {i: None if g is None else _to_array(g) for i, g in problem.gradients(outputs, leaves, ones).items()}
        for _ in range(2)
    ]
    for place in problem.places:
        first, second = (run[place] for run in runs)
        if first is not None and second is not None and first.size:
            difference = float(np.max(np.abs(first - second)))
            if difference > tolerance:
                raise GradcheckError(
                    f"the backward pass is not deterministic: run twice with the same values, it gives gradients of "
                    f"input {place} that differ by {difference}, more than the {tolerance} allowed"
                )


def _check_undefined(problem: _Problem, outputs: list[Any], leaves: dict[int, Any]) -> None:
    """An output without a gradient must count as one with a gradient of zeros."""
    zeros = [np.zeros(tuple(y.shape), y.dtype.numpy) for y in outputs]
    for k, output in enumerate(outputs):
        ones = np.ones(tuple(output.shape), output.dtype.numpy)
        runs = []
        for rest in (None, zeros):
            cotangents = [ones if j == k else None if rest is None else rest[j] for j in range(len(outputs))]
            gradients = problem.gradients(outputs, leaves, cotangents)
            runs.append({i: _zeros_for_none(g, problem.points[i]) for i, g in gradients.items()})
        for place in problem.places:
            if not _close(runs[0][place], runs[1][place], 1e-8, 1e-10):
                raise GradcheckError(
                    f"Backward handles an undefined gradient differently from zeros: the gradient of output {k} with "
                    f"respect to input {place} is\n{runs[0][place]}\nwhen the other outputs have none, and\n"
                    f"{runs[1][place]}\nwhen theirs are zeros"
                )


def _zeros_for_none(gradient: Any, point: Array) -> Array:
    return np.zeros_like(point) if gradient is None else _to_array(gradient)


def _check_dtypes(problem: _Problem, outputs: list[Any], leaves: dict[int, Any]) -> None:
    ones = [np.ones(tuple(y.shape), y.dtype.numpy) for y in outputs]
    for place, gradient in problem.gradients(outputs, leaves, ones).items():
        if gradient is not None and gradient.dtype is not leaves[place].dtype:
            raise GradcheckError(
                f"the gradient of input {place} has the dtype {gradient.dtype}, the input has {leaves[place].dtype}"
            )


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
        Check that an output without a gradient counts as one with zeros.
    check_grad_dtypes : bool
        Check that gradients have the dtypes of their inputs.
    check_batched_grad : bool
        Check that a pass with several vectors at once gives what a pass for each gives.
    check_forward_ad, check_backward_ad : bool
        Which modes to check: forward, backward, or both.
    fast_mode : bool
        Compare along random directions instead of whole Jacobians; forward mode is always compared as a whole.
    masked : bool, optional
        Whether the elements that a sparse input does not store are constant; means nothing for dense inputs, and sparse
        inputs cannot be checked so yet.

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
        raise ArgumentError("gradcheck", "without check_forward_ad and check_backward_ad nothing is checked")
    arguments = (inputs,) if isinstance(inputs, TensorBase) else tuple(inputs)
    if masked and any(_differentiable(x) and x.layout.name != "strided" for x in arguments):
        raise ArgumentError("gradcheck", "masked=True is not supported for sparse inputs")
    problem = _Problem(func, arguments, eps)
    _check_inputs(problem, eps)
    try:
        if check_forward_ad:
            _compare_forward(problem, rtol, atol)
        if not check_backward_ad:
            return True
        outputs, leaves = problem.record()
        if not any(y.requires_grad for y in outputs):
            _compare(problem, outputs, leaves, rtol, atol)
            return True
        compare = _compare_fast if fast_mode else _compare
        compare(problem, outputs, leaves, rtol, atol)
        _check_deterministic(problem, outputs, leaves, nondet_tol)
        if check_undefined_grad and len(outputs) > 1:
            _check_undefined(problem, outputs, leaves)
        if check_grad_dtypes:
            _check_dtypes(problem, outputs, leaves)
        if check_batched_grad:
            _check_batched(problem, outputs, leaves)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


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
        raise ArgumentError(
            "gradgradcheck", "without check_fwd_over_rev and check_rev_over_rev nothing is checked"
        )
    arguments = (inputs,) if isinstance(inputs, TensorBase) else tuple(inputs)
    problem = _Problem(func, arguments, eps)
    _check_inputs(problem, eps)
    outputs, _ = problem.record()
    known_places = [k for k, y in enumerate(outputs) if y.requires_grad]
    known = [outputs[k] for k in known_places]
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        given = [_random_like(y, rng, gen_non_contig_grad_outputs) for y in known]
    else:
        given = _tensors(grad_outputs)
    places = problem.places
    count = len(arguments)

    def products(*values: Any) -> tuple[Any, ...]:
        """Return the gradients by a transform, which tangents go through."""
        import tt

        args, vectors = list(values[:count]), values[count:]

        def of_leaves(*leaves: Any) -> tuple[Any, ...]:
            for i, leaf in zip(places, leaves, strict=True):
                args[i] = leaf
            found = [y for y in _tensors(func(*args)) if _floating(y)]
            return tuple(found[k] for k in known_places)

        _, multiply = tt.func.vjp(of_leaves, *[args[i] for i in places])
        found: tuple[Any, ...] = multiply(tuple(vectors))
        return found

    def gradients(*values: Any) -> tuple[Any, ...]:
        args, vectors = values[:count], values[count:]
        leaves = [args[i] if args[i].requires_grad else args[i].detach().requires_grad_() for i in places]
        replaced = dict(zip(places, leaves, strict=True))
        results = [
            y for y in _tensors(func(*[replaced.get(i, a) for i, a in enumerate(args)])) if _floating(y)
        ]
        results = [y for y in results if y.requires_grad]
        for leaf in leaves:
            leaf.grad = None
        for y, v in zip(results, vectors, strict=True):
            y.backward(v, create_graph=True, inputs=leaves)
        found = [leaf.grad if leaf.grad is not None else leaf.detach() * 0 for leaf in leaves]
        for leaf in leaves:
            leaf.grad = None
        return tuple(found)

    return gradcheck(
        products if check_fwd_over_rev else gradients,
        (*arguments, *given),
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
    shape = tuple(output.shape)
    values = rng.standard_normal((*shape, 2) if non_contiguous else shape)
    if output.dtype.is_complex:
        values = values + 1j * rng.standard_normal(values.shape)
    made = _from_array(values.astype(output.dtype.numpy), output)
    return (made[..., 0] if non_contiguous else made).detach().requires_grad_()
