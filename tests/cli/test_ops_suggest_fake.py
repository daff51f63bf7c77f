"""`tt ops suggest-fake`: the whole output for each outcome."""

from __future__ import annotations

import json
import re
from textwrap import dedent

import numpy as np
import pytest

import tt
from tt.library import custom_op


def _declares(): ...


@pytest.fixture
def define():
    """Return a function that defines an operator without a fake; all are taken back."""
    made = []

    def make(name, schema, kernel):
        op = custom_op(name, _declares, schema=schema)
        op.kernel("cpu", kernel, dtypes="floating")
        made.append(op)
        return op

    yield make
    for op in made:
        op.remove()


def counts_out(text):
    """Return the text with numbers of calls as N: they depend on which random calls the operator takes."""
    return re.sub(r"\b\d+ (?=calls|further|more|with row)", "N ", text)


def test_a_proposal_is_a_program(run, define):
    op = define("proposed::twice", "(Tensor x) -> Tensor", lambda x: x + x)
    ran = run("ops", "suggest-fake", "proposed::twice", "--call", "ops.proposed.twice(tt.ones(2, 3))")
    assert (ran.code, ran.err) == (0, "")
    assert counts_out(ran.out) == dedent("""\
        # proposed::twice(Tensor x) -> Tensor
        # made from N calls: the given calls, and variations of them
        # verified on N further calls: shapes and dtypes on all, strides on the N with row-major arguments
        # the operator refused N more variations
        import tt


        @tt.library.register_fake("proposed::twice")
        def twice_without_data(x):
            return tt.empty_like(x)
        """)
    exec(ran.out, {})
    assert op(tt.empty(5, device="meta")).shape == (5,)


def test_without_calls_it_learns_from_the_signature(run, define):
    define("proposed::thrice", "(Tensor x) -> Tensor", lambda x: x * x.dtype.type(3))
    ran = run("ops", "suggest-fake", "proposed::thrice", "--verify", "20")
    assert (
        ran.code == 0
        and "calls made up from the signature" in ran.out
        and "verified on 20 further" in ran.out
    )


@pytest.mark.exhaustive
def test_a_script_may_define_the_operator_and_call_it(run, tmp_path):
    script = tmp_path / "use.py"
    script.write_text(
        dedent("""\
            import numpy as np
            import tt
            from tt.library import custom_op

            def declares(): ...

            op = custom_op("scripted::joined", declares, schema="(Tensor[] xs) -> Tensor")
            op.kernel("cpu", lambda xs: np.concatenate(xs))
            op([tt.ones(2, 3), tt.ones(4, 3)])
            """),
        encoding="utf-8",
    )
    ran = run("ops", "suggest-fake", "scripted::joined", "--script", str(script))
    from tt.core.dispatch.registry import REGISTRY

    REGISTRY._extra.pop("scripted::joined")
    REGISTRY.operators.pop("scripted::joined")
    REGISTRY.kernels.pop("scripted::joined")
    assert ran.code == 0 and "for t in xs)" in ran.out


def test_a_shape_that_depends_on_data_is_said(run, define):
    define("proposed::positive", "(Tensor x) -> Tensor", lambda x: x[x > 0])
    ran = run(
        "ops", "suggest-fake", "proposed::positive", "--call", "ops.proposed.positive(tt.tensor([1.0, -1.0]))"
    )
    lines = ran.out.splitlines()
    assert ran.code == 0 and len(lines) == 4
    assert lines[0] == (
        "proposed::positive: the shape of the result depends on data: arguments that look the same gave"
    )
    assert lines[3] == (
        "say so: tags=('data_dependent_shape',) in custom_op, or tags: [data_dependent_shape] in YAML; "
        "tensors without data are then refused"
    )
    one, other = (re.fullmatch(r"    \((\w+\[.*\])\) -> (\w+\[\d+\])", line) for line in lines[1:3])
    assert one[1] == other[1] and one[2] != other[2]


def test_where_nothing_fits_the_calls_that_contradict_are_shown(run, define):
    define("proposed::odd", "(Tensor x) -> Tensor", lambda x: np.resize(x, (bin(x.size * 37).count("1"),)))
    ran = run("ops", "suggest-fake", "proposed::odd", "--call", "ops.proposed.odd(tt.ones(5))")
    assert ran.code == 1
    assert re.match(
        r"proposed::odd: no rule fits all of \d+ calls: the result: no rule for its shape\n", ran.out
    )
    assert (
        "the nearest rule:\n    def odd_without_data(x):" in ran.out and "does not fit\n    (float" in ran.out
    )


def test_an_operator_that_takes_no_call_says_what_to_give(run, define):
    def kernel(x):
        raise ValueError("never")

    define("proposed::never", "(Tensor x) -> Tensor", kernel)
    ran = run("ops", "suggest-fake", "proposed::never")
    assert (ran.code, ran.out) == (
        1,
        dedent("""\
        proposed::never: no call succeeded, so there is nothing to learn from
          (float32[3, 4]): ValueError: never
          (float32[3, 4]): ValueError: never
          (float32[5]): ValueError: never
          try: --call 'ops.proposed.never(...)', or --script FILE
        """),
    )


def test_json_has_everything(run, define):
    define("proposed::half", "(Tensor x) -> Tensor", lambda x: x / 2)
    ran = run("ops", "suggest-fake", "proposed::half", "--json")
    found = json.loads(ran.out)
    assert found["found"] is True and found["kind"] == "fake" and found["op"] == "proposed::half"
    assert found["code"] == "def half_without_data(x):\n    return tt.empty_like(x)"
    assert found["verified"] > 50 and found["strides"] > 50 and found["contradictions"] == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["expp"], "no operator is named 'expp'; did you mean 'exp'"),
        (["exp", "--call", "tt.neg(tt.ones(2))"], "makes no call of exp"),
        (["exp", "--call", "tt.exp("], "is no call"),
    ],
)
def test_a_wrong_call_exits_with_2(run, arguments, says):
    ran = run("ops", "suggest-fake", *arguments)
    assert ran.code == 2 and ran.out == "" and says in ran.err
