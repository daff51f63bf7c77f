"""DataParallel: one module on several devices of a process, each with a part of the batch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import tt
from tt.nn.modules.module import Module
from tt.nn.parallel.parallel_apply import parallel_apply
from tt.nn.parallel.replicate import replicate
from tt.nn.parallel.scatter_gather import accelerator, gather, scatter_kwargs

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Divides batches among devices, each with a copy of a module, and joins the results.

    Each call copies the module to the devices, calls the copies in threads, and gathers their results; gradients
    add up in the module.  One process for each device, with `DistributedDataParallel`, is usually faster.  Without a
    GPU, or with one, it is the module by another name.

    Parameters
    ----------
    module : Module
        The module; its parameters and buffers lie on the first device.
    device_ids : sequence of int or device, optional
        The devices, by default all GPUs; ignored without one.
    output_device : int or device, optional
        Where results are joined, by default the first device.
    dim : int
        The dimension of the batch.

    Raises
    ------
    RuntimeError
        By a call, if a parameter or buffer lies on another device than the first.

    Examples
    --------
    >>> import tt
    >>> tt.nn.DataParallel(tt.nn.Linear(2, 1), device_ids=[])(tt.zeros(3, 2)).shape
    tt.Size([3, 1])
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: int | tt.device | None = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        if not tt.cuda.is_available():  # as in PyTorch, whatever device_ids are
            device_ids = ()
            output_device = None
        elif device_ids is None:
            device_ids = range(tt.cuda.device_count())
        self.module = module
        self.dim = dim
        self.device_ids = list(device_ids)
        self.output_device = output_device if output_device is not None else (self.device_ids or [None])[0]
        if len(self.device_ids) == 1:
            self.module.to(accelerator(self.device_ids[0]))

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the copies of the module, each with its part of the tensors."""
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        first = accelerator(self.device_ids[0])
        for member in chain(self.module.parameters(), self.module.buffers()):
            if member.device != first:
                raise RuntimeError(
                    f"module must have its parameters and buffers on device {first} (device_ids[0]) but found one of "
                    f"them on device: {member.device}"
                )
        args, named = scatter_kwargs(inputs, kwargs, self.device_ids, self.dim)
        if not args:  # a module without inputs is called once
            args, named = ((),), ({},)
        if len(self.device_ids) == 1:
            return self.module(*args[0], **named[0])
        # A small batch gives fewer pieces than devices.
        devices = self.device_ids[: len(args)]
        outputs = parallel_apply(replicate(self.module, devices), args, named, devices)
        return gather(outputs, self.output_device, self.dim)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: int | tt.device | None = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Call a module as `DataParallel` does.

    Parameters
    ----------
    module : Module
        The module.
    inputs : Tensor or tuple
        Its positional arguments.
    device_ids, output_device, dim
        As of `DataParallel`.
    module_kwargs : dict, optional
        Its named arguments.

    Examples
    --------
    >>> import tt
    >>> tt.nn.parallel.data_parallel(tt.nn.Flatten(), tt.zeros(3, 2, 2), device_ids=[]).shape
    tt.Size([3, 4])
    """
    arguments = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*arguments, **(module_kwargs or {}))
