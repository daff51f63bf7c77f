"""Introspection of overloads: name, docstring, signature and repr.

Cython classes cannot have properties of these names, so ordinary subclasses do; calling them costs nothing more,
since they inherit the compiled `__call__`.
"""

from __future__ import annotations

import inspect
from typing import Any

from tt.core.dispatch.call.op_overload import OpOverload
from tt.core.dispatch.registry.registry import REGISTRY, ops

__all__ = ["DescribedOverload"]


class DescribedOverload(OpOverload):  # noqa: D101 - the docstring is the property: that of the operator
    @property
    def __name__(self) -> str:
        return self.name

    @property
    def __module__(self) -> str:  # type: ignore[override]  # mypy takes it for an attribute
        module: str = self.operator.module
        return module

    @property
    def __doc__(self) -> str:  # type: ignore[override]  # mypy takes it for an attribute
        text: str = self.operator.documentation(self)
        return text

    @property
    def __signature__(self) -> inspect.Signature:
        signature: inspect.Signature = self.operator.python_signature(self)
        return signature

    @property
    def overloadpacket(self) -> Any:
        """The public callable: the packet of an overload, else the operator itself."""
        namespace, _, name = self.operator.name.partition(".")[0].rpartition("::")
        found = getattr(ops, namespace) if namespace else ops
        return getattr(found, f"{name}_" if self.form == "inplace" else name)

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> tuple[Any, tuple[str, str]]:
        return _reload, (self.operator.name, self.form)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self


def _reload(name: str, form: str) -> Any:
    return REGISTRY.overload(name, form)
