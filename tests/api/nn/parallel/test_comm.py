"""Copies, pieces and sums over devices: a meta device stands for the accelerator, as of `scatter` and `gather`."""

from __future__ import annotations

import pytest

import tt
from tt.nn.parallel import comm

X = tt.arange(12.0).reshape(6, 2)
META = tt.device("meta")


def test_copies_lie_on_each_device():
    assert [(c.device, c.shape) for c in comm.broadcast(X, ["meta", META])] == [(META, X.shape)] * 2
    rows = comm.broadcast_coalesced([X, X[0]], ["meta", "meta"])
    assert [[tuple(c.shape) for c in row] for row in rows] == [[(6, 2), (2,)]] * 2


def test_copies_and_pieces_fill_what_is_given():
    out = [tt.zeros(6, 2), tt.zeros(6, 2)]
    assert all(a is b for a, b in zip(comm.broadcast(X, out=out), out, strict=True))
    assert all(tt.equal(copy, X) for copy in out)
    parts = [tt.zeros(2, 2), tt.zeros(4, 2)]
    comm.scatter(X, out=parts)
    assert tt.equal(tt.cat(parts), X)


@pytest.mark.parametrize(
    ("sizes", "dim", "shapes"),
    [(None, 0, [(3, 2), (3, 2)]), ([1, 5], 0, [(1, 2), (5, 2)]), (None, 1, [(6, 1)] * 2)],
)
def test_pieces_have_the_sizes_that_are_asked_for(sizes, dim, shapes):
    pieces = comm.scatter(X, ["meta", "meta"], sizes, dim)
    assert [(tuple(p.shape), p.device) for p in pieces] == [(shape, META) for shape in shapes]
    assert comm.gather(pieces, dim, "meta").shape == X.shape


def test_sums_have_the_shape_of_the_inputs_which_stay():
    inputs = [tt.empty(3, device="meta"), tt.empty(3, device="meta")]
    total = comm.reduce_add(inputs, "meta")
    assert total.shape == (3,) and total is not inputs[0]
    totals = comm.reduce_add_coalesced([inputs, inputs, inputs], "meta")
    assert [tuple(t.shape) for t in totals] == [(3,), (3,)]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: comm.broadcast(X), "exactly one of devices and out"),
        (lambda: comm.broadcast(X, ["meta"], out=[X]), "exactly one of devices and out"),
        (lambda: comm.broadcast(X, ["cpu"]), "non cpu device"),
        (lambda: comm.reduce_add([X, X], "meta"), "non cpu device"),
        (lambda: comm.reduce_add([]), "no inputs"),
        (lambda: comm.scatter(X, []), "there are none"),
        (lambda: comm.scatter(X, ["meta"], [1, 5]), "2 chunk_sizes for 1 devices"),
        (lambda: comm.scatter(X, chunk_sizes=[6], out=[X]), "leave out chunk_sizes"),
        (lambda: comm.gather([X], destination="cpu"), "non cpu device"),
        (lambda: comm.gather([X.to("meta")], destination="meta", out=X), "leave out destination"),
    ],
)
def test_wrong_arguments_are_refused(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_sums_of_different_shapes_are_refused():
    with pytest.raises(RuntimeError, match="inputs have one shape"):
        comm.reduce_add([tt.empty(2, device="meta"), tt.empty(3, device="meta")], "meta")


@pytest.mark.torch
def test_the_parameters_are_pytorchs():
    import inspect

    from torch.nn.parallel import comm as theirs

    for name in comm.__all__:
        expected, found = (inspect.signature(getattr(m, name)).parameters.values() for m in (theirs, comm))
        assert [(p.name, p.kind, p.default) for p in found] == [(p.name, p.kind, p.default) for p in expected]


def test_a_number_for_the_cpu_is_deprecated() -> None:
    with pytest.warns(FutureWarning, match="use 'cpu'"), pytest.raises(RuntimeError):
        comm.gather([X.to("meta")], destination=-1)  # what lies on the device meta has no values to move
