"""Layers that multiply by a weight: Identity, Linear, Bilinear, LazyLinear."""

from __future__ import annotations

import math
from typing import Any

import tt
import tt.nn.functional as F
from tt.nn import init, parameter
from tt.nn.modules.lazy import LazyModuleMixin
from tt.nn.modules.module import Module
from tt.nn.parameter import Parameter
from tt.types import Device

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear", "NonDynamicallyQuantizableLinear"]


class Identity(Module):
    """Returns its input; takes any arguments and ignores them.

    Shape: any; the output has the input's.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Identity(54, unused=True)(tt.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the input."""
        return input


class Linear(Module):
    """Multiplies by a matrix and adds a bias: y = x A^T + b.

    Shape: input (*, in_features), output (*, out_features); weight (out_features, in_features), bias (out_features).
    Both are drawn uniformly from ±1/sqrt(in_features).

    Parameters
    ----------
    in_features : int
        Size of the input's last dimension.
    out_features : int
        Size of the output's last dimension.
    bias : bool
        Whether a bias is added.
    device, dtype : optional
        Those of the parameters.

    Examples
    --------
    >>> import tt
    >>> layer = tt.nn.Linear(20, 30)
    >>> layer(tt.randn(128, 20)).shape
    tt.Size([128, 30])
    """

    __constants__ = ("in_features", "out_features")
    in_features: int
    out_features: int
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Device = None,
        dtype: tt.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(tt.empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(tt.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias from their distributions."""
        # With a = sqrt(5) the bound is 1 / sqrt(fan_in).
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return x A^T + b."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes, and whether there is a bias."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear of its own class, so that what replaces Linear layers leaves it alone."""


class Bilinear(Module):
    """Multiplies two inputs by a tensor of weights and adds a bias: y = x1^T A x2 + b.

    Shape: inputs (*, in1_features) and (*, in2_features), output (*, out_features); weight (out_features, in1_features,
    in2_features), bias (out_features).  Both are drawn uniformly from ±1/sqrt(in1_features).

    Parameters
    ----------
    in1_features, in2_features : int
        Sizes of the inputs' last dimensions, above zero.
    out_features : int
        Size of the output's last dimension.
    bias : bool
        Whether a bias is added.
    device, dtype : optional
        Those of the parameters.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Bilinear(20, 30, 40)(tt.randn(8, 20), tt.randn(8, 30)).shape
    tt.Size([8, 40])
    """

    __constants__ = ("in1_features", "in2_features", "out_features")
    in1_features: int
    in2_features: int
    out_features: int
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Device = None,
        dtype: tt.dtype | None = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise tt.errors.ValueRangeError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = Parameter(
            tt.empty((out_features, in1_features, in2_features), device=device, dtype=dtype)
        )
        if bias:
            self.bias = Parameter(tt.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias from their distributions."""
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: tt.Tensor, input2: tt.Tensor) -> tt.Tensor:
        """Return x1^T A x2 + b."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes, and whether there is a bias."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear whose `in_features` is the last size of its first input; then it becomes a Linear.

    Parameters
    ----------
    out_features : int
        Size of the output's last dimension.
    bias : bool
        Whether a bias is added.
    device, dtype : optional
        Those of the parameters.

    Examples
    --------
    >>> import tt
    >>> layer = tt.nn.LazyLinear(3)
    >>> layer(tt.ones(2, 5)).shape
    tt.Size([2, 3])
    >>> layer
    Linear(in_features=5, out_features=3, bias=True)
    """

    cls_to_become = Linear
    weight: parameter.UninitializedParameter
    bias: parameter.UninitializedParameter | None

    def __init__(
        self, out_features: int, bias: bool = True, device: Device = None, dtype: tt.dtype | None = None
    ) -> None:
        # Without a bias, whose size is known only later.
        super().__init__(0, 0, False)
        self.weight = parameter.UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = parameter.UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw weight and bias, once they have a shape."""
        # The constructor of Linear calls this before there are weights to fill.
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: tt.Tensor) -> None:
        """Give the parameters their shapes."""
        if self.has_uninitialized_params():
            with tt.no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        # After a state dict was loaded the weight has a shape, while the number still has to be taken from
        # it.
        if self.in_features == 0:
            if input.shape[-1] != self.weight.shape[-1]:
                raise RuntimeError(
                    f"The in_features inferred from input: {input.shape[-1]} is not equal to in_features from "
                    f"self.weight: {self.weight.shape[-1]}"
                )
            self.in_features = input.shape[-1]
