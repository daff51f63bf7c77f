"""DataParallel: one module on several devices of a process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tt
from tt.errors import UnsupportedError
from tt.nn.modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Calls a module on one device; without a GPU, or with one, it is that module by another name.

    Parameters
    ----------
    module : Module
        The module.
    device_ids : sequence of int, optional
        GPUs; several of them are refused, since batches are not divided among them yet; ignored without one.
    output_device : int, optional
        The GPU of the result.
    dim : int
        The dimension of the batch.

    Raises
    ------
    UnsupportedError
        If there are several devices.

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
        output_device: Any = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        if not tt.cuda.is_available():  # as in PyTorch, whatever device_ids are
            device_ids = ()
            output_device = None
        elif device_ids is None:
            device_ids = range(tt.cuda.device_count())
        if len(device_ids) > 1:
            raise UnsupportedError(
                "DataParallel(): batches are not divided among several devices yet: give device_ids=[0], or run one "
                "process for each device"
            )
        self.module = module
        self.dim = dim
        self.device_ids = list(device_ids)
        self.output_device = output_device if output_device is not None else (self.device_ids or [None])[0]
        if self.device_ids:
            self.module.to(tt.device("cuda", self.device_ids[0]))

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
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
    given = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*given, **(module_kwargs or {}))
