"""Activation functions and their gradients: which functor of `pointwise.cuh` serves an operator."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final

from tt.backends.array_api.activation import check_approximate
from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.elementwise import run
from tt.backends.cuda.pointwise.arithmetic import FLOATING, Pointwise
from tt.core.library import KernelTable, errors

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["tables"]

FUNCTIONS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    # operator: functor, what follows self
    "leaky_relu": ("LeakyRelu", ("negative_slope",)),
    "hardtanh": ("HardTanh", ("min_val", "max_val")),
    "threshold": ("Threshold", ("threshold", "value")),
    "hardshrink": ("HardShrink", ("lambd",)),
    "softshrink": ("SoftShrink", ("lambd",)),
    "elu": ("Elu", ("alpha",)),
    "celu": ("Celu", ("alpha",)),
    "selu": ("Selu", ()),
    "silu": ("Silu", ()),
    "mish": ("Mish", ()),
    "logsigmoid": ("LogSigmoid", ()),
    "hardsigmoid": ("HardSigmoid", ()),
    "hardswish": ("HardSwish", ()),
    "softplus": ("Softplus", ("beta", "threshold")),
}
GRADIENTS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    # operator: functor, what follows grad_output
    "threshold_backward": ("ThresholdBackward", ("self", "threshold")),
    "leaky_relu_backward": ("LeakyReluBackward", ("self", "negative_slope")),
    "hardtanh_backward": ("HardTanhBackward", ("self", "min_val", "max_val")),
    "elu_backward": ("EluBackward", ("self", "alpha", "scale", "input_scale")),
    "silu_backward": ("SiluBackward", ("self",)),
    "mish_backward": ("MishBackward", ("self",)),
    "sigmoid_backward": ("SigmoidBackward", ("output",)),
    "tanh_backward": ("TanhBackward", ("output",)),
    "log_sigmoid_backward": ("LogSigmoidBackward", ("self",)),
    "hardsigmoid_backward": ("HardSigmoidBackward", ("self",)),
    "hardswish_backward": ("HardSwishBackward", ("self",)),
    "softplus_backward": ("SoftplusBackward", ("self", "beta", "threshold")),
}


def _refuse(op: str, given: tuple[Any, ...]) -> None:
    """Raise for arguments with which a function is not defined."""
    if op == "hardtanh" and given[0] > given[1]:
        raise errors.ValueRangeError("hardtanh(): min_val cannot be greater than max_val")
    if op == "softshrink" and not given[0] >= 0:
        raise errors.ValueRangeError(f"softshrink(): lambd is {given[0]}; it cannot be negative")
    if op == "celu" and given[0] == 0:
        raise errors.ValueRangeError("celu(): alpha cannot be 0, as x is divided by it")


def tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the kernels of this family; nothing is compiled."""
    pointwise = Pointwise(backend)
    pointwise.serve_one({"relu": "Relu"}, "real_number")
    for op, (functor, rest) in FUNCTIONS.items():

        def function(
            self: StridedHandle, *given: Any, op: str = op, functor: str = functor, count: int = len(rest)
        ) -> StridedHandle:
            _refuse(op, given)
            return pointwise.one(functor, self, given[:count], None, *given[count:])

        pointwise.serve(op, ("self", *rest), function, FLOATING)
    for op, (functor, rest) in GRADIENTS.items():

        def gradient(
            grad: StridedHandle,
            self: StridedHandle,
            *given: Any,
            functor: str = functor,
            count: int = len(rest) - 1,
        ) -> StridedHandle:
            return pointwise.two(functor, grad, self, given[:count], None, *given[count:])

        pointwise.serve(op, ("grad_output", *rest), gradient, FLOATING)

    def gelu(self: StridedHandle, approximate: str, out: StridedHandle | None = None) -> StridedHandle:
        check_approximate(approximate)
        return pointwise.one("Gelu" if approximate == "none" else "GeluTanh", self, (), None, out)

    def gelu_backward(
        grad: StridedHandle, self: StridedHandle, approximate: str, out: StridedHandle | None = None
    ) -> StridedHandle:
        check_approximate(approximate)
        functor = "GeluBackward" if approximate == "none" else "GeluTanhBackward"
        return pointwise.two(functor, grad, self, (), None, out)

    def prelu_backward(
        grad: StridedHandle, self: StridedHandle, weight: StridedHandle, out: StridedHandle | None = None
    ) -> StridedHandle:
        return run(backend, "PReluBackward", [grad, self, weight], grad.dtype, (), out)

    def prelu(self: StridedHandle, weight: StridedHandle) -> StridedHandle:
        count, step = prod(weight.shape), weight.strides[-1] if weight.ndim else 0
        ones = (1,) * max(self.ndim - 2, 0)
        # One number, or one for each channel; the shape rule has compared them.
        if count == 1 or self.ndim < 2:
            view = weight.view((1,) * self.ndim, (0,) * self.ndim)
        else:
            view = weight.view((1, count, *ones), (0, step, *(0 for _ in ones)))
        return pointwise.two("PRelu", self, view)

    pointwise.table.kernel(
        "prelu", prelu, dtypes=FLOATING, takes=("self", "weight"), half="same", priority=1, check=True
    )
    pointwise.serve_two({"_prelu_kernel": "PRelu"}, FLOATING, takes=("self", "weight"))
    pointwise.serve("_prelu_backward", ("grad_output", "self", "weight"), prelu_backward, FLOATING)
    pointwise.serve("gelu", ("self", "approximate"), gelu, FLOATING)
    pointwise.serve("gelu_backward", ("grad_output", "self", "approximate"), gelu_backward, FLOATING)
    return [pointwise.table]
