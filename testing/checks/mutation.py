"""The checks of changed arguments: a call changes those that the schema declares, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.testing.checks.call import Array, CheckedCall, is_strided, tensors_in, values, whole
from tt.testing.checks.case import Case
from tt.testing.checks.results import wrong_results
from tt.testing.findings.log import Finding, Log

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

__all__ = [
    "Snapshot",
    "changed_unsaid",
    "check_inputs",
    "declared",
    "never_changed",
    "probe_schema",
    "probe_unchanged",
]

# --- changes by a call -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """A change of one of a call's tensors.

    Attributes
    ----------
    name : str
        Of the argument: "x", "xs[1]".
    kind : str
        "values", "outside" (its memory around its elements), "metadata", "version" or "list".
    text : str
        In words.
    """

    name: str
    kind: str
    text: str


class Snapshot:
    """The tensors of a call before it."""

    def __init__(self, call: CheckedCall) -> None:
        self.call = call
        self.names = [name for _, name, _ in call.tensors()]
        self.tensors = list(tensors_in(call.args))
        # The identities of the items: a callee that replaces one by an equal tensor changes the list as well.
        self.lists = [(a.name, v, [id(i) for i in v]) for a, v in call.named() if isinstance(v, list)]
        self.before = [_State.of(t) for t in self.tensors]

    def changes(self) -> Iterator[Change]:
        """Yield the changes since the snapshot."""
        for name, tensor, before in zip(self.names, self.tensors, self.before, strict=True):
            after = _State.of(tensor)
            if before.metadata != after.metadata:
                yield Change(name, "metadata", f"{before.metadata} became {after.metadata}")
                # Values in another shape or dtype cannot be compared.
                continue
            # Bytes, so that NaN equals itself and -0.0 is not 0.0.
            if before.values.tobytes() != after.values.tobytes():
                yield Change(name, "values", f"{_short(before.values)} became {_short(after.values)}")
            if before.outside.tobytes() != after.outside.tobytes():
                yield Change(name, "outside", f"{_short(before.outside)} became {_short(after.outside)}")
            if before.version != after.version:
                yield Change(name, "version", f"from {before.version} to {after.version}")
        for name, value, known in self.lists:
            if [id(item) for item in value] != known:
                yield Change(name, "list", f"it had {len(known)} elements, and has {len(value)}")


def _short(array: Array) -> str:
    """Return the values of an array in a few words."""
    if array.size <= 12:
        return str(array.tolist())
    return f"{array.size} values beginning with {array.reshape(-1)[:4].tolist()}"


@dataclass(frozen=True)
class _State:
    values: Array
    outside: Array
    version: int
    metadata: str

    @staticmethod
    def of(tensor: Tensor) -> _State:
        grad = ", requires_grad" if getattr(tensor, "requires_grad", False) else ""
        text = f"{tensor.dtype} {list(tensor.shape)} on {tensor.device}{grad}"
        if is_strided(tensor):
            text += f", strides {list(tensor.stride())}, offset {tensor.storage_offset()}"
        return _State(values(tensor), outside(tensor), tensor._version, text)


def outside(tensor: Tensor) -> Array:
    """Return the contents of a tensor's memory besides its elements."""
    memory = whole(tensor)
    if memory is tensor or memory.numel() == tensor.numel() or not tensor.numel():
        return np.zeros(0)
    offsets: Any = np.full(tuple(tensor.shape), tensor.storage_offset())
    for dim, (size, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
        offsets = offsets + (np.arange(size) * stride).reshape((-1,) + (1,) * (tensor.ndim - dim - 1))
    # Overlapping elements have one offset, which is deleted once.
    return np.delete(values(memory), np.unique(offsets))


# --- comparison with the schema --------------------------------------------------------------------------------


def probe_schema(call: CheckedCall, log: Log) -> Iterator[Finding]:
    """Make a call, and compare its results and the arguments it changed with the schema."""
    copy = log.copy(call, requires_grad=True)
    before = Snapshot(copy)
    result = log.run(copy)
    yield from _changes(call, before, declared(call), log)
    yield from wrong_results(call, result)


# --- what changed ----------------------------------------------------------------------------------------------


def declared(call: CheckedCall) -> set[str]:
    """Return the arguments that the schema says are changed."""
    return {a.name for a, _ in call.named() if a.alias is not None and a.alias.write}


def _through_target(call: CheckedCall, change: Change, targets: set[str], memory: set[int]) -> bool:
    """Return whether an argument changed because it shares the memory of one that is declared to change."""
    # Shared memory explains other values, not another shape or dtype.
    if change.kind == "metadata" or change.name.partition("[")[0] in targets:
        return False
    tensor = next((t for _, name, t in call.tensors() if name == change.name), None)
    # The address 0 stands for no memory, which nothing shares.
    return tensor is not None and tensor.untyped_storage().data_ptr() in memory - {0}


_SAID: Final = {
    "mutated_input": "the call changed argument '{name}', which the schema does not declare: {text}",
    "version_not_bumped": "the call changed argument '{name}', and its version stayed",
    "mutated_outside": "the call changed the memory around the elements of argument '{name}': {text}",
    "mutated_list": "the call changed the list '{name}': {text}",
    "changed_metadata": "the call changed what argument '{name}' is: {text}",
    "bumped_version": "the call bumped the version of argument '{name}' {text}, and its values stayed",
}
_UNSAID: Final = ("mutated_input", "mutated_list", "changed_metadata", "bumped_version")


def _changes(call: CheckedCall, before: Snapshot, targets: set[str], log: Log) -> Iterator[Finding]:
    """Yield changes of arguments that are not targets, and changes of targets without a new version."""
    memory = {t.untyped_storage().data_ptr() for a, _, t in before.call.tensors() if a.name in targets}
    changes = [c for c in before.changes() if not _through_target(before.call, c, targets, memory)]
    kinds = {(change.name, change.kind) for change in changes}
    # A write to no elements bumps the version as well; a call with elements shows whether it changes values.
    without_elements = {name for _, name, t in before.call.tensors() if not t.numel()}
    metadata = call.definition.kind == "view" or "metadata_inplace" in call.tags
    for change in changes:
        argument, kind = change.name.partition("[")[0], change.kind
        fault = {"outside": "mutated_outside", "list": "mutated_list"}.get(kind, "")
        if argument in targets and (kind == "values" or (kind == "metadata" and metadata)):
            log.changed.add(argument)
            if kind == "values" and (change.name, "version") not in kinds:
                fault = "version_not_bumped"
        elif kind == "values":
            fault = "mutated_input"
        elif kind == "metadata":
            fault = "changed_metadata"
        elif kind == "version" and argument not in targets and change.name not in without_elements:
            # New values have been reported already, and explain the version.
            fault = "" if (change.name, "values") in kinds else "bumped_version"
        if fault:
            message = _SAID[fault].format(name=change.name, text=change.text)
            yield Finding(fault, message, call, "show", change.name)


def check_inputs(case: Case) -> Iterator[str]:
    """Compare the arguments with themselves before the call, which got copies of those that it may change."""
    for finding in _changes(case.given, case.before, set(), Log()):
        yield finding.message


def changed_unsaid(call: CheckedCall, log: Log) -> Finding | None:
    """Return a change that the schema does not declare: its consequences are not the gradient's fault."""
    copy = log.copy(call, requires_grad=False)
    before = Snapshot(copy)
    try:
        log.run(copy)
    except Exception:  # the check of the results makes the call again, and reports it
        return None
    return next((f for f in _changes(call, before, declared(call), log) if f.fault in _UNSAID), None)


def probe_unchanged(call: CheckedCall, log: Log) -> Iterator[Finding]:
    """Make a call, and yield the declared targets that it has not changed."""
    list(probe_schema(call, log))
    yield from never_changed(call, log)


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
