"""Devices of loaded memory: `map_location` in all its forms, and packages that handle other devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import tt
from tt.errors import DeviceError, TTError
from tt.serialization.storages import LoadedStorage

__all__ = [
    "MAP_LOCATION",
    "UserCodeError",
    "default_restore_location",
    "location_tag",
    "register_package",
    "restorer",
]

Tagger = Callable[[Any], str | None]
Restore = Callable[[LoadedStorage, str], LoadedStorage | None]
MAP_LOCATION: TypeAlias = Callable[[Any, str], Any] | tt.device | str | dict[str, str] | None
"""The type of `map_location`, by the name under which libraries import it."""


class UserCodeError(Exception):
    """Carries an exception of a function that the user gave past what would take it for damage of the file."""

    def __init__(self, original: Exception) -> None:
        super().__init__(str(original))
        self.original = original


_packages: list[tuple[int, Tagger, Restore]] = []


def register_package(priority: int, tagger: Tagger, deserializer: Restore) -> None:
    """Register how storages of a device are named in files, and how they come back from the name.

    Backends of tt need this only for names that are not those of their devices: `str(tensor.device)` is the name
    without it, and `tt.device(name)` brings the memory back.

    Parameters
    ----------
    priority : int
        Packages of lower numbers are tried first, all before the rule above.
    tagger : callable
        Gets a tensor of the bytes of a storage, and returns the name of its location, or None.
    deserializer : callable
        Gets a `LoadedStorage` in the host's memory and the name, and returns one where it belongs, or None.

    Examples
    --------
    >>> import io
    >>> import tt
    >>> def tag(memory):
    ...     return "shadow" if memory.device.type == "meta" else None
    >>> def restore(storage, location):
    ...     return storage.to("meta") if location == "shadow" else None
    >>> tt.serialization.register_package(5, tag, restore)
    >>> tt.serialization.location_tag(tt.empty(2, device="meta"))
    'shadow'
    >>> del tt.serialization.locations._packages[0]
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def has_packages() -> bool:
    """Return whether `register_package` was called."""
    return bool(_packages)


def location_tag(storage: Any) -> str:
    """Return the name under which a file stores where memory is: of a tensor, or of a storage of one.

    Examples
    --------
    >>> import tt
    >>> tt.serialization.location_tag(tt.ones(2))
    'cpu'
    """
    if isinstance(storage, LoadedStorage):
        storage = storage.bytes
    for _, tagger, _ in _packages:
        if (tag := tagger(storage)) is not None:
            return tag
    device = storage.device if hasattr(storage, "device") else storage.backend.device_type
    return str(device)


def default_restore_location(storage: LoadedStorage, location: str) -> LoadedStorage:
    """Return a loaded storage where it was saved.

    Raises
    ------
    DeviceError
        If the device does not exist on this machine.

    Examples
    --------
    >>> import tt
    >>> storage = tt.serialization.LoadedStorage(tt.zeros(4, dtype=tt.uint8), tt.float32)
    >>> tt.serialization.default_restore_location(storage, "cpu").device
    device(type='cpu')
    """
    # Registered packages come first, so they can handle locations of tt's own as well.
    for _, _, deserializer in _packages:
        if (restored := deserializer(storage, location)) is not None:
            return restored
    if location == "cpu":
        return storage
    try:
        return storage.to(location)
    except TTError as error:
        raise DeviceError(
            f"a tensor was saved on the device {location!r}, which cannot be used here: {error}\n"
            "  try: tt.load(..., map_location='cpu')"
        ) from error


def restorer(map_location: Any) -> Callable[[LoadedStorage, str], LoadedStorage]:
    """Return the function that puts storages where `map_location` says."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, bytes):
        map_location = map_location.decode("ascii")
    if isinstance(map_location, dict):
        table = {str(key): str(value) for key, value in map_location.items()}
        return lambda storage, location: default_restore_location(storage, table.get(location, location))
    if isinstance(map_location, str | int | tt.device):
        target = str(tt.device(map_location))
        return lambda storage, location: default_restore_location(storage, target)
    if not callable(map_location):
        raise TypeError(
            "map_location is a function, a device, the name of one, or a dict of names of devices, not "
            f"{type(map_location).__name__}"
        )

    def restore(storage: LoadedStorage, location: str) -> LoadedStorage:
        try:
            restored = map_location(storage, location)
        except Exception as error:
            raise UserCodeError(error) from error
        if restored is None:
            return default_restore_location(storage, location)
        if isinstance(restored, tt.Tensor):
            restored = LoadedStorage(restored, storage.dtype)
        if not isinstance(restored, LoadedStorage):
            wrong = TypeError(
                f"the function given as map_location returned {type(restored).__name__}, and should return a storage "
                "or None\n  try: return storage.to(device)"
            )
            raise UserCodeError(wrong)
        return restored

    return restore
