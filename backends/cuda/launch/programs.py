"""Kernels in CUDA C++: texts in `sources/`, and what launches a kernel of one.

A kernel is named by an expression, as in `softmax_forward<float32, 256>`.  Nothing is read or compiled until it is
launched for the first time; how is the affair of the backend's engine.

Note [How arguments are passed]
-------------------------------
All arguments of a launch are packed into one buffer, laid out as C lays out a struct of them, which the driver takes as
it is.  Types follow from the values: a handle is a pointer to its first element, None a null pointer, a Python int a
`long long`, a float a `double`, a bool a `bool`, a NumPy scalar its own type, and bytes a struct with alignment 8.
The host engine of the tests compares this with the parameters that the kernel really has.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.backends.cuda.compile.compiler import CudaSource
from tt.backends.cuda.handle import StridedHandle
from tt.core.library import errors, fork_safe_properties

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["SOURCES", "Program", "ProgramKernel", "packer_of"]

SOURCES: Final = Path(__file__).parents[1] / "sources"
_INCLUDE: Final = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)

_CODES: Final[dict[type, str]] = {
    StridedHandle: "P", type(None): "P", bool: "?", int: "q", float: "d", np.bool_: "?", np.int8: "b", np.uint8: "B",
    np.int16: "h", np.uint16: "H", np.int32: "i", np.uint32: "I", np.int64: "q", np.uint64: "Q", np.float32: "f",
    np.float64: "d",
}  # fmt: skip


@fork_safe_properties
class Program:
    """A text of CUDA C++ with kernels.

    Parameters
    ----------
    file : str
        The name of a file in `folder`.
    options : sequence of str
        Compiler options in addition to the usual ones.
    folder : Path
        The folder of the file and its includes.

    Examples
    --------
    >>> from tt.backends.cuda.launch.programs import Program
    >>> program = Program("pointwise.cuh")
    >>> program.kernel("transpose_tiles<uint32>") is program.kernel("transpose_tiles<uint32>")
    True
    """

    def __init__(self, file: str, options: Sequence[str] = (), folder: Path = SOURCES) -> None:
        self.file, self.options, self.folder = file, tuple(options), folder
        self._kernels: dict[str, ProgramKernel] = {}

    def kernel(self, name: str) -> ProgramKernel:
        """Return the kernel that an expression names, the same one each time."""
        kernel = self._kernels.get(name)
        if kernel is None:
            kernel = self._kernels.setdefault(name, ProgramKernel(self, name))
        return kernel

    @cached_property
    def source(self) -> CudaSource:
        """The source and its includes, read at first use."""
        text = self._read(self.file)
        headers: dict[str, str] = {}
        pending = _INCLUDE.findall(text)
        while pending:
            name = pending.pop()
            if name not in headers:
                headers[name] = self._read(name)
                pending += _INCLUDE.findall(headers[name])
        return CudaSource(self.file, text, dict(sorted(headers.items())), self.options)

    def _read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def __repr__(self) -> str:
        return f"Program({self.file!r})"


class ProgramKernel:
    """A kernel of a program; `Program.kernel` makes it.

    Attributes
    ----------
    program : Program
        Where its text is.
    name : str
        The expression that names it.
    """

    __slots__ = ("name", "program")

    def __init__(self, program: Program, name: str) -> None:
        self.program, self.name = program, name

    def __call__(
        self,
        backend: CudaBackend,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        args: Sequence[Any],
        shared: int = 0,
    ) -> None:
        """Launch the kernel on the current stream; a grid without a block launches nothing.

        Parameters
        ----------
        backend : CudaBackend
            Whose engine compiles and launches.
        grid, block : tuple of int
            How many blocks, and how many threads in each; up to three dimensions.
        args : sequence
            Handles, numbers and structs; see Note [How arguments are passed].
        shared : int
            Bytes of dynamic shared memory for each block.
        """
        # CUDA refuses empty grids.
        if 0 not in grid:
            values = [
                value.data_ptr if type(value) is StridedHandle else 0 if value is None else value
                for value in args
            ]
            backend.engine.launch(self, grid, block, packer_of(args), values, shared)

    def __repr__(self) -> str:
        return f"{self.program.file}: {self.name}"


_PACKERS: Final[dict[tuple[Any, ...], struct.Struct]] = {}
"""Packers by argument types, created at their first use; a cache of pure results."""


def packer_of(args: Sequence[Any]) -> struct.Struct:
    """Return what packs arguments.

    Raises
    ------
    ArgumentError
        When an argument is nothing that a kernel takes.

    Examples
    --------
    >>> import numpy as np
    >>> from tt.backends.cuda.launch.programs import packer_of
    >>> packer_of((None, 3, np.float32(1), bytes(24))).format
    '@Pqf0q24s'
    """
    # The length of bytes is part of the layout; of all else the type decides.
    key = tuple([len(value) if type(value) is bytes else type(value) for value in args])
    packer = _PACKERS.get(key)
    if packer is None:
        codes = []
        for kind in key:
            if isinstance(kind, int):
                # `0q` aligns the bytes like an int64 and writes nothing.
                codes.append(f"0q{kind}s")
            elif kind in _CODES:
                codes.append(_CODES[kind])
            else:
                raise errors.ArgumentError(
                    "launch", f"a kernel takes handles, numbers, NumPy scalars and bytes, not {kind.__name__}"
                )
        packer = _PACKERS[key] = struct.Struct("@" + "".join(codes))
    return packer
