"""Batching rules of what reads and writes by indices, and of what joins tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.core.library import Operator, Tensor, TensorBase, ops
from tt.plugins.autograd.transforms.batching.base import BatchingTable, NoRuleError, align, all_first, behind
from tt.plugins.autograd.transforms.levels import Level, batched, hidden_dim_first, unwrap

__all__ = ["table"]

table = BatchingTable()
rule = table.rule


# --- along one dim ---------------------------------------------------------------------------------------------


@rule("gather")
def along_a_dim(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Go along a dim that the function sees; a number counts as a vector of one element."""
    x, dim, index, *rest = args
    whole = [all_first(level, [t])[0] if isinstance(t, TensorBase) else t for t in (x, index, *rest)]
    inside = [
        ops.unsqueeze(w, -1) if isinstance(t, TensorBase) and not t.ndim else w
        for t, w in zip((x, index, *rest), whole, strict=True)
    ]
    result = operator.overload().dispatch((inside[0], behind(dim, x.ndim or 1), *inside[1:]))
    seen = index if operator.name == "gather" else x
    return batched(result if seen.ndim else ops.squeeze.dim(result, -1), 0, level)


# --- by lists of indices ---------------------------------------------------------------------------------------


class _Places:
    """The indices of a call, masks replaced by the indices of their true elements.

    Attributes
    ----------
    indices : list
        For each dim an index that may be wrapped, or None.
    first : int
        The first dim with an index.
    together : bool
        Whether the dims with an index are adjacent, so that the indexed dims replace them.
    ndim : int
        The number of visible indexed dims.
    """

    def __init__(self, level: Level, given: Sequence[Any]) -> None:
        self.indices: list[Any] = []
        for index in given:
            if index is None or index.dtype.name != "bool":
                self.indices.append(index)
            elif unwrap(index, level)[1] is not None:
                raise NoRuleError  # how many elements a mask chooses differs by example
            else:
                self.indices += list(ops.unbind(ops.nonzero(index), 1))
        chosen = [dim for dim, index in enumerate(self.indices) if index is not None]
        self.first = chosen[0] if chosen else 0
        self.count = len(chosen)
        self.together = not chosen or chosen[-1] - chosen[0] + 1 == len(chosen)
        self.ndim = max((index.ndim for index in self.indices if index is not None), default=0)

    def inside(self, level: Level) -> list[Any]:
        """Return the unwrapped indices, with the index of the examples first."""
        # The examples are one more dim with an index, by which each chooses itself.
        numbers = ops.arange(level.size, device=next(i.device for i in self.indices if i is not None))
        result: list[Any] = [ops.reshape(numbers, (level.size, *(1,) * self.ndim))]
        for index in self.indices:
            if index is None:
                result.append(None)
                continue
            raw, hidden = hidden_dim_first(index, level)
            if hidden:
                raw = ops.reshape(raw, (level.size, *(1,) * (self.ndim - index.ndim), *index.shape))
            result.append(raw)
        return result

    def order(self, ndim: int) -> list[int] | None:
        """Return the order of a result's dims that puts what was chosen where the function sees it; None: it is there.

        The inner result has the hidden dim, the indexed dims, and all other dims.
        """
        # The examples' index at the front makes the indexed dims come first inside, as NumPy has it; the
        # function expects that only if its own indices are apart or begin at dim 0.
        if not self.together or not self.first:
            return None
        chosen = list(range(1, 1 + self.ndim))
        before = list(range(1 + self.ndim, 1 + self.ndim + self.first))
        return [0, *before, *chosen, *range(1 + self.ndim + self.first, ndim)]


@rule("index")
def index(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Take elements of every example."""
    x, indices = args
    indexed = _Places(level, indices)
    if not indexed.count or indexed.count > x.ndim:
        raise NoRuleError
    result = ops.index(all_first(level, [x])[0], indexed.inside(level))
    order = indexed.order(result.ndim)
    return batched(result if order is None else ops.permute(result, order), 0, level)


@rule("index_put")
def index_put(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Write elements of every example."""
    x, indices, values, accumulate = args
    (whole,) = all_first(level, [x])
    # A mask that differs by example chooses other counts, but writing one number needs no count.
    if len(indices) == 1 and values.ndim == 0 and not accumulate and indices[0].dtype.name == "bool":
        mask = indices[0]
        for _ in range(x.ndim - mask.ndim):
            mask = ops.unsqueeze(mask, -1)
        return batched(ops.where(*_masked(level, mask, values, x)), 0, level)
    indexed = _Places(level, indices)
    if not indexed.count or indexed.count > x.ndim:
        raise NoRuleError
    raw, hidden = hidden_dim_first(values, level)
    ndim = indexed.ndim + x.ndim - indexed.count
    if values.ndim > ndim:
        raise NoRuleError
    shape = (level.size if hidden else 1, *(1,) * (ndim - values.ndim), *values.shape)
    raw = ops.reshape(raw, shape)
    if indexed.together and indexed.first:
        # The written values have the dims before the indices first; inside, these come after the indexed dims.
        before = list(range(1, 1 + indexed.first))
        chosen = list(range(1 + indexed.first, 1 + indexed.first + indexed.ndim))
        raw = ops.permute(raw, [0, *chosen, *before, *range(1 + indexed.first + indexed.ndim, ndim + 1)])
    return batched(ops.index_put(whole, indexed.inside(level), raw, accumulate), 0, level)


def _masked(level: Level, mask: Any, values: Any, x: Tensor) -> tuple[Any, Any, Any]:
    first, second, third = align(level, (mask, values, x))
    if not hidden_dim_first(x, level)[1]:
        third = ops.expand(third, (level.size, *third.shape))
    return first, second.to(x.dtype), third


@table.rule("one_hot")
def one_hot(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Put the classes behind all dims, where their number is given."""
    inside, _ = hidden_dim_first(args[0], level)
    if args[1] < 0:
        raise NoRuleError
    return batched(operator.overload().dispatch((inside, args[1])), 0, level)
