"""Proposed fakes: each kind of rule is found from calls of an operator, and verified by others."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tt
from tt.core.testing.suggest import suggest_fake
from tt.library import custom_op, opcheck


def joined(xs, dim):
    return np.concatenate(xs, dim)


def reduced(x, dims, keepdim):
    return np.sum(x, axis=None if dims is None else tuple(dims), keepdims=keepdim).astype(x.dtype)


def windows(x, kernel, stride, padding):
    if kernel < 1 or stride < 1 or padding < 0:
        raise ValueError("kernel and stride must be positive, padding not negative")
    x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(padding, padding)])
    found = np.lib.stride_tricks.sliding_window_view(x, kernel, -1)
    return np.ascontiguousarray(found[..., ::stride, :].max(-1))


RULES = {
    "like": ("(Tensor x) -> Tensor", np.tanh, "(tt.ones(2, 3))", "tt.empty_like(x)"),
    "second": ("(Tensor x, Tensor y) -> Tensor", lambda x, y: (y * x.sum()).astype(x.dtype),
               "(tt.ones(2), tt.ones(3, 4))", "tt.empty_like(y, dtype=x.dtype)"),
    "broadcast": ("(Tensor x, Tensor y) -> Tensor", lambda x, y: (x + y).astype(x.dtype),
                  "(tt.ones(2, 1), tt.ones(3))", "x.new_empty(tt.broadcast_shapes(x.shape, y.shape))"),
    "everything": ("(Tensor x) -> Tensor", lambda x: np.asarray(x.sum(), x.dtype), "(tt.ones(2, 3))",
                   "x.new_empty(())"),
    "along": ("(Tensor x, int dim) -> Tensor", lambda x, dim: x.max(dim), "(tt.ones(2, 3, 4), 1)",
              "x.new_empty(tuple(n for i, n in enumerate(x.shape) if i != dim % x.ndim))"),
    "matrices": ("(Tensor x, Tensor y) -> Tensor", lambda x, y: (x @ y).astype(x.dtype),
                 "(tt.ones(2, 3), tt.ones(3, 4))", "(x.shape[-2], y.shape[-1])"),
    "joined": ("(Tensor[] xs, int dim=0) -> Tensor", joined, "([tt.ones(2, 3), tt.ones(4, 3)])",
               "sum(t.shape[dim] for t in xs)"),
    "sized": ("(Tensor x, int[] size) -> Tensor", lambda x, size: np.resize(x, tuple(size)), "(tt.ones(3), [2, 4])",
              "x.new_empty(tuple(size))"),
    "linear": ("(Tensor x, int a) -> Tensor", lambda x, a: np.resize(x, (x.shape[0] * a + 3,)), "(tt.ones(4, 2), 5)",
               "x.new_empty((x.shape[0] * a + 3,))"),
    "flat": ("(Tensor x) -> Tensor", lambda x: x.reshape(-1).copy(), "(tt.ones(2, 3))", "x.new_empty((x.numel(),))"),
    "turned": ("(Tensor x) -> Tensor", lambda x: np.ascontiguousarray(x.T), "(tt.ones(2, 3, 4))",
               "x.new_empty(x.shape[::-1])"),
    "pairs": ("(Tensor x, Tensor y) -> Tensor", lambda x, y: np.multiply.outer(x, y).astype(x.dtype),
              "(tt.ones(2), tt.ones(3))", "x.new_empty(x.shape + y.shape)"),
    "halves": ("(Tensor x) -> Tensor", lambda x: x[..., : x.shape[-1] // 2].copy(), "(tt.ones(2, 6))",
               "x.new_empty(x.shape[:-1] + (x.shape[-1] // 2,))"),
    "windows": ("(Tensor x, int kernel, int stride=1, int padding=0) -> Tensor", windows, "(tt.ones(2, 9), 3, 2, 1)",
                "(x.shape[-1] + 2 * padding - kernel) // stride + 1"),
    "picked": ("(Tensor x, Tensor index, int dim) -> Tensor", lambda x, index, dim: np.take(x, index.astype(int), dim),
               "(tt.ones(3, 4), tt.tensor([0, 1]), 1)",
               "x.new_empty(x.shape[: dim % x.ndim] + index.shape + x.shape[dim % x.ndim + 1 :])"),
}  # fmt: skip


class Op:
    """A custom operator with a kernel and no fake."""

    def __init__(self, name, schema, kernel, **options):
        self.op = custom_op(f"suggested::{name}", _declares, schema=schema, **options)
        self.op.kernel("cpu", kernel)

    def __enter__(self):
        return self.op

    def __exit__(self, *exception):
        self.op.remove()


def _declares(): ...


def call(name, arguments):
    return f"ops.suggested.{name}{arguments}"


@pytest.mark.parametrize("name", RULES)
def test_the_rule_is_found_and_makes_the_operator_pass_opcheck(name):
    schema, kernel, arguments, expected = RULES[name]
    with Op(name, schema, kernel) as op:
        found = suggest_fake(op.name, calls=[call(name, arguments)])
        assert found.kind == "fake" and found.verified > 40, found
        assert expected in found.code, found.code
        scope = {"tt": tt, "functools": functools}
        exec(found.code, scope)
        op.fake(scope[f"{name}_without_data"])
        args = eval(f"given{arguments}", {"tt": tt, "given": lambda *args: args})
        assert opcheck(op, args, test_utils="test_faketensor").ok


def test_conditions_are_found_where_one_expression_does_not_do():
    with Op("reduced", "(Tensor x, int[]? dims=None, bool keepdim=False) -> Tensor", reduced) as op:
        found = suggest_fake(op.name, calls=[call("reduced", "(tt.ones(2, 3, 4), [1], True)")])
    assert found.kind == "fake" and "if keepdim:" in found.code and "dims or range(x.ndim)" in found.code


def test_several_results_have_a_rule_each():
    def kernel(x, dim):
        return x.max(dim), x.argmax(dim)

    with Op("most", "(Tensor x, int dim) -> (Tensor, Tensor)", kernel, result=("same", "int64")) as op:
        found = suggest_fake(op.name, calls=[call("most", "(tt.ones(2, 3), 0)")])
    assert found.kind == "fake"
    assert found.code.count("new_empty(") == 2 and found.code.endswith("dtype=tt.int64)")


def test_a_list_of_results_has_rules_for_its_length_and_its_tensors():
    def kernel(x):
        return [row.copy() for row in x]

    with Op("rows", "(Tensor x) -> Tensor[]", kernel) as op:
        found = suggest_fake(op.name, calls=[call("rows", "(tt.ones(2, 3))")])
    assert found.kind == "fake"
    assert found.code.endswith("return [x.new_empty(x.shape[1:]) for i in range(x.shape[0])]")


@pytest.mark.parametrize(
    ("result", "kernel", "expected"),
    [
        ("bool", lambda x: x > 0, "dtype=tt.bool"),
        ("int64", lambda x: np.sign(x).astype(np.int64), "dtype=tt.int64"),
        ("complex", lambda x: x * x.dtype.type(1) * 1j, "dtype=x.dtype.to_complex()"),
    ],
)
def test_the_dtype_has_a_rule_of_its_own(result, kernel, expected):
    op = custom_op("suggested::typed", _declares, schema="(Tensor x) -> Tensor", result=result)
    op.kernel("cpu", kernel, dtypes=("float32", "float64"))
    try:
        assert expected in suggest_fake(op.name, calls=["ops.suggested.typed(tt.ones(2))"]).code
    finally:
        op.remove()


def test_the_order_in_memory_is_proposed_too():
    with Op("columns", "(Tensor x) -> Tensor", lambda x: np.stack([x, x], 1).swapaxes(0, 1)) as op:
        found = suggest_fake(op.name, calls=["ops.suggested.columns(tt.ones(3))"])
    assert found.kind == "nothing" and "strides" in found.why, found


def test_numbers_that_a_kernel_forgets_to_refuse_are_left_out():
    def kernel(x, step):
        return x[:: step or 1].copy()

    with Op("stepped", "(Tensor x, int step=1) -> Tensor", kernel) as op:
        found = suggest_fake(op.name, calls=["ops.suggested.stepped(tt.ones(7), 2)"])
    assert found.kind == "fake" and "below 1" in found.left_out
    assert "x.new_empty((-(-x.shape[0] // step),) + x.shape[1:])" in found.code


def test_shapes_that_depend_on_data_are_recognised():
    with Op("positive", "(Tensor x) -> Tensor", lambda x: x[x > 0]) as op:
        found = suggest_fake(op.name, calls=["ops.suggested.positive(tt.tensor([1.0, -1.0, 2.0]))"])
    assert found.kind == "data_dependent_shape" and found.found and not found.code
    one, other = found.contradictions
    assert one.partition(" -> ")[0] == other.partition(" -> ")[0] and one != other


def test_values_that_depend_on_data_are_recognised():
    with Op("total", "(Tensor x) -> float", lambda x: float(x.sum())) as op:
        found = suggest_fake(op.name, calls=["ops.suggested.total(tt.tensor([1.0, -1.0, 2.0]))"])
    assert found.kind == "data_dependent"


def test_where_nothing_fits_it_says_which_calls_contradict_the_nearest_rule():
    def kernel(x):
        return np.resize(x, (bin(x.size * 37).count("1"),))

    with Op("odd", "(Tensor x) -> Tensor", kernel) as op:
        found = suggest_fake(op.name, calls=["ops.suggested.odd(tt.ones(5))"])
    assert found.kind == "nothing" and not found.found
    assert found.contradictions and all("-> " in text for text in found.contradictions) and found.why


def test_the_signature_is_enough_where_it_can_be():
    with Op("doubled", "(Tensor x) -> Tensor", lambda x: x + x) as op:
        found = suggest_fake(op.name)
    assert (found.kind, found.source) == ("fake", "calls made up from the signature")
    assert found.code.endswith("return tt.empty_like(x)")


def test_no_call_that_succeeds_says_why():
    def kernel(x):
        raise ValueError("never")

    with Op("never", "(Tensor x) -> Tensor", kernel) as op:
        found = suggest_fake(op.name)
    assert found.kind == "no_calls" and "ValueError: never" in found.contradictions[0]


def test_the_calls_of_a_script_are_recorded(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        "import tt\nx = tt.ones(2, 3)\nfor n in (1, 2):\n    tt.ops.suggested.scripted(x, n)\n",
        encoding="utf-8",
    )
    with Op("scripted", "(Tensor x, int n) -> Tensor", lambda x, n: np.repeat(x, max(n, 0), 0)) as op:
        found = suggest_fake(op.name, script=str(script))
    assert found.kind == "fake" and found.observed >= 2


@pytest.mark.parametrize(
    ("name", "calls", "error", "says"),
    [
        ("nobody::knows", (), tt.errors.UnknownOpError, "nobody"),
        ("exp", ("tt.exp(", ), tt.errors.ArgumentError, "is no call"),
        ("exp", ("tt.neg(tt.ones(2))", ), tt.errors.ArgumentError, "makes no call of exp"),
        ("exp", ("tt.exp(y)", ), tt.errors.ArgumentError, "it knows tt, ops and np"),
        ("repeat_interleave", (), tt.errors.ArgumentError, "name one: repeat_interleave.Tensor"),
    ],
)  # fmt: skip
def test_wrong_calls_say_what_is_wrong(name, calls, error, says):
    with pytest.raises(error, match=says):
        suggest_fake(name, calls=calls)


def test_the_same_seed_gives_the_same_proposal():
    one, other = (suggest_fake("mm", calls=["tt.mm(tt.ones(2, 3), tt.ones(3, 4))"], seed=3) for _ in range(2))
    assert one == other


@pytest.mark.parametrize("name", ["exp", "add", "mm", "max.dim", "index_select", "argmax"])
def test_the_rules_of_own_operators_are_found_from_their_samples(name):
    found = suggest_fake(name)
    assert found.kind == "fake" and found.has_fake and found.source == "its samples", found
