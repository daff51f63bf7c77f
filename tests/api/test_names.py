"""PyTorch's public names: tt has them, or its table says why they are left out and what to use."""

from __future__ import annotations

import re
import warnings
from fnmatch import fnmatchcase
from functools import cache
from operator import attrgetter

import pytest

import tt
from tests.api import pytorch_names
from tt._compat.left_out import LEFT_OUT, left_out


@cache
def lacking() -> list[str]:
    """Return the names below torch that tt lacks, of the namespaces that are compared."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            f"{space}.{name}".lstrip(".")
            for space in pytorch_names.COMPARED
            for name in pytorch_names.missing(space)
        ]


@pytest.mark.torch
def test_every_name_is_there_or_in_the_table():
    assert [name for name in lacking() if left_out(name) is None] == []


@pytest.mark.torch
def test_the_table_holds_nothing_that_pytorch_lacks_or_tt_has():
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = {f"Tensor.{n}" for n in dir(torch.Tensor)} | set(dir(torch))
        for space in (*pytorch_names.COMPARED, "mtia", "distributed"):
            if space not in ("", "Tensor"):
                module = pytorch_names.importlib.import_module(f"torch.{space}")
                names |= {space, *(f"{space}.{n}" for n in {*dir(module), *pytorch_names.public(space)})}
        # What tests of other modules import is an attribute of torch from then on.
        names |= {
            "distributed.rpc",
            "distributed.autograd",
            "distributed.pipelining",
            "distributed.tensor",
            "rpc",
            "onnx",
            "monitor",
            "profiler",
            "package",
            "nn.quantized",
            "nn.qat",
            "numa",
            "accelerator.graphs",
            "backends.miopen",
            "backends.python_native",
            "backends.quantized",
            "backends.xeon",
            "backends.xnnpack",
            "compiler.config",
            "cpu.amp.autocast_mode",
            "cpu.amp.grad_scaler",
            "cuda.jiterator",
            "nn.factory_kwargs",
            "utils.jit",
            "utils.model_dump",
            "utils.show_pickle",
            "utils.hipify",
            "utils.benchmark.examples",
            "utils.benchmark.op_fuzzers",
            "utils.data.backward_compatibility",
        }
        for row in LEFT_OUT:
            for pattern in row.names:
                assert any(fnmatchcase(name, pattern) for name in names), pattern
        wrong = [n for n in names if left_out(n) is not None and there(n)]
    assert wrong == []


def there(name: str) -> bool:
    """Return whether tt has a name by itself, not as a module of Python's that a module imports."""
    space, _, short = name.rpartition(".")
    if name.startswith("_") or short.startswith("_"):
        return False
    return pytorch_names.has(space, short)


@pytest.mark.torch
def test_few_names_are_left_out():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spaces = (*pytorch_names.CENTRAL, *pytorch_names.FURTHER)
        assert sum(len(pytorch_names.public(s)) - len(pytorch_names.missing(s)) for s in spaces) >= 2250
        central = (name for name in lacking() if name.rpartition(".")[0] in pytorch_names.CENTRAL)
        described = [n for n in central if pytorch_names.described(*n.rpartition(".")[::2])]
    assert len(described) <= 115


def test_the_page_of_differences_prints_the_table(request):
    page = (request.config.rootpath / "docs" / "differences.md").read_text(encoding="utf-8")
    section = page.split("## Names that are left out")[1].split("\n## ")[0]
    rows = [re.split(r"\s*\|\s*", line.strip("| ")) for line in section.splitlines() if line.startswith("|")][
        2:
    ]
    assert [(re.findall("`([^`]+)`", names), reason, instead) for names, reason, instead in rows] == [
        (list(row.names), row.reason, row.instead) for row in LEFT_OUT
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("quantized_lstm", "packed for one vendor's library\n  instead: q.dequantize()"),
        ("mkldnn_rnn_layer", "entries of one vendor's library"),
        ("symeig", "tt.linalg.eig, eigh"),
        ("QUInt4x2Storage", "dtypes of less than a byte"),
        ("onnx", "tt.trace_calls"),
        ("lienar_algebra_of_nothing", "tt has no name 'lienar_algebra_of_nothing'\n"),
        ("matmull", "did you mean 'matmul'"),
        ("is_floating_pointt", "did you mean 'is_floating_point'"),
        ("FloatTensr", "did you mean 'FloatTensor'"),
    ],
)
def test_an_unknown_name_is_explained_by_the_table_or_by_names_that_are_near(name, text):
    with pytest.raises(AttributeError, match=re.escape(text)):
        getattr(tt, name)


@pytest.mark.parametrize(
    ("space", "name", "text"),
    [
        (
            "nn.functional",
            "boolean_dispatch",
            "has no name 'boolean_dispatch': TorchScript and its internals do not",
        ),
        ("nn.functional", "has_torch_function", "instead: tt.overrides"),
        ("nn.functional", "reluu", "tt.nn.functional has no name 'reluu'; did you mean 'relu'"),
        ("linalg", "svv", "tt.linalg has no name 'svv'; did you mean 'svd'"),
        ("fft", "fftfreqq", "did you mean 'fftfreq'"),
    ],
)
def test_an_unknown_name_of_a_namespace_is_explained_in_the_same_way(space, name, text):
    with pytest.raises(AttributeError, match=re.escape(text)):
        getattr(attrgetter(space)(tt), name)


@pytest.mark.parametrize(
    "name", ["saave", "fbgemm_linear_int8_weight", "sav_model_to_disk", "mkldnn_rnn_layer"]
)
def test_no_unrelated_operator_is_suggested(name):
    with pytest.raises(AttributeError) as caught:
        getattr(tt, name)
    assert not re.search(
        "ravel|native_layer_norm|_rnn_layer'\\?|svd", str(caught.value).partition("\n")[0][len(name) + 20 :]
    )
