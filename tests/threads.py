"""Programs that run at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

__all__ = ["in_threads"]


def in_threads(*programs: Callable[[], Any]) -> None:
    """Run each program in a thread of its own, and raise what one of them raised."""
    errors: list[BaseException] = []

    def guarded(program: Callable[[], Any]) -> None:
        try:
            program()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(program,)) for program in programs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
