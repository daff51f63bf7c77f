"""Native kernels of activation functions and their gradients."""

from __future__ import annotations

from typing import Any, Final

from tt.backends.cpu.native.loading import load
from tt.backends.cpu.native.pointwise import FLOATING, both_forms
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("activation")

FUNCTIONS: Final[dict[str, tuple[str, ...]]] = {
    # operator: what follows self
    "relu": (),
    "leaky_relu": ("negative_slope",),
    "hardtanh": ("min_val", "max_val"),
    "threshold": ("threshold", "value"),
    "hardshrink": ("lambd",),
    "softshrink": ("lambd",),
    "elu": ("alpha",),
    "celu": ("alpha",),
    "selu": (),
    "silu": (),
    "mish": (),
    "logsigmoid": (),
    "hardsigmoid": (),
    "hardswish": (),
    "softplus": ("beta", "threshold"),
    "gelu": ("approximate",),
}
GRADIENTS: Final[dict[str, tuple[str, ...]]] = {
    # operator: what follows grad_output
    "threshold_backward": ("self", "threshold"),
    "leaky_relu_backward": ("self", "negative_slope"),
    "hardtanh_backward": ("self", "min_val", "max_val"),
    "elu_backward": ("self", "alpha", "scale", "input_scale"),
    "silu_backward": ("self",),
    "mish_backward": ("self",),
    "sigmoid_backward": ("output",),
    "tanh_backward": ("output",),
    "log_sigmoid_backward": ("self",),
    "hardsigmoid_backward": ("self",),
    "hardswish_backward": ("self",),
    "softplus_backward": ("self", "beta", "threshold"),
    "gelu_backward": ("self", "approximate"),
}

if NATIVE is not None:
    for _first, _table in (("self", FUNCTIONS), ("grad_output", GRADIENTS)):
        for _op, _rest in _table.items():
            both_forms(cpu, _op, getattr(NATIVE, _op), (_first, *_rest))

    @cpu.kernel("prelu", dtypes=FLOATING, check=True, native=True)
    def prelu(self: Any, weight: Any) -> Any:
        if weight.size == 1:
            return NATIVE.leaky_relu(self, weight.item())
        shape = (1, -1, *(1,) * (self.ndim - 2)) if self.ndim > 1 else (-1,) * self.ndim
        return NATIVE.prelu(self, weight.reshape(shape))

    @cpu.kernel("glu", dtypes=FLOATING, check=True, half="same", native=True)
    def glu(self: Any, dim: int) -> Any:
        half = self.shape[dim] // 2
        before = (slice(None),) * (dim % self.ndim)
        return NATIVE.glu(self[(*before, slice(half))], self[(*before, slice(half, None))])
