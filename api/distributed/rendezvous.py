"""rendezvous: how ranks find each other, by the address that `init_process_group` is given."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from datetime import timedelta
from importlib.util import find_spec
from typing import Any, Final
from urllib.parse import ParseResult, parse_qsl, unquote, urlencode, urlparse, urlunparse

from tt.distributed.launchers import Launch, launched_by
from tt.distributed.stores import FileStore, PrefixStore, Store, TCPStore

__all__ = ["register_rendezvous_handler", "rendezvous"]

World = tuple[Store, int, int]
Handler = Callable[..., Iterator[World]]
DEFAULT_TIMEOUT: Final = timedelta(minutes=30)
HANDLERS: Final[dict[str, Handler]] = {}


def register_rendezvous_handler(scheme: str, handler: Handler) -> None:
    """Add a way of finding each other, for addresses that begin with ``scheme://``.

    Parameters
    ----------
    scheme : str
        The scheme of the addresses.
    handler : callable
        ``handler(url, timeout=..., **kwargs)``: a generator that yields the store, the rank and the world size.  The
        query of ``url`` has the ``rank`` and ``world_size`` that the program gave.

    Raises
    ------
    RuntimeError
        The scheme has a handler.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> def alone(url, **kwargs):
    ...     yield dist.HashStore(), 0, 1
    >>> from tt.distributed.rendezvous import register_rendezvous_handler, rendezvous
    >>> register_rendezvous_handler("alone", alone)
    >>> store, rank, world_size = next(rendezvous("alone://"))
    >>> rank, world_size
    (0, 1)
    """
    if scheme in HANDLERS:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    HANDLERS[scheme] = handler


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **kwargs: Any) -> Iterator[World]:
    """Find the other ranks.

    Parameters
    ----------
    url : str
        ``tcp://host:port`` (rank 0 serves there), ``file:///path`` (a file that does not exist, on a common file
        system) or ``env://`` (MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE, or what `srun` sets).
    rank, world_size : int
        This process and how many there are; -1 where the address or the environment says it.
    timeout : timedelta
        How long to wait for the others, 30 minutes by default.

    Returns
    -------
    iterator
        Its first element is the store, the rank and the world size.

    Raises
    ------
    RuntimeError
        There is no handler for the address.
    ValueError
        Something is missing; the message names it.
    DistNetworkError, DistStoreError
        The others did not come within the timeout.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> from tt.distributed.rendezvous import rendezvous
    >>> server = dist.TCPStore("localhost", 0, is_master=True, multi_tenant=True)
    >>> address = f"tcp://localhost:{server.port}"
    >>> store, rank, world_size = next(rendezvous(address, rank=0, world_size=1))
    >>> store.set("ready", "1")
    """
    if not isinstance(url, str):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    for name, value in (("rank", rank), ("world_size", world_size)):
        if not isinstance(value, int):
            raise RuntimeError(f"`{name}` must be an integer. {value}")
    parts = urlparse(url)
    # Handlers read everything from the address.
    numbers = {name: str(v) for name, v in (("rank", rank), ("world_size", world_size)) if v != -1}
    if numbers:
        query = dict(parse_qsl(parts.query))
        if {"rank", "world_size"} & {*query}:
            raise ValueError(f"The url: {url} has node-specific arguments(rank, world_size) already.")
        parts = parts._replace(query=urlencode(query | numbers))
    if parts.scheme not in HANDLERS:
        known = ", ".join(f"{scheme}://" for scheme in sorted(HANDLERS))
        raise RuntimeError(f"No rendezvous handler for {parts.scheme}://; there are {known}")
    return HANDLERS[parts.scheme](urlunparse(parts), **kwargs)


def place(scheme: str, parts: ParseResult) -> tuple[int, int]:
    """Return rank and world size from the query of an address."""
    query = dict(parse_qsl(parts.query))
    for name in ("rank", "world_size"):
        if name not in query:
            raise problem(scheme, f"{name.replace('_', ' ')} parameter missing")
    return checked(
        scheme, whole(scheme, "rank", query["rank"]), whole(scheme, "world_size", query["world_size"])
    )


def checked(scheme: str, rank: int, world_size: int) -> tuple[int, int]:
    """Return a rank and a number of ranks; raise where they cannot be, for which all would wait."""
    if world_size < 1:
        raise problem(scheme, f"world_size must be positive, not {world_size}")
    if not 0 <= rank < world_size:
        raise problem(
            scheme, f"rank must be from 0 to {world_size - 1} where there are {world_size}, not {rank}"
        )
    return rank, world_size


def whole(scheme: str, name: str, text: str) -> int:
    """Return a number from an address or the environment."""
    try:
        return int(text)
    except ValueError:
        raise problem(scheme, f"{name} must be a whole number, not {text!r}") from None


def problem(scheme: str, why: str) -> ValueError:
    """Return the error of an address or an environment that lacks something."""
    return ValueError(f"Error initializing tt.distributed using {scheme}:// rendezvous: {why}")


def tcp_store(host: str, port: int, rank: int, world_size: int, timeout: timedelta) -> Store:
    """Return the store at an address: rank 0 serves it, unless an agent of `tt run` does."""
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        store = TCPStore(host, port, world_size, timeout=timeout)
        # One server outlives all generations of workers, which must not find each other's keys.
        run, generation = os.environ.get("TORCHELASTIC_RUN_ID", ""), os.environ.get("TT_RUN_GENERATION", "0")
        return PrefixStore(f"workers/{run}/{generation}", store)
    # Shared, for a program may call `init_process_group` again with the same address.
    return TCPStore(host, port, world_size, rank == 0, timeout, multi_tenant=True)


def from_tcp(url: str, timeout: timedelta = DEFAULT_TIMEOUT, **kwargs: Any) -> Iterator[World]:
    """Handle ``tcp://host:port?rank=0&world_size=2``."""
    parts = urlparse(url)
    if parts.port is None:
        raise problem("tcp", "port number missing")
    if parts.hostname is None:
        raise problem("tcp", "host name missing")
    rank, world_size = place("tcp", parts)
    yield tcp_store(parts.hostname, parts.port, rank, world_size, timeout), rank, world_size
    # A second `next` asks for another world, which only launchers that restart ranks can give.
    raise RuntimeError("Unable to perform re-rendezvous using tcp:// method")


def from_file(url: str, timeout: timedelta = DEFAULT_TIMEOUT, **kwargs: Any) -> Iterator[World]:
    """Handle ``file:///path?rank=0&world_size=2``."""
    parts = urlparse(url)
    path = unquote(parts.path)
    if not path:
        raise problem("file", "path missing")
    rank, world_size = place("file", parts)
    store = FileStore(path, world_size)
    store.set_timeout(timeout)
    yield store, rank, world_size
    raise RuntimeError("Unable to perform re-rendezvous using file:// method")


def from_environment(url: str, timeout: timedelta = DEFAULT_TIMEOUT, **kwargs: Any) -> Iterator[World]:
    """Handle ``env://``: variables that a launcher or a person has set."""
    query = dict(parse_qsl(urlparse(url).query))
    launch = launched_by()
    # mpiexec gives no address, but MPI itself can pass one on.
    if (
        launch is not None
        and launch.launcher in ("mpiexec", "openmpi")
        and not (launch.address and launch.port)
    ):
        yield of_mpi(launch, timeout), launch.rank, launch.size
        raise RuntimeError("Unable to perform re-rendezvous using env:// method")
    settings = {
        "RANK": query.get("rank") or os.environ.get("RANK") or known(launch, "rank"),
        "WORLD_SIZE": query.get("world_size") or os.environ.get("WORLD_SIZE") or known(launch, "size"),
        "MASTER_ADDR": os.environ.get("MASTER_ADDR") or known(launch, "address"),
        "MASTER_PORT": os.environ.get("MASTER_PORT") or known(launch, "port"),
    }
    for name, value in settings.items():
        if not value:
            raise problem(
                "env",
                f"environment variable {name} expected, but not set"
                "\n  try: tt run --nproc-per-node=2 PROGRAM, which sets it, or init_method=, rank= and world_size=",
            )
    rank, world_size, port = (
        whole("env", name, settings[name]) for name in ("RANK", "WORLD_SIZE", "MASTER_PORT")
    )
    checked("env", rank, world_size)
    yield tcp_store(settings["MASTER_ADDR"], port, rank, world_size, timeout), rank, world_size
    raise RuntimeError("Unable to perform re-rendezvous using env:// method")


def of_mpi(launch: Launch, timeout: timedelta) -> Store:
    """Return a store that rank 0 serves at an address that MPI tells the others."""
    if find_spec("mpi4py") is None:
        raise problem(
            "env",
            f"{launch.launcher} has started this process and says no address, which mpi4py could find out\n"
            "  try: MASTER_ADDR and MASTER_PORT in the environment, or pip install mpi4py",
        )
    from tt.distributed.engines.mpi_world import share  # where MPI is the launcher

    if launch.rank == 0:
        # A job on one machine needs no name that others can resolve.
        host = "127.0.0.1" if launch.local_size == launch.size else socket.gethostname()
        # The others cannot join before they have the port, so waiting for them here would never end.
        store = TCPStore(host, 0, launch.size, True, timeout, wait_for_workers=False, multi_tenant=True)
        share((host, store.port))
        return store
    host, port = share(None)
    return TCPStore(host, port, launch.size, False, timeout)


def known(launch: Launch | None, name: str) -> str:
    """Return the launcher's variable as text; empty where it is not set."""
    value = getattr(launch, name, None)
    return "" if value is None else str(value)


HANDLERS.update(tcp=from_tcp, file=from_file, env=from_environment)
