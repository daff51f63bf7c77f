"""Native kernels of activation functions and their gradients."""

from __future__ import annotations

from typing import Any, Final

from tt.backends.cpu.backend import Array
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

    both_forms(cpu, "_prelu_kernel", NATIVE.prelu, ("self", "weight"))
    both_forms(cpu, "_prelu_backward", NATIVE.prelu_backward, ("grad_output", "self", "weight"))

    @cpu.kernel("prelu", dtypes=FLOATING, native=True)
    def prelu(self: Array, weight: Array) -> Any:
        channels = self.shape[1] if self.ndim > 1 else 1
        if weight.ndim > 1 or (weight.size != 1 and (weight.size != channels or not self.ndim)):
            raise ValueError("a weight that the shape rule refuses")
        # One weight for all channels is a slope.
        if weight.size == 1:
            return NATIVE.leaky_relu(self, weight.item())
        return NATIVE.prelu(self, weight.reshape((1, -1, *(1,) * (self.ndim - 2))))

    @cpu.kernel("glu", dtypes=FLOATING, half="same", native=True)
    def glu(self: Array, dim: int) -> Any:
        if not -self.ndim <= dim < self.ndim or self.shape[dim] % 2:
            raise ValueError("a dimension that the shape rule refuses")
        half = self.shape[dim] // 2
        before = (slice(None),) * (dim % self.ndim)
        return NATIVE.glu(self[(*before, slice(half))], self[(*before, slice(half, None))])

    cpu.kernel(
        "glu_backward",
        NATIVE.glu_backward,
        dtypes=FLOATING,
        takes=("grad_output", "self", "dim"),
        half="same",
        same_dtype=True,
        native=True,
    )


SOFTMAX: Final = load("softmax")

if SOFTMAX is not None:
    for _op in ("softmax", "log_softmax"):
        cpu.kernel(
            _op, getattr(SOFTMAX, _op), dtypes=FLOATING, takes=("self", "dim"), half="native", native=True
        )
        cpu.kernel(
            f"_{_op}_backward",
            getattr(SOFTMAX, f"{_op}_backward"),
            dtypes=FLOATING,
            takes=("grad", "output", "dim"),
            half="native",
            native=True,
        )
