"""The table of all checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from tt.core.testing.conformance.calls import check_inputs, check_runs
from tt.core.testing.conformance.case import Case
from tt.core.testing.conformance.derived import check_dim, check_empty, check_layout
from tt.core.testing.conformance.extremes import check_extreme, check_many
from tt.core.testing.conformance.forms import check_inplace, check_method, check_out
from tt.core.testing.conformance.gradients import check_gradient
from tt.core.testing.conformance.identity import check_identity
from tt.core.testing.conformance.laws import check_laws
from tt.core.testing.conformance.memory import check_alias, check_view
from tt.core.testing.conformance.metadata import check_meta
from tt.core.testing.conformance.placement import check_device
from tt.core.testing.conformance.repeats import check_repeat
from tt.core.testing.conformance.resizing import check_resize
from tt.core.testing.conformance.seeds import check_seed
from tt.core.testing.conformance.training import check_training
from tt.core.testing.conformance.values import check_composite, check_values

__all__ = ["CHECKS"]

CHECKS: Final[dict[str, Callable[[Case], Iterator[str]]]] = {
    "runs": check_runs,
    "inputs": check_inputs,
    "meta": check_meta,
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
