"""PMI: what an MPI library asks its launcher, answered here from a store, so that MPI starts without mpiexec."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from datetime import timedelta
from threading import Thread

from tt.distributed.errors import DistError
from tt.distributed.stores import Store

__all__ = ["PMIServer"]

_LIMITS = "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024"
_VARIABLES = ("PMI_FD", "PMI_RANK", "PMI_SIZE")


class PMIServer:
    """Answers the MPI library of this process over a socket pair, in a thread; the answers lie in a store.

    Version 1 of the protocol is lines of ``key=value`` words: the library puts its addresses, waits at a barrier and
    gets those of the others ("PMI: A Scalable Parallel Process-Management Interface for Extreme-Scale Systems",
    Balaji et al., 2010).  MPICH and its derivatives (Intel MPI, MVAPICH) speak it.

    Parameters
    ----------
    store : Store
        Seen by all ranks, and used by nothing else.
    rank, size : int
        This process, and how many there are.
    name : str
        Of this world; no other that lives on this machine may have it, since shared memory is named after it.
    timeout : timedelta
        How long the library's barrier waits.

    Notes
    -----
    MPI starts in the body of its `with` statement, by a call that does not hold the interpreter's lock, or nobody
    answers.
    """

    def __init__(self, store: Store, rank: int, size: int, name: str, timeout: timedelta) -> None:
        self._store, self._rank, self._size, self._name, self._timeout = store, rank, size, name, timeout
        self._barriers = 0
        self._here, self._library = socket.socketpair()
        self._answers: dict[str, Callable[[dict[str, str]], str]] = {
            "init": lambda _: "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
            "get_maxes": lambda _: _LIMITS,
            "get_appnum": lambda _: "cmd=appnum appnum=0",
            "get_universe_size": lambda _: f"cmd=universe_size size={size}",
            "get_my_kvsname": lambda _: f"cmd=my_kvsname kvsname={name}",
            "put": self._put,
            "get": self._get,
            "barrier_in": self._barrier,
            "finalize": lambda _: "cmd=finalize_ack",
        }

    def __enter__(self) -> PMIServer:
        """Answer from now on, and say in the environment where."""
        values = (str(self._library.fileno()), str(self._rank), str(self._size))
        os.environ.update(zip(_VARIABLES, values, strict=True))
        Thread(target=self._serve, name="tt-pmi", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the variables; answers go on.  Child processes are not of this world."""
        for name in _VARIABLES:
            os.environ.pop(name, None)

    # --- answers --------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        with self._here, self._here.makefile("r", encoding="ascii", errors="replace") as lines:
            for line in lines:
                words = dict(word.split("=", 1) for word in line.split() if "=" in word)
                command = words.get("cmd", "")
                answer = self._answers.get(command)
                try:
                    text = f"cmd={command}_result rc=-1 msg=unknown" if answer is None else answer(words)
                except DistError as error:
                    text = f"cmd={command}_result rc=-1 msg={type(error).__name__}"
                try:
                    self._here.sendall(f"{text}\n".encode("ascii"))
                except OSError:  # the process ends
                    return

    def _put(self, words: dict[str, str]) -> str:
        self._store.set(words["key"], words["value"])
        return "cmd=put_result rc=0 msg=success"

    def _get(self, words: dict[str, str]) -> str:
        key = words["key"]
        if self._store.check([key]):  # everything was put before a barrier
            return f"cmd=get_result rc=0 msg=success value={self._store.get(key).decode('ascii')}"
        return "cmd=get_result rc=-1 msg=key_not_found"

    def _barrier(self, words: dict[str, str]) -> str:
        self._barriers += 1
        key = f"barrier/{self._barriers}"
        # Numbered barriers: the library meets several times, and a key of the store stays set.
        if self._store.add(f"{key}/count", 1) == self._size:
            self._store.set(key, b"open")
        self._store.wait([key], self._timeout)
        return "cmd=barrier_out"
