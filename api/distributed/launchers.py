"""launched_by: the launcher that has started this process, and its description of the world."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["Launch", "launched_by"]

NO_STEP: Final = 0xFFFFFFF0
"""Slurm numbers steps that are not tasks of `srun` (the batch script, an interactive shell) from here."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A launcher's description of this process.

    Attributes
    ----------
    launcher : str
        ``run`` (`tt run`, torchrun), ``env`` (somebody set RANK and WORLD_SIZE), ``openmpi`` and ``mpiexec`` (MPICH,
        Intel MPI), or ``slurm``.
    rank : int
        Of all processes.
    size : int
        How many processes there are.
    local_rank : int or None
        Among the processes of this machine, as far as it is known.
    local_size : int or None
        How many processes this machine has, as far as it is known.
    address : str or None
        The machine of rank 0, as far as it is known.
    port : int or None
        A port that all processes agree on, as far as there is one.
    """

    launcher: str
    rank: int
    size: int
    local_rank: int | None = None
    local_size: int | None = None
    address: str | None = None
    port: int | None = None


def launched_by(environ: Mapping[str, str] | None = None) -> Launch | None:
    """Return which launcher has started this process; None: none that is known.

    What somebody set by hand, or `tt run`, comes before what an MPI or Slurm around it has set.

    Parameters
    ----------
    environ : mapping, optional
        The environment; by default that of this process.

    Examples
    --------
    >>> from tt.distributed.launchers import launched_by
    >>> launched_by({"PMI_RANK": "1", "PMI_SIZE": "4", "MPI_LOCALRANKID": "1"})
    Launch(launcher='mpiexec', rank=1, size=4, local_rank=1, local_size=None, address=None, port=None)
    """
    variables = os.environ if environ is None else environ
    address = variables.get("MASTER_ADDR") or None
    port = number(variables, "MASTER_PORT")
    # First: `tt run` may itself be started by `srun` or mpiexec, whose variables are those of the agents.
    if variables.get("RANK") and variables.get("WORLD_SIZE"):
        return Launch(
            "run" if "TORCHELASTIC_RUN_ID" in variables else "env",
            required(variables, "RANK"),
            required(variables, "WORLD_SIZE"),
            number(variables, "LOCAL_RANK"),
            number(variables, "LOCAL_WORLD_SIZE"),
            address,
            port,
        )
    if "OMPI_COMM_WORLD_RANK" in variables and "OMPI_COMM_WORLD_SIZE" in variables:
        return Launch(
            "openmpi",
            required(variables, "OMPI_COMM_WORLD_RANK"),
            required(variables, "OMPI_COMM_WORLD_SIZE"),
            number(variables, "OMPI_COMM_WORLD_LOCAL_RANK"),
            number(variables, "OMPI_COMM_WORLD_LOCAL_SIZE"),
            address,
            port,
        )
    # Slurm may set PMI's variables as well, and its own say more.
    if "PMI_RANK" in variables and "PMI_SIZE" in variables and "SLURM_STEP_ID" not in variables:
        return Launch(
            "mpiexec",
            required(variables, "PMI_RANK"),
            required(variables, "PMI_SIZE"),
            number(variables, "MPI_LOCALRANKID"),
            number(variables, "MPI_LOCALNRANKS"),
            address,
            port,
        )
    return slurm(variables, address, port)


def slurm(variables: Mapping[str, str], address: str | None, port: int | None) -> Launch | None:
    """Return what `srun` says; None outside of it.

    The script that `sbatch` runs has most of the variables too, but is one process, which would wait for the others
    in vain; only a step of `srun` has an ordinary number.
    """
    step = number(variables, "SLURM_STEP_ID")
    if step is None or step >= NO_STEP or "SLURM_PROCID" not in variables:
        return None
    size = number(variables, "SLURM_STEP_NUM_TASKS") or number(variables, "SLURM_NTASKS")
    if size is None:
        return None
    if address is None:
        nodes = variables.get("SLURM_STEP_NODELIST") or variables.get("SLURM_JOB_NODELIST")
        address = first_host(nodes) if nodes else None
    if port is None:
        # All ranks of a step compute the same port without talking; steps of one machine differ.
        job = number(variables, "SLURM_JOB_ID") or 0
        port = 15000 + (job * 37 + step) % 10000  # below the ports that Linux gives to connections
    return Launch(
        "slurm",
        required(variables, "SLURM_PROCID"),
        size,
        number(variables, "SLURM_LOCALID"),
        None,
        address,
        port,
    )


def first_host(nodes: str) -> str:
    """Return the first of Slurm's list of nodes: ``gpu[007-009,12],cpu1`` gives ``gpu007``."""
    host = ""
    rest = nodes.strip()
    while rest and rest[0] != ",":
        # Of ranges and lists in brackets the first number counts.
        several = re.match(r"\[([^\],-]+)[^\]]*\]", rest)
        if several is not None:
            host, rest = host + several[1], rest[several.end() :]
        else:
            host, rest = host + rest[0], rest[1:]
    return host


def number(variables: Mapping[str, str], name: str) -> int | None:
    """Return a variable that is a number; None where it is not set."""
    return required(variables, name) if variables.get(name) else None


def required(variables: Mapping[str, str], name: str) -> int:
    """Return a variable that is a number."""
    try:
        return int(variables[name])
    except ValueError:
        raise ValueError(
            f"the environment variable {name} must be a whole number, not {variables[name]!r}"
        ) from None
