"""Kernels that work element by element: which functor of `pointwise.cuh` serves an operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from tt.backends.array_api.pointwise import check_alpha, check_rounding
from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.elementwise import run
from tt.core.library import KernelTable, Scalar, errors, result_type, warn_user

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["BOOL", "FLOATING", "Pointwise", "fill", "tables"]

FLOATING: Final = ("float16", "bfloat16", "float32", "float64")
BOOL: Final = np.dtype(bool)

# --- operator: functor -----------------------------------------------------------------------------------------

ONE: Final = {
    "exp": "Exp", "exp2": "Exp2", "expm1": "Expm1", "log": "Log", "log2": "Log2", "log10": "Log10", "log1p": "Log1p",
    "sqrt": "Sqrt", "rsqrt": "Rsqrt", "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin", "acos": "Acos",
    "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "asinh": "Asinh", "acosh": "Acosh",
    "atanh": "Atanh", "sigmoid": "Sigmoid", "erf": "Erf", "erfc": "Erfc", "lgamma": "Lgamma", "floor": "Floor",
    "ceil": "Ceil", "trunc": "Trunc", "round": "Round", "frac": "Frac", "deg2rad": "Deg2Rad", "rad2deg": "Rad2Deg",
}  # fmt: skip
COMPLEX: Final = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "asin", "acos",
    "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sigmoid",
)  # fmt: skip
"""The functions that complex numbers have, too."""
NUMBERS_ONE: Final = {"neg": "Neg", "square": "Square"}
TESTS: Final = {"isnan": "IsNan", "isinf": "IsInf", "isfinite": "IsFinite", "logical_not": "LogicalNot"}
REAL_TESTS: Final = {"isposinf": "IsPosInf", "isneginf": "IsNegInf", "signbit": "SignBit"}
TWO: Final = {
    "remainder": "Remainder", "fmod": "Fmod", "floor_divide": "DivFloor", "copysign": "CopySign", "atan2": "Atan2",
    "hypot": "Hypot", "logaddexp": "LogAddExp", "logaddexp2": "LogAddExp2", "xlogy": "XLogY",
    "special_xlog1py": "XLog1PY", "remainder.Scalar": "Remainder",
}  # fmt: skip
REAL_TWO: Final = {"maximum": "Maximum2", "minimum": "Minimum2", "fmax": "Fmax", "fmin": "Fmin"}
ORDERED: Final = {"lt": "Lt", "le": "Le", "gt": "Gt", "ge": "Ge"}
LOGIC: Final = {"logical_and": "LogicalAnd", "logical_or": "LogicalOr", "logical_xor": "LogicalXor"}
BITS: Final = {"bitwise_and": "BitAnd", "bitwise_or": "BitOr", "bitwise_xor": "BitXor"}


def tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the kernels of this family; nothing is compiled."""
    pointwise = Pointwise(backend)
    _arithmetic(pointwise)
    _functions(pointwise)
    _comparison(pointwise)
    _selection(pointwise)
    return [pointwise.table]


class Pointwise:
    """A table of kernels that are functors of `pointwise.cuh`.

    Parameters
    ----------
    backend : CudaBackend
        For which the kernels are.
    """

    def __init__(self, backend: CudaBackend) -> None:
        self.backend = backend
        self.table = KernelTable(device="cuda")

    def serve(
        self,
        op: str,
        takes: tuple[str, ...],
        function: Callable[..., Any],
        dtypes: str | Sequence[str],
        half: Literal["float32", "native", "same"] = "same",
    ) -> None:
        """Add a function that returns a new handle, or writes into one more argument."""
        # One function serves both forms: `run` allocates when no `out` is given.
        for form in ("functional", "out"):
            self.table.kernel(
                op, function, dtypes=dtypes, takes=takes, half=half, priority=1, form=form
            )  # fmt: skip

    def one(
        self,
        functor: str,
        self_: StridedHandle,
        numbers: tuple[Any, ...] = (),
        dtype: np.dtype[Any] | None = None,
        out: StridedHandle | None = None,
    ) -> StridedHandle:
        """Apply a functor of one operand."""
        return run(self.backend, functor, [self_], dtype or self_.dtype, numbers, out)

    def two(
        self,
        functor: str,
        first: Any,
        second: Any,
        numbers: tuple[Any, ...] = (),
        dtype: np.dtype[Any] | None = None,
        out: StridedHandle | None = None,
    ) -> StridedHandle:
        """Apply a functor of two operands, one of which may be a Python number; it becomes number 0."""
        if not isinstance(second, StridedHandle):
            return run(
                self.backend, f"{functor}Right", [first], dtype or first.dtype, (second, *numbers[1:]), out
            )
        if not isinstance(first, StridedHandle):
            return run(
                self.backend, f"{functor}Left", [second], dtype or second.dtype, (first, *numbers[1:]), out
            )
        return run(self.backend, functor, [first, second], dtype or first.dtype, numbers, out)

    def serve_one(
        self,
        ops: dict[str, str],
        dtypes: str | Sequence[str],
        result: Any = None,
        half: Literal["float32", "native", "same"] = "same",
        first: str = "self",
    ) -> None:
        """Serve operators of one operand."""
        for op, functor in ops.items():

            def function(
                self_: StridedHandle, out: StridedHandle | None = None, functor: str = functor
            ) -> StridedHandle:
                return self.one(functor, self_, (), result, out)

            self.serve(op, (first,), function, dtypes, half)

    def serve_two(
        self,
        ops: dict[str, str],
        dtypes: str | Sequence[str],
        result: Any = None,
        half: Literal["float32", "native", "same"] = "same",
        takes: tuple[str, str] = ("self", "other"),
    ) -> None:
        """Serve operators of two operands."""
        for op, functor in ops.items():

            def function(
                first: StridedHandle | Scalar,
                second: StridedHandle | Scalar,
                out: StridedHandle | None = None,
                functor: str = functor,
            ) -> StridedHandle:
                return self.two(functor, first, second, (), result, out)

            self.serve(op, takes, function, dtypes, half)


# --- arithmetic ------------------------------------------------------------------------------------------------


def _arithmetic(pointwise: Pointwise) -> None:
    def scaled(op: str, functor: str) -> Callable[..., StridedHandle]:
        def function(
            self: StridedHandle,
            other: StridedHandle | Scalar,
            alpha: Scalar,
            out: StridedHandle | None = None,
        ) -> StridedHandle:
            kind = self.dtype.kind
            # True equals 1, but is refused unless the tensors are bools.
            if alpha == 1 and not isinstance(alpha, bool):
                return pointwise.two(functor, self, other, (), None, out)
            check_alpha(op, kind in "iu", kind == "b", kind == "c", alpha)
            return pointwise.two(f"{functor}Scaled", self, other, (0, alpha), None, out)

        return function

    for op, functor, dtypes in (
        ("add", "Add", "all"),
        ("sub", "Sub", "number"),
        ("rsub", "ReverseSub", "number"),
    ):
        pointwise.serve(op, ("self", "other", "alpha"), scaled(op, functor), dtypes)
    pointwise.serve_two({"mul": "Mul"}, "all")
    pointwise.serve_two({"div": "Div"}, "floating_complex")
    pointwise.serve_two(TWO, FLOATING)
    pointwise.serve_two(REAL_TWO, "real")
    pointwise.serve_two({"nextafter": "NextAfter"}, ("float32", "float64"))
    pointwise.serve_two({"heaviside": "Heaviside"}, FLOATING, takes=("self", "values"))
    pointwise.serve_one(NUMBERS_ONE, "number")
    pointwise.serve_one({"reciprocal": "Reciprocal"}, "floating_complex")
    pointwise.serve_one({"sign": "Sign"}, "real")

    def absolute(self: StridedHandle, out: StridedHandle | None = None) -> StridedHandle:
        real = np.dtype(f"f{self.dtype.itemsize // 2}") if self.dtype.kind == "c" else None
        return pointwise.one("Abs", self, (), real, out)

    pointwise.serve("abs", ("self",), absolute, "number")

    def power(
        self: StridedHandle, exponent: StridedHandle | Scalar, out: StridedHandle | None = None
    ) -> StridedHandle:
        # Squares are the most frequent powers, and a product is exact to the last digit.
        if not isinstance(exponent, StridedHandle) and exponent == 2 and not isinstance(exponent, bool):
            return pointwise.one("Square", self, (), None, out)
        return pointwise.two("Pow", self, exponent, (), None, out)

    pointwise.serve("pow", ("self", "exponent"), power, "floating_complex")
    pointwise.serve("pow.Scalar", ("self", "exponent"), power, "floating_complex")

    def div_mode(
        self: StridedHandle | Scalar,
        other: StridedHandle | Scalar,
        rounding_mode: str,
        out: StridedHandle | None = None,
    ) -> StridedHandle:
        check_rounding(rounding_mode)
        return pointwise.two(
            "DivFloor" if rounding_mode == "floor" else "DivTrunc", self, other, (), None, out
        )

    pointwise.serve("div.mode", ("self", "other", "rounding_mode"), div_mode, FLOATING)


# --- functions -------------------------------------------------------------------------------------------------


def _functions(pointwise: Pointwise) -> None:
    pointwise.serve_one(ONE, FLOATING)
    pointwise.serve_one({op: ONE[op] for op in COMPLEX}, "complex")
    pointwise.serve_one({"sinc": "Sinc"}, "floating_complex")

    def round_digits(self: StridedHandle, decimals: int, out: StridedHandle | None = None) -> StridedHandle:
        if decimals == 0:
            return pointwise.one("Round", self, (), None, out)
        # The power is passed with a positive exponent, which is exact, and the kernel multiplies or
        # divides.
        return pointwise.one("RoundDigits", self, (10.0 ** abs(decimals), decimals > 0), None, out)

    pointwise.serve("round", ("self", "decimals"), round_digits, FLOATING)

    def complex_(real: StridedHandle, imag: StridedHandle, out: StridedHandle | None = None) -> StridedHandle:
        return run(
            pointwise.backend, "MakeComplex", [real, imag], np.dtype(f"c{2 * real.dtype.itemsize}"), (), out
        )

    pointwise.serve("complex", ("real", "imag"), complex_, ("float32", "float64"), half="native")
    pointwise.serve_one({"bitwise_not": "BitNot"}, "integral_bool")
    pointwise.serve_one({"conj": "Conj", "conj_physical": "Conj"}, "all", half="native")

    def nan_to_num(
        self: StridedHandle,
        nan: float | None,
        posinf: float | None,
        neginf: float | None,
        out: StridedHandle | None = None,
    ) -> StridedHandle:
        import ml_dtypes

        limits = ml_dtypes.finfo(self.dtype)
        numbers = (
            0.0 if nan is None else nan,
            float(limits.max) if posinf is None else posinf,
            float(limits.min) if neginf is None else neginf,
        )
        return pointwise.one("NanToNum", self, numbers, None, out)

    pointwise.serve("nan_to_num", ("self", "nan", "posinf", "neginf"), nan_to_num, FLOATING)


# --- comparison and logic --------------------------------------------------------------------------------------


def _comparison(pointwise: Pointwise) -> None:
    pointwise.serve_one(TESTS, "all", BOOL, "native")
    pointwise.serve_one(REAL_TESTS, FLOATING, BOOL, "native")
    pointwise.serve_two({"eq": "Eq", "ne": "Ne"}, "all", BOOL, "native")
    pointwise.serve_two(ORDERED, "real", BOOL, "native")
    pointwise.serve_two(LOGIC, "all", BOOL, "native")
    pointwise.serve_two(BITS, "integral_bool")


# --- selection and mixtures ------------------------------------------------------------------------------------


def _selection(pointwise: Pointwise) -> None:
    backend = pointwise.backend

    def where(
        condition: StridedHandle,
        self: Any,
        other: Any,
        out: StridedHandle | None = None,
    ) -> StridedHandle:
        if condition.dtype == np.uint8:
            warn_user("where(): a condition of uint8 is deprecated\n  try: condition.bool()")
            condition = backend.cast(condition, BOOL)
        if condition.dtype != BOOL:
            raise errors.DtypeError(f"where(): the condition has the dtype bool, not {condition.dtype}")
        operands = [value for value in (self, other) if isinstance(value, StridedHandle)]
        dtype = operands[0].dtype if operands else backend.native_dtype(result_type(self, other))
        if len(operands) == 2:
            return run(backend, "Where", [condition, self, other], dtype, (), out)
        if not operands:
            # The kernel takes at most one number, so two of them become tensors without dimensions.
            both = [fill(backend, backend.empty((), dtype), value) for value in (self, other)]
            return run(backend, "Where", [condition, *both], dtype, (), out)
        functor, number = ("WhereRight", other) if operands[0] is self else ("WhereLeft", self)
        return run(backend, functor, [condition, operands[0]], dtype, (number,), out)

    pointwise.serve("where", ("condition", "self", "other"), where, "all", "native")

    def clamp(
        self: StridedHandle,
        min: StridedHandle | Scalar | None,
        max: StridedHandle | Scalar | None,
        out: StridedHandle | None = None,
    ) -> StridedHandle:
        if min is None and max is None:
            raise errors.ValueRangeError("clamp(): min and max are both None: give one of them")
        if isinstance(min, StridedHandle) and isinstance(max, StridedHandle):
            return run(backend, "Clamp", [self, min, max], self.dtype, (), out)
        if min is None or max is None:
            low = max is None
            return pointwise.two("Maximum2" if low else "Minimum2", self, min if low else max, (), None, out)
        if isinstance(min, StridedHandle) or isinstance(max, StridedHandle):
            return pointwise.two("Minimum2", pointwise.two("Maximum2", self, min), max, (), None, out)
        return pointwise.one("ClampNumbers", self, (min, max), None, out)

    pointwise.serve("clamp", ("self", "min", "max"), clamp, "real_number")
    pointwise.serve_two({"clamp_min": "Maximum2"}, "real_number", takes=("self", "min"))
    pointwise.serve_two({"clamp_max": "Minimum2"}, "real_number", takes=("self", "max"))

    def lerp(
        self: StridedHandle,
        end: StridedHandle,
        weight: StridedHandle | Scalar,
        out: StridedHandle | None = None,
    ) -> StridedHandle:
        if isinstance(weight, StridedHandle):
            return run(backend, "Lerp", [self, end, weight], self.dtype, (), out)
        _expect_number("lerp", "weight", weight, self.dtype)
        return run(backend, "LerpNumber", [self, end], self.dtype, (weight,), out)

    for op in ("lerp", "lerp.Scalar"):
        pointwise.serve(op, ("self", "end", "weight"), lerp, FLOATING)
    for op, functor, dtypes in (("addcmul", "AddCMul", "number"), ("addcdiv", "AddCDiv", "floating_complex")):

        def mixed(
            self: StridedHandle,
            tensor1: StridedHandle,
            tensor2: StridedHandle,
            value: Scalar,
            out: StridedHandle | None = None,
            functor: str = functor,
        ) -> StridedHandle:
            _expect_number(functor.lower(), "value", value, self.dtype)
            return run(backend, functor, [self, tensor1, tensor2], self.dtype, (value,), out)

        pointwise.serve(op, ("self", "tensor1", "tensor2", "value"), mixed, dtypes)


def _expect_number(op: str, name: str, value: object, dtype: np.dtype[Any]) -> None:
    """Raise unless a factor fits the dtype of the result."""
    if (isinstance(value, complex) and dtype.kind != "c") or (
        isinstance(value, float) and dtype.kind in "iu"
    ):
        raise errors.DtypeError(f"{op}(): the {name} {value} cannot be converted to {dtype}")


def fill(backend: CudaBackend, target: StridedHandle, value: Scalar) -> StridedHandle:
    """Write a Python number into every element."""
    return run(backend, "Fill", [target], target.dtype, (value,), target)
