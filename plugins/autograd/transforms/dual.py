"""Forward mode: what an operator does to the tangents of its arguments.

Most operators need no formula:

- one that is linear in its tensors is applied to the tangents (`LINEAR`, and all views);
- one that is linear in each of them is applied once for each (`MULTILINEAR`), and the results are added;
- the Jacobian of a real pointwise operator is diagonal, so that its reverse formula is its forward formula, too;
- for all others the reverse formula is transposed: it is linear in the gradient, and the transpose of that map, which
  is again a reverse derivative, is the forward derivative (Griewank and Walther, *Evaluating Derivatives*, 2008, ch. 3;
  the trick is called "double backward").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tt.core.library import Operator, Tensor, TensorBase, errors, ops
from tt.plugins.autograd.formulas.table import Formula, Unwritten
from tt.plugins.autograd.record.codes import FACT, RESULT
from tt.plugins.autograd.record.graph import STATE
from tt.plugins.autograd.record.modes import recording
from tt.plugins.autograd.record.plans import find_slot, parameters
from tt.plugins.autograd.transforms.captured import refuse_captured_at
from tt.plugins.autograd.transforms.inplace import (
    align_tangent,
    is_recorded_below,
    levels_of,
    with_kept_target,
    with_own_memory,
    write_tangent,
)
from tt.plugins.autograd.transforms.levels import DualLevel, dual, levels, primal_and_tangent
from tt.plugins.autograd.transforms.unwrap import pull, variable

__all__ = ["LINEAR", "MULTILINEAR", "run_dual"]

LINEAR: Final = frozenset(
    [
        "neg",
        "positive",
        "add",
        "sub",
        "rsub",
        "sum",
        "sum.dim",
        "mean",
        "mean.dim",
        "nansum",
        "clone",
        "_to_copy",
        "contiguous",
        "cat",
        "stack",
        "flip",
        "roll",
        "rot90",
        "repeat",
        "index",
        "index_select",
        "gather",
        "take",
        "take_along_dim",
        "masked_select",
        "where",
        "cumsum",
        "diff",
        "trace",
        "tril",
        "triu",
        "diag",
        "diag_embed",
        "diagonal_scatter",
        "select_scatter",
        "slice_scatter",
        "as_strided_scatter",
        "scatter_add",
        "scatter.src",
        "index_add",
        "index_copy",
        "index_put",
        "real",
        "imag",
        "conj_physical",
        "view_as_real",
        "view_as_complex",
        "complex",
        "_fft_c2c",
        "_fft_r2c",
        "_fft_c2r",
        "avg_pool1d",
        "avg_pool2d",
        "avg_pool3d",
        "fold",
        "functional_fold",
        "functional_unfold",
        "affine_grid_generator",
        "pixel_shuffle",
        "pixel_unshuffle",
        "channel_shuffle",
        "copy",
    ]
)
"""Operators that are linear in all tensors that have a gradient, taken together, once numbers among them are zero."""

OF_PLACES: Final = frozenset(["as_strided", "as_strided_scatter"])
"""Operators whose last arguments are places in memory."""

OF_MEMORY: Final = frozenset(["view", "view.dtype", "view_as_complex"]) | OF_PLACES
"""Operators that follow the order of the elements in memory, which must be that of the value for its tangent."""

MULTILINEAR: Final = frozenset(
    [
        "mul",
        "matmul",
        "mm",
        "bmm",
        "mv",
        "dot",
        "vdot",
        "inner",
        "outer",
        "kron",
        "linalg_cross",
        "cross",
        "linalg_vecdot",
    ]
)
"""Operators that are linear in each of two tensors."""


def run_dual(
    level: DualLevel, operator: Operator, form: str, formula: Formula | None, args: tuple[Any, ...]
) -> Any:
    """Run an operator on values with tangents.

    Parameters
    ----------
    level : DualLevel
        The level whose tangents count.
    operator : Operator
        The called operator.
    form : str
        functional or inplace.
    formula : Formula or None
        The reverse formula, if there is one.
    args : tuple
        All arguments; some are wrapped at the level.
    """
    if operator.name in OF_MEMORY and isinstance(args[0], TensorBase):
        align_tangent(level, args[0], operator, args[-3:] if operator.name in OF_PLACES else ())
    primals, tangents = _split(args, level)
    if form == "inplace":
        return _inplace(level, operator, formula, args, primals, tangents)
    result = operator.overload(form).dispatch(primals)
    if operator.name == "detach" or not level.open:
        return result
    single = not isinstance(result, list | tuple)
    results = [result] if single else list(result)
    _refuse_layouts(operator, primals, tangents, results)
    result_tangents = _tangents(level, operator, formula, primals, tangents, results)
    result_tangents = with_own_memory(result_tangents, results, primals, tangents)
    wrapped = [
        value if tangent is None else dual(value, _fitted(tangent, value), level)
        for value, tangent in zip(results, result_tangents, strict=True)
    ]
    if single:
        return wrapped[0]
    return wrapped if isinstance(result, list) else operator.return_type(wrapped)


def _refuse_layouts(
    operator: Operator, primals: Sequence[Any], tangents: Sequence[Any], results: Sequence[Any]
) -> None:
    """Refuse tangents of tensors that are not strided: the stored places of a value say nothing of its tangent's."""
    if not _any(tangents):
        return
    moving = [p for p, t in zip(primals, tangents, strict=True) if _any(t)]
    for value in (*_flat(moving), *results):
        if not isinstance(value, TensorBase) or value.layout.name == "strided":
            continue
        if STATE.floating >> value._spec.code & 1:
            raise errors.UnsupportedError(
                f"{operator.name}(): forward mode has no tangents of tensors of layout {value.layout}\n"
                "  try: dense tensors, or reverse mode (tt.func.vjp, tt.func.jacrev)"
            )


def _flat(values: Sequence[Any]) -> list[Any]:
    return [item for value in values for item in (value if isinstance(value, list | tuple) else (value,))]


def _split(args: Sequence[Any], level: DualLevel) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    primals, tangents = [], []
    for value in args:
        if isinstance(value, list | tuple):
            first, second = _split(value, level)
            primals.append(type(value)(first))
            tangents.append(type(value)(second))
        else:
            primal, tangent = primal_and_tangent(value, level)
            primals.append(primal)
            tangents.append(tangent)
    return tuple(primals), tuple(tangents)


def _fitted(tangent: Tensor, value: Any) -> Any:
    """Return a tangent in the shape and dtype of its value."""
    if tangent.dtype is not value.dtype:
        real = tangent.dtype.is_complex and not value.dtype.is_complex
        tangent = (ops.real(tangent) if real else tangent).to(value.dtype)
    return tangent if tuple(tangent.shape) == tuple(value.shape) else ops.expand(tangent, tuple(value.shape))


def _any(value: Any) -> bool:
    return any(map(_any, value)) if isinstance(value, list | tuple) else value is not None


# --- which way -------------------------------------------------------------------------------------------------


def _tangents(
    level: DualLevel,
    operator: Operator,
    formula: Formula | None,
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    results: Sequence[Any],
) -> list[Any]:
    """Return the tangent of each result, None where it is zero."""
    definition = operator.definition
    _expect_derivatives(operator, formula, tangents)
    positions = [i for i, a in enumerate(definition.signature.arguments) if a.name in definition.grad]
    moving = [i for i in positions if _any(tangents[i])]
    if not moving:
        return [None] * len(results)
    if operator.name in LINEAR or definition.kind == "view":
        return _linear(operator, positions, primals, tangents, results)
    # The product rule: one term for each tensor that moves, with the others as they are.
    if operator.name in MULTILINEAR:
        parts = [operator.overload().dispatch((*primals[:i], tangents[i], *primals[i + 1 :])) for i in moving]
        return [parts[0] if len(parts) == 1 else ops.add(*parts)]
    plain = formula is not None and bool(formula.gradients) and definition.kind == "pointwise"
    # A reverse formula of complex numbers conjugates the derivative, so it is no forward formula.
    if plain and len(results) == 1 and not _any_complex((*primals, results[0])):
        assert formula is not None
        return [_pointwise(operator, formula, moving, primals, tangents, results[0])]
    return _transposed(level, operator, moving, primals, tangents, results)


def _expect_derivatives(operator: Operator, formula: Formula | None, tangents: tuple[Any, ...]) -> None:
    """Raise if a derivative that nobody has written would be needed."""
    definition = operator.definition
    for argument, tangent in zip(definition.signature.arguments, tangents, strict=True):
        if _any(tangent):
            if "no_derivative" in definition.tags:
                raise errors.NoDerivativeError(f"the derivative for {operator.name!r} is not implemented")
            if formula is not None and isinstance(
                unwritten := formula.gradients.get(argument.name), Unwritten
            ):
                unwritten(tangent)


def _any_complex(values: Sequence[Any]) -> bool:
    return any(
        _any_complex(v) if isinstance(v, list | tuple) else isinstance(v, TensorBase) and v.dtype.is_complex
        for v in values
    )


def _linear(
    operator: Operator,
    places: Sequence[int],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    results: Sequence[Any],
) -> list[Any]:
    args = list(primals)
    for position in places:
        args[position] = _or_zeros(tangents[position], primals[position])
    result = operator.overload().dispatch(tuple(args))
    several = list(result) if isinstance(result, list | tuple) else [result]
    return [
        tangent if isinstance(value, TensorBase) and STATE.floating >> value._spec.code & 1 else None
        for tangent, value in zip(several, results, strict=True)
    ]


def _or_zeros(tangent: Any, primal: Any) -> Any:
    if isinstance(primal, list | tuple):
        return type(primal)(_or_zeros(t, p) for t, p in zip(tangent, primal, strict=True))
    if isinstance(primal, TensorBase):
        return ops.zeros_like(primal) if tangent is None else tangent
    # The derivative of a number is zero; a flag is no number and stays.
    return primal if primal is None or isinstance(primal, bool) else type(primal)(0)


def _pointwise(
    operator: Operator,
    formula: Formula,
    moving: Sequence[int],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    result: Tensor,
) -> Any:
    """Apply the reverse formula, whose Jacobian is diagonal, to the tangents."""
    definition = operator.definition
    total: Any = None
    for argument in moving:
        function = formula.gradients.get(definition.signature.arguments[argument].name)
        if function is None:
            continue
        taken = []
        for name in parameters(function)[1:]:
            slot = find_slot(definition, name)
            assert slot is not None  # `make_rule` has refused the formula otherwise
            kind, position, fact = slot
            taken.append(
                result if kind == RESULT else fact(primals[position]) if kind == FACT else primals[position]
            )
        tangent = function(_fitted(tangents[argument], result), *taken)
        if tangent is not None:
            total = tangent if total is None else ops.add(total, tangent)
    return total


def _transposed(
    level: DualLevel,
    operator: Operator,
    moving: Sequence[int],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    results: Sequence[Any],
) -> list[Any]:
    """Return tangents by two reverse derivatives, of which the second transposes the first."""
    # Only the levels of the arguments: results with wrappers of others would be taken for those of a call further in.
    seen = levels_of(primals) | levels_of(tangents)
    outer = [other for other in levels()[: level.depth] if other in seen]
    inputs: list[tuple[Any, Any]] = []  # (variable, tangent)
    args = list(primals)
    for position in moving:
        if isinstance(primals[position], list | tuple):
            items = list(primals[position])
            for i, tangent in enumerate(tangents[position]):
                if tangent is not None:
                    inputs.append((variable(items[i], outer), tangent))
                    items[i] = inputs[-1][0].tensor
            args[position] = type(primals[position])(items)
        else:
            inputs.append((variable(primals[position], outer), tangents[position]))
            args[position] = inputs[-1][0].tensor
    variables = [v for v, _ in inputs]
    # The two steps are recorded only if an outer derivative sees something of them: what moves, what does not, or how.
    create = STATE.enabled() and (is_recorded_below(primals) or is_recorded_below(tangents))
    # Both steps need a graph, whatever the mode of the caller.
    with recording(True):
        again = operator.overload().dispatch(tuple(args))
    outputs = [again] if isinstance(again, TensorBase) else list(again)
    result_tangents: list[Any] = []
    for output in outputs:
        if not isinstance(output, TensorBase) or not STATE.floating >> output._spec.code & 1:
            result_tangents.append(None)
            continue
        # Zeros, as any value would do: the first derivative is linear in it.
        cotangent = variable(ops.zeros_like(ops.detach(output)), outer)
        total: Any = None
        for reverse, (_, tangent) in zip(
            pull(output, variables, cotangent.tensor, True), inputs, strict=True
        ):
            (part,) = pull(reverse, [cotangent], tangent, create)
            total = part if total is None else ops.add(total, part)
        result_tangents.append(total)
    return result_tangents


# --- in place --------------------------------------------------------------------------------------------------


def _inplace(
    level: DualLevel,
    operator: Operator,
    formula: Formula | None,
    args: tuple[Any, ...],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
) -> Any:
    """Write the new values and their tangents; see Note [Tangents of memory] in `inplace`."""
    target = args[0]
    moving = level.open and STATE.floating >> target._spec.code & 1 and _any(tangents)
    if not moving:
        # Values are written after the tangent was computed: that needs the old ones.
        operator.overload("inplace").dispatch(primals)
        return target
    before, changes = primals, tangents
    if STATE.enabled() and (is_recorded_below(primals) or is_recorded_below(tangents)):
        # What is recorded for the tangents saves the old values, which the write changes.
        before, changes = with_kept_target(primals), with_kept_target(tangents)
    result = operator.overload().dispatch(before)
    (tangent,) = _tangents(level, operator, formula, before, changes, [result])
    # The write gives the target its first tangent, which code outside of the transform must not see.
    if tangent is not None and tangents[0] is None:
        refuse_captured_at(level, target if target._root is None else target._root)
    operator.overload("inplace").dispatch(primals)
    if tangent is not None:
        write_tangent(level, target, _fitted(tangent, primals[0]), operator)
    # The new values do not move, so the old tangent must go.
    elif tangents[0] is not None:
        write_tangent(level, target, ops.zeros_like(primals[0]), operator)
    return target
