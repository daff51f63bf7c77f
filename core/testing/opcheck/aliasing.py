"""The test of aliasing: results share memory with arguments where the schema says so, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from tt.core.schema.model import Alias
from tt.core.testing.opcheck.call import CheckedCall, tensors_in
from tt.core.testing.opcheck.contract import returned
from tt.core.testing.opcheck.log import Log
from tt.core.testing.opcheck.memory import is_strided, overlap, plain
from tt.core.testing.opcheck.report import Finding

__all__ = ["probe_aliasing"]


def probe_aliasing(call: CheckedCall, log: Log) -> Iterator[Finding]:
    """Make a call twice, and look for memory that is shared and not declared, or declared and not shared."""
    copy = log.copy(call)
    result = log.run(copy)
    results = [
        (f"result {index}" if len(call.signature.returns) > 1 else "the result", r.alias, tensor)
        for index, (r, value) in enumerate(returned(copy, result))
        for tensor in tensors_in(value)
    ]
    arguments = [(name, a.alias, tensor) for a, name, tensor in copy.tensors()]
    for where, alias, tensor in results:
        shared = False
        for name, other, argument in arguments:
            related = alias is not None and other is not None and bool({*alias.sets} & {*other.sets})
            contained = other is not None and other.contained
            if not overlap(tensor, argument):
                continue
            if related or contained:
                shared = True
            else:
                yield Finding(
                    "aliased_input",
                    f"{where} shares memory with argument '{name}', which the schema does not declare",
                    call, "call", name,
                )  # fmt: skip
        if _must_share(call, alias, tensor) and not shared:
            yield Finding(
                "alias_not_shared",
                f"{where} shall share memory with its argument ({alias or call.definition.kind}), and has its own",
                call,
            )
    new = [(where, tensor) for where, alias, tensor in results if alias is None]
    for (one, first), (two, second) in combinations(new, 2):
        if overlap(first, second):
            yield Finding("results_share", f"{one} and another ({two}) share memory", call)
    again = list(tensors_in(log.result(call)))
    for where, tensor in new:
        if any(overlap(tensor, other) for other in again):
            yield Finding(
                "result_kept",
                f"{where} shares memory with that of an earlier call: the operator keeps what it returns",
                call, "twice",
            )  # fmt: skip
        yield from _own(call, where, tensor)


def _must_share(call: CheckedCall, alias: Alias | None, tensor: Any) -> bool:
    if not tensor.numel() or not is_strided(tensor):
        return False
    return call.definition.kind == "view" or (alias is not None and alias.write)


def _own(call: CheckedCall, where: str, tensor: Any) -> Iterator[Finding]:
    """Look whether a new result can be changed like any other tensor."""
    if not is_strided(tensor) or not tensor.numel():
        return
    if any(stride == 0 and size > 1 for size, stride in zip(tensor.shape, tensor.stride(), strict=True)):
        yield Finding(
            "result_overlaps",
            f"{where} has several elements in one place of memory (shape {list(tensor.shape)}, strides "
            f"{list(tensor.stride())})",
            call,
        )
        return
    target = plain(tensor)
    try:
        target.copy_(target.clone())
    except Exception as error:
        yield Finding(
            "readonly_result", f"{where} cannot be changed in place: {type(error).__name__}: {error}", call
        )
