"""Composites of Bessel functions and of Airy's function, to the last digits of float64.

Chebyshev coefficients were computed with 40 digits from the definitions of the functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.operators.helpers import computed, number
from tt.operators.pointwise.special import chebyshev

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite

J0_SMALL: Final = (
    0.15772797147489012, -0.0087234423528522213, 0.26517861320333681, -0.37009499387264978,
    0.15806710233209726, -0.034893769411408885, 0.0048191800694676045, -0.00046062616620627505,
    3.2460328821005081e-5, -1.7619469077621507e-6, 7.6081635924187819e-8, -2.6792535305576729e-9,
    7.8486963144794644e-11, -1.9438346867370166e-12, 4.1253205956343739e-14, -7.5885081254475463e-16,
    1.2218515873961411e-17,
)  # fmt: skip
"""Of J0(x) for x up to 8, in x^2 / 32 - 1."""

J1_SMALL: Final = (
    0.081044846325658115, -0.14897514506765211, 0.1609992623572097, -0.082680491766817907,
    0.022213639654966035, -0.003646940600769276, 0.00040503377283548218, -3.2555548668572585e-5,
    1.9858774049915167e-6, -9.5219847567504362e-8, 3.6871337590971482e-9, -1.1780266226958848e-10,
    3.1601545803480033e-12, -7.2217552396517734e-14, 1.4232144003513942e-15, -2.4441972916190464e-17,
)  # fmt: skip
"""Of J1(x) / x for x up to 8, in x^2 / 32 - 1."""

Y0_SMALL: Final = (
    -0.033146113203284942, -0.27447430552974527, 0.17903431407718266, 0.26156734625504664,
    -0.17730201278114358, 0.047196689595763387, -0.0072879624795520792, 0.00075311359325777423,
    -5.632079141056987e-5, 3.206532537654801e-6, -1.4407233274018699e-7, 5.2487947873305161e-9,
    -1.5837552541812015e-10, 4.0263308183061208e-12, -8.7473412033107696e-14, 1.6434898714919469e-15,
    -2.6977881152566836e-17,
)  # fmt: skip
"""Of Y0(x) - 2 / pi log(x) J0(x) for x up to 8, in x^2 / 32 - 1."""

Y1_SMALL: Final = (
    0.0025380132357417817, -0.01608717304766875, -0.095912045360830742, 0.084451972596523458,
    -0.028328123944594366, 0.005289897544167113, -0.0006414551451326356, 5.5059828733387438e-5,
    -3.5380800186893499e-6, 1.7707804556154403e-7, -7.1105500498992798e-9, 2.3443379059115164e-10,
    -6.4651518414115942e-12, 1.51429151205002e-13, -3.0511859694473253e-15, 5.3466803857286701e-17,
)  # fmt: skip
"""Of (Y1(x) - 2 / pi (log(x) J1(x) - 1 / x)) / x for x up to 8, in x^2 / 32 - 1."""

P0: Final = (
    0.99946034934751867, -0.00053652204681321174, 3.0751847875194746e-6, -5.1705945376060977e-8,
    1.6306464635151383e-9, -7.86409137723707e-11, 5.1682623873491925e-12, -4.3045788699253912e-13,
    4.3265957431549406e-14, -5.0690340959352361e-15, 6.7480722157338737e-16, -1.0011513723467786e-16,
    1.6305919233744185e-17,
)  # fmt: skip
"""The part in phase of J0(x) sqrt(pi x / 2) for x from 8, in 128 / x^2 - 1."""

Q0: Final = (
    -0.12444683684269607, 0.00054708159540893197, -5.9315987288485178e-6, 1.4377965798375193e-7,
    -5.817532749493056e-9, 3.3760975237349908e-10, -2.5653979367973078e-11, 2.404916100281365e-12,
    -2.6690625482579416e-13, 3.4041800321963689e-14, -4.87994410531204e-15, 7.7297031762426054e-16,
    -1.3348852171502517e-16, 2.4865952389390515e-17, -4.9528926298865159e-18,
)  # fmt: skip
"""The part out of phase, times x."""

P1: Final = (
    1.0009030408600137, 0.00089898983308594086, -3.9872843004889085e-6, 6.1776339606442985e-8,
    -1.8718907491063066e-9, 8.8168986595823389e-11, -5.7048636403956447e-12, 4.6991955152305424e-13,
    -4.6842237839904892e-14, 5.4526748960447172e-15, -7.2211808422740179e-16, 1.0667689114335412e-16,
    -1.7312313216116335e-17,
)  # fmt: skip
"""The part in phase of J1(x) sqrt(pi x / 2) for x from 8, in 128 / x^2 - 1."""

Q1: Final = (
    0.3742222965562826, -0.00077021788393256635, 7.3108922063643633e-6, -1.6767825107266738e-7,
    6.5833546621204433e-9, -3.7490909505415562e-10, 2.8121750359748865e-11, -2.6114525394623199e-12,
    2.8774212663332234e-13, -3.6490019160618378e-14, 5.2066263662267072e-15, -8.2153180254585943e-16,
    1.4141084390211833e-16, -2.6267615898385292e-17, 5.2192649196714082e-18,
)  # fmt: skip
"""The part out of phase, times x."""

K0_SMALL: Final = (
    -0.26766369661695138, 0.34428989992462849, 0.035979936515361502, 0.0012646154114469259,
    2.2862121031194518e-5, 2.5347910790261495e-7, 1.9045163772202089e-9, 1.0349695257633625e-11,
    4.2598161427910826e-14, 1.3744654358807509e-16,
)  # fmt: skip
"""Of K0(x) + log(x / 2) I0(x) for x up to 2, in x^2 / 2 - 1."""

K1_SMALL: Final = (
    0.76265011366947389, -0.35315596077654488, -0.12261118082265715, -0.0069757238596398644,
    -0.00017302889575130521, -2.4334061415659682e-6, -2.2133876307347259e-8, -1.4114883926335278e-10,
    -6.666901694199329e-13, -2.4274498505193659e-15,
)  # fmt: skip
"""Of x (K1(x) - log(x / 2) I1(x)) for x up to 2, in x^2 / 2 - 1."""

K0_LARGE: Final = (
    1.2201515410329777, -0.031448101311964501, 0.0015698838857300534, -0.00012849549581627803,
    1.3949813718876499e-5, -1.8317555227191195e-6, 2.7668136394450151e-7, -4.6604898976879477e-8,
    8.5740340174142261e-9, -1.6975345093890615e-9, 3.5773972814003284e-10, -7.957489244477397e-11,
    1.8559491149549266e-11, -4.5145978833745192e-12, 1.1403405882073442e-12, -2.9800969231481784e-13,
    8.0328907750683744e-14, -2.2275133267462964e-14, 6.340076476276646e-15, -1.8485933779209072e-15,
    5.5120559994043334e-16, -1.6782311257549006e-16, 5.2103917776435541e-17, -1.6475805939842633e-17,
)  # fmt: skip
"""Of sqrt(x) exp(x) K0(x) for x from 2, in 4 / x - 1."""

K1_LARGE: Final = (
    1.3603130952422213, 0.10392373657681724, -0.0028578168596227794, 0.00019521551847135163,
    -1.936197974166083e-5, 2.4064849478372171e-6, -3.5019606030878125e-7, 5.7410841254500493e-8,
    -1.0345762465678097e-8, 2.0150497551970346e-9, -4.1903547593419256e-10, 9.2183151876053141e-11,
    -2.129967838427791e-11, 5.1396396734823435e-12, -1.2891739609498229e-12, 3.3484196660522431e-13,
    -8.9767051820101461e-14, 2.4771544242195987e-14, -7.0198370892147689e-15, 2.0387031662398609e-15,
    -6.0570472706430178e-16, 1.8380935752430454e-16, -5.6894628491936484e-17, 1.7940510478863573e-17,
)  # fmt: skip
"""Of sqrt(x) exp(x) K1(x) for x from 2, in 4 / x - 1."""

AIRY_MIDDLE: Final = (
    0.060785256850797265, 0.18996030881729123, -0.25092438703233601, -0.095120140135030542,
    0.20236324198370077, -0.064187283063052498, -0.026814703186039964, 0.024051904281273856,
    -0.0041325916497489498, -0.0020196817905494226, 0.0011250768750654559, -0.00011697538709676606,
    -7.1254992530606821e-5, 2.8167833107042442e-5, -1.7594742389691562e-6, -1.4587201524168717e-6,
    4.3887479584360327e-7, -1.4627095866197507e-8, -1.9495992841846797e-8, 4.660552774163884e-9,
    -5.1062451179042338e-11, -1.8343326708789197e-10, 3.5857642041278925e-11, 2.6582413274795727e-13,
    -1.2805447574198059e-12, 2.0885896604502407e-13, 4.8741837202287107e-15, -6.895080927885035e-15,
    9.5196501457001707e-16, 3.5978991422145035e-17, -2.9502705833721255e-17, 3.4839894424594164e-18,
)  # fmt: skip
"""Of Ai(x) for x from -4 to 2, in (x + 1) / 3."""

AIRY_LARGE: Final = (
    0.9844053049171552, -0.014792784850104199, 0.00073271774654267143, -6.1259542341782499e-5,
    6.8347669755726903e-6, -9.2372297354039816e-7, 1.4362253404380519e-7, -2.489319422322096e-8,
    4.7097934400543278e-9, -9.5838637081127321e-10, 2.0745855483677592e-10, -4.737267332192277e-11,
    1.1336099808224235e-11, -2.8277067823193508e-12, 7.3207120951255976e-13, -1.9599793911089722e-13,
    5.4101162570683922e-14, -1.5356466802223836e-14, 4.4723403933000248e-15, -1.3338094674756682e-15,
    4.066582046456231e-16, -1.265583225645289e-16, 4.0151263340158711e-17, -1.2969972135960937e-17,
)  # fmt: skip
"""Of 2 sqrt(pi) x^(1/4) exp(z) Ai(x) for x from 2 and z = 2/3 x^(3/2), in 2 z(2) / z - 1."""

AIRY_IN_PHASE: Final = (
    0.99937088907427783, -0.00062168365843741161, 7.1811937743686449e-6, -2.3162698135017581e-7,
    1.3216283888528756e-8, -1.0938736172758126e-9, 1.1794620737908534e-10, -1.5518841909929856e-11,
    2.386927411492466e-12, -4.16552889201035e-13, 8.0716781107414668e-14, -1.7087573211105669e-14,
    3.9029451485408147e-15, -9.5239767849070646e-16, 2.4632810885752603e-16, -6.7090774634648578e-17,
    1.9139396837187071e-17,
)  # fmt: skip
"""The part of Ai(-x) sqrt(pi) x^(1/4) in phase with sin(z + pi / 4), for x from 4, in 2 (z(4) / z)^2 - 1."""

AIRY_ACROSS: Final = (
    0.068821705563080009, -0.0006089151840832694, 1.3174151014089972e-5, -6.0140719129082979e-7,
    4.3275373422984993e-8, -4.2477317329547255e-9, 5.2322853768344937e-10, -7.6722909751150239e-11,
    1.2923809452698711e-11, -2.43852975710829e-12, 5.0590472378720842e-13, -1.1378513792256328e-13,
    2.7441377308322257e-14, -7.0344821126325795e-15, 1.9032114367198916e-15, -5.4030405414093074e-16,
    1.6016711026585233e-16, -4.9375274403528067e-17, 1.5773435797781152e-17, -5.206129581838458e-18,
    1.7706787947400164e-18,
)  # fmt: skip
"""The part out of phase, times z."""

# --- of the first and the second kind --------------------------------------------------------------------------


def _waves(size: Tensor, order: int, p: Sequence[float], q: Sequence[float]) -> tuple[Any, Any]:
    """Return J and Y of numbers from 8 on."""
    x = ops.maximum(size, number(8, size))
    over = ops.reciprocal(x)
    # From -1 at infinity to 1 at 8.
    t = ops.sub(ops.mul(ops.square(over), 128), 1)
    inner, outer = chebyshev(p, t), ops.mul(chebyshev(q, t), over)
    # Not of x - pi / 4: that difference is rounded, which costs digits where x is large.
    s, c = ops.sin(x), ops.cos(x)
    # cos(x - pi / 4) and sin(x - pi / 4) times the root of 2; a quarter of a turn more for order 1.
    first, second = ops.add(c, s), ops.sub(s, c)
    if order:
        first, second = second, ops.neg(first)
    scale = ops.mul(ops.rsqrt(x), 1 / math.sqrt(math.pi))
    along = ops.sub(ops.mul(inner, first), ops.mul(outer, second))
    across = ops.add(ops.mul(inner, second), ops.mul(outer, first))
    return ops.mul(along, scale), ops.mul(across, scale)


def _small(size: Tensor) -> tuple[Any, Any]:
    """Return the numbers up to 8, and where they are in the range of the coefficients."""
    x = ops.minimum(size, number(8, size))
    return x, ops.sub(ops.mul(ops.square(x), 1 / 32), 1)


@composite("special_bessel_j0")
@computed
def bessel_j0(x: Tensor) -> Tensor:
    size = ops.abs(x)
    return ops.where(ops.lt(size, 8.0), chebyshev(J0_SMALL, _small(size)[1]), _waves(size, 0, P0, Q0)[0])


@composite("special_bessel_j1")
@computed
def bessel_j1(x: Tensor) -> Tensor:
    size = ops.abs(x)
    low, t = _small(size)
    result = ops.where(ops.lt(size, 8.0), ops.mul(low, chebyshev(J1_SMALL, t)), _waves(size, 1, P1, Q1)[0])
    return ops.where(ops.lt(x, 0), ops.neg(result), result)


def _second_kind(x: Tensor, result: Tensor) -> Tensor:
    """Return a function that is infinite at 0, and not a number below."""
    result = ops.where(ops.eq(x, 0), number(-math.inf, x), result)
    return ops.where(ops.lt(x, 0), number(math.nan, x), result)


@composite("special_bessel_y0")
@computed
def bessel_y0(x: Tensor) -> Tensor:
    size = ops.abs(x)
    low, t = _small(size)
    # Y is 2 / pi log(x) J plus a function without a singularity, which the coefficients are of.
    near = ops.mul(ops.mul(ops.log(low), chebyshev(J0_SMALL, t)), 2 / math.pi)
    result = ops.where(ops.lt(size, 8.0), ops.add(near, chebyshev(Y0_SMALL, t)), _waves(size, 0, P0, Q0)[1])
    return _second_kind(x, result)


@composite("special_bessel_y1")
@computed
def bessel_y1(x: Tensor) -> Tensor:
    size = ops.abs(x)
    low, t = _small(size)
    near = ops.sub(ops.mul(ops.mul(ops.log(low), low), chebyshev(J1_SMALL, t)), ops.reciprocal(low))
    near = ops.add(ops.mul(near, 2 / math.pi), ops.mul(low, chebyshev(Y1_SMALL, t)))
    return _second_kind(x, ops.where(ops.lt(size, 8.0), near, _waves(size, 1, P1, Q1)[1]))


@composite("special_spherical_bessel_j0")
@computed
def spherical_bessel_j0(x: Tensor) -> Tensor:
    result = ops.div.default(ops.sin(x), ops.where(ops.eq(x, 0), number(1, x), x))
    result = ops.where(ops.eq(x, 0), number(1, x), result)
    # The sine of infinity is NaN, and the limit 0.
    return ops.where(ops.eq(ops.abs(x), math.inf), number(0, x), result)


# --- modified --------------------------------------------------------------------------------------------------

composite("special_modified_bessel_i0", lambda self: ops.i0(self))
composite("special_modified_bessel_i1", lambda self: ops.special_i1(self))


def _modified(x: Tensor, order: int, scaled: bool) -> Tensor:
    """Return K of order 0 or 1, times exp(x) if scaled."""
    two = number(2, x)
    low, high = ops.minimum(x, two), ops.maximum(x, two)
    t = ops.sub(ops.mul(ops.square(low), 0.5), 1)
    half_log = ops.sub(ops.log(low), math.log(2))
    if order:
        # K has a logarithm times I in it; what is left is smooth, and has the coefficients.
        near = ops.add(ops.mul(half_log, ops.special_i1(low)), ops.div.default(chebyshev(K1_SMALL, t), low))
    else:
        near = ops.sub(chebyshev(K0_SMALL, t), ops.mul(half_log, ops.i0(low)))
    if scaled:
        near = ops.mul(near, ops.exp(low))
    large = K1_LARGE if order else K0_LARGE
    far = ops.div.default(chebyshev(large, ops.sub(ops.mul(ops.reciprocal(high), 4.0), 1)), ops.sqrt(high))
    if not scaled:
        far = ops.mul(far, ops.exp(ops.neg(high)))
    result = ops.where(ops.le(x, 2.0), near, far)
    result = ops.where(ops.eq(x, 0), number(math.inf, x), result)
    return ops.where(ops.lt(x, 0), number(math.nan, x), result)


composite("special_modified_bessel_k0", computed(lambda x: _modified(x, 0, False)))
composite("special_modified_bessel_k1", computed(lambda x: _modified(x, 1, False)))
composite("special_scaled_modified_bessel_k0", computed(lambda x: _modified(x, 0, True)))
composite("special_scaled_modified_bessel_k1", computed(lambda x: _modified(x, 1, True)))

# --- Airy's function -------------------------------------------------------------------------------------------


FARTHEST: Final = 1e25
"""Below the negative of it powers of float32 overflow, and Ai is a small number whose phase has no digit."""


def _power(x: Tensor) -> Tensor:
    """Return 2 / 3 of x to the power 3 / 2."""
    return ops.mul(ops.mul(x, ops.sqrt(x)), 2 / 3)


@composite("special_airy_ai")
@computed
def airy_ai(x: Tensor) -> Tensor:
    two, four = number(2, x), number(4, x)
    middle = chebyshev(
        AIRY_MIDDLE, ops.mul(ops.add(ops.minimum(ops.maximum(x, ops.neg(four)), two), 1), 1 / 3)
    )
    above = ops.maximum(x, two)
    z = _power(above)
    decay = chebyshev(AIRY_LARGE, ops.sub(ops.mul(ops.reciprocal(z), 2 * 2 / 3 * 2**1.5), 1))
    scale = ops.mul(ops.rsqrt(ops.sqrt(above)), 0.5 / math.sqrt(math.pi))
    high = ops.mul(ops.mul(decay, scale), ops.exp(ops.neg(z)))
    high = ops.where(ops.eq(x, math.inf), number(math.nan, x), high)  # as in SciPy and PyTorch
    below = ops.maximum(ops.neg(x), four)
    z = _power(ops.minimum(below, number(FARTHEST, x)))
    t = ops.sub(ops.mul(ops.square(ops.mul(ops.reciprocal(z), 2 / 3 * 4**1.5)), 2), 1)
    s, c = ops.sin(z), ops.cos(z)
    wave = ops.sub(
        ops.mul(ops.add(s, c), chebyshev(AIRY_IN_PHASE, t)),
        ops.mul(ops.sub(c, s), ops.div.default(chebyshev(AIRY_ACROSS, t), z)),
    )
    low = ops.mul(wave, ops.mul(ops.rsqrt(ops.sqrt(below)), 1 / math.sqrt(2 * math.pi)))
    low = ops.where(ops.eq(x, -math.inf), number(math.nan, x), low)
    return ops.where(ops.gt(x, 2.0), high, ops.where(ops.lt(x, -4.0), low, middle))
