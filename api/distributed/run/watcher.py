"""Kills the workers of an agent that has died; run by its path, it reads process groups from its standard input.

A line ``+12`` says that group 12 has begun, ``-12`` that it has ended.  The end of the input means that the agent has
ended, in whatever way; then the folder that is its argument is removed, too, if there is one.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def watch(lines: Iterable[str]) -> set[int]:
    """Return the groups that have begun and not ended, at the end of the input."""
    groups: set[int] = set()
    for line in lines:
        if line.startswith("+"):
            groups.add(int(line[1:]))
        else:
            groups.discard(int(line[1:]))
    return groups


if __name__ == "__main__":
    # The signals that end the agent, which this process must outlive.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    # The input ends when the agent does, however it ends: the system closes the pipe.
    for group in watch(sys.stdin):
        with suppress(ProcessLookupError):  # it has ended, and the agent before it could say so
            os.killpg(group, signal.SIGKILL)
    for folder in sys.argv[1:]:
        shutil.rmtree(folder, ignore_errors=True)
