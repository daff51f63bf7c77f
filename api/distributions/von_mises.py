"""VonMises: angles."""

from __future__ import annotations

import math
from collections.abc import Sequence

import tt
from tt.distributions import constraints
from tt.distributions.distribution import Distribution
from tt.distributions.utils import broadcast_all

__all__ = ["VonMises"]


class VonMises(Distribution):
    r"""The von Mises distribution of angles, :math:`p(x) \propto \exp(concentration \cos(x - loc))`.

    Samples are drawn by the method of Best and Fisher, "Efficient simulation of the von Mises distribution", 1979.

    Parameters
    ----------
    loc : Tensor or float
        The mean angle.
    concentration : Tensor or float
        The concentration around it; for large ones, the inverse of the variance.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> d = tt.distributions.VonMises(tt.tensor(0.0), tt.tensor(1.0))
    >>> d.log_prob(tt.tensor(0.0)), d.variance
    (tensor(-1.0738), tensor(0.5536))
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    _batched = {"loc": 0, "concentration": 0}

    def __init__(
        self, loc: float | tt.Tensor, concentration: float | tt.Tensor, validate_args: bool | None = None
    ) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> tt.Tensor:
        """The mean of the angles on the circle."""
        return self.loc

    @property
    def mode(self) -> tt.Tensor:
        return self.loc

    @property
    def variance(self) -> tt.Tensor:
        """The variance on the circle."""
        return 1 - tt.special.i1e(self.concentration) / tt.special.i0e(self.concentration)

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        # i0e(c) = exp(-c) i0(c) does not overflow.
        aligned = self.concentration * (tt.cos(value - self.loc) - 1)
        return aligned - math.log(2 * math.pi) - tt.special.i0e(self.concentration).log()

    def sample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        shape = self._extended_shape(sample_shape)
        with tt.no_grad():
            # In double: acceptance compares numbers that cancel in single precision.
            loc, k = self.loc.double(), self.concentration.double()
            tau = 1 + (1 + 4 * k.square()).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * k)
            # The quotient loses all digits for a small concentration, where its series is exact.
            r = tt.where(k < 1e-5, 1 / k + k, (1 + rho.square()) / (2 * rho))
            r, k = r.expand(shape), k.expand(shape)
            angles, left = tt.zeros_like(r), tt.ones_like(r, dtype=tt.bool)
            # Best and Fisher (1979): at worst about two of three candidates are accepted, whatever the
            # concentration.
            while bool(left.any()):
                u1, u2, u3 = tt.rand((3, *shape), dtype=tt.float64, device=r.device).unbind(0)
                u2 = 1 - u2  # not 0, by which c is divided
                z = tt.cos(math.pi * u1)
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                accepted = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
                angle = (u3 - 0.5).sign() * f.clamp(-1, 1).acos()
                angles = tt.where(left & accepted, angle, angles)
                left = left & ~accepted
            wrapped = (angles + math.pi + loc) % (2 * math.pi) - math.pi
            return wrapped.to(self.loc.dtype)
