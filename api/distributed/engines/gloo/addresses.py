"""Addresses at which a rank can be reached by others."""

from __future__ import annotations

import os
import socket
import struct
from ipaddress import ip_address
from typing import Any, Final

from tt.distributed.errors import DistBackendError
from tt.distributed.stores import PrefixStore, Store, TCPStore

__all__ = ["INTERFACE", "addresses"]

INTERFACE: Final = ("TT_DISTRIBUTED_INTERFACE", "GLOO_SOCKET_IFNAME")
"""Variables that name the interface (``eth0``, or several: the first that exists) or its address (``10.0.0.3``)."""
_ADDRESS_OF_INTERFACE: Final = 0x8915
"""SIOCGIFADDR of Linux."""


def addresses(store: Store) -> list[str]:
    """Return the addresses of this rank that others may try, the best first.

    That of the interface that a variable names; else the one from which the store's host is reached, since the other
    ranks reach that too; else, where the store is a file, that of the machine's name.

    Raises
    ------
    DistBackendError
        A variable names an interface that this machine does not have.
    """
    for variable in INTERFACE:
        if names := os.environ.get(variable):
            return [_of_interface(variable, names)]
    while isinstance(store, PrefixStore):
        store = store.underlying_store
    if isinstance(store, TCPStore):
        own = _towards(store.host, store.port)
        if own is not None and (_is_local(store.host) or not ip_address(own).is_loopback):
            return [own]
    # The store is a file, or its host is this machine, whose name may stand for a loopback address here.
    name = socket.gethostname()
    candidates = [_towards(name, 9), "127.0.0.1"]
    unique = dict.fromkeys(each for each in candidates if each is not None)
    return sorted(unique, key=lambda each: ip_address(each).is_loopback)


def _is_local(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _towards(host: str, port: int) -> str | None:
    """Return the own address of connections to a host; nothing is sent."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    except OSError:
        return None
    for family, kind, protocol, _, address in found:
        try:
            with socket.socket(family, kind, protocol) as sock:
                sock.connect(address)
                return str(sock.getsockname()[0]).partition("%")[0]
        except OSError:
            continue
    return None


def _of_interface(variable: str, names: str) -> str:
    for name in (each.strip() for each in names.split(",")):
        try:
            return str(ip_address(name))
        except ValueError:
            pass
        address = _interface_address(name)
        if address is not None:
            return address
    there = ", ".join(name for _, name in socket.if_nameindex()) if hasattr(socket, "if_nameindex") else ""
    raise DistBackendError(
        f"gloo: {variable}={names} names no network interface with an address here; there are {there}"
        f"\n  try: {variable}=lo, or an address such as 10.0.0.3"
    )


def _interface_address(name: str) -> str | None:
    try:
        import fcntl  # not on Windows
    except ImportError:
        return None
    control: Any = fcntl.ioctl
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            answer = control(sock.fileno(), _ADDRESS_OF_INTERFACE, struct.pack("256s", name.encode()[:15]))
        except OSError:
            return None
    return socket.inet_ntoa(answer[20:24])
