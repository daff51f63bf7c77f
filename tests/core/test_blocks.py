"""Context managers and interrupts: after an exception at any moment, everything is as it was before the block."""

from __future__ import annotations

import ast
import random
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tt
from tt import library
from tt.core import compiled
from tt.core.blocks import Block, swapped, together
from tt.core.devices.accelerator import device_index
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.host.host import HOST
from tt.core.methods import printing
from tt.core.types import device
from tt.core.types.state import STATE
from tt.core.types.thread_state import THREAD
from tt.plugins.autograd.backward import multi_hooks
from tt.plugins.autograd.features import checkpoint
from tt.plugins.autograd.record.graph import STATE as GRAD
from tt.plugins.autograd.record.modes import recording
from tt.plugins.autograd.record.saved import HOOKS
from tt.plugins.autograd.transforms import forward_ad, levels

ROOT = Path(__file__).parents[2]


class Interrupt(BaseException):
    """The error of the handler of the signal."""


class Functions(tt.overrides.TTFunctionMode):
    """A mode that passes every call on."""


class Dispatching(library.TTDispatchMode):
    """A mode that passes every call on."""


STREAM = tt.Stream(device="cpu")

BLOCKS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "default_dtype": lambda: tt.default_dtype(tt.float64),
    "fallback_policy": lambda: tt.fallback_policy("warn"),
    "mask_kernels": lambda: tt.mask_kernels("softmax"),
    "prefer": lambda: tt.prefer("cpu", device="cpu"),
    "printoptions": lambda: tt.printoptions(precision=2),
    "device": lambda: tt.device("meta"),
    "device_index": lambda: device_index(None),
    "function mode": Functions,
    "dispatch mode": Dispatching,
    "count": tt.count,
    "DisableTTFunctionSubclass": tt.overrides.DisableTTFunctionSubclass,
    "DisableTTFunction": tt.overrides.DisableTTFunction,
    "scoped": library.scoped,
    "stream": lambda: STREAM,
    "cpu.stream": lambda: tt.cpu.stream(STREAM),
    "no_grad": tt.no_grad,
    "enable_grad": tt.enable_grad,
    "recording": lambda: recording(False),
    "inference_mode": tt.inference_mode,
    "saved_tensors_hooks": lambda: tt.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    "disable_saved_tensors_hooks": lambda: tt.autograd.graph.disable_saved_tensors_hooks("not here"),
    "dual_level": forward_ad.dual_level,
    "a level of vmap": lambda: levels.running(3),
    "differentiating": levels.differentiating,
    "entered": lambda: multi_hooks.entered([], None),
    "set_checkpoint_early_stop": lambda: checkpoint.set_checkpoint_early_stop(False),
    "set_checkpoint_debug_enabled": lambda: checkpoint.set_checkpoint_debug_enabled(True),
    "detect_anomaly": tt.autograd.detect_anomaly,
    "check_sparse_tensor_invariants": lambda: tt.sparse.check_sparse_tensor_invariants(False),
}


def state() -> dict[str, Any]:
    """Return everything that the blocks change."""
    return {
        "settings": STATE.settings,
        "counts": (STATE.modes, STATE.placed, STATE.guard),
        "modes": list(THREAD.modes),
        "protocols": (THREAD.functions, THREAD.subclasses, THREAD.masked),
        "device": (device.DEFAULT.stack, device.DEFAULT.device),
        "printing": printing.get_printoptions(),
        "scopes": len(REGISTRY.scopes._scopes),
        "preferences": HOST.preferences.rules,
        "recording": (GRAD.enabled(), GRAD.switched_off, GRAD.packing, GRAD.anomaly),
        "hooks": (HOOKS.pairs, HOOKS.forbidden),
        "levels": (levels.levels(), levels.is_differentiating(), forward_ad._OPEN.levels),
        "passes": multi_hooks._PASSES.stack,
        "early": checkpoint._SETTINGS.stop,
        "debug": checkpoint._SETTINGS.debug,
        "inference": GRAD.inferring(),
        "stream": tt.cpu.current_stream(),
        "sparse": tt.sparse.check_sparse_tensor_invariants.is_enabled(),
    }


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Let SIGALRM raise `Interrupt`."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals go to the main thread")

    def handler(*_: object) -> None:
        raise Interrupt

    before = signal.signal(signal.SIGALRM, handler)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def interrupt_at_drawn_moments(
    make: Callable[[], AbstractContextManager[Any]], times: int, seed: int
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of detect_anomaly
        with make():
            pass
        before, draws, hit = state(), random.Random(seed), 0
        for number in range(times):
            kept: Any = None
            try:
                # Again and again: Python drops what is raised while an object is finalised.
                signal.setitimer(signal.ITIMER_REAL, draws.uniform(2e-6, 4e-5), 0.2)
                try:
                    while True:
                        with make():
                            pass
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupt as error:
                kept = error  # so that nothing is put right only because objects go
                hit += 1
            assert state() == before, (number, kept)
        assert hit == times


needs_compiled = pytest.mark.skipif(
    not compiled.status().active, reason="interpreted, the first instruction of __exit__ can be interrupted"
)


@needs_compiled
@pytest.mark.parametrize("name", BLOCKS)
def test_an_interrupt_leaves_no_block_half_entered_or_half_left(name: str, interrupts: None) -> None:
    interrupt_at_drawn_moments(BLOCKS[name], times=100, seed=1)


@needs_compiled
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", BLOCKS)
def test_thousands_of_interrupts_leave_no_block_half_entered_or_half_left(
    name: str, interrupts: None
) -> None:
    interrupt_at_drawn_moments(BLOCKS[name], times=5000, seed=2)


def test_an_error_of_the_block_s_body_changes_everything_back() -> None:
    for name, make in BLOCKS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            before = state()
            with pytest.raises(KeyError), make():
                raise KeyError
            assert state() == before, name


class Failing(Block):
    """Raises in some of its steps, after their work."""

    def __init__(self, *steps: str) -> None:
        self.steps = list(steps)
        self.value = 0

    def step(self, name: str) -> None:
        if self.steps and self.steps[0] == name:
            del self.steps[0]
            raise Interrupt(name)

    def _look(self) -> int:
        self.step("look")
        return self.value

    def _begin(self) -> int:
        self.value += 1
        self.step("begin")
        return self.value

    def _end(self, before: int) -> None:
        self.step("end")
        self.value = before


@pytest.mark.parametrize("steps", [("look",), ("begin",), ("begin", "end"), ("end",)])
def test_a_block_goes_back_whichever_step_is_interrupted(steps: tuple[str, ...]) -> None:
    block = Failing(*steps)
    with pytest.raises(Interrupt), block:
        pass
    assert block.value == 0 and not block.steps
    with block as value:
        assert value == 1
    assert block.value == 0


def test_a_block_nests_in_itself() -> None:
    block = Failing()
    with block, block as inner:
        assert inner == 2
    assert block.value == 0


def test_blocks_together_end_in_the_reverse_order() -> None:
    owner = SimpleNamespace(value=0)
    with together(swapped(owner, "value", 1), swapped(owner, "value", 2)):
        assert owner.value == 2
    assert owner.value == 0


IN_PYTHON = {
    "api/_compat/settings.py": 1,  # a generator
    "api/_compat/torch/_C/_dispatch.py": 1,  # leaves blocks of tt
    "api/_compat/torch/library.py": 1,  # a generator
    "api/autograd/_saved_mutation.py": 1,  # a generator
    "api/autograd/grad_mode.py": 1,  # does nothing: the switch is set when it is made
    "api/distributed/algorithms/join.py": 1,  # communicates at its end
    "api/distributed/collectives.py": 1,  # a generator
    "api/distributed/engines/nccl.py": 1,  # blocks of a device and a stream, in the thread of operations
    "api/distributed/engines/nccl_libraries.py": 2,  # NCCL's own begin and end
    "api/distributed/engines/pmi.py": 1,  # of a process's start
    "api/distributed/fsdp/fully_shard.py": 1,  # a generator
    "api/distributed/fsdp/fully_sharded_data_parallel.py": 2,  # generators
    "api/distributed/fsdp/shard_group.py": 3,  # generators
    "api/distributed/recorder.py": 1,  # of named operations, which is for looking at a run
    "api/distributed/stores/file_store.py": 1,  # a generator
    "api/distributed/stores/tcp_store.py": 1,  # in the thread of operations, which no signal interrupts
    "api/fx/_symbolic_trace.py": 1,  # a generator
    "api/fx/graph.py": 2,  # puts the place of new nodes back; a generator
    "api/fx/graph_module.py": 1,  # a generator
    "api/fx/interpreter.py": 1,  # a generator
    "api/fx/proxy.py": 1,  # puts the scope of a trace back
    "api/fx/traceback.py": 4,  # generators
    "api/hub/models.py": 1,  # a generator
    "api/hub/progress.py": 1,  # ends a line
    "api/multiprocessing/segments.py": 1,  # a generator
    "api/nn/attention/__init__.py": 1,  # a generator
    "api/nn/parallel/distributed.py": 1,  # a generator
    "api/nn/utils/parametrize.py": 1,  # a generator
    "api/nn/utils/stateless.py": 2,  # generators
    "api/optim/swapping.py": 1,  # a generator
    "api/profiler/__init__.py": 1,  # does nothing
    "api/random.py": 1,  # a generator
    "api/serialization/allow_list.py": 1,  # puts a list back
    "api/serialization/atomic_file.py": 1,  # closes a file
    "api/serialization/options.py": 2,  # put a setting back
    "api/utils/_contextlib.py": 1,  # of a class whose subclasses say what it does
    "api/utils/benchmark/timer.py": 1,  # a generator
    "api/utils/data/worker_pool.py": 1,  # a generator
    "api/utils/flop_counter.py": 1,  # prints the counts of a mode
    "api/utils/hooks.py": 1,  # a handle is removed once
    "api/utils/module_tracker.py": 1,  # handles of hooks
    "api/utils/tensorboard.py": 1,  # closes a file
    "core/dispatch/intercept/tt_function.py": 1,  # `_Nothing` does nothing
    "core/dispatch/registry/sources.py": 1,  # a handle is removed once
    "core/extension/cache.py": 3,  # locks of files, and a full disk said so
    "core/tensor/shared_names.py": 1,  # closes a file
    "core/host/isolation.py": 1,  # a generator, closed at the latest when it is freed
    "core/custom_op/library.py": 1,  # removes registrations
    "core/host/plugin_code.py": 1,  # a generator
    "plugins/autograd/features/anomaly.py": 1,  # reports the error of a node
    "plugins/autograd/features/checkpoint.py": 1,  # a generator
    "plugins/autograd/record/hooks.py": 1,  # a handle of hooks
    "plugins/autograd/backward/multi_hooks.py": 1,  # a handle of hooks
}
"""Context managers that are no `Block`, by file: their `__exit__` could be interrupted before it does anything."""


def test_every_context_manager_is_a_block_or_is_listed_here() -> None:
    found: dict[str, int] = {}
    for folder in ("api", "core", "plugins"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if "testing" in path.parts or name in ("core/blocks.py", "core/types/state.py"):
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not isinstance(node, ast.FunctionDef):
                    continue
                decorated = any("contextmanager" in ast.unparse(d) for d in node.decorator_list)
                if decorated or node.name == "__exit__":
                    found[name] = found.get(name, 0) + 1
    del found["plugins/autograd/record/grad_state.py"]  # `Switching`, which is compiled
    del found["core/types/device.py"]  # for type checkers; tt.core.types.state has the functions
    assert found == IN_PYTHON
