"""Convolutions and linear layers that include the normalisation behind them."""

from __future__ import annotations

import copy
from typing import TypeVar

import tt
from tt.nn.modules.module import Module
from tt.nn.parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]

M = TypeVar("M", bound=Module)


def _scale_and_shift(
    bias: tt.Tensor | None,
    mean: tt.Tensor,
    var: tt.Tensor,
    eps: float,
    bn_weight: tt.Tensor | None,
    bn_bias: tt.Tensor | None,
) -> tuple[tt.Tensor, tt.Tensor]:
    """Return the factor of the weight, and the new bias."""
    # (y - mean) * scale + bn_bias for y = Wx + bias is again linear: W * scale, and (bias - mean) * scale +
    # bn_bias.
    scale = (var + eps).rsqrt()
    if bn_weight is not None:
        scale = scale * bn_weight
    shift = -mean if bias is None else bias - mean
    return scale, shift * scale if bn_bias is None else shift * scale + bn_bias


def fuse_conv_bn_weights(
    conv_w: tt.Tensor,
    conv_b: tt.Tensor | None,
    bn_rm: tt.Tensor,
    bn_rv: tt.Tensor,
    bn_eps: float,
    bn_w: tt.Tensor | None,
    bn_b: tt.Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of a convolution that includes a batch normalisation.

    Parameters
    ----------
    conv_w, conv_b : Tensor
        Those of the convolution; the bias may be None.
    bn_rm, bn_rv, bn_eps
        Running mean and variance, and epsilon, of the normalisation.
    bn_w, bn_b : Tensor or None
        Its weight and bias.
    transpose : bool
        Whether the convolution is transposed: its outputs are the second dimension of the weight.
    """
    scale, bias = _scale_and_shift(conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    return (
        Parameter((conv_w * scale.reshape(shape)).to(conv_w.dtype), conv_w.requires_grad),
        Parameter(bias.to(conv_w.dtype if conv_b is None else conv_b.dtype), _grad_of(conv_b, conv_w)),
    )


def _grad_of(bias: tt.Tensor | None, weight: tt.Tensor) -> bool:
    return bool(weight.requires_grad if bias is None else bias.requires_grad)


def fuse_linear_bn_weights(
    linear_w: tt.Tensor,
    linear_b: tt.Tensor | None,
    bn_rm: tt.Tensor,
    bn_rv: tt.Tensor,
    bn_eps: float,
    bn_w: tt.Tensor,
    bn_b: tt.Tensor,
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of a linear layer that includes a batch normalisation.

    The parameters are those of `fuse_conv_bn_weights`.
    """
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def _fused(layer: M, bn: Module, transpose: bool) -> M:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval! Call eval() on both modules first")
    # A copy: the caller keeps the layer as it was.
    fused = copy.deepcopy(layer)
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("the normalisation has no running mean and variance")
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_eval(conv: M, bn: Module, transpose: bool = False) -> M:
    """Return a copy of a convolution that includes the batch normalisation behind it; for evaluation.

    Parameters
    ----------
    conv : Module
        The convolution, in evaluation mode.
    bn : Module
        The normalisation, in evaluation mode.
    transpose : bool
        Whether the convolution is transposed.
    """
    return _fused(conv, bn, transpose)


def fuse_linear_bn_eval(linear: M, bn: Module) -> M:
    """Return a copy of a linear layer that includes the batch normalisation behind it; for evaluation.

    Parameters
    ----------
    linear : Module
        The layer, in evaluation mode.
    bn : Module
        The normalisation, in evaluation mode, of as many features as the layer has outputs, or of one.

    Raises
    ------
    AssertionError
        If a module is in training mode, or the numbers of features differ.
    """
    features, outputs = getattr(bn, "num_features", None), getattr(linear, "out_features", None)
    if features not in (outputs, 1):
        raise AssertionError(f"the layer has {outputs} outputs, and the normalisation {features} features")
    return _fused(linear, bn, False)
