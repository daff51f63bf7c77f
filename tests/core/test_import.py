"""`import tt` is light, and imports no unused module."""

from __future__ import annotations

import pytest

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


# --- imports of a first step -----------------------------------------------------------------------------------

HEAVY = (
    "asyncio", "cupy", "email", "hmac", "http", "importlib.metadata", "importlib.resources", "pathlib", "rich", "scipy",
    "secrets", "shutil", "socket", "tempfile", "tomllib", "torch", "typer", "urllib.parse", "yaml", "zipfile",
    "tt.cli", "tt.core.reports", "tt.core.testing", "tt.core.extension", "tt.core.dispatch.resolve.explain",
    "tt.backends.cuda.backend", "tt.backends.cuda.runtime", "tt.plugins.sparse.backend", "tt.plugins.nested.backend",
)  # fmt: skip
"""What needs a call of its own: it may take longer to import than all that a training step needs."""

FIRST_TENSOR = "import numpy\nbefore = set(sys.modules)\nimport tt\nx = tt.tensor([[1.0, 2.0]])\nx = x + x\n"

FIRST_STEP = f"""{FIRST_TENSOR}
model = tt.nn.Sequential(tt.nn.Linear(2, 8), tt.nn.ReLU(), tt.nn.Linear(8, 1))
optimizer = tt.optim.SGD(model.parameters(), lr=0.1)
tt.nn.functional.mse_loss(model(x), tt.zeros(1, 1)).backward()
optimizer.step()
"""

COMPOSITES = {
    "activation", "contraction", "creation", "helpers", "linalg", "loss", "nn", "optimizer", "pointwise", "random",
    "reduction", "tables",
}  # fmt: skip
FORMULAS = {
    "activation",
    "families",
    "helpers",
    "linalg",
    "loss",
    "pointwise",
    "table",
    "shaping",
    "reduction",
}
MODULES = {
    "activation", "attention", "attribute_slot", "calling", "container", "conversion", "failing_layer", "hooks", "lazy",
    "linear", "module", "rectifiers", "registration", "softmax", "state_dict", "traversal",
}  # fmt: skip
OPTIMIZERS = {"_steps", "optimizer", "sgd"}
STEPS = {"arithmetic", "elementwise", "options"}


def new_after(code: str, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the modules that code imports above NumPy's, in a process that finds the indices of families."""
    # Indices are written where Python writes compiled modules; the first process may have to.
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    program = f"import sys\n{code}\nprint('\\n'.join(set(sys.modules) - before))"
    printed_by(program)
    return set(printed_by(program).split())


def within(found: set[str], package: str) -> set[str]:
    return {name.rpartition(".")[2] for name in found if name.rpartition(".")[0] == package}


def test_the_first_operator_imports_what_no_other_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    found = new_after(FIRST_TENSOR, monkeypatch)
    assert not {m for m in found if any(m == name or m.startswith(name + ".") for name in HEAVY)}
    assert not within(found, "tt.core.composites") | within(found, "tt.plugins.autograd.formulas")
    assert not {m for m in found if m.startswith(("tt.nn", "tt.optim", "tt.plugins.autograd.record"))}
    assert within(found, "tt.core.shapes") <= {"geometry", "pointwise", "registry"}


def test_the_first_training_step_imports_the_families_that_it_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    found = new_after(FIRST_STEP, monkeypatch)
    assert not {m for m in found if any(m == name or m.startswith(name + ".") for name in HEAVY)}
    assert within(found, "tt.core.composites") <= COMPOSITES
    assert within(found, "tt.plugins.autograd.formulas") <= FORMULAS
    assert within(found, "tt.nn.modules") <= MODULES
    assert within(found, "tt.optim") <= OPTIMIZERS
    assert within(found, "tt.optim._steps") <= STEPS
    assert within(found, "tt.core.shapes") <= {
        "geometry",
        "loss",
        "optimizer",
        "pointwise",
        "registry",
        "linalg",
    }


def test_the_help_of_the_command_imports_no_engine() -> None:
    found = modules_after(
        "sys.argv = ['tt', '--help']\nfrom tt.cli.main import main\n"
        "import io\nsys.stdout, out = io.StringIO(), sys.stdout\n"
        "try: main()\nexcept SystemExit: pass\nsys.stdout = out"
    )
    engine = (
        "tt.backends",
        "tt.plugins",
        "tt.core.host.host",
        "tt.core.methods",
        "tt.core.dispatch.call",
        "pluggy",
    )
    assert "tt.cli.main" in found
    assert not {m for m in found if m.startswith(engine)}


def test_the_public_names_are_listed() -> None:
    import tt

    assert {"add", "tensor", "float32", "nn", "autograd", "Tensor"} <= set(dir(tt))
