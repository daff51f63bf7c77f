"""Members of PyTorch's tensors that tt leaves out on purpose: using one says why, and what to use.

Note [Unknown attributes]
-------------------------
A `__getattr__` on `Tensor` would see every unknown name, but Python then looks up all attributes in a slower way: a
method call takes 25 ns more, and `hasattr` of an unknown name 1 µs instead of 20 ns.  So only these names, which
programs for PyTorch use, have an object on the class, and other names get Python's own error with its own suggestions.
"""

from __future__ import annotations

from typing import Any, Final, Never

from tt.core.by_name import object_named
from tt.core.errors import UnknownOpError

__all__ = ["NAMES", "LeftOutMember", "without_left_out"]

NAMES: Final = (
    "eig", "grad_dtype", "index", "lstsq", "name", "reinforce", "slice_inverse", "solve", "symeig",
    "to_mkldnn", "volatile",
)  # fmt: skip
"""The members."""


class LeftOutMember:
    """Stands on `Tensor` for a member that does not exist: every use raises, with the reason.

    Attributes of tensors, members of subclasses and of plugins with its name take precedence.

    Parameters
    ----------
    name : str
        The name of the member.

    Examples
    --------
    >>> import tt
    >>> tt.ones(2).symeig()
    Traceback (most recent call last):
        ...
    tt.core.errors.UnknownOpError: tt.Tensor has no name 'symeig': removed from PyTorch: the names raise there
      instead: tt.linalg.eig, eigh, solve, lstsq and matrix_rank
    >>> hasattr(tt.ones(2), "symeig")
    False
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: Any = None) -> Never:
        # Called only if the text is needed: `hasattr` raises and drops the error.
        def reason() -> str:
            text: str = object_named("tt._compat.reasons:reason")(f"Tensor.{self.name}")
            return text

        raise UnknownOpError(self.name, owner="tt.Tensor", reason=reason)


def without_left_out(self: Any) -> list[str]:
    """Return the names of a tensor's attributes, without members that only raise: left-out ones, and those of GPUs."""
    kind = type(self)
    hidden = () if self.device.type == "cuda" else ("__cuda_array_interface__",)
    return [
        name
        for name in object.__dir__(self)
        if name not in hidden
        and (
            name not in NAMES or name in self.__dict__ or not isinstance(_on_class(kind, name), LeftOutMember)
        )
    ]


def _on_class(kind: type, name: str) -> Any:
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
