"""Formula of the loss of sequences whose alignment is unknown.  g is the gradient of the result."""

from __future__ import annotations

from typing import Any

from tt.core.library import ops
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()


def ctc_loss(
    gs: Any, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, loss: Any, log_alpha: Any,
    blank: int, zero_infinity: bool,
) -> Any:  # fmt: skip
    """Through the losses; and through log_alpha, which the gradient of the losses takes: second derivatives."""
    g, to_alpha = gs
    result = None
    if g is not None:
        result = ops._ctc_loss_backward(
            g, log_probs, targets, input_lengths, target_lengths, loss, log_alpha, blank, zero_infinity
        )
    if to_alpha is None:
        return result
    slope = ops._ctc_alpha_backward(
        to_alpha, log_probs, targets, input_lengths, target_lengths, log_alpha, blank
    )
    return slope if result is None else result + slope


d.of("_ctc_loss", log_probs=ctc_loss)
