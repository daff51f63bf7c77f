"""The engine of the host: kernels of programs compiled by a C++ compiler behind a shim, and run on NumPy's memory.

    backend = CudaBackend(HostMemory(), lambda: np, HostEngine(folder))

Kernels run as they are launched on a GPU: each thread of each block, with its barriers, shuffles and shared memory.
The arguments that Python packs are compared with the parameters that the kernel has.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import shutil
import struct
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tt.backends.cuda.compile.compiler import explain_log
from tt.backends.cuda.launch.programs import ProgramKernel
from tt.core import errors

SHIM = Path(__file__).parent
ORDERS = {"ascending": 0, "descending": 1, "random": 2}
_FLAGS = ("-std=c++17", "-O1", "-fPIC", "-shared", "-fno-strict-aliasing", "-ffp-contract=off", "-w")


class KernelProblemError(AssertionError):
    """A kernel does what no kernel may: threads that wait for each other forever, lanes that are not there."""


def host_compiler() -> str | None:
    """Return the C++ compiler of the host, or None."""
    return shutil.which(os.environ.get("CXX", "g++")) or shutil.which("clang++")


class HostEngine:
    """Launches kernels of programs on the host.

    Parameters
    ----------
    folder : Path
        Where compiled kernels are kept, by the digest of their text.
    order : str
        In which order the threads of a block run between two barriers: ascending, descending or random. What depends
        on it is an error of the kernel.
    sanitize : bool
        Compile for AddressSanitizer, whose library has to be loaded before Python is.
    """

    synchronous = True

    def __init__(self, folder: Path, order: str = "ascending", sanitize: bool = False) -> None:
        self.folder, self.order, self.sanitize = Path(folder), order, sanitize
        self.launches: list[tuple[str, tuple[int, ...], tuple[int, ...], int]] = []
        self._entries: dict[ProgramKernel, tuple[Any, str]] = {}
        self._lock = threading.RLock()
        self._runtime: Any = None
        self._seed = 0
        self._collected: dict[ProgramKernel, None] | None = None

    # --- the protocol of engines -----------------------------------------------------------------------------------

    def launch(
        self,
        kernel: ProgramKernel,
        grid: Sequence[int],
        block: Sequence[int],
        packer: struct.Struct,
        values: Sequence[Any],
        shared: int,
    ) -> None:
        """Launch a kernel, and wait for it."""
        with self._lock:
            if self._collected is not None:
                self._collected[kernel] = None
                return
            if kernel not in self._entries:
                self.prepare([kernel])
            entry, signature = self._entries[kernel]
            if packer.format != signature:
                raise KernelProblemError(
                    f"{kernel}: its parameters are {signature}, and it was given {packer.format}"
                )
            blocks, threads = (tuple((*size, 1, 1)[:3]) for size in (grid, block))
            limits = (1024, 1024, 64)
            if threads[0] * threads[1] * threads[2] > 1024 or any(
                t > m for t, m in zip(threads, limits, strict=True)
            ):
                raise KernelProblemError(f"{kernel}: no GPU runs blocks of {threads} threads")
            if blocks[0] >= 2**31 or max(blocks[1:]) >= 2**16 or shared > 227 * 1024:
                raise KernelProblemError(
                    f"{kernel}: no GPU runs {blocks} blocks with {shared} bytes of shared memory"
                )
            self.launches.append((kernel.name, blocks, threads, shared))
            problem = ctypes.create_string_buffer(512)
            self._seed += 1
            failed = self._runtime.tt_launch(
                entry, packer.pack(*values), (ctypes.c_uint * 3)(*blocks), (ctypes.c_uint * 3)(*threads),
                ctypes.c_ulong(shared), ORDERS[self.order], self._seed, problem, ctypes.c_ulong(len(problem)),
            )  # fmt: skip
            if failed:
                raise KernelProblemError(f"{kernel}: {problem.value.decode()}")

    # --- compiling -------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def collecting(self) -> Iterator[None]:
        """Run nothing meanwhile, and compile at the end what would have been launched, all of a program together."""
        self._collected = {}
        try:
            yield
        finally:
            collected, self._collected = self._collected, None
        self.prepare(collected)

    def prepare(self, kernels: Iterable[ProgramKernel]) -> None:
        """Compile kernels, those of one program together: much faster than one by one."""
        with self._lock:
            if self._runtime is None:
                built = self._build({"runtime.cpp": (SHIM / "runtime.cpp").read_text()}, "runtime.cpp")
                self._runtime = ctypes.CDLL(str(built), ctypes.RTLD_GLOBAL)
            programs: dict[Any, list[ProgramKernel]] = {}
            for kernel in dict.fromkeys(kernels):
                if kernel not in self._entries:
                    programs.setdefault(kernel.program, []).append(kernel)
            for program, wanted in programs.items():
                self._load(program, wanted)

    def _load(self, program: Any, kernels: list[ProgramKernel]) -> None:
        source = program.source
        entries = [
            f'extern "C" void tt_entry_{i}(const char* place) {{ tt_run({kernel.name}, place); }}\n'
            f'extern "C" void tt_signature_{i}(char* text) {{ tt_signature({kernel.name}, text); }}\n'
            for i, kernel in enumerate(kernels)
        ]
        texts = {source.name: source.text, **source.headers}
        texts["entries.cpp"] = f'#include "{source.name}"\n' + "".join(entries)
        library = ctypes.CDLL(str(self._build(texts, "entries.cpp")))
        for i, kernel in enumerate(kernels):
            text = ctypes.create_string_buffer(1024)
            getattr(library, f"tt_signature_{i}")(text)
            self._entries[kernel] = getattr(library, f"tt_entry_{i}"), "@" + text.value.decode()

    def _build(self, texts: dict[str, str], main: str) -> Path:
        """Return the library of a text, compiled unless it is there."""
        compiler = host_compiler()
        if compiler is None:
            raise errors.NoCompilerError("c++", ["g++", "clang++"], "apt install g++")
        flags = [*_FLAGS, f"-I{SHIM}", "-include", "shim.h"]
        if self.sanitize:
            flags += ["-fsanitize=address", "-g", "-fno-omit-frame-pointer"]
        parts = [
            compiler,
            *flags,
            main,
            (SHIM / "shim.h").read_text(),
            *(p for item in texts.items() for p in item),
        ]
        target = self.folder / f"{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:32]}.so"
        if target.exists():
            return target
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder, prefix=".build-") as scratch:
            for name, text in texts.items():
                Path(scratch, name).write_text(text, encoding="utf-8")
            made = Path(scratch, "made.so")
            found = subprocess.run(
                [compiler, *flags, f"-I{scratch}", main, "-o", str(made)],
                cwd=scratch,
                capture_output=True,
                text=True,
            )
            if found.returncode:
                raise errors.CompileError(
                    main, f"{compiler} does not compile it", problems=explain_log(found.stderr, {}),
                    output=found.stderr,
                )  # fmt: skip
            made.replace(target)
        return target
