"""What travels between a TCPStore and its server: a greeting, then messages of sized fields."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum

__all__ = [
    "FIELDS",
    "GREETING",
    "LIMIT",
    "FrameError",
    "Op",
    "Status",
    "foreign",
    "pack",
    "size_of",
    "unpack",
]

# Note [The protocol of TCPStore]
# -------------------------------
# Both sides begin with GREETING, whose last byte is the version.  Then the client sends one request at a time and reads
# its answer.  A message is its size (4 bytes, big-endian), a byte that says what it is, and fields, each with its
# size in front.  Nothing is unpickled, numbers are decimal text, and sizes are checked before memory is taken.
# PyTorch's protocol begins with other bytes, so either side recognises the other's at once.
GREETING = b"ttstore\x01"
LIMIT = 64 << 20
"""The most bytes of a message."""
FIELDS = 1 << 18
"""The most fields of a request: a key that is waited for takes many times the memory of its bytes in a message."""
SIZE = struct.Struct(">I")


class Op(IntEnum):
    """The requests of a client."""

    SET = 1
    GET = 2
    ADD = 3
    CHECK = 4
    COMPARE_SET = 5
    DELETE = 6
    NUM_KEYS = 7
    WAIT = 8
    APPEND = 9
    MULTI_SET = 10
    PUSH = 11
    POP = 12
    QUEUE_LEN = 13
    LIST = 14
    JOIN = 15
    JOINED = 16
    WILL = 17


class Status(IntEnum):
    """How a request ended."""

    OK = 0
    TIMEOUT = 1
    WRONG_VALUE = 2
    REFUSED = 3


class FrameError(ValueError):
    """A message that is not one of this protocol."""


def pack(kind: int, *fields: bytes) -> bytes:
    """Return a message."""
    parts = [bytes([kind])]
    for field in fields:
        parts += (SIZE.pack(len(field)), field)
    body = b"".join(parts)
    if len(body) > LIMIT:
        raise ValueError(
            f"a message of {len(body):,} bytes is too large for a TCPStore, the limit is {LIMIT:,}"
        )
    return SIZE.pack(len(body)) + body


def size_of(head: bytes | bytearray) -> int:
    """Return the size that a message announces; raise FrameError for a wrong one."""
    (size,) = SIZE.unpack_from(head)
    if not 0 < size <= LIMIT:
        raise FrameError(f"a message announces {size:,} bytes, the limit is {LIMIT:,}")
    return int(size)


def unpack(body: bytes, most: int | None = None) -> tuple[int, Sequence[bytes]]:
    """Return the kind of a message and its fields; raise FrameError where sizes do not fit, or for too many fields."""
    fields: list[bytes] = []
    at = 1
    while at < len(body):
        if at + SIZE.size > len(body):
            raise FrameError("a message ends within the size of a field")
        (size,) = SIZE.unpack_from(body, at)
        at += SIZE.size
        if at + size > len(body):
            raise FrameError("a field is larger than its message")
        if len(fields) == most:
            raise FrameError(f"a message has more than {most:,} fields")
        fields.append(body[at : at + size])
        at += size
    return body[0], fields


def foreign(greeting: bytes) -> str:
    """Return why another side's greeting is not this protocol's."""
    if greeting[:-1] == GREETING[:-1]:
        return f"it has version {greeting[-1]} of the protocol, this tt has version {GREETING[-1]}; use the same tt"
    return "it is not a TCPStore of tt.distributed (PyTorch's has another protocol)"
