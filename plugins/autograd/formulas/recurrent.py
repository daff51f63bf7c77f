"""Formulas of recurrent layers.  g is the gradient of the result.

All gradients are one operator, which takes the layer's saved values.  Second derivatives go through its composite,
and so come back to the saved values: these have a gradient, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.core.library import Tensor, ops
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()


def rnn_layer(
    gs: Sequence[Tensor | None], input: Tensor, hx: Tensor, cx: Tensor | None, w_ih: Tensor, w_hh: Tensor,
    b_ih: Tensor | None, b_hh: Tensor | None, w_hr: Any, batch_sizes: Tensor | None, mode: str, reverse: bool,
    output: Tensor, saved: Tensor,
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
