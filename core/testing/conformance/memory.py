"""Checks of memory: what shares it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tt.core.tensor_base import TensorBase
from tt.core.testing.conformance.case import SKIPPED, Case, copy_of, tensors_in
from tt.core.testing.references import as_array

__all__ = ["check_view"]


def check_view(case: Case) -> Iterator[str]:
    """Write through the result of a view and look for it in the argument."""
    copies = isinstance(case.result, TensorBase) and not case.result.spec.backend.has_views
    if copies and case.result.dtype is not case.sample.args[0].dtype:
        yield SKIPPED  # such a backend cannot view elements as others
        return
    if case.definition.kind != "view" or case.inplace_only:
        yield SKIPPED
        return
    base = copy_of(case.sample.args[0])
    views = list(tensors_in(case.call((base, *case.sample.args[1:]))))
    for view in views:
        if view._version != base._version:
            yield "the result does not share its argument's version"
        if any(stride == 0 and size > 1 for size, stride in zip(view.shape, view.stride(), strict=True)):
            continue  # several elements of one place cannot be written
        view.fill_(1)
        again = [as_array(t) for t in tensors_in(case.call((base, *case.sample.args[1:])))]
        written = again[views.index(view)] if len(views) == 1 else again[_position(views, view)]
        if not np.all(written == as_array(view)):
            yield "writing through the result does not change the argument"
        if view._version != base._version:
            yield "writing through the result does not bump the argument's version"


def _position(tensors: Sequence[Any], tensor: Any) -> int:
    return next(i for i, t in enumerate(tensors) if t is tensor)
