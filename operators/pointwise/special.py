"""Composites of special functions, to the last digits of float64.

Chebyshev coefficients were computed with 40 digits from the definitions of the functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import nan
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import ShapeError, ValueRangeError
from tt.core.tensor.base import TensorBase
from tt.core.tensor.common_dtype import common_dtype
from tt.core.types.dtype import finfo, float32
from tt.operators.helpers import as_type, computed, floating, number, operand, python_value, widened
from tt.operators.pointwise.composites import odd

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite


def chebyshev(coefficients: Sequence[float], t: Tensor) -> Tensor:
    """Return a sum of Chebyshev polynomials at t between -1 and 1, by Clenshaw's recurrence."""
    twice = ops.mul(t, 2)
    one = two = ops.zeros_like(t)
    for coefficient in reversed(coefficients[1:]):
        one, two = ops.add(ops.sub(ops.mul(twice, one), two), coefficient), one
    return ops.add(ops.sub(ops.mul(t, one), two), coefficients[0])


def polynomial(coefficients: Sequence[float], x: Tensor) -> Tensor:
    """Return a polynomial, its constant coefficient first, by Horner's rule."""
    result = ops.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = ops.add(ops.mul(result, x), coefficient)
    return result


# --- error functions -------------------------------------------------------------------------------------------

ERFCX: Final = (
    1.1774832005374487, -0.0072607966203019005, -0.081265123236184998, 0.06009212804122225,
    -0.02875393558027666, 0.01059566336347286, -0.0031369272945542642, 0.0007456494372536184,
    -0.00013696965030100541, 1.7183861600300937e-5, -7.1583646234503469e-7, -2.4261399442449532e-7,
    5.5765709395703564e-8, -2.1057869513809495e-9, -1.1717889351884957e-9, 1.9098355172456688e-10,
    1.408871764208813e-11, -6.901108320480815e-12, 9.1679583641112926e-14, 2.1454508286554552e-13,
    -1.4716575027010626e-14, -6.6686751187704049e-15, 7.5045985098801473e-16, 2.2200930066663882e-16,
)  # fmt: skip
"""Of (1 + 2x) exp(x^2) erfc(x) for x >= 0, in (x - 4) / (x + 4)."""


def _scaled_tail(size: Tensor) -> Tensor:
    """Return exp(x^2) erfc(x) of numbers that are not negative."""
    # Its place below would be the quotient of two infinities, NaN.
    infinite = ops.eq(size, math.inf)
    finite = ops.where(infinite, number(1, size), size)
    sums = chebyshev(ERFCX, ops.div.default(ops.sub(finite, 4), ops.add(finite, 4)))
    return ops.where(infinite, number(0, size), ops.div.default(sums, ops.add(ops.mul(finite, 2), 1)))


def _exp_square(size: Tensor, sign: int) -> Tensor:
    """Return exp(x^2) or exp(-x^2); a short x has an exact square, and the remainder goes into a second factor."""
    short = ops.mul(ops.floor(ops.mul(size, 16)), 1 / 16)
    rest = ops.mul(ops.sub(size, short), ops.add(size, short))
    return ops.mul(ops.exp(ops.mul(ops.square(short), sign)), ops.exp(ops.mul(rest, sign)))


@composite("erfc")
@computed
def erfc(x: Tensor) -> Tensor:
    # Beyond 40 the result is 0 in every dtype.
    size = ops.minimum(ops.abs(x), number(40, x))
    tail = ops.mul(_scaled_tail(size), _exp_square(size, -1))
    tail = ops.where(ops.lt(x, 0), ops.rsub(tail, 2.0), tail)
    # Near 0 the result is close to 1, and 1 - erf(x) loses nothing.
    return ops.where(ops.lt(size, 0.5), ops.rsub(ops.erf(x), 1.0), tail)


@composite("special_erfcx")
@computed
def erfcx(x: Tensor) -> Tensor:
    size = ops.abs(x)
    tail = _scaled_tail(size)
    # Below -30 the result is infinite in every dtype.
    grown = ops.mul(_exp_square(ops.minimum(size, number(30, x)), 1), 2)
    return ops.where(ops.lt(x, 0), ops.sub(grown, tail), tail)


def _inverse_error(inner: Tensor, outer: Tensor) -> Tensor:
    """Return x >= 0 with erf(x) = inner and erfc(x) = outer, of which each is exact where it is small.

    S. Winitzki's approximation, then steps of Halley's method.
    """
    logarithm = ops.log(ops.mul(outer, ops.add(inner, 1)))
    middle = ops.add(ops.mul(logarithm, 0.5), 2 / (math.pi * 0.147))
    product = ops.mul(logarithm, -1 / 0.147)
    root = ops.sqrt(ops.add(ops.square(middle), product))
    x = ops.sqrt(ops.div.default(product, ops.add(root, middle)))
    # Each step triples the number of right digits; the start has at least two.
    for _ in range(3):
        miss = ops.where(ops.lt(inner, 0.5), ops.sub(ops.erf(x), inner), ops.sub(outer, ops.erfc(x)))
        step = ops.mul(ops.div.default(miss, _exp_square(x, -1)), math.sqrt(math.pi) / 2)
        x = ops.sub(x, ops.div.default(step, ops.add(ops.mul(x, step), 1)))
    return ops.where(ops.eq(outer, 0), number(math.inf, x), x)


@composite("erfinv")
@computed
def erfinv(y: Tensor) -> Tensor:
    size = ops.abs(y)
    return odd(y, _inverse_error(size, ops.rsub(size, 1.0)))


composite("special_ndtr", computed(lambda x: ops.mul(ops.erfc(ops.mul(x, -math.sqrt(0.5))), 0.5)))


@composite("special_ndtri")
@computed
def ndtri(p: Tensor) -> Tensor:
    outer = ops.mul(ops.minimum(p, ops.rsub(p, 1.0)), 2)
    size = ops.mul(_inverse_error(ops.rsub(outer, 1.0), outer), math.sqrt(2))
    return ops.where(ops.lt(p, 0.5), ops.neg(size), size)


@composite("special_log_ndtr")
@computed
def log_ndtr(x: Tensor) -> Tensor:
    scaled = ops.mul(x, math.sqrt(0.5))
    # Below about -38 the density underflows, and its logarithm would be -inf: erfcx has no such factor.
    low = ops.sub(ops.log(ops.mul(ops.special_erfcx(ops.neg(scaled)), 0.5)), ops.square(scaled))
    low = ops.where(ops.eq(x, -math.inf), x, low)
    return ops.where(ops.lt(x, -1.0), low, ops.log1p(ops.mul(ops.erfc(scaled), -0.5)))


# --- the gamma function ----------------------------------------------------------------------------------------

LGAMMA: Final = (
    0.44148902545501421, -0.11119580321752522, 0.019510448260688841, -0.003922461463025264,
    0.00084789898959538574, -0.00019153855341365592, 4.4544701849756064e-5, -1.05728743735943e-5,
    2.5474336873408415e-6, -6.208535880776316e-7, 1.5268677399071547e-7, -3.7826376602913261e-8,
    9.4281008236242844e-9, -2.3619997021846449e-9, 5.9435419058175461e-10, -1.5013129770728669e-10,
    3.8050196458110537e-11, -9.6724852996563246e-12, 2.4653481983556609e-12, -6.2988681407917115e-13,
    1.6128460030283786e-13, -4.1379492068140421e-14, 1.0635701227757898e-14, -2.7382420786652825e-15,
    7.0606705072148925e-16, -1.8232177141662119e-16, 4.7141690067562716e-17,
)  # fmt: skip
"""Of lgamma(x) / ((x - 1) (x - 2)) for x from 1 to 3, in x - 2; so its zeros are exact."""
# The coefficients of 1/z in Stirling's series, and of 1/z^2 in its derivative.
STIRLING: Final = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
DIGAMMA: Final = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160)


def _to_nearest(x: Tensor) -> Tensor:
    """Return how far a number is from the nearest integer."""
    return ops.sub(x, ops.round(x))


@composite("lgamma")
@computed
def lgamma(x: Tensor) -> Tensor:
    # Below 1/2 by reflection, log(pi / |sin(pi x)|) - lgamma(1 - x).
    reflected = ops.lt(x, 0.5)
    a = ops.where(reflected, ops.rsub(x, 1.0), x)
    less_one, less_two = ops.sub(a, 1), ops.sub(a, 2)
    low = ops.lt(a, 1.0)
    smooth = chebyshev(LGAMMA, ops.minimum(ops.where(low, less_one, less_two), number(1, x)))
    near = ops.where(
        low,
        ops.sub(ops.mul(ops.mul(a, less_one), smooth), ops.log(a)),
        ops.mul(ops.mul(less_one, less_two), smooth),
    )
    # From 3 on by Stirling's series, 5 steps further up where it would be short of digits.
    short = ops.lt(a, 8.0)
    z = ops.where(short, ops.add(a, 5), a)
    inverse = ops.reciprocal(z)
    series = ops.mul(polynomial(STIRLING, ops.square(inverse)), inverse)
    far = ops.add(
        ops.add(ops.mul(ops.sub(z, 0.5), ops.sub(ops.log(z), 1)), series), math.log(2 * math.pi) / 2 - 0.5
    )
    # lgamma(a) = lgamma(a + 5) - log(a (a + 1) ... (a + 4)).
    product = a
    for k in range(1, 5):
        product = ops.mul(product, ops.add(a, k))
    far = ops.where(short, ops.sub(far, ops.log(ops.where(short, product, number(1, x)))), far)
    result = ops.where(ops.lt(a, 3.0), near, ops.where(ops.eq(a, math.inf), a, far))
    # By the distance from the nearest integer, which is exact: sin(pi x) of a large x has no digits left.
    sine = ops.abs(ops.sin(ops.mul(_to_nearest(x), math.pi)))
    mirrored = ops.sub(ops.rsub(ops.log(sine), math.log(math.pi)), result)
    # Numbers so large that they have no fraction are poles.
    mirrored = ops.where(ops.eq(sine, 0), number(math.inf, x), mirrored)
    result = ops.where(reflected, mirrored, result)
    return ops.where(ops.eq(x, -math.inf), number(math.inf, x), result)


@composite("digamma")
@computed
def digamma(x: Tensor) -> Tensor:
    # Below 0 by reflection, digamma(1 - x) - pi cot(pi x).
    negative = ops.lt(x, 0)
    a = ops.where(negative, ops.rsub(x, 1.0), x)
    short = ops.lt(a, 10.0)
    # Ten steps up, where eight terms of the series are enough for float64.
    z = ops.where(short, ops.add(a, 10), a)
    inverse = ops.reciprocal(z)
    square = ops.square(inverse)
    result = ops.sub(ops.log(z), ops.add(ops.mul(inverse, 0.5), ops.mul(polynomial(DIGAMMA, square), square)))
    steps = ops.reciprocal(a)
    for k in range(1, 10):
        steps = ops.add(steps, ops.reciprocal(ops.add(a, k)))
    result = ops.where(short, ops.sub(result, steps), result)
    rest = _to_nearest(x)
    mirrored = ops.sub(result, ops.mul(ops.reciprocal(ops.tan(ops.mul(rest, math.pi))), math.pi))
    mirrored = ops.where(ops.eq(rest, 0), number(math.nan, x), mirrored)
    return ops.where(ops.eq(x, 0), ops.neg(ops.reciprocal(x)), ops.where(negative, mirrored, result))


# The Bernoulli numbers B(2j) over (2j)!, of the Euler-Maclaurin formula.
BERNOULLI: Final = tuple(b / math.factorial(2 * j + 2) for j, b in enumerate((
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330,
    854513 / 138, -236364091 / 2730,
)))  # fmt: skip


def _zeta(s: int, a: Tensor) -> Tensor:
    """Return Hurwitz' zeta function, the sum of (a + k) ** -s over all k from 0, of positive a."""
    # Euler's and Maclaurin's terms fall only where the argument is well above the order.
    steps = 10 + s
    total = ops.pow.default(a, -s)
    for k in range(1, steps):
        total = ops.add(total, ops.pow.default(ops.add(a, k), -s))
    w = ops.add(a, steps)
    total = ops.add(total, ops.div.default(ops.pow.default(w, 1 - s), s - 1))
    total = ops.add(total, ops.mul(ops.pow.default(w, -s), 0.5))
    factor = float(s)
    for j, b in enumerate(BERNOULLI):
        total = ops.add(total, ops.mul(ops.pow.default(w, -s - 2 * j - 1), b * factor))
        factor *= (s + 2 * j + 1) * (s + 2 * j + 2)
    return total


def _cotangent_derivative(n: int) -> list[float]:
    """Return the coefficients, in c = cot(pi x), of the n-th derivative of pi cot(pi x)."""
    coefficients = [0.0, math.pi]
    for _ in range(n):
        slope = [k * c for k, c in enumerate(coefficients)][1:]  # times -pi (1 + c^2)
        coefficients = [
            -math.pi * (a + b) for a, b in zip([*slope, 0.0, 0.0], [0.0, 0.0, *slope], strict=True)
        ]
    return coefficients


def check_order(n: int) -> None:
    """Raise unless the digamma function can be differentiated n times."""
    if n < 0:
        raise ValueRangeError(f"polygamma(): polygamma(n, x) does not support negative n, got {n}")


@composite("polygamma")
def polygamma(n: int, self: Tensor) -> Tensor:
    check_order(n)
    return ops.digamma(self) if n == 0 else computed(lambda x: _polygamma(n, x))(self)


composite("polygamma.method", lambda self, n: ops.polygamma.default(n, self))


def _polygamma(n: int, x: Tensor) -> Tensor:
    sign = 1 if n % 2 else -1
    negative = ops.lt(x, 0)
    result = ops.mul(_zeta(n + 1, ops.where(negative, ops.rsub(x, 1.0), x)), sign * float(math.factorial(n)))
    rest = _to_nearest(x)
    cotangent = ops.reciprocal(ops.tan(ops.mul(rest, math.pi)))
    mirrored = ops.sub(ops.mul(result, -sign), polynomial(_cotangent_derivative(n), cotangent))
    pole = ops.logical_and(ops.eq(rest, 0), ops.le(x, 0))
    return ops.where(pole, number(sign * math.inf, x), ops.where(negative, mirrored, result))


# --- Bessel functions ------------------------------------------------------------------------------------------

I0_SMALL: Final = (
    0.33839763720473804, -0.3046826723431984, 0.17162090152220878, -0.094901097048047644,
    0.049305284239670708, -0.023737414805899469, 0.010546460394594998, -0.0043243099950505759,
    0.0016394756169413358, -0.00057637557453858237, 0.00018850288509584166, -5.7541950100821037e-5,
    1.6448448070728897e-5, -4.4167383584587506e-6, 1.1173875391201037e-6, -2.6707938539406117e-7,
    6.0469950225419189e-8, -1.300025009986248e-8, 2.6598237246823867e-9, -5.1897956016352629e-10,
    9.6758090353732369e-11, -1.7268262914415557e-11, 2.9550526631296398e-12, -4.8564467831119295e-13,
    7.6761854986049356e-14, -1.1685332877993452e-14, 1.715391285555133e-15, -2.4312798465479547e-16,
    3.3307945188222381e-17,
)  # fmt: skip
"""Of exp(-x) I0(x) for x up to 8, in x / 4 - 1."""
I0_LARGE: Final = (
    0.40224520550705442, 0.0033691164782556941, 6.889758346916824e-5, 2.8913705208347565e-6,
    2.0489185894690637e-7, 2.2666689904981781e-8, 3.3962320257083863e-9, 4.9406023882249696e-10,
    1.1889147107846438e-11, -3.1499165279632414e-11, -1.3215811840447713e-11, -1.7941785315068061e-12,
    7.1801244513836662e-13, 3.8527783827421427e-13, 1.5400862175214098e-14, -4.1505693472872221e-14,
    -9.5548466988283079e-15, 3.8116806693526222e-15, 1.7725601330565275e-15, -3.4254856196772315e-16,
    -2.8276239805166021e-16, 3.4612228676982303e-17, 4.4656214202961387e-17,
)  # fmt: skip
"""Of sqrt(x) exp(-x) I0(x) for x from 8, in 16 / x - 1."""
I1_SMALL: Final = (
    0.12629359322181683, -0.17641651835783406, 0.1026436586898471, -0.052945981208094991,
    0.024726449030626517, -0.010564084894626198, 0.0041564229443128882, -0.0015135724506312531,
    0.00051228595616857577, -0.00016176081582589675, 4.7815651075500542e-5, -1.3273163656039436e-5,
    3.4702513081376785e-6, -8.5687202646954547e-7, 2.0032947535521353e-7, -4.4450591287963281e-8,
    9.3815373864957718e-9, -1.8872497517228293e-9, 3.625590281552117e-10, -6.6634897235020277e-11,
    1.1736186298890902e-11, -1.9839743977649437e-12, 3.2237933659455747e-13, -5.0421855047279117e-14,
    7.6006842947354069e-15, -1.1055969477353863e-15, 1.5536319577362005e-16, -2.1114212143581661e-17,
)  # fmt: skip
"""Of exp(-x) I1(x) / x for x up to 8, in x / 4 - 1."""
I1_LARGE: Final = (
    0.38928811750914006, -0.0097610974913614684, -0.00011058893876262372, -3.8825648088776904e-6,
    -2.5122362378702089e-7, -2.6314688468895195e-8, -3.835380385964237e-9, -5.5897434621965838e-10,
    -1.8974958123505412e-11, 3.2526035830154882e-11, 1.4125807436613781e-11, 2.0356285441470895e-12,
    -7.1985517762459085e-13, -4.0835511110921973e-13, -2.1015418427726643e-14, 4.2724400167119513e-14,
    1.0420276984128803e-14, -3.8144030724370076e-15, -1.8803547755107836e-15, 3.3082023109209412e-16,
    2.9626289976459683e-16, -3.2095259219942047e-17, -4.6503053684887018e-17,
)  # fmt: skip
"""Of sqrt(x) exp(-x) I1(x) for x from 8, in 16 / x - 1."""


def _bessel(size: Tensor, small: Sequence[float], large: Sequence[float]) -> tuple[Any, Any]:
    """Return the sums for the numbers up to 8 and for those from 8 on."""
    eight = number(8, size)
    low = chebyshev(small, ops.sub(ops.mul(ops.minimum(size, eight), 0.25), 1))
    above = ops.maximum(size, eight)
    high = ops.div.default(
        chebyshev(large, ops.sub(ops.mul(ops.reciprocal(above), 16.0), 1)), ops.sqrt(above)
    )
    return low, high


@composite("special_i0e")
@computed
def i0e(x: Tensor) -> Tensor:
    size = ops.abs(x)
    low, high = _bessel(size, I0_SMALL, I0_LARGE)
    return ops.where(ops.lt(size, 8.0), low, high)


@composite("special_i1e")
@computed
def i1e(x: Tensor) -> Tensor:
    size = ops.abs(x)
    low, high = _bessel(size, I1_SMALL, I1_LARGE)
    return odd(x, ops.where(ops.lt(size, 8.0), ops.mul(size, low), high))


def _unscaled(scaled: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function without its factor exp(-|x|), which is taken away in two steps that overflow last."""

    @computed
    def unscaled(x: Tensor) -> Tensor:
        root = ops.exp(ops.mul(ops.abs(x), 0.5))
        return ops.mul(ops.mul(scaled(x), root), root)

    return unscaled


composite("i0", _unscaled(lambda x: ops.special_i0e(x)))
composite("special_i1", _unscaled(lambda x: ops.special_i1e(x)))

# --- entropy and log-odds --------------------------------------------------------------------------------------


@composite("special_entr")
@computed
def entr(x: Tensor) -> Tensor:
    zero = ops.eq(x, 0)
    entropy = ops.neg(ops.mul(x, ops.log(ops.where(zero, number(1, x), x))))
    return ops.where(ops.lt(x, 0), number(-math.inf, x), ops.where(zero, number(0, x), entropy))


@composite("logit")
def logit(self: Tensor, eps: float | None) -> Any:
    return computed(lambda x: _logit(x if eps is None or eps < 0 else ops.clamp(x, eps, 1 - eps)))(self)


def _logit(x: Tensor) -> Tensor:
    rest = ops.rsub(x, 1.0)
    # Near 1/2, where the quotient is close to 1, by its distance from 1.
    middle = ops.log1p(ops.div.default(ops.mul(ops.sub(x, 0.5), 2), rest))
    far = ops.sub(ops.log(x), ops.log1p(ops.neg(x)))
    return ops.where(ops.lt(ops.abs(ops.sub(x, 0.5)), 0.25), middle, far)


LONGEST: Final = 20_000
"""Terms after which a series ends; around x = a it has some 9 sqrt(a)."""
BETWEEN: Final = 16
"""Terms between two looks at whether they still count."""

# --- incomplete gamma functions --------------------------------------------------------------------------------


def _series(a: Tensor, x: Tensor, eps: float) -> Tensor:
    """Return the sum of x^n / ((a + 1) ... (a + n)), which converges fast for x below a."""
    term = total = ops.ones_like(a)
    for n in range(1, LONGEST):
        term = ops.mul(term, ops.div.default(x, ops.add(a, n)))
        total = ops.add(total, term)
        if n % BETWEEN == 0 and not python_value(ops.any(ops.gt(term, ops.mul(total, eps)))):
            break
    return total


def _fraction(a: Tensor, x: Tensor, eps: float) -> Tensor:
    """Return the continued fraction of the upper function, by Lentz' method; it converges fast for x above a."""
    tiny = 1e-30
    b = ops.add(ops.sub(x, a), 1)
    c = ops.full_like(b, 1 / tiny)
    d = result = ops.reciprocal(b)
    for n in range(1, LONGEST):
        factor = ops.mul(ops.sub(a, n), n)
        b = ops.add(b, 2)
        d, c = ops.add(ops.mul(factor, d), b), ops.add(b, ops.div.default(factor, c))
        d = ops.reciprocal(ops.where(ops.lt(ops.abs(d), tiny), number(tiny, d), d))
        c = ops.where(ops.lt(ops.abs(c), tiny), number(tiny, c), c)
        change = ops.mul(c, d)
        result = ops.mul(result, change)
        if n % BETWEEN == 0 and not python_value(ops.any(ops.gt(ops.abs(ops.sub(change, 1)), eps))):
            break
    return result


def _incomplete(self: Tensor, other: Tensor, upper: bool) -> Tensor:
    dtype = common_dtype(self, other)
    dtype = dtype if dtype.is_floating_point else common_dtype(dtype, 1.0)
    a, x = ops.broadcast_tensors([widened(as_type(self, dtype)), widened(as_type(other, dtype))])
    eps = float(finfo(a.dtype).eps) / 4
    usual = ops.logical_and(ops.logical_and(ops.gt(a, 0), ops.lt(a, math.inf)), ops.gt(x, 0))
    usual = ops.logical_and(usual, ops.lt(x, math.inf))
    one = number(1, a)
    p, y = ops.where(usual, a, one), ops.where(usual, x, one)
    scale = ops.exp(ops.sub(ops.sub(ops.mul(p, ops.log(y)), y), ops.lgamma(p)))
    below = ops.lt(y, ops.add(p, 1))
    # Elements of the other branch get a number with which the loop ends at once.
    series = ops.div.default(ops.mul(_series(p, ops.where(below, y, number(0, y)), eps), scale), p)
    fraction = ops.mul(_fraction(ops.where(below, one, p), ops.where(below, number(3, y), y), eps), scale)
    # About the smaller one of both functions is computed: 1 minus it loses few digits.
    if upper:
        result = ops.where(below, ops.rsub(series, 1.0), fraction)
    else:
        result = ops.where(below, series, ops.rsub(fraction, 1.0))
    nothing, whole = (number(v, a) for v in ((1, 0) if upper else (0, 1)))
    result = ops.where(ops.logical_or(ops.eq(x, 0), ops.eq(a, math.inf)), nothing, result)
    result = ops.where(
        ops.logical_or(ops.logical_and(ops.eq(a, 0), ops.gt(x, 0)), ops.eq(x, math.inf)), whole, result
    )
    wrong = ops.logical_or(ops.lt(a, 0), ops.lt(x, 0))
    wrong = ops.logical_or(wrong, ops.logical_or(ops.ne(a, a), ops.ne(x, x)))
    wrong = ops.logical_or(wrong, ops.logical_and(ops.eq(a, 0), ops.eq(x, 0)))
    wrong = ops.logical_or(wrong, ops.logical_and(ops.eq(a, math.inf), ops.eq(x, math.inf)))
    return as_type(ops.where(wrong, number(math.nan, a), result), dtype)


composite("igamma", lambda self, other: _incomplete(self, other, upper=False))
composite("igammac", lambda self, other: _incomplete(self, other, upper=True))

# --- the multivariate gamma function ---------------------------------------------------------------------------


FEW: Final = 64
"""Terms that are added one after the other."""


@composite("mvlgamma")
def mvlgamma(self: Tensor, p: int) -> Tensor:
    if p < 1:
        raise ShapeError(f"mvlgamma(): p has to be at least 1, got {p}")
    original = floating(self)
    x = widened(original)
    result = ops.lgamma(x)
    if p <= FEW:
        for j in range(1, p):
            result = ops.add(result, ops.lgamma(ops.sub(x, j / 2)))
    else:  # all at once, so that an impossible order fails for lack of memory instead of taking ever so long
        halves = ops.mul(as_type(ops.arange(1, p, device=x.device), x.dtype), 0.5)
        result = ops.add(result, ops.sum.dim(ops.lgamma(ops.sub(ops.unsqueeze(x, -1), halves)), [-1]))
    return as_type(ops.add(result, p * (p - 1) / 4 * math.log(math.pi)), original.dtype)


# --- Hurwitz' zeta function ------------------------------------------------------------------------------------

STEPS: Final = 12
"""Terms of the sum before the rest is approximated by Euler's and Maclaurin's formula, counted from 0."""


@composite("special_zeta")
def zeta(self: Tensor, other: Any) -> Tensor:
    dtype = common_dtype(self, other)
    dtype = dtype if dtype.is_floating_point else common_dtype(dtype, 1.0)
    s, a = ops.broadcast_tensors(
        [widened(as_type(operand(self, other), dtype)), widened(as_type(operand(other, self), dtype))]
    )
    usual = ops.logical_and(ops.gt(s, 1), ops.logical_or(ops.gt(a, 0), ops.eq(s, ops.floor(s))))
    usual = ops.logical_and(usual, ops.logical_and(ops.lt(s, math.inf), ops.gt(a, -1e5)))
    pole = ops.logical_and(ops.le(a, 0), ops.eq(a, ops.floor(a)))
    usual = ops.logical_and(usual, ops.logical_not(pole))
    p, q = ops.where(usual, s, number(2, s)), ops.where(usual, a, number(1, a))
    low = python_value(ops.amin(q)) if q.numel() else 1
    # Euler's and Maclaurin's formula needs a positive start, so negative numbers go through more terms first.
    steps = STEPS + (math.ceil(-low) if low is not None and low < 0 else 0)
    negative = ops.neg(p)
    total = ops.zeros_like(q)
    for k in range(steps):
        total = ops.add(total, ops.pow.default(ops.add(q, k), negative))
    w = ops.add(q, steps)
    power = ops.pow.default(w, negative)
    total = ops.add(total, ops.mul(power, ops.div.default(w, ops.sub(p, 1))))
    total = ops.add(total, ops.mul(power, 0.5))
    factor = ops.div.default(ops.mul(power, p), w)
    square = ops.square(w)
    for j, b in enumerate(BERNOULLI):
        total = ops.add(total, ops.mul(factor, b))
        step = ops.mul(ops.add(p, 2 * j + 1), ops.add(p, 2 * j + 2))
        factor = ops.mul(factor, ops.div.default(step, square))
    result = ops.where(usual, total, number(math.nan, s))
    # At the infinities as SciPy's: what one term of the sum, or the integral, says there.
    endless = ops.eq(s, math.inf)
    result = ops.where(ops.logical_and(endless, ops.lt(a, 1)), number(math.inf, s), result)
    result = ops.where(ops.logical_and(endless, ops.eq(a, 1)), number(1, s), result)
    vanishes = ops.logical_or(ops.eq(a, math.inf), ops.logical_and(endless, ops.gt(a, 1e8)))
    result = ops.where(ops.logical_and(vanishes, ops.gt(s, 1)), number(0, s), result)
    result = ops.where(ops.logical_and(pole, ops.logical_not(ops.lt(s, 1))), number(math.inf, s), result)
    result = ops.where(ops.eq(s, 1), number(math.inf, s), result)
    return as_type(result, dtype)


def _of_number(name: str) -> Callable[..., Any]:
    return lambda self, other: getattr(ops, name).default(operand(self, other), other)


composite("special_zeta.self_scalar", _of_number("special_zeta"))


Step = Callable[[int, Any, Any, Any], Any]
"""The polynomial of degree k + 1 of k, x and those of degree k and k - 1."""


HIGHEST: Final = 1 << 16
"""The highest degree: each takes a step.  PyTorch takes any number of steps, also 2**62."""


def _values(name: str, x: Tensor, n: Tensor, second: Callable[[Any], Any], step: Step) -> Tensor:
    """Return the polynomials of degree n at x: of a negative degree they are 0, of degree 0 they are 1."""
    before, current = ops.ones_like(x), second(x)
    result = ops.where(ops.lt(n, 0), number(0, x), ops.where(ops.eq(n, n), before, number(nan, x)))
    highest = _highest(n)
    if name.startswith("hermite"):  # they overflow, and are NaN from a degree on, as in PyTorch
        limit = 128 if x.dtype is float32 else 512
        result = ops.where(ops.gt(n, limit), number(nan, x), result)
        highest = min(highest, limit)
    if highest > HIGHEST:
        raise ValueRangeError(f"special_{name}(): the degree is {highest:g}, and the highest is {HIGHEST}")
    for k in range(1, int(highest) + 1):
        result = ops.where(ops.eq(n, k), current, result)
        before, current = current, step(k, x, current, before)
    return result


def _highest(n: Tensor) -> float:
    """Return the largest degree that is a number; 0 if there is none, or if the degrees are unknown."""
    highest = python_value(ops.amax(ops.where(ops.eq(n, n), n, number(0, n)))) if n.numel() else None
    return max(highest or 0, 0)


def _define(
    name: str, second: Callable[[Any], Any], step: Step, argument: Callable[[Any], Any] = lambda x: x
) -> None:
    """Define the operator of a family of polynomials, and its overload with a number for x."""

    def polynomial(x: Tensor, n: Any) -> Tensor:
        dtype = common_dtype(x, n)
        dtype = dtype if dtype.is_floating_point else common_dtype(dtype, 1.0)
        n = operand(n, x) if not isinstance(n, TensorBase) else n
        x = argument(widened(as_type(x, dtype)))
        x, n = ops.broadcast_tensors([x, ops.trunc(as_type(n, x.dtype))])
        return as_type(_values(name, x, n, second, step), dtype)

    composite(f"special_{name}", polynomial)
    overload = getattr(ops, f"special_{name}")
    composite(f"special_{name}.x_scalar", lambda x, n: overload.default(operand(x, floating(n)), n))


def _chebyshev(k: int, x: Tensor, p: Tensor, q: Tensor) -> Tensor:
    return ops.sub(ops.mul(ops.mul(x, 2), p), q)


def _linear(slope: float, constant: float) -> Callable[[Any], Any]:
    return lambda x: ops.add(ops.mul(x, slope), constant)


for _kind, _second in {
    "t": _linear(1, 0), "u": _linear(2, 0), "v": _linear(2, -1), "w": _linear(2, 1),
}.items():  # fmt: skip
    _define(f"chebyshev_polynomial_{_kind}", _second, _chebyshev)
    _define(f"shifted_chebyshev_polynomial_{_kind}", _second, _chebyshev, _linear(2, -1))

_define(
    "hermite_polynomial_h",
    _linear(2, 0),
    lambda k, x, p, q: ops.sub(ops.mul(ops.mul(x, 2), p), ops.mul(q, 2 * k)),
)
_define("hermite_polynomial_he", _linear(1, 0), lambda k, x, p, q: ops.sub(ops.mul(x, p), ops.mul(q, k)))
_define(
    "laguerre_polynomial_l",
    _linear(-1, 1),
    lambda k, x, p, q: ops.div.default(ops.sub(ops.mul(ops.rsub(x, 2 * k + 1), p), ops.mul(q, k)), k + 1),
)
_define(
    "legendre_polynomial_p",
    _linear(1, 0),
    lambda k, x, p, q: ops.div.default(ops.sub(ops.mul(ops.mul(x, 2 * k + 1), p), ops.mul(q, k)), k + 1),
)
