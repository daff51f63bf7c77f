"""Formulas of recurrent layers.  g is the gradient of the result.

All gradients are one operator, which takes the layer's saved values.  Second derivatives go through its composite,
and so come back to the saved values: these have a gradient, too.
"""

from __future__ import annotations

from typing import Any

from tt.core.library import ops
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()


def rnn_layer(
    gs: Any, input: Any, hx: Any, cx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, w_hr: Any, batch_sizes: Any,
    mode: str, reverse: bool, output: Any, saved: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Through all steps, from the last one on."""
    g, to_h, to_c, to_saved = gs
    if g is None:
        g = ops.zeros_like(output)
    if cx is None:
        to_c = None
    if to_saved is not None:
        to_saved = to_saved.to(saved.dtype)
    grads = ops._rnn_layer_backward(
        g, to_h, to_c, to_saved, input, hx, cx, w_ih, w_hh, w_hr, batch_sizes, output, saved, mode, reverse
    )
    arguments = input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr
    return *(None if a is None else f for f, a in zip(grads, arguments, strict=True)), None


d.joint("_rnn_layer", rnn_layer)
