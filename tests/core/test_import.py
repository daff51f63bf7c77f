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
    "tt.cli", "tt.cli.pages", "tt.testing", "tt.core.extension", "tt.core.dispatch.resolve.explain",
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

OPERATORS = {
    "activation._constants", "activation.composites", "creation.composites", "helpers",
    "linalg.composites", "linalg.shapes", "loss.composites", "loss.shapes", "optimizer.composites",
    "optimizer.shapes", "pointwise.composites", "pointwise.shapes", "random.composites", "reduction.composites",
}  # fmt: skip
FORMULAS = {
    "activation", "families", "helpers", "linalg", "loss", "pointwise", "random", "reduction", "shaping", "table",
}  # fmt: skip
MODULES = {
    "attribute_slot", "calling", "container", "conversion", "failing_layer", "hooks", "lazy", "linear", "module",
    "rectifiers", "registration", "state_dict", "traversal",
}  # fmt: skip
OPTIMIZERS = {"_steps", "optimizer", "sgd"}
STEPS = {"arithmetic", "elementwise", "options"}


MODULES_OF_TT = {
    "import tt": 5,
    "x = tt.ones(4, 8)": 200,
    "model = tt.nn.Sequential(tt.nn.Linear(8, 16), tt.nn.ReLU(), tt.nn.Linear(16, 3))\ny = model(x)": 295,
    "tt.nn.functional.cross_entropy(y, tt.tensor([0, 1, 2, 0])).backward()": 310,
}
"""The parts of a first step, and the most modules of tt that may be there after each.

A module costs 0.1 to 0.2 ms.  There is room for a few more families; who needs more has found something that should
wait until it is used."""


def new_after(code: str, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the modules that code imports above NumPy's, in a process that finds the indices of families."""
    # Indices are written where Python writes compiled modules; the first process may have to.
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    program = f"import sys\n{code}\nprint('\\n'.join(set(sys.modules) - before))"
    printed_by(program)
    return set(printed_by(program).split())


def within(found: set[str], package: str) -> set[str]:
    return {name.rpartition(".")[2] for name in found if name.rpartition(".")[0] == package}


def operators_in(found: set[str]) -> set[str]:
    """Return the modules of operators, without the packages of families."""
    names = {name.removeprefix("tt.operators.") for name in found if name.startswith("tt.operators.")}
    return {name for name in names if not any(other.startswith(f"{name}.") for other in names)}


def test_the_first_operator_imports_what_no_other_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    found = new_after(FIRST_TENSOR, monkeypatch)
    assert not {m for m in found if any(m == name or m.startswith(name + ".") for name in HEAVY)}
    assert operators_in(found) <= {"pointwise.shapes"} and not within(found, "tt.plugins.autograd.formulas")
    assert not {m for m in found if m.startswith(("tt.nn", "tt.optim", "tt.plugins.autograd.record"))}


def test_the_first_training_step_imports_the_families_that_it_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    found = new_after(FIRST_STEP, monkeypatch)
    assert not {m for m in found if any(m == name or m.startswith(name + ".") for name in HEAVY)}
    assert operators_in(found) <= OPERATORS
    assert within(found, "tt.plugins.autograd.formulas") <= FORMULAS
    assert within(found, "tt.nn.modules") <= MODULES
    assert within(found, "tt.optim") <= OPTIMIZERS
    assert within(found, "tt.optim._steps") <= STEPS


def test_a_gradient_imports_neither_transforms_nor_what_few_programs_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = new_after(FIRST_STEP, monkeypatch)
    late = (
        "tt.core.methods.memory.sharing",
        "tt.core.methods.memory.pinning",
        "tt.core.tensor.shared_memory",
        "tt.nn.grouped_products",
        "tt.plugins.autograd.custom.context",
        "tt.plugins.autograd.features.checks",
        "tt.plugins.autograd.transforms.dual",
        "tt.plugins.autograd.transforms.unwrap",
    )
    assert not {*late} & found
    assert within(found, "tt.plugins.autograd.transforms.batching") == set()


def test_each_part_of_a_first_step_imports_a_limited_number_of_modules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    count = "print(sum(name.partition('.')[0] == 'tt' for name in sys.modules))"
    program = "\n".join(["import sys", *(f"{part}\n{count}" for part in MODULES_OF_TT)])
    printed_by(program)
    counts = [int(line) for line in printed_by(program).split()]
    assert counts == sorted(counts)
    assert all(count <= most for count, most in zip(counts, MODULES_OF_TT.values(), strict=True)), counts


def test_an_operator_of_a_loaded_family_imports_nothing() -> None:
    program = """
import sys, tt
x = tt.ones(2, 3)
tt.exp(x), tt.add(x, x), tt.sum(x, 1), tt.amax(x, 1), tt.relu(x), tt.matmul(x, x.mT)
before = set(sys.modules)
tt.log(x), tt.mul(x, x), tt.mean(x, 1), tt.amin(x, 1), tt.sigmoid(x), tt.mm(x, x.mT)
print(sorted(set(sys.modules) - before))
"""
    assert printed_by(program) == "[]\n"


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
