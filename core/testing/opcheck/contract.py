"""The test of the schema: what a call returns, and what it changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt.core.schema.model import Return, Type
from tt.core.tensor.base import TensorBase
from tt.core.testing.opcheck.call import CheckedCall, tensors_in
from tt.core.testing.opcheck.log import Log
from tt.core.testing.opcheck.memory import Change, Snapshot
from tt.core.testing.opcheck.report import Finding

__all__ = ["changed_unsaid", "declared", "never_changed", "probe_schema", "probe_unchanged"]


def probe_schema(call: CheckedCall, log: Log) -> Iterator[Finding]:
    """Make a call, and compare what it returned and what it changed with the schema."""
    copy = log.copy(call, requires_grad=True)
    before = Snapshot(copy)
    result = log.run(copy)
    yield from _changes(call, before, log)
    yield from _results(call, result)


# --- what changed ----------------------------------------------------------------------------------------------


def declared(call: CheckedCall) -> set[str]:
    """Return the arguments that the schema says are changed."""
    return {a.name for a, _ in call.named() if a.alias is not None and a.alias.write}


def _through_target(call: CheckedCall, change: Change, targets: set[str], memory: set[int]) -> bool:
    """Tell whether an argument changed because it shares the memory of one that is declared to change."""
    if change.kind == "metadata" or change.name.partition("[")[0] in targets:
        return False
    tensor = next((t for _, name, t in call.tensors() if name == change.name), None)
    return tensor is not None and tensor.untyped_storage().data_ptr() in memory - {0}


def _changes(call: CheckedCall, before: Snapshot, log: Log) -> Iterator[Finding]:
    declared_ = declared(call)
    targets = {t.untyped_storage().data_ptr() for a, _, t in before.call.tensors() if a.name in declared_}
    changes = [c for c in before.changes() if not _through_target(before.call, c, declared_, targets)]
    bumped = {change.name for change in changes if change.kind == "version"}
    moved = {change.name for change in changes if change.kind == "values"}
    # A write to no elements bumps the version as well: with elements it is found as what it is.
    without_elements = {name for _, name, t in before.call.tensors() if not t.numel()}
    metadata = call.definition.kind == "view" or "metadata_inplace" in call.tags
    for change in changes:
        argument = change.name.partition("[")[0]
        if change.kind == "values":
            if argument in declared_:
                log.changed.add(argument)
                if change.name not in bumped:
                    yield Finding(
                        "version_not_bumped",
                        f"the call changed argument '{change.name}', and its version stayed",
                        call, "show", change.name,
                    )  # fmt: skip
            else:
                yield Finding(
                    "mutated_input",
                    f"the call changed argument '{change.name}', which the schema does not declare: {change.text}",
                    call, "show", change.name,
                )  # fmt: skip
        elif change.kind == "outside":
            yield Finding(
                "mutated_outside",
                f"the call changed the memory beside the elements of argument '{change.name}': {change.text}",
                call, "show", change.name,
            )  # fmt: skip
        elif change.kind == "list":
            yield Finding(
                "mutated_list", f"the call changed the list '{change.name}': {change.text}", call, "show", change.name
            )  # fmt: skip
        elif change.kind == "metadata":
            if argument in declared_ and metadata:
                log.changed.add(argument)
                continue
            yield Finding(
                "changed_metadata",
                f"the call changed what argument '{change.name}' is: {change.text}",
                call, "show", change.name,
            )  # fmt: skip
        elif argument not in declared_ and change.name not in moved and change.name not in without_elements:
            yield Finding(
                "bumped_version",
                f"the call bumped the version of argument '{change.name}' {change.text}, and its values stayed",
                call, "show", change.name,
            )  # fmt: skip


def changed_unsaid(call: CheckedCall, log: Log) -> Finding | None:
    """Return what a call changes that the schema does not declare: what comes of it is not the gradient's fault."""
    copy = log.copy(call, requires_grad=False)
    before = Snapshot(copy)
    try:
        log.run(copy)
    except Exception:  # whoever looks at the results makes the call again, and reports it
        return None
    found = [f for f in _changes(call, before, log) if f.fault in _UNSAID]
    return found[0] if found else None


def probe_unchanged(call: CheckedCall, log: Log) -> Iterator[Finding]:
    """Make a call, and yield the declared targets that it has not changed."""
    list(probe_schema(call, log))
    yield from never_changed(call, log)


_UNSAID = ("mutated_input", "mutated_list", "changed_metadata", "bumped_version")


def never_changed(call: CheckedCall, log: Log) -> Iterator[Finding]:
    """Yield the declared targets with elements that no call has changed."""
    for name in sorted(declared(call) - log.changed):
        value = next(v for a, v in call.named() if a.name == name)
        if any(t.numel() for t in tensors_in(value)):
            yield Finding(
                "never_mutated",
                f"the schema declares that argument '{name}' is changed, and no call has changed it",
                call, "show", name,
            )  # fmt: skip


# --- what came back --------------------------------------------------------------------------------------------

_PYTHON = {
    "Scalar": (bool, int, float, complex), "int": (int,), "float": (float, int), "bool": (bool,), "str": (str,)
}  # fmt: skip


def returned(call: CheckedCall, result: Any) -> list[tuple[Return, Any]]:
    """Return each declared return with its value; those that are missing are left out."""
    returns = call.signature.returns
    if len(returns) == 1:
        return [(returns[0], result)]
    return list(zip(returns, result, strict=False)) if isinstance(result, list | tuple) else []


def _results(call: CheckedCall, result: Any) -> Iterator[Finding]:
    returns = call.signature.returns
    if not returns:
        if result is not None and result != ():
            yield Finding("wrong_result", f"{_kind(result)} came back, and the schema returns nothing", call)
        return
    found = returned(call, result)
    if len(found) != len(returns) or (len(returns) > 1 and len(result) != len(returns)):
        count = len(result) if isinstance(result, list | tuple) else 1
        yield Finding(
            "wrong_result", f"{count} results came back, and the schema returns {len(returns)}", call
        )
        return
    for index, (declared_, value) in enumerate(found):
        where = "the result" if len(returns) == 1 else f"result {index}"
        if not _fits(value, declared_.type):
            yield Finding(
                "wrong_result", f"{where} is {_kind(value)}, and the schema says {declared_.type}", call
            )
            continue
        for tensor in tensors_in(value):
            yield from _tensor(call, where, tensor)


def _fits(value: Any, type_: Type) -> bool:
    if type_.list:
        plain = Type(type_.base, optional=type_.element_optional)
        return isinstance(value, list | tuple) and all(_fits(item, plain) for item in value)
    if value is None:
        return type_.optional
    if type_.is_tensor:
        return isinstance(value, TensorBase)
    return isinstance(value, _PYTHON.get(type_.base, object))


def _kind(value: Any) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def _tensor(call: CheckedCall, where: str, tensor: Any) -> Iterator[Finding]:
    """Compare a tensor with what it says of itself, and with where it should be."""
    backend = tensor._spec.backend
    promised = backend.native_dtype(tensor.dtype)
    if isinstance(tensor._handle, backend.handle_type):
        found = backend.dtype_of(tensor._handle)
        if found != promised:
            yield Finding("wrong_dtype", f"{where} holds {found}, and says that it is {tensor.dtype}", call)
    devices = {str(t.device) for t in tensors_in(call.args)}
    own = call.operator.device_at >= 0
    if len(devices) == 1 and not own and str(tensor.device) not in devices:
        yield Finding(
            "wrong_device", f"{where} is on {tensor.device}, the arguments on {devices.pop()}", call
        )
