"""`tt.ops.aten` and what is found there.

Note [PyTorch's names of operators]
-----------------------------------
`tt.ops.aten.add.Tensor` is the object `tt.ops.add`: what a mode or a subclass with `__tt_dispatch__` is called with, so
that `func is ops.aten.add.Tensor` and tables by operator work.  One operator of tt may serve several overloads (`add`
takes numbers, too), which are then one object.  The table is made from the schemas of both systems: an overload is in
it if every call that PyTorch's schema allows means the same here.  Where names, defaults or results differ, a function
calls tt (`written`); such an overload is an object of its own, which no mode ever sees.  Names that neither has are
absent.
"""

from __future__ import annotations

from typing import Any

from tt._compat.aten.function_schema import FunctionSchema
from tt._compat.aten.table import names_of, parse_schema, rows
from tt._compat.aten.written import WRITTEN
from tt.core import start
from tt.core.dispatch.registry.namespace import Operators
from tt.core.dispatch.registry.registry import REGISTRY, ops
from tt.errors import ArgumentError

__all__ = ["AtenOperators", "AtenOverload", "AtenPacket", "packet_of"]


class AtenOverload:
    """An overload of PyTorch's that is a function of tt's operators."""

    def __init__(self, packet: AtenPacket, overload: str, text: str) -> None:
        self.overloadpacket, self._overloadname = packet, overload
        self._function, self._text = WRITTEN[text], text
        self.__name__ = self.__qualname__ = f"{packet.__name__}.{overload}"
        self.__module__ = "tt.ops.aten"
        self.namespace, self._opname = "aten", packet.__name__

    @property
    def _schema(self) -> FunctionSchema:
        overload = "" if self._overloadname == "default" else self._overloadname
        return FunctionSchema(f"aten::{self._opname}", overload, parse_schema(f"aten::{self._text}"))

    def name(self) -> str:
        """Return its full name: "aten::sym_size.int"."""
        short = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"aten::{self._opname}{short}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<op aten.{self.__name__}>"

    def __reduce__(self) -> tuple[Any, tuple[str, str]]:
        return _overload_named, (self._opname, self._overloadname)


class AtenPacket:
    """The overloads of one of PyTorch's names: `ops.aten.add`; a call takes the first that fits."""

    def __init__(self, name: str) -> None:
        self.__name__ = self.__qualname__ = name
        self.__module__ = "tt.ops.aten"
        self._qualified_op_name = f"aten::{name}"
        self._rows = rows()[name]

    def overloads(self) -> list[str]:
        """Return the names of the overloads that tt serves."""
        return list(self._rows)

    def __getattr__(self, name: str) -> Any:
        row = None if name.startswith("__") else self._rows.get(name)
        if row is None:
            raise AttributeError(
                f"the operator 'aten.{self.__name__}' has no overload named {name!r} in tt; there are: "
                f"{', '.join(self._rows)}",
                name=name,
                obj=self,
            )
        overload: Any
        overload = (
            REGISTRY.overload(row.operator, row.form)
            if row.operator
            else AtenOverload(self, name, row.schema)
        )
        setattr(self, name, overload)
        return overload

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._rows})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        refused: list[ArgumentError] = []
        given_out = kwargs.get("out") is not None
        for name, row in self._rows.items():
            if (row.form == "out") is not given_out:
                continue
            try:
                return getattr(self, name)(*args, **kwargs)
            except ArgumentError as error:
                refused.append(error)
        if len(refused) == 1:
            raise refused[0]
        raise ArgumentError(
            f"aten.{self.__name__}",
            "no overload takes these arguments",
            signatures=[str(getattr(self, name)._schema) for name in self._rows],
        )

    def __repr__(self) -> str:
        return f"<op aten.{self.__name__} with overloads {', '.join(self._rows)}>"

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return _packet_named, (self.__name__,)

    def __iter__(self) -> Any:
        return iter(self._rows)


class AtenOperators(Operators):
    """PyTorch's operators by name.

    Examples
    --------
    >>> import tt
    >>> tt.ops.aten.add.Tensor(tt.ones(2), tt.ones(2))
    tensor([2., 2.])
    >>> tt.ops.aten.add.Tensor is tt.ops.add
    True
    >>> tt.ops.aten.sum.dim_IntList._schema.name
    'aten::sum'
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in rows():
            raise AttributeError(name)
        if name not in rows():
            # As PyTorch's, and with the nearest names: programs catch it to learn what is there.
            from tt.core.errors import did_you_mean

            raise AttributeError(
                f"tt has no operator for PyTorch's 'aten::{name}'{did_you_mean(name, rows())}",
                name=name,
                obj=self,
            )
        start()
        packet = AtenPacket(name)
        setattr(self, name, packet)
        return packet

    def __dir__(self) -> list[str]:
        return sorted(rows())

    def forget(self) -> None:
        """Keep what was found: the operators of tt are not removed."""


def packet_of(overload: Any) -> AtenPacket | None:
    """Return the packet of PyTorch's that an overload of tt belongs to, or None."""
    named = names_of().get((overload.operator.name, overload.form))
    packet: AtenPacket | None = None if named is None else getattr(ops.aten, named[0])
    return packet


def _packet_named(name: str) -> Any:
    return getattr(ops.aten, name)


def _overload_named(name: str, overload: str) -> Any:
    return getattr(getattr(ops.aten, name), overload)
