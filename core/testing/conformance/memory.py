"""Checks of memory: a view shares it with its argument, and nothing else does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tt.core.dispatch.mutate.overlap import shares_memory
from tt.core.tensor.base import TensorBase
from tt.core.testing.conformance.case import SKIPPED, Case, copy_of, tensors_in
from tt.core.testing.references import as_array

__all__ = ["check_alias", "check_view", "one_memory"]


def check_view(case: Case) -> Iterator[str]:
    """Write through the result of a view and look for it in the argument."""
    if case.definition.kind != "view" or case.inplace_only:
        yield SKIPPED
        return
    copies = isinstance(case.result, TensorBase) and not case.result._spec.backend.has_views
    if copies and case.result.dtype is not case.sample.args[0].dtype:
        yield SKIPPED  # such a backend cannot view elements as others
        return
    base = copy_of(case.sample.args[0])
    views = list(tensors_in(case.call((base, *case.sample.args[1:]))))
    for view in views:
        if view._version != base._version:
            yield "the result does not share its argument's version"
        if _overlaps(view):
            continue  # several elements of one place cannot be written
        view.fill_(1)
        again = [as_array(t) for t in tensors_in(case.call((base, *case.sample.args[1:])))]
        written = again[views.index(view)] if len(views) == 1 else again[_position(views, view)]
        if not np.all(written == as_array(view)):
            yield "writing through the result does not change the argument"
        if view._version != base._version:
            yield "writing through the result does not bump the argument's version"


def _overlaps(view: Any) -> bool:
    places = np.zeros((), np.int64)
    for size, stride in zip(view.shape, view.stride(), strict=True):
        places = places[..., None] + stride * np.arange(size)
    return np.unique(places).size < places.size


def _position(tensors: Sequence[Any], tensor: Any) -> int:
    return next(i for i, t in enumerate(tensors) if t is tensor)


def check_alias(case: Case) -> Iterator[str]:
    """Look for arguments whose memory a result shares although the schema does not say so."""
    signature = case.definition.signature
    aliases = any(r.alias for r in signature.returns)
    untyped = any(a.type.base == "any" for a in signature.arguments)  # of which the schema can say nothing
    if case.definition.kind == "view" or case.inplace_only or aliases or untyped:
        yield SKIPPED
        return
    results = list(tensors_in(case.result))
    for name, value in case.bound.items():
        for tensor in tensors_in(value):
            for result in results:
                if result is tensor:
                    yield f"the result is the argument {name!r} itself, and the schema promises a new tensor"
                elif result.numel() and tensor.numel() and one_memory(result, tensor):
                    yield f"the result shares the memory of the argument {name!r}; the schema promises new memory"


def one_memory(first: Any, second: Any) -> bool:
    """Tell whether two tensors have elements in one memory, as their storages or their arrays say."""
    if shares_memory(first, second):
        return True
    backend = first._spec.backend
    if not backend.mutable or first.layout.name != "strided" or second._spec.backend is not backend:
        return False
    if backend.storage_owner(first._handle) is backend.storage_owner(second._handle):
        return True
    address = backend.data_ptr(first._handle)  # of an expanded array the owner may be unknown
    return bool(address != 0 and address == backend.data_ptr(second._handle))
