"""Calls, and copies of their arguments that lie in memory as the originals do."""

from __future__ import annotations

import tt
from tt.testing.checks.call import copied, map_tensors, on_cpu, refused, tensors_in, to_meta
from tt.testing.opcheck.call import bind


def test_tensors_are_found_in_nested_arguments_and_replaced_there():
    x, y = tt.ones(1), tt.zeros(1)
    value = [x, (1, {"y": y}), None]
    assert list(tensors_in(value)) == [x, y]
    assert [t.item() for t in tensors_in(map_tensors(value, lambda t: t + 1))] == [2.0, 1.0]


def test_copies_share_memory_where_the_originals_do():
    base = tt.arange(12.0).reshape(3, 4).requires_grad_()
    column, row = copied((base.detach()[:, 1], base.detach()[1]))
    column.fill_(7)
    assert (column.stride(), column.storage_offset()) == ((4,), 1) and row.tolist() == [4.0, 7.0, 6.0, 7.0]
    assert base.tolist()[1] == [4.0, 5.0, 6.0, 7.0]
    assert copied(base).requires_grad and not copied(base, requires_grad=False).requires_grad


def test_arguments_go_to_the_cpu_and_lose_their_data():
    assert on_cpu(tt.device("meta")) == tt.device("cpu")
    found = to_meta([tt.ones(2, 3).t(), 5])
    assert found[0].device.type == "meta" and found[0].stride() == (1, 3) and found[1] == 5
    assert to_meta(tt.eye(2).to_sparse()).layout is tt.sparse_coo


def test_what_refuses_and_what_breaks_are_told_apart():
    assert refused(tt.errors.ValueRangeError("no")) and not refused(ValueError("no"))
    call = bind("add", (tt.ones(2), tt.ones(2)), {"alpha": 2})
    assert [name for _, name, _ in call.tensors()] == ["self", "other"] and call.run().tolist() == [3.0, 3.0]
    assert call.map(lambda t: t * 2).run().tolist() == [6.0, 6.0]
