"""Generators: where random numbers start, on every device.

A generator is a seed and an offset.  Kernels turn the two into numbers (docs/design/random.md); each call reserves
the counters that it will use, so that no number is used twice.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.core import plugins, start
from tt.core.errors import DeviceError, ShapeError, ValueRangeError
from tt.core.forks import fork_safe_lock
from tt.core.types.device import NAMED_DEVICES, Device, to_device

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

__all__ = [
    "Generator",
    "default_generator",
    "default_states",
    "generator_of",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "reserve",
    "seed",
    "set_default_states",
    "set_rng_state",
]

_STATE_BYTES: Final = 16


_LOCK: Final = fork_safe_lock()
"""Of all generators: each holds it for two statements."""


def _random_seed() -> int:
    # `secrets` would read the same source, and imports what signs messages.
    # 53 bits, as in PyTorch: every seed is exact in a double, through which it may be stored.
    return int.from_bytes(os.urandom(7), "little") >> 3


class Generator:
    """A source of random numbers.

    Parameters
    ----------
    device : Device or str
        The device whose tensors it fills.

    Attributes
    ----------
    device : Device
        The same.

    Examples
    --------
    >>> import tt
    >>> generator = tt.Generator().manual_seed(7)
    >>> first = tt.rand(3, generator=generator)
    >>> bool((tt.rand(3, generator=generator.manual_seed(7)) == first).all())
    True
    """

    def __init__(self, device: Device | str = "cpu") -> None:
        self._type = device if isinstance(device, str) and device == "cpu" else to_device(device).type
        if self._type in NAMED_DEVICES:  # which may be absent, and a generator asks nothing of its backend
            plugins().require("device", self._type)
        self._device: Device | None = None if isinstance(device, str) else device
        self._seed, self._offset = 0, 0
        self.seed()

    @property
    def device(self) -> Device:
        """The device whose tensors the generator fills."""
        # Made on demand: the default generator exists before any plugin has declared its devices.
        if self._device is None:
            self._device = Device(self._type)
        return self._device

    def manual_seed(self, seed: int) -> Generator:
        """Restart from a seed.

        Parameters
        ----------
        seed : int
            From -2**63 to 2**64 - 1; a negative one means 2**64 + seed.

        Raises
        ------
        ValueError
            For a seed outside of this range.
        """
        seed = _checked_seed(seed)
        with _LOCK:
            self._seed, self._offset = seed, 0
        return self

    def seed(self) -> int:
        """Restart from a seed of the operating system, and return it."""
        seed = _random_seed()
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """Return the seed from which the generator started."""
        return self._seed

    def reserve(self, count: int) -> tuple[int, int]:
        """Take `count` counters; return the seed and the first of them."""
        # Seed and counter together: a `manual_seed` of another thread must not come between them.
        with _LOCK:
            first = self._offset
            self._offset = (first + count) & (2**64 - 1)
            return self._seed, first

    def get_offset(self) -> int:
        """Return the counter at which the next call begins."""
        return self._offset

    def set_offset(self, offset: int) -> None:
        """Let the next call begin at a counter.

        Raises
        ------
        ValueError
            For a negative one or one above 2**64 - 1.
        """
        if not 0 <= offset < 2**64:
            raise ValueRangeError(f"the offset of a generator is from 0 to 2**64 - 1, not {offset}")
        with _LOCK:
            self._offset = int(offset)

    def get_state(self) -> Tensor:
        """Return seed and offset as a tensor of 16 bytes."""
        # Tensors are made above the dispatcher: `tt.core.methods.methods.install` puts a function that makes one here.
        start()
        return Generator.get_state(self)

    def state_bytes(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Return seed and offset as 16 bytes."""
        with _LOCK:
            # The byte order is fixed, so that a saved state means the same on every machine.
            state = np.array([self._seed, self._offset], dtype="<u8")
        return state.view(np.uint8)

    def set_state(self, new_state: Tensor) -> None:
        """Continue from a state that `get_state` returned.

        Raises
        ------
        TypeError
            If the state is not a uint8 tensor on the CPU.
        RuntimeError
            When it does not have 16 elements.
        """
        dtype = getattr(getattr(new_state, "dtype", None), "name", None)
        if dtype != "uint8" or new_state.device.type != "cpu":
            raise TypeError(f"RNG state must be a tt.ByteTensor (uint8, on the CPU), not {_what(new_state)}")
        if new_state.numel() != _STATE_BYTES:
            raise ShapeError(f"RNG state is wrong size: {new_state.numel()} bytes instead of {_STATE_BYTES}")
        # The tensor may be a view with gaps, whose bytes do not follow each other.
        data = np.ascontiguousarray(new_state._handle).reshape(-1).view("<u8")
        with _LOCK:
            self._seed, self._offset = int(data[0]), int(data[1])

    def clone_state(self) -> Generator:
        """Return a generator that continues from the same place."""
        new = Generator(self.device)
        new._seed, new._offset = self._seed, self._offset
        return new

    def __getstate__(self) -> dict[str, Any]:
        return {"device": self._type, "seed": self._seed, "offset": self._offset}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._type, self._device = state["device"], None
        self._seed, self._offset = state["seed"], state["offset"]

    def __repr__(self) -> str:
        return f"<tt.Generator device={self._type} seed={self._seed} offset={self._offset}>"


def _what(value: Any) -> str:
    dtype = getattr(value, "dtype", None)
    return type(value).__name__ if dtype is None else f"a tensor of {dtype} on {value.device}"


def _checked_seed(seed: Any) -> int:
    if isinstance(seed, type) or not (hasattr(seed, "__index__") or hasattr(seed, "__int__")):
        raise TypeError(f"a seed is an integer, not {type(seed).__name__}")
    number = int(seed.__index__() if hasattr(seed, "__index__") else seed)
    if not -(2**63) <= number < 2**64:
        raise ValueRangeError(f"a seed is from -2**63 to 2**64 - 1, not {number}")
    # A negative seed is read as the unsigned number of the same bits.
    return number & (2**64 - 1)


# --- the default generators ------------------------------------------------------------------------------------

default_generator: Final = Generator("cpu")
"""The generator of the CPU, used where none is given."""


class _Defaults:
    """The default generator of each device, and the seed with which new ones begin."""

    def __init__(self) -> None:
        self.by_device: dict[str, Generator] = {"cpu": default_generator}
        self.seed: int | None = None
        self.lock = fork_safe_lock(rank=1)

    def of(self, device_type: str) -> Generator:
        with self.lock:
            # Under the lock until it is seeded: no thread draws from a generator with another seed.
            generator = self.by_device.get(device_type)
            if generator is None:
                generator = self.by_device[device_type] = Generator(device_type)
                if self.seed is not None:
                    generator.manual_seed(self.seed)
            return generator

    def manual_seed(self, seed: int) -> None:
        with self.lock:
            # Generators of devices that are first used later begin with `self.seed`.
            self.seed = seed
            for generator in self.by_device.values():
                generator.manual_seed(seed)


_DEFAULTS: Final = _Defaults()


def default_states() -> dict[str, Tensor]:
    """Return the state of the default generator of each device."""
    return {device: generator.get_state() for device, generator in list(_DEFAULTS.by_device.items())}


def set_default_states(states: Mapping[str, Tensor]) -> None:
    """Restore the states of the default generators."""
    for device, state in states.items():
        _DEFAULTS.of(device).set_state(state)


def generator_of(device_type: str) -> Generator:
    """Return the default generator of a device type."""
    return _DEFAULTS.of(device_type)


def reserve(generator: Generator | None, count: int, device_type: str = "cpu") -> tuple[int, int]:
    """Take counters for a kernel.

    Parameters
    ----------
    generator : Generator or None
        The argument of the operator; None means the default generator of the device.
    count : int
        How many counters (blocks of four 32-bit words) the kernel uses.
    device_type : str
        Where the kernel runs.

    Returns
    -------
    tuple of int
        The seed and the first counter.

    Raises
    ------
    DeviceError
        When the generator belongs to another device.

    Examples
    --------
    >>> import tt
    >>> from tt.library import reserve
    >>> generator = tt.Generator().manual_seed(7)
    >>> reserve(generator, 10), reserve(generator, 1)
    ((7, 0), (7, 10))
    """
    if generator is None:
        return _DEFAULTS.of(device_type).reserve(count)
    if generator._type != device_type:
        raise DeviceError(
            f"numbers for {device_type} come from a generator of {device_type}, not of {generator._type}\n"
            f"  try: tt.Generator({device_type!r})"
        )
    return generator.reserve(count)


def manual_seed(seed: int) -> Generator:
    """Restart the default generators of all devices from a seed; return the CPU's.

    Parameters
    ----------
    seed : int
        From -2**63 to 2**64 - 1.

    Examples
    --------
    >>> import tt
    >>> _ = tt.manual_seed(0)
    >>> first = tt.rand(2)
    >>> _ = tt.manual_seed(0)
    >>> bool((tt.rand(2) == first).all())
    True
    """
    _DEFAULTS.manual_seed(_checked_seed(seed))
    return default_generator


def seed() -> int:
    """Restart the default generators of all devices from a seed of the operating system, and return it."""
    value = _random_seed()
    manual_seed(value)
    return value


def initial_seed() -> int:
    """Return the seed from which the default generator of the CPU started."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Return the state of the default generator of the CPU, a tensor of bytes.

    Examples
    --------
    >>> import tt
    >>> state = tt.get_rng_state()
    >>> first = tt.rand(2)
    >>> tt.set_rng_state(state)
    >>> bool((tt.rand(2) == first).all())
    True
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Let the default generator of the CPU continue from a state that `get_rng_state` returned."""
    default_generator.set_state(new_state)
