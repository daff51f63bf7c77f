"""Checks of outputs of another shape: they are resized."""

from __future__ import annotations

from collections.abc import Iterator

from tt.core.testing.conformance.case import SKIPPED, UNDEFINED, Case, tensors_in
from tt.core.testing.conformance.differences import differences
from tt.core.testing.references import as_array

__all__ = ["check_resize"]

# They fill a tensor of as many elements in its own shape.
_EXACT = frozenset({"exact_out"})


def check_resize(case: Case) -> Iterator[str]:
    """Give tensors without elements as out=, and look for the result in them."""
    import tt

    results = list(tensors_in(case.result))
    if (
        not case.definition.has_out
        or case.random
        or case.inplace_only
        or case.definition.name in UNDEFINED
        or not results
        or not any(t.numel() for t in results)
    ):
        yield SKIPPED
        return
    outs = [tt.empty(0, dtype=t.dtype, device=t.device) for t in results]
    case.call(case.sample.args, out=outs[0] if len(outs) == 1 else tuple(outs))
    for out, result in zip(outs, results, strict=True):
        if out.shape != result.shape:
            yield f"out= was not resized: it has the shape {list(out.shape)} instead of {list(result.shape)}"
        else:
            yield from differences(out, as_array(result))
