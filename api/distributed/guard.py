"""The guard: ranks agree on every collective before it starts, and say what each was doing when something goes wrong.

Note [The guard]
----------------
Each rank sends a record of 48 bytes with `Backend.exchange`: the number of the collective, its name, dtype, number of
elements, root, reduction, a checksum of whatever else must agree, and whether the rank's tensor cannot be written.  If
all records agree, the collective starts.  Otherwise every rank has the same records and raises CollectiveMismatchError,
or InplaceError; nothing else was sent, so the group stays usable.  Shapes and places in the program are too long for a
record: ranks post them in the store, only then.

A rank that waits too long posts its current operation and a mark in the store. The others look for the mark while
they wait, post their own operations, and fail as well; a rank that posts nothing is reported as silent. A rank that
leaves (its program ends, or it destroys its groups) says so in the store, with the number of its last collective in
each group; whoever waits for a later one fails at once. After a timeout the group is unusable: a message that is late
would be taken for a later one.
"""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Generator
from typing import Any, Final

from tt.distributed.backend import ANY_RANK, Backend, Pending
from tt.distributed.call import Call
from tt.distributed.carried import Carried
from tt.distributed.errors import (
    CollectiveMismatchError,
    DistBackendError,
    DistError,
    DistNetworkError,
    DistTimeoutError,
    RankReport,
)
from tt.distributed.progress import Expired
from tt.distributed.reduce_op import ReduceOp
from tt.distributed.stores.store import Store
from tt.errors import InplaceError, ReadOnlyError

__all__ = ["Guard", "Left", "Trouble", "leave", "leave_behind", "reason_of"]

_RECORD: Final = struct.Struct("<QqIIiiIIq")
"""Sequence number, elements, name, dtype, root, reduction, checksum, refusal, and eight bytes for later."""
_REFUSAL: Final = 7
_REFUSALS: Final = ("", "memory that is read-only", "memory in which several elements have one place")
_REPORTS_WITHIN: Final = 1.5  # seconds for which ranks wait for the reports of others
_PROMPTLY: Final = 1.0  # seconds for an answer of the store to what does not wait, before it counts as gone

_LATE: Final = 0.4  # seconds since the last agreement after which a rank may be one that others have given up

_LONGEST_REASON: Final = 300
_WITHOUT_A_WORD: Final = "ended without a word"
_CONSEQUENCES: Final = tuple(
    f"raised {each.__name__}" for each in (DistTimeoutError, CollectiveMismatchError, DistBackendError)
)
"""Why a rank leaves that has failed because of others: where it was says more."""

_NAMES: Final = (
    "all_reduce", "reduce", "broadcast", "all_gather", "all_gather_into_tensor", "all_gather_object", "gather",
    "gather_object", "scatter", "scatter_object_list", "reduce_scatter", "reduce_scatter_tensor", "all_to_all",
    "all_to_all_single", "broadcast_object_list", "barrier", "monitored_barrier", "all_reduce_coalesced",
    "all_gather_coalesced", "new_group", "split_group", "_coalescing_manager",
)  # fmt: skip
_DTYPES: Final = (
    "", "float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
    "uint64", "bool", "bool_", "complex32", "complex64", "complex128", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
)  # fmt: skip
_VERBS: Final = ("raised", "ended", "called")
"""How the reason begins for which a rank has left."""
_STATES: Final = ("silent", "elsewhere")
_NUMBER_OF: Final = {name: number for number, name in enumerate(_NAMES)}
_NUMBER_OF_DTYPE: Final = {name: number for number, name in enumerate(_DTYPES)}


class Trouble(Exception):  # noqa: N818 - thrown into an operation, which reports its own error
    """Another rank of the group has failed."""


class Left(Exception):  # noqa: N818 - as Trouble
    """A rank has left that this operation needs."""

    def __init__(self, rank: int, reason: str) -> None:
        super().__init__(rank, reason)
        self.rank, self.reason = rank, reason


class _Posted:
    """Waits until all keys are in the store, for some seconds at most."""

    source = None

    def __init__(self, store: Store, keys: list[str]) -> None:
        self._store, self._keys = store, keys
        self._until = time.monotonic() + _REPORTS_WITHIN

    def test(self) -> bool:
        with self._store.promptly(_PROMPTLY):
            # The time first: a store that is gone takes a second for each look.
            return time.monotonic() > self._until or self._store.check(self._keys)

    def cancel(self) -> None:
        pass


def leave(store: Store, rank: int, reason: str, sequences: dict[str, int]) -> None:
    """Say in the job's store that a rank ends; its first reason stays.  A store that is gone is ignored."""
    first = reason.partition("\n")[0]
    reason = first if len(first) <= _LONGEST_REASON else f"{first[:_LONGEST_REASON]}..."
    try:
        with store.promptly(_PROMPTLY):
            # The record before the mark that lets others look for it.
            store.compare_set(f"left/{rank}", b"", json.dumps({"reason": reason, "sequences": sequences}))
            store.set("left", b"1")
    except (DistError, OSError):
        pass


def leave_behind(store: Store, rank: int) -> None:
    """Let the store say that a rank has ended where the rank itself cannot: it was killed, or is cut off."""
    reason = f"{_WITHOUT_A_WORD}: it was killed, or has lost its connection to the store"
    store.leave_behind({f"left/{rank}": json.dumps({"reason": reason, "sequences": {}}), "left": b"1"})


def reason_of(error: BaseException) -> str:
    """Return why a rank ends that raised an error; errors of other ranks are not told again."""
    name = type(error).__name__
    return f"raised {name}" if isinstance(error, DistError) else f"raised {name}: {error}"


class Guard:
    """The agreement of the ranks of one group.

    Parameters
    ----------
    name : str
        The group's name.
    rank, ranks : int, list of int
        This rank in the group, and the group's ranks in the job.
    store, job : Store
        The group's store, and that of the whole job.
    enabled : bool
        Whether collectives are compared before they start.
    """

    def __init__(
        self, name: str, rank: int, ranks: list[int], store: Store, job: Store, enabled: bool
    ) -> None:
        self.name, self.rank, self.ranks = name, rank, ranks
        self.store, self.job = store, job
        self.enabled = enabled and len(ranks) > 1
        self.sequence = 0  # of the last collective that this rank has called
        self.ended = 0  # of the last one that has ended
        self._agreed = time.monotonic()

    # --- before a collective ---------------------------------------------------------------------------------------

    def agree(
        self, engine: Backend, call: Call, carried: Carried | None = None
    ) -> Generator[Pending, None, None]:
        """Compare a collective with those of the other ranks; combine the tensor that records carry."""
        own = _packed(call)
        refused, call.refused = call.refused, None
        length = _RECORD.size + engine.room
        size = len(self.ranks)
        # All records have one length, whatever the ranks call.
        record = (own if carried is None else own + carried.data()).ljust(length, b"\0")
        records = bytearray(length * size)
        yield engine.exchange(record, records)
        differs = refused is not None
        # Bytes are compared unread: records are taken apart only when they differ.
        for at in range(0, length * size, length):
            differs = differs or not records.startswith(own, at)
        if differs:
            rows = [_RECORD.unpack_from(records, at) for at in range(0, length * size, length)]
            # All but the refusals agree: the collective is the same, and some rank cannot write its
            # tensor.
            if len({(*row[:_REFUSAL], *row[_REFUSAL + 1 :]) for row in rows}) == 1:
                raise refused or _refused_by(call, [row[_REFUSAL] for row in rows])
            yield from self._mismatch(call, rows)
        now = time.monotonic()
        if now - self._agreed > _LATE and (trouble := self.watch(call)) is not None:
            raise trouble  # the others gave up before this rank came, and their messages were still there
        self._agreed = now
        if carried is not None:
            carried.combine(records, size, _RECORD.size)

    def sizes(
        self, engine: Backend, call: Call, sent: list[int], received: list[int]
    ) -> Generator[Pending, None, None]:
        """Compare what each rank sends to each other (in elements) with what that one receives."""
        if not self.enabled:
            return
        size = len(self.ranks)
        own = struct.pack(f"<{2 * size}q", *sent, *received)
        records = bytearray(len(own) * size)
        yield engine.exchange(own, records)
        # Each rank has the whole table, so all of them find the same faults, and raise.
        rows = [struct.unpack_from(f"<{2 * size}q", records, i * len(own)) for i in range(size)]
        wrong = [
            f"rank {i} sends {rows[i][j]} elements to rank {j}, which receives {rows[j][size + i]}"
            for i in range(size)
            for j in range(size)
            if rows[i][j] != rows[j][size + i]
        ]
        if wrong:
            reports = yield from self._reports(f"mismatch/{call.sequence}", call)
            raise CollectiveMismatchError(
                f"the sizes of {call.name} #{call.sequence} in group {self.name} do not fit together:"
                f" {'; '.join(wrong[:8])}{'; ...' if len(wrong) > 8 else ''} ({_summary(tuple(reports))})",
                tuple(reports),
            )

    def _mismatch(self, call: Call, rows: list[tuple[Any, ...]]) -> Generator[Pending, None, None]:
        number = call.sequence or 0
        reports = yield from self._reports(f"mismatch/{number}", call)
        # A rank that has posted nothing in time is described by its record.
        differing = tuple(
            report if report.sequence is not None else RankReport(rank, rows[rank][0], _described(rows[rank]))
            for rank, report in enumerate(reports)
        )
        raise CollectiveMismatchError(
            f"the ranks of group {self.name} called different collectives, or tensors that do not fit together:"
            f" {_summary(differing)}{_differences(rows)}",
            differing,
        )

    # --- when something goes wrong ----------------------------------------------------------------------------------

    def watch(self, call: Call) -> BaseException | None:
        """Look in the store whether another rank has failed or left; called from time to time by what waits."""
        try:
            with self.job.promptly(_PROMPTLY):
                # The key is of this group; "asked" and "left" are of the whole job.
                if self.store.check(["trouble"]):
                    return Trouble()
                if self.job.check(
                    ["asked"]
                ):  # a rank has failed in some group, and says where the others are
                    self._say_where(call)
                if self.job.check(["left"]):
                    return self._who_left(call)
        except (DistError, OSError):
            pass  # the store's server may end before the last operation does, which the engine reports if it matters
        return None

    def _who_left(self, call: Call, lost: int | None = None) -> BaseException | None:
        """Return a rank that has left without which the operation cannot end.

        One that was killed comes first, then the one whose connection was lost, then those that have not left because
        of others.
        """
        gone = []
        others = [rank for rank in range(len(self.ranks)) if rank != self.rank]
        # A message needs its peer alone, a collective all others.
        needed = others if call.peer in (None, ANY_RANK) else [call.peer]
        for rank in needed:
            key = f"left/{self.ranks[rank]}"
            if self.job.check([key]):
                record = json.loads(self.job.get(key))
                # Who has left after this collective has done its part in it.
                if call.sequence is None or record["sequences"].get(self.name, 0) < call.sequence:
                    gone.append(Left(self.ranks[rank], record["reason"]))
        # A receive from any rank can end for as long as one of them is there.
        if not gone or (call.peer == ANY_RANK and len(gone) < len(others)):
            return None
        # The one that was killed is the cause; others may have left because of it.
        own = None if lost is None else self.ranks[lost]
        return min(
            gone,
            key=lambda left: (
                not left.reason.startswith(_WITHOUT_A_WORD), left.rank != own, left.reason in _CONSEQUENCES
            ),
        )  # fmt: skip

    def failed(self, call: Call, cause: BaseException, seconds: float) -> Generator[Pending, None, DistError]:
        """Return the error of an operation that has expired, or whose peer has failed, with what each rank does."""
        try:
            with self.job.promptly(_PROMPTLY):
                self._say_where(call)
                # Before "trouble": ranks that are in other groups post where they are while this one
                # waits for the reports.
                self.job.set("asked", b"1")
                if isinstance(cause, Trouble):  # it may have failed because of a rank that left
                    cause = self._who_left(call) or cause
                self.store.set("trouble", b"1")
            reports = tuple((yield from self._reports("stopped", call)))
        except (DistError, OSError) as error:
            return DistTimeoutError(
                f"{call} did not end within {seconds:g} s, and the store is gone: {error}"
            )
        where = _summary(reports)
        if isinstance(cause, Left):
            return DistTimeoutError(
                f"{_numbered(call)} cannot end: rank {cause.rank} {cause.reason}; {where}", reports
            )
        if isinstance(cause, Trouble):
            return DistTimeoutError(
                f"{_numbered(call)} of group {self.name} was given up because another rank did not come: {where}",
                reports,
            )
        return DistTimeoutError(
            f"{_numbered(call)} of group {self.name} did not end within {seconds:g} s: {where}", reports
        )

    def _say_where(self, call: Call) -> None:
        location = f" in {call.place}" if call.place else ""
        self.job.set(f"at/{self.ranks[self.rank]}", f"{_numbered(call)} of group {self.name}{location}")

    def broken(self, call: Call, error: BaseException) -> Generator[Pending, None, DistError | None]:
        """Tell the others that this rank's engine has failed, so that they do not wait until the timeout.

        Where it failed because a rank has left, return that as an error; the store may learn of a killed one a little
        later.
        """
        try:
            what = f"{call} (failed: {str(error).partition(chr(10))[0]})"
            with self.store.promptly(_PROMPTLY):
                self.store.set("trouble", b"1")
            reports = tuple((yield from self._reports("stopped", call, what)))
            with self.job.promptly(_PROMPTLY):
                cause = self._who_left(call, getattr(error, "rank", None))
        except (DistError, OSError):
            return None  # the engine's own error is the one to report
        if not isinstance(cause, Left):
            return None
        lost = isinstance(error, DistNetworkError) and cause.reason not in _CONSEQUENCES
        if not lost and not cause.reason.startswith(_WITHOUT_A_WORD):
            return None  # who left in good order may have left because of the same failure
        return DistTimeoutError(
            f"{_numbered(call)} cannot end: rank {cause.rank} {cause.reason}; {_summary(reports)}", reports
        )

    def _reports(
        self, key: str, call: Call, what: str | None = None
    ) -> Generator[Pending, None, list[RankReport]]:
        """Post what this rank is at, wait a little for the others, and return what all of them have posted."""
        keys = [f"{key}/{rank}" for rank in range(len(self.ranks))]
        with self.store.promptly(_PROMPTLY):
            self.store.set(keys[self.rank], json.dumps([call.sequence or 0, what or str(call), call.place]))
        posting = _Posted(self.store, keys)
        while True:
            try:
                yield posting
                break
            except (Expired, Trouble, Left):  # thrown once: the report says more
                continue
        reports = []
        for rank, posted in enumerate(keys):
            # A `get` would wait for a rank that posts nothing.
            if self.store.check([posted]):
                sequence, operation, location = json.loads(self.store.get(posted))
                reports.append(RankReport(rank, sequence, operation, location))
            else:
                reports.append(RankReport(rank, None, self._silent(rank)))
        return reports

    def _silent(self, rank: int) -> str:
        left, at = f"left/{self.ranks[rank]}", f"at/{self.ranks[rank]}"
        reason = str(json.loads(self.job.get(left))["reason"]) if self.job.check([left]) else ""
        if self.job.check([at]) and reason in ("", *_CONSEQUENCES):
            return f"elsewhere: last seen at {self.job.get(at).decode()}"
        if reason:
            return reason
        return "silent (in no operation of this group, stopped or dead)"


def _packed(call: Call) -> bytes:
    reduction = -1 if call.op is None else call.op.kind._value_
    return _RECORD.pack(
        call.sequence or 0, call.count, _NUMBER_OF[call.name], _NUMBER_OF_DTYPE[call.dtype], call.root, reduction,
        call.agree, 0 if call.refused is None else 1 if isinstance(call.refused, ReadOnlyError) else 2, 0,
    )  # fmt: skip


def _refused_by(call: Call, reasons: list[int]) -> InplaceError:
    """Return why a collective is refused whose tensor some other ranks cannot write."""
    named = [f"rank {rank} into {_REFUSALS[reason]}" for rank, reason in enumerate(reasons) if reason]
    return InplaceError(
        f"{_numbered(call)} is refused on all ranks, because some would write into memory that cannot be written:"
        f" {', '.join(named)}\n  try: clone() the tensor there first"
    )


def _described(row: tuple[Any, ...]) -> str:
    """Describe a record whose rank has posted no description."""
    dtype, reduction = _DTYPES[row[3]], row[5]
    text = _NAMES[row[2]]
    if reduction not in (-1, ReduceOp.SUM.value):
        text += f" ({ReduceOp.RedOpType(reduction).name})"
    return f"{text} of {dtype}, {row[1]} elements" if dtype else text


def _differences(rows: list[tuple[Any, ...]]) -> str:
    """Return what else differs that descriptions do not show."""
    names = {4: "roots", 6: "lists of ranks, sizes or dtypes"}
    differing = [name for column, name in names.items() if len({row[column] for row in rows}) > 1]
    roots = f" ({', '.join(str(row[4]) for row in rows)})" if "roots" in differing else ""
    return f"; their {' and '.join(differing)} differ{roots}" if differing else ""


def _numbered(call: Call) -> str:
    return f"{call} #{call.sequence}" if call.sequence else str(call)


def _summary(reports: tuple[RankReport, ...]) -> str:
    """Return where all ranks are, those at the same place together, the fewest first."""
    groups: dict[str, list[int]] = {}
    for report in reports:
        number = f" #{report.sequence}" if report.sequence else ""
        location = f" in {report.place}" if report.place else ""
        groups.setdefault(f"{report.operation}{number}{location}", []).append(report.rank)
    # The rank that does something else is most likely the cause, so it comes first.
    ordered = sorted(groups.items(), key=lambda item: (len(item[1]), item[1]))
    parts = []
    for what, ranks in ordered:
        rest = ranks is ordered[-1][1] and len(ordered) == 2 and len(ranks) > max(1, len(ordered[0][1]))
        who = "the others" if rest else f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {_listed(ranks)}"
        verb = "" if what.startswith(_VERBS) else "is " if len(ranks) == 1 else "are "
        parts.append(f"{who} {verb}{'' if verb == '' or what.startswith(_STATES) else 'at '}{what}")
    return ", ".join(parts)


def _listed(ranks: list[int]) -> str:
    return f"{', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"
