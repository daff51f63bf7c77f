"""MPIWorld: the processes that MPI connected, once and for as long as this process lives."""

from __future__ import annotations

import atexit
import ctypes
import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

from tt.distributed.engines.meeting import meet
from tt.distributed.engines.pmi import PMIServer
from tt.distributed.errors import DistBackendError
from tt.distributed.stores import PrefixStore, Store

__all__ = ["MPIWorld", "mpi_module", "share"]

_LAUNCHED = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")
"""Variables of processes that mpiexec or srun started: there MPI knows its world."""
_MULTIPLE = 3
"""MPI_THREAD_MULTIPLE: every thread may call."""


@dataclass(frozen=True, slots=True)
class MPIWorld:
    """The processes that were connected when MPI started.

    Note [One world a process]
    --------------------------
    MPI starts once in a process, and the ranks that start together are its world for good; a group is a communicator
    of some of them.  So processes that left a group may form another among themselves, but two jobs cannot join: ranks
    that are restarted get a new world, since the launcher starts new processes.  (MPI's dynamic processes would allow
    more, and the libraries support them too unevenly.)

    Attributes
    ----------
    mpi : module
        mpi4py's.
    name : str
        The same in all processes of this world.
    """

    mpi: Any
    name: str

    @classmethod
    def start(cls, store: Store, rank: int, size: int, timeout: timedelta) -> MPIWorld:
        """Return the world of this process; MPI is started where that has not been done.

        Raises
        ------
        DistBackendError
            mpi4py is not installed, or its MPI library does not start without mpiexec.
        DistTimeoutError
            Not all ranks came in time.
        """
        if _started:
            return _started[0]
        mpi = mpi_module()
        launched = mpi.Is_initialized() or any(variable in os.environ for variable in _LAUNCHED)
        # MPI would wait for ever for who does not come.
        meet(PrefixStore("before", store), rank, size, timeout, "mpi")
        if mpi.Is_initialized():
            name = "launched"
        elif launched:
            name = "launched"
            _initialize(mpi)
            atexit.register(_finalize, mpi)  # mpiexec takes a process that does not say goodbye for a failure
        else:
            name = _agree_on_name(store, rank)
            server = PMIServer(PrefixStore("pmi", store), rank, size, name, timeout)
            with server:
                _initialize(mpi)
            started = mpi.COMM_WORLD.Get_size()
            if started != size:
                raise DistBackendError(
                    f"mpi: {_library(mpi)} started a world of {started} instead of {size} processes: it does not speak "
                    "PMI-1. Start the program with its mpiexec, or use MPICH: pip install mpich"
                )
        mpi.COMM_WORLD.Set_errhandler(mpi.ERRORS_RETURN)
        # Only now has every rank opened the shared memory whose names are removed next.
        meet(PrefixStore("after", store), rank, size, timeout, "mpi")
        if mpi.COMM_WORLD.Get_size() == size:
            _remove_shared_names()
        _started.append(cls(mpi, name))
        return _started[0]


_started: list[MPIWorld] = []
"""None or one, see Note [One world a process]."""


def share(value: object) -> Any:
    """Return rank 0's value on all ranks that mpiexec or srun started; they start MPI for that.

    Raises
    ------
    DistBackendError
        mpi4py is not installed.
    """
    mpi = mpi_module()
    if not mpi.Is_initialized():
        _initialize(mpi)
        atexit.register(_finalize, mpi)
    return mpi.COMM_WORLD.bcast(value, root=0)


@cache
def mpi_module() -> Any:
    """Return mpi4py's module without starting MPI.

    Raises
    ------
    DistBackendError
        mpi4py or an MPI library is not installed.
    """
    try:
        import mpi4py

        mpi4py.rc.initialize = False
        from mpi4py import MPI
    except (ImportError, RuntimeError, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise DistBackendError(
            f"the mpi engine needs mpi4py and an MPI library ({reason}): pip install mpi4py mpich"
        ) from error
    return MPI


def _initialize(mpi: Any) -> None:
    """Start MPI by ctypes, which lets other threads run meanwhile: PMIServer answers in one."""
    provided = ctypes.c_int()
    # mpi4py's extension module is linked with MPI, so MPI's functions are found through it.
    code = ctypes.CDLL(mpi.__file__).MPI_Init_thread(None, None, _MULTIPLE, ctypes.byref(provided))
    if code or provided.value < _MULTIPLE:
        what = f"MPI_Init_thread failed with {code}" if code else "does not allow several threads"
        raise DistBackendError(f"mpi: {_library(mpi)}: {what}")


def _finalize(mpi: Any) -> None:
    if (
        not mpi.Is_finalized()
    ):  # by ctypes, too: this process may serve the store that another rank still waits for
        ctypes.CDLL(mpi.__file__).MPI_Finalize()


def _library(mpi: Any) -> str:
    return str(mpi.Get_library_version()).splitlines()[0].strip("\0 ")


def _agree_on_name(store: Store, rank: int) -> str:
    """Return a new name, so that shared memory left by a killed job is never mistaken for ours."""
    if rank == 0:
        store.set("world", f"tt-{uuid4().hex}")
    return store.get("world").decode("ascii")


def _remove_shared_names() -> None:
    """Remove the names of shared memory that all ranks have opened: then nothing stays when they are killed."""
    with suppress(OSError):  # no /proc: MPI removes them when it ends
        for line in Path("/proc/self/maps").read_text().splitlines():
            _, _, path = line.partition("/dev/shm/")
            if path.startswith("mpich_shm"):
                Path("/dev/shm", path.removesuffix(" (deleted)")).unlink(missing_ok=True)
