from tests.processes import printed_by
from tt.core.schema import generate
from tt.core.schema.load import load, loads
from tt.core.schema.snapshot import Definitions, definitions, methods, overloads, public_names, source_path

TEXT = """\
schema_version: 1
ops:
- func: f(Tensor self, float x=inf, float y=-inf, float[] z=[nan], *, str? s=None) -> Tensor
  kind: other
  variants: [function, method, inplace]
  aliases: [g]
- func: f.two(Tensor(a -> *) self, int[2] n=1) -> (Tensor(a)[] a, Tensor b)
  kind: other
"""


def test_the_snapshot_says_what_the_yaml_says():
    parsed = load([source_path()])
    assert list(definitions()) == list(parsed)
    for name, definition in parsed.items():
        line = definition.location[1]
        # The parsed one names the file in full.
        assert definitions()[name] == definition._replace(location=("ops.yaml", line))


def generated(text):
    values = {}
    exec(compile(generate.render(loads(text), "digest"), "_snapshot.py", "exec"), values)
    return values


def test_any_signature_survives_the_snapshot():
    values = generated(TEXT)
    made = Definitions(values["OPS"], values["TYPES"], values["ALIASES"])
    parsed = loads(TEXT)
    assert [str(d.signature) for d in made.values()] == [str(d.signature) for d in parsed.values()]
    line = parsed["f.two"].location[1]
    assert made["f.two"] == parsed["f.two"]._replace(location=("ops.yaml", line))
    assert values["OVERLOADS"] == {"f": ("f", "f.two")}
    assert values["DIGEST"] == "digest"
    assert values["METHODS"] == ("f", "f_", "g", "g_")
    assert values["PUBLIC_NAMES"] == {"f": "f", "g": "f"}
    assert values["ORIGINALS"] == {"g": "f"}


def test_the_same_yaml_gives_the_same_text():
    found = load([source_path()])
    assert generate.render(found, "digest") == generate.render(load([source_path()]), "digest")


def test_definitions_are_made_when_they_are_asked_for():
    values = generated(TEXT)
    made = Definitions(values["OPS"], values["TYPES"], values["ALIASES"])
    assert "f" in made and "h" not in made and len(made) == 2 and repr(made) == "<2 operators>"
    assert not made._made
    assert made["f"] is made["f"]
    assert list(made._made) == ["f"]
    assert made.get("h") is None


def test_overloads_methods_and_public_names():
    assert overloads("max") == ("max", "max.dim", "max.other")
    assert overloads("max.dim") == ("max.dim",)
    assert overloads("nothing") == ()
    assert {"add", "add_", "normal_", "view"} <= set(methods())
    assert not {"normal", "zeros", "zeros_"} & set(methods())
    assert public_names()["nn.functional.relu"] == "relu"


def test_reading_the_snapshot_imports_no_yaml():
    code = "import sys, tt.core.schema.snapshot as s; s.definitions()['add']; print('yaml' in sys.modules)"
    assert printed_by(code) == "False\n"
