"""tt.autograd.grad_mode: the contexts that switch the recording of gradients on and off."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from tt.autograd import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]


class set_multithreading_enabled:  # noqa: N801 - PyTorch's name
    """Accepted for compatibility, as a function or a context: a backward pass runs in the thread that starts it.

    Its kernels use several threads (`tt.set_num_threads`).

    Parameters
    ----------
    mode : bool
        Has no effect.

    Examples
    --------
    >>> import tt
    >>> with tt.autograd.set_multithreading_enabled(False):
    ...     tt.ones(1, requires_grad=True).sum().backward()
    """

    def __init__(self, mode: bool) -> None:
        self.mode = mode

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def clone(self) -> set_multithreading_enabled:
        """Return another such context."""
        return type(self)(self.mode)
