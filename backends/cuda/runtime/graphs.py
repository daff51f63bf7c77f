"""CUDA graphs: the work of a stream, captured once and given again as a whole.

Note [Rules of a capture]
----------------------------
While a stream captures, no kernel runs: a host that waits for the device, or reads a number from it, needs a value that
does not exist yet, and CUDA refuses.  CuPy's calls of cuBLAS, cuRAND, cuSOLVER and cuSPARSE refuse too, because these
libraries allocate their own memory.  Random numbers that are not drawn by kernels of tt are refused here: each
replay would draw the same (see Note [Random numbers of a graph]).  The first such call ends the capture with an error
that names the operator.

Memory that is allocated during a capture comes from a pool of the graph, which keeps it for as long as the graph can
be replayed.  That pool may have to grow while a stream captures, so captures are always CUDA's "relaxed" ones.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from tt.backends.cuda.runtime.graph_random import CapturedNumbers
from tt.backends.cuda.runtime.interface import backend
from tt.core.library import Generator, Mode, TensorBase, errors

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing"]

_ERROR_MODES: Final = ("global", "thread_local", "relaxed")
_NUMBERS: Final = itertools.count(1)


class GraphPool:
    """A pool of memory that several graphs may share."""

    def __init__(self) -> None:
        self.number = next(_NUMBERS)
        self.native: Any = None

    def open(self, allocator: Any) -> Any:
        """Return the pool of CuPy."""
        if self.native is None:
            self.native = allocator.new_pool(private=True)
        return self.native

    def __repr__(self) -> str:
        return f"<memory pool {self.number} of CUDA graphs>"


def graph_pool_handle() -> GraphPool:
    """Return a pool of memory for graphs that never run at the same time: `CUDAGraph.capture_begin(pool=...)`."""
    return GraphPool()


def is_current_stream_capturing() -> bool:
    """Return whether the current stream is captured; False where CUDA was not used."""
    cuda = backend(usable=False)
    if cuda.available() is not None or not cuda.is_initialized():
        return False
    stream = cuda.library().cuda.get_current_stream()
    return bool(stream.ptr and stream.is_capturing())  # the default stream cannot be


class _Capturing(Mode):
    """Explains refusals of a capture, with the name of the operator."""

    def __init__(self, numbers: CapturedNumbers) -> None:
        super().__init__()
        self._numbers = numbers

    def handle(self, overload: Any, args: tuple[Any, ...]) -> Any:
        """Make a call; an error of CUDA becomes one that names it."""
        if "random" in overload.operator.definition.tags and _on_cuda(overload, args):
            generator = next((value for value in args if isinstance(value, Generator)), None)
            before = self._numbers.taken(generator)
            result = self._call(overload, args)
            after = self._numbers.taken(generator)
            # The generator advanced by more than tt's kernels took from the graph's state: the rest is
            # fixed in the launches.
            if (after[0] - before[0]) % 2**64 != after[1] - before[1]:
                raise errors.DeviceError(
                    f"{overload.name}(): these random numbers cannot be captured in a CUDA graph: each replay would "
                    "draw the same\n"
                    "  try: draw them before the replay, into a tensor that the graph reads"
                )
            return result
        return self._call(overload, args)

    def _call(self, overload: Any, args: tuple[Any, ...]) -> Any:
        try:
            return overload.dispatch(args)
        except Exception as error:
            # Libraries and CUDA have their own messages, also where a kernel explains their errors.
            if isinstance(error, errors.DeviceError) or "captur" not in str(error).lower():
                raise
            raise errors.DeviceError(
                f"{overload.name}(): cannot be captured in a CUDA graph: {error}\n"
                "  try: call it before or after the capture\n"
                "  see: tt ops explain, for the kernels that serve it"
            ) from error


def _on_cuda(overload: Any, args: tuple[Any, ...]) -> bool:
    tensors = [value for value in args if isinstance(value, TensorBase)]
    if tensors:
        return any(tensor.device.type == "cuda" for tensor in tensors)
    at = overload.operator.device_at
    return at < 0 or args[at] is None or args[at].type == "cuda"


class CUDAGraph:
    """Work of a CUDA stream that can be given again and again.

    Parameters
    ----------
    keep_graph : bool
        As in PyTorch; CuPy makes the executable graph when the capture ends, so it changes nothing.
    """

    def __init__(self, keep_graph: bool = False) -> None:
        self._graph: Any = None
        self._pool: GraphPool | None = None
        self._stream: Any = None
        self._mode: _Capturing | None = None
        self._kept: list[Any] = []
        self._numbers: CapturedNumbers | None = None
        self._generators: list[Generator] = []
        self._debug = False

    # --- capture -----------------------------------------------------------------------------------------------

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Begin to capture the current stream, which must not be the default one.

        Parameters
        ----------
        pool : GraphPool, optional
            From `graph_pool_handle`, or the `pool()` of another graph: both share its memory.
        capture_error_mode : str
            "global", "thread_local" or "relaxed"; captures are always relaxed (see Note [Rules of a capture]).

        Raises
        ------
        DeviceError
            On the default stream, during another capture, or when the graph was captured already.
        """
        if capture_error_mode not in _ERROR_MODES:
            raise errors.ValueRangeError(
                f"Unknown capture error mode. Expected one of {_ERROR_MODES}, not {capture_error_mode!r}"
            )
        cuda = backend()
        stream = cuda.library().cuda.get_current_stream()
        allocator = cuda._allocator()
        if self._graph is not None or self._mode is not None:
            raise errors.DeviceError("capture_begin(): the graph was captured already\n  try: graph.reset()")
        if not stream.ptr:
            raise errors.DeviceError(
                "CUDA graphs must be captured on a non-default stream\n"
                "  try: with tt.cuda.graph(g), or with tt.cuda.stream(tt.cuda.Stream())"
            )
        if stream.is_capturing():
            raise errors.DeviceError("capture_begin(): the stream is captured already")
        if allocator is None or allocator.pool is None:
            raise errors.DeviceError(
                "CUDA graphs need tt's own allocator of CUDA memory, which was exchanged"
            )
        if pool is not None and not isinstance(pool, GraphPool):
            raise errors.ArgumentError(
                "capture_begin",
                f"argument 'pool' must be a pool of graph_pool_handle(), not {type(pool).__name__}",
            )
        self._pool = GraphPool() if pool is None else pool
        self._stream, self._kept = stream, []
        self._numbers = CapturedNumbers(cuda, stream, self._generators)  # before the pool is the graph's
        allocator.begin_private(self._pool.open(allocator))
        cuda.transfers.captured = self._kept
        cuda.captured_numbers = self._numbers
        try:
            stream.begin_capture(cuda.library().cuda.runtime.streamCaptureModeRelaxed)
        except BaseException:
            allocator.end_private()
            cuda.transfers.captured = cuda.captured_numbers = self._numbers = None
            raise
        self._mode = _Capturing(self._numbers)
        self._mode.__enter__()

    def capture_end(self) -> None:
        """End the capture.

        Raises
        ------
        DeviceError
            When no capture is running, or something happened during it that captures do not allow.
        """
        if self._mode is None:
            raise errors.DeviceError("capture_end(): no capture is running\n  try: graph.capture_begin()")
        cuda, stream = backend(), self._stream
        mode, self._mode, self._stream = self._mode, None, None
        # First, so that what ends the capture does not pass through the mode.
        mode.__exit__(None, None, None)
        try:
            try:
                graph = stream.end_capture()
            finally:
                cuda.transfers.captured = cuda.captured_numbers = None
                cuda._allocator().end_private()
                assert self._numbers is not None  # with a mode there are numbers
                self._numbers.end()
        except cuda.library().cuda.runtime.CUDARuntimeError as error:
            self._forget()
            raise errors.DeviceError(
                f"capture_end(): the capture was broken by a call that it does not allow: {error}"
            ) from error
        except errors.DeviceError:
            self._forget()
            raise
        self._graph = graph

    def register_generator_state(self, generator: Any) -> None:
        """Register a generator from which the graph draws; others are registered at their first use.

        Raises
        ------
        ArgumentError
            If it is not a CUDA generator.
        """
        if not isinstance(generator, Generator) or generator.device.type != "cuda":
            raise errors.ArgumentError(
                "register_generator_state",
                "argument 'generator' must be a generator of CUDA, Generator('cuda')",
            )
        if generator not in self._generators:
            self._generators.append(generator)

    # --- replay ------------------------------------------------------------------------------------------------

    def replay(self) -> None:
        """Submit the captured work to the current stream, after advancing the generators."""
        graph, cuda = self._captured("replay"), backend()
        assert self._numbers is not None  # with a graph there are numbers
        self._numbers.advance()
        graph.launch(cuda.library().cuda.get_current_stream())

    def _captured(self, what: str) -> Any:
        if self._graph is None:
            raise errors.DeviceError(f"{what}(): the graph was not captured\n  try: with tt.cuda.graph(g)")
        return self._graph

    def reset(self) -> None:
        """Forget the captured work, and give its memory back, as far as no tensor is in it."""
        if self._mode is not None:
            raise errors.DeviceError("reset(): the capture is still running\n  try: graph.capture_end()")
        self._forget()

    def _forget(self) -> None:
        self._graph, self._pool, self._kept, self._numbers = None, None, [], None

    def pool(self) -> GraphPool:
        """Return the graph's pool of memory, for other graphs to share."""
        self._captured("pool")
        assert self._pool is not None
        return self._pool

    def enable_debug_mode(self) -> None:
        """Let `debug_dump` describe the graph."""
        self._debug = True

    def debug_dump(self, debug_path: str | Path) -> None:
        """Write a description of the graph in the language DOT; `enable_debug_mode` comes first."""
        if not self._debug:
            raise errors.DeviceError(
                "debug_dump(): the graph is not in debug mode\n  try: graph.enable_debug_mode()"
            )
        Path(debug_path).write_text(str(self._captured("debug_dump").debug_dot_str()), encoding="utf-8")


class graph:  # noqa: N801 - PyTorch's name
    """Captures the work of a `with` block in a graph.

    Parameters
    ----------
    cuda_graph : CUDAGraph
        The graph that captures it.
    pool : GraphPool, optional
        See `CUDAGraph.capture_begin`.
    stream : Stream, optional
        The stream that is captured; by default one that is made for captures.
    capture_error_mode : str
        See `CUDAGraph.capture_begin`.
    """

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: Any = None,
        stream: Any = None,
        capture_error_mode: str = "global",
    ) -> None:
        self.cuda_graph, self._options = cuda_graph, (pool, capture_error_mode)
        self.capture_stream = stream
        self._context: contextlib.ExitStack | None = None

    def __enter__(self) -> None:
        import tt.cuda

        if self.capture_stream is None:
            self.capture_stream = tt.cuda.Stream()
        # As in PyTorch: memory that can be freed is freed before, because during the capture it could not
        # be.
        tt.cuda.synchronize()
        gc.collect()
        tt.cuda.empty_cache()
        # If the capture cannot begin, the former stream is restored here; else `__exit__` does it.
        with contextlib.ExitStack() as stack:
            stack.enter_context(tt.cuda.stream(self.capture_stream))
            self.cuda_graph.capture_begin(*self._options)
            self._context = stack.pop_all()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        context, self._context = self._context, None
        assert context is not None
        with context:
            if error is None:
                self.cuda_graph.capture_end()
            else:
                # The user needs the error from inside, not that it broke the capture.
                with contextlib.suppress(errors.DeviceError):
                    self.cuda_graph.capture_end()
                self.cuda_graph.reset()
