"""Recording what happens to CUDA memory, and pictures of it.  PyTorch's names; its viewer reads the snapshots too."""

from __future__ import annotations

import pickle
import sys
from html import escape
from pathlib import Path
from typing import Any
from zlib import crc32

from tt.backends.cuda.memory.memory_stats import History, Ledger
from tt.backends.cuda.runtime.interface import backend, place, warn_of_nothing_recorded
from tt.core.library import Device, errors

__all__ = ["_dump_snapshot", "_record_memory_history", "_snapshot", "memory_picture"]

Place = Device | str | int | None


def _ledgers() -> list[Ledger]:
    cuda = backend()
    # The allocator exists only after the library was loaded.
    cuda.library()
    allocator = cuda._allocator()
    if allocator is None:
        raise errors.DeviceError("the memory of this backend of CUDA keeps no account")
    return [allocator.ledgers[index] for index in range(cuda.device_count())]


def _record_memory_history(
    enabled: str | None = "all",
    context: str | None = "all",
    stacks: str = "python",
    max_entries: int = sys.maxsize,
    device: Place = None,
) -> None:
    """Record what happens to the memory of CUDA devices from now on, or stop recording.

    Parameters
    ----------
    enabled : str or None
        "all": events are recorded; "state": only where the blocks in use come from; None: nothing, and what was
        recorded is forgotten.
    context : str or None
        None: without the place in the program.
    stacks : str
        "python" or "all": both note Python's frames.
    max_entries : int
        How many of the latest events are kept.
    device : Device, str or int, optional
        By default all of them.

    Raises
    ------
    ValueRangeError
        For other words.
    """
    for name, value, words in (
        ("enabled", enabled, (None, "state", "all")),
        ("context", context, (None, "state", "alloc", "all")),
        ("stacks", stacks, ("python", "all")),
    ):
        if value not in words:
            raise errors.ValueRangeError(f"_record_memory_history(): {name} is one of {words}, not {value!r}")
    if max_entries < 1:
        raise errors.ValueRangeError(
            f"_record_memory_history(): max_entries is at least 1, not {max_entries}"
        )
    ledgers = _ledgers()
    chosen = ledgers if device is None else [ledgers[place(device).index or 0]]
    for ledger in chosen:
        # "state" wants no trace, but places are noted only while there is a history; so it has room for one
        # event.
        kept = 1 if enabled == "state" else max_entries
        ledger.history = None if enabled is None else History(kept, context is not None)


def _snapshot(device: Place = None) -> dict[str, Any]:
    """Return the segments of memory with their blocks, and the recorded events of each device.

    Parameters
    ----------
    device : Device, str or int, optional
        By default all of them; the others have no segments and no events.
    """
    ledgers = _ledgers()
    indices = range(len(ledgers)) if device is None else [place(device).index or 0]
    return {
        "segments": [segment for index in indices for segment in ledgers[index].snapshot(index)],
        "device_traces": [
            list(ledger.history.entries) if index in indices and ledger.history is not None else []
            for index, ledger in enumerate(ledgers)
        ],
        "allocator_settings": {},
    }


def _dump_snapshot(filename: str | Path = "dump_snapshot.pickle") -> None:
    """Write a snapshot to a file, which PyTorch's viewer of memory reads."""
    with open(filename, "wb") as file:
        pickle.dump(_snapshot(), file)


# --- a picture ---------------------------------------------------------------------------------------------------

_WIDTH, _HEIGHT, _LEFT, _TOP = 960, 420, 90, 40
_COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948", "#b07aa1", "#9c755f")


def memory_picture(snapshot: dict[str, Any] | None = None, device: Place = None) -> str:
    """Return a picture of a device's allocations over time, the text of an SVG.

    Each allocation is a bar from the event that made it to the event that freed it, as high as its size, on top of
    the earlier ones; the line above is the memory held by the pool.

    Parameters
    ----------
    snapshot : dict, optional
        What `_snapshot` returned, or the file of `_dump_snapshot` holds; by default how things are now.
    device : Device, str or int, optional
        By default the current one.

    Examples
    --------
    >>> from tt.backends.cuda.memory.memory_snapshot import memory_picture
    >>> event = {"addr": 0, "size": 512, "stream": 0, "time_us": 0, "frames": []}
    >>> memory_picture({"device_traces": [[{**event, "action": "alloc"}]]}, 0).startswith("<svg ")
    True
    """
    index = device if isinstance(device, int) else place(device).index or 0
    content = _snapshot() if snapshot is None else snapshot
    traces = content["device_traces"]
    events = traces[index] if index < len(traces) else []
    if not events:
        warn_of_nothing_recorded()
    return _drawn(f"cuda:{index}", *_bars(events), len(events))


Bar = tuple[int, int, int, int, str]
"""First and last event, lower edge and size in bytes, and a description."""


def _bars(events: list[dict[str, Any]]) -> tuple[list[Bar], list[tuple[int, int]], int]:
    """Return the bars, the pool's memory after each event that changed it, and the largest height."""
    bars: list[Bar] = []
    live: dict[int, tuple[int, int, str]] = {}
    order: list[int] = []
    since: dict[int, int] = {}
    held, reserved, highest = [(0, 0)], 0, 1

    def close(address: int, step: int) -> None:
        size, floor, what = live[address]
        # A block that moved in this very event has no width yet and needs no bar.
        if step > since[address]:
            bars.append((since[address], step, floor, size, what))
        since[address] = step

    for step, event in enumerate(events):
        action, address, size = event["action"], event["addr"], event["size"]
        if action == "alloc":
            floor = sum(live[known][0] for known in order)
            frames = event.get("frames") or [{}]
            where = frames[0].get("filename", ""), frames[0].get("line", "")
            live[address] = size, floor, f"{size} bytes at {address:#x} {where[0]}:{where[1]}".rstrip(" :")
            since[address] = step
            order.append(address)
            highest = max(highest, floor + size)
        # Events of blocks that were allocated before the recording began have no start, and are left out.
        elif action == "free_completed" and address in live:
            close(address, step)
            gone = live.pop(address)[0]
            place_of = order.index(address)
            order.remove(address)
            # Bars are stacked, so what lies above falls by the size, and begins a bar at its new height.
            for above in order[place_of:]:
                close(above, step)
                kept, floor, what = live[above]
                live[above] = kept, floor - gone, what
        elif action in ("segment_alloc", "segment_free"):
            reserved += size if action == "segment_alloc" else -size
            held.append((step, reserved))
            highest = max(highest, reserved)
    for address in order:
        close(address, len(events))
    return bars, held, highest


def _drawn(name: str, bars: list[Bar], held: list[tuple[int, int]], highest: int, steps: int) -> str:
    across, up = _WIDTH / max(steps, 1), _HEIGHT / highest
    bottom = _TOP + _HEIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 20}" height="{bottom + 50}" '
        'font-family="sans-serif" font-size="12">',
        f'<text x="{_LEFT}" y="24" font-size="15">Memory of {escape(name)}, by event</text>',
    ]
    for first, last, floor, size, what in bars:
        # crc32 and not hash(), which differs from process to process.
        colour = _COLOURS[crc32(what.encode()) % len(_COLOURS)]
        lines.append(
            f'<rect x="{_LEFT + first * across:.1f}" y="{bottom - (floor + size) * up:.1f}" '
            f'width="{(last - first) * across:.1f}" height="{size * up:.1f}" fill="{colour}">'
            f"<title>{escape(what)}</title></rect>"
        )
    points, level = [], 0
    for step, now in [*held, (steps, held[-1][1])]:
        x = _LEFT + step * across
        # Two points each, as the pool grows in steps.
        points += [f"{x:.1f},{bottom - level * up:.1f}", f"{x:.1f},{bottom - now * up:.1f}"]
        level = now
    lines.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="#333" stroke-dasharray="4 3"/>')
    for part in range(5):
        y, value = bottom - _HEIGHT * part / 4, highest * part // 4
        lines.append(
            f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{errors.format_bytes(value)}</text>'
        )
        lines.append(f'<line x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
    lines.append(
        f'<text x="{_LEFT}" y="{bottom + 24}">{steps} events; dashed: memory held by the pool</text>'
    )
    return "\n".join([*lines, "</svg>", ""])
