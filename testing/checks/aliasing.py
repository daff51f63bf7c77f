"""The checks of aliasing: results share memory with arguments where the schema says so, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from tt.core.dispatch.mutate.overlap import shares_memory
from tt.core.schema.model import Alias
from tt.core.tensor.base import TensorBase
from tt.testing.checks.call import CheckedCall, is_strided, plain, tensors_in
from tt.testing.checks.case import SKIPPED, Case, copy_of
from tt.testing.checks.results import returned
from tt.testing.findings.log import Finding, Log
from tt.testing.references import as_array

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

__all__ = ["check_alias", "check_view", "overlap", "overlaps_itself", "probe_aliasing"]

# --- who shares with whom --------------------------------------------------------------------------------------


def overlap(one: Any, other: Any) -> bool:
    """Return whether two tensors share memory (the ranges of their addresses meet)."""
    if one is other:
        return True
    if not (is_strided(one) and is_strided(other)) or one.device != other.device:
        return False
    if not one.numel() or not other.numel():
        return False
    backend = one._spec.backend
    # Where the core keeps track of views itself, addresses say nothing; its storages tell who shares.
    if not (backend.mutable and backend.has_views):
        return shares_memory(one, other)
    first, second = span(one), span(other)
    if first is None or second is None:
        # Without an address only the owner of the memory is known.
        return backend.storage_owner(one._handle) is backend.storage_owner(other._handle)
    return first[0] < second[1] and second[0] < first[1]


def span(tensor: Tensor) -> tuple[int, int] | None:
    """Return the addresses of the first byte of a tensor and of the one behind its last; None if there are none."""
    start = tensor.data_ptr()
    if not start:
        return None
    reach = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    return start, start + (reach + 1) * tensor.dtype.itemsize


def overlaps_itself(tensor: Tensor) -> bool:
    """Return whether several elements of a strided tensor are one in memory."""
    # The distance of each element from the first one, a dimension at a time.
    offsets = np.zeros((), np.int64)
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        offsets = offsets[..., None] + stride * np.arange(size)
    return np.unique(offsets).size < offsets.size


# --- checks ----------------------------------------------------------------------------------------------------


def check_view(case: Case) -> Iterator[str]:
    """Write through the result of a view and look for it in the argument."""
    if case.definition.kind != "view" or case.inplace_only:
        yield SKIPPED
        return
    copies = isinstance(case.result, TensorBase) and not case.result._spec.backend.has_views
    if copies and case.result.dtype is not case.sample.args[0].dtype:
        yield SKIPPED  # such a backend cannot view elements as others
        return
    base = copy_of(case.sample.args[0])
    views = list(tensors_in(case.call((base, *case.sample.args[1:]))))
    for position, view in enumerate(views):
        # Without a common version a change through one would go unseen through the other.
        if view._version != base._version:
            yield "the result does not share its argument's version"
        if overlaps_itself(view):
            continue  # several elements of one place cannot be written
        view.fill_(1)
        # The operator is asked again, as only it knows where in the argument the elements of the view are.
        again = [as_array(t) for t in tensors_in(case.call((base, *case.sample.args[1:])))]
        if not np.all(again[position] == as_array(view)):
            yield "writing through the result does not change the argument"
        if view._version != base._version:
            yield "writing through the result does not bump the argument's version"


def probe_aliasing(call: CheckedCall, log: Log) -> Iterator[Finding]:
    """Make a call twice, and look for memory that is shared and not declared, or declared and not shared."""
    copy = log.copy(call)
    result = log.run(copy)
    results = [
        (f"result {index}" if len(call.signature.returns) > 1 else "the result", r.alias, tensor)
        for index, (r, value) in enumerate(returned(copy, result))
        for tensor in tensors_in(value)
    ]
    for where, alias, tensor in results:
        shared = False
        for name, declared in _shared(copy, alias, tensor):
            shared |= declared
            if not declared:
                message = f"{where} shares memory with argument '{name}', which the schema does not declare"
                yield Finding("aliased_input", message, call, "call", name)
        if _must_share(call, alias, tensor) and not shared:
            yield Finding(
                "alias_not_shared",
                f"{where} must share memory with its argument ({alias or call.definition.kind}), and has its own",
                call,
            )
    # What the schema lets share memory is judged above, against the arguments.
    new = [(where, tensor) for where, alias, tensor in results if alias is None]
    for (one, first), (two, second) in combinations(new, 2):
        if overlap(first, second):
            yield Finding("results_share", f"{one} and another ({two}) share memory", call)
    # A buffer that the operator keeps shows only when it is used a second time.
    again = list(tensors_in(log.result(call)))
    for where, tensor in new:
        if any(overlap(tensor, other) for other in again):
            yield Finding(
                "result_kept",
                f"{where} shares memory with that of an earlier call: the operator keeps its results",
                call, "twice",
            )  # fmt: skip
        yield from _own(call, where, tensor)


def _shared(call: CheckedCall, alias: Alias | None, result: Any) -> Iterator[tuple[str, bool]]:
    """Yield the arguments whose memory a result has, and whether the schema declares that."""
    for argument, name, tensor in call.tensors():
        if overlap(result, tensor):
            other = argument.alias
            related = alias is not None and other is not None and bool({*alias.sets} & {*other.sets})
            yield name, related or (other is not None and other.contained)


def check_alias(case: Case) -> Iterator[str]:
    """Look for memory that a result shares with an argument or another result, and the schema does not declare."""
    signature = case.definition.signature
    untyped = any(a.type.base == "any" for a in signature.arguments)  # of which the schema can say nothing
    if case.inplace_only or case.operator.mutates or untyped:
        yield SKIPPED
        return
    new = []
    for result, value in returned(case.given, case.result):
        for tensor in tensors_in(value):
            for name, declared in _shared(case.given, result.alias, tensor):
                if not declared:
                    yield (
                        f"the result shares the memory of the argument {name!r}; the schema promises "
                        f"{'another' if result.alias else 'new'} memory"
                    )
            if result.alias is None:
                new.append(tensor)
    for one, other in combinations(new, 2):
        if overlap(one, other):
            yield "two results share memory; the schema promises new memory for each"


def _must_share(call: CheckedCall, alias: Alias | None, tensor: Tensor) -> bool:
    if not tensor.numel() or not is_strided(tensor):
        return False
    return call.definition.kind == "view" or (alias is not None and alias.write)


def _own(call: CheckedCall, where: str, tensor: Tensor) -> Iterator[Finding]:
    """Look whether a new result can be changed like any other tensor."""
    if not is_strided(tensor) or not tensor.numel():
        return
    if overlaps_itself(tensor):
        yield Finding(
            "result_overlaps",
            f"{where} has several elements in one place of memory (shape {list(tensor.shape)}, strides "
            f"{list(tensor.stride())})",
            call,
        )
        return
    target = plain(tensor)
    # A write of the tensor's own values asks for nothing but permission.
    try:
        target.copy_(target.clone())
    except Exception as error:
        yield Finding(
            "readonly_result", f"{where} cannot be changed in place: {type(error).__name__}: {error}", call
        )
