"""Options and arguments that are texts, flags or absent: typer 0.29 and later would import pydantic for them.

From that version on typer makes an adapter of pydantic for every parameter whose value it reads, which takes 130 ms of
processor time in every process, also where the value is the word that was typed.  Here such values are taken as they
are.  Numbers that were typed, paths and whatever else has to be converted or checked remain typer's.
"""

from __future__ import annotations

from typing import Any

__all__ = ["without_adapters"]


def without_adapters(params: list[Any]) -> list[Any]:
    """Let parameters take plain values without the adapters of pydantic, and return them.

    Those of older versions of typer have none, and remain as they are.
    """
    for param in params:
        if hasattr(param, "get_runtime_param") and not isinstance(param.get_runtime_param, _Converting):
            param.get_runtime_param = _Converting(param.get_runtime_param)
    return params


class _Converting:
    """Returns what converts the values of a parameter: itself, which asks typer's adapter only where it has to."""

    def __init__(self, adapter: Any) -> None:
        self._adapter = adapter

    def __call__(self) -> _Converting:
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value for the command's function."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        if _is_plain(value, param.type_descriptor):
            return list(value) if several else value
        return self._adapter().coerce(value, param=param, ctx=ctx)


def _is_plain(value: Any, described: Any) -> bool:
    """Return whether a value already has the type of the function's parameter."""
    info = described.parameter_info
    if info.parser is not None:
        return False
    if described.annotation == list[str]:
        return isinstance(value, list | tuple) and all(type(word) is str for word in value)
    if described.annotation is str:
        return type(value) is str
    # The default of a number without limits; one that was typed is a word.
    limited = info.clamp or info.min is not None or info.max is not None
    return described.annotation is int and type(value) is int and not limited
