"""Devices and their memory."""

from __future__ import annotations

from collections.abc import Sequence

from tt.core.errors.base import TTError


class DeviceError(TTError, RuntimeError):
    """A device that is not there, or a request that it cannot serve."""


class DeviceMismatchError(DeviceError):
    """Tensors of several devices in one call that permits one."""

    def __init__(self, op: str, found: Sequence[tuple[str, str]]) -> None:
        self.op, self.found = op, tuple(found)
        devices = list(dict.fromkeys(device for _, device in found))
        lines = [
            f"{op}(): the tensors of one call must lie on one device, but these lie on "
            + " and ".join(devices)
        ]
        lines += [f"  argument {name!r} is on {device}" for name, device in found]
        lines.append(f"  try: {found[-1][0]}.to({devices[0]!r})")
        super().__init__("\n".join(lines))


class NoDataError(DeviceError, NotImplementedError):
    """A copy of a meta tensor to a device with memory."""

    def __init__(self) -> None:
        super().__init__(
            "a meta tensor has no data to copy\n"
            "  try: tt.empty_like(x, device=...), or to_empty(device=...) of a module"
        )


class OutOfMemoryError(DeviceError, MemoryError):
    """A device that lacks the requested memory, even after all unused memory was freed."""

    def __init__(
        self,
        device: str,
        *,
        asked: int,
        allocated: int,
        reserved: int,
        free: int,
        total: int,
        limit: int | None = None,
    ) -> None:
        self.device, self.asked, self.allocated, self.reserved = device, asked, allocated, reserved
        self.free, self.total, self.limit = free, total, limit
        lines = [
            f"{device.partition(':')[0].upper()} out of memory: {device} has no {format_bytes(asked)} more",
            f"  allocated: {format_bytes(allocated)} in tensors",
            f"  reserved: {format_bytes(reserved)} by the pool",
            f"  free: {format_bytes(free)} of {format_bytes(total)} on the device",
        ]
        if limit is not None:
            lines.append(f"  limit: {format_bytes(limit)}, by set_per_process_memory_fraction")
        if allocated + asked <= reserved:
            lines.append("  the pool holds enough, in pieces that are too small")
        lines.append(
            "  try: smaller batches, del of tensors that are not needed, tt.no_grad() where gradients are not"
        )
        lines.append("  see: tt.cuda.memory_summary()")
        super().__init__("\n".join(lines))


class HostMemoryError(TTError, RuntimeError, MemoryError):
    """Missing memory of the host; `asked` is the size of the results in bytes, if known."""

    def __init__(self, op: str, asked: int | None, reason: str) -> None:
        self.op, self.asked, self.reason = op, asked, reason
        amount = f"a result of {format_bytes(asked)}" if asked else "its result and intermediates"
        super().__init__(f"{op}(): not enough memory for {amount}" + (f": {reason}" if reason else ""))


def format_bytes(count: int) -> str:
    """Return a number of bytes in the largest unit of which there is at least one.

    Examples
    --------
    >>> from tt.core.errors import format_bytes
    >>> format_bytes(512), format_bytes(3 * 2**20), format_bytes(5 * 2**29)
    ('512 bytes', '3.00 MiB', '2.50 GiB')
    """
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(count) >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} bytes"


class KeyBitsExhaustedError(TTError, RuntimeError):
    """More device types, layouts and layers than the 62 bits of a dispatch key."""

    def __init__(self, kind: str, name: str, holders: Sequence[str]) -> None:
        self.kind, self.name, self.holders = kind, name, tuple(holders)
        super().__init__(
            f"no dispatch key bit is left for the {kind} {name!r}: all {len(self.holders)} are taken\n"
            f"  taken by: {', '.join(self.holders)}\n"
            f"  try: disable plugins that are not needed (TT_DISABLE_PLUGINS)"
        )
