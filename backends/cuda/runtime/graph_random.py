"""Random numbers in CUDA graphs.

Note [Random numbers of a graph]
--------------------------------
The arguments of a captured launch are fixed, so kernels of a graph read seed and offset from memory of the graph, which
each replay writes before the launch; their own offsets count from there.  A replay advances the generator by as much as
the captured calls would outside a graph.  So a replay draws the numbers that the program would draw there: the same
after the same seed, and others the next time.  The capture itself draws none: the generator is reset to its earlier
state afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.core.library import Generator, errors, reserve

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend
    from tt.backends.cuda.handle import StridedHandle

__all__ = ["CapturedNumbers"]

_ALL: Final = 2**64
_ROOM: Final = 32
"""The maximum number of generators of a graph."""


class _Source:
    """A generator from which a graph draws.

    Attributes
    ----------
    address : int
        Of seed and offset in memory of the device.
    seed, first : int
        Of the generator when the capture began.
    own : int
        How many counters kernels took that read the memory.
    total : int
        How many a replay takes.
    """

    def __init__(self, generator: Generator, address: int) -> None:
        self.generator, self.address = generator, address
        self.seed, self.first = generator.initial_seed(), generator.get_offset()
        self.own = self.total = 0


class CapturedNumbers:
    """The generators from which a graph draws.

    Parameters
    ----------
    backend : CudaBackend
        Whose kernels draw.
    stream : object
        The stream of CuPy that is going to be captured, and is the current one.
    generators : sequence of Generator
        Those that `register_generator_state` named; others are noted when they are first used.
    """

    def __init__(self, backend: CudaBackend, stream: Any, generators: Sequence[Generator] = ()) -> None:
        self._backend, self._stream = backend, stream
        # Not from the graph's pool: memory that the graph frees before it first draws would be overwritten after a
        # replay has written the state.  The memory is free when the stream has reached this point.
        self._states: StridedHandle | None = backend.empty((2 * _ROOM,), np.dtype(np.uint64))
        self._ready: Any = backend.library().cuda.Event(disable_timing=True)
        self._ready.record(stream)
        self._sources: dict[Generator, _Source] = {}
        for generator in (backend.generator(), *generators):
            self._source(generator)

    def _source(self, generator: Generator) -> _Source:
        source = self._sources.get(generator)
        if source is None:
            assert self._states is not None  # until the capture ends
            number = len(self._sources)
            if number == _ROOM:
                raise errors.DeviceError(
                    f"a CUDA graph draws from {_ROOM} generators at most\n  try: fewer generators in a capture"
                )
            source = self._sources[generator] = _Source(generator, self._states.data_ptr + 16 * number)
        return source

    # --- capture -----------------------------------------------------------------------------------------------

    def is_capturing(self) -> bool:
        """Return whether this thread's current stream is the one that is captured."""
        return bool(self._backend.library().cuda.get_current_stream().ptr == self._stream.ptr)

    def reserve(self, generator: Generator | None, count: int) -> tuple[int, int, int]:
        """Take counters for a captured kernel; return 0, the first of them, and the address from which it counts.

        Raises
        ------
        DeviceError
            When the generator was given another seed, or an earlier state, during the capture.
        """
        reserve(generator, 0, self._backend.device_type)  # refuses generators of other devices
        source = self._source(self._backend.generator() if generator is None else generator)
        seed, offset = source.generator.reserve(count)
        # The counter wraps at 2**64. A distance over half of that can only come from going backwards.
        relative = (offset - source.first) % _ALL
        if seed != source.seed or relative >= _ALL // 2:
            raise errors.DeviceError(_CHANGED)
        source.own += count
        # The seed and the first counter are read from memory at replay; the kernel is told only how far it
        # is from there.
        return 0, relative, source.address

    def taken(self, generator: Generator | None) -> tuple[int, int]:
        """Return a generator's offset, and how many counters captured kernels took from it."""
        drawn = self._backend.generator() if generator is None else generator
        source = self._sources.get(drawn)
        return drawn.get_offset(), 0 if source is None else source.own

    def end(self) -> None:
        """Reset the generators to their state before the capture.

        Raises
        ------
        DeviceError
            When one was given another seed, or an earlier state, during the capture.
        """
        changed = False
        for source in self._sources.values():
            generator = source.generator
            source.total = (generator.get_offset() - source.first) % _ALL
            changed |= generator.initial_seed() != source.seed or source.total >= _ALL // 2
            # Captured kernels did not run, so nothing was drawn yet. As in PyTorch, the first replay
            # continues from here.
            generator.manual_seed(source.seed)
            generator.set_offset(source.first)
        # Generators from which no captured kernel draws need no state at replay.
        self._sources = {generator: source for generator, source in self._sources.items() if source.own}
        self._states = self._states if self._sources else None
        if changed:
            raise errors.DeviceError(_CHANGED)

    # --- replay ------------------------------------------------------------------------------------------------

    def advance(self) -> None:
        """Advance each generator by the counters of a replay, and write its state for the replayed work."""
        from tt.backends.cuda.random import RANDOM

        if self._states is None:
            return
        stream = self._backend.library().cuda.get_current_stream()
        # The states must not be freed for reuse before the replay's work on this stream has read them.
        self._states.owner.record_stream(stream)
        if self._ready is not None:
            if self._ready.done:
                self._ready = None
            else:
                stream.wait_event(self._ready)
        for source in self._sources.values():
            # A replay takes as many counters as the capture did, so no two replays give the same numbers.
            seed, offset = source.generator.reserve(source.total)
            args = (np.uint64(source.address), np.uint64(seed), np.uint64(offset))
            # A kernel, not a copy from the host: it is ordered before the graph's work and needs no pinned
            # memory.
            RANDOM.kernel("write_state")(self._backend, (1,), (1,), args)


_CHANGED: Final = (
    "the seed or the state of a generator was set while a CUDA graph was captured, which replays cannot repeat\n"
    "  try: set it before the capture, or before a replay"
)
