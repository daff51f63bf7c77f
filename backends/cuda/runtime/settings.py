"""Switches of the libraries, named as in PyTorch: `tt.backends.cuda.matmul.allow_tf32`, `tt.backends.cuda.cudnn`.

Each is an attribute of an object; `flags(...)` changes some of them for the length of a `with` statement.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from tt.core.library import errors

__all__ = ["CudnnSettings", "MatmulSettings", "Settings", "cudnn", "is_built", "matmul"]


class Settings:
    """Switches that are on or off.

    Attributes
    ----------
    names : tuple of str
        Their names.
    """

    names: tuple[str, ...] = ()

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.names:
            raise errors.UnknownNameError("setting", name, self.names)
        if not isinstance(value, bool):
            raise errors.ArgumentError(name, f"is True or False, not {value!r}")
        object.__setattr__(self, name, value)

    @contextmanager
    def flags(self, **changes: bool | None) -> Iterator[None]:
        """Change switches for the length of a `with` statement; None leaves one as it is.

        Raises
        ------
        UnknownNameError, ArgumentError
            If a switch does not exist or a value is not a bool; then nothing is changed.

        Examples
        --------
        >>> from tt.backends.cuda import matmul
        >>> with matmul.flags(allow_tf32=True):
        ...     matmul.allow_tf32
        True
        >>> matmul.allow_tf32
        False
        """
        # Taken of all, so that a wrong name in the midst leaves nothing changed.
        before = {name: getattr(self, name) for name in self.names}
        try:
            for name, value in changes.items():
                if value is not None:  # as it is
                    setattr(self, name, value)
            yield
        finally:
            for name, value in before.items():
                setattr(self, name, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)}' for name in self.names)})"


class MatmulSettings(Settings):
    """Settings of matrix products.

    Attributes
    ----------
    allow_tf32 : bool
        Round the factors of float32 products to the 10 bits of TF32, which tensor cores multiply; off by default.
    allow_fp16_reduced_precision_reduction, allow_bf16_reduced_precision_reduction, allow_fp16_accumulation : bool
        PyTorch's switches, without effect: products of half precision are summed in float32.
    """

    names = (
        "allow_tf32", "allow_fp16_reduced_precision_reduction", "allow_bf16_reduced_precision_reduction",
        "allow_fp16_accumulation",
    )  # fmt: skip
    allow_tf32: bool
    allow_fp16_reduced_precision_reduction: bool
    allow_bf16_reduced_precision_reduction: bool
    allow_fp16_accumulation: bool

    def __init__(self) -> None:
        self.allow_tf32 = self.allow_fp16_accumulation = False
        self.allow_fp16_reduced_precision_reduction = self.allow_bf16_reduced_precision_reduction = True


class CudnnSettings(Settings):
    """Settings of cuDNN.

    Attributes
    ----------
    enabled : bool
        Whether cuDNN serves convolutions and attention where it is installed.
    allow_tf32 : bool
        Let it use TF32 in convolutions of float32; on by default, as in PyTorch.
    deterministic : bool
        Only algorithms that give the same bits in every run.
    benchmark : bool
        Run each of cuDNN's plans for a new geometry and keep the fastest; off by default.
    """

    names = ("enabled", "allow_tf32", "deterministic", "benchmark")
    enabled: bool
    allow_tf32: bool
    deterministic: bool
    benchmark: bool

    def __init__(self) -> None:
        self.enabled, self.allow_tf32, self.deterministic, self.benchmark = True, True, False, False


matmul: Final = MatmulSettings()
cudnn: Final = CudnnSettings()


def is_built() -> bool:
    """Return whether tt could use a CUDA device: whether CuPy is installed.

    Examples
    --------
    >>> import tt
    >>> tt.backends.cuda.is_built() >= tt.cuda.is_available()
    True
    """
    from importlib.util import find_spec

    return find_spec("cupy") is not None
