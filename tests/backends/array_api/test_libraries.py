"""The same kernels on several libraries, devices and settings of them; none is named outside of its own folder."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tt
from tests.backends.array_api.devices import device, strict_flags
from tt.backends.array_api import ArrayApiBackend
from tt.backends.array_api.placement import CREATION, PlacedNamespace
from tt.core.library import REGISTRY
from tt.errors import DtypeError, ValueRangeError
from tt.testing.conformance import check_conformance

ROOT = Path(__file__).parents[3]


# --- whose names are where -------------------------------------------------------------------------------------

LIBRARIES = (
    "cupy",
    "torch",
    "jax",
    "array_api_strict",
    "array_api_compat",
    "dask",
    "tensorflow",
    "ndonnx",
    "mlx",
)
"""Array libraries; NumPy is that of the host and may be named."""

OWN = {"backends/cuda": ("cupy",), "api/_compat/torch/": ("torch",)}
"""The folders that may name a library: their own."""


def names_in(path: Path) -> set[str]:
    """Return the modules that a file imports, and the words of its strings that are one word, or a module."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
        elif isinstance(node, ast.Attribute | ast.Name):
            found.add(node.attr if isinstance(node, ast.Attribute) else node.id)
        elif isinstance(node, ast.Call) and node.args:
            # import_module("x"), find_spec("x") and what else takes a name.
            words = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            found |= {word.partition(".")[0] for word in words}
    return found


@pytest.mark.parametrize("folder", ["core", "operators", "testing", "backends", "plugins", "cli", "api"])
def test_no_array_library_is_used_outside_of_its_own_folder(folder):
    wrong, looked_at = {}, 0
    for path in (ROOT / folder).rglob("*.py"):
        where = path.relative_to(ROOT).as_posix()
        allowed = {name for own, names in OWN.items() if where.startswith(own) for name in names}
        looked_at += 1
        if found := names_in(path) & set(LIBRARIES) - allowed:
            wrong[where] = sorted(found)
    assert looked_at > 5
    assert {where: names for where, names in wrong.items() if where not in REPORTS} == {}


REPORTS = {
    "api/_compat/older_functions.py": "names functions of PyTorch in warnings",
    "api/_compat/torch/compiling.py": "names the function of PyTorch in a warning",
    "api/_compat/typed_tensors.py": "reads the names of PyTorch's types",
    "api/as_torch/facade.py": "gives tt to what imports PyTorch",
    "api/fx/_codegen.py": "writes code that names PyTorch where it stands for tt",
    "api/port.py": "swaps the imports of PyTorch in programs",
    "api/serialization/loading.py": "reads PyTorch's files",
    "api/serialization/pickling.py": "writes names that PyTorch reads",
    "api/serialization/rebuilding.py": "knows PyTorch's names in files",
    "cli/env.py": "lists the versions of optional libraries",
    "core/types/dtype.py": "reads the names of PyTorch's dtypes",
}
"""What knows a library's name and uses nothing of it."""


def test_the_look_for_names_finds_them(tmp_path):
    path = tmp_path / "kernel.py"
    for program in (
        "import torch.nn",
        "from jax import numpy",
        "import_module('cupy.cuda')",
        "lambda dask: dask.array",
    ):
        path.write_text(program)
        assert names_in(path) & set(LIBRARIES), program


# --- several libraries -----------------------------------------------------------------------------------------

SAMPLE = ["add", "where", "sum.dim", "cumsum", "matmul", "cat", "index_put", "nonzero", "sort", "_unique2",
          "linalg_solve", "_fft_c2c", "randn", "randint.low", "arange.start_step", "clone"]  # fmt: skip


def failures(name: str, ops: list[str] = SAMPLE, dtypes: tuple[str, ...] = ("float32",)) -> list[str]:
    report = check_conformance(name, ops=ops, dtypes=dtypes)
    assert report.missing == [] and sum(report.checks.values()) > 100
    return [str(failure) for failure in report.failures]


@pytest.mark.parametrize("devices", [None, "cpu", ["cpu", "cpu"]])
def test_numpy_is_a_device_like_any_other(devices):
    with device(np, "plain", devices):
        assert failures("plain:1" if isinstance(devices, list) else "plain") == []


def test_numpy_with_its_views_is_one_too():
    """Over the standard alone, a view is one where the library's function returns one."""

    class Strided(ArrayApiBackend):
        def strides(self, handle: Any) -> tuple[int, ...]:
            return tuple(stride // handle.itemsize for stride in handle.strides)

    tt.ones(1)
    backend = Strided(np, "strided_numpy", mutable=True, has_views=True)
    with contextlib.ExitStack() as stack:
        stack.callback(REGISTRY.add_backend(backend).remove)
        stack.callback(REGISTRY.add(backend.kernels(without=["as_strided"])).remove)
        x = tt.zeros(2, 3, device="strided_numpy")
        x.t()[1] += 1
        assert x.tolist() == [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
        assert x.t().contiguous().stride() == (2, 1) and x.t().clone().stride() == (1, 3)
        last = tt.ones(1, 2, 3, 4, device="strided_numpy").to(memory_format=tt.channels_last)
        assert last.stride() == (24, 1, 8, 2) and last.is_contiguous(memory_format=tt.channels_last)


def test_two_libraries_serve_at_once_in_any_order():
    strict = pytest.importorskip("array_api_strict")
    for first, second in [(np, strict), (strict, np)]:
        with device(first, "one"), device(second, "two_"):
            x, y = tt.ones(3, device="one"), tt.ones(3, device="two_")
            assert (x + y.to("one")).device.type == "one" and (x.to("two_") + y).tolist() == [2.0] * 3


# --- the devices of a library ----------------------------------------------------------------------------------


def test_every_array_is_made_on_the_device_that_was_given():
    strict = pytest.importorskip("array_api_strict")
    with device(strict, "second", strict.Device("device1")) as backend:
        assert (backend.device_count(), str(tt.ones(2, device="second").device)) == (1, "second")
        x = tt.randn(3, 4, device="second")
        made = [
            x, tt.arange(3, device="second"), tt.tensor([1.0], device="second"), x + 1, x > 0, x[tt.tensor([0, 2])],
            x.t(), tt.eye(2, device="second"), tt.linspace(0, 1, 3, device="second"), tt.ones(2, device="second"),
            x.sum(), x.sort().values, x.softmax(1), tt.fft.fft(x), tt.fft.fftfreq(4, device="second"), x.nonzero(),
            x.masked_fill(x > 0, 0), tt.cat([x, x]), tt.linalg.qr(x).Q, tt.zeros_like(x), x.new_zeros(2), x.erf(),
        ]  # fmt: skip
        assert {tensor._handle.device for tensor in made} == {strict.Device("device1")}
        assert failures("second") == []


def test_creation_functions_of_the_standard_are_told_the_device():
    asked: list[str] = []

    class Library:
        fft: Any = None

        def __getattr__(self, name: str) -> Callable[..., Any]:
            return lambda *args, device=None, **options: asked.append(f"{name}:{device}")

    library = Library()
    library.fft = Library()
    placed = PlacedNamespace(library, lambda: "here")
    for name in sorted(CREATION):
        target: Any = placed
        for part in name.split("."):
            target = getattr(target, part)
        target(1)
    placed.exp(1)
    placed.fft.fftn(1)
    placed.zeros(1, device="there")
    expected = [f"{name.rpartition('.')[2]}:here" for name in sorted(CREATION)]
    assert asked == [*expected, "exp:None", "fftn:None", "zeros:there"]


def test_an_empty_list_of_devices_is_refused():
    with pytest.raises(ValueRangeError, match="the backend 'none' was given an empty list of devices"):
        ArrayApiBackend(np, "none", [])


def test_a_device_without_the_dtypes_that_kernels_need_is_refused():
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(DtypeError, match="the arrays of device 'half' have no float64") as caught:
        ArrayApiBackend(strict, "half", strict.Device("no_float64"))
    assert "try: a setting of the library that adds them" in str(caught.value)


# --- gaps of a library -----------------------------------------------------------------------------------


def test_without_shapes_that_depend_on_data_the_same_comes_out():
    ops = [
        "nonzero",
        "masked_select",
        "_unique2",
        "unique_dim",
        "index",
        "index_put",
        "unique_consecutive",
        "argwhere",
    ]
    with strict_flags(boolean_indexing=False, data_dependent_shapes=False) as strict, device(strict, "still"):
        with pytest.raises(RuntimeError, match=r"data.dependent"):
            strict.nonzero(strict.asarray([1, 0]))
        assert failures("still", ops, ("bool", "float32")) == []


@pytest.mark.parametrize("version", ["2023.12", "2024.12", "2025.12"])
def test_older_versions_of_the_standard_serve_what_they_can(version):
    with strict_flags(api_version=version) as strict, device(strict, "older"):
        x = tt.tensor([[1.0, -2.0], [3.0, 4.0]], device="older")
        host = x.cpu()
        for program in (
            lambda x: (x + x.t()).exp(), lambda x: x @ x, lambda x: x.sum(0), lambda x: tt.where(x > 0, x, 0),
            lambda x: x.clamp(-1, 2), lambda x: x.softmax(1), lambda x: tt.maximum(x, -x), lambda x: x.max(1).values,
            lambda x: x.sort(0).values, lambda x: x.topk(1, 1).values, lambda x: x.cumprod(0), lambda x: x.diff(),
            lambda x: x.count_nonzero(), lambda x: x.median(), lambda x: x.gather(1, x.argsort(1)), lambda x: x.var(0),
            lambda x: tt.cat([x, x]), lambda x: x.reshape(4), lambda x: tt.linalg.inv(x),
        ):  # fmt: skip
            np.testing.assert_allclose(program(x).cpu().numpy(), program(host).numpy(), rtol=1e-5)


def test_a_version_that_is_too_old_is_refused():
    with (
        strict_flags(api_version="2022.12") as strict,
        pytest.raises(
            ValueRangeError, match=r"follows version 2022\.12 of the standard, and the kernels need"
        ),
    ):
        ArrayApiBackend(strict, "ancient")


def test_dtypes_that_a_library_does_not_list_are_refused():
    strict = pytest.importorskip("array_api_strict")
    with device(strict, "listed") as backend:
        assert backend.has_dtype("uint64") and not backend.has_dtype("float16")
        with pytest.raises(DtypeError, match="the arrays of device 'listed' have no dtype bfloat16"):
            tt.zeros(2, dtype=tt.bfloat16, device="listed")


def test_random_numbers_are_the_same_where_words_are_signed(monkeypatch):
    """A library that does not compute with uint64 draws its words as int64."""
    calls: list[Callable[[str], tt.Tensor]] = [
        lambda d: tt.rand(9, device=d), lambda d: tt.rand(9, dtype=tt.float64, device=d),
        lambda d: tt.randn(9, dtype=tt.float64, device=d), lambda d: tt.randint(0, 10, (9,), device=d),
        lambda d: tt.randint(-(2**40), 2**40, (9,), device=d), lambda d: tt.randperm(9, device=d),
        lambda d: tt.randint(-(2**62), 2**62, (99,), device=d),
        lambda d: tt.randint(-(2**63), 2**63 - 1, (99,), device=d),
        lambda d: tt.randint(0, 2**32, (9,), device=d), lambda d: tt.randint(0, 2**32 + 1, (9,), device=d),
    ]  # fmt: skip
    with device(np, "signed") as backend:
        monkeypatch.setattr(backend, "has_dtype", lambda name: name != "uint64")
        for call in calls:
            tt.manual_seed(2**63 + 5)
            found = call("signed").cpu().numpy()
            tt.manual_seed(2**63 + 5)
            np.testing.assert_allclose(
                found, call("cpu").numpy(), rtol=1e-12 if found.dtype.itemsize == 8 else 1e-6
            )


def test_a_mask_without_dimensions_selects_all_or_nothing():
    with device(np, "masked"):
        x = tt.arange(6.0, device="masked").view(2, 3)
        for truth in (True, False):
            mask = tt.tensor(truth, device="masked")
            assert x[mask].tolist() == x.cpu()[tt.tensor(truth)].tolist()
            x[mask] = 9
            assert x.tolist() == [[9.0] * 3] * 2


NUMBERS = {
    "add": lambda x: x.add(x, alpha=0.05),
    "sub": lambda x: x.sub(x, alpha=0.05),
    "addcdiv": lambda x: x.addcdiv(x, x, value=0.05),
    "addcmul": lambda x: x.addcmul(x, x, value=0.05),
    "fill": lambda x: x.clone().fill_(0.05),
    "masked_fill": lambda x: x.masked_fill(x > 1, 0.05),
    "mul": lambda x: x * 0.05,
    "lerp": lambda x: x.lerp(x + 1, 0.05),
    "clamp": lambda x: x.clamp(max=1.05),
}


ORDERED = ("clamp", "masked_fill")


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, tt.float64) for name in NUMBERS]
    + [(name, tt.complex128) for name in NUMBERS if name not in ORDERED],
)
def test_numbers_keep_all_their_digits_on_a_library_that_lacks_dtypes(name: str, dtype: Any) -> None:
    x = tt.tensor([1.0, 2.0], dtype=dtype)
    with device(np, "numpy_arrays"):
        result = NUMBERS[name](x.to("numpy_arrays")).cpu()
    np.testing.assert_allclose(result.numpy(), NUMBERS[name](x).numpy(), rtol=1e-15)
