"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tt

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def _one_device(parameters: Iterable[tt.Tensor]) -> list[tt.Tensor]:
    listed = list(parameters)
    devices = dict.fromkeys(param.device for param in listed)
    if len(devices) > 1:
        raise TypeError(f"parameters on different devices are not supported: {', '.join(map(str, devices))}")
    return listed


def parameters_to_vector(parameters: Iterable[tt.Tensor]) -> tt.Tensor:
    """Return the elements of all parameters in one vector.

    Examples
    --------
    >>> import tt
    >>> tt.nn.utils.parameters_to_vector([tt.ones(2, 2), tt.zeros(1)])
    tensor([1., 1., 1., 1., 0.])
    """
    return tt.cat([param.reshape(-1) for param in _one_device(parameters)])


def vector_to_parameters(vec: tt.Tensor, parameters: Iterable[tt.Tensor]) -> None:
    """Set the data of parameters to parts of a vector, of which they become views.

    Raises
    ------
    TypeError
        If `vec` is not a tensor, or the parameters lie on several devices.
    """
    vector: Any = vec
    if not isinstance(vector, tt.Tensor):
        raise TypeError(f"expected a tensor, but got: {type(vector).__name__}")
    start = 0
    for param in _one_device(parameters):
        count = param.numel()
        param.data = vec[start : start + count].view_as(param).data
        start += count
