"""Rectifiers: activations that treat negative and positive elements, or those beyond bounds, apart."""

from __future__ import annotations

import tt
import tt.nn.functional as F
from tt.library import warn_user
from tt.nn.modules.module import Module
from tt.nn.parameter import Parameter
from tt.types import Device

__all__ = [
    "CELU",
    "ELU",
    "SELU",
    "Hardtanh",
    "InPlace",
    "LeakyReLU",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "Threshold",
]  # fmt: skip


class InPlace(Module):
    """An activation that can write its result into the memory of the input."""

    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Return `inplace=True`, if so."""
        return "inplace=True" if self.inplace else ""


class ReLU(InPlace):
    """max(0, x) of each element x; the shape stays.

    Examples
    --------
    >>> import tt
    >>> tt.nn.ReLU()(tt.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return max(0, input)."""
        return F.relu(input, inplace=self.inplace)


class Threshold(Module):
    """x where x > threshold, and `value` elsewhere; the shape stays.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Threshold(0.5, 9.0)(tt.tensor([0.0, 2.0]))
    tensor([9., 2.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the input, with `value` where it is not above the threshold."""
        return F.threshold(input, self.threshold, self.value, inplace=self.inplace)

    def extra_repr(self) -> str:
        """Return the arguments."""
        return f"threshold={self.threshold}, value={self.value}" + (", inplace=True" if self.inplace else "")


class RReLU(Module):
    """max(0, x) + a min(0, x) with a random a in [lower, upper] in training, and their mean in evaluation.

    Source: Xu et al., Empirical Evaluation of Rectified Activations in Convolutional Network, 2015.

    Examples
    --------
    >>> import tt
    >>> tt.nn.RReLU(0.25, 0.75).eval()(tt.tensor([-1.0, 2.0]))
    tensor([-0.5000,  2.0000])
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the rectified input."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """Return the arguments."""
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class LeakyReLU(Module):
    """max(0, x) + negative_slope * min(0, x) of each element x; the shape stays.

    Examples
    --------
    >>> import tt
    >>> tt.nn.LeakyReLU(0.5)(tt.tensor([-1.0, 2.0]))
    tensor([-0.5000,  2.0000])
    """

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the rectified input."""
        return F.leaky_relu(input, self.negative_slope, inplace=self.inplace)

    def extra_repr(self) -> str:
        """Return the arguments."""
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class PReLU(Module):
    """max(0, x) + weight * min(0, x) with a learned weight, one for all channels or one for each.

    Shapes: input (N, C, ...), `weight` (num_parameters,), which is 1 or C.  Source: He et al., Delving Deep into
    Rectifiers, 2015.

    Examples
    --------
    >>> import tt
    >>> tt.nn.PReLU()(tt.tensor([-1.0, 2.0])).tolist()
    [-0.25, 2.0]
    """

    weight: Parameter

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: Device = None,
        dtype: tt.dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(tt.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Fill the weight with `init`."""
        tt.nn.init.constant_(self.weight, self.init)

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the rectified input."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """Return the number of parameters."""
        return f"num_parameters={self.num_parameters}"


class _Exponential(Module):
    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Return the arguments."""
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class ELU(_Exponential):
    """x above 0, and alpha * (exp(x) - 1) below; the shape stays.

    Source: Clevert et al., Fast and Accurate Deep Network Learning by Exponential Linear Units, 2015.

    Examples
    --------
    >>> import tt
    >>> tt.nn.ELU()(tt.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the activated input."""
        return F.elu(input, self.alpha, inplace=self.inplace)


class CELU(_Exponential):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)) of each element x; the shape stays.

    Source: Barron, Continuously Differentiable Exponential Linear Units, 2017.

    Examples
    --------
    >>> import tt
    >>> tt.nn.CELU()(tt.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the activated input."""
        return F.celu(input, self.alpha, inplace=self.inplace)


class SELU(InPlace):
    """ELU with the scale that keeps mean 0 and variance 1; the shape stays.

    Source: Klambauer et al., Self-Normalizing Neural Networks, 2017.

    Examples
    --------
    >>> import tt
    >>> tt.nn.SELU()(tt.tensor([0.0, 1.0]))
    tensor([0.0000, 1.0507])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the activated input."""
        return F.selu(input, inplace=self.inplace)


class Hardtanh(Module):
    """x between min_val and max_val, and the nearer of them outside; the shape stays.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Hardtanh()(tt.tensor([-3.0, 0.5, 3.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        for old, new, value in (("min_value", "min_val", min_value), ("max_value", "max_val", max_value)):
            if value is not None:
                warn_user(f"keyword argument `{old}` is deprecated and rename to `{new}`", FutureWarning)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if not self.max_val > self.min_val:
            raise AssertionError(
                f"Hardtanh: max_val ({self.max_val}) must be larger than min_val ({self.min_val})"
            )

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the bounded input."""
        return F.hardtanh(input, self.min_val, self.max_val, inplace=self.inplace)

    def extra_repr(self) -> str:
        """Return the arguments."""
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class ReLU6(Hardtanh):
    """min(max(0, x), 6) of each element x; the shape stays.

    Examples
    --------
    >>> import tt
    >>> tt.nn.ReLU6()(tt.tensor([-3.0, 0.5, 9.0]))
    tensor([0.0000, 0.5000, 6.0000])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """Return `inplace=True`, if so."""
        return "inplace=True" if self.inplace else ""
