"""Target: a tensor of any strides that an engine fills."""

from __future__ import annotations

from tt import Tensor
from tt.autograd.graph import increment_version

__all__ = ["Target"]


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
