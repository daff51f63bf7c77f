"""Changes by a call are found: values, memory around them, metadata, versions, lists."""

from __future__ import annotations

import pytest

import tt
from tests.testing.checks.planted import faults_of, found_with
from tt.testing.checks.mutation import Snapshot
from tt.testing.opcheck.call import bind


def snapshot(*args, op="add"):
    call = bind(op, args)
    return call.args, Snapshot(call)


def test_an_argument_that_stays_has_no_change():
    (x, other, *_), before = snapshot(tt.ones(3), tt.ones(3))
    _ = x + other
    assert list(before.changes()) == []


@pytest.mark.parametrize(
    ("change", "kinds"),
    [
        (lambda x: x.add_(1), {"values", "version"}),
        (lambda x: x.numpy().fill(7), {"values"}),
        (lambda x: x.as_strided((12,), (1,), 0).fill_(0), {"values", "outside"}),
        (lambda x: x.requires_grad_(), {"metadata"}),
        (lambda x: x.t_(), {"metadata"}),
    ],
)
def test_every_kind_of_change_is_seen(change, kinds):
    (x, *_), before = snapshot(tt.ones(3, 4)[:, ::2], 1.0)
    change(x)
    found = list(before.changes())
    assert {c.kind for c in found} - {"version"} == kinds - {"version"} and {c.name for c in found} == {
        "self"
    }
    assert "version" not in kinds or "version" in {c.kind for c in found}


def test_a_list_that_grows_is_seen():
    (xs, _), before = snapshot([tt.ones(2), tt.ones(2)], 0, op="cat")
    xs.append(tt.ones(2))
    assert [(c.name, c.kind) for c in before.changes()] == [("tensors", "list")]


def in_place(x):
    x *= 2
    return x.copy()


def test_both_drivers_name_an_argument_that_is_changed():
    assert faults_of("test_schema", kernel=in_place) == {"mutated_input"}
    assert faults_of("test_schema") == set()


def test_a_changed_argument_is_found():
    def kernel(self):
        if self.size:
            self += 1
        return -(self - 1)

    failures = found_with("neg", kernel)
    assert "inputs" in {f.check for f in failures}
