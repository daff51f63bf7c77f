"""tt._utils: what programs import from the module of that name in PyTorch: flat buffers, indices of devices, errors."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any

import tt
from tt.core.lazy import attach
from tt.errors import ArgumentError, ShapeError, ValueRangeError

__all__ = [
    "ExceptionWrapper",
    "_element_size",
    "_flatten_dense_tensors",
    "_get_all_device_indices",
    "_get_available_device_type",
    "_get_current_device_index",
    "_get_device_index",
    "_get_device_module",
    "_import_dotted_name",
    "_reorder_tensors_as",
    "_take_tensors",
    "_unflatten_dense_tensors",
    "classproperty",
    *attach(
        __name__,
        {
            lambda name: _function_of_pickles(name): (
                "_rebuild_device_tensor_from_cpu_tensor _rebuild_device_tensor_from_numpy "
                "_rebuild_meta_tensor_no_storage _rebuild_nested_tensor _rebuild_parameter "
                "_rebuild_parameter_with_state _rebuild_qtensor _rebuild_sparse_tensor _rebuild_tensor "
                "_rebuild_tensor_v2 _rebuild_tensor_v3 _rebuild_wrapper_subclass"
            )
        },
    ),
]


def _function_of_pickles(name: str) -> Callable[..., Any]:
    """Return what a pickle of PyTorch's calls to make a tensor."""
    from tt.serialization.rebuilding import functions_of_pickles  # which programs without pickles do without

    return functions_of_pickles()[f"torch._utils.{name}"]


# --- flat buffers ------------------------------------------------------------------------------------------------


def _flatten_dense_tensors(tensors: Iterable[tt.Tensor]) -> tt.Tensor:
    """Return the elements of tensors of one dtype in one vector.

    Examples
    --------
    >>> import tt
    >>> tt._utils._flatten_dense_tensors([tt.zeros(1, 2), tt.ones(2)])
    tensor([0., 0., 1., 1.])
    """
    parts = [tensor.reshape(-1) for tensor in tensors]
    if not parts:
        raise ShapeError("_flatten_dense_tensors(): expects at least one tensor")
    for part in parts:
        if part.dtype is not parts[0].dtype:
            raise ArgumentError(
                "_flatten_dense_tensors",
                f"the tensors must have one dtype, not {parts[0].dtype} and {part.dtype}",
            )
    return tt.cat(parts)


def _unflatten_dense_tensors(flat: tt.Tensor, tensors: Iterable[tt.Tensor]) -> tuple[tt.Tensor, ...]:
    """Return views of a vector with the shapes of tensors, one after the other.

    Examples
    --------
    >>> import tt
    >>> tt._utils._unflatten_dense_tensors(tt.arange(3), [tt.zeros(1, 2), tt.zeros(())])
    (tensor([[0, 1]]), tensor(2))
    """
    originals = list(tensors)
    needed = sum(tensor.numel() for tensor in originals)
    if flat.ndim != 1 or flat.numel() < needed:
        raise ShapeError(
            f"_unflatten_dense_tensors(): expects a vector of {needed} elements, got the shape {list(flat.shape)}"
        )
    parts, start = [], 0
    for tensor in originals:
        # An empty part has memory of its own: a program may resize it.
        size = tensor.numel()
        part = flat[start : start + size] if size else flat.new_empty(0)
        parts.append(part.view(tensor.shape))
        start += size
    return tuple(parts)


def _kind(tensor: tt.Tensor) -> tuple[Any, ...]:
    return tensor.dtype, tensor.device.type, tensor.layout


def _take_tensors(tensors: Iterable[tt.Tensor], size_limit: int) -> Iterator[list[tt.Tensor]]:
    """Yield tensors in groups of one dtype, device and layout, of at most so many bytes unless one has more.

    Examples
    --------
    >>> import tt
    >>> [len(group) for group in tt._utils._take_tensors([tt.zeros(2), tt.zeros(2), tt.zeros(2)], 16)]
    [2, 1]
    """
    groups: dict[Any, list[tt.Tensor]] = {}
    sizes: dict[Any, int] = {}
    for tensor in tensors:
        stored = [tensor._indices(), tensor._values()] if tensor.is_sparse else [tensor]
        size = sum(part.numel() * part.element_size() for part in stored)
        kind = _kind(tensor)
        if groups.get(kind) and sizes[kind] + size > size_limit:
            yield groups.pop(kind)
        if kind not in groups:
            groups[kind], sizes[kind] = [], 0
        groups[kind].append(tensor)
        sizes[kind] += size
    yield from groups.values()


def _reorder_tensors_as(
    tensors: Iterable[tt.Tensor], ordered_tensors: Iterable[tt.Tensor]
) -> tuple[tt.Tensor, ...]:
    """Return tensors, which have the order of others within each dtype, device and layout, in the order of these.

    Examples
    --------
    >>> import tt
    >>> whole, half = tt.tensor([1]), tt.tensor([0.5])
    >>> tt._utils._reorder_tensors_as([half, whole], [whole, half])
    (tensor([1]), tensor([0.5000]))
    """
    waiting: dict[Any, list[tt.Tensor]] = {}
    for tensor in tensors:
        waiting.setdefault(_kind(tensor), []).append(tensor)
    iterators = {kind: iter(match) for kind, match in waiting.items()}
    result = []
    for tensor in ordered_tensors:
        match = next(iterators.get(_kind(tensor), iter(())), None)
        if match is None:
            raise ShapeError(
                f"_reorder_tensors_as(): too few tensors of {tensor.dtype} on {tensor.device.type}"
            )
        result.append(match)
    return tuple(result)


# --- devices -----------------------------------------------------------------------------------------------------


def _get_available_device_type() -> str | None:
    """Return the type of the accelerator of this machine, or None.

    Examples
    --------
    >>> import tt
    >>> tt._utils._get_available_device_type() in (None, "cuda")
    True
    """
    device = tt.accelerator.current_accelerator(check_available=True)
    return None if device is None else device.type


def _get_device_module(device_type: str) -> Any:
    """Return the module of a device type, such as `tt.cuda`.

    Examples
    --------
    >>> import tt
    >>> tt._utils._get_device_module("cuda") is tt.cuda
    True
    """
    return tt.get_device_module(device_type)


def _get_all_device_indices() -> list[int] | None:
    """Return the indices of all accelerators, or None on a machine without one."""
    return list(range(tt.accelerator.device_count())) if _get_available_device_type() else None


def _get_current_device_index() -> int | None:
    """Return the index of the current accelerator, or None on a machine without one."""
    return tt.accelerator.current_device_index() if _get_available_device_type() else None


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int | None:
    """Return the index of a device.

    Parameters
    ----------
    device : device, str, int or None
        The device; an integer is returned as it is.
    optional : bool
        Return the index of the current accelerator for a device without an index, and for None.
    allow_cpu : bool
        Return -1 for the CPU instead of raising.

    Examples
    --------
    >>> import tt
    >>> tt._utils._get_device_index("cuda:1"), tt._utils._get_device_index("cpu", allow_cpu=True)
    (1, -1)
    """
    if isinstance(device, int):
        return device
    target = None if device is None else tt.device(device)
    if target is not None and target.type == "cpu":
        if not allow_cpu:
            raise ValueRangeError(f"_get_device_index(): expected a device other than the CPU, got {device}")
        return -1
    if target is not None and target.index is not None:
        return int(target.index)
    if not optional:
        raise ValueRangeError(
            f"_get_device_index(): expected a device with an index, or an integer, got {device}"
        )
    return _get_current_device_index()


# --- dtypes, names, errors ---------------------------------------------------------------------------------------


def _element_size(dtype: tt.dtype) -> int:
    """Return how many bytes an element of a dtype takes.

    Examples
    --------
    >>> import tt
    >>> tt._utils._element_size(tt.complex64), tt._utils._element_size(tt.bool)
    (8, 1)
    """
    if not isinstance(dtype, tt.dtype):
        raise ArgumentError("_element_size", f"expected a dtype, got {type(dtype).__name__}")
    return int(dtype.itemsize)


def _import_dotted_name(name: str) -> Any:
    """Return the module, or the attribute of a module, with a dotted name.

    Examples
    --------
    >>> import tt
    >>> tt._utils._import_dotted_name("tt.nn.Linear") is tt.nn.Linear
    True
    """
    first, *rest = name.split(".")
    member: Any = import_module(first)
    for part in rest:
        member = getattr(member, part)
    return member


class ExceptionWrapper:
    """An exception of another thread, with the text of its traceback.

    Workers of loaders have one of their own, which survives pickling and knows the exception that caused it.

    Parameters
    ----------
    exc_info : tuple, optional
        As of `sys.exc_info()`, which is the default.
    where : str
        Where it was raised, for the message.

    Examples
    --------
    >>> import tt
    >>> try:
    ...     1 / 0
    ... except ZeroDivisionError:
    ...     wrapped = tt._utils.ExceptionWrapper(where="in replica 0")
    >>> wrapped.reraise()
    Traceback (most recent call last):
        ...
    ZeroDivisionError: Caught ZeroDivisionError in replica 0.
    Original Traceback (most recent call last):
        ...
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        kind, error, trace = exc_info or sys.exc_info()
        if kind is None:
            raise ArgumentError("ExceptionWrapper", "no exception is being handled: pass exc_info")
        # The text only: the traceback would keep the frames, and the objects in them, alive.
        self.exc_type = kind
        self.exc_msg = "".join(traceback.format_exception(kind, error, trace))
        self.where = where

    def reraise(self) -> None:
        """Raise an exception of the same class, or a RuntimeError if it is not made from a message."""
        from tt.utils.data.worker_errors import Verbatim

        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        try:
            error = self.exc_type(Verbatim(message) if issubclass(self.exc_type, KeyError) else message)
        except Exception:
            raise RuntimeError(message) from None
        raise error


class classproperty:  # noqa: N801  # a decorator
    """A property of a class, computed from the class.

    Examples
    --------
    >>> import tt
    >>> class Model:
    ...     @tt._utils.classproperty
    ...     def title(cls):
    ...         return cls.__name__.lower()
    >>> Model.title, Model().title
    ('model', 'model')
    """

    def __init__(
        self, function: Callable[..., Any] | classmethod[Any, Any, Any] | staticmethod[Any, Any]
    ) -> None:
        bound = isinstance(function, classmethod | staticmethod)
        self._function: Any = function if bound else classmethod(function)  # type: ignore[arg-type]

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self._function.__get__(instance, owner or type(instance))()
