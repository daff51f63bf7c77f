"""Dtypes of PyTorch that tt lacks: libraries put them into their tables of all dtypes."""

from __future__ import annotations

from typing import Any, Final

from tt.errors import UnsupportedError

__all__ = ["AbsentDtype", "quint2x4", "quint4x2"]


class AbsentDtype:
    """A dtype that can be named, compared and hashed; every function refuses it, because it is no `tt.dtype`.

    Parameters
    ----------
    name : str
        Its name, such as ``"quint4x2"``.

    Examples
    --------
    >>> from tt._compat.absent_dtypes import quint4x2
    >>> quint4x2
    torch.quint4x2
    >>> quint4x2.itemsize
    Traceback (most recent call last):
        ...
    tt.core.errors.UnsupportedError: torch.quint4x2.itemsize: tt has no dtypes of less than a byte
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name: Final = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __getattr__(self, name: str) -> Any:
        if name in ("itemsize", "is_floating_point", "is_complex", "is_signed", "to_real", "to_complex"):
            raise UnsupportedError(f"{self!r}.{name}: tt has no dtypes of less than a byte")
        raise AttributeError(f"{self!r} has no attribute {name!r}")


quint4x2: Final = AbsentDtype("quint4x2")
quint2x4: Final = AbsentDtype("quint2x4")
