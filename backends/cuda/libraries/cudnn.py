"""The door to cuDNN, through nvidia-cudnn-frontend: graphs of operations that are planned once and then executed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from tt.backends.cuda.libraries.plans import Plans, Workspaces, place_of
from tt.backends.cuda.runtime.settings import cudnn as settings
from tt.core.library import Carried, KernelTable, errors, warn_user

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["DTYPES", "Cudnn", "GraphPlan", "OverCudnn", "problem", "tables_of"]

INSTALL: Final = "pip install 'tt-tensor[cuda12-libraries]' (or cuda13-libraries, as your CuPy)"

DTYPES: Final = {"float16": "HALF", "bfloat16": "BFLOAT16", "float32": "FLOAT", "float64": "DOUBLE"}
"""A dtype -> what cuDNN calls it."""

TRIED: Final = 10
"""The maximum number of plans that are timed to find the fastest, as in PyTorch."""
RUNS: Final = 3
"""The number of timed runs of each; the first run, which loads its code, does not count."""


@lru_cache(maxsize=1)
def problem() -> str | None:
    """Return why cuDNN cannot be used, or None if it can."""
    if find_spec("cudnn") is None:
        return f"nvidia-cudnn-frontend is not installed; try: {INSTALL}"
    try:
        import_module("cudnn").backend_version()
    except MemoryError:  # says nothing about the library, and the answer is kept
        raise
    except Exception as error:  # where the library is not found, the module raises what its loader does
        first = (str(error).strip().splitlines() or [repr(error)])[0]
        return f"cuDNN cannot be loaded: {first}; try: {INSTALL}"
    return None


@dataclass(frozen=True)
class GraphPlan:
    """A graph that cuDNN has planned, or why it has not.

    Attributes
    ----------
    graph : object or None
        The graph, ready to be executed.
    workspace : int
        How many bytes it works in.
    refusal : str
        Why cuDNN does not serve it; empty if it does.
    """

    graph: Any
    workspace: int = 0
    refusal: str = ""


class Cudnn:
    """Graphs of cuDNN by the calls they were made for.

    Parameters
    ----------
    backend : CudaBackend
        Whose memory and streams are used.
    module : callable, optional
        Returns the module `cudnn`.
    problem : callable, optional
        Returns why the library cannot be used, or None.
    """

    def __init__(
        self,
        backend: CudaBackend,
        module: Callable[[], Any] = lambda: import_module("cudnn"),
        problem: Callable[[], str | None] = problem,
    ) -> None:
        self.backend, self.problem = backend, problem
        self._load, self._module = module, None
        # A handle is not for two threads at a time.  One serves all streams of a device in turn: making a handle
        # allocates, which must not happen while a stream that is met for the first time is being captured.
        self._handles = Carried()
        self._workspaces = Workspaces(backend)
        self.plans: Plans[GraphPlan] = Plans()

    @property
    def module(self) -> Any:
        """The module `cudnn`, imported at first use."""
        if self._module is None:
            self._module = self._load()
        return self._module

    def run(
        self,
        key: Hashable,
        make: Callable[[Any, Any], None],
        dtype: str,
        pointers: Mapping[int, int],
        notes: tuple[str, ...] = (),
    ) -> bool:
        """Execute a graph on the current stream.

        Parameters
        ----------
        key : hashable
            The key of the graph.
        make : callable
            Describes it, given the module and an empty graph, whose tensors get the uids of `pointers`.
        dtype : str
            The dtype of what goes in and out.
        pointers : mapping
            The uid of a tensor -> its address.
        notes : tuple of str
            What engines must not have: names of `cudnn.numerical_note`.

        Returns
        -------
        bool
            Whether cuDNN serves it; if not, nothing was written.

        Raises
        ------
        DeviceError
            When cuDNN fails while it computes.
        """
        if not settings.enabled:
            return False
        queue = place_of(self.backend)
        handle = self._handle(queue)
        timed = (
            settings.benchmark and not self._is_capturing()
        )  # a capture only notes work, which takes no time

        def planned() -> GraphPlan:
            plan = self._plan(make, dtype, handle, notes)
            return self._fastest(plan, pointers, queue, handle) if timed and plan.graph is not None else plan

        # The time of a plan depends on the device, and only timed plans may replace the heuristic's choice.
        plan = self.plans.get((queue[0], key, notes, timed), planned)
        if plan.graph is None:
            return False
        workspace = self._workspaces.address(queue, plan.workspace)
        try:
            plan.graph.execute(dict(pointers), workspace, handle=handle)
        except (RuntimeError, self.module.cudnnGraphNotSupportedError) as error:
            raise errors.DeviceError(f"cuDNN failed: {error}\n  {key}") from error
        return True

    def _handle(self, place: tuple[int, int]) -> Any:
        device, stream = place
        mine = self._handles.__dict__.setdefault("of", {})
        handle = mine.get(device)
        if handle is None:
            handle = mine[device] = self.module.create_handle()
        self.module.set_stream(handle=handle, stream=stream)
        return handle

    def _plan(
        self, make: Callable[[Any, Any], None], dtype: str, handle: Any, notes: tuple[str, ...]
    ) -> GraphPlan:
        cudnn = self.module
        wide = "DOUBLE" if dtype == "float64" else "FLOAT"
        graph = cudnn.pygraph(
            io_data_type=getattr(cudnn.data_type, DTYPES[dtype]),
            intermediate_data_type=getattr(cudnn.data_type, wide),
            compute_data_type=getattr(cudnn.data_type, wide),
            handle=handle,
        )
        try:
            make(cudnn, graph)
            graph.validate()
            graph.build_operation_graph()
            graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
            if notes:
                graph.deselect_numeric_notes([getattr(cudnn.numerical_note, note) for note in notes])
            graph.check_support()
            graph.build_plans()
            return GraphPlan(graph, int(graph.get_workspace_size()))
        except cudnn.cudnnGraphNotSupportedError as error:
            return GraphPlan(None, refusal=str(error) or "not supported")
        except MemoryError:  # another time the graph can be built, and a refusal is kept
            raise
        except (
            Exception
        ) as error:  # a fault of the installation, or of the description: slower, but not wrong
            warn_user(f"cuDNN does not build a graph, and tt's own kernels serve in its place: {error}")
            return GraphPlan(None, refusal=f"{type(error).__name__}: {error}")

    def _is_capturing(self) -> bool:
        stream = self.backend.library().cuda.get_current_stream()
        return bool(stream.ptr and stream.is_capturing())  # the default stream cannot be

    def _fastest(
        self, plan: GraphPlan, pointers: Mapping[int, int], place: tuple[int, int], handle: Any
    ) -> GraphPlan:
        """Run each of a graph's plans, on the tensors of the call, and select the one that takes the least time."""
        graph, cudnn = plan.graph, self.module
        declined = (cudnn.cudnnGraphNotSupportedError, NotImplementedError)
        best: tuple[float, int, int] | None = None
        for index in range(min(int(graph.get_execution_plan_count()), TRIED)):
            try:
                graph.build_plan_at_index(index)
                size = int(graph.get_workspace_size())
                took = self._time(graph, pointers, self._workspaces.address(place, size), handle)
            except declined:
                continue
            if best is None or took < best[0]:
                best = took, index, size
        if best is None:
            return plan
        graph.build_plan_at_index(best[1])
        return GraphPlan(graph, best[2])

    def _time(self, graph: Any, pointers: Mapping[int, int], workspace: int, handle: Any) -> float:
        """Return how many milliseconds the selected plan takes, the least of some runs."""
        cuda = self.backend.library().cuda
        # Once without a clock: the first run may load code.
        graph.execute(dict(pointers), workspace, handle=handle)
        events = []
        for _ in range(RUNS):
            start, end = cuda.Event(), cuda.Event()
            start.record()
            graph.execute(dict(pointers), workspace, handle=handle)
            end.record()
            events.append((start, end))
        # Work of a stream ends in order, so the last event is enough.
        events[-1][1].synchronize()
        return min(float(cuda.get_elapsed_time(start, end)) for start, end in events)

    def refusals(self) -> dict[Hashable, str]:
        """Return the calls that cuDNN refused, with the reasons."""
        return {key: plan.refusal for key, plan in self.plans.items() if plan.graph is None}


class OverCudnn:
    """Kernels over cuDNN: goes before the class of tt's own kernels, which serve what cuDNN does not.

    Parameters
    ----------
    backend : CudaBackend
        Where they run.
    cudnn : Cudnn
        The door to the library.
    """

    def __init__(self, backend: CudaBackend, cudnn: Cudnn) -> None:
        self.backend, self.cudnn = backend, cudnn


def tables_of(
    add: Callable[..., None],
    own: Any,
    library: Any,
    cudnn: Cudnn,
    dtypes: tuple[str, ...],
    served: tuple[str, ...],
) -> list[KernelTable]:
    """Return the kernels of tt, and those over cuDNN, which go before them.

    Parameters
    ----------
    add : callable
        Adds kernels to a table: `add(table, kernels, **options)`.
    own, library : object
        tt's kernels, and those over cuDNN.
    cudnn : Cudnn
        The door to the library.
    dtypes, served : tuple of str
        The dtypes of tt's kernels, and of cuDNN's.
    """
    tables = [KernelTable(device="cuda"), KernelTable(device="cuda")]
    options: dict[str, Any] = {"half": "native", "check": True}
    add(tables[0], own, dtypes=dtypes, priority=1, **options)
    add(tables[1], library, dtypes=served, priority=2, available=cudnn.problem, by="cuDNN", **options)
    return tables
