"""Tensor-likes are asked by every function of tt's that is no operator, wherever PyTorch asks them."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Final

import pytest

import tt

LEFT: Final = {
    # Devices that no backend serves are refused first; so is what is no stream and no bool.
    "Tensor.mtia", "Tensor.xpu", "Tensor.ipu", "Tensor.record_stream", "Tensor.requires_grad_",
    # tt has no such argument, or reads it only where it means something.
    "Tensor.type", "Tensor.to_dense",
    # Read wherever a tensor is saved, or a private part of another member, which asks.
    "Tensor._version", "Tensor._grad", "Tensor.__setstate__", "Tensor._nnz", "Tensor._indices", "Tensor._values",
    "Tensor.__rtruediv__",  # asks through the two operators that it consists of
    # Sizes that a tensor-like stands for.
    "frobenius_norm", "quantize_per_tensor", "quantized_max_pool1d", "quantized_max_pool2d", "quantized_max_pool3d",
}  # fmt: skip
"""Functions that do not ask in all places where PyTorch does."""


class Log:
    """Makes tensor-likes of one library that note which functions ask them."""

    def __init__(self, library: Any, protocol: str) -> None:
        self.library = library
        self.asked: list[Any] = []

        def handle(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> int:
            self.asked.append(func)
            return -1

        members = {protocol: classmethod(handle)}
        self.Duck = type("Duck", (), members)
        self.Subclass = type("Subclass", (library.Tensor,), members)

    def tensor(self) -> Any:
        return self.library.ones(2, 2)

    def reaches(self, call: Callable[[], Any]) -> bool:
        """Return whether a call asks a tensor-like first of all."""
        self.asked.clear()
        try:
            result = call()
        except Exception:
            return False
        return bool(self.asked) and (result is None or (type(result) is int and result == -1))


def function_of(library: Any, path: str) -> Any:
    """Return the object that a dotted path below a library names."""
    found = library
    for part in path.split("."):
        found = getattr(found, part)
    return found


def is_operator(path: str) -> bool:
    found = function_of(tt, path)
    return hasattr(found, "op_overloads") or hasattr(found, "operator")


def call_with(log: Log, path: str, parameters: list[inspect.Parameter], place: int) -> Callable[[], Any]:
    """Return a call of a function with a tensor-like as one of its arguments, and tensors as the others."""
    method = path.startswith("Tensor.")
    values, named = [], {}
    for index, parameter in enumerate(parameters):
        required = parameter.default is parameter.empty
        if index == place:
            value = log.tensor().as_subclass(log.Subclass) if method and index == 0 else log.Duck()
        elif required:
            value = log.tensor()
        else:
            continue
        if required and parameter.kind is not parameter.KEYWORD_ONLY:
            values.append(value)
        else:
            named[parameter.name] = value
    if method and path.endswith(".__get__"):
        return lambda: getattr(values[0], path.split(".")[1])
    if method:
        return lambda: getattr(values[0], path.split(".")[1])(*values[1:], **named)
    return lambda: function_of(log.library, path)(*values, **named)


def cases() -> Iterator[tuple[str, list[inspect.Parameter]]]:
    """Yield the functions of PyTorch's list that tt has and that are no operators, with their parameters."""
    torch = pytest.importorskip("torch")
    for function, dummy in torch.overrides.get_testing_overrides().items():
        name = torch.overrides.resolve_name(function)
        if name is None or not name.startswith("torch."):
            continue
        path = name.removeprefix("torch.")
        try:
            if path.endswith(".__get__"):
                getattr(tt.ones(1), path.split(".")[1])
            elif is_operator(path):
                continue
        except Exception:  # left out, or a plugin's member that this tensor does not have
            continue
        parameters = inspect.signature(dummy).parameters.values()
        yield path, [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


@pytest.mark.torch
def test_every_function_that_is_no_operator_asks_where_pytorch_does() -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = Log(tt, "__tt_function__"), Log(torch, "__torch_function__")
    compared, silent = 0, set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path, parameters in cases():
            for place in range(len(parameters)):
                if theirs.reaches(call_with(theirs, path, parameters, place)):
                    compared += 1
                    if not ours.reaches(call_with(ours, path, parameters, place)):
                        silent.add(path.removesuffix(".__get__"))
    # A test before this one may have named a device so, and then its method asks.
    named = {f"Tensor.{name}" for name in ("mtia", "xpu", "ipu")}
    assert silent <= LEFT <= silent | named and compared > 200


@pytest.mark.torch
def test_python_s_own_methods_have_their_names_for_handlers_as_in_pytorch() -> None:
    torch = pytest.importorskip("torch")
    found = []
    for library, protocol in ((tt, "__tt_function__"), (torch, "__torch_function__")):
        log = Log(library, protocol)
        x = log.tensor().as_subclass(log.Subclass)
        calls: list[Callable[[], Any]] = [
            lambda x=x: x.__len__(), lambda x=x: x[0], lambda x=x: x.__setitem__(0, 1), lambda x=x: x.__repr__(),
            lambda x=x: x.__bool__(), lambda x=x: x.__int__(), lambda x=x: x.__float__(), lambda x=x: x.__complex__(),
            lambda x=x: x.__index__(), lambda x=x: x.__contains__(1), lambda x=x: x.__reversed__(),
            lambda x=x: x.__deepcopy__({}), lambda x=x: x.__reduce_ex__(2), lambda x=x: x.__format__(""),
            lambda x=x: x.__array__(), lambda x=x: x.__dlpack__(), lambda x=x: x.type(),
        ]  # fmt: skip
        for call in calls:
            log.reaches(call)
        names = []
        for call in calls:
            log.asked.clear()
            call()
            names.append(log.asked[0].__name__)
        found.append(names)
    assert found[0] == found[1] and found[0][0] == "__len__"


class Wrapper:
    """Holds a tensor, has its members, and computes with it: what users write where they do not inherit."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.data, name)
        return (lambda *args: wrapped(found(*plain(args)))) if callable(found) else wrapped(found)

    def __getitem__(self, index: Any) -> Any:
        return wrapped(self.data[plain(index)])

    @classmethod
    def __tt_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return wrapped(func(*plain(args), **plain(kwargs or {})))


def plain(value: Any) -> Any:
    if isinstance(value, Wrapper):
        return value.data
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return type(value)(map(plain, value)) if type(value) in (list, tuple) else value


def wrapped(value: Any) -> Any:
    if isinstance(value, tt.Tensor):
        return Wrapper(value)
    return type(value)(map(wrapped, value)) if type(value) in (list, tuple) else value


def of(*sizes: int) -> Any:
    return Wrapper(tt.linspace(-1, 1, max(1, int(tt.Size(sizes).numel()))).reshape(sizes))


NN: Final = tt.nn
MODULES: Final[dict[str, Callable[[], tuple[Any, ...]]]] = {
    "RNN": lambda: (NN.RNN(3, 4, 2), of(1, 5, 3)),
    "LSTM": lambda: (NN.LSTM(3, 4), of(2, 5, 3)),
    "LSTM with states": lambda: (NN.LSTM(3, 4), of(1, 5, 3), (of(1, 5, 4), of(1, 5, 4))),
    "GRU": lambda: (NN.GRU(3, 4, bidirectional=True), of(1, 5, 3)),
    "GRU with states": lambda: (NN.GRU(3, 4), of(1, 5, 3), of(1, 5, 4)),
    "RNNCell": lambda: (NN.RNNCell(3, 4), of(2, 3)),
    "LSTMCell": lambda: (NN.LSTMCell(3, 4), of(2, 3)),
    "GRUCell": lambda: (NN.GRUCell(3, 4), of(2, 3), of(2, 4)),
    "MultiheadAttention": lambda: (NN.MultiheadAttention(4, 2), of(3, 1, 4), of(3, 1, 4), of(3, 1, 4)),
    "BatchNorm1d": lambda: (NN.BatchNorm1d(3), of(2, 3)),
    "Conv2d": lambda: (NN.Conv2d(1, 1, 3, padding=1, padding_mode="circular"), of(1, 1, 3, 3)),
    "pad_sequence": lambda: (NN.utils.rnn.pad_sequence, [of(2), tt.ones(3)]),
    "broadcast_all": lambda: (tt.distributions.utils.broadcast_all, of(2), 1.0),
}


@pytest.mark.parametrize("name", MODULES)
def test_layers_take_objects_that_wrap_tensors(name: str) -> None:
    module, *args = MODULES[name]()
    found, expected = module(*args), module(*plain(args))
    leaves = tt.utils._pytree.tree_leaves(plain(found))
    for one, other in zip(leaves, tt.utils._pytree.tree_leaves(expected), strict=True):
        assert one.equal(other)
    assert isinstance(found[0] if isinstance(found, tuple) else found, Wrapper)


def test_indices_and_assigned_values_that_wrap_tensors_work() -> None:
    x = tt.zeros(3)
    assert plain(x[Wrapper(tt.tensor([0, 2]))]).tolist() == [0, 0]
    assert plain(x[(Wrapper(tt.tensor(1)),)]).item() == 0
    x[Wrapper(tt.tensor([0]))] = 1.0
    x[1] = Wrapper(tt.tensor(2.0))
    assert x.tolist() == [1, 2, 0]
    with pytest.raises(TypeError, match="can't assign a list"):
        x[0] = [1.0]
    with pytest.raises(IndexError, match="only integers"):
        x[object()]


def test_backward_and_grad_take_objects_that_wrap_tensors() -> None:
    x = tt.ones(2, requires_grad=True)
    (gradient,) = tt.autograd.grad(Wrapper((x * 2).sum()), Wrapper(x))
    assert plain(gradient).tolist() == [2, 2]
    (gradient,) = tt.autograd.grad([(x * 3).sum()], [Wrapper(x)])
    assert plain(gradient).tolist() == [3, 3]
    tt.autograd.backward(Wrapper((x * 4).sum()))
    tt.autograd.backward([Wrapper((x * 5).sum())])
    assert x.grad.tolist() == [9, 9]


def test_initialisations_take_objects_that_wrap_tensors() -> None:
    names = [name for name in import_module("tt.nn.init").__all__ if name.endswith("_")]
    for name in names:
        x = Wrapper(tt.full((3, 3, 3), 7.0) if name == "dirac_" else tt.full((3, 3), 7.0))
        arguments = {"constant_": (1.0,), "sparse_": (0.5,)}.get(name, ())
        assert isinstance(getattr(tt.nn.init, name)(x, *arguments), Wrapper)
        assert not (x.data == 7).any()
    assert len(names) > 12


def test_overridable_functions_are_listed_and_named() -> None:
    listed = tt.overrides.get_overridable_functions()
    for module, function, name in (
        (tt, tt.numel, "tt.numel"),
        (tt.nn.init, tt.nn.init.uniform_, "tt.nn.init.uniform_"),
        (tt.autograd, tt.autograd.grad, "tt.autograd.grad"),
    ):
        assert function in listed[module] and tt.overrides.resolve_name(function) == name
    with pytest.raises(TypeError, match=r"no implementation found for 'tt\.numel'"):
        tt.numel(Declining())


class Declining:
    def __tt_function__(self, *args: Any) -> Any:
        return NotImplemented
