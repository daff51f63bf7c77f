"""CUDA graphs with tt's own kernels: a capture runs nothing, and replays repeat the program."""

from __future__ import annotations

import gc

import pytest

import tt
from benchmarks.cuda.training import TrainingStep
from tt.errors import ArgumentError, DeviceError

F = tt.nn.functional


def captured(function):
    graph = tt.cuda.CUDAGraph()
    with tt.cuda.graph(graph):
        result = function()
    return graph, result


def test_ten_replays_of_a_training_step_have_the_bits_of_ten_steps():
    eager, graphed = TrainingStep(seed=3), TrainingStep(seed=3)
    start = graphed.state()
    tt.manual_seed(5)
    losses = [eager().item() for _ in range(10)]
    graph, loss = captured(graphed)
    assert all(map(tt.equal, graphed.state(), start)), "a capture runs nothing"
    tt.manual_seed(5)
    found = []
    for _ in range(10):
        graph.replay()
        found.append(loss.item())
    assert found == losses and len(set(losses)) == 10
    assert all(map(tt.equal, graphed.state(), eager.state()))


def test_replays_draw_what_the_program_would_draw_there():
    x = tt.ones(9, device="cuda")

    def draw():
        return [
            tt.rand(5, device="cuda"), F.dropout(x, 0.5), tt.randn(3, dtype=tt.float64, device="cuda"),
            tt.randint(0, 100, (7,), device="cuda"), tt.bernoulli(x / 2), tt.randperm(20, device="cuda"),
            x.clone().normal_(), x.clone().exponential_(),
        ]  # fmt: skip

    tt.manual_seed(7)
    expected = [[t.tolist() for t in draw()] for _ in range(3)]
    after = tt.rand(4, device="cuda").tolist()
    tt.manual_seed(7)
    graph, drawn = captured(draw)
    for wanted in expected:
        graph.replay()
        assert [t.tolist() for t in drawn] == wanted
    assert tt.rand(4, device="cuda").tolist() == after, "a replay takes as much as the program"
    assert expected[0] != expected[1]
    tt.manual_seed(7)
    graph.replay()
    assert [t.tolist() for t in drawn] == expected[0], "the same seed gives the same numbers"


def test_a_capture_takes_nothing_of_a_generator():
    tt.manual_seed(11)
    state = tt.cuda.get_rng_state()
    captured(lambda: tt.rand(100, device="cuda"))
    assert tt.equal(tt.cuda.get_rng_state(), state)
    with pytest.raises(ZeroDivisionError):
        captured(lambda: (tt.rand(100, device="cuda"), 1 // 0))
    assert tt.equal(tt.cuda.get_rng_state(), state)


def test_generators_of_the_program_are_captured():
    mine = tt.Generator("cuda").manual_seed(1)
    expected = [tt.rand(3, generator=mine, device="cuda").tolist() for _ in range(2)]
    for registered in (True, False):
        mine.manual_seed(1)
        graph = tt.cuda.CUDAGraph()
        if registered:
            graph.register_generator_state(mine)
        with tt.cuda.graph(graph):
            found = tt.rand(3, generator=mine, device="cuda")
        for wanted in expected:
            graph.replay()
            assert found.tolist() == wanted
    for wrong in (tt.Generator(), 3):
        with pytest.raises(ArgumentError, match="a generator of CUDA"):
            tt.cuda.CUDAGraph().register_generator_state(wrong)
    many = [tt.Generator("cuda") for _ in range(40)]
    with pytest.raises(DeviceError, match="32 generators at most"):
        captured(lambda: [tt.rand(1, generator=one, device="cuda") for one in many])


def test_a_seed_is_not_set_during_a_capture():
    tt.manual_seed(2)
    state = tt.cuda.get_rng_state()
    with pytest.raises(DeviceError, match="set while a CUDA graph was captured"):
        captured(lambda: tt.manual_seed(3))
    with pytest.raises(DeviceError, match="set while a CUDA graph was captured"):
        captured(lambda: (tt.manual_seed(3), tt.rand(2, device="cuda")))
    assert tt.equal(tt.cuda.get_rng_state(), state)


def test_checkpoints_draw_the_same_numbers_again_in_a_graph():
    x = tt.ones(64, device="cuda")

    def step():
        leaf = x.detach().requires_grad_()
        out = tt.utils.checkpoint.checkpoint(lambda a: F.dropout(a, 0.5) * 3, leaf, use_reentrant=False)
        out.sum().backward()
        return out, leaf.grad

    graph, (out, grad) = captured(step)
    for _ in range(3):
        graph.replay()
        assert tt.equal(out, grad), "the mask of the second pass is that of the first"


def test_gradients_of_embeddings_and_sums_at_indices_are_captured():
    index = tt.tensor([3, 1, 3, 3, 0], device="cuda")
    for dtype in (tt.float16, tt.bfloat16, tt.float32, tt.float64):
        weight = tt.randn(5, 4, dtype=dtype, device="cuda")

        def work(weight=weight, dtype=dtype):
            leaf = weight.detach().requires_grad_()
            F.embedding(index, leaf, padding_idx=1).sin().sum().backward()
            put = tt.zeros(5, 4, dtype=dtype, device="cuda")
            put.index_put_((index,), leaf.detach()[index], accumulate=True)
            added = tt.zeros(5, 4, dtype=dtype, device="cuda").index_add_(0, index, leaf.detach()[index])
            return leaf.grad, put, added

        expected = [t.tolist() for t in work()]
        graph, found = captured(work)
        graph.replay()
        assert [t.tolist() for t in found] == expected


def test_the_state_of_a_generator_is_not_where_the_graph_works():
    # Memory that the graph frees before it draws is written to after the replay has written seed and offset.
    x = tt.ones(64, device="cuda")

    def work():
        y = (x + 1) * 2  # x + 1 is freed
        return F.dropout(y, 0.5)

    tt.manual_seed(1)
    expected = work().tolist()
    graph, found = captured(work)
    tt.manual_seed(1)
    graph.replay()
    assert found.tolist() == expected


def test_graphs_of_functions_draw_new_numbers_in_each_call():
    x = tt.ones(100, device="cuda", requires_grad=True)
    graphed = tt.cuda.make_graphed_callables(lambda a: F.dropout(a, 0.5) * a, (x,))
    masks = set()
    for _ in range(4):
        x.grad = None
        out = graphed(x)
        out.sum().backward()
        assert tt.equal(x.grad, 2 * out.detach())
        masks.add(tuple(out.tolist()))
    assert len(masks) == 4


def test_the_library_of_products_works_in_memory_of_the_graph():
    a = tt.randn(8, 8, device="cuda")
    expected = (a @ a @ a).tolist()
    gc.collect()
    before = tt.cuda.memory_allocated()
    graph, found = captured(lambda: a @ a @ a)
    graph.replay()
    assert found.tolist() == expected
    del found
    graph.reset()
    gc.collect()
    assert tt.cuda.memory_allocated() == before
