"""Names of engines: which there are, which a program means, and what to install for one that is missing."""

from __future__ import annotations

import importlib
import logging
from importlib.util import find_spec
from typing import Final

from tt.distributed.backend import Backend

__all__ = ["BackendConfig", "by_device", "default_backend", "engine_class", "is_installed", "register"]

_GROUP: Final = "tt.distributed.backends"
_IN_TREE: Final = {
    "gloo": "tt.distributed.engines.gloo:Gloo",
    "threads": "tt.distributed.engines.threads:Threads",
    "mpi": "tt.distributed.engines.mpi:Mpi",
    "nccl": "tt.distributed.engines.nccl:Nccl",
}
_REQUIRES: Final = {"mpi": ("mpi4py",), "nccl": ("nccl", "cupy")}
_INSTALL: Final = {
    "mpi": "pip install mpi4py mpich",
    "nccl": "pip install nccl4py 'cuda-bindings~=12.0' nvidia-nccl-cu12",
}
_DEVICES: Final = ("cpu", "cuda")
_registered: dict[str, type[Backend]] = {}
_log: Final = logging.getLogger(__name__)


def register(name: str, engine: type[Backend]) -> None:
    """Make an engine known by a name."""
    name = name.lower()
    if name in _registered or name in _IN_TREE:
        raise RuntimeError(f"register_backend: there is an engine {name!r} already")
    _registered[name] = engine


def is_installed(name: str) -> bool:
    """Return whether an engine and its requirements are installed; nothing is imported."""
    name = name.lower()
    if name in _registered:
        return True
    if name in _IN_TREE:
        needs = _REQUIRES.get(name, ())
        return find_spec(_IN_TREE[name].partition(":")[0]) is not None and (
            not needs or any(find_spec(package) is not None for package in needs)
        )
    return name in _of_packages()


def engine_class(name: str) -> type[Backend]:
    """Return the class of an engine.

    Raises
    ------
    ValueError
        There is no such engine.
    RuntimeError
        A requirement is not installed; the message says how to install it.
    """
    requested, name = name, name.lower()
    if name in _registered:
        return _registered[name]
    if name in _IN_TREE:
        if not is_installed(name):
            way = _INSTALL.get(name, "")
            raise RuntimeError(f"the engine {requested!r} is not installed\n  try: {way}")
        module, _, attribute = _IN_TREE[name].partition(":")
        result: type[Backend] = getattr(importlib.import_module(module), attribute)
        return result
    packages = _of_packages()
    if name in packages:
        engine: type[Backend] = packages[name].load()  # type: ignore[attr-defined]
        return engine
    known = sorted({*_IN_TREE, *_registered, *packages})
    raise ValueError(f"Unknown backend {requested!r}; there are {', '.join(known)}")


def _of_packages() -> dict[str, object]:
    from importlib.metadata import entry_points  # 20 ms, which programs with an engine of tt need not pay

    return {point.name: point for point in entry_points(group=_GROUP)}


def by_device(backend: str | None) -> dict[str, str]:
    """Return which engine serves which device type: of ``"gloo"``, ``"cpu:gloo,cuda:nccl"`` or None.

    Raises
    ------
    ValueError
        A pair is malformed, or a device type is there twice.
    """
    # PyTorch connects both device types if a program names no backend.
    if not backend or backend.lower() == Backend.UNDEFINED:
        chosen = {"cpu": "mpi" if is_installed("mpi") else "gloo"}
        if is_installed("nccl"):
            chosen["cuda"] = "nccl"
        _log.info(
            "no backend is named; it is %s", ",".join(f"{device}:{name}" for device, name in chosen.items())
        )
        return chosen
    if ":" not in backend:
        name = backend.lower()
        return {device: name for device in _DEVICES if device in engine_class(name).capabilities.devices}
    result: dict[str, str] = {}
    for pair in backend.lower().split(","):
        device, colon, name = (part.strip() for part in pair.partition(":"))
        if not (device and colon and name) or ":" in name:
            raise ValueError(
                f"Invalid device:backend pairing {pair!r} in {backend!r}; write cpu:gloo,cuda:nccl"
            )
        if device in result:
            raise ValueError(f"Duplicate device type {device!r} in backend string {backend!r}")
        # Raises for a name that is not known, now and not at the first collective.
        engine_class(name)
        result[device] = name
    return result


def default_backend(device: str) -> str:
    """Return the engine that serves a device type where a program names none."""
    if device not in ("cpu", "cuda"):
        raise ValueError(f"Default backend not registered for device : {device}")
    return "gloo" if device == "cpu" else "nccl"


class BackendConfig:
    """The engines that a name stands for, by device type.

    Parameters
    ----------
    backend : str
        As of `init_process_group`; ``"undefined"`` chooses among the installed ones.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> dist.BackendConfig("threads").get_device_backend_map()
    {'cpu': 'threads', 'cuda': 'threads'}
    >>> dist.BackendConfig("cpu:threads")
    cpu:threads
    """

    def __init__(self, backend: str) -> None:
        self.device_backend_map = by_device(backend)

    def __repr__(self) -> str:
        return ",".join(f"{device}:{name}" for device, name in self.device_backend_map.items())

    def get_device_backend_map(self) -> dict[str, str]:
        """Return the names of the engines by device type."""
        return self.device_backend_map
