"""Whether CUDA devices can be used here, and why not; asks the driver directly and never imports CuPy."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import distributions
from importlib.util import find_spec
from typing import Final

__all__ = ["Driver", "diagnose", "find_driver", "installed_cupy", "reason"]

_LIBRARY: Final = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
_INSTALL: Final = "pip install 'tt-tensor[cuda{major}]'"
_MAJORS: Final = (12, 13)
"""The major versions of CUDA for which tt has an extra."""


@dataclass(frozen=True, slots=True)
class Driver:
    """What the NVIDIA driver says of itself.

    Attributes
    ----------
    version : int
        The newest CUDA version that it supports, as 1000 * major + 10 * minor.
    devices : int
        How many devices it has.
    problem : str
        Why it cannot be used, or "".
    """

    version: int = 0
    devices: int = 0
    problem: str = ""

    @property
    def major(self) -> int:
        """The major version of CUDA."""
        return self.version // 1000

    def __str__(self) -> str:
        return f"{self.major}.{self.version % 1000 // 10}"


@lru_cache(maxsize=1)
def find_driver() -> Driver:
    """Ask the NVIDIA driver, once in a process."""
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError:
        return Driver(problem=f"there is no NVIDIA driver ({_LIBRARY} was not found)")
    version, count = ctypes.c_int(), ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(version))
    code = library.cuInit(0) or library.cuDeviceGetCount(ctypes.byref(count))
    if code:
        return Driver(version.value, problem=f"the NVIDIA driver reports: {_error_name(library, code)}")
    return Driver(version.value, count.value)


def _error_name(library: ctypes.CDLL, code: int) -> str:
    name = ctypes.c_char_p()
    library.cuGetErrorName(code, ctypes.byref(name))
    return f"{name.value.decode()} ({code})" if name.value else f"error {code}"


@lru_cache(maxsize=1)
def installed_cupy() -> tuple[str, ...]:
    """Return the names of the installed CuPy packages; a source build is "cupy"."""
    if find_spec("cupy") is None:
        return ()
    names = {str(d.metadata["Name"]).lower() for d in distributions()}
    return tuple(sorted(n for n in names if n == "cupy" or n.startswith("cupy-cuda")))


def diagnose(driver: Driver, packages: tuple[str, ...]) -> str | None:
    """Return why CUDA cannot be used with a driver and CuPy packages, or None if it can.

    Examples
    --------
    >>> from tt.backends.cuda.availability import Driver, diagnose
    >>> diagnose(Driver(12040, devices=1), ("cupy-cuda13x",))
    "cupy-cuda13x needs a driver for CUDA 13, this one supports 12.4; try: pip install 'tt-tensor[cuda12]'"
    """
    if driver.problem:
        return driver.problem
    if not driver.devices:
        return "the NVIDIA driver finds no device"
    usable = [major for major in _MAJORS if major <= driver.major]
    install = f"try: {_INSTALL.format(major=usable[-1])}" if usable else "try: a newer driver"
    if not packages:
        return f"CuPy is not installed; {install}"
    if len(packages) > 1:
        return f"several CuPy packages are installed and overwrite each other: {', '.join(packages)}"
    major = packages[0].removeprefix("cupy-cuda").removesuffix("x")
    if major.isdigit() and int(major) > driver.major:
        return f"{packages[0]} needs a driver for CUDA {major}, this one supports {driver}; {install}"
    return None


def reason() -> str | None:
    """Return why CUDA cannot be used on this machine, or None if it can."""
    driver = find_driver()
    return diagnose(driver, installed_cupy() if not driver.problem else ())
