"""Functions of `tt` that programs still call, written with operators that have other names."""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import tt
from tt._compat.checks import require_tensor
from tt.errors import ArgumentError, DimensionError, LayoutError, ShapeError, ValueRangeError
from tt.library import overridable, warn_user

__all__ = [
    "ccol_indices_copy",
    "col_indices_copy",
    "convolution",
    "crow_indices_copy",
    "embedding_renorm_",
    "from_file",
    "hsmm",
    "indices_copy",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "resize_as_sparse_",
    "row_indices_copy",
    "saddmm",
    "set_anomaly_enabled",
    "spmm",
    "values_copy",
]


# --- products, lookups -------------------------------------------------------------------------------------------


@overridable
def convolution(
    input: tt.Tensor,
    weight: tt.Tensor,
    bias: tt.Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> tt.Tensor:
    """Return a convolution, or a transposed one, over as many dimensions as the weight has besides channels.

    Examples
    --------
    >>> import tt
    >>> tt.convolution(tt.ones(1, 1, 3), tt.ones(1, 1, 2), None, [1], [0], [1], False, [0], 1)
    tensor([[[2., 2.]]])
    """
    require_tensor("convolution", input)
    require_tensor("convolution", weight, "weight")
    dims = weight.ndim - 2
    if dims not in (1, 2, 3):
        raise ShapeError(f"convolution(): a weight of 3, 4 or 5 dimensions is needed, not of {weight.ndim}")
    functional: Any = tt.nn.functional
    if transposed:
        output = getattr(functional, f"conv_transpose{dims}d")(
            input, weight, bias, stride, padding, output_padding, groups, dilation
        )
    else:
        output = getattr(functional, f"conv{dims}d")(input, weight, bias, stride, padding, dilation, groups)
    result: tt.Tensor = output
    return result


@overridable
def embedding_renorm_(input: tt.Tensor, indices: tt.Tensor, max_norm: float, norm_type: float) -> tt.Tensor:
    """Scale the rows of a table that some indices name to at most a norm, in place.

    Examples
    --------
    >>> import tt
    >>> tt.embedding_renorm_(tt.tensor([[3.0, 4.0], [3.0, 4.0]]), tt.tensor([1]), 1.0, 2.0)
    tensor([[3.0000, 4.0000],
            [0.6000, 0.8000]])
    """
    require_tensor("embedding_renorm_", input)
    require_tensor("embedding_renorm_", indices, "indices")
    if input.ndim != 2:
        raise ShapeError(f"embedding_renorm_(): the table is a matrix, not of the shape {list(input.shape)}")
    with tt.no_grad():
        # Once each: a row that is named twice must not be scaled twice.
        rows = tt.unique(indices.reshape(-1))
        selected = input.index_select(0, rows)
        norms = tt.linalg.vector_norm(selected, norm_type, 1, keepdim=True)
        # The small number is PyTorch's, which keeps its results the same to the last digits.
        factors = tt.where(norms > max_norm, max_norm / (norms + 1e-7), tt.ones_like(norms))
        return input.index_copy_(0, rows, selected * factors)


@overridable
def spmm(input: tt.Tensor, mat2: tt.Tensor) -> tt.Tensor:
    """Return the product of a sparse matrix and a matrix.

    Examples
    --------
    >>> import tt
    >>> tt.spmm(tt.eye(2).to_sparse(), tt.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    return tt.mm(input, mat2)


@overridable
def saddmm(
    input: tt.Tensor, mat1: tt.Tensor, mat2: tt.Tensor, *, beta: float = 1, alpha: float = 1
) -> tt.Tensor:
    """Return a sparse matrix plus the product of a sparse matrix and a matrix, as a sparse tensor: `sspaddmm`.

    Examples
    --------
    >>> import tt
    >>> tt.saddmm(tt.eye(2).to_sparse(), tt.eye(2).to_sparse(), tt.ones(2, 2), beta=2).to_dense()
    tensor([[3., 1.],
            [1., 3.]])
    """
    return tt.sspaddmm(input, mat1, mat2, beta=beta, alpha=alpha)


@overridable
def hsmm(input: tt.Tensor, mat2: tt.Tensor) -> tt.Tensor:
    """Return the product of a sparse matrix and a matrix as a sparse tensor; `hspmm` by its older name.

    Examples
    --------
    >>> import tt
    >>> tt.hsmm(tt.eye(2).to_sparse(), tt.ones(2, 1)).is_sparse
    True
    """
    return tt.hspmm(input, mat2)


def _copy_of(name: str, doc: str) -> Callable[[tt.Tensor], tt.Tensor]:
    @overridable
    def copied(input: tt.Tensor) -> tt.Tensor:
        require_tensor(copied.__name__, input)
        part: tt.Tensor = getattr(input, name)()
        return part.clone()

    copied.__name__ = copied.__qualname__ = f"{name}_copy"
    copied.__doc__ = doc
    return copied


indices_copy = _copy_of(
    "indices",
    """Return a copy of the coordinates of a sparse tensor.

    Examples
    --------
    >>> import tt
    >>> tt.indices_copy(tt.tensor([0.0, 3.0]).to_sparse())
    tensor([[1]])
    """,
)
values_copy = _copy_of(
    "values",
    """Return a copy of the elements that a sparse tensor holds.

    Examples
    --------
    >>> import tt
    >>> tt.values_copy(tt.tensor([0.0, 3.0]).to_sparse())
    tensor([3.])
    """,
)
crow_indices_copy = _copy_of("crow_indices", "Return a copy of the row pointers of a CSR or BSR tensor.")
col_indices_copy = _copy_of("col_indices", "Return a copy of the column indices of a CSR or BSR tensor.")
ccol_indices_copy = _copy_of("ccol_indices", "Return a copy of the column pointers of a CSC or BSC tensor.")
row_indices_copy = _copy_of("row_indices", "Return a copy of the row indices of a CSC or BSC tensor.")


class _MappedFile(mmap.mmap):
    """Memory that a file is mapped into, with the name that its storage reports."""

    filename: str | None


def from_file(filename: str, shared: bool | None = None, size: int | None = 0, **options: Any) -> tt.Tensor:
    """Return a tensor over a file that is mapped into memory.

    Parameters
    ----------
    filename : str
        The file: the elements, one after the other.
    shared : bool, optional
        Whether changes of the tensor are written to the file, which is then made or made longer where needed.
    size : int
        The number of elements.
    **options
        dtype, layout, device, pin_memory and requires_grad; float32 on the CPU by default.

    Raises
    ------
    OSError, RuntimeError
        If the file does not exist, or is too short.

    Examples
    --------
    >>> import os, tempfile, tt
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers")
    >>> x = tt.from_file(path, shared=True, size=3, dtype=tt.int64)
    >>> _ = x.fill_(7)
    >>> tt.from_file(path, size=2, dtype=tt.int64)
    tensor([7, 7])
    """
    dtype = options.get("dtype") or tt.get_default_dtype()
    if not isinstance(filename, str | os.PathLike):
        raise ArgumentError("from_file", f"argument 'filename' must be str, not {type(filename).__name__}")
    if not isinstance(size, int | None):
        raise ArgumentError("from_file", f"argument 'size' must be int, not {type(size).__name__}")
    count = size or 0
    if count < 0:
        raise ValueRangeError(f"from_file(): the number of elements is not negative, but got {count}")
    if str(options.get("device") or "cpu") != "cpu":
        raise ArgumentError("from_file", f"files are mapped on the CPU, not on {options['device']}")
    length = count * dtype.itemsize
    if shared:
        # Appending creates a missing file and never cuts an existing one, which may be longer than what is
        # asked for.
        with open(filename, "ab") as stream:
            if stream.tell() < length:
                stream.truncate(length)
    if os.path.getsize(filename) < length:
        raise ValueRangeError(
            f"from_file(): {filename} has {os.path.getsize(filename)} bytes, and {count} elements of {dtype} "
            f"take {length}"
        )
    if not count:
        memory: Any = bytearray()
        return tt.empty(0, dtype=dtype)
    with open(filename, "r+b" if shared else "rb") as file:
        # A file that is not shared is mapped privately: changes of the tensor stay in memory.
        access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
        memory = _MappedFile(file.fileno(), length, access=access)
        memory.filename = os.fspath(filename) if shared else None
    result = tt.frombuffer(memory, dtype=dtype, count=count)
    return result.requires_grad_() if options.get("requires_grad") else result


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Set whether backward passes look for NaN and name the forward call, as `tt.autograd.set_detect_anomaly`.

    Examples
    --------
    >>> import tt
    >>> tt.set_anomaly_enabled(False)
    """
    tt.autograd.set_detect_anomaly(mode, check_nan)


# --- sizes -------------------------------------------------------------------------------------------------------


@overridable
def resize_as_sparse_(input: tt.Tensor, the_template: tt.Tensor) -> tt.Tensor:
    """Give a sparse tensor the size of another of the same layout, in place.

    Examples
    --------
    >>> import tt
    >>> tt.resize_as_sparse_(tt.eye(2).to_sparse(), tt.eye(3).to_sparse()).shape
    tt.Size([3, 3])
    """
    require_tensor("resize_as_sparse_", input)
    return input.resize_as_sparse_(the_template)


# --- memory of CUDA ----------------------------------------------------------------------------------------------


def reset_max_memory_allocated(device: Any = None) -> None:
    """Call `tt.cuda.reset_peak_memory_stats`, the name that replaced this one.

    Warns
    -----
    FutureWarning
        Of the newer name.
    """
    warn_user(
        "torch.cuda.reset_max_memory_allocated now calls torch.cuda.reset_peak_memory_stats, which resets all peaks",
        FutureWarning,
    )
    tt.cuda.reset_peak_memory_stats(device)


reset_max_memory_cached = reset_max_memory_allocated
