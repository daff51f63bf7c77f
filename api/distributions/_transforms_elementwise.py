"""Transforms that work element by element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tt
from tt.distributions import constraints
from tt.distributions._transforms_base import Transform, sum_rightmost
from tt.distributions.utils import broadcast_all
from tt.nn.functional import softplus

if TYPE_CHECKING:
    from tt.distributions.distribution import Distribution

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "PowerTransform",
    "SigmoidTransform",
    "SoftplusTransform",
    "TanhTransform",
]


class _Plain(Transform):
    """A transform without parameters: all of its kind are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))


class ExpTransform(_Plain):
    r"""The transform :math:`y = e^x`.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.ExpTransform()(tt.zeros(2))
    tensor([1., 1.])
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = 1

    def _call(self, x: tt.Tensor) -> tt.Tensor:
        return x.exp()

    def _inverse(self, y: tt.Tensor) -> tt.Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: tt.Tensor, y: tt.Tensor) -> tt.Tensor:
        return x


class PowerTransform(Transform):
    r"""The transform :math:`y = x^{exponent}` of positive numbers.

    Parameters
    ----------
    exponent : Tensor or float
        The power.
    cache_size : int
        See `Transform`.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.PowerTransform(2.0)(tt.tensor([3.0]))
    tensor([9.])
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: float | tt.Tensor, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size: int = 1) -> Transform:
        return (
            self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size=cache_size)
        )

    @property
    def sign(self) -> Any:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool((self.exponent == other.exponent).all())

    def _call(self, x: tt.Tensor) -> tt.Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: tt.Tensor) -> tt.Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: tt.Tensor, y: tt.Tensor) -> tt.Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return tt.Size(tt.broadcast_shapes(shape, self.exponent.shape))

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return tt.Size(tt.broadcast_shapes(shape, self.exponent.shape))


def clipped_sigmoid(x: tt.Tensor) -> tt.Tensor:
    """Return the logistic function, rounded to numbers strictly between 0 and 1."""
    info = tt.finfo(x.dtype)
    # Rounded to 0 or 1, the inverse would be infinite.
    return tt.sigmoid(x).clamp(info.tiny, 1.0 - info.eps)


class SigmoidTransform(_Plain):
    r"""The transform :math:`y = 1 / (1 + e^{-x})`.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.SigmoidTransform()(tt.zeros(1))
    tensor([0.5000])
    """

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = 1

    def _call(self, x: tt.Tensor) -> tt.Tensor:
        return clipped_sigmoid(x)

    def _inverse(self, y: tt.Tensor) -> tt.Tensor:
        info = tt.finfo(y.dtype)
        y = y.clamp(info.tiny, 1.0 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: tt.Tensor, y: tt.Tensor) -> tt.Tensor:
        # log(y (1 - y)), from x: 1 - y has lost its digits where y is close to 1.
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Plain):
    r"""The transform :math:`y = \log(1 + e^x)`.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.SoftplusTransform()(tt.zeros(1))
    tensor([0.6931])
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = 1

    def _call(self, x: tt.Tensor) -> tt.Tensor:
        return softplus(x)

    def _inverse(self, y: tt.Tensor) -> tt.Tensor:
        # log(e^y - 1) without an overflow for large y.
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: tt.Tensor, y: tt.Tensor) -> tt.Tensor:
        return -softplus(-x)


class TanhTransform(_Plain):
    r"""The transform :math:`y = \tanh x`; near the ends of the interval, a cache keeps the inverse exact.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.TanhTransform()(tt.zeros(1))
    tensor([0.])
    """

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = 1

    def _call(self, x: tt.Tensor) -> tt.Tensor:
        return x.tanh()

    def _inverse(self, y: tt.Tensor) -> tt.Tensor:
        return tt.atanh(y)

    def log_abs_det_jacobian(self, x: tt.Tensor, y: tt.Tensor) -> tt.Tensor:
        # 1 - tanh(x)**2 = 4 / (e**x + e**-x)**2, which rounds well where tanh is close to 1.
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(_Plain):
    r"""The transform :math:`y = |x|`; its inverse is the positive one of the two.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.AbsTransform()(tt.tensor([-1.0]))
    tensor([1.])
    """

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: tt.Tensor) -> tt.Tensor:
        return x.abs()

    def _inverse(self, y: tt.Tensor) -> tt.Tensor:
        return y


class AffineTransform(Transform):
    r"""The transform :math:`y = loc + scale \cdot x`.

    Parameters
    ----------
    loc, scale : Tensor or float
        Where 0 goes, and the factor.
    event_dim : int
        How many dimensions belong to one value.
    cache_size : int
        See `Transform`.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.AffineTransform(1.0, 2.0)(tt.ones(2))
    tensor([3., 3.])
    """

    bijective = True

    def __init__(
        self, loc: float | tt.Tensor, scale: float | tt.Tensor, event_dim: int = 0, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        """The dimensions of one value."""
        return self._event_dim

    @property
    def domain(self) -> Any:
        return (
            constraints.independent(constraints.real, self._event_dim)
            if self._event_dim
            else constraints.real
        )

    @property
    def codomain(self) -> Any:
        return self.domain

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self._event_dim, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        return _same(self.loc, other.loc) and _same(self.scale, other.scale)

    @property
    def sign(self) -> Any:
        if tt.is_tensor(self.scale):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x: tt.Tensor) -> tt.Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: tt.Tensor) -> tt.Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: tt.Tensor, y: tt.Tensor) -> tt.Tensor:
        if tt.is_tensor(self.scale):
            log_det = tt.broadcast_tensors(self.scale.abs().log(), x)[0]
        else:
            log_det = tt.full_like(x, math.log(abs(self.scale)))
        return sum_rightmost(log_det, self._event_dim)

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        shapes = (getattr(parameter, "shape", ()) for parameter in (self.loc, self.scale))
        return tt.Size(tt.broadcast_shapes(shape, *shapes))

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return self.forward_shape(shape)


def _same(a: object, b: object) -> bool:
    """Return whether two numbers or tensors are equal."""
    equal: Any = a == b
    return bool(equal.all()) if tt.is_tensor(equal) else bool(equal)


class CumulativeDistributionTransform(Transform):
    """The distribution function of a distribution; it makes its samples uniform.

    Parameters
    ----------
    distribution : Distribution
        One with `cdf`, `icdf` and `log_prob`.
    cache_size : int
        See `Transform`.

    Examples
    --------
    >>> import tt
    >>> normal = tt.distributions.Normal(0.0, 1.0)
    >>> tt.distributions.CumulativeDistributionTransform(normal)(tt.zeros(1))
    tensor([0.5000])
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = 1

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        return self.distribution.support

    def _call(self, x: tt.Tensor) -> tt.Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: tt.Tensor) -> tt.Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: tt.Tensor, y: tt.Tensor) -> tt.Tensor:
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)
