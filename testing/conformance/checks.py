"""The table of all checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from tt.testing.checks.aliasing import check_alias, check_view
from tt.testing.checks.case import Case
from tt.testing.checks.derivatives import check_gradient
from tt.testing.checks.determinism import check_repeat, check_seed
from tt.testing.checks.extremes import check_extreme, check_many
from tt.testing.checks.fake import check_absent, check_format, check_meta
from tt.testing.checks.forms import check_inplace, check_method, check_out, check_resize
from tt.testing.checks.identity import check_identity
from tt.testing.checks.mutation import Snapshot, check_inputs
from tt.testing.checks.placement import check_device
from tt.testing.checks.sizes import check_dim, check_empty
from tt.testing.checks.strides import check_layout
from tt.testing.checks.training import check_training
from tt.testing.checks.values import check_composite, check_values
from tt.testing.conformance.laws import check_laws

__all__ = ["CHECKS"]


def check_runs(case: Case) -> Iterator[str]:
    """Call the operator, or meet the error that the sample names."""
    error = case.sample.error
    if error is None:
        # Taken now, as `check_inputs` asks what this very call changed.
        case.before = Snapshot(case.given)
        case.result = case.run()
        return
    names = " or ".join(kind.__name__ for kind in (error if isinstance(error, tuple) else (error,)))
    try:
        result = case.run()
    except error:
        return
    except Exception as other:
        yield f"{type(other).__name__} instead of {names}: {other}"
    else:
        yield f"{names} was expected, and the result was {result!r}"


CHECKS: Final[dict[str, Callable[[Case], Iterator[str]]]] = {
    "runs": check_runs,
    "inputs": check_inputs,
    "meta": check_meta,
    "absent": check_absent,
    "format": check_format,
    "device": check_device,
    "values": check_values,
    "layout": check_layout,
    "dim": check_dim,
    "empty": check_empty,
    "extreme": check_extreme,
    "many": check_many,
    "repeat": check_repeat,
    "view": check_view,
    "alias": check_alias,
    "method": check_method,
    "inplace": check_inplace,
    "identity": check_identity,
    "out": check_out,
    "resize": check_resize,
    "seed": check_seed,
    "gradient": check_gradient,
    "training": check_training,
    "composite": check_composite,
    "laws": check_laws,
}
"""The checks in the order in which they are made; without "runs" the others have nothing to look at."""
