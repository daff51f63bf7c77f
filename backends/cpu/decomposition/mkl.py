"""Kernels of singular values and eigenvalues by MKL's LAPACK, where it is installed.

LAPACK's matrices are columns and tt's are rows, so LAPACK sees the transpose.  Its factors of the transpose are by rows
those that are wanted; only eigenvectors are turned.  Small matrices and wrong arguments are left to NumPy's kernel.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np

from tt.backends.cpu.backend import Array
from tt.backends.cpu.batches import Run, shared
from tt.backends.cpu.decomposition import factors as decomposition
from tt.backends.cpu.lapack import raise_unconverged
from tt.backends.cpu.mkl import load, unavailable
from tt.backends.cpu.native.numpy_fallback import quietly
from tt.backends.cpu.threads import get_num_threads
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu", by="NumPy")

PREFIXES: Final = {"f": "s", "d": "d", "F": "c", "D": "z"}
"""NumPy's letters of dtypes, and LAPACK's."""

SMALLEST: Final = 40
"""The least side of a matrix that MKL gets: with smaller ones NumPy's loop takes as long, or less."""


LARGE: Final = 512
"""The least side from which NumPy's threads count: with two, NumPy takes as long as MKL with its one."""


class NumPy:
    """NumPy's kernels, without its warnings."""

    svd, svdvals = quietly(decomposition.svd), quietly(decomposition.svdvals)
    eigh, eigvalsh = quietly(decomposition.eigh), quietly(decomposition.eigvalsh)
    eig, eigvals = quietly(decomposition.eig), quietly(decomposition.eigvals)


class Work(NamedTuple):
    """Memory whose length LAPACK tells; the length is the next argument."""

    dtype: Any


class Batch(NamedTuple):
    """A matrix or vector for each of the batch; the array is contiguous."""

    array: Array


def suits(A: Array) -> bool:
    """Return whether MKL serves: for finite matrices, of sizes for which it is the faster one.

    With elements that are not finite, LAPACK's iterations may not end.
    """
    least = min(A.shape[-2:]) if A.ndim >= 2 else 0
    if least < SMALLEST or A.size == 0 or (least >= LARGE and not load().threaded and get_num_threads() > 2):
        return False
    return bool(np.isfinite(A).all())


def in_threads(run: Run, A: Array) -> tuple[Array, ...]:
    """Return a function's results for a batch, in several threads where MKL has none of its own."""
    return run(A) if load().threaded else shared(run, A)


def solve(op: str, name: str, A: Array, arguments: Sequence[Any]) -> None:
    """Call a function of LAPACK for each matrix of a batch.

    Parameters
    ----------
    op : str
        The operator, for the message of a failure.
    name : str
        The function, without the letter of the dtype.
    A : ndarray
        The matrices as the caller gave them.
    arguments : sequence
        Words (bytes), numbers, memory (as large as an array, or `Work` where LAPACK tells the length), and what is of
        each matrix (`Batch`); all but the last, `info`.
    """
    constants = tuple([None if isinstance(one, (Batch, np.ndarray)) else one for one in arguments])
    prepared = prepare(PREFIXES[A.dtype.char] + name, constants)
    info, count = ctypes.c_int64(0), prod(A.shape[:-2])
    # The cached list is copied: addresses of this call must not stay in it, and threads share it.
    call = [*prepared.call, ctypes.byref(info)]
    memory = [aligned(length, dtype) for _, length, dtype in prepared.work]
    for (at, _, _), array in zip(prepared.work, memory, strict=True):
        call[at] = _address(array)
    # LAPACK overwrites its arguments, so each matrix is copied into aligned memory and its results back.
    moving = []
    for at, one in enumerate(arguments):
        if isinstance(one, Batch):
            rows = one.array.reshape(count, -1)
            moving.append((rows, aligned(rows.shape[1], rows.dtype)))
            call[at] = _address(moving[-1][1])
        elif isinstance(one, np.ndarray):
            memory.append(aligned(one.size, one.dtype))
            call[at] = _address(memory[-1])
    for number in range(count):
        for rows, own in moving:
            own[...] = rows[number]
        prepared.function(*call)
        if info.value:  # where integers have 32 bits, the function writes the lower half
            raise_unconverged(op, A, np.linalg.LinAlgError("LAPACK reports a failure"))
        for rows, own in moving:
            rows[number] = own


def aligned(length: int, dtype: np.dtype[Any]) -> Array:
    """Return memory that begins with a line of the cache: on where it begins depend the last bits of MKL's results."""
    size = length * np.dtype(dtype).itemsize
    # The surplus leaves room to begin at a multiple of 64, which NumPy does not promise.
    raw = np.empty(size + 64, np.uint8)
    start = -raw.__array_interface__["data"][0] % 64
    return raw[start : start + size].view(dtype)


class Prepared(NamedTuple):
    """What calls of a function with the same words and numbers share."""

    function: Any
    call: list[Any]
    work: list[tuple[int, int, Any]]  # the place, length and dtype of memory


@lru_cache(maxsize=512)
def prepare(name: str, constants: tuple[Any, ...]) -> Prepared:
    """Return a function of LAPACK, with pointers to the numbers of its call, and the memory that it needs.

    Parameters
    ----------
    name : str
        The function.
    constants : tuple
        Its arguments as in `solve`, with None for arrays.
    """
    function = load().function(name)
    function.argtypes = [ctypes.c_void_p] * (len(constants) + 1)
    asked = {at: np.zeros(1, one.dtype) for at, one in enumerate(constants) if isinstance(one, Work)}
    written = np.zeros(2, np.complex128)  # some functions write the first element of other memory
    # A length of -1 makes LAPACK report the length of its work memory instead of computing.
    call = [_pointer(-1 if at - 1 in asked else one, written) for at, one in enumerate(constants)]
    for at, array in asked.items():
        call[at] = _address(array)
    function(*call, ctypes.byref(ctypes.c_int64(0)))
    call = [_pointer(one, None) for one in constants]
    work = []
    for at, (told,) in asked.items():
        # The length is a number of the memory's dtype, and float32 may have rounded it.
        length = int(told) if told.dtype.kind == "i" else int(np.nextafter(told.real, np.inf))
        call[at + 1] = _pointer(length, None)
        work.append((at, length, told.dtype))
    return Prepared(function, call, work)


def _pointer(one: Any, array: Array | None) -> Any:
    """Return a word, or a pointer to a number; of all else the address of an array, or None."""
    if isinstance(one, int):
        return ctypes.byref(ctypes.c_int64(one))
    return one if isinstance(one, bytes) else None if array is None else _address(array)


def _address(array: Array) -> int:
    # Half the time of `array.ctypes.data`; NumPy's types declare buffers from Python 3.12 on.
    return ctypes.addressof(_NOTHING.from_buffer(array))  # type: ignore[arg-type,unused-ignore]


_NOTHING: Final = ctypes.c_char * 0


# --- singular values -------------------------------------------------------------------------------------------


def factors(op: str, A: Array, job: str) -> tuple[Array, Array, Array]:
    """Return U, S and V^H: `A`, all columns, `S`, the first ones, `N`, none, where U and V^H are without elements."""
    batch, (m, n) = A.shape[:-2], A.shape[-2:]
    if (
        m > n
    ):  # tall for LAPACK as well, which takes three quarters of the time for them that it takes for wide ones
        right, S, left = factors(op, A.swapaxes(-1, -2), job)
        return _turned(left), S, _turned(right)
    least, most = min(m, n), max(m, n)
    wide = {"A": (m, n), "S": (least, least), "N": (0, 0)}[job]
    U, V = np.empty((*batch, m, wide[0]), A.dtype), np.empty((*batch, wide[1], n), A.dtype)
    S = np.empty((*batch, least), A.real.dtype)
    real = []
    if A.dtype.kind == "c":
        # gesdd does not report the length of its real work memory; this is its documentation's formula.
        size = 7 * least if job == "N" else max(5 * least * (least + 1), 2 * least * (least + most) + least)
        real = [np.empty(size, S.dtype)]
    # The transpose, n x m: its left factor is V^H by rows, and its right one U.
    solve(
        op, "gesdd", A,
        [job.encode(), n, m, Batch(np.array(A, order="C")), n, Batch(S), Batch(V), n, Batch(U), max(wide[0], 1),
         Work(A.dtype), 0, *real, np.empty(8 * least, np.int64)],
    )  # fmt: skip
    return U, S, V


def _turned(A: Array) -> Array:
    return np.ascontiguousarray(A.swapaxes(-1, -2))


def svd(A: Array, full_matrices: bool, driver: str | None) -> Any:
    if driver is not None or not suits(A):
        return NumPy.svd(A, full_matrices, driver)
    if full_matrices:
        return in_threads(lambda A: factors("linalg.svd", A, "A"), A)
    return in_threads(lambda A: decomposition.by_triangle(A, lambda R: factors("linalg.svd", R, "S")), A)


def svdvals(A: Array, driver: str | None) -> Any:
    if driver is not None or not suits(A):
        return NumPy.svdvals(A, driver)
    return in_threads(lambda A: factors("linalg.svdvals", decomposition.triangle(A), "N"), A)[1]


# --- eigenvalues -----------------------------------------------------------------------------------------------


def symmetric(op: str, A: Array, job: str, UPLO: str) -> tuple[Array, Array]:
    """Return eigenvalues and, for the job `V`, the eigenvectors as rows, conjugate."""
    n = A.shape[-1]
    values, rows = np.empty(A.shape[:-1], A.real.dtype), np.array(A, order="C")
    # LAPACK sees the transpose, whose upper triangle is the lower one here.
    triangle = b"U" if UPLO in "Ll" else b"L"  # of the transpose
    name, real = ("heevd", [Work(values.dtype), 0]) if A.dtype.kind == "c" else ("syevd", [])
    solve(
        op, name, A,
        [job.encode(), triangle, n, Batch(rows), n, Batch(values), Work(A.dtype), 0, *real,
         Work(np.dtype(np.int64)), 0],
    )  # fmt: skip
    return values, rows


def _serves(A: Array, UPLO: str) -> bool:
    return suits(A) and A.shape[-1] == A.shape[-2] and UPLO in ("L", "l", "U", "u")


def eigh(A: Array, UPLO: str) -> Any:
    if not _serves(A, UPLO):
        return NumPy.eigh(A, UPLO)
    values, rows = in_threads(lambda A: symmetric("linalg.eigh", A, "V", UPLO), A)
    # The rows are conjugate, since LAPACK decomposed the transpose, which is the conjugate of a Hermitian
    # matrix.
    return values, np.conjugate(rows.swapaxes(-1, -2), order="C")


def eigvalsh(A: Array, UPLO: str) -> Any:
    if not _serves(A, UPLO):
        return NumPy.eigvalsh(A, UPLO)
    return in_threads(lambda A: symmetric("linalg.eigvalsh", A, "N", UPLO), A)[0]


def general(op: str, A: Array, job: str) -> tuple[Array, Array]:
    """Return eigenvalues and, for the job `V`, the eigenvectors as rows; they are complex."""
    n = A.shape[-1]
    of_complex, wide = A.dtype.kind == "c", n if job == "V" else 0
    parts = [np.empty(A.shape[:-1], A.dtype) for _ in range(1 if of_complex else 2)]
    rows = np.empty((*A.shape[:-2], wide, n), A.dtype)
    real = [np.empty(2 * n, A.real.dtype)] if of_complex else []
    # Unlike the symmetric case, eigenvectors of the transpose are others, so A itself is turned.
    columns = np.array(A.swapaxes(-1, -2), order="C")
    solve(
        op, "geev", A,
        # Left eigenvectors are not wanted (N); LAPACK still checks that their leading dimension is at least
        # 1.
        [b"N", job.encode(), n, Batch(columns), n, *map(Batch, parts), Batch(rows), 1, Batch(rows), max(wide, 1),
         Work(A.dtype), 0, *real],
    )  # fmt: skip
    if of_complex:
        return parts[0], rows
    values = parts[0] + np.multiply(parts[1], 1j, dtype=decomposition.complex_dtype(A))
    whole = rows.astype(values.dtype)
    if job == "V":  # of a pair of eigenvalues, the rows are the parts of the first one's vector
        first = parts[1] > 0
        second = np.roll(first, 1, axis=-1)
        whole[first] += 1j * rows[second]
        whole[second] = whole[first].conj()
    return values, whole


def eig(A: Array) -> Any:
    if not _serves(A, "L"):
        return NumPy.eig(A)
    values, rows = in_threads(lambda A: general("linalg.eig", A, "V"), A)
    return values, _turned(rows)


def eigvals(A: Array) -> Any:
    if not _serves(A, "L"):
        return NumPy.eigvals(A)
    return in_threads(lambda A: general("linalg.eigvals", A, "N"), A)[0]


KERNELS: Final[dict[str, Callable[..., Any]]] = {
    "svd": svd,
    "svdvals": svdvals,
    "eigh": eigh,
    "eigvalsh": eigvalsh,
    "eig": eig,
    "eigvals": eigvals,
}

for _op, _kernel in KERNELS.items():
    cpu.kernel(f"linalg_{_op}", _kernel, dtypes="linalg", native=True, available=unavailable, by="MKL")
