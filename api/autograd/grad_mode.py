"""tt.autograd.grad_mode: the contexts that switch the recording of gradients on and off."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from tt.autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
from tt.library import Carried

__all__ = [
    "enable_grad",
    "inference_mode",
    "is_multithreading_enabled",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


class _Multithreading(Carried):
    """The setting of this thread."""

    enabled: bool = True


_SETTING = _Multithreading()


def is_multithreading_enabled() -> bool:
    """Return what `set_multithreading_enabled` was called with last in this thread.

    Examples
    --------
    >>> import tt
    >>> tt.autograd.is_multithreading_enabled()
    True
    """
    return _SETTING.enabled


class set_multithreading_enabled:  # noqa: N801 - PyTorch's name
    """Accepted for compatibility, as a function or a context: a backward pass runs in the thread that starts it.

    Its kernels use several threads (`tt.set_num_threads`).

    Parameters
    ----------
    mode : bool
        What `is_multithreading_enabled` returns from now on, or in the `with` block; has no other effect.

    Examples
    --------
    >>> import tt
    >>> with tt.autograd.set_multithreading_enabled(False):
    ...     tt.ones(1, requires_grad=True).sum().backward()
    """

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self._before = _SETTING.enabled
        _SETTING.enabled = mode

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _SETTING.enabled = self._before

    def clone(self) -> set_multithreading_enabled:
        """Return another such context."""
        return type(self)(self.mode)
