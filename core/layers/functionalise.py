"""Functionalisation: in-place operations and views on backends whose arrays cannot change or cannot share memory.

Note [Views without memory]
---------------------------
Tensors of such a backend carry the key bit of the layer "functionalise".  When a tensor is viewed, its elements
become the flat content of a shared `FlatStorage`, and both the tensor and the view remember a geometry (shape,
strides, offset) in it, computed by the same shape rules that meta tensors use.  A write through any of them replaces
the flat content and advances the version; the others, whose array is then out of date, gather their elements again
before they are used next.  Gathering and writing both are `take` with an index array made on the host, so an
immutable array library needs nothing but `take` and `concat`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tt.core.dispatch.call.codes import COMPOSITE
from tt.core.dispatch.call.kernel_errors import names_methods
from tt.core.dispatch.call.mutation import refuse_written, targets_of, with_targets_of
from tt.core.dispatch.intercept.layers import Layer, LayerFunction
from tt.core.dispatch.mutate.overlap import refuse_shared
from tt.core.errors import CastError, InplaceError, ShapeError, TargetDtypeError
from tt.core.meta import MetaHandle, run_rule
from tt.core.tensor.backend import contiguous_strides
from tt.core.tensor.base import TensorBase
from tt.core.tensor.tensor import Tensor, wrap
from tt.core.types.promotion import can_cast

if TYPE_CHECKING:
    from tt.core.dispatch.call.cached_call import CachedCall
    from tt.core.dispatch.call.operator import Operator

__all__ = ["FlatStorage", "FunctionaliseLayer"]


class FlatStorage:
    """The content that a tensor and its views share, as one flat array that is replaced at each write.

    Attributes
    ----------
    flat : object
        The backend's array, one-dimensional.
    version : int
        Counts the writes.
    """

    def __init__(self, flat: Any, backend: Any) -> None:
        self.flat, self.backend, self.version = flat, backend, 0

    def nbytes(self) -> int:
        """Return the size of the content in bytes."""
        return int(self.backend.storage_nbytes(self.flat))

    def size(self) -> int:
        """Return the size of the content in bytes."""
        return self.nbytes()

    def data_ptr(self) -> int:
        """Return 0: the content has no address."""
        return 0


class ViewStorage:
    """One tensor's place in a `FlatStorage`; used where mutable backends have a `Storage`.

    Attributes
    ----------
    base : FlatStorage
        The shared content.
    geometry : MetaHandle
        Shape, strides and offset of the tensor in it.
    seen : int
        The version at which the tensor's array was made.
    """

    __slots__ = ("base", "geometry", "seen")

    def __init__(self, base: FlatStorage, geometry: MetaHandle, seen: int) -> None:
        self.base, self.geometry, self.seen = base, geometry, seen

    @property
    def version(self) -> int:
        """The version of the shared content."""
        return self.base.version

    @version.setter
    def version(self, value: int) -> None:
        # The tensor whose own write advances the version stays up to date; the others gather anew.
        if self.seen == self.base.version:
            self.seen = value
        self.base.version = value

    @property
    def owner(self) -> None:
        """Nothing: the tensor's array is not the shared content, but made of it."""
        return None

    def nbytes(self) -> int:
        """Return the size of the shared content in bytes."""
        return self.base.nbytes()

    def data_ptr(self) -> int:
        """Return 0: the content has no address."""
        return 0


def positions(geometry: MetaHandle) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return, for each element of a geometry in row-major order, its position in the flat content."""
    index = np.full((), geometry.offset, dtype=np.int64)
    for size, stride in zip(geometry.shape, geometry.strides, strict=True):
        index = index[..., None] + np.arange(size, dtype=np.int64) * stride
    return index.reshape(-1)


def ensure_view_storage(tensor: TensorBase) -> ViewStorage:
    """Return the tensor's place in shared content, making it the whole content if it is not shared yet."""
    storage = tensor._storage
    if isinstance(storage, ViewStorage):
        return storage
    backend, shape = tensor._spec.backend, tuple(tensor._handle.shape)
    version = 0 if storage is None else storage.version
    base = FlatStorage(backend.reshape(tensor._handle, (-1,)), backend)
    # Changes before the first view count on.
    base.version = version
    geometry = MetaHandle(shape, tensor.dtype, contiguous_strides(shape), 0)
    view_storage = ViewStorage(base, geometry, version)
    tensor._storage = view_storage
    return view_storage


def share(tensor: TensorBase) -> ViewStorage:
    """Return a place of its own in the content of a tensor, for an alias of it: what one writes the other sees."""
    shared = ensure_view_storage(tensor)
    # A place of its own, since the alias and the tensor gather at different times.
    return ViewStorage(shared.base, shared.geometry, shared.seen)


def refresh(tensor: TensorBase) -> None:
    """Bring the tensor's array up to date with the shared content."""
    storage = tensor._storage
    if isinstance(storage, ViewStorage) and storage.seen != storage.base.version:
        backend, geometry = tensor._spec.backend, storage.geometry
        taken = backend.take(storage.base.flat, positions(geometry))
        tensor._handle = backend.reshape(taken, geometry.shape)
        storage.seen = storage.base.version


def write(tensor: TensorBase, handle: Any) -> None:
    """Replace the tensor's elements, in the shared content if it shares any."""
    tensor._handle = handle
    storage = tensor._storage
    if not isinstance(storage, ViewStorage):
        tensor._bump_version()
        return
    backend, base = tensor._spec.backend, storage.base
    where = positions(storage.geometry)
    count = int(base.flat.shape[0])
    # A place that is written twice would have no defined value.
    if len(np.unique(where)) != len(where):
        raise InplaceError(
            "several elements of the tensor that is written to are one in memory\n  try: clone() it first"
        )
    # The new content is gathered from old content and new values laid end to end.
    source = np.arange(count, dtype=np.int64)
    source[where] = count + np.arange(len(where), dtype=np.int64)
    base.flat = backend.take(backend.concat([base.flat, backend.reshape(handle, (-1,))]), source)
    base.version += 1
    storage.seen = base.version


class FunctionaliseLayer(Layer):
    """Turns in-place operations into functional ones and keeps views in step."""

    name = "functionalise"
    order = 10

    def rule(self, operator: Operator, form: str) -> LayerFunction | None:
        """Return how the layer handles a form of an operator."""
        if form == "out":
            return None
        if operator.mutates:
            return self._mutating
        returns = operator.definition.signature.returns
        if operator.definition.kind != "view" and any(r.alias for r in returns):
            return None  # a view or a copy, as its composite decides (reshape, contiguous)
        if operator.definition.kind == "composite" and form == "functional":
            return (
                None  # its parts meet the layer; one of them may change an argument (embedding with max_norm)
            )
        if operator.definition.kind == "view":
            return self._metadata_view if form == "inplace" else self._view
        return self._inplace if form == "inplace" else self._plain

    def _prepare(self, cached: CachedCall, args: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arguments with up-to-date aliases that the layer does not hold."""
        prepared: list[Any] = []
        for value in args:
            if isinstance(value, TensorBase):
                if value._keys & self.bit:
                    refresh(value)
                    # Bare and new: what lies below must not see the layer's bit, nor change the user's tensor.
                    bare = wrap(value._handle, value._spec)
                    bare._keys = value._keys & ~self.bit
                    value = bare
            elif isinstance(value, list):
                value = list(self._prepare(cached, value))
            prepared.append(value)
        return tuple(prepared)

    def _hold(self, value: Any) -> Any:
        """Give results below the layer's bit."""
        if isinstance(value, TensorBase):
            # Only if the result's own backend needs the layer: `to` may have moved it elsewhere.
            value._keys |= self.bit & value._spec.keys
        elif isinstance(value, list | tuple):
            for item in value:
                self._hold(item)
        return value

    @names_methods
    def _plain(self, cached: CachedCall, args: tuple[Any, ...]) -> Any:
        return self._hold(cached.below.run(self._prepare(cached, args)))

    @names_methods
    def _mutating(self, cached: CachedCall, args: tuple[Any, ...]) -> Any:
        """Run an operator that changes arguments on bare tensors, and write what has become of them."""
        operator = cached.operator
        if cached.below.kind == COMPOSITE:  # its parts meet the layer
            return cached.below.function(*args)
        targets = targets_of(operator, args)
        refuse_written(cached, targets, args)
        prepared = self._prepare(cached, args)
        result = self._hold(cached.below.run(prepared))
        for target, new in zip(targets, targets_of(operator, prepared), strict=True):
            # Targets on other devices have memory of their own, which has been changed.
            if target._spec.backend.functionalised:
                write(target, new._handle)
        return with_targets_of(operator, args, result)

    @names_methods
    def _inplace(self, cached: CachedCall, args: tuple[Any, ...]) -> Any:
        target = args[0]
        if not target._spec.backend.functionalised:
            # Only an operand lies on the layer's device: `copy_` writes into the memory that the target has.
            return cached.below.run(self._prepare(cached, args))
        if cached.operator.name == "resize":
            return self._resized(cached, args)
        if target._storage is not None:
            refuse_shared(cached, target, args)
        functional = cached.operator.overload("functional")
        prepared = self._prepare(cached, args)
        # Computed as a new tensor; the target takes the values afterwards, so
        # that operands that alias it are read before.
        result = functional.execute(prepared)
        if result.shape != target.shape:
            raise ShapeError(
                f"{cached.operator.definition.inplace_name}(): the result has shape {list(result.shape)}, which the "
                f"target of shape {list(target.shape)} cannot hold"
            )
        handle = result._handle
        if result.dtype is not target.dtype:
            name = cached.operator.definition.inplace_name
            if "exact_target" in cached.operator.definition.tags:
                raise TargetDtypeError(name, result.dtype.name, target.dtype.name)
            if cached.operator.name != "copy" and not can_cast(result.dtype, target.dtype):
                raise CastError(name, result.dtype.name, target.dtype.name)
            handle = target._spec.backend.cast(handle, target._spec.backend.native_dtype(target.dtype))
        write(target, handle)
        return target

    def _resized(self, cached: CachedCall, args: tuple[Any, ...]) -> Any:
        """Give a tensor another place in its content, which grows where it is too short."""
        target, backend = args[0], args[0]._spec.backend
        storage = ensure_view_storage(target)
        geometry: Any = run_rule(cached.operator.definition, (storage.geometry, *args[1:]))
        storage.geometry = geometry
        base, indices = storage.base, positions(storage.geometry)
        lacking = int(indices.max(initial=-1)) + 1 - int(base.flat.shape[0])
        # The content is an array without room to grow: a longer one takes its place, for all views.
        if lacking > 0:
            more = backend.from_numpy(np.zeros(lacking, target.dtype.numpy), target.device)
            base.flat = backend.concat([base.flat, more])
        handle = backend.reshape(backend.take(base.flat, indices), storage.geometry.shape)
        target._set_data(handle, target._spec)
        base.version += 1
        storage.seen = base.version
        return target

    def _geometry(self, cached: CachedCall, args: tuple[Any, ...]) -> Any:
        """Return the geometry of the results of a view in the storage of its first argument."""
        storage = ensure_view_storage(args[0])
        # With the extent of the content, as_strided can refuse elements beyond it.
        geometry = replace(storage.geometry, extent=int(storage.base.flat.shape[0]))
        return storage, run_rule(cached.operator.definition, (geometry, *args[1:]))

    @names_methods
    def _view(self, cached: CachedCall, args: tuple[Any, ...]) -> Any:
        refresh(args[0])
        dtype = cached.resolution.results[0] if cached.resolution.results else None
        if dtype is not None and dtype is not args[0].dtype:
            # Gathering elements cannot reach the parts of complex numbers: the result is a copy.
            self._geometry(cached, args)  # the rule refuses calls that are not views
            return self._plain(cached, args)
        storage, geometry = self._geometry(cached, args)
        if isinstance(geometry, list):
            return tuple(self._view_tensor(args[0], storage, g) for g in geometry)
        return self._view_tensor(args[0], storage, geometry)

    def _view_tensor(self, source: TensorBase, storage: ViewStorage, geometry: MetaHandle) -> Tensor:
        backend = source._spec.backend
        taken = backend.take(storage.base.flat, positions(geometry))
        new = wrap(backend.reshape(taken, geometry.shape), source._spec)
        new._storage = ViewStorage(storage.base, geometry, storage.base.version)
        # The root is what was there first, and never itself a view.
        new._root = source if source._root is None else source._root
        return new

    @names_methods
    def _metadata_view(self, cached: CachedCall, args: tuple[Any, ...]) -> Any:
        target = args[0]
        view = self._view(cached, args)
        # The user holds the target, so it takes over the array and the place of the view.
        target._set_data(view._handle, view._spec)
        target._storage = view._storage
        target._bump_version()
        return target
