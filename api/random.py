"""tt.random: the default generators of random numbers, and blocks of code that leave them as they were."""

from __future__ import annotations

from collections.abc import Generator as Generating
from collections.abc import Iterable
from contextlib import contextmanager
from typing import Any

import tt
from tt import default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from tt.core.tensor.generator import default_states, generator_of
from tt.errors import ArgumentError

__all__ = [
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
    "thread_safe_generator",
]


@contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None, enabled: bool = True, device_type: str = "cuda"
) -> Generating[None]:
    """Restore the default generators at the end of a block.

    Parameters
    ----------
    devices : iterable of device or int, optional
        Whose generators are restored besides the CPU's; by default those of all devices that have one.  All devices of
        a type share a generator.
    enabled : bool
        False does nothing.
    device_type : str
        The type of `devices` that are numbers.

    Examples
    --------
    >>> import tt
    >>> _ = tt.manual_seed(0)
    >>> with tt.random.fork_rng():
    ...     first = tt.rand(2)
    >>> bool((tt.rand(2) == first).all())
    True
    """
    if not isinstance(device_type, str):
        raise ArgumentError(
            "fork_rng", f"argument 'device_type' must be str, not {type(device_type).__name__}"
        )
    if not enabled:
        yield
        return
    if devices is None:
        states = default_states()
    else:
        named = [tt.device(device_type, d) if isinstance(d, int) else tt.device(d) for d in devices]
        states = {kind: generator_of(kind).get_state() for kind in {"cpu", *(d.type for d in named)}}
    try:
        yield
    finally:
        for kind, state in states.items():
            generator_of(kind).set_state(state)


def thread_safe_generator() -> tt.Generator | None:
    """Return the generator that a worker of a `DataLoader` draws from, or None: every generator of tt is safe to share.

    Examples
    --------
    >>> import tt
    >>> tt.random.thread_safe_generator() is None
    True
    """
    return None
