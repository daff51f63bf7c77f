"""CUDA source of extensions: compiled by NVRTC through CuPy, when it is first called.

Functions over numbers become CuPy's elementwise kernels, which broadcast, take any strides, and are kept on disk by the
content of their source.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.backends.cuda.handle import StridedHandle
from tt.core.library import Tensor, errors, handle_of

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["compile_elementwise", "compile_launched", "elementwise_operation"]

# NVRTC has no <stdint.h>, so templates are named by the types of the language.
C_TYPES: Final = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int",
    "int64": "long long", "uint16": "unsigned short", "uint32": "unsigned int", "uint64": "unsigned long long",
    "float32": "float", "float64": "double", "complex64": "complex<float>", "complex128": "complex<double>",
}  # fmt: skip
STANDARD: Final = "--std=c++17"


def elementwise_operation(instance: Any) -> tuple[str, str, str]:
    """Return the inputs, the output and the operation of an elementwise kernel, as CuPy writes them."""
    function = instance.function
    names = [f"in{i}" for i in range(len(function.parameters))]
    inputs = ", ".join(
        f"{instance.dtype_of(p.type)} {name}" for p, name in zip(function.parameters, names, strict=True)
    )
    template = f"<{C_TYPES[instance.dtype]}>" if function.template else ""
    operation = f"out0 = {function.name}{template}({', '.join(names)})"
    return inputs, f"{instance.dtype_of(function.result)} out0", operation


def compile_elementwise(backend: CudaBackend, source: Any, instance: Any) -> Callable[..., Any]:
    """Return a kernel over handles for one function over numbers.

    Parameters
    ----------
    backend : CudaBackend
        Whose handles the kernel takes.
    source : DeviceSource
        The texts; `source.failed(log)` makes the error of a compiler's log.
    instance : Instance
        The function and its dtypes.
    """
    library = backend.library()
    name = f"tt_{instance.function.name}_{instance.dtype or 'plain'}"
    inputs, output, operation = elementwise_operation(instance)
    kernel = library.ElementwiseKernel(
        inputs, output, operation, name, preamble=source.text, options=_options(source)
    )

    def call(*args: Any) -> StridedHandle:
        arrays = [value.array if isinstance(value, StridedHandle) else value for value in args]
        with _explained(library, source):
            return backend.normalise(kernel(*arrays))

    return call


def compile_launched(backend: CudaBackend, source: Any, function: Any) -> Callable[..., None]:
    """Return what launches a `__global__` function: `launch(grid, block, args, shared_mem)`."""
    library = backend.library()
    with _explained(library, source):
        module = library.RawModule(
            code=source.text, options=_options(source), name_expressions=(function.name,)
        )
        kernel = module.get_function(function.name)

    def launch(grid: Any, block: Any, args: tuple[Any, ...], shared_mem: int) -> None:
        if len(args) != len(function.parameters):
            raise errors.ArgumentError(
                function.name, f"it takes {len(function.parameters)} arguments, and got {len(args)}",
                signatures=[str(function)],
            )  # fmt: skip
        arguments = [
            _argument(function, p, value) for p, value in zip(function.parameters, args, strict=True)
        ]
        kernel(grid, block, tuple(arguments), shared_mem=shared_mem)
        for parameter, value in zip(function.parameters, args, strict=True):
            # The kernel may have written it, so tensors saved for backward have to be found changed.
            if parameter.type.kind == "pointer" and not parameter.type.const:
                value._bump_version()

    return launch


def _options(source: Any) -> tuple[str, ...]:
    # A standard among the user's options replaces the usual one.
    named = any(option.startswith(("-std", "--std")) for option in source.options)
    return (*source.options, *(() if named else (STANDARD,)))


def _argument(function: Any, parameter: Any, value: Any) -> Any:
    """Return an argument in the type that the function has: nothing is checked on the device."""
    if parameter.type.kind == "number":
        return np.dtype(parameter.type.dtype).type(value)
    problem = ""
    if not isinstance(value, Tensor) or value.device.type != "cuda":
        problem = f"must be a tensor on a CUDA device, not {type(value).__name__}"
    elif value.dtype.name != parameter.type.dtype:
        problem = f"must be {parameter.type.dtype}, not {value.dtype.name}"
    elif not value.is_contiguous():
        problem = "is a plain pointer and must be contiguous"
    if problem:
        raise errors.ArgumentError(
            function.name, f"argument {parameter.name!r} {problem}", signatures=[str(function)]
        )
    return handle_of(value).array


class _explained:  # noqa: N801 - used like a function
    """Turns CuPy's error of the compiler into one with the user's lines."""

    def __init__(self, library: Any, source: Any) -> None:
        self._library, self._source = library, source

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None and isinstance(error, self._library.cuda.compiler.CompileException):
            raise self._source.failed(str(error)) from error
