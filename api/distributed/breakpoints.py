"""A breakpoint on one rank, for which the others wait."""

from __future__ import annotations

import logging
import pdb
import sys
from datetime import timedelta
from typing import Final

from tt.distributed.collectives import barrier
from tt.distributed.ranks import get_rank
from tt.distributed.world import current_world

__all__ = ["breakpoint"]

_log: Final = logging.getLogger(__name__)
_calls: dict[tuple[str, int], int] = {}
"""File and line of a breakpoint -> how often it was reached."""


def breakpoint(rank: int = 0, skip: int = 0, timeout_s: float | None = 3600) -> None:
    """Stop one rank in the debugger, and let the others wait until it goes on.

    All ranks call it.  The debugger reads from standard input, so the rank needs a terminal.

    Parameters
    ----------
    rank : int
        The rank that stops.
    skip : int
        How many calls at this place are passed over first.
    timeout_s : float, optional
        The new timeout of all groups, in seconds, so that the wait does not end the job; None leaves it as it is.
    """
    frame = sys._getframe(1)
    if skip > 0:
        caller = (frame.f_code.co_filename, frame.f_lineno)
        key = (f"{caller[0]}:{caller[1]}", get_rank())
        _calls[key] = _calls.get(key, 0) + 1
        if _calls[key] <= skip:
            _log.warning("Skip the breakpoint, counter=%d", _calls[key])
            return
    if timeout_s is not None:
        # A person at the debugger is slower than the timeout of the ranks that wait.
        for group in current_world().groups.values():
            group.timeout = timedelta(seconds=timeout_s)
    if get_rank() == rank:
        # Pdb's own handler for Ctrl-C can be set in the main thread only, and ranks may be threads.
        pdb.Pdb(nosigint=True).set_trace(frame)
    barrier()
