"""The invariants of sparse tensors, and the switch of their check.

Shapes and dtypes that do not fit are always refused; what takes a look at every index can be switched off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ClassVar, ParamSpec, TypeVar

import numpy as np

from tt.core.library import Block, Tensor, errors, handle_of, ops, to_dtype
from tt.plugins.sparse.layouts import HANDLES, CompressedHandle
from tt.plugins.sparse.parts import has_data

__all__ = ["check_compressed", "check_coo", "check_sparse_tensor_invariants", "index_changed"]

P = ParamSpec("P")
R = TypeVar("R")


class check_sparse_tensor_invariants(Block):  # noqa: N801 - PyTorch's name
    """Switches the check of sparse tensors' invariants; a context manager and a decorator, too.

    The check is on, unless it is switched off here or with `check_invariants=False`.

    Parameters
    ----------
    enable : bool
        Whether invariants are checked inside the block or the decorated function.

    Examples
    --------
    >>> import tt
    >>> check = tt.sparse.check_sparse_tensor_invariants
    >>> check.is_enabled()
    True
    >>> with check(False):
    ...     check.is_enabled()
    False
    >>> check.is_enabled()
    True
    """

    _enabled: ClassVar[bool] = True

    def __init__(self, enable: bool = True) -> None:
        self._wanted = enable

    @staticmethod
    def is_enabled() -> bool:
        """Return whether invariants are checked."""
        return check_sparse_tensor_invariants._enabled

    @staticmethod
    def enable() -> None:
        """Check the invariants of the sparse tensors that are made from now on."""
        check_sparse_tensor_invariants._enabled = True

    @staticmethod
    def disable() -> None:
        """Check only shapes and dtypes from now on."""
        check_sparse_tensor_invariants._enabled = False

    def _look(self) -> bool:
        return self.is_enabled()

    def _begin(self) -> None:
        check_sparse_tensor_invariants._enabled = self._wanted

    def _end(self, before: bool) -> None:
        check_sparse_tensor_invariants._enabled = before

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return the function with the check switched while it runs."""

        @wraps(function)
        def switched(*args: P.args, **kwargs: P.kwargs) -> R:
            with type(self)(self._wanted):
                return function(*args, **kwargs)

        return switched


def is_checked(asked: bool | None, tensor: Tensor) -> bool:
    """Return whether the indices of a tensor are looked at."""
    required = check_sparse_tensor_invariants.is_enabled() if asked is None else asked
    return required and has_data(tensor)


def index_changed() -> errors.IndexValueError:
    """Return the error of a kernel that meets indices which cannot have passed the check."""
    return errors.IndexValueError(
        "an index of a sparse tensor is out of range, or out of order: it was changed after it had been checked, or "
        "was never checked\n  try: check_invariants=True where the tensor is made"
    )


def _any(mask: Tensor) -> bool:
    return bool(ops.any(mask))


def _first(mask: Tensor) -> tuple[int, ...]:
    """Return the position of the first true element."""
    flat = int(ops.argmax(ops.reshape(mask, (-1,)).to(to_dtype("uint8"))))
    position: list[int] = []
    for size in reversed(mask.shape):
        flat, at = divmod(flat, size)
        position.insert(0, at)
    return tuple(position)


def _at(name: str, position: Sequence[int]) -> str:
    return f"{name}[{', '.join(map(str, position))}]"


# --- coordinates ---------------------------------------------------------------------------------------------------


def check_coo(
    what: str, indices: Tensor, values: Tensor, size: tuple[int, ...], coalesced: bool, asked: bool | None
) -> None:
    """Refuse coordinates, values and a size that make no tensor.

    Raises
    ------
    ShapeError
        When their shapes do not fit together.
    IndexValueError
        When a coordinate is outside the size.
    LayoutError
        When coordinates declared as coalesced are not.
    """
    sparse_dim, nnz = indices.shape
    dense_dim = values.ndim - 1
    if values.shape[0] != nnz:
        raise errors.ShapeError(
            f"{what}: indices and values must have same nnz, but got nnz from indices: {nnz}, nnz from values: "
            f"{values.shape[0]}"
        )
    if len(size) != sparse_dim + dense_dim:
        raise errors.ShapeError(
            f"{what}: number of dimensions must be sparse_dim ({sparse_dim}) + dense_dim ({dense_dim}), but got size "
            f"{list(size)}"
        )
    if size[sparse_dim:] != tuple(values.shape[1:]):
        raise errors.ShapeError(
            f"{what}: values has incorrect size, expected {[nnz, *size[sparse_dim:]]}, got {list(values.shape)}"
        )
    if any(n < 0 for n in size):
        raise errors.ShapeError(f"{what}: a size cannot be negative, but got {list(size)}")
    if not is_checked(asked, indices) or nnz == 0:
        return
    # In host memory two passes settle the usual case; the loop below is there to name a fault.
    if isinstance(handle_of(indices), np.ndarray) and not coalesced:
        array = handle_of(indices)
        if (array.min(axis=1) >= 0).all() and (array.max(axis=1) < size[:sparse_dim]).all():
            return
    for dim in range(sparse_dim):
        row = indices[dim]
        low, high = int(ops.amin(row)), int(ops.amax(row))
        if low < 0:
            (at,) = _first(row < 0)
            raise errors.IndexValueError(
                f"{what}: found negative index {int(row[at])} for dim {dim} at {_at('indices', (dim, at))}"
            )
        if high >= size[dim]:
            (at,) = _first(row >= size[dim])
            raise errors.IndexValueError(
                f"{what}: size is inconsistent with indices: for dim {dim}, size is {size[dim]} but found index "
                f"{int(row[at])} at {_at('indices', (dim, at))}"
            )
    if coalesced:
        _check_coalesced(what, indices)


def _check_coalesced(what: str, indices: Tensor) -> None:
    ahead, behind = indices[:, :-1], indices[:, 1:]
    unsettled = ops.ones((indices.shape[1] - 1,), dtype=to_dtype("bool"), device=indices.device)
    rising = ~unsettled
    # Dimension by dimension, as row-major numbers of large sizes would overflow.
    for dim in range(indices.shape[0]):
        rising = rising | (unsettled & (behind[dim] > ahead[dim]))
        unsettled = unsettled & (behind[dim] == ahead[dim])
    if not bool(ops.all(rising)):
        (at,) = _first(~rising)
        raise errors.LayoutError(
            f"{what}: cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor: the "
            "coordinates "
            f"{indices[:, at].tolist()} and {indices[:, at + 1].tolist()} at positions {at} and {at + 1} do not "
            "ascend\n"
            "  try: is_coalesced=None, and coalesce()"
        )


# --- compressed rows and columns -----------------------------------------------------------------------------------


def check_compressed(
    what: str,
    layout: str,
    compressed: Tensor,
    plain: Tensor,
    values: Tensor,
    size: tuple[int, ...],
    asked: bool | None,
) -> None:
    """Refuse components and a size that make no tensor of a compressed layout.

    Raises
    ------
    DtypeError
        When the indices are not both int64 or both int32.
    ShapeError
        When shapes do not fit together.
    IndexValueError
        When an index is out of range, or indices are out of order.
    """
    kind = HANDLES[layout]
    first, second = kind.index_names
    _check_shapes(what, kind, compressed, plain, values, size)
    if is_checked(asked, values):
        _check_values(what, first, second, compressed, plain, kind(
            handle_of(compressed), handle_of(plain), handle_of(values), size
        ))  # fmt: skip


def _check_shapes(
    what: str,
    kind: type[CompressedHandle],
    compressed: Tensor,
    plain: Tensor,
    values: Tensor,
    size: tuple[int, ...],
) -> None:
    first, second = kind.index_names
    if compressed.dtype is not plain.dtype:
        raise errors.DtypeError(
            f"{what}: {first} and {second} must have the same dtype, but got {compressed.dtype} and {plain.dtype}, "
            "respectively"
        )
    if compressed.dtype.name not in ("int32", "int64"):
        raise errors.DtypeError(
            f"{what}: {first} and {second} must be an int32 or int64 type, but got {compressed.dtype}"
        )
    if compressed.ndim < 1 or compressed.ndim != plain.ndim:
        raise errors.ShapeError(
            f"{what}: {first} and {second} dimensionalities must be equal but got {compressed.ndim} and {plain.ndim}, "
            "respectively"
        )
    batch, block = compressed.ndim - 1, 2 if kind.blocked else 0
    if values.ndim <= batch + block:
        raise errors.ShapeError(
            f"{what}: values must have dimensionality > sum of batch and block dimensionalities (={batch} + "
            f"{block}) but "
            f"got {values.ndim}"
        )
    dense = values.ndim - batch - block - 1
    if len(size) != batch + 2 + dense:
        raise errors.ShapeError(
            f"{what}: tensor dimensionality must be sum of batch, base, and dense dimensionalities (={batch} + 2 + "
            f"{dense}) but got {len(size)}"
        )
    shapes = {first: compressed.shape[:-1], second: plain.shape[:-1], "values": values.shape[:batch]}
    for name, shape in shapes.items():
        if tuple(shape) != size[:batch]:
            raise errors.ShapeError(
                f"{what}: all batch dimensions of {first} ({list(compressed.shape[:-1])}), {second} "
                f"({list(plain.shape[:-1])}), values ({list(values.shape[:batch])}), and tensor "
                f"({list(size[:batch])}) must be equal, but {name} differs"
            )
    if tuple(values.shape[values.ndim - dense :]) != size[len(size) - dense :]:
        raise errors.ShapeError(
            f"{what}: values has the dense size {list(values.shape[values.ndim - dense :])}, but the tensor size ends "
            f"with {list(size[len(size) - dense :])}"
        )
    blocksize = tuple(values.shape[batch + 1 : batch + 3]) if kind.blocked else (1, 1)
    if min(blocksize) <= 0:
        raise errors.ShapeError(
            f"{what}: blocksize must be positive, but values has blocks of {list(blocksize)}"
        )
    for at, (whole, part) in enumerate(zip(size[batch : batch + 2], blocksize, strict=True)):
        if whole % part:
            raise errors.ShapeError(
                f"{what}: tensor shape[{batch + at}] (={whole}) must be divisible with blocksize[{at}] (={part}) as "
                "defined by values shape"
            )
    axis = 0 if kind.rows else 1
    count = size[batch + axis] // blocksize[axis]
    if compressed.shape[-1] != count + 1:
        unit = ("row" if kind.rows else "column") + (" blocks" if kind.blocked else "s")
        raise errors.ShapeError(
            f"{what}: {first}.shape[-1] must be equal to the number of {unit} + 1 (={count + 1}), but got "
            f"{compressed.shape[-1]}"
        )
    if plain.shape[-1] != values.shape[batch]:
        raise errors.ShapeError(
            f"{what}: {second}.shape[-1] must be equal to nnz (={values.shape[batch]}) as defined by "
            f"values.shape[{batch}], but got {plain.shape[-1]}"
        )


def _holds(compressed: Any, plain: Any, nnz: int, minor: int) -> bool:
    """Return whether the indices of a single matrix in host memory are right, without naming the fault."""
    if not (isinstance(compressed, np.ndarray) and compressed.ndim == 1 and len(compressed)):
        return False  # look closely
    if compressed[0] != 0 or compressed[-1] != nnz or bool((compressed[1:] < compressed[:-1]).any()):
        return False
    if nnz == 0:
        return True
    if plain.min() < 0 or plain.max() >= minor:
        return False
    # Columns may fall only where a new row begins.
    falling = np.flatnonzero(plain[1:] <= plain[:-1]) + 1
    begins = np.zeros(nnz + 1, np.bool_)
    begins[compressed] = True
    return bool(begins[falling].all())


def _check_values(
    what: str, first: str, second: str, compressed: Tensor, plain: Tensor, handle: CompressedHandle
) -> None:
    nnz = handle.nnz
    major, minor = handle.grid if handle.rows else handle.grid[::-1]
    if _holds(handle_of(compressed), handle_of(plain), nnz, minor):
        return
    names = ("nrows", "ncols") if handle.rows else ("ncols", "nrows")

    def refuse(mask: Tensor, law: str, tensor: Tensor, name: str, shift: int = 0) -> None:
        if _any(mask):
            position = _first(mask)
            at = (*position[:-1], position[-1] + shift)
            raise errors.IndexValueError(
                f"{what}: `{law}` is not satisfied: {_at(name, at)} is {int(tensor[at])}"
            )

    refuse(compressed[..., :1] != 0, f"{first}[..., 0] == 0", compressed, first)
    refuse(compressed[..., -1:] != nnz, f"{first}[..., -1] == nnz", compressed, first, major)
    steps = compressed[..., 1:] - compressed[..., :-1]
    span = f"{first}[..., 1:] - {first}[..., :-1]"
    refuse((steps < 0) | (steps > minor), f"0 <= {span} <= {names[1]}", compressed, first, 1)
    refuse((plain < 0) | (plain >= minor), f"0 <= {second} < {names[1]}", plain, second)
    if nnz < 2:
        return
    falling = plain[..., 1:] <= plain[..., :-1]
    # Where a row begins, the index before it belongs to another row.  A row that begins at 0 or nnz has none there.
    begins = ops.zeros((*plain.shape[:-1], nnz + 1), dtype=to_dtype("bool"), device=plain.device)
    begins = ops.scatter(begins, -1, compressed.to(to_dtype("int64")), True)
    refuse(
        falling & ~begins[..., 1:-1],
        f"{second}[..., {first}[..., i - 1]:{first}[..., i]] for all i = 1, ..., {names[0]} are sorted and distinct "
        "along the last dimension values",
        plain,
        second,
        1,
    )
