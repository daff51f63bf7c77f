"""Native kernels of functions that work element by element."""

from __future__ import annotations

from typing import Any, Final

from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable

__all__ = ["FLOATING", "both_forms", "cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("pointwise")
COPIES: Final = load("copies")

FLOATING: Final = ("float16", "bfloat16", "float32", "float64")

# --- operator: the arguments that its function takes -----------------------------------------------------------

ONE: Final = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
    "cosh", "tanh", "asinh", "acosh", "atanh", "sigmoid", "erf", "erfc", "erfinv", "sqrt", "rsqrt", "reciprocal", "neg",
    "abs", "square", "floor", "ceil", "trunc", "frac", "sign", "isnan", "isinf", "isfinite", "logical_not",
)  # fmt: skip
TWO: Final = (
    "add", "sub", "rsub", "mul", "div", "maximum", "minimum", "fmax", "fmin", "copysign", "atan2", "hypot",
    "logaddexp", "xlogy", "fmod", "remainder", "floor_divide", "eq", "ne", "lt", "le", "gt", "ge",
)  # fmt: skip
OTHERS: Final = {
    # function: operator, arguments
    "add_alpha": ("add", ("self", "other", "alpha")),
    "sub_alpha": ("sub", ("self", "other", "alpha")),
    "rsub_alpha": ("rsub", ("self", "other", "alpha")),
    "div_mode": ("div.mode", ("self", "other", "rounding_mode")),
    "clamp": ("clamp", ("self", "min", "max")),
    "addcmul": ("addcmul", ("self", "tensor1", "tensor2", "value")),
    "logit": ("logit", ("self", "eps")),
    "lerp": ("lerp.Scalar", ("self", "end", "weight")),
    "xlog1py": ("special_xlog1py", ("self", "other")),
    "ndtr": ("special_ndtr", ("self",)),
}


INTEGERS: Final = (
    "add", "sub", "rsub", "mul", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge", "remainder", "floor_divide",
)  # fmt: skip

COMPARED: Final = ("eq", "ne", "lt", "le", "gt", "ge", "logical_not")
SINGLE: Final = ("float16", "bfloat16", "float32")


def both_forms(
    table: KernelTable,
    op: str,
    function: Any,
    takes: tuple[str, ...],
    dtypes: tuple[str, ...] = FLOATING,
    **options: Any,
) -> None:
    """Add a function that returns a new array, or writes into one more argument."""
    # Comparing halves needs no arithmetic, so nothing has to be widened.
    half: Any = "native" if op in COMPARED else "same"
    table.kernel(op, function, dtypes=dtypes, takes=takes, half=half, native=True, **options)
    table.kernel(op, function, dtypes=dtypes, takes=takes, half=half, native=True, form="out", **options)


if NATIVE is not None:
    for _op in ONE:
        both_forms(cpu, _op, getattr(NATIVE, _op), ("self",))
    for _op in TWO:
        both_forms(cpu, _op, getattr(NATIVE, _op), ("self", "other"))
    for _op in INTEGERS:
        both_forms(cpu, _op, getattr(NATIVE, f"{_op}_integers"), ("self", "other"), ("int32", "int64"))
    for _function, (_op, _takes) in OTHERS.items():
        both_forms(cpu, _op, getattr(NATIVE, _function), _takes)
    of_three = ("self", "tensor1", "tensor2", "value")
    both_forms(cpu, "addcdiv", NATIVE.addcdiv, of_three, same_dtype=True)  # the composite refuses integers
    both_forms(cpu, "lerp", NATIVE.lerp, ("self", "end", "weight"))
    both_forms(cpu, "clamp", NATIVE.clamp_integers, ("self", "min", "max"), ("int32", "int64"))
    both_forms(
        cpu, "nan_to_num", NATIVE.nan_to_num, ("self", "nan", "posinf", "neginf"), ("float32", "float64")
    )
    both_forms(cpu, "clamp_min", NATIVE.maximum, ("self", "min"))
    both_forms(cpu, "clamp_max", NATIVE.minimum, ("self", "max"))
    for _op in ("pow", "pow.Scalar"):  # in double precision NumPy has vectorised functions
        both_forms(cpu, _op, NATIVE.pow, ("self", "exponent"), SINGLE)
    both_forms(cpu, "lgamma", NATIVE.lgamma, ("self",), SINGLE)
    both_forms(cpu, "remainder.Scalar", NATIVE.remainder, ("self", "other"))

if COPIES is not None:
    cpu.kernel("where", COPIES.where, takes=("condition", "self", "other"), half="native", native=True)
    for _form in ("functional", "out"):
        cpu.kernel(
            "complex", COPIES.complex, takes=("real", "imag"), dtypes=("float32", "float64"), half="native",
            form=_form, native=True,
        )  # fmt: skip
