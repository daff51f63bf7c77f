"""The namespace of operators: `ops.add`, `ops.max.dim`, `ops.acme.twice`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from tt.core import plugins, start
from tt.core.by_name import object_named

if TYPE_CHECKING:
    from tt.core.dispatch.registry.registry import Registry

__all__ = ["Operators"]

_ATEN: Final = "tt._compat.aten.namespace:AtenOperators"
"""PyTorch's names of operators, which lie above the core."""


class Operators:
    """Operators by attribute: `ops.add`, `ops.max.dim`, `ops.acme.twice`.

    An attribute is the overload of an operator with a single one, a `PacketOp` for several, or the
    namespace of a third party.

    Examples
    --------
    >>> import tt
    >>> from tt.library import ops
    >>> ops.add(tt.ones(2), 1)
    tensor([2., 2.])
    """

    def __init__(self, registry: Registry, namespace: str = "") -> None:
        self._registry, self._namespace = registry, namespace

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        from tt.core.dispatch.call.packet import lookup  # see Note [Operators are made late]

        start()
        if name == "aten" and not self._namespace:
            operator = object_named(_ATEN)(self._registry, name)
        else:
            operator = lookup(self._registry, self._namespace, name)
        # As an attribute of the instance, so that the next look-up does not come here.
        setattr(self, name, operator)
        return operator

    def load_library(self, path: str | os.PathLike[str]) -> None:
        """Make the operators of a compiled library available, which a plugin brings: its manifest names the library.

        Parameters
        ----------
        path : path
            The library, for instance ".../torchvision/_C.so".  It is not opened, since it needs PyTorch.

        Raises
        ------
        OSError
            If no installed plugin brings the operators of the library.

        Examples
        --------
        >>> import tt
        >>> tt.ops.load_library("folder/_C.so")
        Traceback (most recent call last):
            ...
        OSError: folder/_C.so: no installed plugin brings the operators of this library; ...
        """
        file = os.fspath(path)
        # The library of a Python package, whose file may be tagged for a version of Python: `_C.cpython-311-....so`.
        words = [*file.replace(os.sep, "/").split("/")[:-1], os.path.basename(file).partition(".")[0]]
        for start_at in range(len(words)):
            if plugins().activate("library", ".".join(words[start_at:])):
                return
        raise OSError(
            f"{file}: no installed plugin brings the operators of this library; it is built for PyTorch, and tt cannot "
            f"load it"
        )

    def __dir__(self) -> list[str]:
        prefix = f"{self._namespace}::" if self._namespace else ""
        names = {n.removeprefix(prefix).split(".")[0] for n in self._registry.names() if n.startswith(prefix)}
        return sorted(n for n in names if "::" not in n)

    def __repr__(self) -> str:
        return f"<operators of {self._namespace or 'tt'}>"

    def forget(self) -> None:
        """Forget the attributes found so far (after an operator was removed)."""
        for name in [n for n in vars(self) if not n.startswith("_")]:
            delattr(self, name)
