"""Which tensors cannot be written, for code that writes into their memory without an operator."""

from __future__ import annotations

from collections.abc import Iterable

import tt
from tt import Tensor
from tt.core.dispatch.mutate.overlap import refuse_self_overlap
from tt.core.errors import InplaceError
from tt.core.tensor.read_only import refuse_read_only
from tt.core.tensor.storage import Storage

__all__ = ["refusal"]


def refusal(name: str, tensors: Iterable[Tensor]) -> InplaceError | None:
    """Return why tensors cannot be written: read-only memory, or several elements in one place; None if they can."""
    for tensor in tensors:
        storage = tensor._storage  # a tensor without has memory of its own
        if storage is None or tensor.layout is not tt.strided:
            continue
        if type(storage) is not Storage or not tensor._spec.backend.is_row_major(tensor._handle):
            try:
                refuse_read_only(name, tensor)
                refuse_self_overlap(name, tensor)
            except InplaceError as error:
                return error
    return None
