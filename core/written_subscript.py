"""Subscripts where the hot modules are interpreted: what `subscript.getitem` does, with written-out calls.

See Note [Written-out calls] in `core/dispatch/written`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from tt.core import indexing, subscript
from tt.core.dispatch.quick import MISSED
from tt.core.dispatch.registry import ops
from tt.core.dispatch.written import written

if TYPE_CHECKING:
    from tt.core.tensor import Tensor

__all__ = ["getitem"]


def _missed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return MISSED


class _Views:
    """The functions of the two operators; made at the first subscript."""

    select: Callable[..., Any]
    slice: Callable[..., Any]

    def __getattr__(self, name: str) -> Any:
        caller = getattr(ops, name)
        found = written(caller, _missed, (None,) * len(caller.operator.arguments))
        setattr(self, name, found)
        return found


_VIEWS = _Views()


@wraps(subscript.getitem)
def getitem(self: Tensor, index: Any, /) -> Any:  # noqa: D103  # its documentation is that of the original
    kind = type(index)
    found: Any = MISSED
    try:
        if kind is int:
            if self.handle.ndim:
                found = _VIEWS.select(self, 0, index)
        elif kind is slice:
            found = _part(self, 0, index)
        elif kind is tuple:
            found = _parts(self, index)
    except Exception:  # the general way says what is wrong with the index
        pass
    if found is not MISSED:
        return found
    return indexing.getitem(self, index, getitem)


def _parts(tensor: Tensor, index: tuple[Any, ...]) -> Any:
    """Return the view of integers and slices, one for each of the first dimensions; MISSED for another index."""
    if len(index) > tensor.handle.ndim:
        return MISSED
    view: Any = tensor
    dim = 0
    for item in index:
        if type(item) is int:
            view = _VIEWS.select(view, dim, item)
        elif type(item) is slice:
            start, stop, step = item.start, item.stop, item.step
            if step is None:
                step = 1
                if start is None and stop is None:
                    dim += 1
                    continue
            elif step == 1 and start is None and stop is None:
                return MISSED
            view = _VIEWS.slice(view, dim, start, stop, step)
            dim += 1
        else:
            return MISSED
        if view is MISSED:
            return MISSED
    return MISSED if view is tensor else view


def _part(tensor: Tensor, dim: int, bounds: slice) -> Any:
    """Return the view of a slice of one dimension, or MISSED."""
    start, stop, step = bounds.start, bounds.stop, bounds.step
    if step is None:
        if start is None and stop is None:
            return MISSED
        step = 1
    if dim >= tensor.handle.ndim or (step == 1 and start is None and stop is None):
        return MISSED
    return _VIEWS.slice(tensor, dim, start, stop, step)
