"""Target: a tensor of any strides that an engine fills; and which tensors cannot be filled."""

from __future__ import annotations

from collections.abc import Iterable

import tt
from tt import Tensor
from tt.autograd.graph import increment_version
from tt.core.dispatch.mutate.overlap import refuse_self_overlap
from tt.core.errors import InplaceError
from tt.core.tensor.read_only import refuse_read_only
from tt.core.tensor.storage import Storage

__all__ = ["Target", "refusal"]


class Target:
    """A tensor that an engine fills: directly if it is contiguous, otherwise by way of a copy.

    Parameters
    ----------
    tensor : Tensor
        The tensor, as the user gave it.

    Attributes
    ----------
    buffer : Tensor
        Contiguous, with the tensor's values.
    """

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor.detach()
        self._copied = not self._tensor.is_contiguous()
        self.buffer = self._tensor.contiguous() if self._copied else self._tensor

    def finish(self) -> None:
        """Bring the buffer's values into the tensor, and let autograd know that it has changed."""
        if self._copied:
            self._tensor.copy_(self.buffer)
        else:  # engines write into its memory
            increment_version(self._tensor)


def refusal(name: str, tensors: Iterable[Tensor]) -> InplaceError | None:
    """Return why a collective cannot write into tensors: read-only memory, or several elements in one place."""
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
