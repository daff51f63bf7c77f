"""Native kernels that take steps of optimizers and unscale their gradients, and those of operators on lists.

Note [Kernels of lists]
-----------------------
`each` of the pointwise extension serves a list in one call where the arrays at each place have one shape, one order in
memory and one floating dtype, and targets share no memory.  It looks before it writes; where it refuses, the composite
goes tensor by tensor, raises the errors, and serves all other dtypes.  Numbers go to it as they are; complex numbers
and bools, and those that float32 cannot hold, are left to the composite, which knows what they promote to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.backends.cpu.backend import Array
from tt.backends.cpu.native.loading import adder, load
from tt.backends.cpu.native.pointwise import FLOATING
from tt.core.library import REGISTRY, KernelTable, handle_of, wrap

if TYPE_CHECKING:
    from tt.core.library import Tensor

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("optimizer")
POINTWISE: Final = load("pointwise")
REDUCTION: Final = load("reduction")

add = adder(cpu, NATIVE)


def fused_step(*args: Any) -> None:
    """Take a step by rule; arrays with gaps, or in another order than their parameter, are copied."""
    # False means that some array is not contiguous; then it works on copies, and results are written back.
    if NATIVE.fused_step(*args):
        return
    *lists, rule, numbers, maximize = args
    # np.ascontiguousarray makes a number a vector, and a step count has no dimensions.
    copies = [[np.ascontiguousarray(array).reshape(array.shape) for array in arrays] for arrays in lists]
    if not NATIVE.fused_step(*copies, rule, numbers, maximize):
        raise ValueError("lists that the shape rule refuses")
    for arrays, changed in zip(lists, copies, strict=True):
        for array, new in zip(arrays, changed, strict=True):
            if array is not new and array.flags.writeable:
                array[...] = new


def amp_unscale(self: list[Array], found_inf: Array, inv_scale: Array) -> None:
    """Unscale gradients and look for what is not finite; arrays with gaps are copied."""
    if NATIVE.amp_unscale(self, found_inf, inv_scale):
        return
    copies = [np.ascontiguousarray(array).reshape(array.shape) for array in self]
    if not NATIVE.amp_unscale(copies, found_inf, inv_scale):
        raise ValueError("arguments that the shape rule refuses")
    for array, new in zip(self, copies, strict=True):
        if array is not new:
            array[...] = new


def amp_update_scale(self: Array, *args: Any) -> Array:
    """Update the scale, and return it."""
    if not NATIVE.amp_update_scale(self, *args):
        raise ValueError("arguments that the shape rule refuses")
    return self


if NATIVE is not None:
    ADAM: Final = (
        "self grads exp_avgs exp_avg_sqs max_exp_avg_sqs state_steps lr beta1 beta2 weight_decay eps amsgrad maximize "
        "grad_scale found_inf"
    )
    add(
        "_fused_sgd_",
        "fused_sgd",
        "self grads momentum_buffer_list weight_decay momentum lr dampening nesterov maximize is_first_step grad_scale "
        "found_inf",
        form="inplace",
    )
    add("_fused_adam_", "fused_adam", ADAM, form="inplace")
    add("_fused_adamw_", "fused_adamw", ADAM, form="inplace")
    cpu.kernel(
        "_fused_step_",
        fused_step,
        dtypes=("float32", "float64"),
        takes=("self", "grads", "first", "second", "third", "rule", "numbers", "maximize"),
        native=True,
        form="inplace",
    )
    add(
        "_fused_adagrad_",
        "fused_adagrad",
        "self grads state_sums state_steps lr lr_decay weight_decay eps maximize grad_scale found_inf",
        form="inplace",
    )
    cpu.kernel(
        "_amp_foreach_non_finite_check_and_unscale_",
        amp_unscale,
        takes=("self", "found_inf", "inv_scale"),
        native=True,
        form="inplace",
        half="native",
    )
    cpu.kernel(
        "_amp_update_scale_",
        amp_update_scale,
        takes=(
            "self", "growth_tracker", "found_inf", "scale_growth_factor", "scale_backoff_factor", "growth_interval",
        ),
        native=True,
        form="inplace",
    )  # fmt: skip

# --- lists of tensors, see Note [Kernels of lists] ---------------------------------------------------------------

Tensors = Sequence[Any]
"""The tensors of a list."""

Call = tuple[str, tuple[Any, ...], Any]
"""The function of `each`, its inputs (lists of tensors, numbers, lists of numbers), and one more number or several."""

LARGEST: Final = float(np.finfo(np.float32).max)


def number(value: Any) -> Any:
    """Return a number, or a list of numbers, that `each` may be given; None for others."""
    if type(value) is float or type(value) is int:
        within = -LARGEST <= value <= LARGEST or (type(value) is float and not math.isfinite(value))
        return value if within else None
    if isinstance(value, tuple | list) and all(number(item) is not None for item in value):
        return list(value)
    return None


def number_of(other: Tensor, tensors: Tensors) -> Any:
    """Return the number in a tensor that lifts the dtype of no tensor of a list; None where it might."""
    if other.ndim or other.device.type != "cpu" or other.dtype.is_complex:
        return None
    if not all(tensor.ndim or tensor.dtype is other.dtype for tensor in tensors):
        return None
    return number(float(handle_of(other)))


def unary(function: str, self: Tensors) -> Call:
    return function, (self,), None


def with_number(function: str, self: Tensors, other: Any) -> Call | None:
    value = number(other)
    return None if value is None else (function, (self, value), None)


def with_list(function: str, self: Tensors, other: Tensors, alpha: Any = 1) -> Call | None:
    if type(alpha) is int and alpha == 1:
        return function, (self, other), None
    scale = number(alpha)
    return None if scale is None else (f"{function}_scaled", (self, other), scale)


def with_tensor(function: str, self: Tensors, other: Tensor, alpha: Any = 1) -> Call | None:
    value = number_of(other, self)
    return None if value is None else with_list(function, self, value, alpha)


def scaled(function: str, self: Tensors, one: Tensors, two: Tensors, value: Any) -> Call | None:
    scale = number(value)
    return None if scale is None else (function, (self, one, two), scale)


def scaled_by(function: str, self: Tensors, one: Tensors, two: Tensors, scalars: Tensor) -> Call | None:
    if scalars.ndim != 1 or scalars.device.type != "cpu" or scalars.dtype.is_complex:
        return None
    return scaled(function, self, one, two, handle_of(scalars).astype(np.float64).tolist())


def blend(function: str, self: Tensors, end: Tensors, weight: Any) -> Call | None:
    if isinstance(weight, list) and not isinstance(weight[0] if weight else 0.0, int | float | complex):
        return function, (self, end, weight), None
    value = number(weight)
    return None if value is None else (function, (self, end, value), None)


POWERS: Final = {2: "square", 0.5: "sqrt", 3: "cubed", -1: "reciprocal", -2: "inverse_square"}
"""Exponents with functions of their own, as for single tensors."""


def power(function: str, self: Tensors, exponent: Any) -> Call | None:
    name = None if isinstance(exponent, bool | complex) else POWERS.get(exponent)
    return None if name is None else (name, (self,), None)


def copied(function: str, self: Tensors, src: Tensors, non_blocking: bool) -> Call:
    return function, (src,), None


def cloned(function: str, self: Tensors, memory_format: str | None) -> Call | None:
    return (function, (self,), None) if memory_format in (None, "preserve_format") else None


def composed(op: str, args: tuple[Any, ...]) -> Any:
    """Return what the composite does."""
    composite = REGISTRY.composite(op)
    assert composite is not None  # the core has one
    return composite.function(*args)


def handles(operand: Any) -> Any:
    """Return the arrays of a list of tensors; numbers as they are."""
    if isinstance(operand, list) and operand and not isinstance(operand[0], float | int):
        return [tensor._handle for tensor in operand]
    return operand


def functional(op: str, call: Callable[..., Call | None], function: str, *args: Any) -> Any:
    """Return new tensors."""
    request = call(function, *args)
    if request is not None:
        arrays = POINTWISE.each(
            request[0], tuple([handles(operand) for operand in request[1]]), request[2], None
        )
        if arrays is not False:
            # Each in the dtype of its first tensor, as the functions of floating numbers are.
            return [wrap(array, tensor._spec) for array, tensor in zip(arrays, request[1][0], strict=True)]
    return composed(op, args)


def shares(number: Any, targets: Tensors) -> bool:
    """Return whether a number in a tensor may be an element of a target, which changes before all have read it."""
    # A tensor that was never viewed, nor is a view, has no storage yet.
    if isinstance(number, list | tuple) or getattr(number, "_storage", None) is None:
        return False
    array = number._handle
    return any(np.may_share_memory(array, target._handle) for target in targets)


def inplace(op: str, call: Callable[..., Call | None], function: str, *args: Any) -> None:
    """Change the tensors of the first list."""
    request, targets = call(function, *args), args[0]
    # Of a view whose memory a layer holds (a leaf that requires a gradient), the layer has to know of the change.
    held = any(target._root is not None and target._root._keys & ~target._keys for target in targets)
    if request is not None and not held and not any(shares(operand, targets) for operand in args[1:]):
        outputs = handles(targets)
        inputs = tuple([outputs if operand is targets else handles(operand) for operand in request[1]])
        if POINTWISE.each(request[0], inputs, request[2], outputs):
            # Below the dispatcher, which would have counted the changes.
            for tensor in targets:
                tensor._bump_version()
            return
    composed(op, args)


def reduced(op: str, functions: dict[Any, str], *args: Any) -> Any:
    """Return a tensor without dimensions for each tensor."""
    tensors, order, dtype = (*args, 2, None)[:3]
    function = None if isinstance(order, bool | complex) or dtype is not None else functions.get(order)
    if function is not None and tensors:
        arrays = REDUCTION.each(function, handles(tensors))
        # Squares of doubles may leave the range, where the composite scales them.
        if arrays is not False and not (
            function == "norm2" and any(a.dtype.char == "d" and not 1e-140 < a < math.inf for a in arrays)
        ):
            return [wrap(array, tensor._spec) for array, tensor in zip(arrays, tensors, strict=True)]
    return composed(op, args)


UNARY: Final = (
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac", "log",
    "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan",
    "tanh", "trunc",
)  # fmt: skip
BINARY: Final = {
    "add": "add", "sub": "sub", "mul": "mul", "div": "div", "maximum": "maximum", "minimum": "minimum",
    "clamp_min": "maximum", "clamp_max": "minimum",
}  # fmt: skip


def rows() -> Iterator[tuple[str, Callable[..., Call | None], str, str]]:
    """Yield operators on lists without prefix, what makes the call of `each`, its function, and the arguments."""
    for name in UNARY:
        yield name, unary, "rounded" if name == "round" else name, "self"
    for name, function in BINARY.items():
        alpha = " alpha" if name in ("add", "sub") else ""
        yield f"{name}.Scalar", with_number, function, "self scalar"
        yield f"{name}.ScalarList", with_number, function, "self scalars"
        yield f"{name}.List", with_list, function, f"self other{alpha}"
        if name in ("add", "mul", "div"):
            yield f"{name}.Tensor", with_tensor, function, f"self other{alpha}"
    for name in ("addcmul", "addcdiv"):
        yield f"{name}.Scalar", scaled, f"plain_{name}", "self tensor1 tensor2 value"
        yield f"{name}.ScalarList", scaled, f"plain_{name}", "self tensor1 tensor2 scalars"
        yield f"{name}.Tensor", scaled_by, f"plain_{name}", "self tensor1 tensor2 scalars"
    for form, weight in (("Scalar", "weight"), ("ScalarList", "weight"), ("List", "weights")):
        yield f"lerp.{form}", blend, "plain_lerp", f"self tensors1 {weight}"
    yield "pow.Scalar", power, "", "self exponent"


if POINTWISE is not None:
    for name, call, function, takes in rows():
        packet, dot, overload = name.partition(".")
        for op, form in (
            (f"_foreach_{packet}{dot}{overload}", functional),
            (f"_foreach_{packet}_{dot}{overload}", inplace),
        ):
            kernel = partial(form, op, call, function)
            cpu.kernel(
                op, kernel, takes=takes.split(), dtypes=FLOATING, half="native", native=True, tensors=True
            )
    for op, form, call, function, takes in (
        ("_foreach_clone", functional, cloned, "copied", "self memory_format"),
        ("_foreach_copy_", inplace, copied, "copied", "self src non_blocking"),
        ("_foreach_zero_", inplace, unary, "zero", "self"),
    ):
        kernel = partial(form, op, call, function)
        cpu.kernel(op, kernel, takes=takes.split(), half="native", native=True, tensors=True)
    NORMS: Final = {1: "norm1", 2: "norm2", math.inf: "norm_largest", -math.inf: "norm_smallest"}
    for op, functions, takes in (
        ("_foreach_norm.Scalar", NORMS, "self ord dtype"),
        ("_foreach_powsum.Scalar", {1: "norm1", 2: "squares"}, "self ord dtype"),
        ("_foreach_max", {2: "amax"}, "self"),
    ):
        kernel = partial(reduced, op, functions)
        cpu.kernel(op, kernel, takes=takes.split(), dtypes=FLOATING, half="native", native=True, tensors=True)
