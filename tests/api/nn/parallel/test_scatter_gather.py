"""Inputs in pieces, and results together: what PyTorch does without a GPU, and the pieces themselves."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, namedtuple

import pytest

import tt
from tt.nn.parallel import gather, replicate, scatter
from tt.nn.parallel.scatter_gather import scatter_kwargs

Pair = namedtuple("Pair", "left right")
X = tt.arange(6.0).reshape(3, 2)


def test_objects_are_given_to_each_device():
    assert scatter(3, [0, 1]) == [3, 3]
    assert scatter([1, "a"], [0, 1]) == [[1, "a"]] * 2
    assert scatter((), [0, 1]) == [(), ()] and scatter({}, [0]) == [{}]
    assert scatter(Pair(1, 2), [0, 1]) == [Pair(1, 2)] * 2
    assert scatter_kwargs((), {"a": 1}, [0, 1]) == (((), ()), ({"a": 1}, {"a": 1}))


def test_tensors_are_divided():
    # A meta device stands for the accelerator: shapes are all that can be seen of its tensors.
    parts = scatter({"x": X, "n": (X.T, 1)}, ["meta", "meta"])
    assert [(tuple(p["x"].shape), tuple(p["n"][0].shape), p["n"][1]) for p in parts] == [
        ((2, 2), (1, 3), 1),
        ((1, 2), (1, 3), 1),
    ]
    with pytest.warns(UserWarning, match="joined to a vector"):
        joined = gather([OrderedDict(a=part["x"], b=[part["x"].sum()]) for part in parts], "meta")
    assert joined["a"].shape == (3, 2) and joined["b"][0].shape == (2,)
    assert gather([Pair(p["x"], None) for p in parts], "meta", dim=0).left.shape == (3, 2)


def test_dicts_of_any_class_stay_what_they_are():
    class Named(dict):
        def __init__(self, name):
            self.name = name

    named = Named("batch")
    named["x"] = X
    for batch in (named, defaultdict(list, x=X)):
        parts = scatter(batch, ["meta", "meta"])
        joined = gather(parts, "meta")
        for part in (*parts, joined):
            assert (
                type(part) is type(batch) and vars(part) == vars(batch)
                if batch is named
                else part["new"] == []
            )
        assert [tuple(part["x"].shape) for part in parts] == [(2, 2), (1, 2)] and joined["x"].shape == (3, 2)
        assert batch["x"] is X


@pytest.mark.parametrize("devices", [["cpu"], [tt.device("cpu")] * 2, [-1], []])
def test_the_cpu_is_refused_as_in_pytorch(devices):
    with pytest.raises(ValueError, match=r"non cpu device|there are none"):
        scatter(X, devices)
    if devices:
        with pytest.raises(ValueError, match="non cpu device"):
            replicate(tt.nn.Linear(2, 2), devices)
    with pytest.raises(AssertionError, match="not implemented for CPU tensors"):
        gather([X, X], "cpu")
    with pytest.raises(AssertionError, match="not implemented for CPU tensors"):
        replicate(tt.nn.Linear(2, 2), [0])
    with pytest.raises(TypeError, match="not int"):
        gather([1, 2], "cpu")
    assert gather([None, None], "cpu") is None


@pytest.mark.torch
def test_pytorch_without_a_gpu_does_the_same():
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        return  # the test is about a machine with only a CPU
    from torch.nn import parallel

    x, layer = torch.ones(3, 2), torch.nn.Linear(2, 2)
    for call, error in (
        (lambda: parallel.scatter(x, ["cpu"]), ValueError),
        (lambda: parallel.gather([x, x], "cpu"), AssertionError),
        (lambda: parallel.replicate(layer, ["cpu"]), ValueError),
        (lambda: parallel.replicate(layer, [0]), AssertionError),
        (lambda: parallel.parallel_apply([layer], [x]), RuntimeError),
        (lambda: parallel.parallel_apply([layer], []), AssertionError),
    ):
        with pytest.raises(error):
            call()
    assert torch.nn.DataParallel(layer, device_ids=[0, 1]).device_ids == []
