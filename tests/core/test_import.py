"""`import tt` is light, and what is not used is not imported."""

from __future__ import annotations

from tests.processes import printed_by

LATE = (
    "pluggy",
    "yaml",
    "typer",
    "rich",
    "scipy",
    "cupy",
    "torch",
    "tt.plugins",
    "tt.backends",
    "tt.cli",
    "tt.core.host.host",
)


def modules_after(code: str) -> set[str]:
    """Return the modules that a fresh interpreter has imported after running some code."""
    program = f"import sys\n{code}\nprint('\\n'.join(sys.modules))"
    return set(printed_by(program).split())


def test_import_alone_loads_no_plugin_and_nothing_that_is_needed_later() -> None:
    found = modules_after("import tt")
    late = {m for m in found if any(m == name or m.startswith(name + ".") for name in LATE)}
    assert late == set()


def test_arithmetic_on_the_cpu_imports_no_other_plugin() -> None:
    found = modules_after("import tt; (tt.ones(2) + 1).sum().item()")
    assert "tt.backends.cpu.pointwise" in found
    assert "tt.plugins.autograd.backward.engine" not in found
    assert "tt.plugins.sparse.layouts" not in found
    assert "tt.backends.cuda.backend" not in found
    assert not found & {"cupy", "torch", "yaml", "typer", "rich"}


def test_the_schema_is_read_from_the_snapshot_not_from_yaml() -> None:
    found = modules_after("import tt; tt.add, tt.ones(2)")
    assert "tt.core.schema._snapshot" in found
    assert not found & {"yaml", "tt.core.schema.load", "tt.core.schema.grammar"}


def test_the_public_names_are_listed() -> None:
    import tt

    assert {"add", "tensor", "float32", "nn", "autograd", "Tensor"} <= set(dir(tt))
