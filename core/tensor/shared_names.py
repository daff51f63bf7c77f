"""Names of shared memory: who needs a file, and removing those that only dead processes needed.

Note [Holders]
--------------
A file with a name begins with a page of numbers: how many messages on their way bring it, and for each mapping the
process that has it, with the time at which that process started, for numbers of processes are used again.  Who takes
the last of them away removes the name.

A process that is killed takes nothing away.  So whoever makes or receives memory, or ends, looks for names of which all
holders are dead, of its own family of processes; a pause that grows with the number of names keeps this cheap.  A
message counts until it is received, whoever has sent it: so a name stays if a process is killed that should have
received it, until Python's resource tracker removes the names of a family that has ended.
"""

from __future__ import annotations

import contextlib
import os
import struct
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Final

__all__ = [
    "HEADER",
    "add_message",
    "drop_holder",
    "format_header",
    "new_name",
    "remove",
    "remove_abandoned",
    "take_message",
    "tracker",
]

HEADER: Final = 4096
"""Bytes before the memory itself."""

_MOST_HOLDERS: Final = HEADER // 16 - 1
"""Mappings that are listed; others count as messages, and a kill leaves them."""

_FOLDER: Final = "/dev/shm"

if os.name == "posix":
    import _posixshmem  # Python's own, of multiprocessing.shared_memory
    import fcntl

Holder = tuple[int, int]


# --- processes -----------------------------------------------------------------------------------------------------


def _started(pid: int) -> int:
    """Return when a process started, in ticks; 0 for one that has ended, 1 where the system does not say when."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The program's name stands in parentheses and may contain anything,
            # so fields are counted from the last one.
            state, *more = file.read().rpartition(b")")[2].split()
    except FileNotFoundError:
        if os.path.isdir("/proc/self"):
            return 0
        with contextlib.suppress(PermissionError):
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                return 0
        return 1
    except ProcessLookupError:
        return 0
    # A zombie holds nothing any more.  The 22nd field is the time of the start.
    return 0 if state in (b"Z", b"X") else int(more[18])


class _Me:
    """The present process, remembered until a fork makes another of it."""

    holder: Holder = (-1, 0)


def _self() -> Holder:
    pid = os.getpid()
    # A fork copies what was remembered.
    if _Me.holder[0] != pid:
        _Me.holder = pid, _started(pid)
    return _Me.holder


def tracker() -> ModuleType:
    """Return what removes the files of processes that were killed."""
    from multiprocessing import resource_tracker  # start-up: it brings sockets, and few processes name memory

    return resource_tracker


def _family() -> str:
    """Return what this process and its children have in common: the pipe to their tracker."""
    fd = tracker().getfd()  # starts it
    return "" if fd is None else f"{os.fstat(fd).st_ino:x}"


def new_name() -> str:
    """Return a new name, which says from which process and family it is."""
    family = (
        f"{_family()}_" if os.path.isdir(_FOLDER) else ""
    )  # elsewhere names are short and cannot be listed
    return f"/tt_{os.getpid()}_{family}{os.urandom(8).hex()}"


# --- the page of numbers -------------------------------------------------------------------------------------------


def format_header() -> bytes:
    """Return the first page of new memory, which this process has."""
    return _packed(0, [_self()])


def _packed(messages: int, holders: list[Holder]) -> bytes:
    numbers = [number for holder in holders for number in holder]
    # "=": no padding, and the same in every process of the machine.
    return struct.pack(f"=QQ{len(numbers)}Q", messages, len(holders), *numbers)


def _read(fd: int) -> tuple[int, list[Holder]]:
    page = os.pread(fd, HEADER, 0)
    messages, count = struct.unpack_from("=QQ", page)
    numbers = struct.unpack_from(f"={2 * count}Q", page, 16)
    return messages, list(zip(numbers[::2], numbers[1::2], strict=True))


@contextlib.contextmanager
def _opened(name: str) -> Iterator[int]:
    """Open a file and lock it against other processes and threads."""
    fd = _posixshmem.shm_open(name, os.O_RDWR, mode=0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)  # gone with the descriptor, also of a process that is killed
        if not os.fstat(fd).st_nlink:
            raise FileNotFoundError(name)  # removed in the meantime
        yield fd
    finally:
        os.close(fd)


def _change(name: str, messages: int, *, add: bool = False, drop: bool = False) -> bool:
    """Change the numbers of a file, and remove it if nothing needs it; False if it is gone."""
    try:
        with _opened(name) as fd:
            count, holders = _read(fd)
            count = max(count + messages, 0)
            me = _self()
            if add and len(holders) < _MOST_HOLDERS:
                holders.append(me)
            # The list is full: this process counts like a message that never arrives, so that the name stays.
            elif add:
                count += 1
            if drop and me in holders:
                holders.remove(me)
            elif drop:
                count = max(count - 1, 0)
            # While messages are under way the name stays whoever lives.
            if not count:
                # Processes that were killed have not taken themselves off the list.
                holders = _living(holders, {me: True})
            if count or holders:
                os.pwrite(fd, _packed(count, holders), 0)
            else:
                remove(name)
            return bool(count or holders)
    except FileNotFoundError:
        return False


def add_message(name: str, *, hold: bool = False) -> bool:
    """Count a message that brings a name to another process; False if the name is gone.

    With `hold` this process has the memory from a fork, and is listed from now on.
    """
    return _change(name, 1, add=hold)


def take_message(name: str, *, hold: bool) -> None:
    """Note that a message has come; with `hold`, that this process has a mapping for it."""
    _change(name, -1, add=hold)


def drop_holder(name: str) -> None:
    """Note that this process has given a mapping up."""
    _change(name, 0, drop=True)


def remove(name: str) -> None:
    """Remove a name, unless it is gone."""
    kept = tracker()  # first: late in the end of the process there is none
    with contextlib.suppress(FileNotFoundError):
        _posixshmem.shm_unlink(name)
        kept.unregister(name, "shared_memory")


# --- names of dead processes ---------------------------------------------------------------------------------------

_PAUSE: Final = 1.0
"""Seconds between two looks at all names."""

_SHARE: Final = 20
"""How much longer than a look the pause after it is at least."""


class _Next:
    """When the names are looked at again."""

    look = 0.0


def _living(holders: list[Holder], known: dict[Holder, bool]) -> list[Holder]:
    for holder in holders:
        if holder not in known:
            known[holder] = _started(holder[0]) == holder[1]
    return [holder for holder in holders if known[holder]]


def remove_abandoned(*, now: bool = False) -> None:
    """Remove names of this family that only dead processes needed; `now` does not wait for the end of a pause."""
    begin = time.monotonic()
    if not now and begin < _Next.look:
        return
    _Next.look = begin + _PAUSE
    mark = f"_{_family()}_"
    known: dict[Holder, bool] = {}
    with contextlib.suppress(FileNotFoundError):  # of a system without the folder
        for name in os.listdir(_FOLDER):
            if name.startswith("tt_") and mark in name:
                _remove_if_abandoned(f"/{name}", known)
    end = time.monotonic()
    _Next.look = max(_Next.look, end + _SHARE * (end - begin))


def _remove_if_abandoned(name: str, known: dict[Holder, bool]) -> None:
    try:
        # Read without the lock first: where it is taken, this process has no mapping whose end would wait for it.
        fd = _posixshmem.shm_open(name, os.O_RDWR, mode=0o600)
        try:
            abandoned = _is_abandoned(name, fd, known)
        finally:
            os.close(fd)
        if abandoned:
            with _opened(name) as fd:
                if _is_abandoned(name, fd, known):
                    remove(name)
    except FileNotFoundError:
        return  # another process was faster


def _is_abandoned(name: str, fd: int, known: dict[Holder, bool]) -> bool:
    try:
        messages, holders = _read(fd)
    except struct.error:
        messages, holders = 0, []
    if not messages and not holders:  # its maker is at work, or was killed at it
        return not _started(int(name.split("_")[1]))
    return not messages and not _living(holders, known)
