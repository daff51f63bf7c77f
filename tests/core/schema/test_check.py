import pytest

from tt.core.schema.check import MAX_CORE, check_definitions
from tt.core.schema.load import loads
from tt.core.schema.model import OpDefinition, Signature
from tt.core.schema.snapshot import definitions


def test_the_operators_of_tt_obey_every_law():
    assert check_definitions(definitions()) == []


GOOD = {
    "meta": "same", "promote": ("self",), "grad": ("self",), "doc": "d", "example": ">>> 1", "samples": "s",
    "variants": ("function", "method", "inplace", "out"),
}  # fmt: skip


def found(func="f(Tensor self) -> Tensor", kind="pointwise", **changes):
    definition = OpDefinition(Signature.parse(func), kind, **{**GOOD, **changes})
    return [problem.message for problem in check_definitions([definition])]


def test_a_good_operator_has_no_problem():
    assert found() == []


SEVEN = ", ".join(f"Tensor {c}" for c in "abcdefg")

LAWS = [
    ({"doc": ""}, "has no doc"),
    ({"example": None}, "has no example"),
    ({"example": "tt.f()"}, "its example is not a doctest"),
    ({"samples": None}, "has no samples"),
    ({"meta": None}, "has no shape rule and is not a composite"),
    ({"kind": "composite", "core": True}, "is core and a composite"),
    ({"promote": ("slf",)}, "promote names 'slf', which is not an argument"),
    ({"grad": ("x",)}, "grad names 'x', which is not an argument"),
    ({"func": "f(Tensor self, int n) -> Tensor", "promote": ("n",)}, "promote names 'n', which is int"),
    ({"func": "f(Tensor self, Scalar n) -> Tensor", "grad": ("n",)}, "grad names 'n', which is Scalar"),
    ({"in_range": ("n",)}, "in_range names 'n', which is not an argument"),
    ({"in_compute_range": ("self",)}, "in_compute_range names 'self', which is Tensor"),
    ({"autocast": "set_dtype"}, "autocast: set_dtype is for operators with an argument of the type dtype"),
    ({"autocast": "lower", "autocast_cpu": "lower"}, "autocast_cpu: lower says what holds without it"),
    ({"autocast_cpu": "none"}, "autocast_cpu: none says what holds without it"),
    ({"func": "f(int n) -> Tensor", "kind": "other", "promote": (), "grad": (), "result": "int64",
      "variants": ("function",), "tags": ("nondifferentiable",), "autocast": "lower"},
     "autocast: lower is for operators of tensors"),
    ({"func": f"f(Tensor self, {SEVEN}) -> Tensor"}, "7 tensor arguments are outside promote, at most 6 may be"),
    ({"result": ("default", "bool")}, "returns 1 results, but result lists 2"),
    ({"result": "none"}, "result: none is for results that are not tensors"),
    ({"func": "f(Tensor self) -> bool"}, "result: default is for results that are tensors"),
    ({"promote": ()}, "result: default needs arguments that promote"),
    ({"func": "f(int self) -> Tensor", "kind": "other", "promote": (), "grad": (), "result": "same"},
     "result: same needs a tensor argument"),
    ({"kind": "view", "variants": ("function",)}, "is a view, but its return does not alias its first argument"),
    ({"func": "f(Tensor self, Tensor(a) x) -> Tensor(a)", "kind": "view", "variants": ("function",)},
     "is a view, but its return does not alias its first argument"),
    ({"func": "f(Tensor(a) self) -> Tensor(a)"}, "returns an alias, but is not a view"),
    ({"func": "f(int self) -> Tensor", "promote": (), "grad": (), "result": "dtype"},
     "is pointwise, but takes no tensor"),
    ({"func": "f(Tensor self, *, device? device=None) -> Tensor", "kind": "factory"}, "is a factory, but has no dtype"),
    ({"func": "f(Tensor self, *, dtype? dtype=None) -> Tensor", "kind": "factory"}, "is a factory, but has no device"),
    ({"func": "f(Tensor x, Tensor self) -> Tensor"}, "is a method, but its first argument is not called self"),
    ({"tags": ("metadata_inplace",), "variants": ("function",)},
     "is tagged metadata_inplace, but has no in-place form"),
    ({"tags": ("inplace_only",)}, "is tagged inplace_only, but has other variants"),
    ({"func": "f(Tensor(a) self) -> Tensor(a)", "kind": "view"},
     "is a view with an in-place form, which can only change metadata"),
    ({"tags": ("nondifferentiable",)}, "is tagged nondifferentiable, but lists grad"),
    ({"tags": ("no_derivative",)}, "is tagged no_derivative, but lists grad"),
    ({"grad": (), "tags": ("nondifferentiable", "no_derivative")},
     "is tagged both nondifferentiable and no_derivative"),
    ({"grad": ()}, "has no gradient and does not say so"),
    ({"tags": ("same_dtype",)}, "is tagged same_dtype, but fewer than two arguments promote"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), LAWS, ids=[message for _, message in LAWS])
def test_laws_of_one_operator(changes, message):
    assert found(**changes) == [message]


def test_the_core_set_stays_small():
    many = [
        OpDefinition(Signature.parse(f"f{i}(Tensor self) -> Tensor"), "pointwise", core=True, **GOOD)
        for i in range(MAX_CORE + 1)
    ]
    assert check_definitions(many[:-1]) == []
    (problem,) = check_definitions(many)
    assert str(problem) == "core: 101 operators are core; a new backend may need at most 100"


def test_a_public_name_is_that_of_one_operator():
    one = OpDefinition(Signature.parse("f(Tensor self) -> Tensor"), "pointwise", aliases=("g",), **GOOD)
    two = OpDefinition(Signature.parse("g(Tensor self) -> Tensor"), "pointwise", **GOOD)
    assert [str(p) for p in check_definitions([one, two])] == ["g: its public name 'g' is that of f too"]
    other = OpDefinition(Signature.parse("acme::g(Tensor self) -> Tensor"), "pointwise", **GOOD)
    assert check_definitions([one, other]) == []


def test_a_problem_prints_where_the_entry_is():
    text = "schema_version: 1\nops:\n- {func: f(int x) -> bool, kind: composite, doc: d, samples: s}\n"
    (problem,) = check_definitions(loads(text, "my.yaml"))
    assert str(problem) == "my.yaml:3: f: has no example\n    write example: in its entry"
