"""Code that repeats a call runs, and makes the same arguments."""

from __future__ import annotations

import pytest

import tt
from tt.core.dispatch.registry.registry import REGISTRY
from tt.testing.checks.case import Case
from tt.testing.conformance import CHECKS
from tt.testing.conformance.report import reproduce
from tt.testing.opcheck.call import bind
from tt.testing.samples import samples
from tt.testing.snippets import repeat, snippet


def test_every_recipe_of_a_snippet_runs():
    for op, dtype in (
        ("add", tt.float32),
        ("max.dim", tt.float32),
        ("transpose", tt.float32),
        ("rand", tt.float32),
    ):
        operator = REGISTRY.operator(op)
        sample = next(s for s in samples(operator.definition, "cpu", dtype) if s.error is None)
        case = Case(operator, "cpu", dtype, sample, None)
        for check in CHECKS:
            if (op, check) in {("rand", "out"), ("rand", "inplace"), ("max.dim", "inplace"), ("transpose", "out"),
                               ("rand", "method")}:  # fmt: skip
                continue  # it has no such form
            exec(reproduce(case, check), {"print": lambda *values: None})


def test_a_snippet_keeps_the_memory_layout():
    x = tt.tensor([[1, 2, 3], [4, 5, 6]]).t()[1:]
    code = snippet(REGISTRY.operator("neg").definition, "functional", (x,), {})
    namespace: dict[str, object] = {}
    exec(code.replace("tt.ops.neg(", "result = ("), namespace)
    copy = namespace["result"]
    assert (copy.tolist(), copy.stride(), copy.storage_offset()) == (
        x.tolist(),
        x.stride(),
        x.storage_offset(),
    )


@pytest.mark.parametrize(
    ("op", "args", "kwargs", "line"),
    [
        ("add", (tt.ones(1), 2.0), {}, "tt.ops.add(self, 2.0)"),
        ("add_", (tt.ones(1), 2.0), {"alpha": 3}, "tt.ops.add_(self, 2.0, alpha=3)"),
        ("max.dim", (tt.ones(1), 0), {"keepdim": True}, "tt.ops.max.dim(self, 0, True)"),
        ("clamp", (tt.ones(1),), {"max": 1.0}, "tt.ops.clamp(self, max=1.0)"),
        ("cat", ([tt.ones(1)],), {}, "tt.ops.cat(tensors)"),
        ("broadcast_shapes", ((2, 1), 3), {}, "tt.ops.broadcast_shapes((2, 1), 3)"),
        ("_foreach_norm.Scalar", ([tt.ones(1)],), {}, "tt.ops._foreach_norm(self)"),
    ],
)
def test_a_call_is_written_with_what_differs_from_its_defaults(op, args, kwargs, line):
    code = repeat(bind(REGISTRY.operator(op).overload() if op.startswith("_") else op, args, kwargs), "call")
    assert code.splitlines()[-1] == line
    exec(code, {})
