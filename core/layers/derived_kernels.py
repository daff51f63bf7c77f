"""Kernels that follow from a backend's own methods, where arrays cannot change or share memory.

The basic methods of such a backend (copying, casting, taking and reshaping arrays) are enough for copies,
views and factories of plain numbers, so no kernels need to be written for them.  A registered kernel takes precedence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.core.layers.functionalise import positions
from tt.core.meta import MetaHandle, bound_rule, fresh, to_handles
from tt.core.types.device import Device
from tt.core.types.dtype import dtype as Dtype

if TYPE_CHECKING:
    from tt.core.dispatch.call.operator import Operator
    from tt.core.tensor.backend import Backend

__all__ = ["derived_kernel"]

Derived = Callable[[Sequence[Any], Sequence[Dtype | None]], Any]

FACTORIES: Final = frozenset({
    "empty", "zeros", "ones", "full", "scalar_tensor", "arange", "arange.start", "arange.start_step", "linspace",
    "logspace", "eye",
})  # fmt: skip
"""Factories of numbers that no tensor decides: they are made on the host and put on the device."""

OTHER_DTYPE: Final = frozenset({"imag", "real", "view.dtype", "view_as_complex", "view_as_real"})
"""Views that read memory as another dtype, which elements that are taken one by one cannot give."""


def derived_kernel(backend: Backend, operator: Operator) -> Derived | None:
    """Return a kernel built from a backend's methods, or None."""
    name, definition = operator.name, operator.definition
    simple: dict[str, Derived] = {
        "alias": lambda args, results: args[0],
        "detach": lambda args, results: args[0],
        "clone": lambda args, results: backend.clone(args[0]),
        "item": lambda args, results: backend.item(args[0]),
        "_to_copy": lambda args, results: _cast(backend, args[0], results[0]),
        "copy": lambda args, results: _cast(backend, _spread(backend, args[1], args[0].shape), results[0]),
    }
    if name in simple:
        return simple[name]
    if name in FACTORIES:
        return lambda args, results: _made_on_host(backend, operator, args, results[0])
    if definition.kind != "view" or name in OTHER_DTYPE or not definition.meta:
        return None
    # An operator with a composite is made of views that have kernels here.
    if operator.registry.composite(name) is not None:
        return None
    return lambda args, results: _view(backend, operator, args, results)


def _cast(backend: Backend, handle: Any, dtype: Dtype | None) -> Any:
    """Return a copy in a dtype."""
    # `cast` to the same dtype may return the array itself, and this has to be a copy.
    native = None if dtype is None else backend.native_dtype(dtype)
    return (
        backend.clone(handle) if native in (None, backend.dtype_of(handle)) else backend.cast(handle, native)
    )


def _spread(backend: Backend, handle: Any, shape: Sequence[int]) -> Any:
    """Return the elements broadcast to a shape."""
    if tuple(handle.shape) == tuple(shape):
        return handle
    # A backend has to offer `take`, and need not broadcast: positions are broadcast in its place.
    own = np.arange(int(np.prod(handle.shape, dtype=np.int64))).reshape(tuple(handle.shape))
    positions = np.broadcast_to(own, tuple(shape)).reshape(-1)
    return backend.reshape(backend.take(backend.reshape(handle, (-1,)), positions), tuple(shape))


def _made_on_host(backend: Backend, operator: Operator, args: Sequence[Any], dtype: Dtype | None) -> Any:
    arguments = list(args)
    # The CPU computes the numbers, so that every such backend gets the same.
    arguments[operator.device_at], arguments[operator.dtype_at] = Device("cpu"), dtype
    return backend.from_numpy(operator.overload().execute(tuple(arguments))._handle)


def _view(backend: Backend, operator: Operator, args: Sequence[Any], results: Sequence[Dtype | None]) -> Any:
    """Take the elements given by the shape rule from the elements in row-major order."""
    dtype = results[0]
    assert dtype is not None  # a view has a result, which is a tensor
    # Arrays cannot share memory, so a view is the elements that its geometry names, copied.
    flat = backend.reshape(args[0], (-1,))
    described = [fresh(tuple(args[0].shape), dtype), *args[1:]]
    handles = to_handles(
        bound_rule(operator.definition)(described), results, described, operator.definition.name
    )

    def taken(geometry: MetaHandle) -> Any:
        return backend.reshape(backend.take(flat, positions(geometry)), geometry.shape)

    return [taken(one) for one in handles] if isinstance(handles, list | tuple) else taken(handles)
