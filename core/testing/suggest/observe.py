"""Observations: what calls of an operator returned, and where the calls come from."""

from __future__ import annotations

import runpy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tt.core.dispatch.modes import Mode
from tt.core.dtype import dtype as Dtype
from tt.core.errors import ArgumentError
from tt.core.tensor import Tensor
from tt.core.testing.opcheck.call import Call, tensors_in
from tt.core.testing.opcheck.memory import copied, is_strided, plain

if TYPE_CHECKING:
    from tt.core.dispatch.callers import Caller

__all__ = [
    "Looks",
    "Observation",
    "Recorder",
    "calls_of_script",
    "calls_of_signature",
    "calls_of_text",
    "observe",
]

MOST = 40
"""How many calls of a script are kept."""


@dataclass(frozen=True)
class Looks:
    """What is known of a tensor without its data."""

    shape: tuple[int, ...]
    dtype: Dtype
    strides: tuple[int, ...]

    @staticmethod
    def of(value: Any) -> Any:
        """Return the looks of every tensor in a result; other values as they are."""
        if isinstance(value, Tensor):
            strides = tuple(value.stride()) if is_strided(value) else ()
            return Looks(tuple(value.shape), value.dtype, strides)
        if isinstance(value, list | tuple):
            return [Looks.of(item) for item in value]
        return value


@dataclass(frozen=True)
class Observation:
    """One call and what it returned.

    Attributes
    ----------
    call : Call
        The call.
    result : Looks, list or object
        What the results look like; Python values as they are.
    """

    call: Call
    result: Any

    @property
    def key(self) -> str:
        """The arguments without the data of their tensors: calls with the same key must have results alike."""
        return ", ".join(self._describe(value) for value in self.call.args)

    @property
    def contiguous(self) -> bool:
        """Whether all tensors are row-major."""
        return all(t.is_contiguous() for t in tensors_in(self.call.args) if is_strided(t))

    def _describe(self, value: Any) -> str:
        if isinstance(value, Tensor):
            strides = "" if value.is_contiguous() else f" with strides {list(value.stride())}"
            return f"{value.dtype.name}{list(value.shape)}{strides}"
        if isinstance(value, list | tuple):
            return f"[{', '.join(self._describe(item) for item in value)}]"
        return repr(value)

    def __str__(self) -> str:
        return f"({self.key}) -> {in_words(self.result)}"


def in_words(result: Any) -> str:
    """Return what a result looks like as text."""
    if isinstance(result, Looks):
        return f"{result.dtype.name}{list(result.shape)}"
    if isinstance(result, list):
        return f"[{', '.join(map(in_words, result))}]"
    return repr(result)


def observe(call: Call) -> Observation:
    """Make a call on copies of its arguments, and return what came back.

    Raises
    ------
    Exception
        What the operator raises.
    """
    kept = Call(call.caller, copied(call.args, requires_grad=False), call.on)
    result = Call(call.caller, copied(call.args, requires_grad=False)).run()
    return Observation(kept, Looks.of(result))


# --- where calls come from -------------------------------------------------------------------------------------


class Recorder(Mode):
    """Keeps the calls of one operator that are made while a `with` block runs.

    Parameters
    ----------
    name : str
        The qualified name of the operator, or its name without the overload.
    """

    def __init__(self, name: str) -> None:
        self.name, self.calls = name, dict[str, Call]()

    def handle(self, caller: Caller, args: tuple[Any, ...]) -> Any:
        """Keep the call if it is one of the operator, with data."""
        mine = self.name in (caller.operator.name, caller.operator.name.partition(".")[0])
        if mine and len(self.calls) < MOST and not any(t.device.type == "meta" for t in tensors_in(args)):
            call = Call(caller, copied(args, requires_grad=False), "a recorded call")
            self.calls.setdefault(Observation(call, None).key, call)
        return caller.dispatch(args)


def calls_of_script(name: str, path: str) -> list[Call]:
    """Return the calls of an operator that a script makes while it runs."""
    from tt.core.startup import start

    start()
    with Recorder(name) as recorder:
        runpy.run_path(path, run_name="__main__")
    return list(recorder.calls.values())


def calls_of_text(name: str, texts: Sequence[str]) -> list[Call]:
    """Return the calls of an operator that expressions make: "ops.acme.twice(tt.ones(2, 3))".

    Raises
    ------
    ArgumentError
        When an expression is none, or makes no call of the operator.
    """
    import numpy as np

    import tt

    found: list[Call] = []
    for text in texts:
        with Recorder(name) as recorder:
            try:
                eval(compile(text, "<call>", "eval"), {"tt": tt, "ops": tt.ops, "np": np})
            except (SyntaxError, NameError) as error:
                raise ArgumentError(
                    "suggest-fake",
                    f"{text!r} is no call: {error}",
                    hint="write Python: 'ops.acme.twice(tt.ones(2, 3))'; it knows tt, ops and np",
                ) from error
        if not recorder.calls:
            raise ArgumentError("suggest-fake", f"{text!r} makes no call of {name}")
        found += recorder.calls.values()
    return found


SHAPES = ((3, 4), (5,), (2, 3, 4), (4, 4), ())


def calls_of_signature(caller: Caller) -> Iterator[Call]:
    """Yield calls made up from nothing but the signature; the operator need not take them."""
    arguments = caller.operator.signature(caller.form).arguments
    for shape in SHAPES:
        for by in (1, 2):
            args = [_made(a, shape, by) for a in arguments]
            if None not in [m for m, a in zip(args, arguments, strict=True) if not a.type.optional]:
                yield Call(caller, tuple(args), "a call made up from the signature")


def _made(argument: Any, shape: tuple[int, ...], number: int) -> Any:
    import tt
    from tt.core.schema.model import MISSING

    type_ = argument.type
    if type_.is_tensor:
        if argument.default is None:
            return None
        tensor = tt.rand(shape) + 0.5
        return [tensor, tensor.clone()] if type_.list else plain(tensor)
    if argument.default is not MISSING:
        return argument.default
    value = {"int": number, "float": 1.5, "Scalar": number, "bool": False, "str": ""}.get(type_.base)
    if type_.list:
        return (value,) * (type_.size or len(shape) or 1)
    return value
