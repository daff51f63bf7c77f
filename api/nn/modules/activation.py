"""Activations: smooth and shrinking ones are here, the others are found here, too."""

from __future__ import annotations

import tt
import tt.nn.functional as F
from tt.nn.modules.attention import MultiheadAttention
from tt.nn.modules.module import Module
from tt.nn.modules.rectifiers import (
    CELU,
    ELU,
    SELU,
    Hardtanh,
    InPlace,
    LeakyReLU,
    PReLU,
    ReLU,
    ReLU6,
    RReLU,
    Threshold,
)
from tt.nn.modules.softmax import LogSoftmax, Softmax, Softmax2d, Softmin

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "MultiheadAttention",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]  # fmt: skip


# --- bounded and gated -----------------------------------------------------------------------------------------


class Sigmoid(Module):
    """1 / (1 + exp(-x)) of each element x; the shape stays.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Sigmoid()(tt.tensor([0.0]))
    tensor([0.5000])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the logistic function of the input."""
        return tt.sigmoid(input)


class Hardsigmoid(InPlace):
    """min(max(0, x + 3), 6) / 6 of each element x; the shape stays.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Hardsigmoid()(tt.tensor([-3.0, 0.0, 3.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the activated input."""
        return F.hardsigmoid(input, inplace=self.inplace)


class LogSigmoid(Module):
    """log(1 / (1 + exp(-x))) of each element x; the shape stays.

    Examples
    --------
    >>> import tt
    >>> tt.nn.LogSigmoid()(tt.tensor([0.0]))
    tensor([-0.6931])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the logarithm of the logistic function of the input."""
        return F.logsigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent of each element; the shape stays.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Tanh()(tt.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the hyperbolic tangent of the input."""
        return tt.tanh(input)


class SiLU(InPlace):
    """x * sigmoid(x) of each element x; the shape stays.

    Source: Elfwing et al., Sigmoid-Weighted Linear Units for Neural Network Function Approximation, 2017.

    Examples
    --------
    >>> import tt
    >>> tt.nn.SiLU()(tt.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7311])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the activated input."""
        return F.silu(input, inplace=self.inplace)


class Mish(InPlace):
    """x * tanh(softplus(x)) of each element x; the shape stays.

    Source: Misra, Mish: A Self Regularized Non-Monotonic Neural Activation Function, 2019.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Mish()(tt.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8651])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the activated input."""
        return F.mish(input, inplace=self.inplace)


class Hardswish(InPlace):
    """x * min(max(0, x + 3), 6) / 6 of each element x; the shape stays.

    Source: Howard et al., Searching for MobileNetV3, 2019.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Hardswish()(tt.tensor([-3.0, 1.0, 3.0]))
    tensor([-0.0000,  0.6667,  3.0000])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the activated input."""
        return F.hardswish(input, inplace=self.inplace)


class GELU(Module):
    """x times the normal distribution function of x, exact or (`approximate="tanh"`) by a hyperbolic tangent.

    Source: Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.

    Examples
    --------
    >>> import tt
    >>> tt.nn.GELU()(tt.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8413])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the activated input."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """Return the arguments."""
        return f"approximate={self.approximate!r}"


class GLU(Module):
    """a * sigmoid(b), with a and b the halves of the input along `dim`.

    Shapes: (..., 2 n, ...) to (..., n, ...).  Source: Dauphin et al., Language Modeling with Gated Convolutional
    Networks, 2016.

    Examples
    --------
    >>> import tt
    >>> tt.nn.GLU()(tt.tensor([2.0, 0.0]))
    tensor([1.])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the gated half of the input."""
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        """Return the dimension."""
        return f"dim={self.dim}"


# --- shrinkage and softplus ------------------------------------------------------------------------------------


class Hardshrink(Module):
    """x where abs(x) > lambd, and 0 elsewhere; the shape stays.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Hardshrink()(tt.tensor([0.25, 1.0]))
    tensor([0., 1.])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the shrunk input."""
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """Return lambd."""
        return f"{self.lambd}"


class Softshrink(Module):
    """x moved towards 0 by lambd, and 0 where it is nearer; the shape stays.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Softshrink()(tt.tensor([0.25, 1.0]))
    tensor([0.0000, 0.5000])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the shrunk input."""
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """Return lambd."""
        return str(self.lambd)


class Tanhshrink(Module):
    """x - tanh(x) of each element x; the shape stays.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Tanhshrink()(tt.tensor([0.0, 1.0]))
    tensor([0.0000, 0.2384])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the input less its hyperbolic tangent."""
        return F.tanhshrink(input)


class Softplus(Module):
    """log(1 + exp(beta * x)) / beta of each element x, and x itself where beta * x > threshold; the shape stays.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Softplus()(tt.tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the activated input."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """Return the arguments."""
        return f"beta={self.beta}, threshold={self.threshold}"


class Softsign(Module):
    """x / (1 + abs(x)) of each element x; the shape stays.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Softsign()(tt.tensor([-1.0, 1.0]))
    tensor([-0.5000,  0.5000])
    """

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the activated input."""
        return F.softsign(input)
