"""`get_kernel`: the kernels of an operator at one moment, for a later kernel that calls them."""

from __future__ import annotations

from typing import Any, cast

from tt.core.custom_op.registrations import operator_of
from tt.core.dispatch.call.operator import Operator
from tt.core.dispatch.registry.registry import REGISTRY, Registry
from tt.core.dispatch.registry.sources import Registration
from tt.core.dispatch.resolve.operators import make_operator
from tt.core.methods.memory.host_access import handle_of
from tt.core.tensor.backend import dtype_of
from tt.core.tensor.base import TensorBase
from tt.core.tensor.tensor import wrap
from tt.core.types.device import Device

__all__ = ["KernelFunction", "get_kernel"]


class RegistryAtOneMoment:
    """The registry as an operator sees it for which the kernels registered later do not exist."""

    def __init__(self, operator: Operator) -> None:
        self._name = operator.name
        # A copy: kernels that are registered later are added to the registry's list.
        self._kernels = list(operator.registry.kernels.get(operator.name, ()))

    def __getattr__(self, name: str) -> Any:
        return getattr(REGISTRY, name)

    def all_kernels_of(self, op: str, device: str, layouts: tuple[str, ...]) -> list[Registration]:
        """Return the kernels of a device, the highest priority first."""
        if op != self._name:
            return REGISTRY.all_kernels_of(op, device, layouts)
        kernels = [r for r in self._kernels if r.device == device and r.layouts == layouts]
        return sorted(kernels, key=lambda registration: -registration.kernel.priority)


class KernelFunction:
    """What `get_kernel` returns: calls an operator with the kernels that it had then.

    Attributes
    ----------
    name : str
        The operator.
    device : str
        The device type.
    """

    def __init__(self, operator: Operator, device: str) -> None:
        self.name, self.device = operator.name, device
        self._backend = operator.registry.backend(device)
        # An operator of its own, whose cached calls are resolved with these kernels.
        snapshot = make_operator(operator.definition, cast(Registry, RegistryAtOneMoment(operator)))
        self._overload = snapshot.overload()

    def __repr__(self) -> str:
        return f"<kernels of {self.name} for {self.device}>"

    def call_boxed(self, keys: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call the operator.

        Parameters
        ----------
        keys : object
            Without effect: PyTorch's keys of the call.
        *args, **kwargs
            The arguments: tensors, or the device's native arrays, as a kernel gets them.  With arrays the results are
            arrays, too.
        """
        # Called from a kernel it gets arrays, and has to return arrays.
        native = [isinstance(value, self._backend.handle_type) for value in (*args, *kwargs.values())]
        result = self._overload(
            *map(self._tensor, args), **{name: self._tensor(value) for name, value in kwargs.items()}
        )
        return self._arrays(result) if any(native) else result

    def _tensor(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._tensor(item) for item in value]
        if not isinstance(value, self._backend.handle_type):
            return value
        return wrap(value, self._backend.spec(dtype_of(value, self._backend)))

    def _arrays(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return tuple(map(self._arrays, value))
        return handle_of(value) if isinstance(value, TensorBase) else value


def get_kernel(op: Any, dispatch_key: Any) -> KernelFunction:
    """Return the kernels that an operator has for a device type now; one that is registered later can call them.

    Parameters
    ----------
    op : str, CustomOp or operator
        For instance "sin" or "acme::twice".
    dispatch_key : str or device
        The device type ("cpu", "CPU").

    Raises
    ------
    UnknownOpError
        When there is no such operator.
    UnknownNameError
        When no backend serves the device type.

    Examples
    --------
    >>> import tt
    >>> from tt import library
    >>> with library.scoped():
    ...     sin = library.get_kernel("sin", "cpu")
    ...     @library.register_kernel("sin", "cpu", override=True)
    ...     def sin_of_positive(self):
    ...         return sin.call_boxed(None, self) * (self > 0)
    ...     tt.sin(tt.tensor([-1.0, 2.0]))
    tensor([-0.0000,  0.9093])
    """
    operator = operator_of(op)
    key = dispatch_key.type if isinstance(dispatch_key, Device) else str(dispatch_key)
    # PyTorch writes keys in capitals: "CPU", "CUDA".
    key = key.lower() if key.isupper() else key
    return KernelFunction(operator, key)
