"""Weights of convolutions in another memory format."""

from __future__ import annotations

from typing import TypeVar

import tt
from tt.nn.modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

M = TypeVar("M", bound=Module)


def _convert(module: M, memory_format: tt.memory_format, names: tuple[str, ...]) -> M:
    # By name: a program may convert before these layers exist, and subclasses of them count.
    kinds = tuple(kind for name in names if (kind := getattr(tt.nn, name, None)) is not None)
    for part in module.modules():
        if isinstance(part, kinds):
            part.weight.data = part.weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: M, memory_format: tt.memory_format) -> M:
    """Give the weights of all Conv2d and ConvTranspose2d of a module a memory format, in place.

    Parameters
    ----------
    module : Module
        The module.
    memory_format : memory_format
        For instance `tt.channels_last`.
    """
    return _convert(module, memory_format, ("Conv2d", "ConvTranspose2d"))


def convert_conv3d_weight_memory_format(module: M, memory_format: tt.memory_format) -> M:
    """Give the weights of all Conv3d and ConvTranspose3d of a module a memory format, in place.

    Parameters
    ----------
    module : Module
        The module.
    memory_format : memory_format
        For instance `tt.channels_last_3d`.
    """
    return _convert(module, memory_format, ("Conv3d", "ConvTranspose3d"))
