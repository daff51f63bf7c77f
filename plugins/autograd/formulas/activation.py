"""Formulas of activation functions.  g is the gradient of the result."""

from __future__ import annotations

from tt.core.library import ops
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()

SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946

# --- limits ----------------------------------------------------------------------------------------------------

d.of("relu", self=lambda g, result: ops.threshold_backward(g, result, 0))
d.of("threshold", self=lambda g, self, threshold: ops.threshold_backward(g, self, threshold))
d.of("hardtanh", self=lambda g, self, min_val, max_val: ops.hardtanh_backward(g, self, min_val, max_val))
d.of("hardshrink", self=lambda g, self, lambd: ops.where(ops.abs(self) <= lambd, 0, g))
d.of("softshrink", self=lambda g, self, lambd: ops.where(ops.abs(self) <= lambd, 0, g))
d.of("leaky_relu", self=lambda g, self, negative_slope: ops.leaky_relu_backward(g, self, negative_slope))
d.of(
    "_prelu_kernel",
    self=lambda g, self, weight: ops._prelu_backward(g, self, weight),
    weight=lambda g, self: ops.where(self > 0, 0, g * self),
)

# --- exponential -----------------------------------------------------------------------------------------------

d.of("elu", self=lambda g, self, alpha: ops.elu_backward(g, self, alpha, 1.0, 1.0))
d.of("celu", self=lambda g, self, alpha: ops.elu_backward(g, self, alpha, 1.0, 1 / alpha))
d.of("selu", self=lambda g, self: ops.elu_backward(g, self, SELU_ALPHA, SELU_SCALE, 1.0))

# --- sigmoids --------------------------------------------------------------------------------------------------

d.of("silu", self=lambda g, self: ops.silu_backward(g, self))
d.of("mish", self=lambda g, self: ops.mish_backward(g, self))
d.of("hardsigmoid", self=lambda g, self: ops.hardsigmoid_backward(g, self))
d.of("hardswish", self=lambda g, self: ops.hardswish_backward(g, self))
d.of("logsigmoid", self=lambda g, self: ops.log_sigmoid_backward(g, self))
d.of("softplus", self=lambda g, self, beta, threshold: ops.softplus_backward(g, self, beta, threshold))
d.of("gelu", self=lambda g, self, approximate: ops.gelu_backward(g, self, approximate=approximate))

# --- softmax ---------------------------------------------------------------------------------------------------


d.of("softmax", self=lambda g, result, dim: ops._softmax_backward(g, result, dim))
d.of("log_softmax", self=lambda g, result, dim: ops._log_softmax_backward(g, result, dim))
