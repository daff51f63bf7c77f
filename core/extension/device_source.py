"""Source for other devices: handed to the backend of the device, which compiles it when it is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import ArgumentError, CompileError, UnsupportedError
from tt.core.extension.declarations import find_functions
from tt.core.extension.diagnostics import compile_error, read_output
from tt.core.extension.generate import Instance, line_directive
from tt.core.extension.operators import InlineKernel, Operator
from tt.core.extension.types import Function

__all__ = ["DeviceFunction", "DeviceSource", "device_kernels"]


@dataclass(frozen=True)
class DeviceSource:
    """Texts for one device type.

    Attributes
    ----------
    device : str
        The device type.
    extension : str
        The name of the extension.
    texts : mapping
        Name of a text as messages call it -> the text.
    options : tuple of str
        For the compiler.
    required : bool
        The device must be usable.
    """

    device: str
    extension: str
    texts: Mapping[str, str]
    options: tuple[str, ...] = ()
    required: bool = False

    @cached_property
    def functions(self) -> list[Function]:
        """The functions that the texts declare."""
        return [f for file, text in self.texts.items() for f in find_functions(text, file)]

    @property
    def text(self) -> str:
        """The texts as one, whose lines are named as the user's."""
        return "\n".join(line_directive(1, file) + "\n" + text for file, text in self.texts.items()) + "\n"

    def require(self) -> None:
        """Raise if the device is required and cannot be used."""
        if self.required:
            REGISTRY.backend(self.device).require_available()

    def failed(self, output: str) -> CompileError:
        """Return the error of a compiler that printed `output`."""
        return compile_error(self.extension, output, read_output(output, self.texts), ())


class DeviceFunction:
    """A function that is launched over a grid of threads, compiled at its first call.

    Parameters
    ----------
    source : DeviceSource
        Where it is.
    function : Function
        Which one.
    """

    def __init__(self, source: DeviceSource, function: Function) -> None:
        self._source, self._function = source, function
        self.__name__ = function.name
        self._launch: Callable[..., Any] | None = None

    def __call__(
        self, grid: Sequence[int], block: Sequence[int], args: Sequence[Any], shared_mem: int = 0
    ) -> None:
        """Launch the function.

        Parameters
        ----------
        grid, block : sequence of int
            How many blocks, and how many threads in each; up to three dimensions.
        args : sequence
            Tensors, passed as pointers, and numbers, passed as the types that the function has.
        shared_mem : int
            Bytes of shared memory for each block.
        """
        # Compiled at the first launch: importing a program must not start the device.
        if self._launch is None:
            self._launch = _compiler_of(self._source, "compile_launched")(self._source, self._function)
        self._launch(tuple(grid), tuple(block), tuple(args), shared_mem)


def _compiler_of(source: DeviceSource, what: str) -> Callable[..., Any]:
    """Return the method with which a backend compiles source: `compile_elementwise` or `compile_launched`.

    Raises
    ------
    DeviceError
        When the device cannot be used.
    UnsupportedError
        When its backend compiles no source.
    """
    backend = REGISTRY.backend(source.device)
    backend.require_available()
    compiler: Callable[..., Any] | None = getattr(backend, what, None)
    if compiler is None:
        raise UnsupportedError(
            f"{source.extension}: the backend of the device {source.device!r} compiles no source: "
            f"it has no method {what}"
        )
    return compiler


def device_kernels(
    source: DeviceSource, operator: Operator, functions: Sequence[Function]
) -> list[InlineKernel]:
    """Return the kernels of an operator on a device; they compile at their first call.

    Raises
    ------
    ArgumentError
        When a function is none over numbers, or takes others than the operator.
    """
    kernels = []
    for function in functions:
        if not function.elementwise:
            raise ArgumentError(
                operator.name,
                f"on {source.device} a function over numbers becomes a kernel, and {function} is none",
                hint="a __global__ function is launched by hand: module.f(grid, block, args)",
            )
        if len(function.parameters) != len(operator.given):
            raise ArgumentError(
                operator.name,
                "the function differs between the sources",
                signatures=[str(operator.overloads[0]), str(function)],
            )
        # A template is compiled for each dtype, a plain function once.
        for dtype in operator.dtypes if function.template else ("",):
            instance = Instance(function, dtype, "")
            served = (instance.dtype_of(function.parameters[0].type),)
            kernels.append(InlineKernel(source.device, served, _deferred(source, instance)))
    return kernels


def _deferred(source: DeviceSource, instance: Instance) -> Callable[..., Any]:
    compiled: Callable[..., Any] | None = None

    def kernel(*args: Any) -> Any:
        nonlocal compiled
        if compiled is None:
            compiled = _compiler_of(source, "compile_elementwise")(source, instance)
        return compiled(*args)

    kernel.__name__ = kernel.__qualname__ = instance.function.name
    return kernel
