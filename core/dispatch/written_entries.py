"""Written-out entries: what an entry does, as a function of all arguments of the call.

See Note [Written-out calls] in `written`.  What `Entry.run` finds in the attributes of an entry at each call is looked
up when the function is made; calls for which something would be different go to `Entry.run`, which has the last word.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from tt.core.device import HOME
from tt.core.dispatch import entry as e
from tt.core.dispatch import quick as q
from tt.core.dispatch.callers import Caller
from tt.core.dispatch.entry import Choice, Entry
from tt.core.dispatch.failure import failed
from tt.core.dispatch.state import STATE
from tt.core.dispatch.written_text import make
from tt.core.storage import Storage
from tt.core.tensor import Tensor
from tt.core.tensor_base import TensorBase

__all__ = ["write_entry", "write_inline"]


def write_entry(entry: Entry, caller: Caller) -> Callable[..., Any]:
    """Return the function of an entry; the entry keeps it, once its first run has shown that its kernel is right."""

    def run(*args: Any) -> Any:
        return entry.run(args)

    kind = entry.kind
    function: Callable[..., Any] = run
    if kind == e.KERNEL and entry.functional and not entry.verified:
        return run
    body = _body(entry, caller, run, [f"p{i}" for i in range(len(caller.defaults))])
    if body is not None:
        function = make(", ".join(body.names), body.lines, body.constants)
    elif kind == e.COMPOSITE:
        function = entry.function
    elif kind == e.LAYER:
        rule = entry.rule
        if isinstance(rule, e.LayerRule):
            function = _layer(entry, caller, rule)
    entry.serve = function
    return function


def write_inline(entry: Entry, caller: Caller, names: list[str]) -> tuple[list[str], dict[str, Any]] | None:
    """Return what the function of an entry does with arguments of these names, and the constants that only it has."""

    def run(*args: Any) -> Any:
        return entry.run(args)

    body = None if entry.compute_code >= 0 else _body(entry, caller, run, names)
    return (
        None if body is None else (body.lines, {k: v for k, v in body.constants.items() if k not in _COMMON})
    )


def _body(entry: Entry, caller: Caller, run: Callable[..., Any], names: list[str]) -> _Body | None:
    """Return the text of an entry with a kernel; None where `Entry.run` serves."""
    if entry.kind == e.KERNEL and entry.functional:
        return _kernel(entry, _Body(entry, caller, run, names))
    if entry.kind == e.KERNEL and entry.writes_target in (1, 2):
        return _inplace(entry, _Body(entry, caller, run, names))
    return _out(entry, _Body(entry, caller, run, names)) if entry.kind == e.OUT else None


def _layer(entry: Entry, caller: Caller, rule: e.LayerRule) -> Callable[..., Any]:
    """Return the function of a layer's rule."""

    def run(*args: Any) -> Any:
        return rule.call(entry, args)

    below: Any = entry.below  # None in a layer that answers calls itself
    if below is None or below.kind != e.KERNEL:
        return run
    if below.serve is None:
        write_entry(below, caller)
    return rule.written(entry, below.serve, make) or run


def _failed(entry: Entry, choice: Choice, error: Exception, args: tuple[Any, ...]) -> Any:
    return failed(entry, choice, error, args, entry.handles(choice, args))


def _failed_to_write(entry: Entry, choice: Choice, error: Exception, args: tuple[Any, ...]) -> None:
    failed(entry, choice, error, args, [*entry.handles(choice, args), args[0].handle])


_COMMON: Final = ("STATE", "Tensor", "TensorBase")
"""The constants that every function has."""


class _Body:
    """The lines of an entry's function, and what they refer to."""

    def __init__(self, entry: Entry, caller: Caller, run: Callable[..., Any], names: list[str]) -> None:
        assert caller.kinds is not None
        self.entry, self.caller, self.names = entry, caller, names
        self.choice = choice = entry.choices[0]
        self.args = f"({''.join(f'{name}, ' for name in self.names)})"
        self.constants: dict[str, Any] = {
            "STATE": STATE, "Tensor": Tensor, "TensorBase": TensorBase, "choice": choice, "served": entry, "run": run,
        }  # fmt: skip
        self.lines: list[str] = []
        for position, default in choice.omitted:
            if names[position] == f"d{position}" and caller.defaults[position] is default:
                continue  # the call leaves it out
            self.constants[f"o{position}"] = default
            self.leave_if(f"{names[position]} is not o{position}")
        self.handles = [self._handle(position) for position in choice.takes]

    def leave_if(self, condition: str) -> None:
        """Add the line that hands calls on which are not of the usual kind."""
        if self.lines and self.lines[0].startswith("if "):
            self.lines[0] = f"{self.lines[0][:-1]} or {condition}:"
        else:
            self.lines[:0] = [f"if {condition}:", f"    return run({', '.join(self.names)})"]

    def _handle(self, position: int) -> str:
        """Return the text of what the kernel gets for an argument."""
        entry, name = self.entry, self.names[position]
        assert self.caller.kinds is not None
        kind = self.caller.kinds[position]
        optional, kind = kind >= q.NONE_TAKEN, kind & 15
        casts = entry.compute_code >= 0 and position in entry.group
        if casts:
            self.constants |= {"cast": entry.backend.cast, "code": entry.compute_code}
            self.constants["native"] = entry.compute_native
        if kind in (q.TENSOR, q.OPERAND):
            text = f"{name}.handle"
            if casts:
                text = f"({text} if {name}.spec.code == code else cast({text}, native))"
            if kind == q.OPERAND:
                text = f"({text} if type({name}) is Tensor or isinstance({name}, TensorBase) else {name})"
            return f"(None if {name} is None else {text})" if optional else text
        if kind == q.TENSORS:
            if casts or optional or self.caller.lengths[position] < 0:
                self.constants["prepare"] = entry.prepare
                return f"prepare({name}, {position})"
            # A comprehension is a call of its own.
            two = f"[{name}[0].handle, {name}[1].handle]"
            return f"({two} if len({name}) == 2 else [item.handle for item in {name}])"
        if position == entry.dtype_at:
            self.constants["native_dtype"] = entry.backend.native_dtype(entry.spec.dtype)
            return "native_dtype"
        return name

    def call(self, raw: bool, *more: str) -> str:
        """Return the text of the kernel's call; `raw`: it needs no silence, since it does no arithmetic."""
        function = self.choice.function
        handles = [*self.handles, *more]
        if type(function) is partial and len(function.args) == 1 and not function.keywords:
            self.constants["kernel"] = function.args[0]
            if not raw:
                self.constants["silently"] = function.func
                return f"silently({', '.join(['kernel', *handles])})"
        else:
            self.constants["kernel"] = function
        return f"kernel({', '.join(handles)})"


def _kernel(entry: Entry, body: _Body) -> _Body | None:
    """Complete the text of an entry whose kernel makes new tensors or views."""
    spec = entry.specs[0] if entry.result == e.ONE else None
    caller, names = body.caller, body.names
    lines, constants = body.lines, body.constants
    factory = entry.device_at != -2
    if factory and spec is not None:
        if entry.like_at >= 0:
            constants["spec_at"] = entry.spec_at
        elif spec.device is not HOME:
            return None
        else:
            device = names[entry.device_at] if entry.device_at >= 0 else ""
            given = device and not (device[0] == "d" and caller.defaults[entry.device_at] is None)
            elsewhere = f" or {device} is not None" if given else ""
            body.leave_if(f"STATE.placed{elsewhere}")
    lines += ["try:", f"    handle = {body.call(caller.operator.definition.kind == 'view')}"]
    lines += ["except Exception as error:", f"    handle = failed(served, choice, error, {body.args})"]
    constants["failed"] = _failed
    if spec is None or entry.downcast is not None:
        constants["wrap_all"] = entry.wrap_all
        lines.append(f"return wrap_all(handle, {body.args})")
        return body
    constants |= {
        "new_keys": spec.keys,
        "spec": spec,
        "dim_bit": spec.dim_bit,
        "zero_dim_bit": spec.zero_dim_bit,
    }
    bits = "dim_bit"
    if entry.result_bits == 0:
        constants |= {"handle_type": entry.handle_type, "normalise": entry.backend.normalise}
        lines += ["if type(handle) is not handle_type:", "    handle = normalise(handle)"]
        bits = "dim_bit if handle.ndim else zero_dim_bit"
    lines += ["new = Tensor()", "new.handle = handle"]
    if factory and entry.like_at >= 0:
        lines += [f"at = spec_at(spec, {body.args})", "new.spec = at", "new.keys = at.keys"]
    else:
        lines += ["new.spec = spec", "new.keys = new_keys"]
    lines += [f"new.promotion = {bits}", "new.record = None"]
    if entry.shares >= 0:
        source = names[entry.shares]
        lines += [
            f"storage = {source}.storage",
            f"new.storage = {source}.ensure_storage() if storage is None else storage",
            f"base = {source}.base",
            f"new.base = {source} if base is None else base",
        ]
    else:
        storage = "None" if entry.shares == -1 else f"{names[0]}.ensure_storage()"
        lines += [f"new.storage = {storage}", "new.base = None"]
    lines.append("return new")
    return body


def _inplace(entry: Entry, body: _Body) -> _Body:
    """Complete the text of an entry whose kernel writes into the first argument."""
    how = entry.writes_target
    others = []
    assert body.caller.kinds is not None
    for position, kind in enumerate(body.caller.kinds):
        name = body.names[position]
        if position and kind & 15 == q.TENSOR and kind < q.NONE_TAKEN:
            others.append(f"{name}.storage is storage and {name} is not p0")
        elif position and kind & 15 in (q.TENSOR, q.OPERAND):
            others.append(
                f"isinstance({name}, TensorBase) and {name}.storage is storage and {name} is not p0"
            )
    alone = ["p0.base is not None", "type(storage) is not Storage"]
    shared = " or ".join([*alone, *(f"({other})" for other in others)])
    body.leave_if(f"(storage := p0.storage) is not None and ({shared})")
    call = body.call(False, "p0.handle") if how == 2 else body.call(False)
    refused = "failed_to_write" if how == 2 else "failed"
    body.constants |= {"Storage": Storage, "failed": _failed, "failed_to_write": _failed_to_write}
    body.lines += [
        "try:",
        f"    {call}",
        "except Exception as error:",
        f"    {refused}(served, choice, error, {body.args})",
        "if storage is None:",
        "    storage = p0.ensure_storage()",
        "storage.version += 1",
        "return p0",
    ]
    return body


def _out(entry: Entry, body: _Body) -> _Body:
    """Complete the text of an entry whose kernel writes into the tensor at the end of the arguments."""
    target = body.names[-1]
    leave = f"return run({', '.join(body.names)})"
    lines = [
        f"if {target}.base is not None:",
        f"    {leave}",
        f"shape = {target}.handle.shape",
        f"storage = {target}.storage",
        "filled = False",
    ]
    for position in entry.operands:
        name = body.names[position]
        look = [
            f"found = {name}.handle.shape",
            "if found == shape:",
            "    filled = True",
            "elif found != ():",  # what has dimensions may broadcast beyond the output
            f"    {leave}",
            f"if storage is not None and {name}.storage is storage and {name} is not {target}:",
            f"    {leave}",
        ]
        lines += [f"if isinstance({name}, TensorBase):", *(f"    {line}" for line in look)]
    lines += [
        "if not filled:",
        f"    {leave}",
        "try:",
        f"    {body.call(False, f'{target}.handle')}",
        "except Exception as error:",
        f"    failed(served, choice, error, {body.args})",
        "if storage is None:",
        f"    storage = {target}.ensure_storage()",
        "storage.version += 1",
        f"return {target}",
    ]
    body.lines += lines
    body.constants["failed"] = _failed_to_fill
    return body


def _failed_to_fill(entry: Entry, choice: Choice, error: Exception, args: tuple[Any, ...]) -> None:
    failed(entry, choice, error, args, [*entry.handles(choice, args), args[-1].handle])
