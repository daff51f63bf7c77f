"""Calls that are not compared with PyTorch, or differ from it on purpose: the narrow rules, each with its reason."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import tt
from tt.core.dispatch.registry.registry import REGISTRY
from tt.testing.references import as_array

__all__ = ["ACCEPTED", "DIFFERENT", "POLYNOMIALS", "undefined", "without_gradients"]

FACTORED: Final = (
    "cholesky", "cholesky_inverse", "cholesky_solve", "det", "inverse", "logdet", "lu", "matrix_exp", "matrix_power",
    "pinverse", "qr", "slogdet", "svd", "triangular_solve", "lu_unpack",
)  # fmt: skip
EQUALS: Final = "which of several equal elements is found is left open"
INFINITE: Final = "PyTorch updates a mean with each element, and the mean of infinities of one sign is NaN"
STRIDED: Final = "reads memory around the elements, and PyTorch gets the elements alone"
PIVOTS: Final = "the factors of a singular matrix depend on which of equal pivots is taken"
RANK: Final = "the results of a driver for a matrix without full rank are its own affair"

DIFFERENT: Final[Mapping[str, str]] = {
    **dict.fromkeys(("as_strided", "as_strided_copy", "as_strided_scatter"), STRIDED),
    **dict.fromkeys(("kthvalue", "median.dim", "nanmedian.dim", "mode", "topk"), EQUALS),
    **dict.fromkeys(("var_mean", "std_mean"), INFINITE),
    **dict.fromkeys(
        ("median", "nanmedian"), "the median of no integers is NaN as an integer, which can be any"
    ),
    "lcm": "a multiple that the dtype cannot hold has another sign",
    **dict.fromkeys(("linalg_lu", "linalg_lu_factor", "linalg_lu_factor_ex"), PIVOTS),
    "linalg_lstsq": RANK,
    "unique_dim": "PyTorch returns places and counts that are not asked for",
}
"""Operators, with or without their overload, that are not compared, and why."""

VECTORS: Final = "factors are free to change sign or phase, and a gradient of theirs with them"
TRIANGLE: Final = "PyTorch has a gradient for the triangle that is not read"

GRADIENTS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("linalg_eig", "linalg_eigh", "linalg_svd", "svd", "linalg_qr", "qr"), VECTORS),
    **dict.fromkeys(("cholesky_solve", "cholesky_inverse"), TRIANGLE),
    **dict.fromkeys(
        ("det", "linalg_det"), "PyTorch's gradient of the determinant of a singular matrix is zero"
    ),
    "ldexp": "PyTorch's gradient has the power of two as an integer",
    **dict.fromkeys(("quantile", "nanquantile", "quantile.scalar", "nanquantile.scalar"), EQUALS),
    "frexp": "PyTorch takes the power of two in single precision",
    "cosine_similarity": "PyTorch's gradient is that of the norms, also where eps has replaced them",
    **dict.fromkeys(
        ("native_layer_norm", "native_group_norm", "native_batch_norm"),
        "PyTorch's gradient takes the mean and the deviation that are returned for constants",
    ),
    "polar": "PyTorch's gradient takes the absolute value for positive",
}
"""Operators whose gradients are not compared, and why."""

POLYNOMIALS: Final = tuple(
    f"special_{family}"
    for family in (
        "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
        *(f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"),
    )
)  # fmt: skip

ACCEPTED: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    # x * 0.5 * (1 + erf(x / sqrt(2))) is x for large x.  The loops over vectors of PyTorch's multiply in another order
    # than its loop over single elements, overflow, and give inf, or NaN for inf.
    "gelu": lambda found, wanted: (found > 1e38) & ~np.isfinite(wanted),
    "hardswish": lambda found, wanted: (found > 1e38) & ~np.isfinite(wanted),
    # PyTorch subtracts a multiple, which is infinite where the divisor is small.
    "remainder": lambda found, wanted: np.isfinite(found) & np.isnan(wanted),
    # At a pole the sine in the formula of reflection is small in PyTorch, and zero in tt; at infinity it is NaN.
    "polygamma": lambda found, wanted: np.isposinf(found) | (found == 0) & np.isnan(wanted),
    # Zero times a power of two that is infinite, among integers and bools.
    "ldexp": lambda found, wanted: (found == 0) & np.isnan(wanted),
    # A divisor is the greatest one only with a positive sign (docs/differences.md).
    "gcd": lambda found, wanted: (found > 0) & (found == -wanted),
    # The power of zero: PyTorch takes the logarithm of complex numbers, also of zero and of infinities.
    **dict.fromkeys(("pow", "float_power"), lambda found, wanted: np.isfinite(found) & np.isnan(wanted)),
    # Zero times the logarithm of zero, or its slope there.
    **dict.fromkeys(
        ("xlogy", "xlog1py", "special_xlog1py"), lambda found, wanted: (found == 0) & np.isnan(wanted)
    ),
    "poisson_nll_loss": lambda found, wanted: np.isfinite(found) & np.isnan(wanted),
    # PyTorch's loops over vectors subtract a multiple, which is infinite where the divisor is small.
    "fmod": lambda found, wanted: np.isfinite(found) & np.isnan(wanted),
    # The slope of a real number is that of a quotient of complex ones, which overflows in single precision.
    "addcdiv": lambda found, wanted: np.isfinite(found) & np.isnan(wanted),
    # The inverse of a number that is almost zero is infinite, and PyTorch multiplies its logarithm by zero.
    "special_modified_bessel_k1": lambda found, wanted: np.isposinf(found) & np.isnan(wanted),
    "special_scaled_modified_bessel_k1": lambda found, wanted: np.isposinf(found) & np.isnan(wanted),
    # PyTorch's exponential overflows before the logarithm is taken.
    "soft_margin_loss": lambda found, wanted: np.isfinite(found) & np.isposinf(wanted),
    # Products of the other elements, and logarithms at zero: PyTorch divides by the element, NaN or zero.
    "prod": lambda found, wanted: np.isfinite(found) & np.isnan(wanted),
    # An infinite target: target * (log(target) - input) is infinite, a difference of products NaN.
    "kl_div": lambda found, wanted: ~np.isnan(found) & np.isnan(wanted),
    # Of a singular matrix, it is infinite or as large as what rounding leaves of the zero.
    "linalg_cond": lambda found, wanted: (
        (found > 1e6) & ~(wanted < 1e6) | (abs(found) < 1e-6) & (abs(wanted) < 1e-6)
    ),
    # The powers of PyTorch overflow where tt scales by the largest difference.
    "dist": lambda found, wanted: np.isfinite(found) & ((abs(found) > abs(wanted)) | ~np.isfinite(wanted)),
    # A logarithm of complex numbers, less a whole number of turns, which depends on the order of the sums.  Of a real
    # part that is NaN the imaginary one may be a number.
    "logcumsumexp": lambda found, wanted: (
        (abs((found - wanted).imag) > 6) & (abs(np.exp(found - wanted) - 1) < 1e-3)
        | np.isfinite(found) & np.isnan(wanted)
    ),
    # In a dimension that keeps its size, PyTorch adds the element times zero.
    "interpolate": lambda found, wanted: np.isinf(found) & np.isnan(wanted),
    # PyTorch's first steps are NaN where it looks whether one of the arguments is zero or infinite.
    **dict.fromkeys(
        ("igamma", "igammac"),
        lambda found, wanted: np.isnan(found) & np.isin(wanted, (0, 1)) | np.isnan(wanted),
    ),
    # PyTorch's asymptotic series begins at -2.09, where five digits are right.
    "special_airy_ai": lambda found, wanted: abs(found - wanted) < 1e-5,
    # The first term of an infinite sum is zero at infinity.
    "special_zeta": lambda found, wanted: (found == 0) & np.isnan(wanted),
    # PyTorch takes NaN for a negative degree, and for zero.
    **dict.fromkeys(POLYNOMIALS, lambda found, wanted: np.isnan(found)),
    # An infinite step times zero.
    "fft_fftfreq": lambda found, wanted: (found == 0) & np.isnan(wanted),
    "fft_rfftfreq": lambda found, wanted: (found == 0) & np.isnan(wanted),
}
"""Functions of the values found and PyTorch's: where tt's are better, although they differ."""


@dataclass(frozen=True)
class Call:
    """A call, as rules look at it: its name without overload, its arguments, and the tensors among them."""

    short: str
    module: str
    kind: str
    arguments: Mapping[str, Any]
    values: list[Any]

    def is_one_of(self, *names: str) -> bool:
        """Return whether the operator has one of some names."""
        return self.short in names

    def over(self, limit: float, kinds: tuple[str, ...]) -> bool:
        """Return whether a tensor of some kinds of dtypes has a number beyond a limit, or NaN."""
        return any(value.dtype.kind in kinds and not _largest(value) < limit for value in self.values)


INEXACT: Final = ("floating", "complex")
WHOLE: Final = ("signed", "unsigned")
SQUARES: Final = (
    "var",
    "std",
    "layer_norm",
    "group_norm",
    "batch_norm",
    "instance_norm",
    "rms_norm",
    "normalize",
    "norm",
    "_foreach_norm",
    "native_layer_norm",
    "native_group_norm",
    "native_batch_norm",
)
BLENDS: Final = ("quantile", "nanquantile", "scaled_dot_product_attention", "cdist")
PRODUCTS: Final = (
    "bilinear", "einsum", "tensordot", "chain_matmul", "matrix_power", "mm", "bmm", "mv", "dot", "vdot", "matmul",
    "inner", "addmm", "addmv", "addbmm", "baddbmm", "linear", "_addmm_activation", "ormqr", "rnn_relu", "rnn_tanh",
    "lstm", "gru", "rnn_relu_cell", "rnn_tanh_cell", "lstm_cell", "gru_cell",
)  # fmt: skip
ORDERS: Final = ("linalg_vector_norm", "linalg_norm", "norm", "normalize", "cdist")
SLOPES: Final = ("gradient", "trapezoid", "cumulative_trapezoid")

UNDEFINED: Final[Mapping[str, Callable[[Call], bool]]] = {
    "the boundaries are in no order": lambda call: (
        call.is_one_of("searchsorted", "bucketize") and not _ascending(call.arguments)
    ),
    "PyTorch wraps a number around that integers cannot be": lambda call: (
        call.is_one_of("searchsorted", "bucketize") and len(call.values) == 1 and _beyond(call)
    ),
    "PyTorch's sums and differences of integers wrap around": lambda call: (
        (call.is_one_of(*SLOPES) and (call.over(8, WHOLE) or _unsigned(call)))
        or (call.short.startswith(("avg_pool", "adaptive_avg_pool")) and call.over(1e6, WHOLE))
    ),
    "PyTorch promotes where a dimension of one operand is summed and longer than 1, or fails": lambda call: (
        call.short == "einsum" and len(call.values) > 1 and call.values[0].dtype.kind not in INEXACT
    ),
    "LAPACK lets infinities cancel in its order, and rounding decides about a matrix without full rank": lambda call: (
        (call.short in FACTORED or call.module == "linalg")
        and not all(_regular(matrix) for matrix in _matrices(call))
    ),
    "LAPACK leaves out products with zeros, also those with infinity": lambda call: (
        call.short in ("orgqr", "ormqr", "householder_product")
        and not all(np.isfinite(as_array(value)).all() for value in call.values)
    ),
    "squares of large numbers overflow, and PyTorch has them in double precision": lambda call: (
        call.short in SQUARES and call.over(1e18, INEXACT)
    ),
    "zeros of the padding times an infinite weight: libraries leave them out, or not": lambda call: (
        call.short.startswith("conv") and not np.isfinite(as_array(call.arguments["weight"])).all()
    ),
    "which sums overflow, and which infinities cancel then, depends on the order": lambda call: (
        call.short.startswith(("conv", "avg_pool", "adaptive_avg_pool"))
        and any(map(_near_overflow, call.values))
    ),
    "weights of zero choose between infinities": lambda call: (
        call.short in BLENDS and call.over(1e18, INEXACT)
    ),
    "which infinities cancel, and which number a maximum with NaN is, depends on the order": lambda call: (
        (call.short in (*SLOPES, *PRODUCTS, "embedding_bag") or call.module == "fft")
        and call.over(1e30, INEXACT)
    ),
    "which products overflow, and which vanish before, depends on the order": lambda call: (
        call.short == "prod" and call.over(1e18, INEXACT) and any(map(_near_zero, call.values))
    ),
    "infinite weights, of which rounding decides which ones cancel": lambda call: (
        call.short in ("cross_entropy", "nll_loss") and call.over(1e30, INEXACT)
    ),
    "losses of integers are now integers, now floats": lambda call: (
        call.short.endswith("loss") and any(value.dtype.kind not in INEXACT for value in call.values[:2])
    ),
    "PyTorch divides by what follows the last bag": lambda call: (
        call.short == "embedding_bag"
        and bool(call.arguments["include_last_offset"])
        and _open(call.arguments)
    ),
    "PyTorch's powers of this order overflow or vanish": lambda call: (
        call.short in ORDERS and max(_orders(call.arguments), default=0) > 20
    ),
    "the powers of distances overflow in PyTorch, and infinities cancel": lambda call: (
        call.is_one_of("pairwise_distance", "triplet_margin_loss", "pdist") and call.over(1e12, INEXACT)
    ),
    "PyTorch has other results for points at no place in two dimensions and in three": lambda call: (
        call.short.startswith("grid_sample") and not _largest(call.arguments["grid"]) < 1e18
    ),
    "PyTorch has the phase of a large number in single precision": lambda call: (
        call.short.startswith(("special_airy", "special_bessel", "special_spherical"))
        and call.over(1e3, (*WHOLE, *INEXACT))
    ),
    "PyTorch takes numbers below the normal ones for zero": lambda call: (
        call.is_one_of("igamma", "igammac")
        and any(
            ((abs(x) > 0) & (abs(x) < np.finfo(x.dtype).tiny)).any()
            for x in map(as_array, call.values)
            if x.dtype.kind == "f"
        )
    ),
    "PyTorch's backward reads what an empty result has not": lambda call: (
        call.short == "pdist" and call.values[0].shape[0] < 2
    ),
    "PyTorch adds up what lies behind the data": lambda call: (
        call.short == "segment_reduce" and bool(call.arguments.get("unsafe"))
    ),
    "bins are in no order": lambda call: (
        call.short.startswith("histogram")
        and not all(
            (np.diff(as_array(bins)) >= 0).all()
            for bins in _tensors(call.arguments["bins"])
            if bins.ndim == 1
        )
    ),
    "terms of the multivariate gamma function are near its poles": lambda call: (
        call.short == "mvlgamma" and not (as_array(call.values[0]) > (call.arguments["p"] - 1) / 2).all()
    ),
    "rows with NaN have no order": lambda call: (
        call.is_one_of("unique", "unique_dim")
        and call.arguments.get("dim") is not None
        and _has_nan(call.values[0])
    ),
    "there are no frequencies of a negative length": lambda call: (
        call.is_one_of("fft_rfftfreq") and call.arguments["n"] < 0
    ),
    "a place that comes twice has no slope": lambda call: (
        call.short == "gradient" and _repeated(call.arguments)
    ),
    "powers beyond what an integer can be": lambda call: (
        call.short == "logspace" and call.over(15, (*WHOLE, *INEXACT))
    ),
    "PyTorch leaves a tensor without elements as it is": lambda call: (
        call.is_one_of("pixel_shuffle", "pixel_unshuffle") and not call.values[0].numel()
    ),
    "numbers near the ends of the range overflow or vanish in one step or another": lambda call: (
        call.kind not in ("pointwise", "view")
        and any(not 1e-30 < abs(number) < 1e30 for number in _floats(call.arguments) if number)
    ),
}
"""Reasons why the result for some arguments is left open, and which these are."""


def undefined(name: str, arguments: Mapping[str, Any]) -> bool:
    """Return whether no result is promised for the arguments, or for its dtype."""
    definition = REGISTRY.operator(name).definition
    values = [value for argument in arguments.values() for value in _tensors(argument)]
    call = Call(name.partition(".")[0], definition.module, definition.kind, arguments, values)
    return any(rule(call) for rule in UNDEFINED.values())


def _ascending(arguments: Mapping[str, Any]) -> bool:
    boundaries = as_array(arguments.get("sorted_sequence", arguments.get("boundaries")))
    if arguments.get("sorter") is not None:
        boundaries = np.take_along_axis(boundaries, as_array(arguments["sorter"]), -1)
    return boundaries.ndim == 0 or bool((boundaries[..., 1:] >= boundaries[..., :-1]).all())


def _beyond(call: Call) -> bool:
    dtype = call.values[0].dtype
    number = call.arguments["self"]
    limits = tt.iinfo(dtype) if dtype.kind in WHOLE else None
    return limits is not None and isinstance(number, int) and not limits.min <= number <= limits.max


def _unsigned(call: Call) -> bool:
    return any(value.dtype.kind == "unsigned" for value in call.values)


def _open(arguments: Mapping[str, Any]) -> bool:
    offsets = arguments["offsets"]
    return bool(offsets.numel()) and offsets[-1].item() != arguments["input"].numel()


def _floats(arguments: Mapping[str, Any]) -> list[float]:
    listed = [many if isinstance(many, list | tuple) else [many] for many in arguments.values()]
    return [number for many in listed for number in many if isinstance(number, float)]


def _orders(arguments: Mapping[str, Any]) -> list[float]:
    found = (arguments.get(name) for name in ("p", "ord", "norm_type"))
    return [abs(order) for order in found if isinstance(order, int | float) and abs(order) < math.inf]


def _repeated(arguments: Mapping[str, Any]) -> bool:
    """Return whether two neighbours, or the neighbours of an element, have one place."""
    places = [as_array(one) for one in _tensors(arguments["spacing"])]
    return any((one[1:] == one[:-1]).any() or (one[2:] == one[:-2]).any() for one in places if one.ndim == 1)


def _largest(value: Any) -> float:
    """Return the largest magnitude; NaN if there is one."""
    array = np.abs(as_array(value).astype(np.complex128))
    return float(array.max(initial=0.0))


def _has_nan(value: Any) -> bool:
    return bool(np.isnan(as_array(value).astype(np.complex128)).any())


def _near_overflow(value: Any) -> bool:
    """Return whether a finite number is so large that a few of them are infinite."""
    array = np.abs(as_array(value).astype(np.complex128))
    limit = 1e30 if value.dtype.kind not in INEXACT else float(tt.finfo(value.dtype).max) / 1e3
    return bool((np.isfinite(array) & (array > limit)).any())


def _near_zero(value: Any) -> bool:
    """Return whether there is a number other than zero that is so small that a few of them are zero."""
    array = np.abs(as_array(value).astype(np.complex128))
    return bool(((array > 0) & (array < 1e-18)).any())


def _matrices(call: Call) -> list[Any]:
    """Return the matrices of a call; those of equations between tensors have several dimensions for one."""
    arrays = [as_array(value) for value in call.values]
    if call.short == "linalg_tensorinv":
        rows = int(np.prod(arrays[0].shape[: call.arguments["ind"]]))
        return [arrays[0].reshape(rows, -1)] if rows else arrays
    if call.short == "linalg_tensorsolve" and arrays[1].size:
        dims = call.arguments["dims"] or ()
        places = [place - len(dims) for place in range(len(dims))]
        return [np.moveaxis(arrays[0], dims, places).reshape(arrays[1].size, -1), arrays[1].reshape(-1)]
    return arrays


def _regular(matrix: Any) -> bool:
    if not np.isfinite(matrix).all():
        return False
    if matrix.ndim < 2 or not matrix.size or matrix.dtype.kind in "biu":
        return True
    wide = matrix.astype(np.complex128)
    least = min(wide.shape[-2:])  # of the columns of a wide matrix, QR looks at the first ones
    triangles = [wide, wide[..., :least, :least], np.tril(wide), np.triu(wide)]
    return all((np.linalg.cond(one) < 1e4).all() for one in triangles)


def without_gradients(name: str, arguments: Mapping[str, Any], cotangent: str = "") -> bool:
    """Return whether gradients are not compared."""
    # Whole turns in a result, which are left open, are no whole turns in a gradient that is the result times a slope.
    if name == "logcumsumexp" and "r." in cotangent and next(iter(arguments.values())).is_complex():
        return True
    # They are zero but for rounding, of which PyTorch's sums of ones have none.
    if name in ("layer_norm", "group_norm", "instance_norm", "batch_norm") and "ones" in cotangent:
        return True
    # PyTorch's backward for channels that lie last reads weights as if they were one behind the other.
    if name.endswith("batch_norm") and any(
        x.ndim == 1 and not x.is_contiguous() for argument in arguments.values() for x in _tensors(argument)
    ):
        return True
    # PyTorch reduces over all dimensions for dim=[], and divides its gradient as if over none.
    if name in GRADIENTS or (name.partition(".")[0] in ("var", "std") and arguments.get("dim") in ((), [])):
        return True
    # Deviations and singular values of zero have no gradient; rounding may make them other than zero.
    if "nuc" in arguments.values() or (
        name.startswith("std") and _largest(next(iter(arguments.values())).std()) < 1e-5
    ):
        return True
    # Formulas that are equal for finite numbers let other infinities cancel, and multiply others with zero.
    return not all(_largest(value) < 1e18 for argument in arguments.values() for value in _tensors(argument))


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in _tensors(item)]
    return [value] if isinstance(value, tt.Tensor) else []
