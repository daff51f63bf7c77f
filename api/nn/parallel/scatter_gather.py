"""Inputs in pieces on several devices, and their results together again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tt
from tt.errors import AssertedError, ValueRangeError
from tt.library import warn_user
from tt.types import Device
from tt.utils.data.collate import rebuild_mapping

__all__ = ["gather", "is_namedtuple", "scatter", "scatter_kwargs"]


def is_namedtuple(obj: object) -> bool:
    """Return whether an object is a named tuple.

    Parameters
    ----------
    obj : object
        Anything.

    Examples
    --------
    >>> import warnings
    >>> from collections import namedtuple
    >>> from tt.nn.parallel.scatter_gather import is_namedtuple
    >>> with warnings.catch_warnings(action="ignore"):
    ...     is_namedtuple(namedtuple("Pair", "a b")(1, 2)), is_namedtuple((1, 2))
    (True, False)
    """
    warn_user(
        "is_namedtuple() is deprecated: use isinstance(obj, tuple) and hasattr(obj, '_fields')", FutureWarning
    )
    return _is_namedtuple(obj)


def _is_namedtuple(obj: object) -> bool:
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")


def accelerator(device: Device) -> tt.device:
    """Return a device of a list of devices, where a number means a GPU; raise for the CPU, as PyTorch does."""
    target = tt.device("cuda", device) if isinstance(device, int) and device >= 0 else device
    if isinstance(target, str):
        target = tt.device(target)
    if not isinstance(target, tt.device) or target.type == "cpu":
        raise ValueRangeError(f"Expected a non cpu device, but got: {device}")
    return target


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> Any:
    """Divide the tensors of nested inputs among devices; other objects are given to each.

    Parameters
    ----------
    inputs : object
        Tensors, or tuples, lists and dicts of inputs.
    target_gpus : sequence of int or device
        GPUs; the CPU is refused, as in PyTorch.
    dim : int
        The dimension that is divided.

    Raises
    ------
    ValueRangeError
        If there are tensors, and a device is the CPU.

    Examples
    --------
    >>> from tt.nn.parallel import scatter
    >>> scatter({"scale": 2}, [0, 1])
    [{'scale': 2}, {'scale': 2}]
    """
    if tt.is_tensor(inputs):
        devices = [accelerator(device) for device in target_gpus]
        if not devices:
            raise ValueRangeError("scatter(): tensors are divided among devices, and there are none")
        # A short dimension gives fewer pieces than devices; the devices at the end then get nothing, as in
        # PyTorch.
        return tuple(
            piece.to(device) for piece, device in zip(inputs.chunk(len(devices), dim), devices, strict=False)
        )
    count = len(target_gpus)
    if isinstance(inputs, (tuple, list)) and inputs:
        rows = list(zip(*(scatter(item, target_gpus, dim) for item in inputs), strict=False))
        if _is_namedtuple(inputs):
            return [type(inputs)(*row) for row in rows]
        return rows if isinstance(inputs, tuple) else [list(row) for row in rows]
    if isinstance(inputs, dict) and inputs:
        pieces = [scatter(value, target_gpus, dim) for value in inputs.values()]
        return [
            rebuild_mapping(inputs, dict(zip(inputs, row, strict=True))) for row in zip(*pieces, strict=False)
        ]
    return [inputs for _ in range(count)]


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Divide positional and named arguments among devices; the shorter list is filled with empty ones.

    Parameters
    ----------
    inputs, kwargs : tuple, dict
        The arguments.
    target_gpus, dim : sequence, int
        As of `scatter`.

    Examples
    --------
    >>> from tt.nn.parallel.scatter_gather import scatter_kwargs
    >>> scatter_kwargs((1,), {"scale": 2}, [0, 1])
    (((1,), (1,)), ({'scale': 2}, {'scale': 2}))
    """
    args = list(scatter(inputs, target_gpus, dim)) if inputs else []
    named = list(scatter(kwargs, target_gpus, dim)) if kwargs else []
    # A call with only positional or only named tensors still needs both parts on every device.
    args += [()] * (len(named) - len(args))
    named += [{} for _ in range(len(args) - len(named))]
    return tuple(args), tuple(named)


def gather(outputs: Any, target_device: int | str | tt.device, dim: int = 0) -> Any:
    """Join the tensors of nested outputs of several devices on one device.

    Parameters
    ----------
    outputs : sequence
        For each device a tensor, or nested tuples, lists and dicts of tensors; None stays None.
    target_device : int or device
        Where they are joined; "cpu" or -1 for the CPU.
    dim : int
        The dimension along which they are joined.

    Raises
    ------
    AssertedError
        If tensors lie on the CPU, as in PyTorch.

    Examples
    --------
    >>> import tt
    >>> tt.nn.parallel.gather([None, None], "cpu") is None
    True
    """
    first = outputs[0]
    if tt.is_tensor(first):
        if any(output.device.type == "cpu" for output in outputs):
            raise AssertedError(
                "gather(): Gather function not implemented for CPU tensors\n  try: tt.cat, they are on one device"
            )
        target = tt.device("cpu") if target_device in (-1, "cpu") else tt.device(target_device)
        if dim == 0 and all(output.dim() == 0 for output in outputs):
            warn_user("gather(): tensors without dimensions are joined to a vector")
        rows = [output.reshape(1) if output.dim() == 0 else output for output in outputs]
        return tt.cat([row.to(target) for row in rows], 0 if first.dim() == 0 else dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if any(len(output) != len(first) for output in outputs):
            raise ValueRangeError("gather(): all dicts must have the same number of keys")
        joined = {key: gather([output[key] for output in outputs], target_device, dim) for key in first}
        return rebuild_mapping(first, joined)
    if not isinstance(first, (tuple, list)):
        raise tt.errors.ArgumentError(
            "gather", f"outputs are tensors, or tuples, lists and dicts of them, not {type(first).__name__}"
        )
    items = (gather(list(row), target_device, dim) for row in zip(*outputs, strict=True))
    return type(first)(*items) if _is_namedtuple(first) else type(first)(items)
