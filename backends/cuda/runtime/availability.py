"""Whether CUDA devices can be used here, and why not; queries the driver directly and never imports CuPy."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import distributions
from importlib.util import find_spec
from types import ModuleType
from typing import Final

__all__ = ["Driver", "cupy_version", "diagnose", "find_driver", "import_cupy", "installed_cupy", "reason"]

_LIBRARY: Final = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
_INSTALL: Final = "pip install 'tt-tensor[cuda{major}]'"
_MAJORS: Final = (12, 13)
"""The major versions of CUDA for which tt has an extra."""
_OLDEST: Final = 14
"""The oldest major version of CuPy that is enough: it has bfloat16, and the functions that kernels call."""


@dataclass(frozen=True, slots=True)
class Driver:
    """The NVIDIA driver's report.

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
    """Query the NVIDIA driver, once in a process."""
    # The driver is asked without CuPy, so that the reason is known also where CuPy is missing or broken.
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError:
        return Driver(problem=f"no NVIDIA driver is installed ({_LIBRARY} was not found)")
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
    # The wheels of each CUDA version have a name of their own, and several of them share the module `cupy`.
    names = {str(d.metadata["Name"]).lower() for d in distributions()}
    return tuple(sorted(n for n in names if n == "cupy" or n.startswith("cupy-cuda")))


@lru_cache(maxsize=1)
def cupy_version() -> str:
    """Return the version of the only CuPy that is installed, or "" if there is none or several."""
    packages = installed_cupy()
    versions = [d.version for d in distributions() if str(d.metadata["Name"]).lower() in packages]
    return versions[0] if len(packages) == 1 and versions else ""


def diagnose(driver: Driver, packages: tuple[str, ...], version: str = "") -> str | None:
    """Return why CUDA cannot be used with a driver and CuPy packages, or None if it can.

    Parameters
    ----------
    driver : Driver
        The driver's report.
    packages : tuple of str
        The names of the CuPy packages that are installed.
    version : str
        The version of the package, if there is one and it is known.

    Examples
    --------
    >>> from tt.backends.cuda.runtime.availability import Driver, diagnose
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
        return (
            f"several CuPy packages are installed and overwrite each other: {', '.join(packages)}; "
            f"try: pip uninstall {' '.join(packages)}, then {install.removeprefix('try: ')}"
        )
    # The name is cupy-cuda12x; plain cupy was built for any version, so it has no number to compare.
    major = packages[0].removeprefix("cupy-cuda").removesuffix("x")
    if major.isdigit() and int(major) > driver.major:
        return f"{packages[0]} needs a driver for CUDA {major}, this one supports {driver}; {install}"
    number = version.partition(".")[0]
    if number.isdigit() and int(number) < _OLDEST:
        upgrade = install.replace("install", "install --upgrade")
        return f"{packages[0]} {version} is installed, and CuPy {_OLDEST} or newer is needed; {upgrade}"
    return None


def reason() -> str | None:
    """Return why CUDA cannot be used on this machine, or None if it can."""
    driver = find_driver()
    # Without a driver no package would help, so the distributions are not listed, which takes longer.
    if driver.problem:
        return diagnose(driver, ())
    return diagnose(driver, installed_cupy(), cupy_version())


def import_cupy() -> ModuleType:
    """Import CuPy, which nothing else of tt does, and return it.

    Raises
    ------
    DeviceError
        When CUDA cannot be used here, or CuPy cannot be imported, with the reason.
    """
    from tt.core.library import errors

    problem = reason()
    if problem:
        raise errors.DeviceError(f"device 'cuda' is not available: {problem}\n  see: tt plugins list")
    try:
        import cupy
    except MemoryError:
        raise
    except Exception as error:  # a broken package raises anything, also AttributeError of another NumPy
        what = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
        package = f"{installed_cupy()[0]} {cupy_version()}".strip()
        raise errors.DeviceError(
            f"device 'cuda' is not available: {package} is installed and cannot be imported: {what}\n"
            f"  try: python -c 'import cupy', which shows the whole traceback; pip install --force-reinstall mends a "
            f"package that is broken"
        ) from error
    module: ModuleType = cupy
    return module
