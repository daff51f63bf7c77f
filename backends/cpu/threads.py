"""The number of threads of CPU kernels: of native kernels, and of BLAS."""

from __future__ import annotations

import ctypes
import importlib.util
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from tt.backends.cpu.cores import default_threads
from tt.backends.cpu.native.loading import load
from tt.core.library import errors

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "get_num_interop_threads", "get_num_threads", "govern", "one_blas_thread", "set_num_interop_threads",
    "set_num_threads",
]  # fmt: skip

NAMES: Final = tuple(
    f"{prefix}openblas_{{}}_num_threads{suffix}" for prefix in ("", "scipy_") for suffix in ("", "64_")
)
"""Of OpenBLAS's function, whose names NumPy's and SciPy's builds change."""


class Counts:
    """The numbers that were set, where no native kernels keep them."""

    kernels: int | None = None
    interop: int | None = None


GOVERNED: Final[list[Callable[[int], Any]]] = []
"""What sets the threads of libraries that serve instead of native kernels."""


def positive(function: str, count: Any) -> int:
    """Return a number of threads; refuse an invalid one."""
    if not isinstance(count, int) or isinstance(count, bool):
        raise errors.ArgumentError(function, f"expects an int, not {type(count).__name__}")
    if not 1 <= count < 1 << 31:
        raise errors.ValueRangeError(f"{function}(): expects a positive number of threads, not {count}")
    return count


# --- kernels ---------------------------------------------------------------------------------------------------


def get_num_threads() -> int:
    """Return how many threads a kernel of the CPU may use.

    At first the value of OMP_NUM_THREADS, or the number of cores that the process may use: those of its affinity, as
    far as the limits of its control groups (containers) pay for them.

    Examples
    --------
    >>> import tt
    >>> tt.get_num_threads() >= 1
    True
    """
    native = load("threads")
    if native is not None:
        count: int = native.get_num_threads()
        return count
    return threads_at_first() if Counts.kernels is None else Counts.kernels


@cache
def threads_at_first() -> int:
    """Return how many threads kernels use at first; looked up once, as native kernels do, since it reads ten files."""
    return default_threads()


def set_num_threads(count: int) -> None:
    """Set how many threads a kernel of the CPU may use, in tt's native kernels and in the BLAS.

    Parameters
    ----------
    count : int
        1 computes in the calling thread alone.

    Raises
    ------
    ArgumentError, ValueRangeError
        If the count is not a positive int.

    Examples
    --------
    >>> import tt
    >>> before = tt.get_num_threads()
    >>> tt.set_num_threads(1)
    >>> tt.get_num_threads()
    1
    >>> tt.set_num_threads(before)
    """
    count = positive("set_num_threads", count)
    # Noted also without native kernels, so that the getter answers what was set.
    Counts.kernels = count
    native = load("threads")
    if native is not None:
        native.set_num_threads(count)
    set_blas_threads(count)


# --- operators -------------------------------------------------------------------------------------------------


def get_num_interop_threads() -> int:
    """Return how many operators may run side by side: what was set, or the number of cores.

    Examples
    --------
    >>> import tt
    >>> tt.get_num_interop_threads() >= 1
    True
    """
    return default_threads() if Counts.interop is None else Counts.interop


def set_num_interop_threads(count: int) -> None:
    """Note how many operators may run side by side; for programs written for PyTorch.

    tt starts no operator on its own in another thread, so nothing runs differently.

    Parameters
    ----------
    count : int
        The number, which `get_num_interop_threads` returns.

    Raises
    ------
    ArgumentError, ValueRangeError
        If the count is not a positive int.

    Examples
    --------
    >>> import tt
    >>> tt.set_num_interop_threads(2)
    >>> tt.get_num_interop_threads()
    2
    """
    Counts.interop = positive("set_num_interop_threads", count)


# --- the BLAS --------------------------------------------------------------------------------------------------


def govern(set_threads: Callable[[int], Any]) -> None:
    """Let a library that serves instead of native kernels have as many threads as they, from now on."""
    set_threads(get_num_threads())
    GOVERNED.append(set_threads)


def set_blas_threads(count: int) -> None:
    """Set the number of threads of the BLAS: by threadpoolctl where it is installed, else of each OpenBLAS."""
    for function in GOVERNED:
        function(count)
    for path in scipy_blas():  # loaded when SciPy first computes: it would begin with its own number
        ctypes.CDLL(str(path))
    if importlib.util.find_spec("threadpoolctl") is not None:
        from threadpoolctl import threadpool_limits

        threadpool_limits(count, user_api="blas")
        return
    for function in blas_functions("set"):
        function(count)


class Alone:
    """The running blocks of `one_blas_thread`, and the setting that the first of them found."""

    lock: Final = threading.Lock()
    blocks = 0
    before: Final[list[int]] = []


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let each OpenBLAS compute in the thread that calls it, within a `with` block; blocks may overlap in time."""
    # Found before the lock is taken, because the first call loads libraries.
    sets, gets = known_blas()
    with Alone.lock:
        # Only the first block saves the setting, and the last one restores it; others would save 1.
        if Alone.blocks == 0:
            Alone.before[:] = [int(get()) for get in gets]
            for function in sets:
                function(1)
        Alone.blocks += 1
    try:
        yield
    finally:
        with Alone.lock:
            Alone.blocks -= 1
            if Alone.blocks == 0:
                for function, count in zip(sets, Alone.before, strict=True):
                    function(count)


@cache
def known_blas() -> tuple[list[Callable[..., Any]], list[Callable[..., Any]]]:
    """Return the functions that set and get the number of threads of each OpenBLAS, as loaded at the first call."""
    import numpy.linalg  # noqa: F401 - which loads its own

    return list(blas_functions("set")), list(blas_functions("get"))


def blas_threads() -> list[int]:
    """Return the number of threads of each OpenBLAS in the process."""
    return [int(function()) for function in blas_functions("get")]


def blas_functions(action: str) -> Iterator[Callable[..., Any]]:
    """Yield the functions that get or set the number of threads of each OpenBLAS in the process."""
    for path in loaded_blas():
        library = ctypes.CDLL(path)
        names = (name.format(action) for name in NAMES)
        function = next((getattr(library, name) for name in names if hasattr(library, name)), None)
        if function is not None:
            yield function


def loaded_blas() -> list[str]:
    """Return the paths of the OpenBLAS libraries in the process, if the system reports them."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            maps = file.read()
    except OSError:
        return []
    return sorted(set(re.findall(r"(/\S*openblas\S*\.so\S*)$", maps, re.MULTILINE)))


def scipy_blas() -> list[Path]:
    """Return the OpenBLAS that SciPy brings."""
    from pathlib import (
        Path,  # takes milliseconds to import, and a first call needs the number of threads only
    )

    spec = importlib.util.find_spec("scipy")
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    return sorted(
        path for folder in folders for path in Path(folder).with_name("scipy.libs").glob("*openblas*.so*")
    )
