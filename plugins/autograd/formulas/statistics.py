"""Formulas of order statistics."""

from __future__ import annotations

from tt.plugins.autograd.formulas.reduction import at_index, share_among_all
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()

for _op in ("median", "nanmedian"):
    d.of(_op, self=share_among_all)
    d.of(f"{_op}.dim", self=at_index)
d.of("kthvalue", self=at_index)
