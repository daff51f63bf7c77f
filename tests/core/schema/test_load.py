import textwrap

import pytest

from tt.core.errors import SchemaError
from tt.core.schema.fields import FIELDS
from tt.core.schema.load import load, loads
from tt.core.schema.snapshot import source_path

HEAD = "schema_version: 1\nops:\n"


def problems(text, file="f.yaml"):
    with pytest.raises(SchemaError) as caught:
        loads(text, file)
    return caught.value.problems


def told(text):
    """Every problem as "line:column: message", with its hint on a second line."""
    return [f"{p.line}:{p.column}: {p.message}" + (f"\n{p.hint}" if p.hint else "") for p in problems(text)]


def entry(lines):
    """A file with one entry whose first line is line 3."""
    return (
        HEAD
        + "- func: f(Tensor self, Tensor other) -> Tensor\n  kind: other\n"
        + textwrap.indent(lines, "  ")
    )


# --- reading ----------------------------------------------------------------------------------------------


def test_entries_under_a_name_are_of_this_family_and_those_of_a_list_of_none():
    of_families = loads("""
schema_version: 1
ops:
  linalg:
  - func: f(Tensor self) -> Tensor
    kind: view
    variants: [function, copy]
  - func: g(Tensor self) -> Tensor
    kind: other
  fft:
  - func: h(Tensor self) -> Tensor
    kind: other
""")
    assert {name: d.family for name, d in of_families.items()} == {
        "f": "linalg", "f_copy": "linalg", "g": "linalg", "h": "fft",
    }  # fmt: skip
    plain = loads(HEAD + "- func: f(Tensor self) -> Tensor\n  kind: other\n")
    assert [d.family for d in plain.values()] == [""]


def test_every_key_is_read():
    found = loads(HEAD + textwrap.dedent("""\
        - func: linalg_f.x(Tensor self, Tensor other, Scalar s) -> (Tensor a, Tensor b)
          kind: pointwise
          meta: tt.operators.pointwise.shapes:same
          promote: [self, other, s]
          result: [default, int64]
          dtypes: [floating, bool]
          variants: [function, method, out]
          python_module: linalg
          aliases: [nn.functional.g, h]
          grad: [self]
          core: true
          tags: [random]
          ref: numpy.linalg:f
          samples: some_family
          doc: >-
            Does
            something.
          example: |-
            >>> 1
            1
        """), "f.yaml")  # fmt: skip
    (name, definition), = found.items()  # fmt: skip
    assert name == "linalg_f.x"
    assert definition.kind == "pointwise"
    assert definition.meta == "tt.operators.pointwise.shapes:same"
    assert definition.promote == ("self", "other", "s")
    assert definition.result == ("default", "int64")
    assert definition.dtypes == ("floating", "bool")
    assert definition.variants == ("function", "method", "out")
    assert (definition.module, definition.python_name) == ("linalg", "f")
    assert definition.aliases == ("nn.functional.g", "h")
    assert definition.grad == ("self",)
    assert definition.core is True
    assert definition.tags == ("random",)
    assert definition.ref == "numpy.linalg:f"
    assert definition.samples == "some_family"
    assert definition.doc == "Does something."
    assert definition.example == ">>> 1\n1"
    assert definition.location == ("f.yaml", 3)


def test_what_is_left_out_has_a_default():
    definition = loads(HEAD + "- {func: f(Tensor x) -> Tensor, kind: other}\n")["f"]
    assert (definition.result, definition.dtypes, definition.variants) == ("default", "all", ("function",))
    assert (definition.meta, definition.promote, definition.core, definition.module) == (None, (), False, "")


def test_the_operators_of_tt_are_read_in_the_order_of_the_file():
    with open(source_path(), encoding="utf-8") as file:
        expected = [
            line.strip().split("(")[0].removeprefix("- func: ").lstrip("'")
            for line in file
            if line.startswith("  - func")
        ]
    at_place: dict[object, str] = {}
    for name, definition in load([source_path()]).items():
        at_place.setdefault(definition.location, name)  # a copying form follows its view
    assert list(at_place.values()) == expected


def test_the_copying_form_of_a_view_returns_new_memory():
    found = loads(
        HEAD
        + "- {func: 'turned(Tensor(a) self, int[] dims) -> Tensor(a)', kind: view, variants: [method, copy],"
        + " example: '>>> tt.zeros(2).turned(0)', samples: permute, doc: Turns.}\n"
    )
    assert list(found) == ["turned", "turned_copy"]
    copies = found["turned_copy"]
    assert str(copies.signature) == "turned_copy(Tensor self, int[] dims) -> Tensor"
    assert (copies.kind, copies.variants, found["turned"].variants) == (
        "composite",
        ("function", "out"),
        ("method",),
    )
    assert copies.example == ">>> tt.turned_copy(tt.zeros(2), [0])"


def test_third_parties_have_a_namespace():
    by_file = loads(
        "schema_version: 1\nnamespace: acme\nops:\n- {func: twice(Tensor x) -> Tensor, kind: other}\n"
    )
    by_name = loads(HEAD + "- {func: 'acme::twice(Tensor x) -> Tensor', kind: other}\n")
    assert list(by_file) == list(by_name) == ["acme::twice"]
    assert by_file["acme::twice"].signature == by_name["acme::twice"].signature


# --- mistakes in a file ----------------------------------------------------------------------------------------

FILES = {
    "": ["1:1: the file is empty\nwrite schema_version: 1 and ops:"],
    "- 1": ["1:1: the file must be a mapping of keys to values, not a list"],
    "ops: []": ["1:1: the file has no schema_version\nwrite schema_version: 1"],
    "schema_version: 1": ["1:1: the file has no ops\nwrite ops: and a list of entries"],
    "schema_version: 2\nops: []": ["1:17: schema_version must be 1, not the number 2"],
    "schema_version: '1'\nops: []": ["1:17: schema_version must be 1, not the text 1"],
    "schema_version: 1\nops: {a b: [], c: [], c: [], 1: [], d: f}": [
        "2:7: 'a b' is not a name",
        "2:23: the family 'c' occurs twice",
        "2:30: the name of a family must be a string, not the number 1\nwrite '1'",
        "2:40: d must be a list, not the text f\nwrite [f]",
    ],
    "schema_version: 1\nops: f": ["2:6: ops must be a list, not the text f\nwrite [f]"],
    "schema_version: 1\nops:\n- 7": [
        "3:3: an entry of ops must be a mapping of keys to values, not the number 7"
    ],
    "schema_version: 1\nopps: []\nops: []": ["2:1: unknown key 'opps'\ndid you mean 'ops'?"],
    "schema_version: 1\nschema_version: 1\nops: []": ["2:1: the key 'schema_version' occurs twice"],
    "schema_version: 1\nnamespace: a b\nops: []": ["2:12: 'a b' is not a name"],
    "schema_version: 1\n1: 2\nops: []": ["2:1: a key must be a string, not the number 1"],
    "schema_version: 1\nnamespace: a\nops:\n- {func: 'b::f(Tensor x) -> Tensor', kind: other}": [
        "4:10: the namespace of the file is 'a', not 'b'"
    ],
}


@pytest.mark.parametrize("text", FILES)
def test_mistakes_in_a_file(text):
    assert told(text) == FILES[text]


NO_YAML = {
    "schema_version: 1\nops: [": (2, 7),
    "schema_version: 1\nops:\n\t- x": (3, 1),
    "schema_version: 1\nops: \x01": (2, 6),
    "schema_version: 1\nops: *x": (2, 6),
}


@pytest.mark.parametrize("text", NO_YAML)
def test_what_is_no_yaml_is_a_problem_with_its_place(text):
    (problem,) = problems(text)
    assert (problem.line, problem.column) == NO_YAML[text]
    assert problem.message.startswith("this is not YAML: ")
    assert problem.source == text.split("\n")[problem.line - 1]


def test_a_file_that_is_not_there_is_a_problem_like_any_other(tmp_path):
    with pytest.raises(SchemaError) as caught:
        load([tmp_path / "absent.yaml"])
    assert (
        str(caught.value.problems[0])
        == f"{tmp_path / 'absent.yaml'}:1:1: cannot read the file: No such file or directory"
    )


def test_a_file_that_is_no_text_is_a_problem_like_any_other(tmp_path):
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SchemaError, match="cannot read the file: 'utf-8' codec can't decode byte 0xff"):
        load([tmp_path / "binary.yaml"])


# --- mistakes in an entry --------------------------------------------------------------------------------------

ENTRIES = {
    "knd: view": ["5:3: unknown key 'knd'\ndid you mean 'kind'?"],
    "qqqq: 1": ["5:3: unknown key 'qqqq'\nthere are: " + ", ".join(FIELDS)],
    "kind: view": ["5:3: the key 'kind' occurs twice"],
    "meta: 1": ["5:9: meta must be a string, not the number 1\nwrite '1'"],
    "meta: [a]": ["5:9: meta must be a string, not a list"],
    "meta:": ["5:8: meta must be a string, not nothing"],
    "meta: ''": ["5:9: meta is empty\nleave the key out, or give it a value"],
    "meta: a b": ["5:9: 'a b' is not a name of a shape rule"],
    "promote: self": ["5:12: promote must be a list, not the text self\nwrite [self]"],
    "promote: [self, othr]": ["5:19: f has no argument 'othr'\ndid you mean 'other'?"],
    "promote: [zzz]": ["5:13: f has no argument 'zzz'\nits arguments are: self, other"],
    "promote: [self, self]": ["5:19: 'self' is listed twice in promote"],
    "promote: [self, 1]": ["5:19: promote must be a string, not the number 1\nwrite '1'"],
    "grad: [othre]": ["5:10: f has no argument 'othre'\ndid you mean 'other'?"],
    "in_range: [othre]": ["5:14: f has no argument 'othre'\ndid you mean 'other'?"],
    "in_compute_range: [self]": ["5:22: 'self' is Tensor, which takes no number"],
    "autocast: lowr": ["5:13: unknown policy of autocast 'lowr'\ndid you mean 'lower'?"],
    "autocast: set_dtype": ["5:13: f has no argument of the type dtype, which set_dtype sets"],
    "result: defult": ["5:11: unknown rule of result 'defult'\ndid you mean 'default'?"],
    "result: [default, bool]": ["5:11: f returns 1, but result lists 2"],
    "dtypes: floting": ["5:11: unknown class of dtypes 'floting'\ndid you mean 'floating'?"],
    "dtypes: [bool, flot32]": ["5:18: unknown class of dtypes 'flot32'\ndid you mean 'float32'?"],
    "variants: [functon]": ["5:14: unknown variant 'functon'\ndid you mean 'function'?"],
    "tags: [randon]": ["5:10: unknown tag 'randon'\ndid you mean 'random'?"],
    "core: 1": ["5:9: core must be true or false, not the number 1"],
    "core: 'true'": ["5:9: core must be true or false, not the text true"],
    "ref: numpy": ["5:8: 'numpy' is not a module:function"],
    "doc: true": ["5:8: doc must be a string, not the truth value true\nwrite 'true'"],
    "samples: 1.5": ["5:12: samples must be a string, not the number 1.5\nwrite '1.5'"],
    "python_module: nn-functional": ["5:18: 'nn-functional' is not a dotted name"],
    "aliases: [a, b-c]": ["5:16: 'b-c' is not a dotted name"],
    "doc: {a: b}": ["5:8: doc must be a string, not a mapping"],
    "doc: 2020-01-01": ["5:8: doc must be a string, not a value of type timestamp\nwrite '2020-01-01'"],
}


@pytest.mark.parametrize("lines", ENTRIES)
def test_mistakes_in_an_entry(lines):
    assert told(entry(lines)) == ENTRIES[lines]


def test_an_unknown_kind_names_the_nearest():
    text = HEAD + "- {func: f(Tensor x) -> Tensor, kind: pointwse}"
    assert told(text) == ["3:39: unknown kind 'pointwse'\ndid you mean 'pointwise'?"]


def test_func_and_kind_are_required():
    assert told(HEAD + "- doc: x\n") == [
        "3:3: the entry has no func\nwrite func: the signature: name.overload(arguments) -> returns.",
        "3:3: the entry has no kind\nwrite kind: what sort of operator it is.",
    ]


@pytest.mark.parametrize(
    ("func", "expected"),
    [
        ("f(tensor x) -> Tensor", "3:11: unknown type 'tensor'\ndid you mean 'Tensor'?"),
        ("'f(tensor x) -> Tensor'", "3:12: unknown type 'tensor'\ndid you mean 'Tensor'?"),
        ("add_(Tensor x) -> Tensor",
         "3:9: 'add_' names an in-place form, which is derived\ndefine 'add' with variants: [inplace]"),
    ],
)  # fmt: skip
def test_mistakes_in_a_signature_have_their_column_in_the_file(func, expected):
    assert told(HEAD + f"- func: {func}\n  kind: other\n") == [expected]


def test_an_operator_that_changes_several_arguments_may_have_the_name_of_an_in_place_form(tmp_path):
    path = tmp_path / "ops.yaml"
    path.write_text(HEAD + "- func: add_(Tensor(a!) x, Tensor(b!) count) -> Tensor(a!)\n  kind: other\n")
    assert [str(d.signature) for d in load([path]).values()] == [
        "add_(Tensor(a!) x, Tensor(b!) count) -> Tensor(a!)"
    ]


def test_forms_that_cannot_be_derived_are_refused():
    text = HEAD + "- func: f(int n) -> bool\n  kind: other\n  variants: [function, inplace, out]\n"
    assert told(text) == [
        "5:24: f(int n) -> bool has no in-place form: it must take a tensor first and return one tensor",
        "5:33: f(int n) -> bool has no out= form: it must return tensors",
    ]


@pytest.mark.parametrize(("key", "what"), [("promote", "dtype"), ("grad", "gradient")])
def test_arguments_that_are_no_tensors_neither_promote_nor_have_a_gradient(key, what):
    text = HEAD + f"- func: f(Tensor x, int[] n) -> Tensor\n  kind: other\n  {key}: [n]\n"
    assert told(text) == [f"5:{len(key) + 6}: 'n' is int[], which has no {what}"]


# --- several ---------------------------------------------------------------------------------------------------


def test_an_operator_may_be_defined_once(tmp_path):
    one = "- {func: f(Tensor x) -> Tensor, kind: other}\n"
    assert told(HEAD + one + one) == [
        "4:10: f is defined twice\nthe first definition is at f.yaml:3; give one an overload name"
    ]
    first, second = tmp_path / "a.yaml", tmp_path / "b.yaml"
    first.write_text(HEAD + one)
    second.write_text(HEAD + one)
    with pytest.raises(SchemaError) as caught:
        load([first, second])
    (problem,) = caught.value.problems
    assert (problem.file, problem.line) == (str(second), 3)
    assert problem.hint == f"the first definition is at {first}:3; give one an overload name"


def test_all_mistakes_of_all_files_are_reported_together(tmp_path):
    first, second = tmp_path / "a.yaml", tmp_path / "b.yaml"
    first.write_text(
        HEAD + "- func: f(tensor x) -> Tensor\n  kind: vew\n  core: 3\n- func: g(\n  kind: other\n"
    )
    second.write_text("schema_version: 1\nops: [")
    with pytest.raises(SchemaError) as caught:
        load([first, tmp_path / "absent.yaml", second])
    assert [(p.file.rpartition("/")[2], p.line, p.column) for p in caught.value.problems] == [
        ("a.yaml", 3, 11),
        ("a.yaml", 4, 9),
        ("a.yaml", 5, 9),
        ("a.yaml", 6, 11),
        ("absent.yaml", 1, 1),
        ("b.yaml", 2, 7),
    ]
    assert str(caught.value).startswith("6 problems in the operator schema\n")


def test_a_problem_prints_its_line_and_a_caret():
    with pytest.raises(SchemaError) as caught:
        loads(entry("knd: view"), "ops.yaml")
    assert str(caught.value) == textwrap.dedent("""\
        1 problem in the operator schema
        ops.yaml:5:3: unknown key 'knd'
              knd: view
              ^
            did you mean 'kind'?""")
