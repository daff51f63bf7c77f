"""The table of a device's memory that `memory_summary` returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tt.core.errors import format_bytes

__all__ = ["memory_table"]

BYTES: Final = {
    "allocated_bytes": "Allocated memory",
    "active_bytes": "Active memory",
    "requested_bytes": "Requested memory",
    "reserved_bytes": "Reserved memory",
}
COUNTS: Final = {"allocation": "Allocations", "active": "Active allocations", "segment": "Reserved segments"}
FAILURES: Final = {"num_ooms": "Out of memory", "num_alloc_retries": "Tried again after emptying the cache"}
PARTS: Final = ("current", "peak", "allocated", "freed")
HEADINGS: Final = ("", "now", "largest", "in all", "freed")


def memory_table(device: str, stats: Mapping[str, int], abbreviated: bool = False) -> str:
    """Return statistics under PyTorch's names as a table.

    Parameters
    ----------
    device : str
        Whose memory it is.
    stats : mapping
        What `memory_stats` returns.
    abbreviated : bool
        Leave out the counts.

    Examples
    --------
    >>> from tt.core.devices.memory_table import memory_table
    >>> print(memory_table("cuda:0", {"allocated_bytes.all.current": 2048}, abbreviated=True))
    memory of cuda:0
                       now        largest  in all   freed
    Allocated memory   2.00 KiB   0 bytes  0 bytes  0 bytes
    """
    rows: list[tuple[str, ...]] = [HEADINGS]
    for name, title in {**BYTES, **({} if abbreviated else COUNTS)}.items():
        if not any(key.startswith(f"{name}.all.") for key in stats):
            continue
        values = [int(stats.get(f"{name}.all.{part}", 0)) for part in PARTS]
        rows.append((title, *(format_bytes(v) if name in BYTES else str(v) for v in values)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    if len(rows) == 1:
        lines = ["  the device keeps no statistics, or was not used"]
    elif not abbreviated:
        lines += [f"{title}: {stats[name]}" for name, title in FAILURES.items() if name in stats]
    return "\n".join([f"memory of {device}", *lines])
