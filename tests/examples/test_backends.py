"""tt on PyTorch's and on JAX's arrays: the same twenty lines, and what differs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = (ROOT / "tests" / "thirdparty" / "device_cases.py").read_text()
TORCH, JAX = str(ROOT / "examples" / "torch_backend"), str(ROOT / "examples" / "jax_backend")

DTYPES = ("bool", "int64", "float32", "bfloat16", "complex64")
"""Of which a sweep over all operators takes those that an operator promises."""

needs_torch = pytest.mark.usefixtures("torch_libraries")
needs_jax = pytest.mark.usefixtures("jax_library")


@pytest.fixture(scope="module")
def torch_libraries() -> None:
    """The libraries of the backend `torchcpu`, which tt itself does not need."""
    pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")


@pytest.fixture(scope="module")
def jax_library() -> None:
    """The library of the backend `jaxcpu`, which tt itself does not need."""
    pytest.importorskip("jax")


def conformance(device: str, ops: list[str], dtypes: list[str]) -> str:
    """Return a program that prints the findings of the conformance check."""
    return f"""
        import json
        from tt.testing.conformance import check_conformance
        report = check_conformance({device!r}, ops={ops!r}, dtypes={dtypes!r})
        print(json.dumps([sum(report.checks.values()), report.missing, [str(failure) for failure in report.failures]]))
    """


def differing(output: str, at_least: int = 60) -> dict[str, str]:
    """Return the cases of a run that differ from the CPU."""
    found = json.loads(output)
    assert len(found) >= at_least
    return {name: problem for name, problem in found.items() if problem}


# --- PyTorch ---------------------------------------------------------------------------------------------------


@pytest.mark.torch
@needs_torch
def test_pytorch_gives_what_the_cpu_gives(run):
    assert differing(run(PROGRAM, TORCH, environ={"CASES_DEVICE": "torchcpu"})) == {}


def not_of_pytorch(failures: list[str]) -> list[str]:
    """Leave out PyTorch's own names.

    Views of memory as a dtype with which it does not compute are refused; a remainder of zero has the sign of the
    dividend, not that of the divisor as in the array API standard and NumPy; log1p of the smallest number is 0; and the
    library gives results the order in memory that its own functions of the standard give them.
    """

    def known(failure: str) -> bool:
        return (
            "have no dtype uint" in failure
            or "] format: with the channels last" in failure
            or (failure.startswith("remainder") and "the sign of zero is wrong" in failure)
            or (failure.startswith("special_xlog1py") and "[2] nan instead of -inf" in failure)
        )

    return [failure for failure in failures if not known(failure)]


@pytest.mark.torch
@needs_torch
def test_operators_with_memory_of_their_own_conform_on_pytorch(run):
    ops = ["as_strided", "view", "permute", "clone", "linalg_svd", "view_as_complex", "randn"]
    checks, missing, failures = json.loads(run(conformance("torchcpu", ops, ["float32"]), TORCH))
    assert not_of_pytorch(failures) == [] and missing == [] and checks > 300


@needs_torch
@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_operator_conforms_on_pytorch(run, dtype):
    program = f"""
        import json
        from tt.testing.conformance import check_target, targets
        chosen = targets("torchcpu", dtypes={DTYPES})  # of operators without these dtypes the others
        assert {{target.dtype for target in chosen}} >= set({DTYPES})
        reports = [check_target(target, "torchcpu") for target in chosen if target.dtype == {dtype!r}]
        print(json.dumps([sum(sum(report.checks.values()) for report in reports),
                          [op for report in reports for op, _ in report.missing],
                          [str(failure) for report in reports for failure in report.failures]]))
    """
    checks, missing, failures = json.loads(run(program, TORCH))
    assert not_of_pytorch(failures) == [] and missing == []
    assert checks > 10_000


@pytest.mark.torch
@needs_torch
def test_views_share_the_memory_of_pytorch(run):
    run(
        """
        import numpy as np, torch, tt
        x = tt.arange(6.0, device="torchcpu").view(2, 3)
        view = x.t()[1:]
        assert view.stride() == (1, 3) and view.storage_offset() == 1 and view.data_ptr() == x.data_ptr() + 4
        assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
        view.mul_(10)
        assert isinstance(x._handle, torch.Tensor) and x.tolist() == [[0.0, 10.0, 20.0], [3.0, 40.0, 50.0]]
        shared = torch.from_dlpack(x)
        shared[0, 0] = -1
        assert x[0, 0].item() == -1 and x.cpu()[0, 0].item() == -1
        host = x.cpu()
        host.zero_()
        assert x[0, 0].item() == -1
        """,
        TORCH,
    )


# --- JAX -------------------------------------------------------------------------------------------------------


# JAX compiles every function for every shape: quickly, where it need not run quickly.
QUICK_TO_COMPILE = {
    "XLA_FLAGS": "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
}
A_FEW = [
    "add",
    "nonzero",
    "sum",
    "add_",
    "writing through views",
    "random",
    "gradient of views",
    "DLPack",
    "printing",
]


@needs_jax
def test_jax_gives_what_the_cpu_gives(run):
    environ = {**QUICK_TO_COMPILE, "CASES_DEVICE": "jaxcpu", "CASES_ONLY": ";".join(A_FEW)}
    assert differing(run(PROGRAM, JAX, environ=environ), len(A_FEW)) == {}


@needs_jax
@pytest.mark.exhaustive
def test_jax_gives_what_the_cpu_gives_in_every_case(run):
    assert differing(run(PROGRAM, JAX, environ={**QUICK_TO_COMPILE, "CASES_DEVICE": "jaxcpu"})) == {}


@needs_jax
@pytest.mark.exhaustive
def test_operators_of_every_kind_conform_on_jax(run):
    ops = ["add", "floor_divide", "sum.dim", "mm", "cat", "slice", "nonzero", "linalg_inv", "full"]
    program = conformance("jaxcpu", ops, ["int64", "float32"])
    checks, missing, failures = json.loads(run(program, JAX, environ=QUICK_TO_COMPILE))
    assert failures == [] and missing == [] and checks > 300


@needs_jax
def test_the_whole_backend_on_jax_is_about_twenty_lines():
    code = (Path(JAX) / "src" / "tt_jax_backend" / "plugin.py").read_text()
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 20


# --- both ------------------------------------------------------------------------------------------------------


@needs_torch
@needs_jax
@pytest.mark.parametrize("order", [(TORCH, JAX), (JAX, TORCH)])
def test_both_serve_at_once(run, order):
    run(
        """
        import tt
        one, two = tt.ones(3, device="torchcpu"), tt.ones(3, device="jaxcpu")
        assert (one + two.to("torchcpu")).device.type == "torchcpu" and (one.to("jaxcpu") + two).device.type == "jaxcpu"
        try:
            one + two
        except tt.errors.DeviceMismatchError as error:
            assert "'self' is on torchcpu" in str(error) and "'other' is on jaxcpu" in str(error)
        else:
            raise SystemExit("no error")
        """,
        *order,
    )
