"""`import torch` gives tt, in a process of its own: which modules there are, under which names, and what is refused."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tt
from tt._compat.torch import TorchVersion
from tt.as_torch.facade import HIDDEN


def run(program: str, *arguments: str, folder: Path, code: int = 0) -> str:
    """Run a program under the facade; return what it printed."""
    path = folder / "program.py"
    path.write_text(program)
    command = [sys.executable, "-W", "error::DeprecationWarning", "-m", "tt.as_torch", str(path), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def plain(program: str, code: int = 0) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def test_a_program_of_pytorch_trains(tmp_path):
    printed = run(
        """
import sys
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor, optim
from torch.utils.data import DataLoader, TensorDataset

class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.layer(x))

torch.manual_seed(0)
net, loss_of = Net(), nn.MSELoss()
optimizer = optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(32, 3)
data = DataLoader(TensorDataset(x, x[:, :2].abs()), batch_size=8, shuffle=True)
losses = []
for _ in range(20):
    for rows, target in data:
        optimizer.zero_grad()
        loss = loss_of(net(rows), target)
        loss.backward()
        optimizer.step()
    losses.append(loss.item())
print(losses[-1] < losses[0], sys.argv[1:], __name__)
""",
        "--epochs",
        "3",
        folder=tmp_path,
    )
    assert printed == "True ['--epochs', '3'] __main__\n"


def test_modules_below_torch_are_those_of_tt_under_another_name(tmp_path):
    printed = run(
        """
import importlib.util
import tt
import torch.nn.functional
from torch.optim import lr_scheduler
import torch.nn.modules.linear as linear
print(torch.nn is tt.nn, torch.nn.functional is tt.nn.functional, lr_scheduler is tt.optim.lr_scheduler)
print(linear.Linear is tt.nn.Linear, tt.nn.__spec__.name, importlib.util.find_spec("torch.nn") is not None)
import importlib
print(importlib.reload(torch.signal) is tt.signal, tt.signal.__spec__.name)
""",
        folder=tmp_path,
    )
    assert printed == "True True True\nTrue tt.nn True\nTrue tt.signal\n"


def test_what_is_written_into_torch_stays_there_and_tt_is_left_alone(tmp_path):
    printed = run(
        """
import torch, tt
torch.marker = 3
torch.sin = "patched"
print(torch.marker, hasattr(tt, "marker"), torch.sin, callable(tt.sin), "marker" in dir(torch))
from torch import *
print(zeros(1), "zeros" in dir(torch))
""",
        folder=tmp_path,
    )
    assert printed == "3 False patched True True\ntensor([0.]) True\n"


def test_libraries_that_ask_what_is_there_get_the_truth(tmp_path):
    printed = run(
        """
import importlib.util
import torch
for name in ("core", "plugins", "cli", "_meta_registrations", "nonsense"):
    try:
        __import__(f"torch.{name}")
        print("imported", name)
    except ModuleNotFoundError as error:
        assert error.name == f"torch.{name}", error.name
    assert importlib.util.find_spec(f"torch.{name}") is None
    assert not hasattr(torch, name), name
try:
    torch.nonsense
except AttributeError:
    print("AttributeError")
print(torch.cuda.is_available() in (True, False), torch.version.cuda)
""",
        folder=tmp_path,
    )
    assert printed == "AttributeError\nTrue None\n"


def test_versions_and_the_metadata_of_the_distribution_are_pytorchs(tmp_path):
    printed = run(
        """
import importlib.metadata, torch, torch.version
print(torch.__version__, torch.version.__version__, importlib.metadata.version("torch"))
print(torch.__version__ >= "2.1", torch.__version__ >= (2, 13), type(torch.__version__).__name__)
print("torch" in importlib.metadata.packages_distributions()["torch"])
""",
        folder=tmp_path,
    )
    assert printed == "2.13.0+tt 2.13.0+tt 2.13.0+tt\nTrue True TorchVersion\nTrue\n"


def test_texts_say_torch(tmp_path):
    printed = run(
        """
import torch
x = torch.ones(1, dtype=torch.float64)
print(x, x.dtype, repr(torch.bool), x.shape, torch.strided, torch.channels_last)
print(torch.nested.nested_tensor([x], layout=torch.jagged).layout, torch.eye(2).to_sparse().layout)
""",
        folder=tmp_path,
    )
    assert printed == (
        "tensor([1.], dtype=torch.float64) torch.float64 torch.bool torch.Size([1]) torch.strided torch.channels_last\n"
        "torch.jagged torch.sparse_coo\n"
    )


def test_processes_that_a_program_starts_get_tt_as_well(tmp_path):
    printed = run(
        """
import multiprocessing, subprocess, sys
import torch

def dtype(size):
    import torch
    return str(torch.ones(size).dtype)

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(dtype, [1]))
    print(subprocess.check_output([sys.executable, "-c", "import torch; print(torch.__version__)"], text=True).strip())
""",
        folder=tmp_path,
    )
    assert printed == "['torch.float32']\n2.13.0+tt\n"


def test_compile_gives_the_function_back_with_a_warning(tmp_path):
    printed = run(
        """
import warnings, torch
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    f = torch.compile(torch.sin)
    g = torch.compile(mode="max-autotune")(torch.cos)
    h = torch.compile(torch.tan, disable=True)
print(f is torch.sin, g is torch.cos, h is torch.tan, len(caught), caught[0].filename.endswith("program.py"))
try:
    torch.compile(3)
except TypeError as error:
    print(error)
""",
        folder=tmp_path,
    )
    assert printed == ("True True True 2 True\ntorch.compile(): takes a function or a module, not int\n")


def test_an_error_of_the_program_is_pythons_and_sets_the_exit_code(tmp_path):
    printed = run("import torch\ntorch.ones(2) @ torch.ones(3)\n", folder=tmp_path, code=1)
    assert "program.py" in printed and "Traceback" in printed and "ShapeError" in printed
    run("raise SystemExit(7)\n", folder=tmp_path, code=7)


@pytest.mark.parametrize("words", [[], ["-x"], ["nothing.py"], ["-m"]])
def test_a_call_without_a_program_says_how_it_is_called(words, tmp_path):
    command = [sys.executable, "-m", "tt.as_torch", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert "usage" in done.stderr or "no file 'nothing.py'" in done.stderr


def test_a_module_is_run_by_its_name(tmp_path):
    (tmp_path / "package.py").write_text(
        "import sys, torch\nprint(torch.__version__, sys.argv[1:], __name__)\n"
    )
    command = [sys.executable, "-m", "tt.as_torch", "-m", "package", "a"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.stdout == "2.13.0+tt ['a'] __main__\n", done.stderr


def test_the_path_is_that_of_python(tmp_path):
    shown = "import importlib.metadata, sys, torch\nprint(importlib.metadata.version('torch'), sys.path)\n"
    (tmp_path / "inner").mkdir()
    for name in ("inner/program.py", "package.py"):
        (tmp_path / name).write_text(shown)
    (tmp_path / "beside.py").write_text("")
    for words, first in ((["inner/program.py"], str(tmp_path / "inner")), (["-m", "package"], str(tmp_path))):
        command = [sys.executable, "-m", "tt.as_torch", *words]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
        version, _, path = done.stdout.strip().partition(" ")
        folders = ast.literal_eval(path)
        assert version == "2.13.0+tt"
        assert [folder for folder in folders if folder.startswith(str(tmp_path))] == [first]
        assert folders.index(first) == 1  # after the folder of the stand-in


def test_installing_twice_is_installing_once():
    assert plain(
        "import sys, os\nfrom tt import as_torch\nas_torch.install(); as_torch.install()\nimport torch\n"
        "print(as_torch.is_installed(), os.environ['PYTHONPATH'].count('_stand_in'), torch.ones(1).sum())\n"
    ) == ("True 1 tensor(1.)\n")


def test_it_is_refused_where_pytorch_has_been_imported():
    printed = plain(
        "import sys, types\nsys.modules['torch'] = types.ModuleType('torch')\n"
        "from tt import as_torch\nas_torch.install()\n",
        code=1,
    )
    assert "PyTorch has been imported in this process already" in printed and "tt exec" in printed


def test_without_the_facade_nothing_says_torch():
    assert plain("import tt, sys; print(tt.ones(1).dtype, 'torch' in sys.modules)") == "tt.float32 False\n"


@pytest.mark.torch
def test_the_modules_that_tt_adds_are_hidden_and_no_others():
    torch = pytest.importorskip("torch")
    folder = Path(tt.__file__).parent
    names = {path.name.partition(".")[0] for path in folder.iterdir() if not path.name.startswith("_")}
    names = {name for name in names if (folder / name).is_dir() or (folder / f"{name}.py").is_file()}
    theirs = Path(torch.__file__).parent
    added = {
        name
        for name in names - {"py"}
        if not (theirs / name).is_dir() and not (theirs / f"{name}.py").is_file() and not hasattr(torch, name)
    }
    assert added <= HIDDEN
    assert {name for name in HIDDEN if hasattr(torch, name)} == set()


@pytest.mark.parametrize(
    ("one", "other", "less"),
    [
        ("2.13.0+tt", "2.13", False), ("2.9.1", "2.13", True), ("2.13.0a0", "2.13", True), ("2.13", (2, 13, 1), True),
        ("2.13.0rc1", "2.13.0b2", False), ("1.0", "1.0.post1", True), ("2.13.0.dev20260101", "2.13.0a1", True),
    ],
)  # fmt: skip
def test_versions_compare_by_their_numbers(one, other, less):
    assert (TorchVersion(one) < other) is less
    assert (TorchVersion(one) >= other) is not less
    assert (TorchVersion(one) == other) is (one == "2.13.0+tt")
    assert (TorchVersion(one) != other) is not (one == "2.13.0+tt")


def test_a_version_is_a_text_and_is_no_number():
    assert TorchVersion("2.13.0") == "2.13.0" and "2.13" in TorchVersion("2.13.0")
    assert TorchVersion("2.13.0") != "none" and hash(TorchVersion("1.0")) == hash("1.0")
    with pytest.raises(ValueError, match="is no version"):
        assert TorchVersion("2.13.0") < "none"


def test_switched_off_compiled_modules_stay_off(tmp_path, monkeypatch):
    monkeypatch.setenv("TT_COMPILED", "0")
    printed = run(
        "import torch\nimport tt.core.types.state as state\nprint(state.__file__.endswith('.py'), torch.ones(1) + 1)\n",
        folder=tmp_path,
    )
    assert printed == "True tensor([2.])\n"
