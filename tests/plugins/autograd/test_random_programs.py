"""Random programs of operators, views, changes in place, hooks and passes, side by side with torch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tt
from tests.plugins.autograd.random_programs import (
    ALONE,
    BINARY,
    CHANGES,
    PARTS,
    REDUCED,
    SEVERAL,
    UNARY,
    VIEWS,
    differs,
    run,
)

which = st.integers(0, 30)
small = st.integers(0, 5)
quiet = st.sampled_from([False, False, True])
steps = st.one_of(
    st.tuples(st.just("unary"), st.sampled_from(UNARY), which),
    st.tuples(st.just("unary"), st.sampled_from(UNARY), which),
    st.tuples(st.just("binary"), st.sampled_from(BINARY), which, which),
    st.tuples(st.just("reduced"), st.sampled_from(REDUCED), which),
    st.tuples(st.just("several"), st.sampled_from(SEVERAL), which),
    st.tuples(st.sampled_from(["matmul", "cat", "where"]), which, which),
    st.tuples(st.sampled_from(["gather", "detach", "detach_", "retain", "after"]), which),
    st.tuples(st.just("view"), st.sampled_from(sorted(VIEWS)), which, small),
    st.tuples(st.just("view"), st.sampled_from(sorted(VIEWS)), which, small),
    st.tuples(st.just("parts"), st.sampled_from(sorted(PARTS)), which),
    st.tuples(st.just("quiet_view"), st.sampled_from(sorted(VIEWS)), which, small),
    st.tuples(st.just("quiet"), st.sampled_from(UNARY), which),
    st.tuples(st.just("change"), st.sampled_from(CHANGES), which, which, quiet),
    st.tuples(st.just("change"), st.sampled_from(CHANGES), which, which, quiet),
    st.tuples(st.just("change_alone"), st.sampled_from(ALONE), which, quiet),
    st.tuples(st.just("set_item"), which, which, small),
    st.tuples(st.just("require"), which, st.booleans()),
    st.tuples(st.just("hook"), which, st.sampled_from([None, 2.0, -0.5])),
    st.tuples(st.just("node_hook"), which, st.booleans()),
    st.tuples(st.just("unhook"), small),
    st.tuples(st.just("backward"), which, st.booleans(), st.sampled_from([False, False, True])),
    st.tuples(st.just("grad"), which, which, st.booleans()),
    st.tuples(st.just("batched"), which, which),
)


@pytest.mark.torch
@settings(max_examples=60, deadline=None)
@given(st.lists(steps, min_size=1, max_size=14))
def test_a_random_program_runs_as_in_torch(program: list[Any]) -> None:
    torch = pytest.importorskip("torch")
    found, expected = run(tt, program), run(torch, program)
    for place, (mine, theirs) in enumerate(zip(found, expected, strict=True)):
        step = program[place] if place < len(program) else f"the end, {place - len(program)}"
        assert not differs(mine, theirs), f"step {place}, {step}:\n{mine}\ninstead of\n{theirs}"
