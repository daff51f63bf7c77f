"""Formulas of attention.  g is the gradient of the result.

The gradients are one operator, which computes the weights again: the graph keeps nothing but the inputs.  Second
derivatives go through its composite.
"""

from __future__ import annotations

from typing import Any

from tt.core.library import ops
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()


def attention(
    g: Any, query: Any, key: Any, value: Any, mask: Any, is_causal: bool, scale: float
) -> tuple[Any, ...]:
    """Through the softmax: g less its mean by the weights; a mask has no gradient."""
    return *ops._attention_backward(g, query, key, value, mask, is_causal, scale), None


d.joint("_attention", attention)
