"""Normal: the bell curve."""

from __future__ import annotations

import math
from collections.abc import Sequence

import tt
from tt.distributions import constraints
from tt.distributions.exp_family import ExponentialFamily
from tt.distributions.utils import broadcast_all

__all__ = ["Normal"]


class Normal(ExponentialFamily):
    r"""The normal distribution, :math:`p(x) \propto \exp(-(x - loc)^2 / (2 scale^2))`.

    Parameters
    ----------
    loc : Tensor or float
        The mean.
    scale : Tensor or float
        The standard deviation.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> d = tt.distributions.Normal(0.0, 1.0)
    >>> d.log_prob(tt.tensor(0.0)), d.cdf(tt.tensor(0.0))
    (tensor(-0.9189), tensor(0.5000))
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0
    _batched = {"loc": 0, "scale": 0}

    def __init__(
        self, loc: float | tt.Tensor, scale: float | tt.Tensor, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> tt.Tensor:
        return self.loc

    @property
    def mode(self) -> tt.Tensor:
        return self.loc

    @property
    def stddev(self) -> tt.Tensor:
        return self.scale

    @property
    def variance(self) -> tt.Tensor:
        return self.scale.square()

    def sample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        shape = self._extended_shape(sample_shape)
        with tt.no_grad():
            return tt.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        shape = self._extended_shape(sample_shape)
        return self.loc + tt.randn(shape, dtype=self.loc.dtype, device=self.loc.device) * self.scale

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        standard = (value - self.loc) / self.scale
        return -0.5 * standard.square() - self.scale.log() - 0.5 * math.log(2 * math.pi)

    def cdf(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 0.5 * (1 + tt.erf((value - self.loc) / (self.scale * math.sqrt(2))))

    def icdf(self, value: tt.Tensor) -> tt.Tensor:
        return self.loc + self.scale * tt.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> tt.Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    @property
    def _natural_params(self) -> tuple[tt.Tensor, ...]:
        variance = self.scale.square()
        return self.loc / variance, -0.5 / variance

    def _log_normalizer(self, x: tt.Tensor, y: tt.Tensor) -> tt.Tensor:
        return -0.25 * x.square() / y + 0.5 * tt.log(-math.pi / y)
