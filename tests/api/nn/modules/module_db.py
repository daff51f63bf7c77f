"""A row of PyTorch's database of modules, run in both libraries."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pytest

import tt
from tests.api.nn.modules.more_modules import MORE

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's database of modules needs it")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_modules import ModuleErrorEnum, module_db

__all__ = ["CLASSES", "NOT_COMPARED", "RANDOM", "ROWS", "compare_errors", "compare_row", "to_tt"]

ROWS: Final = {info.module_cls.__name__: info for info in module_db}

CLASSES: Final = sorted({*ROWS, *MORE})

RANDOM: Final = (
    "AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout", "RReLU",
)  # fmt: skip
"""Modules whose outputs are drawn in training: there only dtypes and shapes are compared."""

NOT_COMPARED: Final[dict[str, str]] = {}
"""Rows that are meant to differ, as `Class` or `Class: description` -> reason."""

RTOL, ATOL = 1e-7, 1e-9


def to_tt(value: Any) -> Any:
    """Return what stands for a value of torch in tt; tensors are copied."""
    if isinstance(value, torch.Tensor):
        array = value.detach().resolve_conj().resolve_neg().numpy().copy()
        return tt.tensor(array, dtype=to_tt(value.dtype)).requires_grad_(value.requires_grad)
    if isinstance(value, torch.nn.Module):
        return rebuilt(value)
    if isinstance(value, torch.dtype):
        return getattr(tt, str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return tt.device(str(value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(to_tt, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(to_tt, value))
    if isinstance(value, dict):
        return {key: to_tt(item) for key, item in value.items()}
    if isinstance(value, type) and issubclass(value, torch.nn.Module):
        return type_of(value)
    if callable(value) and str(getattr(value, "__module__", "")).startswith("torch"):
        return function_named(value.__name__)
    if callable(value) and type(value).__name__ == "builtin_function_or_method":
        return function_named(value.__name__)
    return value


def rebuilt(module: torch.nn.Module) -> Any:
    """Return a module of tt with the arguments that a module of torch had; its parameters are others."""
    kind = type_of(type(module))
    if not list(module.parameters()):
        return kind()
    assert isinstance(module, torch.nn.TransformerEncoderLayer), module
    return kind(
        module.linear1.in_features,
        module.self_attn.num_heads,
        module.linear1.out_features,
        module.dropout.p,
        to_tt(module.activation),
        module.norm1.eps,
        module.self_attn.batch_first,
        module.norm_first,
        module.linear1.bias is not None,
    )


def function_named(name: str) -> Callable[..., Any]:
    """Return the function of a name in `tt.nn.functional`, or else in tt."""
    found = getattr(tt.nn.functional, name, None)
    return found if found is not None else getattr(tt, name)


def type_of(kind: type) -> Any:
    """Return tt's class of modules of the same name."""
    return getattr(tt.nn, kind.__name__)


def dense(grad: Any) -> Any:
    """Return a gradient that may be sparse or missing as a dense one."""
    return grad.to_dense() if grad is not None and grad.is_sparse else grad


def tensors(value: Any) -> Iterator[Any]:
    """Yield the tensors in nested tuples, lists and dictionaries."""
    if isinstance(value, (torch.Tensor, tt.Tensor)):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)


def assert_same(what: str, got: Any, expected: Any, *, values: bool = True) -> None:
    """Compare two tensors, or two of None."""
    assert (got is None) == (expected is None), f"{what}: {got} and not {expected}"
    if expected is None:
        return
    assert tuple(got.shape) == tuple(expected.shape), f"{what}: shape {got.shape} and not {expected.shape}"
    assert str(got.dtype).split(".")[1] == str(expected.dtype).split(".")[1], f"{what}: {got.dtype}"
    if values:
        np.testing.assert_allclose(
            got.detach().numpy(),
            expected.detach().numpy(),
            rtol=RTOL,
            atol=ATOL,
            equal_nan=True,
            err_msg=what,
        )


def shown(module: Any) -> str:
    """Return the repr of a module without the name of its library."""
    return repr(module).replace("torch.", "").replace("tt.", "")


def compare_state(what: str, module: Any, reference: Any) -> None:
    """Compare the state dicts of two modules: keys in order, shapes, dtypes and values."""
    got, expected = module.state_dict(), reference.state_dict()
    assert list(got) == list(expected), what
    for key in expected:
        assert_same(f"{what}: {key}", got[key], expected[key])


def leaf(value: Any) -> Any:
    """Return a copy of a tensor that has no gradient yet."""
    if not isinstance(value, torch.Tensor):
        return value
    return value.detach().clone().requires_grad_(value.requires_grad)


def samples(name: str, training: bool) -> list[Any]:
    """Return torch's inputs for a class of modules."""
    torch.manual_seed(0)
    info = ROWS[name]
    return list(
        info.module_inputs_func(
            info, device="cpu", dtype=torch.float64, requires_grad=True, training=training
        )
    )


def compare_row(name: str, training: bool) -> int:
    """Compare a class of modules on all of torch's inputs; return how many there were."""
    compared = 0
    for make, given in MORE.get(name, ()):
        forward = None if given is None else (tuple(map(leaf, given)), {})
        compare_modules(name, make(torch.nn), make(tt.nn), forward, training, copied=True)
        compared += 1
    for sample in samples(name, training) if name in ROWS else ():
        if name in NOT_COMPARED or f"{name}: {sample.desc}" in NOT_COMPARED:
            continue
        compare_sample(name, sample, training, copied=not compared)
        compared += 1
    return compared


def compare_sample(name: str, sample: Any, training: bool, copied: bool) -> None:
    """Build a module in both libraries and compare them."""
    given, forward = sample.constructor_input, sample.forward_input
    what = f"{name}({given.args}, {given.kwargs}) {sample.desc}"
    reference = ROWS[name].module_cls(*given.args, **given.kwargs)
    module = getattr(tt.nn, name)(*to_tt(given.args), **to_tt(given.kwargs))
    compare_modules(
        what,
        reference,
        module,
        None if forward is None else (forward.args, forward.kwargs),
        training,
        copied=copied,
    )


def compare_modules(
    what: str, reference: Any, module: Any, given: Any, training: bool, *, copied: bool
) -> None:
    """Copy the state of a module, compare outputs, gradients, state and repr, and with `copied` those of copies."""
    name = type(reference).__name__
    assert type(module).__name__ == name
    assert shown(module) == shown(reference), what
    reference.train(training).to(torch.float64)
    module.train(training).to(tt.float64)
    if given is None:
        compare_forms(what, module, reference)
        if copied:
            compare_copies(what, module, None)
        return
    args, kwargs = given
    own_args, own_kwargs = to_tt(args), to_tt(kwargs)
    if "Lazy" in name:
        reference(*copy.deepcopy(args), **copy.deepcopy(kwargs))
        module(*to_tt(args), **to_tt(kwargs))
        assert shown(module) == shown(reference), what
    compare_forms(what, module, reference)
    module.load_state_dict({key: to_tt(value) for key, value in reference.state_dict().items()})

    got, expected = module(*own_args, **own_kwargs), reference(*args, **kwargs)
    drawn = training and name in RANDOM
    outputs, references = list(tensors(got)), list(tensors(expected))
    assert len(outputs) == len(references), what
    for place, (output, other) in enumerate(zip(outputs, references, strict=True)):
        assert_same(f"{what}: output {place}", output, other, values=not drawn)
        assert output.requires_grad == other.requires_grad, f"{what}: output {place} requires_grad"
    compare_state(f"{what}: state dict", module, reference)
    if not drawn:
        compare_gradients(what, outputs, references)
        inputs = zip(tensors([own_args, own_kwargs]), tensors([args, kwargs]), strict=True)
        for place, (own, other) in enumerate(inputs):
            if other.is_leaf:  # others were computed from one
                assert_same(f"{what}: gradient of input {place}", own.grad, other.grad)
        parameters = dict(reference.named_parameters())
        for key, param in module.named_parameters():
            assert_same(f"{what}: gradient of {key}", dense(param.grad), dense(parameters[key].grad))

    if copied:
        compare_copies(what, module, None if training else (to_tt(args), to_tt(kwargs)))


def compare_forms(what: str, module: Any, reference: Any) -> None:
    """Compare the names and shapes of parameters and buffers, in order, and the keys of the state dicts."""
    for listed in ("named_parameters", "named_buffers", "named_modules"):
        got, expected = list(getattr(module, listed)()), list(getattr(reference, listed)())
        assert [n for n, _ in got] == [n for n, _ in expected], f"{what}: {listed}"
        if listed != "named_modules":
            assert [tuple(p.shape) for _, p in got] == [tuple(p.shape) for _, p in expected], (
                f"{what}: {listed}"
            )
    assert list(module.state_dict()) == list(reference.state_dict()), what


def compare_copies(what: str, module: Any, given: Any) -> None:
    """Compare a module with its deepcopy and with what pickle makes of it."""
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert type(other) is type(module) and other is not module
        assert repr(other) == repr(module), what
        assert other.training == module.training
        for (name, own), (key, copied) in zip(
            module.state_dict().items(), other.state_dict().items(), strict=True
        ):
            assert name == key and own is not copied
            assert_same(f"{what}: a copy's {name}", copied, own)
        if given is not None:
            got, expected = (list(tensors(made(*given[0], **given[1]))) for made in (other, module))
            for output, wanted in zip(got, expected, strict=True):
                assert_same(f"{what}: a copy's output", output, wanted)


def compare_gradients(what: str, outputs: list[Any], references: list[Any]) -> None:
    """Run backward in both libraries, from outputs weighted by the same numbers."""
    total: Any = 0
    reference: Any = 0
    for output, other in zip(outputs, references, strict=True):
        if other.requires_grad:
            weights = np.cos(np.arange(other.numel(), dtype=np.float64)).reshape(tuple(other.shape))
            total = total + (output * tt.tensor(weights)).sum()
            reference = reference + (other * torch.tensor(weights)).sum()
    if isinstance(reference, torch.Tensor):
        reference.backward()
        total.backward()


def compare_errors(name: str) -> int:
    """Compare the exceptions for torch's wrong inputs of a class of modules; return how many there were."""
    info = ROWS[name]
    if info.module_error_inputs_func is None:
        return 0
    torch.manual_seed(0)
    found = list(
        info.module_error_inputs_func(
            info, device="cpu", dtype=torch.float64, requires_grad=False, training=True
        )
    )
    for wrong in found:
        sample = wrong.module_error_input
        given, forward = sample.constructor_input, sample.forward_input
        try:
            module = getattr(tt.nn, name)(*to_tt(given.args), **to_tt(given.kwargs))
            if wrong.error_on == ModuleErrorEnum.FORWARD_ERROR:
                module(*to_tt(forward.args), **to_tt(forward.kwargs))
        except wrong.error_type:
            continue
        raise AssertionError(
            f"{name}: {sample.desc}: no {wrong.error_type.__name__}, as torch: {wrong.error_regex}"
        )
    return len(found)
