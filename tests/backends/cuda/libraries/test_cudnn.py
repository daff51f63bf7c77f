"""Convolution and attention by cuDNN, played by PyTorch: which graphs are described, and what comes out."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from tests.threads import in_threads

pytest.importorskip("torch")

from tests.backends.cuda.convolution.test_convolve import SMALL, TOLERANCE, close, torch, wide
from tests.backends.cuda.fake_cudnn import FakeCudnn, NotSupportedError
from tests.backends.cuda.serving import backend_on, contents, served, values
from tests.backends.cuda.test_attention import check as check_attention
from tt.backends.cuda import attention, cudnn
from tt.backends.cuda.convolution import convolve as convolution
from tt.backends.cuda.libraries import cublaslt
from tt.backends.cuda.libraries import cudnn as door
from tt.backends.cuda.libraries.cudnn import Cudnn
from tt.core.errors import DeviceError

pytestmark = pytest.mark.torch


@pytest.fixture
def fake():
    return FakeCudnn()


@pytest.fixture
def library(fake, host_engine):
    """A backend, and the kernels over cuDNN of both families."""
    backend = backend_on(host_engine)
    cudnn = Cudnn(backend, lambda: fake, lambda: None)
    tables = [*convolution.tables(backend, cudnn), *attention.tables(backend, cudnn)]
    kernels = served(tables)
    return backend, kernels[1] | kernels[3]


@pytest.mark.parametrize("case", SMALL, ids=lambda case: f"{case[0]}d-{case[1]}-{case[2]}")
@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_the_three_products_of_a_convolution(library, fake, case, name):
    backend, kernels = library
    dims, x_size, w_size, stride, padding, dilation, groups = case
    x, w, bias = values(1, x_size, name), values(2, w_size, name), values(3, w_size[0], name)
    tx, tw = wide(x).requires_grad_(), wide(w).requires_grad_()
    forward = getattr(torch.nn.functional, f"conv{dims}d")
    expected = forward(tx, tw, wide(bias), stride, padding, dilation, groups)
    g = values(4, tuple(expected.shape), name)
    expected.backward(wide(g))
    hx, hw, hb, hg = (backend.normalise(a) for a in (x, w, bias, g))
    found = kernels[f"conv{dims}d"](hx, hw, hb, stride, padding, dilation, groups)
    close(found, expected.detach(), TOLERANCE[name])
    each = [convolution.each(value, dims) for value in (stride, padding, dilation)]
    close(kernels["_conv_weight"](hx, hg, w_size, *each, groups), tw.grad, TOLERANCE[name])
    more = [
        size - ((out - 1) * hop - 2 * pad + gap * (width - 1) + 1)
        for size, out, hop, pad, gap, width in zip(x_size[2:], g.shape[2:], *each, w_size[2:], strict=True)
    ]
    found = kernels[f"conv_transpose{dims}d"](hg, hw, None, each[0], each[1], more, groups, each[2])
    close(found, tx.grad, TOLERANCE[name])
    assert fake.executed == [(op, 7) for op in ("conv_fprop", "conv_wgrad", "conv_dgrad")]
    assert fake.graphs[0].types["compute"] == "FLOAT"


def test_channels_that_lie_innermost_stay_there(library, fake):
    backend, kernels = library
    x = np.ascontiguousarray(values(1, (2, 5, 6, 4))).transpose(0, 3, 1, 2)
    w = values(2, (8, 4, 3, 3))
    found = kernels["conv2d"](backend.normalise(x), backend.normalise(w), None, 1, 1, 1, 1)
    assert found.strides == (240, 1, 48, 8) and fake.graphs[0].calls[0][1]["one"].stride == [120, 1, 24, 4]
    close(found, torch.nn.functional.conv2d(wide(x), wide(w), padding=1), 1e-5)
    gaps = backend.normalise(values(1, (2, 8, 5, 6))[:, ::2])
    kernels["conv2d"](gaps, backend.normalise(w), None, 1, 1, 1, 1)
    assert fake.graphs[1].calls[0][1]["one"].stride == [120, 30, 6, 1]


def test_switches_choose_engines(library, fake):
    backend, kernels = library
    args = [backend.normalise(values(1, (1, 8, 4, 4))), backend.normalise(values(2, (8, 8, 3, 3)))]

    def convolve(*handles):
        kernels["conv2d"](*handles, None, 1, 0, 1, 1)
        return fake.graphs[-1].notes

    assert convolve(*args) == ["DOWN_CONVERT_INPUTS"]
    with cudnn.flags(allow_tf32=False, deterministic=True):
        assert convolve(*args) == ["DOWN_CONVERT_INPUTS", "TENSOR_CORE", "NONDETERMINISTIC"]
    half = [backend.normalise(a.array.astype(np.float16)) for a in args]
    assert convolve(*half) == []
    before = len(fake.executed)
    with cudnn.flags(enabled=False):
        convolve(*args)
    assert len(fake.executed) == before


class Clock:
    """Events of CUDA that read the time of the fake's plans, on a stream that may be capturing."""

    def __init__(self, fake, capturing=False):
        self.fake, self.capturing = fake, capturing

    def Event(self):  # noqa: N802 - CuPy's name
        event = SimpleNamespace(at=None, synchronize=lambda: None)
        event.record = lambda: setattr(event, "at", self.fake.clock)
        return event

    def get_elapsed_time(self, start, end):
        return end.at - start.at

    def get_current_stream(self):
        return SimpleNamespace(ptr=7, is_capturing=lambda: self.capturing)


def convolve_with(backend, kernels, fake, capturing=False, size=5):
    """Convolve on a library with a clock; return how often cuDNN ran, and the plan of the last graph."""
    clock, library = Clock(fake, capturing), backend.library()
    vars(library.cuda).update(
        Event=clock.Event,
        get_elapsed_time=clock.get_elapsed_time,
        get_current_stream=clock.get_current_stream,
    )
    before, x, w = len(fake.executed), values(1, (1, 8, size, size)), values(2, (8, 8, 3, 3))
    found = kernels["conv2d"](backend.normalise(x), backend.normalise(w), None, 1, 0, 1, 1)
    close(found, torch.nn.functional.conv2d(wide(x), wide(w)), 1e-5)
    return len(fake.executed) - before, fake.graphs[-1].selected


def test_benchmark_keeps_the_fastest_plan_of_each_geometry(library, fake):
    fake.times = [3.0, None, 1.0, 2.0]
    assert convolve_with(*library, fake) == (1, 0)  # off: the heuristics choose
    with cudnn.flags(benchmark=True):
        assert convolve_with(*library, fake) == (3 * (1 + door.RUNS) + 1, 2)
        assert convolve_with(*library, fake) == (1, 2)
        assert convolve_with(*library, fake, size=6)[0] > 1
    assert convolve_with(*library, fake)[0] == 1
    assert len(fake.graphs) == 3


def test_benchmark_times_ten_plans_at_most_and_none_in_a_capture(library, fake):
    fake.times = [float(20 - i) for i in range(15)]
    with cudnn.flags(benchmark=True):
        assert convolve_with(*library, fake, capturing=True) == (1, 0)
        assert convolve_with(*library, fake) == (door.TRIED * (1 + door.RUNS) + 1, door.TRIED - 1)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_attention_and_its_gradients(library, fake, name, causal):
    q, k, v = (values(i, (2, 3, n, 8), name) for i, n in enumerate((6, 9, 9)))
    check_attention(library, q, k, v, causal=causal, tolerance=4e-2)
    assert [op for op, _ in fake.executed] == ["sdpa", "sdpa_backward"]
    assert [graph.calls[0][1].get("generate_stats") for graph in fake.graphs] == [True, None]


def test_attention_reads_transposed_heads_in_place_and_copies_what_is_expanded(library, fake):
    q = values(1, (2, 5, 3, 8), "float16").transpose(0, 2, 1, 3)
    k = np.broadcast_to(values(2, (2, 1, 7, 8), "float16"), (2, 3, 7, 8))
    check_attention(library, q, k, k, tolerance=4e-2)
    given = fake.graphs[0].calls[0][1]
    assert given["q"].stride == [120, 8, 24, 1] and given["k"].stride == [168, 56, 8, 1]


def test_a_mask_is_left_to_the_own_kernels_because_of_its_empty_rows(library, fake):
    q, k, v = (values(i, (1, 2, 6, 8), "float16") for i in range(3))
    mask = np.random.default_rng(1).random((1, 2, 6, 6)) < 0.5
    mask[0, 1, 2] = False
    check_attention(library, q, k, v, mask=mask, tolerance=4e-2)
    assert not fake.executed


def test_what_cudnn_refuses_is_computed_by_own_kernels_and_asked_once(library, fake):
    backend, kernels = library
    fake.refuses = {
        "conv_fprop": NotSupportedError("no engine"),
        "sdpa_backward": NotSupportedError("d > 256"),
    }
    x, w = values(1, (1, 8, 5, 5)), values(2, (8, 8, 3, 3))
    for _ in range(2):
        found = kernels["conv2d"](backend.normalise(x), backend.normalise(w), None, 1, 0, 1, 1)
        close(found, torch.nn.functional.conv2d(wide(x), wide(w)), 1e-5)
    assert len(fake.graphs) == 1 and not fake.executed
    q, k, v = (values(i, (1, 2, 6, 8), "float16") for i in range(3))
    check_attention(library, q, k, v, tolerance=4e-2)


def test_refusals_can_be_read(fake, host_engine):
    backend = backend_on(host_engine)
    library = Cudnn(backend, lambda: fake, lambda: None)
    fake.refuses = {"conv_fprop": NotSupportedError("no engine")}
    kernels = served(convolution.tables(backend, library))[1]
    kernels["conv2d"](
        backend.normalise(values(1, (1, 8, 5, 5))),
        backend.normalise(values(2, (8, 8, 3, 3))),
        None,
        1,
        0,
        1,
        1,
    )
    ((key, reason),) = library.refusals().items()
    assert reason == "no engine" and "forward" in str(key) and len(library.plans) == 1


def test_a_graph_that_cannot_be_built_warns_and_is_computed_by_own_kernels(library, fake):
    backend, kernels = library
    fake.refuses = {"conv_fprop": RuntimeError("libcudnn_ops.so.9 is broken")}
    x, w = values(1, (1, 8, 5, 5)), values(2, (8, 8, 3, 3))
    with pytest.warns(UserWarning, match=r"own kernels serve in its place: libcudnn_ops\.so\.9 is broken"):
        found = kernels["conv2d"](backend.normalise(x), backend.normalise(w), None, 1, 0, 1, 1)
    close(found, torch.nn.functional.conv2d(wide(x), wide(w)), 1e-5)


def test_a_failure_while_it_computes_is_an_error_of_the_device(library, fake):
    backend, kernels = library
    fake.fails = RuntimeError("CUDNN_STATUS_EXECUTION_FAILED")
    with pytest.raises(
        DeviceError, match=r"cuDNN failed: CUDNN_STATUS_EXECUTION_FAILED\n  \('convolution', 'forward'"
    ):
        kernels["conv1d"](
            backend.normalise(values(1, (1, 8, 5))), backend.normalise(values(2, (8, 8, 3))), None, 1, 0, 1, 1
        )


@pytest.mark.parametrize("when", ["while it is planned", "while it computes"])
def test_memory_that_runs_out_is_no_failure_of_cudnn(library, fake, when):
    backend, kernels = library
    x, w = (backend.normalise(values(n, size)) for n, size in ((1, (1, 8, 5)), (2, (8, 8, 3))))
    if when == "while it is planned":
        fake.refuses = {"conv_fprop": MemoryError("no memory")}
    else:
        fake.fails = MemoryError("no memory")
    with pytest.raises(MemoryError):
        kernels["conv1d"](x, w, None, 1, 0, 1, 1)
    fake.refuses, fake.fails = None, None
    before = len(fake.executed)
    kernels["conv1d"](x, w, None, 1, 0, 1, 1)
    assert len(fake.executed) == before + 1  # the graph was not refused for good


def test_every_thread_has_a_handle_of_its_own(library, fake):
    backend, kernels = library
    args = [backend.normalise(values(1, (1, 8, 5))), backend.normalise(values(2, (8, 8, 3)))]
    results = []
    in_threads(*[lambda: results.append(kernels["conv1d"](*args, None, 1, 0, 1, 1))] * 3)
    assert len(results) == len(fake.handles) == 3
    np.testing.assert_array_equal(contents(results[0]), contents(results[1]))


# --- the names that are used are those of the real module ------------------------------------------------------------


def real():
    return pytest.importorskip("cudnn", exc_type=ImportError)


def test_the_module_has_what_is_used():
    cudnn = real()
    for name in ("create_handle", "set_stream", "pygraph", "backend_version", "cudnnGraphNotSupportedError"):
        assert hasattr(cudnn, name), name
    for enum in ("data_type", "heur_mode", "numerical_note"):
        assert set(vars(getattr(FakeCudnn, enum))) <= set(getattr(cudnn, enum).__members__)
    for step in (
        "validate", "build_operation_graph", "create_execution_plans", "deselect_numeric_notes", "check_support",
        "build_plans", "get_workspace_size", "execute", "get_execution_plan_count", "build_plan_at_index",
    ):  # fmt: skip
        assert hasattr(cudnn.pygraph, step), step
    for setter in ("set_output", "set_uid", "set_data_type", "set_dim", "set_stride"):
        assert hasattr(cudnn.tensor, setter), setter
    for name, number in door.DTYPES.items():
        assert hasattr(cudnn.data_type, number), name


class Described:
    """Describes graphs to the real module, which needs cuDNN only to build them."""

    def __init__(self, cudnn):
        self.cudnn, self.results = cudnn, []

    def run(self, key, make, dtype, pointers, notes=()):
        kind = self.cudnn.data_type
        graph = self.cudnn.pygraph(
            io_data_type=getattr(kind, door.DTYPES[dtype]),
            intermediate_data_type=kind.FLOAT,
            compute_data_type=kind.FLOAT,
        )
        make(self.cudnn, graph)
        self.results.append(
            {t.get_uid(): t.get_dim() for node in graph._nodes for t in node.outputs.values() if t}
        )
        return True

    def problem(self):
        return None


def test_the_module_takes_the_graphs_of_convolutions_and_infers_their_results(host_engine):
    described = Described(real())
    backend = backend_on(host_engine)
    kernels = served(convolution.tables(backend, described))[1]
    x, w, bias = (backend.normalise(values(1, size)) for size in ((2, 4, 9, 8), (6, 2, 3, 3), (6,)))
    y = kernels["conv2d"](x, w, bias, 2, 1, 1, 2)
    kernels["conv_transpose2d"](y, w, None, 2, 1, (0, 1), 2, 1)
    kernels["_conv_weight"](x, y, (6, 2, 3, 3), (2, 2), (1, 1), (1, 1), 2)
    dims = [found[3] for found in described.results]
    assert [list(d) for d in dims] == [[2, 6, 5, 4], [2, 4, 9, 8], [6, 2, 3, 3]]


def test_the_module_takes_the_graphs_of_attention(host_engine):
    described = Described(real())
    backend = backend_on(host_engine)
    kernels = served(attention.tables(backend, described))[1]
    q, k, g = (
        backend.normalise(values(1, size, "float16"))
        for size in ((2, 3, 8, 16), (2, 3, 5, 16), (2, 3, 8, 16))
    )
    found = kernels["_attention"](q, k, k, None, True, 0.25)
    kernels["_attention_backward"](g, q, k, k, None, *found, True, 0.25)
    assert [sorted(found) for found in described.results] == [[4, 5], [7, 8, 9]]
    assert list(described.results[1][8]) == [2, 3, 5, 16]


@pytest.mark.parametrize("of", [door, cublaslt], ids=["cudnn", "cublaslt"])
def test_a_library_that_cannot_be_loaded_is_named_and_memory_that_runs_out_is_not_it(of, monkeypatch):
    raised: list[Exception] = [RuntimeError("first\nsecond"), OSError("libcudnn.so.9"), MemoryError()]

    def fail(name):
        raise raised.pop(0)

    monkeypatch.setattr(of, "find_spec", lambda name: name)
    monkeypatch.setattr(of, "import_module", fail)
    assert "cannot be loaded: first" in of.problem.__wrapped__().partition(";")[0]
    assert "cannot be loaded: libcudnn.so.9" in of.problem.__wrapped__()
    with pytest.raises(MemoryError):
        of.problem.__wrapped__()


def test_the_reason_names_what_to_install(monkeypatch):
    monkeypatch.setattr(door, "find_spec", lambda name: None)
    assert door.problem.__wrapped__() == f"nvidia-cudnn-frontend is not installed; try: {door.INSTALL}"
