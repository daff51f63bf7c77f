"""Copies of a module on several devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.errors import AssertedError
from tt.nn.modules.module import Module
from tt.nn.parallel.scatter_gather import accelerator

__all__ = ["replicate"]


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Module]:
    """Return a copy of a module for each device, whose parameters are functions of the module's.

    Parameters
    ----------
    network : Module
        The module.
    devices : sequence of int or device
        GPUs; the CPU is refused, as in PyTorch, if there are parameters or buffers.
    detach : bool
        Whether gradients of the copies do not reach the module.

    Raises
    ------
    ValueRangeError
        If a device is the CPU.
    AssertedError
        If a parameter or buffer lies on the CPU.

    Examples
    --------
    >>> import tt
    >>> tt.nn.parallel.replicate(tt.nn.ReLU(), [0, 1])
    [ReLU(), ReLU()]
    """
    where = [accelerator(device) for device in devices]
    members = [*network.parameters(), *network.buffers()]
    if where and any(member.device.type == "cpu" for member in members):
        raise AssertedError(
            "replicate(): Broadcast function not implemented for CPU tensors\n  try: module.to('cuda') first"
        )
    copies = []
    for device in where:
        replicas = {module: module._replicate_for_data_parallel() for module in network.modules()}
        for module, copy in replicas.items():
            for name, parameter in module._parameters.items():
                if parameter is None:
                    copy._parameters[name] = None
                    continue
                moved = (parameter.detach() if detach else parameter).to(device)
                # A plain tensor, no parameter: gradients flow to that of the module.
                setattr(copy, name, moved.view_as(moved) if moved is parameter else moved)
            for name, buffer in module._buffers.items():
                copy._buffers[name] = None if buffer is None else buffer.to(device)
            for name, child in module._modules.items():
                copy._modules[name] = None if child is None else replicas[child]
        copies.append(replicas[network])
    return copies
