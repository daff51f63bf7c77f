"""Formula of the loss of sequences whose alignment is unknown.  g is the gradient of the result."""

from __future__ import annotations

from tt.core.library import ops
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()

d.of(
    "_ctc_loss",
    log_probs=lambda g, log_probs, targets, input_lengths, target_lengths, loss, log_alpha, blank, zero_infinity: (
        ops._ctc_loss_backward(
            g, log_probs, targets, input_lengths, target_lengths, loss, log_alpha, blank, zero_infinity
        )
    ),
)
