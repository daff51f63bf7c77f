"""Devices: where the data of a tensor is, and the default device of a thread.

Device types become known by the manifests of plugins; "meta" is the core's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from tt.core import plugins
from tt.core.errors import DeviceError, PluginMissingError, UnknownNameError
from tt.core.types.carried import Carried

__all__ = [
    "CORE_DEVICES",
    "NAMED_DEVICES",
    "Device",
    "device",
    "get_default_device",
    "set_default_device",
    "to_device",
]

CORE_DEVICES: Final = ("meta",)
"""The device types that no plugin brings."""

NAMED_DEVICES: Final = frozenset({
    "fpga", "hip", "hpu", "ideep", "ipu", "lazy", "maia", "mkldnn", "mps", "mtia", "opencl", "opengl",
    "privateuseone", "ve", "vulkan", "xla", "xpu",
})  # fmt: skip
"""PyTorch's other device types.  Programs name and compare them on any machine: `x.device.type == "mps"`."""


class Device:
    """A device: a type, and for types with several devices an index.

    There is one object for each type and index, so `is` and `==` agree.  As a context manager it is the
    default device of its block.  PyTorch's device types can be named and compared where no plugin brings them;
    using such a device raises.

    Parameters
    ----------
    type : str, int or Device
        "cuda", "cuda:1", or the index of an accelerator.
    index : int, optional
        Which device of the type; not together with an index in the string.

    Attributes
    ----------
    type : str
        For instance "cuda".
    index : int or None
        None means the current device of the type.

    Raises
    ------
    DeviceError
        When the string is malformed or the index negative.
    UnknownNameError
        When no plugin declares the device type, and it is none of PyTorch's.
    PluginMissingError
        When the plugin that brings another device type is known but not installed.

    Examples
    --------
    >>> import tt
    >>> tt.device("cpu")
    device(type='cpu')
    >>> tt.device("cuda", 1) == tt.device("cuda:1"), str(tt.device("cuda:1"))
    (True, 'cuda:1')
    >>> with tt.device("meta"):
    ...     tt.zeros(2).device
    device(type='meta')
    """

    __slots__ = ("__weakref__", "index", "type")

    type: str
    index: int | None
    _known: ClassVar[dict[tuple[str, int | None], Device]] = {}
    _absent: ClassVar[dict[tuple[str, int | None], Device]] = {}
    """Devices of `NAMED_DEVICES` that no plugin brings."""

    def __new__(cls, type: str | int | Device, index: int | None = None) -> Device:
        """Return the one object of a type and an index."""
        if isinstance(type, Device) and index is None:
            return type
        # Nearly every call names a type that is known already.
        if index is None and isinstance(type, str) and (known := cls._known.get((type, None))) is not None:
            return known
        name, index = _parse(type, index)
        interned = cls._known.get((name, index)) or cls._absent.get((name, index))
        if interned is not None:
            return interned
        # Raises with the nearest names, unless an installed plugin declares the type.
        if (name, None) not in cls._known and name not in CORE_DEVICES:
            try:
                plugins().require("device", name)
            except (UnknownNameError, PluginMissingError):
                if name not in NAMED_DEVICES:
                    raise
                return cls._absent.setdefault((name, index), cls._new(name, index))
        return cls._intern(name, index)

    @classmethod
    def declare(cls, name: str) -> None:
        """Make a device type known, as registering its backend does."""
        # There is one object for each device, also for those that were named before.
        for key in [key for key in list(cls._absent) if key[0] == name]:
            cls._known[key] = cls._absent.pop(key)
        cls._intern(name, None)

    @classmethod
    def known_types(cls) -> frozenset[str]:
        """Return the device types that are registered or declared by an installed plugin."""
        return frozenset([*CORE_DEVICES, *plugins().names("device"), *(name for name, _ in list(cls._known))])

    @classmethod
    def _intern(cls, name: str, index: int | None) -> Device:
        # Two threads may come here at once; `setdefault` gives both the same object.
        return cls._known.setdefault((name, index), cls._new(name, index))

    @classmethod
    def _new(cls, name: str, index: int | None) -> Device:
        new = object.__new__(cls)
        object.__setattr__(new, "type", name)
        object.__setattr__(new, "index", index)
        return new

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"attribute {name!r} of a device is not writable")

    def __repr__(self) -> str:
        return (
            f"device(type={self.type!r})"
            if self.index is None
            else f"device(type={self.type!r}, index={self.index})"
        )

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> tuple[Any, tuple[str, int | None]]:
        return Device, (self.type, self.index)

    # As a context manager: see tt.core.types.state, whose functions an interrupt does not leave half done.
    if TYPE_CHECKING:

        def __enter__(self) -> Device: ...

        def __exit__(self, *exception: object) -> None: ...


def _parse(value: Any, index: Any) -> tuple[str, int | None]:
    if index is not None and (not isinstance(index, int) or isinstance(index, bool)):
        raise TypeError(f"the index of a device is an int, not {type(index).__name__}")
    if index is not None and index < 0:
        raise DeviceError(f"the index of a device cannot be negative, got {index}")
    # As in PyTorch, a bare index is that of a CUDA device.
    if isinstance(value, int) and not isinstance(value, bool) and index is None:
        return _parse("cuda", value)
    if isinstance(value, Device):
        value = str(value)
    if not isinstance(value, str):
        raise TypeError(f"a device is made from a string, an index or a device, not {type(value).__name__}")
    name, colon, number = value.partition(":")
    if not (name.isascii() and name.isidentifier()) or (colon and not _is_index(number)):
        raise DeviceError(f"Invalid device string: {value!r}\n  try: 'cpu', 'cuda' or 'cuda:0'")
    if colon and index is not None:
        raise DeviceError(f"the index of a device is given once: {value!r} has one, and index= another")
    return name, int(number) if colon else index


def _is_index(text: str) -> bool:
    # No digits of other scripts, which `int` reads, and no leading zeros: there is one text for each device.
    return text.isascii() and text.isdecimal() and (text == "0" or text[0] != "0")


device = Device
"""PyTorch's name of the class."""


# --- the default device -------------------------------------------------------------------------------------

HOME: Final = Device._intern("cpu", None)
"""The default device of a thread that chooses none."""


class _Default(Carried):
    """The default device of each thread: the one that it set, and the stack of its `with` blocks."""

    device: Device = HOME
    stack: tuple[Device, ...] = ()


DEFAULT: Final = _Default()


def get_default_device() -> Device:
    """Return the device on which factories make tensors when they are given none.

    Examples
    --------
    >>> import tt
    >>> tt.get_default_device()
    device(type='cpu')
    """
    stack = DEFAULT.stack
    return stack[-1] if stack else DEFAULT.device


def set_default_device(device: Device | str | int | None) -> None:
    """Set the device on which factories of this thread make tensors when they are given none.

    Other threads keep theirs; a thread that sets none has "cpu".

    Parameters
    ----------
    device : Device, str, int or None
        None goes back to "cpu".

    See Also
    --------
    Device : as a context manager, the same for a block of code.

    Examples
    --------
    >>> import tt
    >>> tt.set_default_device("meta")
    >>> tt.zeros(2).device
    device(type='meta')
    >>> tt.set_default_device(None)
    """
    chosen = HOME if device is None else Device(device)
    # The count says in how many threads the default is not the CPU, so it changes only on the way there or back.
    _count_choices((chosen is not HOME) - (DEFAULT.device is not HOME))
    DEFAULT.device = chosen


def _count_choices(change: int) -> None:
    """Let factories look for the default device of their thread while there are any."""
    from tt.core.types.state import STATE  # which holds devices

    STATE.count_placed(change)


def to_device(value: Any) -> Device:
    """Return the device that a user means: a Device, a string, an index, or None for the default device."""
    return get_default_device() if value is None else Device(value)
