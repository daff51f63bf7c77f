"""CUDA C++ to machine code by NVRTC, through CuPy's binding: needs neither a GPU nor a driver.

CuPy's own wrapper is not used, because it always flushes denormal numbers to zero (`-ftz=true`).
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from tt.core.library import errors

__all__ = [
    "OPTIONS",
    "Compiled",
    "CudaSource",
    "compile_source",
    "explain_log",
    "nvrtc",
    "nvrtc_version",
    "usable_arch",
]

OPTIONS: Final = ("--std=c++17", "-lineinfo")
"""Never -use_fast_math: results are those of IEEE arithmetic, denormal numbers included."""

_ARCH: Final = re.compile(r"(?:sm_|compute_)?(\d{2,3})(a?)")
_PLACE: Final = re.compile(r"^(?P<file>[^\s(]+)\((?P<line>\d+)\): ")
_INSTALL: Final = "pip install nvidia-cuda-nvrtc-cu12 (of the major version of your CuPy)"


@dataclass(frozen=True)
class CudaSource:
    """A CUDA C++ source and its includes.

    Attributes
    ----------
    name : str
        What messages call the text.
    text : str
        The text.
    headers : mapping
        Name in an `#include` -> the text of it.
    options : tuple of str
        Further options of the compiler.
    """

    name: str
    text: str
    headers: Mapping[str, str]
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Compiled:
    """Machine code of some kernels.

    Attributes
    ----------
    code : bytes
        A cubin, or PTX where the architecture is newer than NVRTC.
    names : mapping
        Expression that names a kernel, as in `softmax_forward<float, 256>` -> its name in the code.
    log : str
        The compiler's output.
    """

    code: bytes
    names: Mapping[str, str]
    log: str = ""


@lru_cache(maxsize=1)
def nvrtc() -> Any:
    """Return CuPy's binding of NVRTC.

    Raises
    ------
    DeviceError
        When CuPy or the library of NVRTC is not there, with what to install.
    """
    try:
        from cupy.cuda import nvrtc as binding
    except MemoryError:
        raise
    except Exception as error:  # CuPy's import fails in many ways, an ImportError is one
        raise errors.DeviceError(
            f"CUDA kernels cannot be compiled: CuPy cannot be imported: {error}\n  try: pip install 'tt-tensor[cuda12]'"
        ) from error
    _load_wheel()
    try:
        binding.getVersion()
    except (RuntimeError, OSError, ImportError) as error:  # what CuPy's loader of libraries raises, and CUDA
        first = str(error).strip().splitlines()
        raise errors.DeviceError(
            f"CUDA kernels cannot be compiled: CuPy finds no library of NVRTC: {first[0] if first else error!r}\n"
            f"  try: {_INSTALL}"
        ) from error
    return binding


def _load_wheel() -> None:
    """Load the library that NVIDIA's wheel brings, which CuPy finds only in the usual folders."""
    for package, name in (("nvidia.cuda_nvrtc", "libnvrtc.so.12"), ("nvidia.cu13", "libnvrtc.so.13")):
        try:
            spec = find_spec(package)
        except ModuleNotFoundError:
            continue
        for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
            library = Path(folder, "lib", name)
            # A library of another major version than CuPy's would not be found by its name.
            if library.is_file() and _major_of_cupy() in (None, name.rpartition(".")[2]):
                # Globally, so that CuPy's own search by name finds what is loaded.
                ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
                return


def _major_of_cupy() -> str | None:
    from tt.backends.cuda.runtime.availability import installed_cupy

    majors = [name.removeprefix("cupy-cuda").removesuffix("x") for name in installed_cupy()]
    return majors[0] if len(majors) == 1 and majors[0].isdigit() else None


def nvrtc_version() -> tuple[int, int]:
    """Return the version of NVRTC."""
    major, minor = nvrtc().getVersion()
    return int(major), int(minor)


def usable_arch(arch: str) -> tuple[str, str]:
    """Return the option that compiles for an architecture, and the kind of code that it gives.

    A GPU newer than NVRTC gets PTX of NVRTC's newest architecture; its driver compiles that.

    Raises
    ------
    ValueRangeError
        When NVRTC compiles for no such architecture.
    """
    match = _ARCH.fullmatch(arch)
    known = sorted(int(number) for number in nvrtc().getSupportedArchs())
    if match is None:
        raise errors.ValueRangeError(
            f"{arch!r} is not a CUDA architecture; NVRTC {'.'.join(map(str, nvrtc_version()))} compiles for "
            + ", ".join(f"sm_{number}" for number in known)
        )
    number = int(match[1])
    if number in known and not arch.startswith("compute"):
        return f"-arch=sm_{number}{match[2]}", "cubin"
    older = [candidate for candidate in known if candidate <= number]
    if not older:
        raise errors.ValueRangeError(
            f"NVRTC {'.'.join(map(str, nvrtc_version()))} does not compile for sm_{number}; it compiles for "
            + ", ".join(f"sm_{number}" for number in known)
        )
    return f"-arch=compute_{older[-1]}", "ptx"


def arch_name(arch: str) -> str:
    """Return the usual name of an architecture that NVRTC compiles for: sm_90 where 90 was written.

    Raises
    ------
    ValueRangeError
        When NVRTC compiles for no such architecture.
    """
    usable_arch(arch)
    return arch if "_" in arch else f"sm_{arch}"


def compile_source(source: CudaSource, names: Sequence[str], arch: str) -> Compiled:
    """Compile the kernels of a text that some expressions name.

    Parameters
    ----------
    source : CudaSource
        The text.
    names : sequence of str
        Which kernels: names, with the arguments of templates.
    arch : str
        The architecture, as in "sm_90".

    Raises
    ------
    CompileError
        When the text does not compile, with the lines that the compiler complains of.
    DeviceError
        If no compiler is installed.
    ValueRangeError
        If it does not support the architecture.
    """
    binding = nvrtc()
    option, kind = usable_arch(arch)
    options = (*OPTIONS, *source.options, option)
    headers = [text.encode() for text in source.headers.values()]
    included = [name.encode() for name in source.headers]
    program = binding.createProgram(source.text, source.name, headers, included)
    try:
        for name in names:
            # NVRTC instantiates templates that are named before it compiles, and lists their names
            # afterwards.
            binding.addNameExpression(program, name)
        try:
            binding.compileProgram(program, options)
        except binding.NVRTCError as error:
            raise _failure(source, names, options, binding.getProgramLog(program) or str(error)) from error
        lowered = {name: binding.getLoweredName(program, name) for name in names}
        code = binding.getCUBIN(program) if kind == "cubin" else binding.getPTX(program)
        return Compiled(bytes(code), lowered, binding.getProgramLog(program))
    finally:
        binding.destroyProgram(program)


def _failure(
    source: CudaSource, names: Sequence[str], options: tuple[str, ...], log: str
) -> errors.CompileError:
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} others" if len(names) > 3 else "")
    return errors.CompileError(
        source.name,
        f"NVRTC does not compile {shown} ({' '.join(options)})",
        problems=explain_log(log, {source.name: source.text, **source.headers}),
        command=("nvrtc", *options),
        output=log,
    )


def explain_log(log: str, texts: Mapping[str, str]) -> list[str]:
    r"""Return the lines of a compiler's log, each that names a place followed by the line of the text.

    Examples
    --------
    >>> from tt.backends.cuda.compile.compiler import explain_log
    >>> print(*explain_log('a.cuh(2): error: identifier "y" is undefined', {"a.cuh": "int x;\nint z = y;"}), sep="\n")
    a.cuh(2): error: identifier "y" is undefined
        int z = y;
    """
    shown: list[str] = []
    reported = log.strip("\0\n ").splitlines()
    for line, following in zip(reported, [*reported[1:], ""], strict=True):
        shown.append(line)
        location = _PLACE.match(line)
        lines = texts.get(location["file"], "").splitlines() if location is not None else []
        text = (
            lines[int(location["line"]) - 1].strip()
            if location and 0 < int(location["line"]) <= len(lines)
            else ""
        )
        if text and following.strip() != text:  # newer compilers show the line themselves
            shown.append(f"    {text}")
    return shown
