"""A backend of twenty lines in a package of its own: array-api-strict, whose arrays cannot change or be viewed."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

pytest.importorskip("array_api_strict")

STRICT = "tt-strict-backend"
KINDS = ("bool", "uint8", "int64", "float32", "complex64")
"""The backend's dtypes in the conformance check; it has no float16."""
HERE = Path(__file__).parent
PROGRAM = (HERE / "device_cases.py").read_text()


def _names() -> list[str]:
    """Return the names of the cases without running the program: the string keys of its two tables."""
    found = []
    for node in ast.parse(PROGRAM).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            found += [key.value for key in node.value.keys if isinstance(key, ast.Constant)]
    return found


@pytest.fixture(scope="module")
def problems(run):
    """Run all cases in one process; the faults of each."""
    return json.loads(run(PROGRAM, STRICT))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", _names())
def test_it_gives_what_the_cpu_gives(problems, name):
    assert problems[name] == ""


def test_every_case_ran(problems):
    assert sorted(problems) == sorted(_names()) and len(problems) > 50


def test_the_whole_backend_is_about_twenty_lines():
    code = (HERE / STRICT / "src" / "tt_strict" / "plugin.py").read_text()
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 20


def conformance(ops: list[str], dtypes: list[str]) -> str:
    """Return a program that prints the findings of the conformance check."""
    return f"""
        import json
        from tt.testing.conformance import check_conformance
        report = check_conformance("strict", ops={ops!r}, dtypes={dtypes!r})
        print(json.dumps([len(report.checks), report.missing, [str(failure) for failure in report.failures]]))
    """


@pytest.mark.exhaustive
def test_a_few_operators_of_every_kind_conform(run):
    ops = ["add", "div", "where", "clamp", "sum", "amax", "var", "cumsum", "matmul", "linalg_inv", "linalg_cholesky_ex",
           "_fft_c2c", "cat", "flip", "slice", "transpose", "index_put", "gather", "scatter_add", "nonzero", "sort",
           "_unique2", "full", "arange.start_step", "randn", "randint.low", "softmax", "relu", "copy"]  # fmt: skip
    kinds, missing, failures = json.loads(run(conformance(ops, ["bool", "int64", "float32"]), STRICT))
    assert failures == [] and missing == [] and kinds > 8


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", KINDS)
def test_every_operator_conforms_in_every_kind_of_dtype(run, kind):
    program = f"""
        import json
        from tt.testing.conformance import check_target, targets
        chosen = targets("strict")
        assert {{target.dtype for target in chosen}} == set({KINDS})
        reports = [check_target(target, "strict") for target in chosen if target.dtype == {kind!r}]
        print(json.dumps([len(reports), [op for report in reports for op, _ in report.missing],
                          [str(failure) for report in reports for failure in report.failures]]))
    """
    count, missing, failures = json.loads(run(program, STRICT))
    assert count > 0 and failures == []
    # Memory cannot be read as another dtype without memory to share, which hashes of floating point numbers need.
    assert set(missing) <= {"view.dtype", *(["hash_tensor"] if kind == "float32" else [])}


def test_a_network_learns_the_same_as_on_the_cpu(run):
    run(
        """
        import tt
        import tt.nn.functional as F
        from tt.examples.digits.data import load
        digits = load()

        def losses(device):
            tt.manual_seed(0)
            sizes = [(32, 64), (32,), (10, 32), (10,)]
            weights = [(tt.randn(*size, device=device) * 0.1).requires_grad_() for size in sizes]
            images, labels = digits.images[:96].to(device), digits.labels[:96].to(device)
            found = []
            for step in range(6):
                hidden = F.relu(F.linear(images, weights[0], weights[1]))
                loss = F.cross_entropy(F.linear(hidden, weights[2], weights[3]), labels)
                loss.backward()
                found.append(loss.item())
                with tt.no_grad():
                    for weight in weights:
                        weight.sub_(weight.grad, alpha=0.5)
                        weight.grad = None
            return found

        expected, found = losses("cpu"), losses("strict")
        assert found[-1] < 0.9 * found[0], found
        assert all(abs(a - b) < 1e-4 for a, b in zip(expected, found, strict=True)), (expected, found)
        """,
        STRICT,
    )


def test_no_call_brings_an_array_to_the_host(run):
    run(
        """
        import tt
        from tt.library import REGISTRY
        x = tt.randn(5, 4, device="strict")
        mask, index = x > 0, tt.tensor([3, 0], device="strict")
        backend = REGISTRY.backend("strict")

        def refuse(handle):
            raise AssertionError(f"an array of shape {tuple(handle.shape)} came to the host")

        backend.to_numpy = refuse
        y = x.clone().requires_grad_()
        (y[index].exp() * y.masked_fill(mask, 2).sum()).sum().backward()
        x.t()[1] += 1
        x[index, 2] = 5
        x[mask] = 0
        tt.nonzero(mask), x[mask], x.masked_select(mask), tt.unique(x), x.sort(1), x.topk(2), x.cumsum(0), x.item
        tt.linalg.inv(x.t() @ x + tt.eye(4, device="strict")), tt.linalg.svd(x), tt.fft.fft(x), tt.bincount(index)
        tt.rand(3, device="strict"), tt.randperm(4, device="strict"), x.scatter_add(0, index[None], x), x[1, 2].item()
        if x.sum() > 1e9:
            raise SystemExit("it cannot be")
        """,
        STRICT,
    )


def test_tensors_of_two_devices_in_one_call_are_refused(run):
    run(
        """
        import tt
        from tt.core.errors import DeviceMismatchError
        try:
            tt.ones(2, device="strict") + tt.ones(2)
        except DeviceMismatchError as error:
            assert "'self' is on strict" in str(error) and "'other' is on cpu" in str(error), error
        else:
            raise SystemExit("no error")
        """,
        STRICT,
    )


@pytest.mark.exhaustive
def test_the_command_shows_what_it_serves(run):
    assert "strict" in run(["plugins", "list"], STRICT)
    assert "tt-strict-backend 0.5.0" in run(["plugins", "list"], STRICT) or "0.5.0" in run(
        ["plugins", "list"], STRICT
    )
    assert "strict" in run(["ops", "explain", "add", "strict:float32", "strict:float32"], STRICT)


def test_the_array_library_is_imported_when_the_device_is_used_first(run):
    run(
        """
        import sys
        import tt
        tt.ones(2) + 1
        assert "array_api_strict" not in sys.modules
        tt.ones(2, device="strict")
        assert "array_api_strict" in sys.modules
        """,
        STRICT,
    )
