"""Compiled kernels on disk, so that a second process starts warm.

Note [The cache of compiled kernels]
------------------------------------
A file for each kernel and architecture, named by a digest of everything that affects the result: the sources, the
options, the kernel's name, the architecture and the version of NVRTC.  It begins with the digest of its content, so
truncated or damaged files are compiled again and replaced.  Files are renamed into place, so readers see a whole file
or none, and writers need no lock: two that compile the same kernel write the same, and the last one wins.  Where
the folder cannot be written to, kernels are compiled in each process.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tt.backends.cuda.compile.compiler import OPTIONS, Compiled, compile_source, nvrtc_version, usable_arch

if TYPE_CHECKING:
    from tt.backends.cuda.launch.programs import ProgramKernel

__all__ = ["VARIABLE", "cache_folder", "cached_kernel", "kernel_key", "read_kernel", "write_kernel"]

VARIABLE: Final = "TT_CUDA_CACHE_DIR"
"""Of the environment: where compiled kernels are kept."""
_MAGIC: Final = b"tt-cuda-kernel-1\n"
_DIGEST: Final = hashlib.sha256().digest_size


def cache_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Return where compiled kernels are kept: $TT_CUDA_CACHE_DIR, else a folder of the user's caches.

    Examples
    --------
    >>> from tt.backends.cuda.compile.cache import cache_folder
    >>> cache_folder({"TT_CUDA_CACHE_DIR": "/var/cache/kernels"}).as_posix()
    '/var/cache/kernels'
    """
    environ = os.environ if environ is None else environ
    if environ.get(VARIABLE):
        return Path(environ[VARIABLE]).expanduser().absolute()
    if environ.get("XDG_CACHE_HOME"):
        base = Path(environ["XDG_CACHE_HOME"])
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path.home() / ".cache"
    return base / "tt" / "cuda"


def kernel_key(kernel: ProgramKernel, arch: str) -> str:
    """Return the name under which a compiled kernel is kept."""
    source = kernel.program.source
    parts = [kernel.name, *usable_arch(arch), *map(str, nvrtc_version()), *OPTIONS, *source.options]
    parts += [source.name, source.text, *(part for item in source.headers.items() for part in item)]
    hasher = hashlib.sha256()
    # With their lengths, so that no two lists of parts give one text.
    for part in parts:
        hasher.update(f"{len(part)}:{part}".encode())
    return hasher.hexdigest()


def cached_kernel(kernel: ProgramKernel, arch: str, folder: Path | None = None) -> Compiled:
    """Return a kernel compiled for an architecture, from the disk if it is there.

    Raises
    ------
    CompileError, DeviceError, ValueRangeError
        As `compile_source` does.
    """
    path = (cache_folder() if folder is None else folder) / f"{kernel_key(kernel, arch)}.bin"
    compiled = read_kernel(path, kernel.name)
    if compiled is None:
        compiled = compile_source(kernel.program.source, [kernel.name], arch)
        with contextlib.suppress(OSError):  # a folder that cannot be written to costs time only
            write_kernel(path, kernel.name, compiled)
    return compiled


def read_kernel(path: Path, name: str) -> Compiled | None:
    """Return the content of a file, or None if it is missing or incomplete."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    head = len(_MAGIC) + _DIGEST
    if (
        not content.startswith(_MAGIC)
        or hashlib.sha256(content[head:]).digest() != content[len(_MAGIC) : head]
    ):
        return None
    lowered, _, code = content[head:].partition(b"\n")
    return Compiled(code, {name: lowered.decode()})


def write_kernel(path: Path, name: str, compiled: Compiled) -> None:
    """Write a compiled kernel so that no reader sees half of it.

    Raises
    ------
    OSError
        When the folder cannot be written to; nothing is left behind.
    """
    payload = compiled.names[name].encode() + b"\n" + compiled.code
    # Compiled kernels are executed, so no other user may write here.
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, partial = tempfile.mkstemp(prefix=f".{path.stem[:16]}.", suffix=".partial", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_MAGIC + hashlib.sha256(payload).digest() + payload)
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise
