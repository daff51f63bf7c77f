"""CUDA graphs on the fake CuPy, which runs the work of a captured graph again."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import tt
from tests.backends.cuda.devices import fake_cuda
from tt.errors import ArgumentError, DeviceError, OutOfMemoryError, ValueRangeError


def captured(function):
    graph = tt.cuda.CUDAGraph()
    with tt.cuda.graph(graph):
        result = function()
    return graph, result


def test_a_replay_works_on_what_the_tensors_hold_then(cuda):
    x = tt.tensor([1.0, 2.0, 3.0], device="cuda")
    graph, y = captured(lambda: (x * 2 + 1).sum())
    x.copy_(tt.tensor([5.0, 6.0, 7.0]))
    graph.replay()
    assert y.item() == 39
    with tt.cuda.stream(tt.cuda.Stream()):
        x.fill_(0)
        graph.replay()
        assert cuda.driver.log[-1][:2] == ("launch graph", tt.cuda.current_stream().stream_id)
    assert y.item() == 3 and not tt.cuda.is_current_stream_capturing()


def test_a_whole_training_step_is_replayed(cuda):
    def make():
        w = tt.tensor([0.5, -1.0, 2.0], device="cuda", requires_grad=True)
        w.grad = tt.zeros_like(w)
        return w

    x = tt.tensor([1.0, 2.0, -1.0], device="cuda")

    def step(w):
        loss = ((w * x).tanh() ** 2).sum()
        w.grad.zero_()
        loss.backward()
        with tt.no_grad():
            w.sub_(w.grad * 0.1)
        return loss

    eager, graphed = make(), make()
    expected = [step(eager).item() for _ in range(4)]
    start = graphed.detach().clone()
    graph, loss = captured(lambda: step(graphed))
    assert tt.equal(graphed.detach(), start), "a capture runs nothing"
    found = []
    for _ in range(4):
        graph.replay()
        found.append(loss.item())
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_allclose(graphed.detach().cpu().numpy(), eager.detach().cpu().numpy(), rtol=1e-6)


def test_a_graph_keeps_its_memory_and_gives_it_back(cuda):
    x = tt.ones(1000, device="cuda")
    tt.cuda.empty_cache()
    before = tt.cuda.memory_reserved()
    graph, y = captured(lambda: x + 1)
    tt.cuda.empty_cache()
    held = tt.cuda.memory_reserved()
    assert held > before, "the graph would write to memory that is not its own"
    graph.replay()
    del y
    graph.reset()
    gc.collect()
    tt.cuda.empty_cache()
    assert tt.cuda.memory_reserved() == before
    with pytest.raises(DeviceError, match="the graph was not captured"):
        graph.replay()


def test_graphs_share_a_pool(cuda):
    x = tt.ones(1000, device="cuda")
    pool = tt.cuda.graph_pool_handle()
    first, second = tt.cuda.CUDAGraph(), tt.cuda.CUDAGraph()
    stream = tt.cuda.Stream()
    with tt.cuda.graph(first, pool=pool, stream=stream):
        x + 1
    held = tt.cuda.memory_reserved()
    with tt.cuda.graph(second, pool=first.pool(), stream=stream):
        y = x + 2
    assert tt.cuda.memory_reserved() == held and second.pool() is pool
    second.replay()
    assert y[0].item() == 3
    with (
        pytest.raises(ArgumentError, match="'pool' must be a pool of graph_pool_handle"),
        tt.cuda.graph(tt.cuda.CUDAGraph(), pool=(0, 1)),
    ):
        pass


REFUSED = {
    "item": ("item", lambda x: x.sum().item()),
    "rand": ("rand", lambda x: tt.rand(3, device="cuda")),
    "normal_": ("normal_", lambda x: x.normal_()),
    "matmul": ("matmul", lambda x: x.reshape(1, 3) @ x.reshape(3, 1)),
    "inverse": ("linalg_inv|inv", lambda x: tt.linalg.inv(x.expand(3, 3) + tt.eye(3, device="cuda"))),
    "nonzero": ("nonzero|cannot copy|synchron", lambda x: x.nonzero().cpu()),
    "cpu": ("during CUDA graph capture", lambda x: x.cpu()),
    "from the host": ("during CUDA graph capture", lambda x: tt.ones(3).to("cuda")),
    "synchronize": ("synchronize", lambda x: tt.cuda.synchronize()),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_captured_is_refused_by_name(cuda, name):
    words, function = REFUSED[name]
    x = tt.tensor([1.0, 2.0, 3.0], device="cuda")
    graph = tt.cuda.CUDAGraph()
    with pytest.raises(DeviceError, match=words), tt.cuda.graph(graph):
        function(x)
    assert not tt.cuda.is_current_stream_capturing() and tt.cuda.current_stream().stream_id == 0
    with tt.cuda.graph(graph):  # nothing is left of the capture that failed
        y = x + 1
    graph.replay()
    assert y.tolist() == [2, 3, 4] and tt.rand(1, device="cuda").numel() == 1


def test_copies_from_page_locked_memory_are_captured(cuda):
    pinned = tt.tensor([1.0, 2.0]).pin_memory()
    graph, y = captured(lambda: pinned.to("cuda", non_blocking=True) * 2)
    pinned.copy_(tt.tensor([5.0, 6.0]))
    graph.replay()
    assert y.tolist() == [10.0, 12.0]


def test_captures_begin_and_end_in_order(cuda):
    graph = tt.cuda.CUDAGraph()
    with pytest.raises(DeviceError, match="non-default stream"):
        graph.capture_begin()
    with pytest.raises(DeviceError, match="no capture is running"):
        graph.capture_end()
    with tt.cuda.stream(tt.cuda.Stream()):
        with pytest.raises(ValueRangeError, match="Unknown capture error mode"):
            graph.capture_begin(capture_error_mode="strict")
        graph.capture_begin(capture_error_mode="thread_local")
        assert tt.cuda.is_current_stream_capturing()
        with pytest.raises(DeviceError, match="captured already"):
            tt.cuda.CUDAGraph().capture_begin()
        with pytest.raises(DeviceError, match="the capture is still running"):
            graph.reset()
        graph.capture_end()
        with pytest.raises(DeviceError, match="captured already"):
            graph.capture_begin()


def test_a_graph_is_described(cuda, tmp_path):
    x = tt.ones(3, device="cuda")
    graph, _ = captured(lambda: x + 1)
    with pytest.raises(DeviceError, match="not in debug mode"):
        graph.debug_dump(tmp_path / "graph.dot")
    graph.enable_debug_mode()
    graph.debug_dump(tmp_path / "graph.dot")
    assert (tmp_path / "graph.dot").read_text().startswith("digraph")


def test_a_pool_of_a_graph_that_cannot_grow_keeps_what_it_has():
    with fake_cuda(memory=1 << 16) as cuda:
        x = tt.ones(1000, device="cuda")
        graph = tt.cuda.CUDAGraph()
        cached = tt.empty(12000, device="cuda")
        with pytest.raises(OutOfMemoryError), tt.cuda.graph(graph):
            y = x + 1
            del y
            segments = set(cuda.driver.segments)
            tt.empty(16000, device="cuda")
        del cached
        with tt.cuda.graph(graph):
            z = x + 1  # the cache of the default pool is given up for the graph's
            big = tt.empty(12000, device="cuda")
        graph.replay()
        assert z[0].item() == 2 and big.numel() == 12000 and segments


def test_functions_become_graphs_with_gradients(cuda):
    def function(a, b):
        return (a * b).sin()

    sample = tt.ones(3, device="cuda", requires_grad=True), tt.ones(3, device="cuda")
    graphed = tt.cuda.make_graphed_callables(function, sample)
    for values in ([1.0, 2.0, 3.0], [0.1, 0.2, 0.3]):
        a = tt.tensor(values, device="cuda", requires_grad=True)
        b = tt.tensor([2.0, 3.0, 4.0], device="cuda")
        out = graphed(a, b)
        out.sum().backward()
        np.testing.assert_allclose(
            out.detach().cpu().numpy(), np.sin(np.array(values) * [2, 3, 4]), rtol=1e-5
        )
        np.testing.assert_allclose(
            a.grad.cpu().numpy(), np.cos(np.array(values) * [2, 3, 4]) * [2, 3, 4], rtol=1e-5
        )
    first, second = tt.cuda.make_graphed_callables(
        (lambda a: (a + 1, a * 2), lambda a: a.exp()),
        ((tt.ones(2, device="cuda"),), (tt.ones(2, device="cuda"),)),
    )
    plus, twice = first(tt.full((2,), 4.0, device="cuda"))
    assert (plus.tolist(), twice.tolist()) == ([5, 5], [8, 8])
    np.testing.assert_allclose(second(tt.zeros(2, device="cuda")).cpu().numpy(), [1, 1])
    with pytest.raises(ArgumentError, match="argument 0 is"):
        second(tt.zeros(3, device="cuda"))
    with pytest.raises(ArgumentError, match="takes 2 tensors, not 1"):
        graphed(tt.zeros(3, device="cuda"))
    with pytest.raises(ArgumentError, match="must be a CUDA tensor"):
        tt.cuda.make_graphed_callables(function, (tt.ones(2), 3))


def test_a_graphed_callable_forgets_the_gradients_of_earlier_calls(cuda):
    sample = (tt.ones(2, device="cuda", requires_grad=True),)
    function = tt.cuda.make_graphed_callables(lambda a: (a * 2, a * 3, a.detach() + 1), sample)
    for used, expected in (((0, 1), 5.0), ((0,), 2.0), ((1,), 3.0)):
        a = tt.ones(2, device="cuda", requires_grad=True)
        results = function(a)
        sum(results[number].sum() for number in used).backward()
        assert a.grad.tolist() == [expected] * 2
