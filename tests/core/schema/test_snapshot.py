import os

import pytest

from tests.processes import printed_by
from tt.core.schema import snapshot
from tt.core.schema.load import load, loads
from tt.core.schema.snapshot import (
    Definitions,
    definitions,
    is_stale,
    methods,
    overloads,
    public_names,
    source_path,
)

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


def test_the_snapshot_is_current():
    assert snapshot.main(["--check"]) == 0


def test_the_snapshot_says_what_the_yaml_says():
    parsed = load([source_path()])
    assert list(definitions()) == list(parsed)
    for name, definition in parsed.items():
        assert definitions()[name] == definition
        assert definitions()[name].location[1] == definition.location[1]


def generated(text, tmp_path):
    source = tmp_path / "ops.yaml"
    source.write_text(text)
    rendered = snapshot.render(str(source))
    values = {}
    exec(compile(rendered, "_snapshot.py", "exec"), values)
    return values


def test_any_signature_survives_the_snapshot(tmp_path):
    values = generated(TEXT, tmp_path)
    made = Definitions(values["OPS"], values["TYPES"], values["ALIASES"])
    parsed = loads(TEXT)
    assert [str(d.signature) for d in made.values()] == [str(d.signature) for d in parsed.values()]
    assert made["f.two"] == parsed["f.two"]
    assert values["OVERLOADS"] == {"f": ("f", "f.two")}
    assert values["METHODS"] == ("f", "f_", "g", "g_")
    assert values["PUBLIC_NAMES"] == {"f": "f", "g": "f"}


def test_definitions_are_made_when_they_are_asked_for(tmp_path):
    values = generated(TEXT, tmp_path)
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


def test_another_yaml_makes_the_snapshot_stale(tmp_path):
    source, made = tmp_path / "ops.yaml", tmp_path / "_snapshot.py"
    source.write_text(TEXT)
    made.write_text(snapshot.render(str(source)))
    values = {}
    exec(made.read_text(), values)

    def stale():
        return is_stale(values["SIZE"], values["SHA256"], str(source), str(made))

    os.utime(made, ns=(2, 2))
    os.utime(source, ns=(1, 1))
    assert not stale()
    os.utime(source, ns=(3, 3))
    assert not stale(), "newer, but the same text"
    source.write_text(TEXT.replace("kind: other\n  variants", "kind: facty\n  variants"))
    os.utime(source, ns=(3, 3))
    assert stale(), "newer, of the same size, another text"
    source.write_text(TEXT + "\n")
    os.utime(source, ns=(1, 1))
    assert stale(), "another size"
    source.unlink()
    assert not stale(), "an installed package may come without the YAML"


@pytest.fixture
def edited(tmp_path, monkeypatch):
    """An ops.yaml that somebody edited after the snapshot was made."""
    source = tmp_path / "ops.yaml"
    source.write_text(TEXT)
    monkeypatch.setattr(snapshot, "source_path", lambda: str(source))
    snapshot._state.cache_clear()
    yield source
    monkeypatch.undo()
    snapshot._state.cache_clear()


def test_a_stale_snapshot_gives_way_to_the_yaml(edited):
    assert list(definitions()) == ["f", "f.two"]
    assert overloads("f") == ("f", "f.two")
    assert methods() == ("f", "f_", "g", "g_")
    assert public_names() == {"f": "f", "g": "f"}


def test_the_command_tells_that_the_snapshot_is_stale(edited, capsys):
    assert snapshot.main(["--check"]) == 1
    assert capsys.readouterr().err == "_snapshot.py is stale; run: python -m tt.core.schema.snapshot\n"


def test_the_command_writes_the_snapshot(edited, tmp_path, monkeypatch):
    monkeypatch.setattr(snapshot, "SNAPSHOT_PATH", str(tmp_path / "_snapshot.py"))
    assert snapshot.main([]) == 0
    assert (tmp_path / "_snapshot.py").read_text() == snapshot.render(str(edited))
    assert snapshot.main(["--check"]) == 0


def test_the_command_refuses_other_arguments(capsys):
    assert snapshot.main(["--chekc"]) == 2
    assert capsys.readouterr().err == "usage: python -m tt.core.schema.snapshot [--check]\n"


def test_reading_the_snapshot_imports_no_yaml():
    code = "import sys, tt.core.schema.snapshot as s; s.definitions()['add']; print('yaml' in sys.modules)"
    assert printed_by(code) == "False\n"
