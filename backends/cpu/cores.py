"""How many threads kernels use at first: OMP_NUM_THREADS, or the cores that this process may use.

A process may use the processors of its affinity (`taskset`, `cpuset`), for as much time as its control groups allow
(`docker run --cpus=2`, Kubernetes, systemd's `CPUQuota`).  Such a quota is processor time in each period, used up by
threads on any processors: with more threads than it pays for, all of them stop until the next period.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final

__all__ = ["default_threads", "group_limit", "usable_cores"]

OWN_GROUPS: Final = "/proc/self/cgroup"
GROUPS: Final = "/sys/fs/cgroup"


def default_threads() -> int:
    """Return OMP_NUM_THREADS, whose first number counts if there are several, else how many cores are usable."""
    setting = os.environ.get("OMP_NUM_THREADS")
    # The variable may list a number for each level of nesting; kernels do not nest.
    asked = re.match(r"\s*(\d{1,9})", setting) if setting else None
    return (int(asked[1]) if asked else 0) or usable_cores()


def usable_cores() -> int:
    """Return how many cores this process may use, by its affinity and by its control groups; at least 1."""
    # Not the count of the machine: taskset and batch systems grant a part of its cores.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = group_limit()
    return cores if limit is None else max(1, min(cores, limit))


def group_limit(own: str = OWN_GROUPS, groups: str = GROUPS) -> int | None:
    """Return the processors that the time of this process's control groups pays for, rounded up.

    Parameters
    ----------
    own : str
        The file that lists the groups of this process.
    groups : str
        Where the groups are mounted.

    Returns
    -------
    int or None
        The lowest limit of the groups and of those above them; None if none is limited, as on other systems.

    Examples
    --------
    >>> from tt.backends.cpu.cores import group_limit
    >>> group_limit("/no/such/file") is None
    True
    """
    limits = [limit for folder in _folders(own, groups) if (limit := _limit_of(folder)) is not None]
    return min(limits, default=None)


def _folders(own: str, groups: str) -> Iterator[str]:
    """Yield where the limits of a process can be: of each of its groups, and of every group above.

    In a container the path of a group may be that of the host, of which only the last part is mounted, at the root.
    """
    for line in _read(own).splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:  # version 2, alone or next to version 1
            roots = (groups, f"{groups}/unified")
        elif "cpu" in controllers.split(","):
            roots = (f"{groups}/{controllers}", f"{groups}/cpu")
        else:
            continue
        for root in dict.fromkeys(roots):
            parts = [part for part in path.split("/") if part]
            # A group is bound by the limits of all groups above it, and inside a container its own folder
            # may be missing.
            for count in range(len(parts), -1, -1):
                yield "/".join((root, *parts[:count]))


def _limit_of(folder: str) -> int | None:
    """Return the processors that a group pays for; None if it has no limit."""
    quota, _, period = _read(f"{folder}/cpu.max").partition(" ")
    if not period:
        quota, period = _read(f"{folder}/cpu.cfs_quota_us"), _read(f"{folder}/cpu.cfs_period_us")
    try:
        time, every = int(quota), int(period)
    except ValueError:  # "max", or no such files
        return None
    # Rounded up: of one and a half cores a second thread still gets half of one.
    return -(-time // every) if time > 0 and every > 0 else None


def _read(path: str) -> str:
    """Return a file's text; empty if it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
