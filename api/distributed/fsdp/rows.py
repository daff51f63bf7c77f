"""Operators on tensors of which each rank keeps some rows: element by element, over all ranks, or refused.

Note [Who looks at a whole]
---------------------------
A part is an ordinary tensor to optimizers and to whatever works element by element: the result is this rank's rows of
the result, and says so by its class.  What looks at more than single elements would silently see the rows of one rank.
So reductions that can be combined are: each rank reduces its rows, the results are gathered, and reduced again.  All
ranks must then call them, as they call forward.  Everything else is refused by name.  The backward of gathering takes
this rank's entry and adds nothing up, for all ranks compute the same from it: the gradient of ``p.square().sum()`` is
``2 * p``, whatever the number of ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from math import inf
from typing import TYPE_CHECKING, Any, Final

import tt
from tt import Tensor
from tt.autograd import Function
from tt.autograd.function import once_differentiable
from tt.distributed import collectives, gathering, ranks
from tt.distributed.fsdp.draws import DRAWN, draw
from tt.distributed.process_group import ProcessGroup
from tt.errors import UnsupportedError

if TYPE_CHECKING:
    from tt.autograd.function import FunctionCtx

__all__ = ["Rows", "call", "rows_of"]

_SAME_PLACES: Final = frozenset((
    "_to_copy", "alias", "angle", "bfloat16", "bool", "byte", "cdouble", "cfloat", "chalf", "char", "clone",
    "contiguous", "copy", "detach", "double", "fill", "float", "float_power", "half", "int", "long", "masked_fill",
    "positive", "resolve_conj", "resolve_neg", "short", "to", "type_as", "where", "zero",
))  # fmt: skip
"""Operators that are not pointwise in the schema, and whose elements are each of the one in the same position."""

_FOREACH_WHOLES: Final = frozenset(("_foreach_max", "_foreach_mm", "_foreach_powsum"))
"""Operators on lists whose results depend on more than one element: a rank would give those of its own rows."""

_MOVED: Final = frozenset((
    "H", "T", "adjoint", "broadcast_to", "cat", "chunk", "expand_as", "flatten", "item", "mH", "mT", "movedim",
    "narrow", "ravel", "reshape", "reshape_as", "split_with_sizes", "stack", "unflatten", "view_as",
))  # fmt: skip
"""Operators that are no views in the schema, and only move elements."""

_COPIES: Final = frozenset(("array_to_device", "cpu", "cuda", "pin_memory", "type", "type_as"))
"""Members that are no operators, and only copy elements to another device or dtype."""

_COMBINED: Final[dict[str, Callable[[Tensor], Tensor]]] = {
    "sum": lambda results: results.sum(0),
    "nansum": lambda results: results.sum(0),
    "count_nonzero": lambda results: results.sum(0),
    "dot": lambda results: results.sum(0),
    "vdot": lambda results: results.sum(0),
    "prod": lambda results: results.prod(0),
    "all": lambda results: results.all(0),
    "any": lambda results: results.any(0),
    "equal": lambda results: results.all(0),
    "allclose": lambda results: results.all(0),
    "amax": lambda results: results.amax(0),
    "amin": lambda results: results.amin(0),
    "max": lambda results: results.amax(0),
    "min": lambda results: results.amin(0),
    "logsumexp": lambda results: results.logsumexp(0),
}
"""Reductions -> how the results of all ranks become one."""

_NORMS: Final = {"norm": "p", "linalg_norm": "ord", "linalg_vector_norm": "ord"}
"""Norms -> the name of their order, which stands before their dimensions."""


_DIM: Final = {
    **dict.fromkeys(_NORMS, 2),
    "kthvalue": 2,
    "normalize": 2,
    "quantile": 2,
    "nanquantile": 2,
    "topk": 2,
}
"""Operators -> how many arguments stand before their dimensions, where it is not one."""

_BY_ROW: Final = {
    "argsort": -1, "kthvalue": -1, "log_softmax": None, "mode": -1, "nanquantile": None, "normalize": 1,
    "quantile": None, "softmax": None, "softmin": None, "sort": -1, "topk": -1,
}  # fmt: skip
"""Operators that compute within lines along a dimension -> the one without an argument; None for all elements."""

_SPREADS: Final = frozenset(("std", "std_mean", "var", "var_mean"))

_PIECES: Final = {
    "chunk": 2, "narrow": 1, "select": 1, "slice": 1, "split": 2, "split_with_sizes": 2, "tensor_split": 2, "unbind": 1,
    "unfold": 1,
}  # fmt: skip
"""Views of pieces along a dimension, the first one by default -> how many arguments stand before it."""


class Rows(Tensor):
    """What a rank has computed, element by element, of the rows that it keeps.

    Attributes
    ----------
    group : ProcessGroup
        The ranks that have the others.
    """

    group: Any

    @classmethod
    def __tt_function__(
        cls,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Call an operator on this rank's rows, or over all ranks, or refuse it; see the module."""
        return call(func, args, kwargs or {})

    def to_local(self) -> Tensor:
        """Return this rank's rows as an ordinary tensor that shares their memory."""
        with tt.DisableTTFunctionSubclass():
            rows: Tensor = self.detach().as_subclass(Tensor)
        return rows

    def like(self, result: Tensor, same_places: bool = False) -> Tensor:
        """Return a result of an operator on these rows, which is of some rows, too."""
        return rows_of(result, self.group)


def rows_of(result: Tensor, group: ProcessGroup) -> Rows:
    """Return a tensor as what this rank has computed of its rows."""
    new: Rows = result.as_subclass(Rows)
    new.group = group
    return new


def call(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an operator with parts among its arguments.

    Raises
    ------
    UnsupportedError
        The operator reads more than single elements, and results of all ranks do not add up to its result.
    """
    name = getattr(func, "name", None)
    if not isinstance(name, str):
        body = getattr(func, "__wrapped__", None)
        if body is not None and getattr(Tensor, func.__name__, None) is not func:
            return body(*args, **kwargs)  # a function of tt's whose operators are asked in turn
        return _member(func, args, kwargs)
    parts = list(_parts((args, kwargs)))
    base = name if name.startswith("_") else name.removesuffix("_")
    kind = _kind(base)
    # `clip_grad_norm_` calls it with all gradients; each norm must cover the rows of all ranks.
    if base == "_foreach_norm":
        return _foreach_norm(*args, **kwargs)
    if base in _FOREACH_WHOLES:
        raise _refusal(name)
    if base in DRAWN:
        return _drawn(name, func, args, kwargs, parts)
    if (
        kind == "factory"
        or base.startswith(("_foreach_", "_fused_"))
        or name.endswith("_")
        or "out" in kwargs
    ):
        # What is written element by element stays in its rows; anything else would write what one rank
        # alone has computed.
        if kind in ("factory", "pointwise") or base.startswith("_") or base in _SAME_PLACES:
            return _plainly(func, args, kwargs)
        raise _refusal(name)
    if any(part.group is not parts[0].group for part in parts):
        raise _refusal(name, "its tensors are divided among different ranks")
    if kind == "pointwise" or base in _SAME_PLACES or (base in ("max", "min") and _is_pair(args)):
        # A number in an elementwise operator is used by the rows of all ranks, so its gradient is a sum
        # over them.
        args = tuple(_number_of_all(arg, parts[0].group) for arg in args)
        return _as_parts(parts[0], _plainly(func, args, kwargs), same_places=True)
    if kind == "view" or base in _MOVED:
        _expect_all_rows(name, base, args, kwargs)
        return _as_parts(parts[0], _plainly(func, args, kwargs))
    if kind == "reduction" or base in _COMBINED or base in _NORMS or base in _BY_ROW:
        return _reduced(name, func, args, kwargs)
    raise _refusal(name)


def _refusal(
    name: str, reason: str = "the results of all ranks do not make up that of the whole"
) -> Exception:
    return UnsupportedError(
        f"{name}(): a tensor that is divided among ranks has only some of its rows here, and {reason}\n"
        "  try: full_tensor(), which gathers the whole, or to_local() for the rows of this rank"
    )


# --- element by element ------------------------------------------------------------------------------------------


def _plainly(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    with tt.DisableTTFunctionSubclass():
        return func(*args, **kwargs)


def _parts(values: object) -> Iterator[Any]:
    """Return the parts among arguments, those in lists and dicts too."""
    if isinstance(values, Tensor):
        if hasattr(type(values), "to_local"):
            yield values
    elif isinstance(values, list | tuple):
        for value in values:
            yield from _parts(value)
    elif isinstance(values, dict):
        yield from _parts(list(values.values()))


class _UsedByAll(Function):
    """Passes on a number that all ranks have; its gradient is the sum over the ranks, each of which uses it."""

    @staticmethod
    def forward(ctx: FunctionCtx, number: Tensor, group: ProcessGroup) -> Tensor:
        ctx.group = group
        return number.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Any, ...]:
        total = gradient.clone()
        collectives.all_reduce(total, group=ctx.group)
        return total, None


def _number_of_all(value: Any, group: ProcessGroup) -> Any:
    """Return an operand of an elementwise operator; the gradient of one that is a number counts all ranks."""
    if not isinstance(value, Tensor) or value.ndim or hasattr(type(value), "to_local"):
        return value
    return _used_by_all(value, group)


def _used_by_all(value: Tensor, group: ProcessGroup) -> Any:
    """Return a tensor that all ranks have, so that its gradient counts all ranks."""
    return _UsedByAll.apply(value, group) if value.requires_grad and tt.is_grad_enabled() else value


@cache
def _kind(name: str) -> str:
    """Return what kind of operator a name stands for, as the schema says it."""
    operator = getattr(tt.ops, name, None)
    # `tt.ops` gives a packet of overloads; the definition belongs to one of them.
    operator = getattr(operator, "default", operator)
    return getattr(getattr(operator, "definition", None), "kind", "other")


def _is_pair(args: tuple[Any, ...]) -> bool:
    return len(args) > 1 and isinstance(args[1], Tensor)


def _as_parts(part: Any, result: Any, same_places: bool = False) -> Any:
    """Return a result as rows of this rank, where it is a tensor or several."""
    if isinstance(result, Tensor):
        return result if hasattr(type(result), "to_local") else part.like(result, same_places)
    if isinstance(result, list | tuple):
        items = [_as_parts(part, item, same_places) for item in result]
        return getattr(type(result), "_make", type(result))(items)
    return result


def _expect_all_rows(name: str, base: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse to take some rows of a part, which are others than those of the whole with these numbers."""
    if not args or not hasattr(args[0], "placement"):
        return
    # Their elements depend on the row's number in the whole, or on the memory of all rows.
    if base in ("diagonal", "as_strided"):
        raise _refusal(name)
    if base in _PIECES:
        before = _PIECES[base]
        dim = kwargs.get("dim", args[before] if len(args) > before else 0)
        # Only dimension 0 is divided among the ranks.
        if dim in (0, -args[0].ndim):
            raise _refusal(name, "it takes some of them")


def _indexed(part: Any, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Read or write elements by an index: those in the whole's rows of these numbers, or all rows, or by a mask."""
    name, index = func.__name__.strip("_"), args[1]
    first, rest = (index[0], index[1:]) if isinstance(index, tuple) and index else (index, ())
    # An ellipsis stands for dimension 0 if the other indices do not use up all dimensions.
    all_rows = first is Ellipsis and len([i for i in rest if i is not None]) < part.ndim
    mask = isinstance(first, Tensor) and first.dtype is tt.bool and first.shape[:1] == part.shape[:1]
    if (isinstance(first, slice) and first == slice(None)) or all_rows:
        result = _plainly(func, args, kwargs)
        if any(isinstance(i, Tensor | list) for i in rest):  # whose dimensions may come first
            return _as_parts(part, result)
        return None if result is None else part.by_row(result)
    if mask and not rest:
        return _as_parts(part, _plainly(func, args, kwargs))
    # Each rank can write the rows that it has; reading them would give each rank another result.
    if "set" not in name or not isinstance(first, int | slice) or isinstance(first, bool):
        raise _refusal(name, "it takes some of them")
    # A range resolves negative numbers and open slices as Python does.
    rows = range(part.placement.rows)
    begin, end = part.placement.of_rank(part.placement.rank)
    try:
        selected: int | range = rows[first]
    except IndexError:
        raise IndexError(f"index {first} is out of bounds for dimension 0 with size {len(rows)}") from None
    if isinstance(selected, int):
        own: Any = selected - begin if begin <= selected < end else slice(0, 0)
    # A tensor of values has rows of its own, and nothing says which rank has which of them.
    elif selected.step != 1 or (isinstance(args[2], Tensor) and args[2].ndim):
        raise _refusal(name, "its values are not divided among ranks")
    else:
        own = slice(max(selected.start, begin) - begin, max(min(selected.stop, end) - begin, 0))
    value = args[2]
    if own == slice(0, 0) and isinstance(value, Tensor) and value.ndim:
        value = 0  # the row is another rank's
    return _plainly(func, (part, (own, *rest), value), kwargs)


def _by_row(part: Any, result: Any) -> Any:
    """Return a result, or several, of which each row is computed from the same row of a part."""
    if isinstance(result, list | tuple):
        return getattr(type(result), "_make", type(result))([part.by_row(item) for item in result])
    return part.by_row(result)


def _member(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Use a member that is no operator: of the rows that are here; items and `data` are rows, too."""
    name = getattr(func, "__name__", "").strip("_")
    if not args or not hasattr(type(args[0]), "to_local"):
        return _plainly(func, args, kwargs)
    if name in ("getitem", "setitem") and hasattr(args[0], "placement"):
        return _indexed(args[0], func, args, kwargs)
    if name == "where":
        return call(tt.where, (args[1], args[0], *args[2:]), kwargs)
    if name == "contains" or name.startswith("to_sparse"):
        raise _refusal(name)
    result = _plainly(func, args, kwargs)
    if name in ("getitem", *_COPIES):
        return _as_parts(args[0], result, same_places=name in _COPIES)
    member = getattr(func, "__self__", None)
    if member is Tensor.data:
        return _as_parts(args[0], result, same_places=True)
    if (
        member is Tensor.grad
        and type(result) is Tensor
        and not result.requires_grad
        and result.layout is tt.strided
    ):
        # The engine's gradients are plain; from now on this one is a part, too, so that its norm counts all ranks.
        part = args[0].like(result.detach(), same_places=True)
        with tt.DisableTTFunctionSubclass():
            args[0].grad = part
        return part
    return result


def _drawn(
    name: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], parts: Sequence[Any]
) -> Any:
    """Fill with random numbers, or return some: the rows of what one process would draw."""
    placed = [part for part in parts if hasattr(part, "placement")]
    if len(placed) < len(parts) or any(part.placement != placed[0].placement for part in placed):
        raise _refusal(name, "which rows of the whole they are is not known any more")
    if "out" in kwargs:
        raise _refusal(name)
    result = draw(placed[0], func, args, kwargs)
    if name.endswith(("_", "_like")):
        return result
    return _as_parts(placed[0], result, same_places=True)


# --- over all ranks ----------------------------------------------------------------------------------------------


class _Together(Function):
    """Puts the results of all ranks one after the other; each takes its own gradient."""

    @staticmethod
    def forward(ctx: FunctionCtx, result: Tensor, group: ProcessGroup) -> Tensor:
        ctx.rank = ranks.get_rank(group)
        results = result.new_empty((ranks.get_world_size(group), *result.shape))
        gathering.all_gather_single(results.view(-1), result.contiguous().view(-1), group=group)
        return results

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Any, ...]:
        return gradient[ctx.rank], None


def _together(result: Tensor, group: ProcessGroup) -> Tensor:
    results: Tensor = _Together.apply(result, group)
    return results


def _reduced(name: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Reduce over rows by the results of all ranks, or within each row."""
    part = next(_parts((args, kwargs)))
    dims = _dimensions(name, args, kwargs)
    if dims is not None:
        if isinstance(part, Rows):
            raise _refusal(name, "which of these dimensions is divided is not known any more")
        listed = [dims] if isinstance(dims, int) else list(dims)
        if not any(dim in (0, -part.ndim) for dim in listed):
            return _by_row(part, _within_rows(name, func, args, kwargs, part))
    if name in ("argmax", "argmin") or (name in ("max", "min") and dims is not None):
        return _extremes(name, args, kwargs, part, dims)
    if name in _SPREADS:
        return _spread(name, args, kwargs, part, dims)
    if name == "aminmax":
        return tt.return_types.aminmax((call(tt.amin, args, kwargs), call(tt.amax, args, kwargs)))
    if name == "nanmean":
        # Counted in int64: a dtype that was asked for is that of the result.
        count = call(tt.sum, (part.isnan().logical_not(), *args[1:]), {**kwargs, "dtype": None})
        return call(tt.nansum, args, kwargs) / count
    if name in _NORMS:
        return _norm(name, func, args, kwargs, part, dims)
    if name == "mean":
        total = _plainly(tt.sum, args, kwargs)
        # Ranks may have different numbers of rows, so the mean of their means would be wrong.
        count = tt.tensor(part.numel() // max(total.numel(), 1), device=part.device)
        return _together(total, part.group).sum(0) / _together(count, part.group).sum()
    if name not in _COMBINED:
        raise _refusal(name)
    # A rank without rows takes part with the neutral element, because all ranks must gather.
    if name in ("amax", "amin", "max", "min") and not part.numel():
        local = _plainly(func, (_nothing(part, name in ("amin", "min")), *args[1:]), kwargs)
    else:
        local = _plainly(func, args, kwargs)
    if isinstance(local, bool):
        return bool(_COMBINED[name](_together(tt.tensor(local, device=part.device), part.group)))
    return _COMBINED[name](_together(local, part.group))


def _within_rows(
    name: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], part: Any
) -> Any:
    """Compute within each row; the quantiles of no rows are no error here, for other ranks have some."""
    if name not in ("quantile", "nanquantile"):
        return _plainly(func, args, kwargs)
    q = kwargs.get("q", args[1] if len(args) > 1 else None)
    if isinstance(q, Tensor) and q.ndim:
        raise _refusal(name, "with several q the rows are not the first dimension of the result")
    if part.numel():
        return _plainly(func, args, kwargs)
    row = tt.zeros((1, *part.shape[1:]), dtype=part.dtype, device=part.device) + _no_rows(part)
    return _plainly(func, (row, *args[1:]), kwargs)[:0]


def _dimensions(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the dimension or dimensions over which a call goes; None for all."""
    # The second argument of these is a tensor, not a dimension.
    if name in ("dot", "vdot", "equal", "allclose"):
        return None
    before = _DIM.get(name, 1)
    dims = kwargs.get("dim", kwargs.get("axis"))
    if dims is None and len(args) > before:
        dims = args[before]
    if dims is None:
        dims = _BY_ROW.get(name)
    if isinstance(dims, bool) or dims in ((), []):  # `unbiased` of deviations; no dimensions are all
        return None
    return dims


def _spread(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], part: Any, dims: Sequence[int] | None
) -> Any:
    """Return a variance or a deviation: the squares of distances from the mean of all ranks, added up over ranks."""
    flags = [arg for arg in args[1:] if isinstance(arg, bool)]  # unbiased and, after dimensions, keepdim
    unbiased = kwargs.get("unbiased", flags[0] if flags else True)
    correction = kwargs.get("correction", 1 if unbiased else 0)
    correction = 1 if correction is None else correction
    keepdim = kwargs.get("keepdim", kwargs.get("keepdims", len(flags) > 1 and flags[1]))
    over = tuple(range(part.ndim)) if dims is None else dims
    with tt.DisableTTFunctionSubclass():
        # Squares of halves overflow beyond 65,504, or lose their digits.
        x = part.float() if part.dtype.itemsize < 4 and part.is_floating_point() else part
        total = x.sum(over, keepdim=True)
        here = tt.tensor(part.numel() // max(total.numel(), 1), device=part.device)
        count = _together(here, part.group).sum()
        # The mean first, then the distances from it: the difference of the mean square and the squared
        # mean cancels.
        mean = _together(total, part.group).sum(0) / count
        distances = (x - _used_by_all(mean, part.group)).abs()
        squares = _together((distances * distances).sum(over, keepdim=True), part.group).sum(0)
        result = squares / (count - correction).clamp(min=0)
        if name.startswith("std"):  # the derivative of the root at 0 is taken as 0
            flat = result == 0
            # The inner `where` keeps 0 from the root, whose infinite derivative times 0 would be nan.
            result = tt.where(flat, 0, tt.where(flat, 1, result).sqrt())
        # The variance of complex numbers is real, their mean is not.
        results = [
            value.to(part.dtype if value is mean else part.dtype.to_real()) for value in (result, mean)
        ]
        if not keepdim:
            results = [value.squeeze(over) for value in results]
    return tuple(results) if name.endswith("mean") else results[0]


def _extremes(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], part: Any, dims: Sequence[int] | None
) -> Any:
    """Return the largest or smallest elements of columns or of all rows, and the first places where they are."""
    if not hasattr(part, "placement"):
        raise _refusal(name, "which rows of the whole they are is not known any more")
    keepdim = bool(kwargs.get("keepdim", args[2] if len(args) > 2 else False))
    before = part.placement.of_rank(part.placement.rank)[0]
    smallest = name.endswith("min")
    with tt.DisableTTFunctionSubclass():
        rows = part if part.numel() else _nothing(part, smallest)
        if dims is None:
            # Positions in the flattened whole.
            rows, before = rows.reshape(-1), before * part.placement.row_size
        values, positions = (tt.min if smallest else tt.max)(rows, 0, keepdim)
        values, positions = _together(values, part.group), _together(positions + before, part.group)
        compared = values.detach()
        if compared.dtype is tt.bool:
            compared = compared.to(tt.uint8)
        # The first rank of those that have it; ranks without rows are the last ones.
        rank = (compared.argmin(0) if smallest else compared.argmax(0)).unsqueeze(0)
        value, position = values.gather(0, rank).squeeze(0), positions.gather(0, rank).squeeze(0)
        if name.startswith("arg"):
            return position.reshape((1,) * part.ndim) if dims is None and keepdim else position
        return getattr(tt.return_types, name)((value, position))


def _nothing(part: Tensor, largest: bool) -> Tensor:
    """Return a row that the largest (or smallest) value of other ones replaces."""
    dtype = part.dtype
    if dtype.is_floating_point:
        value: Any = inf if largest else -inf
    elif dtype is tt.bool:
        value = largest
    else:
        value = tt.iinfo(dtype).max if largest else tt.iinfo(dtype).min
    row: Tensor = tt.full((1, *part.shape[1:]), value, dtype=dtype, device=part.device) + _no_rows(part)
    return row


def _no_rows(part: Tensor) -> Any:
    """Return zero, as the sum of no rows: with a history like that of ranks that have some, for backward meets all."""
    return _plainly(tt.sum, (_plainly(tt.abs, (part,), {}),), {}) if part.requires_grad else 0


def _order(name: str, value: Any, ndim: int) -> float:
    """Return the order of a norm of vectors; refuse those of matrices."""
    if value is None or value == "fro":
        return 2.0
    if isinstance(value, str) or (name == "linalg_norm" and ndim > 1):
        raise _refusal(name)
    return float(value)


def _norm(
    name: str,
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    part: Any,
    dims: Sequence[int] | None,
) -> Tensor:
    value = kwargs.get(_NORMS[name], args[1] if len(args) > 1 else None)
    order = _order(name, value, part.ndim if dims is None else 1 if isinstance(dims, int) else len(dims))
    if part.numel() or 0 <= order < inf:
        local = _plainly(func, args, kwargs)
    else:
        neutral = _neutral(order)
        row = tt.full((1, *part.shape[1:]), neutral, dtype=part.dtype, device=part.device) + _no_rows(part)
        local = _plainly(func, (row, *args[1:]), kwargs)
    return _combined_norms(_together(local, part.group), order)


def _neutral(order: float) -> float:
    """Return the element that changes no norm of an order, for the orders that have no norm of no elements."""
    # inf ** order is 0 for negative orders, and -inf takes the smallest absolute value.
    return 0.0 if order > 0 else inf


def _combined_norms(norms: Tensor, order: float) -> Tensor:
    """Return the norms of vectors whose pieces have these, along the first dimension."""
    # The norm of norms of one order is the norm of the whole; order 0 counts elements that are not zero.
    return norms.sum(0) if order == 0 else tt.linalg.vector_norm(norms, order, dim=0)


def _foreach_norm(tensors: Any, ord: Any = 2, **kwargs: Any) -> tuple[Tensor, ...]:
    """Return the norm of each tensor, where the parts of one group are gathered together."""
    order = float(ord)
    norms = list(
        _plainly(
            tt.ops._foreach_norm,
            ([_filled(tensor, order) for tensor in tensors], order),
            kwargs,
        )
    )
    # One message for all parameters of a group, not one for each.
    groups: dict[Any, list[int]] = {}
    for index, tensor in enumerate(tensors):
        if hasattr(type(tensor), "to_local"):
            groups.setdefault((tensor.group, norms[index].dtype, norms[index].device), []).append(index)
    for (group, _, _), indices in groups.items():
        wholes = _combined_norms(_together(tt.stack([norms[i] for i in indices]), group), order)
        for index, norm in zip(indices, wholes.unbind(), strict=True):
            norms[index] = norm
    return tuple(norms)


def _filled(tensor: Any, order: float) -> Any:
    """Return a tensor, or what has the norm of no elements where the order needs one."""
    if tensor.numel() or not hasattr(type(tensor), "to_local") or 0 <= order < inf:
        return tensor
    return tt.full((1,), _neutral(order), dtype=tensor.dtype, device=tensor.device) + _no_rows(tensor)
