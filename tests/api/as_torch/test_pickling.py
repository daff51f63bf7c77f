"""Pickles and files between PyTorch, a process in which `import torch` gives tt, and tt itself."""

from __future__ import annotations

import json
import pickletools
import subprocess
import sys

import pytest

import tt

from .test_facade import run

_OBJECTS = """
import pickle, sys
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(3, 1, 8, activation=F.gelu)
net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.BatchNorm1d(3), layer)
net.eval()
optimizer = torch.optim.Adam(net.parameters(), lr=0.5)
net(torch.ones(2, 2)).sum().backward()
optimizer.step()
objects = {
    "tensor": torch.arange(6).reshape(2, 3).t(), "leaf": torch.ones(2, requires_grad=True),
    "parameter": nn.Parameter(torch.full((2,), 3.0)), "bool": torch.tensor([True, False]),
    "sparse": torch.eye(3).to_sparse(), "storage": torch.ones(2).untyped_storage(),
    "dtype": torch.bfloat16, "device": torch.device("cpu"), "indexed": torch.device("cuda:1"),
    "size": torch.Size([1, 2]), "layout": torch.sparse_csr, "gelu": F.gelu, "inverse": torch.linalg.inv,
    "add": torch.add, "class": nn.Linear, "function": nn.utils.clip_grad_norm_, "net": net, "optimizer": optimizer,
    "schedule": torch.optim.lr_scheduler.StepLR(optimizer, 2), "dataset": torch.utils.data.TensorDataset(torch.ones(2)),
    "normal": torch.distributions.Normal(torch.zeros(1), torch.ones(1)), "named": torch.ones(2, 2).max(0),
    "error": torch.OutOfMemoryError("none left"), "ragged": [torch.ones(1), {"x": (torch.zeros(2), None)}],
}
"""

_WRITE = (
    _OBJECTS
    + """
for name, value in objects.items():
    with open(f"{name}.pkl", "wb") as file:
        pickle.dump(value, file)
    torch.save(value, f"{name}.pt")
"""
)

_READ = (
    _OBJECTS
    + """
import json
def told(value):
    if isinstance(value, torch.Tensor):
        facts = [str(value.dtype), type(value).__name__, value.requires_grad, str(value.layout)]
        return [*facts, value.to_dense().tolist()]
    if isinstance(value, nn.Module):
        works = torch.isfinite(value(torch.ones(1, 2))).all().item()
        return [type(value).__module__, [told(x) for x in value.state_dict().values()], works]
    if isinstance(value, torch.optim.Optimizer):
        return [type(value).__module__, told(value.state_dict()), [told(p) for p in value.param_groups[0]["params"]]]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(told, value)]
    if isinstance(value, dict):
        return {str(key): told(item) for key, item in value.items()}
    if isinstance(value, (torch.UntypedStorage, torch.TypedStorage)):
        return list(value.untyped() if hasattr(value, "untyped") else value)  # PyTorch reads bytes as typed ones
    if isinstance(value, torch.optim.lr_scheduler.StepLR):
        return [value.step_size, value.last_epoch]
    if isinstance(value, torch.utils.data.TensorDataset):
        return told(value.tensors)
    if isinstance(value, torch.distributions.Normal):
        return [told(value.loc), told(value.scale), str(value.batch_shape)]
    if isinstance(value, BaseException):
        return [type(value).__module__, type(value).__name__]
    if callable(value):
        return True
    return str(value)

results = {}
for name in objects:
    for kind in ("pkl", "pt"):
        try:
            with open(f"{name}.{kind}", "rb") as file:
                value = pickle.load(file) if kind == "pkl" else torch.load(file, weights_only=False)
            named = callable(value) and not isinstance(value, nn.Module)
            results[f"{name}.{kind}"] = value is objects[name] if named else told(value)
        except Exception as error:
            results[f"{name}.{kind}"] = f"{type(error).__name__}: {error}"
print(json.dumps(results))
"""
)


def in_pytorch(program, folder):
    path = folder / "reading.py"
    path.write_text(program)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(path)], capture_output=True, text=True, cwd=folder, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def faults(results, expected):
    assert len(results) == len(expected) > 40
    return {name: (value, expected[name]) for name, value in results.items() if value != expected[name]}


def test_pickles_name_no_module_of_tt(tmp_path):
    run(_WRITE, folder=tmp_path)
    for path in tmp_path.glob("*.pkl"):
        texts = [arg for op, arg, _ in pickletools.genops(path.read_bytes()) if isinstance(arg, str)]
        assert not [text for text in texts if text == "tt" or text.startswith("tt.")], path.name


def test_what_is_written_is_read_again(tmp_path):
    run(_WRITE, folder=tmp_path)
    results = json.loads(run(_READ, folder=tmp_path))
    assert not {name: value for name, value in results.items() if "Error: " in str(value) or value is False}


@pytest.mark.torch
def test_pytorch_reads_what_is_written(tmp_path):
    pytest.importorskip("torch")
    run(_WRITE, folder=tmp_path)
    assert faults(json.loads(in_pytorch(_READ, tmp_path)), json.loads(run(_READ, folder=tmp_path))) == {}


@pytest.mark.torch
def test_what_pytorch_writes_is_read(tmp_path):
    pytest.importorskip("torch")
    in_pytorch(_WRITE, tmp_path)
    results, expected = json.loads(run(_READ, folder=tmp_path)), json.loads(in_pytorch(_READ, tmp_path))
    # PyTorch does not read the pickle of a storage that it writes.
    assert "AttributeError" in expected["storage.pkl"]
    expected["storage.pkl"] = results["storage.pkl"]
    assert faults(results, expected) == {}


def test_tt_reads_the_files_without_the_facade(tmp_path):
    run(_WRITE, folder=tmp_path)
    loaded = {path.stem: tt.load(path, weights_only=False) for path in tmp_path.glob("*.pt")}
    assert len(loaded) > 20
    assert type(loaded["net"]) is tt.nn.Sequential
    assert type(loaded["optimizer"]) is tt.optim.Adam
    assert loaded["tensor"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert loaded["sparse"].layout is tt.sparse_coo
    assert (loaded["layout"], loaded["dtype"], loaded["add"]) == (tt.sparse_csr, tt.bfloat16, tt.add)
    assert tt.load(tmp_path / "tensor.pt").shape == (2, 3)[::-1]


def test_pickles_are_of_one_form_with_and_without_an_attribute(tmp_path):
    program = """
import copy, pickle
import torch
x = torch.ones(2)
x.note = "kept"
assert pickle.loads(pickle.dumps(x)).note == copy.copy(x).note == "kept"
class Image(torch.Tensor): ...
y = torch.ones(2).as_subclass(Image)
assert type(pickle.loads(pickle.dumps(y))) is Image
generator = torch.Generator().manual_seed(3)
other = pickle.loads(pickle.dumps(generator))
assert torch.equal(torch.rand(3, generator=generator), torch.rand(3, generator=other))
print(type(pickle.loads(pickle.dumps(torch.ones(1).char().storage()))).__name__)
"""
    assert run(program, folder=tmp_path) == "TypedStorage\n"
