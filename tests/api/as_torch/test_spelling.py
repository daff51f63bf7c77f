"""Names of classes and functions in a process where `import torch` gives tt."""

from __future__ import annotations

import importlib
import json
from functools import reduce

import pytest

import tt
from tt._compat.homes import HOMES, home_in_torch

from .test_facade import plain, run

_NAMES = [
    "torch.Tensor", "torch.device", "torch.dtype", "torch.Size", "torch.layout", "torch.memory_format",
    "torch.finfo", "torch.no_grad", "torch.OutOfMemoryError", "torch.cuda.OutOfMemoryError",
    "torch.nn.Linear", "torch.nn.Parameter", "torch.nn.Module", "torch.nn.Conv2d", "torch.nn.LSTM",
    "torch.nn.CrossEntropyLoss", "torch.nn.MultiheadAttention", "torch.nn.LazyLinear", "torch.optim.Adam",
    "torch.optim.SGD", "torch.optim.Optimizer", "torch.optim.lr_scheduler.StepLR",
    "torch.optim.lr_scheduler.OneCycleLR", "torch.utils.data.DataLoader", "torch.utils.data.TensorDataset",
    "torch.distributions.Normal", "torch.distributions.AffineTransform", "torch.autograd.Function",
    "torch.save", "torch.load", "torch.manual_seed", "torch.nn.init.xavier_uniform_",
    "torch.nn.utils.clip_grad_norm_", "torch.utils.checkpoint.checkpoint",
    "torch.overrides.TorchFunctionMode", "torch.utils._python_dispatch.TorchDispatchMode", "torch.func.vmap",
    "torch.nn.utils.rnn.pad_sequence",
]  # fmt: skip

_SAY = f"""
import torch
import json
from operator import attrgetter
names = {_NAMES!r}
values = [attrgetter(name.partition(".")[2])(torch) for name in names]
print(json.dumps([[name, v.__module__, v.__qualname__] for name, v in zip(names, values)]))
"""


@pytest.mark.torch
def test_classes_and_functions_say_what_they_say_in_pytorch(tmp_path):
    pytest.importorskip("torch")
    ours, theirs = json.loads(run(_SAY, folder=tmp_path)), json.loads(plain(_SAY))
    assert ours == theirs


def test_a_class_prints_pytorchs_name(tmp_path):
    printed = run(
        """
import torch
print(type(torch.ones(1)), torch.nn.Linear, type(torch.ones(1, 2).max(1)), torch.add.__module__)
try:
    torch.nn.Linear(2, 2)(torch.ones(3))
except RuntimeError as error:
    print(type(error).__module__.partition(".")[0])
""",
        folder=tmp_path,
    )
    assert printed.splitlines()[0] == (
        "<class 'torch.Tensor'> <class 'torch.nn.modules.linear.Linear'> <class 'torch.return_types.max'> torch"
    )


def test_every_row_leads_back_to_its_class_or_function(tmp_path):
    program = """
import importlib, json, sys
from functools import reduce
import tt
from tt._compat.homes import HOMES
lost = []
for module, homes in HOMES.items():
    owner = importlib.import_module(module)
    for home, names in homes.items():
        for pair in names.split():
            own, _, other = pair.partition("=")
            value = reduce(getattr, own.split("."), owner)
            try:
                found = reduce(getattr, (other or own).split("."), importlib.import_module(home))
            except (ImportError, AttributeError):
                found = None
            if found is not value:
                lost.append(f"{module}.{own} -> {home}.{other or own}")
print(json.dumps(lost))
"""
    assert json.loads(run(program, folder=tmp_path)) == []


@pytest.mark.torch
def test_every_home_has_the_name_in_pytorch():
    torch = pytest.importorskip("torch")
    lost = []
    for module, homes in HOMES.items():
        for home, names in homes.items():
            for pair in names.split():
                name = pair.rpartition("=")[2]
                try:
                    reduce(getattr, name.split("."), importlib.import_module(home))
                except (ImportError, AttributeError):
                    lost.append(f"{module}: {home}.{name}")
    assert lost == [], torch.__version__


def test_a_module_that_is_loaded_later_is_spelled_too(tmp_path):
    program = """
import sys
import torch
assert "tt.nn.modules.rnn" not in sys.modules
import tt.nn.modules.rnn
print(tt.nn.modules.rnn.LSTM, sys.modules["torch.nn.modules.rnn"] is tt.nn.modules.rnn)
"""
    assert run(program, folder=tmp_path) == "<class 'torch.nn.modules.rnn.LSTM'> True\n"


def test_without_the_facade_names_stay():
    assert (tt.Tensor.__module__, tt.nn.Linear.__module__) == (
        "tt.core.tensor.tensor",
        "tt.nn.modules.linear",
    )
    assert home_in_torch("tt.core.dispatch.call.operator", "Operator") is None
    code = "import sys, tt, tt.nn; print([m for m in sys.modules if m.startswith('torch')])"
    assert plain(code).startswith("[]")
    code = "import sys, tt; tt.nn.Linear(1, 1)(tt.ones(1)); print('tt._compat.homes' in sys.modules)"
    assert plain(code) == "False\n"


def test_inspect_typing_dataclasses_copy_and_doctest_find_their_way(tmp_path):
    program = '''
"""A module of a program.

>>> Config().act.__name__
'relu'
"""
import copy, dataclasses, doctest, inspect, pickle, sys, typing
import torch
from torch import nn

@dataclasses.dataclass
class Config:
    width: int = 3
    dtype: torch.dtype = torch.float32
    act: typing.Callable = nn.functional.relu
    shape: "torch.Size" = torch.Size([1])

print(inspect.getmodule(nn.Linear) is nn.modules.linear, inspect.getfile(nn.Linear).endswith("linear.py"))
print(inspect.getsource(nn.Linear).splitlines()[0], inspect.getsource(nn.utils.clip_grad_norm_).split("(")[0])
print(typing.get_type_hints(nn.Linear)["weight"], typing.get_type_hints(Config)["shape"])
print(typing.get_type_hints(torch.utils._pytree.MappingKey) != {}, dataclasses.replace(Config(), width=4).width)
net = copy.deepcopy(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
print(type(copy.copy(net[0])).__module__, copy.deepcopy(torch.ones(2)).sum().item(), copy.copy(Config()).dtype)
print(doctest.testmod(sys.modules["__main__"]))
print(pickle.loads(pickle.dumps(torch.float32)) is torch.float32, pickle.loads(pickle.dumps(torch.relu)) is torch.relu)
'''
    assert run(program, folder=tmp_path).splitlines() == [
        "True True",
        "class Linear(Module): def clip_grad_norm_",
        "<class 'torch.nn.parameter.Parameter'> <class 'torch.Size'>",
        "True 4",
        "torch.nn.modules.linear 2.0 torch.float32",
        "TestResults(failed=0, attempted=1)",
        "True True",
    ]


def test_processes_that_are_started_find_the_classes(tmp_path):
    program = """
import torch
import torch.multiprocessing as mp
from torch import nn

def work(rank, net, queue):
    queue.put((rank, type(net), net(torch.ones(1, 2)).sum().item(), torch.nn.functional.relu))

if __name__ == "__main__":
    context = mp.get_context("spawn")
    net = nn.Linear(2, 1, bias=False)
    nn.init.ones_(net.weight)
    queue = context.Queue()
    process = context.Process(target=work, args=(0, net, queue))
    process.start()
    print(queue.get(timeout=120))
    process.join()
"""
    printed = run(program, folder=tmp_path)
    assert printed.startswith("(0, <class 'torch.nn.modules.linear.Linear'>, 2.0, <op relu")


def test_layers_of_a_program_explain_wrong_inputs_as_without_the_facade(tmp_path):
    program = """
import torch
try:
    torch.nn.BatchNorm1d(3)(None)
except TypeError as error:
    print(error)
print(torch.distributions.Normal(torch.zeros(1), torch.ones(1)).expand((3,)).batch_shape)
"""
    assert run(program, folder=tmp_path).splitlines() == [
        "BatchNorm1d(): argument 'input' (position 1) must be Tensor, not NoneType",
        "torch.Size([3])",
    ]
