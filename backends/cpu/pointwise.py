"""Kernels that work element by element: NumPy's own functions where they do what PyTorch does."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from tt.backends.array_api.pointwise import check_alpha, check_rounding
from tt.backends.cpu.backend import (
    Array,
)
from tt.backends.cpu.selection import select
from tt.core.library import (
    STORED,
    KernelTable,
    Scalar,
    decode_complex32,
    decode_float8,
    encode_complex32,
    encode_float8,
    errors,
    fitted_number,
    from_numpy_dtype,
    is_float8,
    result_type,
    to_dtype,
    warn_user,
)

__all__ = ["cpu", "refuse_zero"]

cpu: Final = KernelTable(device="cpu", by="NumPy")

NATIVE: Final = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64",
    "float32", "float64", "complex64", "complex128",
)  # fmt: skip
"""Dtypes that NumPy's functions write into an `out` array directly; half precision goes through float32."""

# --- arithmetic ------------------------------------------------------------------------------------------------

# Without alpha, the usual call, the ufunc itself is the kernel: no frame of Python is in between.
cpu.kernel("add", np.add)
cpu.kernel("add", np.add, dtypes=NATIVE, form="out", takes=("self", "other"))
cpu.kernel("sub", np.subtract, dtypes="number")
cpu.kernel("sub", np.subtract, dtypes=[d for d in NATIVE if d != "bool"], form="out", takes=("self", "other"))
cpu.kernel("mul", np.multiply)
cpu.kernel("div", np.true_divide, dtypes="floating_complex")
cpu.kernel("neg", np.negative, dtypes="number")


@cpu.kernel("neg", form="inplace", dtypes="number")
def neg_in_place(self: Array) -> None:
    # NumPy 2.4 takes operand and output for contiguous where both have gaps and the operand's stride is of as many
    # elements as an element has bytes, so the result goes through its own memory.
    if self.flags.forc:
        np.negative(self, out=self)
    else:
        self[...] = np.negative(self)


cpu.kernel("abs", np.absolute, dtypes="number")
cpu.kernel("reciprocal", np.reciprocal, dtypes="floating_complex")
cpu.kernel("maximum", np.maximum, dtypes="real")
cpu.kernel("minimum", np.minimum, dtypes="real")


def _scaled(op: str, self: Array, other: Array | Scalar, alpha: Scalar) -> Any:
    """Return `alpha * other` in the dtype of self."""
    kind = self.dtype.kind
    check_alpha(op, kind in "iu", kind == "b", kind == "c", alpha)
    if kind == "b":
        return np.logical_and(other, bool(alpha))
    # The dtype is given because two Python numbers would multiply in NumPy's default dtype.
    return np.multiply(other, fitted_number(alpha, from_numpy_dtype(self.dtype)), dtype=self.dtype)


@cpu.kernel("add")
def add(self: Array, other: Array | Scalar, alpha: Scalar) -> Any:
    return np.add(self, _scaled("add", self, other, alpha))


@cpu.kernel("add", form="out", dtypes=NATIVE)
def add_out(self: Array, other: Array | Scalar, alpha: Scalar, out: Array) -> None:
    np.add(self, _scaled("add", self, other, alpha), out)


@cpu.kernel("sub", dtypes="number")
def sub(self: Array, other: Array | Scalar, alpha: Scalar) -> Any:
    return np.subtract(self, _scaled("sub", self, other, alpha))


@cpu.kernel("sub", form="out", dtypes=[d for d in NATIVE if d != "bool"])
def sub_out(self: Array, other: Array | Scalar, alpha: Scalar, out: Array) -> None:
    np.subtract(self, _scaled("sub", self, other, alpha), out)


@cpu.kernel("rsub", dtypes="number")
def subtract_from(self: Array, other: Array | Scalar) -> Any:
    return np.subtract(other, self)


@cpu.kernel("rsub", dtypes="number")
def rsub(self: Array, other: Array | Scalar, alpha: Scalar) -> Any:
    return np.subtract(other, _scaled("rsub", self, self, alpha))


@cpu.kernel("pow", dtypes="floating_complex")
def power(self: Array, exponent: Array | Scalar) -> Any:
    result = self**exponent  # the operator has short ways for squares and square roots, np.power has not
    if isinstance(exponent, np.ndarray) and exponent.dtype.kind == "c":
        # NumPy multiplies for whole exponents and divides at last, by infinity and NaN.
        lost = np.isinf(self) & (exponent.real < 0) & (exponent.imag == 0)
        if lost.any():
            result = np.where(lost, 0, result)
    return result


@cpu.kernel("pow", dtypes="integral")
def integer_power(self: Array, exponent: Array | int) -> Any:
    if not isinstance(exponent, np.ndarray) and exponent < 0:
        raise errors.DtypeError("pow(): Integers to negative integer powers are not allowed.")
    negative = np.less(exponent, 0)
    if not negative.any():
        return np.power(self, exponent)
    # A negative exponent gives the rounded inverse: 0, 1 or -1.
    inverse = np.where(self == 1, 1, np.where(self == -1, np.where(exponent % 2 == 0, 1, -1), 0))
    return np.where(negative, inverse, np.power(self, np.where(negative, 0, exponent))).astype(self.dtype)


# --- division --------------------------------------------------------------------------------------------------


def refuse_zero(self: Array, other: Array | Scalar) -> None:
    """Raise if an integer divisor is or contains zero, unless there is nothing to divide."""
    if not np.all(other) and np.size(self):
        raise errors.DivisionByZeroError("ZeroDivisionError: an integer is divided by zero")


@cpu.kernel("floor_divide", dtypes="integral")
def floor_divide(self: Array, other: Array | Scalar) -> Any:
    refuse_zero(self, other)
    return np.floor_divide(self, other)


cpu.kernel("floor_divide", np.floor_divide, dtypes="floating")


@cpu.kernel("div.mode", dtypes="floating")
def rounded_quotient(self: Array, other: Array | Scalar, rounding_mode: str) -> Any:
    check_rounding(rounding_mode)
    return np.floor_divide(self, other) if rounding_mode == "floor" else np.trunc(np.true_divide(self, other))


@cpu.kernel("div.mode", dtypes="integral")
def rounded_integer_quotient(self: Array, other: Array | Scalar, rounding_mode: str) -> Any:
    check_rounding(rounding_mode)
    refuse_zero(self, other)
    quotient = np.floor_divide(self, other)
    if rounding_mode == "floor":
        return quotient
    # Where the signs differ and something is left, rounding down went one too far.
    inexact = np.multiply(quotient, other) != self
    inexact &= np.less(self, 0) != np.less(other, 0)
    return np.add(quotient, inexact, dtype=self.dtype)


@cpu.kernel("remainder", dtypes="integral")
def remainder(self: Array, other: Array | Scalar) -> Any:
    refuse_zero(self, other)
    return np.remainder(self, other)


cpu.kernel("remainder", np.remainder, dtypes="floating")


cpu.kernel("fmod", np.fmod, dtypes="floating")
cpu.kernel("gcd", np.gcd, dtypes="integral")
# A multiple that overflows can be negative; PyTorch returns its absolute value.
cpu.kernel("lcm", lambda self, other: np.abs(np.lcm(self, other)), dtypes="integral")


@cpu.kernel("fmod", dtypes="integral")
def fmod(self: Array, other: Array | Scalar) -> Any:
    refuse_zero(self, other)
    return np.fmod(self, other)


# --- functions of one argument ---------------------------------------------------------------------------------


@cpu.kernel("sigmoid", dtypes="floating_complex")
def sigmoid(self: Array) -> Any:
    result = np.exp(-self)
    return np.divide(1, np.add(result, 1, result), result) if self.ndim else 1 / (1 + result)


@cpu.kernel("erf", dtypes="floating")
def erf(self: Array) -> Any:
    from scipy.special import erf  # SciPy takes as long to import as NumPy, and few programs need it

    return erf(self)


# --- comparison and logic --------------------------------------------------------------------------------------

for _op, _function in {
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
    "logical_not": np.logical_not,
}.items():  # fmt: skip
    cpu.kernel(_op, _function, half="native")
for _op, _function in {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}.items():  # fmt: skip
    cpu.kernel(_op, _function, dtypes="real", half="native")

_BOOL: Final = np.dtype(bool)

# --- selection -------------------------------------------------------------------------------------------------


@cpu.kernel("where", half="native")
def where(condition: Array, self: Array | Scalar, other: Array | Scalar) -> Any:
    if condition.dtype == np.uint8:
        warn_user("where(): a condition of uint8 is deprecated\n  try: condition.bool()")
        condition = condition != 0
    if condition.dtype is not _BOOL:
        raise errors.DtypeError(f"where(): the condition has the dtype bool, not {condition.dtype}")
    if not isinstance(self, np.ndarray):
        self = _choice(self, other.dtype if isinstance(other, np.ndarray) else result_type(self, other).numpy)
    if not isinstance(other, np.ndarray):
        other = _choice(other, self.dtype)
    # NumPy computes places from the bytes, which may be others than 0 and 1.
    return select(np.asarray(condition.view(np.uint8) != 0), self, other)


def _choice(number: Scalar, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return a number as an array; negative integers wrap into unsigned dtypes, and float8 saturates."""
    if dtype.kind in "iu" or is_float8(dtype):
        return np.asarray(fitted_number(number, from_numpy_dtype(dtype))).astype(dtype)
    return np.asarray(number, dtype=dtype)


@cpu.kernel("clamp", dtypes="real_number")
def clamp(self: Array, min: Array | Scalar | None, max: Array | Scalar | None) -> Any:
    if max is None:
        if min is None:
            raise errors.ValueRangeError("clamp(): min and max are both None: give one of them")
        return np.maximum(self, wrapped(min, self))
    # The upper bound is applied last: it wins where min is greater than max, as in PyTorch.
    return np.minimum(self if min is None else np.maximum(self, wrapped(min, self)), wrapped(max, self))


def wrapped(number: Array | Scalar, like: Array) -> Any:
    """Return a number as an operand: a negative one wraps into an unsigned dtype, for which NumPy refuses it."""
    return number if like.dtype.kind != "u" or isinstance(number, np.ndarray) else _choice(number, like.dtype)


# --- choosing --------------------------------------------------------------------------------------------------

cpu.kernel("clamp_min", lambda self, min: np.maximum(self, wrapped(min, self)), dtypes="real")
cpu.kernel("clamp_max", lambda self, max: np.minimum(self, wrapped(max, self)), dtypes="real")
cpu.kernel("fmax", np.fmax, dtypes="real")
cpu.kernel("fmin", np.fmin, dtypes="real")
cpu.kernel(
    "heaviside", lambda self, values: np.where(self == 0, values, self > 0), dtypes="real", half="native"
)

# --- bits ------------------------------------------------------------------------------------------------------

cpu.kernel("bitwise_left_shift", np.left_shift, dtypes="integral")
cpu.kernel("bitwise_right_shift", np.right_shift, dtypes="integral")

# --- floating point numbers ------------------------------------------------------------------------------------

cpu.kernel("frexp", np.frexp, dtypes="floating")


@cpu.kernel("ldexp", dtypes="floating")
def ldexp(self: Array, other: Array | Scalar) -> Any:
    whole = np.rint(other)
    if not np.array_equal(whole, other):
        return self * np.exp2(other)
    # Exact also where 2**other alone would overflow or be subnormal. NumPy takes exponents of 32 bits; the
    # bounds exceed those of any dtype.
    return np.ldexp(self, np.clip(whole, -10_000, 10_000).astype(np.int32))


# --- logarithms, geometry --------------------------------------------------------------------------------------

cpu.kernel("logaddexp", np.logaddexp, dtypes="floating")
cpu.kernel("logaddexp2", np.logaddexp2, dtypes="floating")
cpu.kernel("atan2", np.arctan2, dtypes="floating")
cpu.kernel("hypot", np.hypot, dtypes="floating")
cpu.kernel("xlogy", lambda self, other: _product_with_log(np.log, self, other), dtypes="floating")
cpu.kernel("special_xlog1py", lambda self, other: _product_with_log(np.log1p, self, other), dtypes="floating")


def _product_with_log(logarithm: np.ufunc, self: Array, other: Array | Scalar) -> Any:
    """Return self * log(other), and 0 where self is 0 and the other a number."""
    product = np.multiply(self, logarithm(other, dtype=self.dtype))
    return np.where((self == 0) & np.equal(other, other), self.dtype.type(0), product)


# --- three tensors ---------------------------------------------------------------------------------------------


@cpu.kernel("addcmul", dtypes="number")
def addcmul(self: Array, tensor1: Array, tensor2: Array, value: Scalar) -> Any:
    if isinstance(value, complex) and self.dtype.kind != "c":
        raise errors.DtypeError(f"addcmul(): the value {value} cannot be converted to {self.dtype}")
    if value != 1:
        factor = wrapped(value, self)
        # NumPy would refuse or promote a Python number that the dtype cannot hold, so it takes the dtype
        # first.
        tensor1 = np.multiply(tensor1, factor if isinstance(factor, np.ndarray) else self.dtype.type(value))
    return np.add(self, np.multiply(tensor1, tensor2))


@cpu.kernel("addcdiv", dtypes="floating", same_dtype=True)  # the composite refuses to divide integers
def addcdiv(self: Array, tensor1: Array, tensor2: Array, value: Scalar) -> Any:
    if isinstance(value, complex):
        raise errors.DtypeError(f"addcdiv(): the value {value} cannot be converted to {self.dtype}")
    quotient = np.divide(tensor1, tensor2)
    if value != 1:
        factor = wrapped(value, self)
        quotient = np.multiply(quotient, factor if isinstance(factor, np.ndarray) else self.dtype.type(value))
    return np.add(self, quotient)


@cpu.kernel("lerp", dtypes="floating_complex")
@cpu.kernel("lerp.Scalar", dtypes="floating_complex")
def lerp(self: Array, end: Array, weight: Array | Scalar) -> Any:
    if isinstance(weight, np.ndarray):
        # The half dtypes come in float32, and complex32 in complex64.
        weight = decode_complex32(weight)
        if weight.ndim and weight.dtype != self.dtype and weight.itemsize != 2:
            # The message does not matter: after a kernel raises, the shape rule runs and explains.
            raise ValueError("weight of another dtype")
        weight = weight.astype(self.dtype, copy=False)
    elif isinstance(weight, complex) and self.dtype.kind != "c":
        raise errors.DtypeError(f"lerp(): the weight {weight} cannot be converted to {self.dtype}")
    # In the order of self, where NumPy would choose that of its first operand.
    # Of arrays without dimensions it is a NumPy scalar, which nothing can be written into.
    span: Any = np.subtract(end, self, out=np.empty_like(self)) if end.shape == self.shape else end - self
    # Counted from the nearer of the two, so that both are met exactly.
    if not isinstance(weight, np.ndarray):
        if abs(weight) < 0.5:
            return self + span * weight
        return np.subtract(end, span * (1 - weight), out=span if isinstance(span, np.ndarray) else None)
    return np.where(np.abs(weight) < 0.5, self + span * weight, end - span * (1 - weight))


# --- exponentials and logarithms, trigonometric and hyperbolic functions -----------------------------------------

cpu.kernel("exp2", np.exp2, dtypes="floating")


@cpu.kernel("exp2", dtypes="complex")
def exp2(self: Array) -> Any:
    # Part by part, as one of them may be infinite.
    result = np.empty_like(self)
    np.multiply(self.real, math.log(2), out=result.real)
    np.multiply(self.imag, math.log(2), out=result.imag)
    return np.exp(result, out=result)


# --- signs and parts -------------------------------------------------------------------------------------------


@cpu.kernel("sgn", dtypes="complex")
def sgn(self: Array) -> Any:
    size, result = np.abs(self), np.zeros_like(self)
    for part in ("real", "imag"):  # one of them may be infinite
        np.divide(getattr(self, part), size, out=getattr(result, part), where=size != 0)
    return result


# --- tests -----------------------------------------------------------------------------------------------------


def _test(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a test of floating point numbers, which integers and bools fail."""

    def test(self: Array) -> Any:
        return function(self) if self.dtype.kind == "f" else np.zeros_like(self, np.bool_)

    return test


cpu.kernel("isposinf", _test(np.isposinf), dtypes="real")
cpu.kernel("isneginf", _test(np.isneginf), dtypes="real")


@cpu.kernel("nan_to_num", dtypes=("float16", "float32", "float64", "complex64", "complex128"), half="native")
def nan_to_num(self: Array, nan: float | None, posinf: float | None, neginf: float | None) -> Any:
    return np.nan_to_num(self, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


def scipy_function(name: str) -> Callable[[Any], Any]:
    """Return a kernel that calls a function of scipy.special, which is imported only when it is needed."""

    def kernel(self: Array) -> Any:
        from scipy import special

        return getattr(special, name)(self)

    return kernel


for _op, _name in {
    "erfinv": "erfinv", "digamma": "psi", "i0": "i0",
    "special_entr": "entr", "special_i0e": "i0e", "special_i1": "i1", "special_i1e": "i1e",
    "special_bessel_j0": "j0", "special_bessel_j1": "j1", "special_bessel_y0": "y0", "special_bessel_y1": "y1",
    "special_modified_bessel_k0": "k0", "special_modified_bessel_k1": "k1",
    "special_scaled_modified_bessel_k0": "k0e", "special_scaled_modified_bessel_k1": "k1e",
    "special_ndtri": "ndtri", "special_log_ndtr": "log_ndtr", "special_erfcx": "erfcx",
}.items():  # fmt: skip
    cpu.kernel(_op, scipy_function(_name), dtypes="floating", by="SciPy")


@cpu.kernel("igamma", dtypes="floating", by="SciPy")
def igamma(self: Array, other: Array | Scalar) -> Any:
    from scipy import special

    return special.gammainc(self, other)


@cpu.kernel("igammac", dtypes="floating", by="SciPy")
def igammac(self: Array, other: Array | Scalar) -> Any:
    from scipy import special

    return special.gammaincc(self, other)


@cpu.kernel("special_zeta", dtypes="floating", by="SciPy")
def zeta(self: Array, other: Array | Scalar) -> Any:
    from scipy import special

    return special.zeta(self, other)


@cpu.kernel("special_airy_ai", dtypes="floating", by="SciPy")
def airy_ai(self: Array) -> Any:
    from scipy import special

    result = np.where(np.isfinite(self) & (self > 1000), 0, special.airy(self)[0])  # SciPy's is NaN there
    far = np.isfinite(self) & (self < -1e6)  # and here, where two terms of the expansion have all digits
    if far.any():
        result = np.where(far, _airy_far_below(np.where(far, self, -1e6).astype(np.float64)), result)
    return result.astype(self.dtype, copy=False)


def _airy_far_below(x: Array) -> Any:
    """Return Ai of large negative numbers (NIST Handbook of Mathematical Functions, 9.7.9)."""
    far = np.minimum(-x, 1e25)  # no digit of the phase is left, and the power of larger numbers may overflow
    zeta = 2 / 3 * far * np.sqrt(far)
    wave = np.cos(zeta - np.pi / 4) + 5 / 72 * np.sin(zeta - np.pi / 4) / zeta
    return wave / (np.sqrt(np.pi) * np.sqrt(np.sqrt(-x)))


# --- error functions -------------------------------------------------------------------------------------------

ERFCX: Final = (
    1.23299512, -0.139621086, 0.0153797687, 0.0680961749, -0.101040941, 0.0937402055, -0.0663190441,
    0.0371404587, -0.016230392, 0.00508226958, -0.000709132787, -0.00024843673, 0.000114208173,
)  # fmt: skip
"""Of (1 + 2x) exp(x^2) erfc(x) for x >= 0 in powers of (x - 4) / (x + 4), to the last digit of float32."""
BLOCK: Final = 1 << 15
"""Elements that stay in a processor's cache through all steps."""


@cpu.kernel("erfc", dtypes="floating")
def erfc(self: Array) -> Any:
    if self.dtype != np.float32:
        from scipy import special

        return special.erfc(self)
    packed = np.array(self, order="K")  # an array where NumPy hands over a number
    flat = packed.ravel("K")
    for start in range(0, flat.size, BLOCK):
        tail = flat[start : start + BLOCK]
        _erfc_of_single(tail.copy(), tail)  # the signs are read at the end
    return packed


def _erfc_of_single(x: Array, tail: Array) -> None:
    """Write erfc of float32 into `tail`, ten times as fast as SciPy."""
    size = np.abs(x)
    # Beyond 12 the tail is 0 in float32, and the quotient of infinities would be NaN.
    np.minimum(size, 12, out=size)
    t, scratch = size - 4, size + 4
    t /= scratch
    # Horner's scheme, from the highest coefficient down.
    np.multiply(t, ERFCX[-1], out=tail)
    for coefficient in ERFCX[-2:0:-1]:
        tail += coefficient
        tail *= t
    tail += ERFCX[0]
    np.multiply(size, 2, out=scratch)
    scratch += 1
    tail /= scratch
    # exp(-x^2) magnifies the rounding error of x^2 by x^2, so x^2 is written as short^2 + (x - short)(x +
    # short).
    # A short number has an exact square; the remainder goes into a second factor.
    short = np.floor(np.multiply(size, 16, out=t), out=t)
    short *= 1 / 16
    np.subtract(short, size, out=scratch)
    size += short
    scratch *= size
    tail *= np.exp(scratch, out=scratch)
    np.multiply(short, short, out=short)
    tail *= np.exp(np.negative(short, out=short), out=short)
    # 2 less the tail for negative numbers.
    sign = np.copysign(np.float32(1), x)
    tail *= sign
    tail += np.subtract(1, sign, out=sign)


# --- the gamma function ----------------------------------------------------------------------------------------


@cpu.kernel("lgamma", dtypes="floating", by="SciPy")
def lgamma(self: Array) -> Any:
    from scipy import special

    result = np.asarray(special.gammaln(self))
    if self.dtype == np.float64:
        if (near := np.abs(self - 1.5) < 0.75).any():
            result[near] = _near_zeros(self[near])
        if (tiny := (np.abs(self) < 1e-300) & (self != 0)).any():  # of which SciPy takes the reciprocal
            result[tiny] = -np.log(np.abs(self[tiny]))
    # SciPy returns -inf for -inf, PyTorch inf.
    return np.abs(result, out=result, where=np.isneginf(self))


@cache
def _slopes() -> Any:
    """Return the coefficients of lgamma(2 + z) / z, highest first; the one of z^n is (zeta(n + 1) - 1) / (n + 1)."""
    from scipy import special

    n = np.arange(30, 1, -1)
    return np.append((-1.0) ** n * special.zetac(n) / n, 1 - np.euler_gamma)


def _near_zeros(x: Array) -> Any:
    """Return lgamma of numbers about its zeros, 1 and 2, by its series there, as SciPy loses digits."""
    first = x < 1.5
    z = np.where(first, x - 1.0, x - 2.0)
    return z * np.polyval(_slopes(), z) - np.where(first, np.log1p(z), 0)


@cpu.kernel("polygamma", dtypes="floating", by="SciPy")
def polygamma(n: int, self: Array) -> Any:
    from scipy import special

    if n < 0:
        raise errors.ValueRangeError(f"polygamma(): polygamma(n, x) does not support negative n, got {n}")
    return special.polygamma(np.int64(n), self).astype(self.dtype, copy=False)


# --- of eight bits -------------------------------------------------------------------------------------------


def _decoded8(value: Array | float) -> Any:
    """Return an operand in float32."""
    return decode_float8(value) if isinstance(value, np.ndarray) else np.float32(value)


@cpu.kernel("eq", dtypes="float8")
def eq_float8(self: Array | float, other: Array | float) -> Array:
    return np.asarray(_decoded8(self) == _decoded8(other))


@cpu.kernel("ne", dtypes="float8")
def ne_float8(self: Array | float, other: Array | float) -> Array:
    return np.asarray(_decoded8(self) != _decoded8(other))


# `_function` is bound as a default: a closure would see that of the last turn.
for _op, _function in (("isnan", np.isnan), ("isinf", np.isinf), ("isfinite", np.isfinite)):

    def _classify(self: Array, function: np.ufunc = _function) -> Array:
        return np.asarray(function(decode_float8(self)))

    cpu.kernel(_op, _classify, dtypes="float8", takes=("self",))


@cpu.kernel("abs", dtypes=[d.name for d in STORED if d.is_signed])
def abs_float8(self: Array) -> Array:
    return encode_float8(np.abs(decode_float8(self)), self.dtype)


# --- complex numbers of four bytes, compared in the common dtype, in which two numbers may become one --------

_COMPLEX32: Final = to_dtype("complex32").numpy


@cpu.kernel("complex", dtypes="float16", half="native")
def complex_of_halves(real: Array, imag: Array) -> Array:
    shape = np.broadcast_shapes(real.shape, imag.shape)
    parts = np.empty((*shape, 2), np.float16)
    parts[..., 0], parts[..., 1] = real, imag
    return parts.view(_COMPLEX32).reshape(shape)


def _decoded32(value: Array | Scalar) -> Array:
    """Return an operand, rounded to complex32, in complex64."""
    return decode_complex32(encode_complex32(np.asarray(value)))


@cpu.kernel("eq", dtypes="complex32")
def eq_complex32(self: Array | Scalar, other: Array | Scalar) -> Array:
    return np.asarray(_decoded32(self) == _decoded32(other))


@cpu.kernel("ne", dtypes="complex32")
def ne_complex32(self: Array | Scalar, other: Array | Scalar) -> Array:
    return np.asarray(_decoded32(self) != _decoded32(other))


@cpu.kernel("complex", dtypes=("float32", "float64"), half="native")
def complex_(real: Array, imag: Array) -> Array:
    out = np.empty(np.broadcast_shapes(real.shape, imag.shape), np.result_type(real, np.complex64))
    out.real, out.imag = real, imag
    return out
