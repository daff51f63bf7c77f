"""Membership: how the agents of several machines agree on who takes part in a generation, and on its end."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from tt.distributed.errors import DistNetworkError, DistStoreError
from tt.distributed.run.options import Options
from tt.distributed.stores import PrefixStore, Store, TCPStore

__all__ = ["Generation", "Membership"]

# Note [Generations]
# ------------------
# All workers of a job start and end together: a generation.  Its keys begin with its number: "node/N" is what agent N
# says of itself, "world" what the coordinator (who has the server) makes of it, "end" why it ended, set once by who
# sees it first.  Each agent reads the same end and so draws the same conclusion: the next generation, or the job's end.
# Keys written by agents of lost machines do not matter, since a new generation has new keys.
BEAT: Final = 1.0
"""Seconds between signs of life."""


@dataclass(frozen=True, slots=True)
class Generation:
    """The world of one generation, as one of its agents sees it."""

    number: int
    restarts: int
    group_rank: int
    nodes: tuple[Mapping[str, Any], ...]

    @property
    def world_size(self) -> int:
        """How many workers there are."""
        return sum(node["nproc"] for node in self.nodes)

    @property
    def first_rank(self) -> int:
        """The rank of this agent's first worker."""
        return sum(node["nproc"] for node in self.nodes[: self.group_rank])

    def role_ranks(self, role: str) -> tuple[int, int]:
        """Return the rank of this agent's first worker among those of its role, and how many these are."""
        before = sum(node["nproc"] for node in self.nodes[: self.group_rank] if node["role"] == role)
        return before, sum(node["nproc"] for node in self.nodes if node["role"] == role)


class Membership:
    """The place of this machine among the agents of a job.

    Raises
    ------
    DistNetworkError
        The port cannot be had, or the coordinator cannot be reached.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        conf = options.conf
        self._join_timeout = float(conf.get("join_timeout", conf.get("timeout", 600)))
        self._last_call = float(conf.get("last_call_timeout", 30))
        self._keep_alive = float(conf.get("keep_alive", 15))
        self.host = options.local_addr or socket.gethostname()
        self.tcp, self.coordinates = self._meet()
        # Several jobs may use one server.
        self._store: Store = PrefixStore(f"agents/{options.run_id}", self.tcp)
        self._beats: dict[str, tuple[bytes, float]] = {}
        self._next_beat = 0.0
        self._index = -1

    def _meet(self) -> tuple[TCPStore, bool]:
        """Return the store, and whether this agent has the server."""
        options = self._options
        timeout = timedelta(seconds=self._join_timeout)
        serves = options.node_rank == 0 if options.backend == "static" else is_here(options.host)
        if serves:
            try:
                return TCPStore(options.host, options.port, is_master=True, timeout=timeout), True
            except DistNetworkError:
                if options.backend == "static" or options.port == 0:
                    raise  # elsewhere another agent of this machine was first
        return TCPStore(options.host, options.port, timeout=timeout), False

    # --- the beginning of a generation ----------------------------------------------------------------------------

    def join(self, number: int, restarts: int, expected: int) -> Generation:
        """Take part in a generation, and return its world.

        Parameters
        ----------
        number : int
            The generation; a later one where this agent is new and the others are already there.
        restarts : int
            How often workers have started again.
        expected : int
            How many agents the coordinator may expect to come at once.

        Raises
        ------
        DistStoreError
            Too few agents came in time, or two have the same --node-rank.
        """
        # A machine that comes late must not wait for a generation that has begun.
        if not self.coordinates and self._store.check(["current"]):
            number = max(number, int(self._store.get("current")))
        while True:
            part = self._part(number)
            own = self._enter(part)
            if self.coordinates:
                self._store.set("current", str(number))
                self._gather(part, restarts, expected)
            try:
                part.wait(["world"], timedelta(seconds=self._join_timeout))
            except DistStoreError:
                raise DistStoreError(self._missing(part)) from None
            world = json.loads(part.get("world"))
            if own in world["indices"]:
                nodes = tuple(
                    json.loads(value) for value in part.multi_get([f"node/{i}" for i in world["indices"]])
                )
                # The ranks of the agents have changed.
                self._beats.clear()
                return Generation(number, world["restarts"], world["indices"].index(own), nodes)
            number = self._stand_by(number)

    def _part(self, number: int) -> PrefixStore:
        return PrefixStore(str(number), self._store)

    def _enter(self, part: Store) -> int:
        """Say that this agent is here, and return its number."""
        options = self._options
        about = json.dumps(
            {"host": self.host, "pid": os.getpid(), "nproc": options.nproc, "role": options.role}
        )
        if options.backend == "static":
            self._index = options.node_rank
            # Two agents with one rank would give their workers the same ranks.
            if part.compare_set(f"node/{self._index}", "", about) != about.encode():
                raise DistStoreError(f"another agent has --node-rank {self._index} already")
        else:
            self._index = part.add("joined", 1) - 1
            part.set(f"node/{self._index}", about)
        return self._index

    def _gather(self, part: Store, restarts: int, expected: int) -> None:
        """Wait until enough agents are here, and say who takes part."""
        options = self._options
        deadline = time.monotonic() + self._join_timeout
        last_call: float | None = None
        while True:
            here = [i for i in range(self._arrived(part)) if part.check([f"node/{i}"])]
            now = time.monotonic()
            # Machines that start a little later still get in, up to the time of the last call.
            if len(here) >= options.min_nodes and last_call is None:
                last_call = now + self._last_call
            enough = len(here) >= min(options.max_nodes, max(expected, options.min_nodes))
            if enough or (last_call is not None and now >= last_call):
                break
            if now > deadline:
                raise DistStoreError(self._missing(part))
            time.sleep(0.05)
        here.sort(key=lambda index: index != self._index)  # the coordinator itself always takes part
        indices = here[: options.max_nodes]
        part.set("world", json.dumps({"indices": indices, "restarts": restarts}))

    def _arrived(self, part: Store) -> int:
        return self._options.max_nodes if self._options.backend == "static" else part.add("joined", 0)

    def _missing(self, part: Store) -> str:
        options = self._options
        here = [i for i in range(self._arrived(part)) if part.check([f"node/{i}"])]
        if options.backend == "static":
            absent = ", ".join(str(i) for i in range(options.max_nodes) if i not in here)
            who = f"node rank {absent} is missing"
        else:
            who = f"{len(here)} came"
        return (
            f"not all of {options.min_nodes} machines came to {options.host}:{self.tcp.port} within "
            f"{self._join_timeout:g} s: {who}"
        )

    def _stand_by(self, number: int) -> int:
        """Wait for the end of a generation that goes without this agent, and return the next."""
        self._part(number).add("waiting", 1)
        while True:
            end = self.end_of(number)
            if end is not None:
                if end.get("final"):
                    raise DistStoreError("the job ended before this machine could join it")
                return number + 1
            time.sleep(max(0.1, self._options.monitor_interval))

    # --- its end --------------------------------------------------------------------------------------------------

    def end_of(self, number: int) -> dict[str, Any] | None:
        """Return why a generation has ended; None: it has not."""
        part = self._part(number)
        if not part.check(["end"]):
            return None
        end: dict[str, Any] = json.loads(part.get("end"))
        return end

    def end(self, number: int, **facts: Any) -> dict[str, Any]:
        """Say why a generation ends, and return why it did: the first word counts."""
        # Several agents may see different causes; all must draw their conclusion from the same one.
        said = self._part(number).compare_set("end", "", json.dumps(facts))
        end: dict[str, Any] = json.loads(said)
        return end

    def done(self, generation: Generation) -> None:
        """Say that all workers of this machine have ended well."""
        part = self._part(generation.number)
        if part.add("done", 1) == len(generation.nodes):
            self.end(generation.number, kind="finished", final=True)

    def attend(self, generation: Generation) -> None:
        """Give a sign of life; the coordinator looks for those of the others, and for new machines."""
        now = time.monotonic()
        if now < self._next_beat:
            return
        self._next_beat = now + BEAT
        part = self._part(generation.number)
        # A count and not a time: the clocks of machines differ, and only the coordinator's measures.
        part.add(f"beat/{generation.group_rank}", 1)
        if not self.coordinates:
            return
        lost = []
        for rank in range(len(generation.nodes)):
            key = f"beat/{rank}"
            # Adding 0 reads a counter that may not be there yet.
            count = b"%d" % part.add(key, 0)
            if self._beats.get(key, (b"", 0.0))[0] != count:
                self._beats[key] = (count, now)
            elif now - self._beats[key][1] > self._keep_alive:
                lost.append(rank)
        if lost:
            hosts = ", ".join(generation.nodes[rank]["host"] for rank in lost)
            self.end(generation.number, kind="lost", nodes=lost, why=f"no sign of life from {hosts}")
        elif len(generation.nodes) < self._options.max_nodes and part.add("waiting", 0):
            self.end(generation.number, kind="grown", nodes=[], why="another machine has come")

    def leave(self, agents: int, patience: float = 10.0) -> None:
        """Say goodbye; the coordinator waits for the others, who still read from its server."""
        if self._store.add("bye", 1) < agents and self.coordinates:
            until = time.monotonic() + patience
            while self._store.add("bye", 0) < agents and time.monotonic() < until:
                time.sleep(0.02)


def is_here(host: str) -> bool:
    """Return whether a name is one of this machine's."""
    try:
        addresses = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except OSError:
        return False
    for family, kind, protocol, _, where in addresses:
        try:
            with socket.socket(family, kind, protocol) as probe:
                # The system lets a process bind only to addresses of its own machine.
                probe.bind(where)
                return True
        except OSError:
            continue
    return False
