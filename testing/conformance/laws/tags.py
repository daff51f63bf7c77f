"""The laws of the tags."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import tt
from tt.core.dispatch.mutate.overlap import shares_memory
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import GradientError
from tt.core.host import host
from tt.core.tensor.base import TensorBase
from tt.core.tensor.generator import Generator, generator_of
from tt.core.types.dtype import bool_, float32, float64
from tt.operators._samples.base import has_dtype
from tt.testing.checks.call import map_tensors, tensors_in
from tt.testing.checks.case import SKIPPED, Case, copy_of
from tt.testing.checks.values import differences
from tt.testing.conformance.laws.base import Law, refused
from tt.testing.references import as_array

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

__all__ = ["TAG_LAWS"]


def random(case: Case) -> Iterator[str]:
    """Draw twice from generators with one seed, and look whether the default generator moved."""
    if "generator" not in case.bound or case.inplace_only:
        yield SKIPPED
        return

    device = case.device_type
    default = generator_of(device)
    before = default.get_state().tolist()
    first, second = (
        case.run_bound({**case.bound, "generator": Generator(device).manual_seed(5)}) for _ in range(2)
    )
    for message in differences(second, as_array(first)):
        yield f"two generators with one seed gave different numbers: {message}"
    if default.get_state().tolist() != before:
        yield "the default generator moved although another was given"


def nondifferentiable(case: Case) -> Iterator[str]:
    """Look for a history behind the results."""
    results = _results_of_recorded_arguments(case)
    if results is None:
        yield SKIPPED
        return
    for tensor in results:
        if tensor.requires_grad:
            yield "the result requires a gradient"


def no_derivative(case: Case) -> Iterator[str]:
    """Look for results whose backward pass gives something, or that it does not reach."""
    results = _results_of_recorded_arguments(case)
    if results is None:
        yield SKIPPED
        return
    for tensor in results:
        if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
            continue
        if not tensor.requires_grad:
            yield "a result does not require a gradient"
            continue
        try:
            # Only a single number has a gradient by default, so the result's own values serve as one.
            tt.autograd.backward(tensor, tensor.detach())
        except GradientError:
            continue
        yield "backward does not raise"


def _results_of_recorded_arguments(case: Case) -> list[Any] | None:
    """Return the results of a call all whose floating point arguments require a gradient; None if it has none."""
    floats = [t for t in case.tensors if t.dtype.is_floating_point or t.dtype.is_complex]
    changes = case.inplace_only or case.operator.mutates  # a result is an argument, which may require one
    if not floats or changes or not host.declares("member", "requires_grad_"):
        return None

    def recorded(tensor: Tensor) -> Any:
        return copy_of(tensor.detach()).requires_grad_() if any(tensor is t for t in floats) else tensor

    result = case.run_bound({name: map_tensors(value, recorded) for name, value in case.bound.items()})
    return list(tensors_in(result))


def _other_dtype(case: Case, than: Any) -> Any:
    return next((d for d in (float64, float32) if d is not than and has_dtype(case.device, d)), bool_)


def same_dtype(case: Case) -> Iterator[str]:
    """Give the last tensor of `promote` another dtype."""
    names = [n for n in case.definition.promote if isinstance(case.bound[n], TensorBase)]
    if len(names) < 2 or case.inplace_only:
        yield SKIPPED
        return
    value = case.bound[names[-1]]
    other = value.to(_other_dtype(case, value.dtype))
    yield from refused(
        lambda: case.run_bound({**case.bound, names[-1]: other}), f"{other.dtype} with {value.dtype}"
    )


def no_bool(case: Case) -> Iterator[str]:
    """Give the first tensor of `promote` the dtype bool."""
    names = [n for n in case.definition.promote if isinstance(case.bound[n], TensorBase)]
    other = case.bound[names[0]] != 0
    yield from refused(lambda: case.run_bound({**case.bound, names[0]: other}), "a tensor of bools")


def metadata_inplace(case: Case) -> Iterator[str]:
    """Look whether another tensor over the same memory still shares it after the in-place form."""
    target = copy_of(case.tensors[0])
    other = target.view(tuple(target.shape)) if target.is_contiguous() else target[...]
    case.call((target, *case.sample.args[1:]), "inplace")
    if not shares_memory(target, other):
        yield "the in-place form gave the tensor other memory"


def inplace_only(case: Case) -> Iterator[str]:
    """Look for public names of the functional form."""
    definition = case.definition
    if definition.public_names or definition.has_method:
        yield "the functional form has a public name"
    if not callable(getattr(tt.Tensor, definition.inplace_name, None)):
        yield f"tensors have no method {definition.inplace_name!r}"


def internal(case: Case) -> Iterator[str]:
    """Look for public names."""
    if case.definition.public_names:
        yield f"it has public names: {', '.join(case.definition.public_names)}"


def exact_out(case: Case) -> Iterator[str]:
    """Give out= another dtype, and the memory of an argument."""
    results = list(tensors_in(case.result))
    if not case.definition.has_out or not results:
        yield SKIPPED
        return
    outs = [copy_of(t) for t in results]
    wrong = [t.to(_other_dtype(case, t.dtype)) for t in outs]
    yield from refused(lambda: case.into(wrong), f"out= of {wrong[0].dtype} for a result of {outs[0].dtype}")
    described = results[0].dtype, results[0].shape
    name = next((n for n, v in case.bound.items() if _fits(v, *described)), None)
    # The other tag of this law, `exact_target`, says nothing of shared memory.
    if name is not None and len(outs) == 1 and "exact_out" in case.definition.tags:
        argument = copy_of(case.bound[name])
        bound = {**case.bound, name: argument}
        shared = argument.view(tuple(argument.shape))
        call = case.operator.overload("out").dispatch
        yield from refused(lambda: call((*bound.values(), shared)), "out= in the memory of an argument")


def _fits(value: Any, dtype: Any, shape: Any) -> bool:
    if not isinstance(value, TensorBase) or not (value.dtype is dtype and value.shape == shape):
        return False
    tensor: Any = value
    return bool(tensor.ndim and tensor.is_contiguous() and tensor.numel())  # one number may be overwritten


def out_decides(case: Case) -> Iterator[str]:
    """Compare out= of double precision with dtype= of double precision."""
    if case.bound.get("dtype") is not None or case.dtype.is_complex or not has_dtype(case.device, float64):
        yield SKIPPED
        return
    wide = copy_of(case.result).to(float64)
    case.call(case.sample.args, out=wide)
    expected = case.run_bound({**case.bound, "dtype": float64})
    for message in differences(wide, as_array(expected)):
        yield f"out= of float64 gives something other than dtype=float64: {message}"


def pass_through(case: Case) -> Iterator[str]:
    """Check every layer that has no rule of its own."""
    for layer in REGISTRY.layers.values():
        rule = layer.rule(case.operator, "functional")
        if rule is None and not layer.passes_through(case.operator, "functional"):
            yield f"the layer {layer.name!r} has no rule for it and does not let it pass"


def variadic(case: Case) -> Iterator[str]:
    """Give the items of the list one by one."""
    *before, items = case.sample.args or (None,)
    if not isinstance(items, list | tuple) or not items or not isinstance(items[0], TensorBase):
        yield SKIPPED
        return
    result = case.call((*before, *items))
    if list(tensors_in(result)):
        for message in differences(result, as_array(case.result)):
            yield f"given one by one, the tensors give something else: {message}"
    elif result != case.result:
        yield f"given one by one, the tensors give {result!r} instead of {case.result!r}"


def real_is_self(case: Case) -> Iterator[str]:
    """Look whether a real argument comes back."""
    if case.tensors[0].dtype.is_complex:
        yield SKIPPED
    elif case.call(case.sample.args) is not case.sample.args[0]:
        yield "of a real tensor, the result is another one"


TAG_LAWS: Final[dict[str, Law]] = {
    "data_dependent": Law("Without data the call raises DataDependentError.", "meta"),
    "data_dependent_shape": Law("Without data the call raises DataDependentError.", "meta"),
    "random": Law(
        "The same seed gives the same numbers and another one others (the check `seed`); a generator that is given is "
        "the only one that moves.",
        random,
    ),
    "nondifferentiable": Law("No result requires a gradient, whatever the arguments do.", nondifferentiable),
    "no_derivative": Law(
        "Results of floating point numbers require a gradient where an argument does, and backward raises.",
        no_derivative,
    ),
    "same_dtype": Law("Arguments of `promote` with different dtypes are refused.", same_dtype),
    "metadata_inplace": Law("The in-place form leaves the tensor in its memory.", metadata_inplace),
    "inplace_only": Law("Tensors have the in-place method, which is the only public name.", inplace_only),
    "exact_out": Law(
        "out= of another dtype is refused, and so is another tensor in the memory of an argument.",
        exact_out,
    ),
    "internal": Law("It has no public name.", internal),
    "no_bool": Law("Bools among the arguments of `promote` are refused.", no_bool),
    "exact_target": Law("out= of another dtype is refused.", exact_out),
    "pass_through": Law("Every layer has a rule for it or lets it pass.", pass_through),
    "real_is_self": Law("Of a real tensor, the functional form returns that tensor.", real_is_self),
    "out_decides": Law("out= without dtype= gives what dtype= with the dtype of out= gives.", out_decides),
    "variadic": Law("The tensors of the last list may be given one by one.", variadic),
}
