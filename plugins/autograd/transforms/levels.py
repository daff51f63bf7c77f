"""Levels: which transforms are running in this thread, and the tensors that they wrap.

Note [Levels]
-------------
Each running `vmap` or `jvp` is a level on the thread's stack.  A tensor that is mapped over is wrapped: its handle
is a `Batched`, which holds the inner tensor, the hidden dim, and the level.  A tensor with a tangent is wrapped by a
`Dual`, which holds both.  The inner tensor may be wrapped by an outer level.  Wrapped tensors carry the key bit of the
layer "transform"; the innermost level among an operator's arguments handles the call, unwraps them, and calls the
operator again on the inner tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import ReferenceType, WeakKeyDictionary

from tt.core.library import (
    KEYS,
    Backend,
    Block,
    Carried,
    Tensor,
    TensorBase,
    TensorSpec,
    begin_epoch,
    errors,
    ops,
    wrap,
)
from tt.core.library import dtype as Dtype
from tt.plugins.autograd.record.grad_state import STATE

__all__ = [
    "BIT",
    "Batched",
    "Dual",
    "DualLevel",
    "Level",
    "batched",
    "differentiating",
    "dual",
    "enter_dual",
    "hidden_dim_first",
    "innermost",
    "is_captured",
    "is_differentiating",
    "is_outermost",
    "leave_dual",
    "levels",
    "move_dim",
    "primal_and_tangent",
    "refuse_in_transforms",
    "shown",
    "unwrap",
]

BIT = KEYS.bit("layer", "transform")
"""The key bit of wrapped tensors."""


class Level:
    """One running `vmap`; its subclass `DualLevel` is one running `jvp`.

    Attributes
    ----------
    began : int
        The epoch that it began: tensors of earlier ones were made outside of the function.
    depth : int
        Its place on the stack; the innermost has the highest.
    size : int
        The number of calls that it represents.
    randomness : str
        What random operators do: "error", "different" or "same".
    implicit : bool
        Whether the function does not know that it is mapped: `jacfwd` does so for its directions.
    written : list
        What tensors were before a write wrapped them at the level: weak references, the tensors that they were, and
        their key bits.
    """

    __slots__ = ("began", "depth", "implicit", "randomness", "size", "written")

    def __init__(self, depth: int, size: int, randomness: str = "error", implicit: bool = False) -> None:
        self.depth, self.size, self.randomness, self.implicit = depth, size, randomness, implicit
        self.began = begin_epoch()
        self.written: list[tuple[ReferenceType[Any], Any, int]] = []


class DualLevel(Level):
    """One level of forward mode.

    Attributes
    ----------
    open : bool
        False once the level has ended: its tangents are ignored from then on.
    transform : bool
        Whether it belongs to a function of `tt.func`, and not to a user's block.
    given : list
        Tangents that are the caller's tensors, and not written to.
    """

    __slots__ = ("given", "open", "transform")

    def __init__(self, depth: int, transform: bool = True) -> None:
        super().__init__(depth, 0)
        self.open, self.transform = True, transform
        self.given: list[Any] = []


class _Stack(Carried):
    def __init__(self) -> None:
        self.levels: tuple[Level, ...] = ()
        self.grads: tuple[int, ...] = ()


_STACK = _Stack()


def levels() -> tuple[Level, ...]:
    """Return the running levels of this thread, the outermost first."""
    return _STACK.levels


class differentiating(Block):  # noqa: N801 - reads as a statement: with differentiating()
    """Notes for a `with` block that a function runs whose gradient is wanted."""

    def _look(self) -> tuple[int, ...]:
        return _STACK.grads

    def _begin(self) -> None:
        STATE.transforming = 1
        _STACK.grads = (*_STACK.grads, begin_epoch())

    def _end(self, before: tuple[int, ...]) -> None:
        _STACK.grads = before


def is_differentiating() -> bool:
    """Return whether this thread runs a function whose gradient is computed."""
    return bool(_STACK.grads)


def is_captured(tensor: Tensor, further_out: bool = False) -> bool:
    """Return whether a tensor was there before this thread began to run a function whose gradient is computed.

    Parameters
    ----------
    tensor : Tensor
        The tensor.
    further_out : bool
        Whether to ask for the function that runs around the innermost one.
    """
    begun = _STACK.grads[:-1] if further_out else _STACK.grads
    return bool(begun) and bool(tensor._epoch < begun[-1])


def shown(tensor: Tensor) -> Tensor:
    """Return the tensor whose history one shows: that below its wrappers.

    A tensor that a transform wraps shows what the functions record that run inside of it, and nothing of a history
    further out: that one is its wrapper then, which has none.
    """
    while tensor._keys & BIT:
        level = tensor._handle.level
        hides = not isinstance(level, DualLevel) or level.transform
        if hides and (not _STACK.grads or _STACK.grads[-1] < level.began):
            break
        tensor = tensor._handle.value
    return tensor


def is_outermost() -> bool:
    """Return whether this thread runs a function whose gradient is computed, and there is `vmap` alone around it."""
    return len(_STACK.grads) == 1 and not any(
        level.implicit or isinstance(level, DualLevel) for level in _STACK.levels
    )


def refuse_in_transforms(function: str, instead: str) -> None:
    """Refuse what changes a tensor permanently inside a function that is transformed.

    Parameters
    ----------
    function : str
        The called function.
    instead : str
        What to do.
    """
    levels = _STACK.levels
    if _STACK.grads or (levels and any(not isinstance(f, DualLevel) or f.transform for f in levels)):
        raise errors.UnsupportedError(
            f"{function}() is called inside of a function that tt.func transforms: {instead}, or call it outside"
        )


class running(Block):  # noqa: N801 - reads as a statement: with running(size) as level
    """Puts a level on the stack for a `with` block."""

    def __init__(self, size: int, randomness: str = "error", implicit: bool = False) -> None:
        self._size, self._randomness, self._implicit = size, randomness, implicit

    def _look(self) -> tuple[Level, ...]:
        return _STACK.levels

    def _begin(self) -> Level:
        level = Level(len(_STACK.levels), self._size, self._randomness, self._implicit)
        _STACK.levels = (*_STACK.levels, level)
        return level

    def _end(self, before: tuple[Level, ...]) -> None:
        for level in _STACK.levels[len(before) :]:
            _leave(level)
        _STACK.levels = before


def enter_dual(transform: bool = True) -> DualLevel:
    """Put a level of forward mode on the stack."""
    level = DualLevel(len(_STACK.levels), transform)
    _STACK.levels = (*_STACK.levels, level)
    return level


def leave_dual(level: DualLevel) -> None:
    """Take a level of forward mode off the stack.

    Raises
    ------
    ArgumentError
        When it is not the innermost.
    """
    if not _STACK.levels or _STACK.levels[-1] is not level:
        raise errors.ArgumentError("exit_dual_level", "only the innermost level can be left")
    _leave(level)  # first: an interrupt in it leaves the level to be left once more
    _STACK.levels = _STACK.levels[:-1]
    level.open = False


def _leave(level: Level) -> None:
    if level.written:
        from tt.plugins.autograd.transforms.inplace import (
            restore,  # few functions write into tensors of their own
        )

        restore(level)


class Batched:
    """The handle of a wrapped tensor.

    Attributes
    ----------
    value : Tensor
        The tensor inside.
    dim : int
        Its dim that the function does not see.
    level : Level
        Whose it is.
    """

    __slots__ = ("__weakref__", "dim", "level", "value")

    def __init__(self, value: Tensor, dim: int, level: Level) -> None:
        self.value, self.dim, self.level = value, dim, level

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that the function sees."""
        shape = tuple(self.value.shape)
        return shape[: self.dim] + shape[self.dim + 1 :]

    @property
    def ndim(self) -> int:
        """The number of dims that the function sees."""
        return int(self.value.ndim) - 1


class BatchedBackend(Backend):
    """The backend of wrapped tensors: reports the geometry that is visible to the function.

    Parameters
    ----------
    inside : Backend
        The backend of the inner tensors.
    """

    handle_type = Batched

    def __init__(self, inside: Backend) -> None:
        super().__init__()
        self.device_type, self.layout, self.inside = inside.device_type, inside.layout, inside

    def native_dtype(self, dtype: Dtype) -> Any:
        """Return the inner backend's dtype."""
        return self.inside.native_dtype(dtype)

    def strides(self, handle: Batched) -> tuple[int, ...]:
        """Return the strides without the hidden dim's."""
        inner = handle.value._spec.backend.strides(handle.value._handle)
        return tuple(inner[: handle.dim]) + tuple(inner[handle.dim + 1 :])

    def offset(self, handle: Batched) -> int:
        """Return where the first example starts."""
        return int(handle.value._spec.backend.offset(handle.value._handle))

    def storage_owner(self, handle: Batched) -> Any:
        """Return what owns the memory of all examples."""
        return handle.value._spec.backend.storage_owner(handle.value._handle)

    def storage_nbytes(self, owner: Any) -> int:
        """Return the size of the memory of all examples."""
        return self.inside.storage_nbytes(owner)

    def values(self, tensor: Tensor) -> Any:
        """Return the stored values, as the inner backend does."""
        return self.inside.values(tensor)

    def tensor_with_storage(self, handle: Batched) -> Any:
        """Refuse: an example has no memory of its own."""
        raise errors.UnsupportedError(
            "Cannot access storage of a tensor that vmap maps over: the memory is that of all examples"
        )

    def to_numpy(self, handle: Batched) -> Any:
        """Refuse: there is one array for each example."""
        raise errors.DataDependentError("numpy", "vmapped")


_SPECS: WeakKeyDictionary[TensorSpec, TensorSpec] = WeakKeyDictionary()


def _wrapped_spec(spec: TensorSpec) -> TensorSpec:
    """Return the spec of wrapped tensors for the spec of the inner tensors."""
    if isinstance(spec.backend, BatchedBackend):
        return spec  # a level further out maps over the tensor, too
    # One wrapped spec for each inner one: identity of specs is a test of the hot path.
    wrapped = _SPECS.get(spec)
    if wrapped is None:
        backend = BatchedBackend(spec.backend)
        wrapped = _SPECS[spec] = TensorSpec(spec.dtype, spec.device, spec.layout, backend, spec.keys | BIT)
    return wrapped


def batched(value: Any, dim: int, level: Level) -> Tensor:
    """Return a tensor whose dim `dim` is hidden at a level.

    Raises
    ------
    UnsupportedError
        For a quantized tensor: examples would need scales of their own.
    """
    if value._spec.dtype.kind == "quantized":
        raise errors.UnsupportedError(
            f"vmap(): quantized tensors cannot be mapped over, got one of {value._spec.dtype}\n"
            "  try: x.dequantize() before vmap, and tt.quantize_per_tensor after it"
        )
    new = wrap(Batched(value, dim % value.ndim, level), _wrapped_spec(value._spec))
    new._record = level
    return new


class Dual:
    """The handle of a tensor with a tangent.

    Attributes
    ----------
    value, tangent : Tensor
        Of the same shape and dtype.
    level : DualLevel
        Whose they are.
    """

    __slots__ = ("__weakref__", "level", "tangent", "value")

    def __init__(self, value: Tensor, tangent: Tensor, level: DualLevel) -> None:
        self.value, self.tangent, self.level = value, tangent, level

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of both."""
        return tuple(self.value.shape)

    @property
    def ndim(self) -> int:
        """The number of dims of both."""
        return int(self.value.ndim)


class DualBackend(Backend):
    """The backend of tensors with a tangent: reports everything as for the value.

    Parameters
    ----------
    inside : Backend
        The backend of the value.
    """

    handle_type = Dual

    def __init__(self, inside: Backend) -> None:
        super().__init__()
        self.device_type, self.layout, self.inside = inside.device_type, inside.layout, inside

    def native_dtype(self, dtype: Dtype) -> Any:
        """Return the inner backend's dtype."""
        return self.inside.native_dtype(dtype)

    def strides(self, handle: Dual) -> tuple[int, ...]:
        """Return the strides of the value."""
        return tuple(handle.value.stride())

    def offset(self, handle: Dual) -> int:
        """Return where the value starts."""
        return int(handle.value.storage_offset())

    def storage_owner(self, handle: Dual) -> Any:
        """Return what owns the memory of the value."""
        return handle.value._spec.backend.storage_owner(handle.value._handle)

    def storage_nbytes(self, owner: Any) -> int:
        """Return the size of the value's memory."""
        return self.inside.storage_nbytes(owner)

    def lost_by_export(self, handle: Dual) -> str:
        """Return that an array has no tangent, or what is lost of the value."""
        if handle.level.open:
            return "the tangent"
        value = handle.value
        return "the gradient" if value.requires_grad else value._spec.backend.lost_by_export(value._handle)

    def values(self, tensor: Tensor) -> Any:
        """Return the stored values, as the inner backend does."""
        return self.inside.values(tensor)

    def tensor_with_storage(self, handle: Dual) -> Any:
        """Return the value, which has a storage."""
        return handle.value

    def to_numpy(self, handle: Dual) -> Any:
        """Return the value: decisions of a program that depend on numbers have no tangent."""
        return handle.value._spec.backend.to_numpy(handle.value._handle)


_DUAL_SPECS: WeakKeyDictionary[TensorSpec, TensorSpec] = WeakKeyDictionary()


def dual(value: Any, tangent: Tensor, level: DualLevel) -> Tensor:
    """Return a tensor with a tangent at a level."""
    spec = value._spec
    if not isinstance(spec.backend, DualBackend):
        wrapped = _DUAL_SPECS.get(spec)
        if wrapped is None:
            backend = DualBackend(spec.backend)
            wrapped = _DUAL_SPECS[spec] = TensorSpec(
                spec.dtype, spec.device, spec.layout, backend, spec.keys | BIT
            )
        spec = wrapped
    new = wrap(Dual(value, tangent, level), spec)
    new._record = level
    return new


def primal_and_tangent(value: Any, level: DualLevel) -> tuple[Any, Any]:
    """Return the value and the tangent of a tensor at a level; other values with None."""
    if isinstance(value, TensorBase) and value._keys & BIT and value._handle.level is level:
        # The tangents of a level that was left are gone.
        return value._handle.value, value._handle.tangent if level.open else None
    return value, None


def unwrap(value: Any, level: Level) -> tuple[Any, int | None]:
    """Return the inner tensor of a level's tensor and its hidden dim; other values with None."""
    if isinstance(value, TensorBase) and value._keys & BIT and value._handle.level is level:
        return value._handle.value, value._handle.dim
    return value, None


def move_dim(tensor: Tensor, source: int, destination: int) -> Any:
    """Return a tensor with one dim in another place."""
    order = [dim for dim in range(tensor.ndim) if dim != source % tensor.ndim]
    order.insert(destination % tensor.ndim, source % tensor.ndim)
    # Nearly always the dim is in its place; a permutation would be one more call, and one more node.
    return tensor if order == sorted(order) else ops.permute(tensor, order)


def hidden_dim_first(value: Any, level: Level) -> tuple[Any, bool]:
    """Return the inner tensor with the hidden dim at the front, and whether there is one."""
    inside, dim = unwrap(value, level)
    if dim is None:
        return inside, False
    return move_dim(inside, dim, 0), True


def innermost(args: Sequence[Any]) -> Level:
    """Return the innermost level among wrapped arguments, of which there must be one."""
    result: Level | None = None
    for value in args:
        for item in value if isinstance(value, list | tuple) else (value,):
            if isinstance(item, TensorBase) and item._keys & BIT:
                level = item._handle.level
                if result is None or level.depth > result.depth:
                    result = level
    assert result is not None  # the layer handles only calls with its bit
    return result
