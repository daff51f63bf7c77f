"""Faults that kernels find after their call has returned: whoever waits next gets them, whichever way it waits."""

from __future__ import annotations

import pytest

import tt
from tt.core.library import REGISTRY
from tt.errors import IndexValueError


@pytest.fixture(autouse=True)
def asynchronous(monkeypatch):
    """Let launches return before anybody looks at faults, as on a GPU."""
    tt.zeros(1, device="cuda")
    monkeypatch.setattr(REGISTRY.backend("cuda").engine, "synchronous", False)


def faulty():
    """Return what an index out of range makes; nothing is raised."""
    return tt.ones(3, device="cuda").index_select(0, tt.tensor([7], device="cuda"))


def recorded():
    event = tt.cuda.Event()
    event.record()
    return event


WAYS = {
    "item": lambda x: x.item(),
    "tolist": lambda x: x.tolist(),
    "cpu": lambda x: x.cpu(),
    "to": lambda x: x.to("cpu"),
    "numpy": lambda x: x.cpu().numpy(),
    "copy_": lambda x: tt.empty(1).copy_(x),
    "bool": bool,
    "float": float,
    "repr": repr,
    "equal": lambda x: tt.equal(x, x),
    "nonzero": lambda x: tt.ones(3, device="cuda").nonzero(),
    "mask": lambda x: tt.ones(3, device="cuda")[tt.ones(3, dtype=tt.bool, device="cuda")],
    "unique": lambda x: tt.ones(3, device="cuda").unique(),
    "pinned": lambda x: x.copy_(tt.ones(1).pin_memory()),
    "synchronize": lambda x: tt.cuda.synchronize(),
    "synchronize(device)": lambda x: tt.cuda.synchronize("cuda:0"),
    "tt.accelerator.synchronize": lambda x: tt.accelerator.synchronize(),
    "Stream.synchronize": lambda x: tt.cuda.current_stream().synchronize(),
    "Stream.query": lambda x: tt.cuda.current_stream().query(),
    "Event.synchronize": lambda x: recorded().synchronize(),
    "Event.query": lambda x: recorded().query(),
}


@pytest.mark.parametrize("way", WAYS)
def test_whoever_waits_gets_the_fault_once(way):
    x = faulty()
    with pytest.raises(IndexValueError, match="out of range for a dimension of size 3") as found:
        WAYS[way](x)
    assert "index_select() found this on the device" in found.value.__notes__[0]
    tt.cuda.synchronize()
    assert tt.ones(2, device="cuda").tolist() == [1, 1], "the device goes on"


def test_what_does_not_wait_does_not_raise():
    x = faulty()
    y = (x + 1).to("cpu", non_blocking=True)
    tt.cuda.current_stream().wait_stream(tt.cuda.Stream())
    recorded().wait(tt.cuda.Stream())
    assert y.shape == (1,)
    with pytest.raises(IndexValueError):
        tt.cuda.synchronize()


def test_a_fault_of_a_graph_comes_with_each_replay():
    index = tt.tensor([0], device="cuda")
    graph = tt.cuda.CUDAGraph()
    with tt.cuda.graph(graph):
        found = tt.ones(3, device="cuda").index_select(0, index)
    graph.replay()
    assert found.tolist() == [1]
    index.fill_(9)
    for _ in range(2):
        graph.replay()
        with pytest.raises(IndexValueError, match="out of range for a dimension of size 3"):
            found.tolist()
