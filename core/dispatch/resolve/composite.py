"""Cached calls in general, and those that run a composite."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tt.core.dispatch.call.cached_call import CachedCall
from tt.core.dispatch.call.codes import COMPOSITE, REROUTE
from tt.core.dispatch.call.memory_formats import in_format_of
from tt.core.dispatch.call.mutation import with_targets_of
from tt.core.dispatch.mutate.overlap import refuse_shared
from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.resolve.resolution import ResolveContext
from tt.core.errors import CastError, InplaceError, TargetDtypeError
from tt.core.types.promotion import can_cast
from tt.core.types.state import STATE

if TYPE_CHECKING:
    from tt.core.dispatch.call.operator import Operator
    from tt.core.dispatch.intercept.layers import Layer

__all__ = ["composite_call", "make_cached_call"]


def make_cached_call(context: ResolveContext, kind: int, **fields: Any) -> CachedCall:
    """Return a cached call of this thread's present epoch with some of its fields set."""
    cached = CachedCall(*context.key, STATE.epoch_here(), kind)
    cached.resolution = context.resolution
    for name, value in fields.items():
        setattr(cached, name, value)
    return cached


def composite_call(
    context: ResolveContext, function: Callable[..., Any], layer: Layer | None = None
) -> CachedCall:
    """Return the cached call that runs a form of an operator by its composite, whose parts a layer may meet."""
    operator, form = context.operator, context.form
    if operator.returns_targets:
        function = _returning(operator, function)
    if form == "functional":
        if operator.format_of:
            function = _formatted(operator, function)
        returns = operator.definition.signature.returns
        if len(returns) > 1 or (returns and returns[0].type.list):
            function = _named(operator, function)
        return make_cached_call(context, COMPOSITE, function=function)
    if "metadata_inplace" in operator.definition.tags:
        return make_cached_call(context, REROUTE, function=_metadata_of_composite(function))
    # A composite reads its target before the result is copied into it, and what the layer saved has to keep its values.
    if layer is not None and "nondifferentiable" not in operator.definition.tags:
        function = _of_copy(layer, function)
    return make_cached_call(context, REROUTE, function=_inplace_of_composite(function))


def _of_copy(layer: Layer, function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a composite compute from a copy of its first argument where a layer may save that: it is changed after."""

    def of_copy(*args: Any) -> Any:
        if not layer.saves(args):
            return function(*args)
        target = args[0]
        copy = ops.clone(target)
        return function(*(copy if value is target else value for value in args))

    return of_copy


def _returning(operator: Operator, function: Callable[..., Any]) -> Callable[..., Any]:
    def returning(*args: Any) -> Any:
        return with_targets_of(operator, args, function(*args))

    return returning


def _formatted(operator: Operator, function: Callable[..., Any]) -> Callable[..., Any]:
    def formatted(*args: Any) -> Any:
        return in_format_of(function(*args), operator.format_of, args)

    return formatted


def _named(operator: Operator, function: Callable[..., Any]) -> Callable[..., Any]:
    def named(*args: Any) -> Any:
        return operator.return_type(function(*args))

    return named


def _inplace_of_composite(function: Callable[..., Any]) -> Callable[[CachedCall, tuple[Any, ...]], Any]:
    """Return the in-place form of a composite: run it and copy the result into the target."""

    def inplace(cached: CachedCall, args: tuple[Any, ...]) -> Any:
        target, definition = args[0], cached.operator.definition
        # No storage: the target was never viewed, so that nothing can share its memory.
        if target._storage is not None:
            refuse_shared(cached, target, args)
        result = function(*args)
        name = definition.inplace_name
        if "exact_target" in definition.tags and result.dtype is not target.dtype:
            raise TargetDtypeError(name, result.dtype.name, target.dtype.name)
        if not can_cast(result.dtype, target.dtype):
            raise CastError(name, result.dtype.name, target.dtype.name)
        if result.shape != target.shape:
            raise InplaceError(
                f"{name}(): the result has shape {list(result.shape)}, which the target of shape "
                f"{list(target.shape)} cannot hold"
            )
        return ops.copy_(target, result)

    return inplace


def _metadata_of_composite(function: Callable[..., Any]) -> Callable[[CachedCall, tuple[Any, ...]], Any]:
    """Return the in-place form of a view that is a composite: the target becomes the view."""

    def inplace(cached: CachedCall, args: tuple[Any, ...]) -> Any:
        target, view = args[0], function(*args)
        target._set_data(view._handle, view._spec)
        target._bump_version()
        return target

    return inplace
