"""The elements of a tensor on the host: as arrays of NumPy and other libraries, numbers and lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.core.by_name import module_named
from tt.core.dispatch.call.kernel_errors import method_failed
from tt.core.dispatch.intercept.tt_function import NOT_HANDLED, intercept
from tt.core.dispatch.registry.registry import REGISTRY, ops
from tt.core.errors import (
    DataDependentError,
    ElementCountError,
    GradientError,
    HiddenValuesError,
    LayoutError,
    NumberRangeError,
    NumpyError,
    ValueRangeError,
    describe,
)
from tt.core.layers.functionalise import refresh
from tt.core.methods.conversion import cpu
from tt.core.methods.lazy_member import IdleMember
from tt.core.tensor.base import TensorBase
from tt.core.tensor.read_only import keep_size
from tt.core.tensor.tensor import Tensor, wrap
from tt.core.types import dtype as dt
from tt.core.types.keys import KEYS, PYTHON
from tt.core.types.state import STATE
from tt.core.types.user_warnings import warn_user

if TYPE_CHECKING:
    from tt.core.dispatch.intercept.layers import Layer
    from tt.core.tensor.tensor import Tensor

__all__ = [
    "VALUE_MEMBERS",
    "bare",
    "dense_form",
    "detached",
    "handle_of",
    "host_array",
    "keep_requires_grad",
    "layers_of",
    "loses_gradient",
    "requires_gradient",
    "values_are_hidden",
    "warn_of_lost_gradient",
]


def layers_of(tensor: Tensor) -> list[Layer]:
    """Return the layers that hold a tensor, the outermost first."""
    if not tensor._keys & KEYS.mask("layer"):
        return []

    layers = [REGISTRY.layers[name] for name in KEYS.names("layer", tensor._keys) if name in REGISTRY.layers]
    return sorted(layers, key=lambda layer: -layer.order)


def detached(tensor: TensorBase) -> Tensor:
    """Return a tensor over the same memory, unknown to autograd."""
    return ops.detach(tensor)


def bare(tensor: Tensor) -> Tensor:
    """Return a plain tensor over the data of one whose class has `__tt_dispatch__`; no layer holds it."""
    new = wrap(tensor._handle, tensor._spec)
    new._storage = tensor._ensure_storage()
    return new


def handle_of(tensor: TensorBase) -> Any:
    """Return the native array of a tensor, as a kernel of its backend gets it; both share the memory.

    For authors of kernels, layouts and backends. Autograd and the version counter do not notice writes into the
    array.

    Raises
    ------
    TypeError
        For objects that are not tensors.

    Examples
    --------
    >>> import tt
    >>> from tt.library import handle_of, wrap
    >>> x = tt.tensor([1, 2])
    >>> handle_of(x)
    array([1, 2])
    >>> wrap(handle_of(x) * 10, x._spec)
    tensor([10, 20])
    """
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"handle_of() takes a tensor, not {describe(tensor)}")
    if tensor._spec.backend.functionalised:
        refresh(tensor)
    return tensor._handle


def requires_gradient(tensor: Tensor) -> bool:
    """Return whether autograd records operations on the tensor.

    It is False for tensors without a layer; no plugin is activated for these.
    """
    # Bits of the spec are the backend's, such as functionalisation: they record nothing.
    held = tensor._keys & KEYS.mask("layer") & ~tensor._spec.keys
    return bool(held) and bool(getattr(tensor, "requires_grad", False))


def loses_gradient(tensor: Tensor) -> bool:
    """Return whether what is computed outside of tt from the tensor's values loses a gradient here.

    Under `no_grad` nothing is recorded anyway, so `x.numpy()` is allowed there, as in the forward of a Function.
    """
    return requires_gradient(tensor) and not any(layer.idles and layer.idle() for layer in layers_of(tensor))


def keep_requires_grad(tensor: Tensor, requires_grad: bool) -> None:
    """Let a tensor require a gradient as another one did, or as parameters do, unless autograd is left out."""
    # Where autograd is left out the flag is idle, and setting it would raise.
    if requires_grad and not isinstance(vars(Tensor).get("requires_grad"), IdleMember):
        tensor.requires_grad = True


def dense_form(tensor: TensorBase, name: str = "x") -> str:
    """Return the code that makes a dense tensor of one of another layout, for messages."""
    hint = tensor._spec.backend.hints.get("*", "{self}.to_dense()")
    return hint.partition(",")[0].replace("{self}", name)


def values_are_hidden(tensor: Tensor) -> bool:
    """Return whether the tensor has a shape and a dtype but no values (meta and fake tensors)."""
    return tensor.device.type == "meta" or "fake" in KEYS.names("layer", tensor._keys)


def host_array(tensor: Tensor, what: str = "tolist") -> np.ndarray[Any, Any]:
    """Return the values of a tensor as a NumPy array; it may share memory with the tensor.

    Parameters
    ----------
    tensor : Tensor
        Strided.
    what : str
        The name of the operation, for error messages.

    Raises
    ------
    DataDependentError
        When the tensor has no values.
    """
    if values_are_hidden(tensor):
        raise DataDependentError(what, "meta" if tensor.device.type == "meta" else "fake")
    if tensor._spec.keys & PYTHON:
        raise HiddenValuesError(
            f"{what}(): a {type(tensor).__name__} has no values of its own\n"
            "  try: a method of its class that makes a plain tensor of it"
        )
    if tensor.layout.name != "strided":
        raise LayoutError(
            f"{what}(): a tensor of the layout {tensor.layout} has no values in rows and columns\n"
            f"  try: {dense_form(tensor)}"
        )
    if tensor._keys & PYTHON:
        tensor = bare(tensor)
    if any(
        not layer.transparent for layer in layers_of(tensor)
    ):  # of others, the values are in the tensor's memory
        # A layer that can give the values takes its bit off the clone.
        tensor = ops.clone(detached(tensor))
        for layer in layers_of(tensor):
            if tensor._spec.keys & layer.bit == 0 and not layer.transparent:
                raise HiddenValuesError(
                    f"{what}(): the values of a tensor that the layer {layer.name!r} holds cannot be read"
                )
    backend = tensor._spec.backend
    try:
        values: np.ndarray[Any, Any] = backend.to_numpy(tensor._handle)
    except Exception as error:
        method_failed(error, backend, "to_numpy", "reading a tensor", tensor._handle)
    return values


_API_VERSIONS: Final = ("2021.12", "2022.12", "2023.12", "2024.12")


# --- Python numbers and lists --------------------------------------------------------------------------------------


def item(self: Tensor) -> bool | int | float | complex:
    """Return the only element as a Python number.

    Raises
    ------
    RuntimeError
        When the tensor does not have exactly one element.
    DataDependentError
        When it has no values.

    Examples
    --------
    >>> import tt
    >>> tt.tensor([2.5]).item()
    2.5
    """
    if STATE.modes:
        result: bool | int | float | complex = intercept(item, (self,), None)
        if result is not NOT_HANDLED:
            return result
    count = self.numel()
    if count != 1:
        raise ElementCountError(f"only a tensor of one element is a number; this one has {count}")

    return ops.item(self)


def tolist(self: Tensor) -> Any:
    """Return the values as (nested) lists of Python numbers; a number for a zero-dimensional tensor.

    Examples
    --------
    >>> import tt
    >>> tt.tensor([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]
    """
    if STATE.modes:
        result = intercept(tolist, (self,), None)
        if result is not NOT_HANDLED:
            return result
    return host_array(self, "tolist").tolist()


def to_bool(self: Tensor) -> bool:
    """Return the truth of the only element."""
    count = self.numel()
    if count != 1:
        what = "more than one value" if count else "no values"
        raise ElementCountError(
            f"a tensor with {what} is neither true nor false; use any(), all() or numel()"
        )
    return bool(item(self))


def to_index(self: Tensor) -> int:
    """Return the only element of an integer tensor as an index."""
    if self.dtype.is_floating_point or self.dtype.is_complex or self.numel() != 1:
        raise TypeError("only a tensor of one integer is an index")
    return int(_real_item(self))


def _real_item(self: Tensor) -> bool | int | float:
    value = item(self)
    if isinstance(value, complex):
        if value.imag:
            raise NumberRangeError(f"{value} is beyond the range of float64")
        return value.real
    return value


def to_int(self: Tensor) -> int:
    """Return the only element as an int."""
    return int(_real_item(self))


def warn_of_lost_gradient(*tensors: Tensor) -> None:
    """Warn where Python numbers take the place of tensors one of which requires a gradient."""
    if any(map(loses_gradient, tensors)):
        warn_user(
            "a tensor that requires a gradient becomes a Python number, which has none\n"
            "  try: tensor.item() or tensor.detach() if that is meant"
        )


def to_float(self: Tensor) -> float:
    """Return the only element as a float."""
    warn_of_lost_gradient(self)
    return float(_real_item(self))


def to_complex(self: Tensor) -> complex:
    """Return the only element as a complex number."""
    warn_of_lost_gradient(self)
    return complex(item(self))


def format_(self: Tensor, format_spec: str) -> str:
    """Format the element of a zero-dimensional tensor; others take no format."""
    # Subclasses and tensors with dimensions print by `object.__format__`, as in PyTorch.
    if self.ndim == 0 and type(self) is Tensor and not values_are_hidden(self):
        return format(item(self), format_spec)
    return object.__format__(self, format_spec)


# --- arrays of other libraries -------------------------------------------------------------------------------------


def _exportable(self: Tensor) -> None:
    """Raise unless the tensor's values are plain memory of the host."""
    if loses_gradient(self):
        raise GradientError(
            "numpy() of a tensor that requires a gradient would lose it; call tensor.detach().numpy()"
        )
    lost = self._spec.backend.lost_by_export(self._handle)
    if lost:
        raise GradientError(f"numpy() would lose {lost} of the tensor; call tensor.detach().numpy()")
    if self.layout.name != "strided":
        raise NumpyError(
            f"NumPy has no arrays of layout {self.layout}; call {dense_form(self, 'tensor')} first"
        )
    if values_are_hidden(self):
        raise DataDependentError("numpy", "meta" if self.device.type == "meta" else "fake")
    if self.device.type != "cpu":
        raise NumpyError(f"NumPy cannot reach the memory of {self.device}; call tensor.cpu() first")


def numpy(self: Tensor, *, force: bool = False) -> np.ndarray[Any, Any]:
    """Return a NumPy array that shares the tensor's memory.

    Parameters
    ----------
    force : bool
        Detach the tensor and copy it to the CPU first, if needed.

    Raises
    ------
    RuntimeError
        When the tensor requires gradients, except under `no_grad`.
    TypeError
        When it is not strided memory on the CPU.

    Examples
    --------
    >>> import tt
    >>> tt.tensor([1, 2]).numpy()
    array([1, 2])
    """
    if STATE.modes:
        result: np.ndarray[Any, Any] = intercept(numpy, (self,), {"force": force})
        if result is not NOT_HANDLED:
            return result
    if force:
        self = cpu(detached(self))
        if self.layout.name != "strided" and not self._spec.backend.strided_memory:
            self = self.to_dense()
    _exportable(self)
    if requires_gradient(self):
        self = detached(self)
    keep_size(self)
    # A new array object: the caller may change its shape in place.
    return host_array(self, "numpy").view()


def array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """Return the tensor as `numpy.asarray` wants it."""
    values = numpy(self)
    if dtype is None or np.dtype(dtype) == values.dtype:
        return values.copy() if copy else values
    if copy is False:
        raise ValueRangeError(
            f"a {self.dtype.name} tensor cannot become an array of {np.dtype(dtype)} without a copy"
        )
    return values.astype(dtype)


def _array_interface(self: Tensor) -> dict[str, Any]:
    """NumPy's description of the memory of a CPU tensor; other tensors do not have the attribute."""
    if (
        self.device.type != "cpu"
        or self.layout.name != "strided"
        or self.dtype in (dt.bfloat16, dt.complex32)
        or self.dtype in dt.STORED
        or values_are_hidden(self)
        or self._spec.backend.lost_by_export(self._handle)
    ):
        # bfloat16, float8 and complex32: the protocol has no names for them.
        raise AttributeError(f"a {self.dtype.name} tensor on {self.device} has no __array_interface__")
    return dict(numpy(self).__array_interface__)


def _cuda_array_interface(self: Tensor) -> dict[str, Any]:
    """CUDA's description of the memory of a CUDA tensor (version 3); other tensors do not have the attribute."""
    if self.device.type != "cuda" or self.layout.name != "strided" or values_are_hidden(self):
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor on {self.device}\n  try: Tensor.cuda()"
        )
    if loses_gradient(self):
        raise GradientError(
            "__cuda_array_interface__ of a tensor that requires a gradient would lose it; use tensor.detach()"
        )
    size, backend = self.dtype.itemsize, self._spec.backend
    plain = self.is_contiguous()
    return {
        "typestr": self.dtype.numpy.str,
        "shape": tuple(self.shape),
        "strides": None if plain else tuple(stride * size for stride in backend.strides(self._handle)),
        "data": (backend.data_ptr(self._handle) if self.numel() else 0, False),
        # Readers of the memory wait for this stream; 1 means the default one, whose address is 0.
        "stream": int(backend.current_stream(self.device).ptr) or 1,
        "version": 3,
    }


def array_namespace(self: Tensor, *, api_version: str | None = None) -> Any:
    """Return `tt.array_api`, the namespace of the array API standard.

    Parameters
    ----------
    api_version : str, optional
        A version of the standard: 2021.12 to 2024.12. Each only adds to those before, so all have one namespace.

    Raises
    ------
    ValueError
        For another version.

    Examples
    --------
    >>> import tt
    >>> tt.ones(1).__array_namespace__().__name__
    'tt.array_api'
    """
    if api_version is not None and api_version not in _API_VERSIONS:
        raise ValueRangeError(
            f"version {api_version!r} of the array API standard is not supported\n"
            f"  versions: {', '.join(_API_VERSIONS)}"
        )
    return module_named("tt.array_api")


VALUE_MEMBERS: dict[str, Any] = {
    "item": item,
    "tolist": tolist,
    "__bool__": to_bool,
    "__index__": to_index,
    "__int__": to_int,
    "__float__": to_float,
    "__complex__": to_complex,
    "__format__": format_,
    "numpy": numpy,
    "__array__": array,
    "__array_interface__": property(_array_interface),
    "__cuda_array_interface__": property(_cuda_array_interface),
    "__array_namespace__": array_namespace,
}
