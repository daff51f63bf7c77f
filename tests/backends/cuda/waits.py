"""Which kernels of CUDA make the host wait, and which say so: seen on the emulated device."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

__all__ = ["Watch"]


class _Stack(threading.local):
    """The kernels that run, the innermost last: [did it wait, did it say so]."""

    def __init__(self) -> None:
        self.running: list[list[bool]] = []


class Watch:
    """Watches every kernel of CUDA; made before the plugin makes its tables.

    Attributes
    ----------
    silent : dict of str to str
        Operators of kernels that waited without a word, and where their kernel is.
    waited, said, called : set of str
        Operators of kernels that waited, that said so, and of all that ran.
    """

    def __init__(self) -> None:
        from tt.backends.cuda import kernels
        from tt.backends.cuda.backend import CudaBackend

        self.silent: dict[str, str] = {}
        self.waited: set[str] = set()
        self.said: set[str] = set()
        self.called: set[str] = set()
        self._stack = _Stack()
        driver, every = sys.modules["cupy"]._driver, kernels.kernel_tables
        will_wait, wait = CudaBackend.will_wait, driver.wait

        def telling(backend: Any, what: str) -> None:
            if self._stack.running:
                self._stack.running[-1][1] = True
            will_wait(backend, what)

        def waiting(*args: Any) -> None:
            if self._stack.running:
                self._stack.running[-1][0] = True
            wait(*args)

        def tables(backend: Any) -> Any:
            found = every(backend)
            for table in found:
                table.kernels = [self._watched(kernel) for kernel in table.kernels]
            return found

        CudaBackend.will_wait = telling  # type: ignore[method-assign]
        driver.wait = waiting
        kernels.kernel_tables = tables

    def _watched(self, kernel: Any) -> Any:
        function: Callable[..., Any] = kernel.function

        @functools.wraps(function)
        def watched(*args: Any) -> Any:
            seen = [False, False]
            self._stack.running.append(seen)
            try:
                return function(*args)
            finally:
                self._stack.running.pop()
                self.called.add(kernel.op)
                if seen[0]:
                    self.waited.add(kernel.op)
                if seen[1]:
                    self.said.add(kernel.op)
                if seen[0] and not seen[1]:
                    self.silent[kernel.op] = f"{function.__module__}, priority {kernel.priority}"

        return replace(kernel, function=watched)
