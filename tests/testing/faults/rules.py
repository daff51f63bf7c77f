"""Faults that are seen on tensors: of arguments, devices, versions, and of the other forms of an operator."""

from __future__ import annotations

from typing import Any

import tt
from tests.testing.faults.fault import Call, Fault
from tests.testing.faults.selection import (
    UNDEFINED,
    all_of,
    computes,
    functional,
    kind,
    returns_tensors,
    takes_tensors,
)
from tt.core.library import OpDefinition, TensorBase, wrap
from tt.core.schema.model import MISSING
from tt.testing.checks.call import tensors_in
from tt.testing.references import as_array

__all__ = ["RULES", "options_of"]

# --- to which operators they apply -------------------------------------------------------------------------------

NO_EFFECT = {
    "dtype": "decides the dtype of the result, which has faults of its own",
    "device": "decides the device of the result, which has faults of its own",
    "layout": "every result is strided",
    "non_blocking": "a hint, which changes no result",
    "pin_memory": "a hint, which changes no result",
    "memory_format": "decides strides only",
    "generator": "where the numbers come from, which has a fault of its own",
    "driver": "chooses a library, not a result",
    "requires_grad": "is autograd's",
    "stable": "every sort is stable, asked or not",
    "sorted": "the results are sorted, asked or not",
    "assume_unique": "a hint, which changes no result",
    "output_size": "a hint, which changes no result",
    "_stacklevel": "where a warning points to",
    "sparse": "the layout of the gradient",
    "sparse_grad": "the layout of the gradient",
    "scale_grad_by_freq": "decides the gradient only",
    "max_norm": "changes the weight on purpose, which the samples do not",
    "norm_type": "goes with max_norm",
    "inplace": "changes the argument on purpose, which the samples do not",
    "copy": "decides only whether memory is shared",
    "rcond": "of least squares: cuts off nearly singular parts, where libraries differ, so that no sample is",
    "pivot": "the CPU factors with pivots only",
    "return_indices": "chooses between overloads",
}
"""Arguments with a default that decide no value, each with the reason."""
EXCLUDED = {
    "_foreach_norm.Scalar(ord)": "its samples have the order that is the default",
    "embedding(padding_idx)": "decides the gradient only",
    "svd(compute_uv)": "decides whether there are vectors, which are free up to a phase and not compared",
    "batch_norm(momentum)": "decides what becomes of the running statistics, which are changed in place",
    "instance_norm(momentum)": "decides what becomes of the running statistics, which are changed in place",
    "scaled_dot_product_attention(dropout_p)": "draws numbers, so values cannot be compared",
    "_embedding(padding_idx)": "decides the gradient only",
    "histogramdd.TensorList_bins(range)": "the edges are given",
    "segment_reduce(indices)": "is refused, as in PyTorch",
    "segment_reduce(unsafe)": "decides whether wrong lengths are looked for",
    "lu(out)": "is refused",
    "linear_cross_entropy(options)": "divides the work in PyTorch, and has no effect",
    **dict.fromkeys(
        (f"linalg_ldl_{name}(hermitian)" for name in ("factor", "factor_ex", "solve")),
        "real matrices that are symmetric are Hermitian",
    ),
}


def options_of(d: OpDefinition) -> list[str]:
    """Return the arguments with a default that decide values."""
    return [a.name for a in d.signature.arguments if a.default is not MISSING and a.name not in NO_EFFECT]


def has_dim(d: OpDefinition) -> bool:
    return any(a.name == "dim" and a.type.base == "int" for a in d.signature.arguments)


def has_argument(name: str) -> Any:
    return lambda d: any(a.name == name for a in d.signature.arguments)


def two_tensors(d: OpDefinition) -> bool:
    first = d.signature.arguments[:2]
    return len(first) == 2 and all(
        a.type.base == "Tensor" and not a.type.list and not a.type.optional for a in first
    )


def one_result(d: OpDefinition) -> bool:
    return len(d.signature.returns) == 1 and not d.signature.returns[0].type.list


def owns_result(d: OpDefinition) -> bool:
    """Return whether the result has memory of its own; of composites the schema says so."""
    return d.kind not in ("view", "composite") and not d.signature.returns[0].alias


def determined(d: OpDefinition) -> bool:
    return "random" not in d.tags and d.name not in UNDEFINED


DOUBLE_ONLY = {"float_power": "takes double precision only in place"}
MOVES = dict.fromkeys(("_to_copy", "to.device"), "moves tensors itself, so that the fault would meet itself")
COMMUTATIVE = (
    "add", "mul", "maximum", "minimum", "fmax", "fmin", "logaddexp", "logaddexp2", "hypot", "eq", "ne", "logical_and",
    "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm", "max.other",
    "min.other", "dot", "inner", "linalg_vecdot", "cosine_similarity", "dist", "mse_loss",
    "l1_loss", "huber_loss", "smooth_l1_loss", "clamp_min", "clamp_max", "soft_margin_loss", "gaussian_nll_loss",
    "cosine_embedding_loss", "isclose", "allclose", "equal", "vdot",
)  # fmt: skip


# --- how they are wrong ------------------------------------------------------------------------------------------


def negative_dim(call: Call) -> Any:
    """Count a negative dim from the front."""
    dim = call.args["dim"]
    if isinstance(dim, list | tuple):
        return call.run(dim=[-d - 1 if d < 0 else d for d in dim])
    return call.run(dim=-dim - 1 if isinstance(dim, int) and dim < 0 else dim)


def ignores(call: Call) -> Any:
    """Use the default of an argument, whatever is given."""
    argument = next(a for a in call.definition.signature.arguments if a.name == call.argument)
    return call.run(**{call.argument: argument.default})


def swapped(call: Call) -> Any:
    first, second = list(call.args)[:2]
    return call.run(**{first: call.args[second], second: call.args[first]})


def through_host(call: Call) -> Any:
    """Compute on the host, and move the result back."""
    return moved(call.definition, call.args, home=next(tensors_in(list(call.args.values()))).device)


def on_host(call: Call) -> Any:
    """Compute on the host, and leave the result there."""
    return moved(call.definition, call.args, home=None)


def moved(definition: OpDefinition, args: dict[str, Any], home: Any) -> Any:
    from tt.core.dispatch.registry.registry import REGISTRY

    def to(value: Any, device: Any) -> Any:
        if isinstance(value, TensorBase):
            return value.to(device)
        if isinstance(value, list | tuple):
            return [to(item, device) for item in value]
        return value

    args = {n: tt.device("cpu") if n == "device" and v is not None else to(v, "cpu") for n, v in args.items()}
    result = REGISTRY.operator(definition.name).overload().dispatch(tuple(args.values()))
    return result if home is None else to(result, home)


def bumps(call: Call) -> Any:
    result, call.deviates = call.run(), True
    next(tensors_in(list(call.args.values())))._bump_version()
    return result


def returns_argument(call: Call) -> Any:
    """Return the memory of an argument where the result equals it."""
    result = call.run()
    if isinstance(result, TensorBase) and result.numel():
        for given in tensors_in(list(call.args.values())):
            if (given.dtype, given.shape, given.device) == (result.dtype, result.shape, result.device) and (
                as_array(given).tobytes() == as_array(result).tobytes()
            ):
                return wrap(given._handle, given._spec)
    return result


def forgets_version(call: Call) -> Any:
    """Return the memory of the argument with a version of its own."""
    result = call.run()
    if isinstance(result, TensorBase):
        return wrap(result._handle, result._spec)
    return type(result)(wrap(t._handle, t._spec) for t in result)


def returns_copy(call: Call) -> Any:
    call.run()
    return call.args["self"].clone()


def writes_nothing(call: Call) -> Any:
    target = call.args["self"]
    target._bump_version()
    return target


def bumps_nothing(call: Call) -> Any:
    """Write without anyone noticing."""
    target = call.args["self"]
    version, call.deviates = target._version, True
    result = call.run()
    if target._storage is not None:
        target._storage.version = version
    return result


def keeps_out(call: Call) -> Any:
    """Return a new tensor in place of the one that was given."""
    return call.memory["functional"](call)


def keeps_shape(call: Call) -> Any:
    """Leave an output alone that has another shape."""
    result = call.memory["functional"](call)
    outs = call.memory["outs"](call)
    for out, found in zip(outs, tensors_in(result), strict=True):
        if out.shape == found.shape:
            out.copy_(found)
    return outs[0] if len(outs) == 1 else tuple(outs)


def other_method(call: Call) -> Any:
    result = call.run()
    if isinstance(result, tuple):
        return [other_values(item) for item in result]
    return other_values(result)


def other_values(tensor: Any) -> Any:
    """Return a tensor of other values."""
    ops = tt.ops  # not methods, of which one is spoilt
    return ops.logical_not(tensor) if tensor.dtype is tt.bool else ops.sub(ops.neg(tensor), 1)


# --- the table ---------------------------------------------------------------------------------------------------

RULES = (
    Fault("counts a negative dim from the front", ("values", "meta", "runs", "dim"), "", negative_dim,
          all_of(has_dim, determined), level="rule",
          excluded={
              "linalg_matrix_norm.str_ord": "the norms of a matrix are those of its transpose",
          }),
    Fault("has keepdim the wrong way round", ("meta",), "instead of",
          lambda c: c.run(keepdim=not c.args["keepdim"]), has_argument("keepdim"), level="rule"),
    Fault("ignores an argument", ("values", "meta", "runs", "view"), "", ignores,
          all_of(determined, functional, lambda d: bool(options_of(d))), level="rule", excluded=EXCLUDED),
    Fault("takes its arguments the other way round", ("values", "meta", "runs"), "", swapped,
          all_of(two_tensors, determined, functional), level="rule",
          excluded={
              **dict.fromkeys(COMMUTATIVE, "commutes"), "embedding_bag": "takes them in both orders, as PyTorch does",
          }),
    Fault("computes on the host", ("device",), "host|inside of the call", through_host,
          all_of(takes_tensors, functional, returns_tensors, lambda d: d.kind != "view"), level="rule", raises=True,
          excluded=MOVES),
    Fault("returns a tensor on another device", ("device",), "is on cpu", on_host,
          all_of(takes_tensors, functional, returns_tensors, lambda d: d.kind != "view"), level="rule", raises=True,
          excluded=MOVES),
    Fault("bumps the version of its argument", ("inputs",), "bumped", bumps,
          all_of(takes_tensors, functional,
                 lambda d: not any(a.alias and a.alias.write for a in d.signature.arguments)),
          level="rule"),
    Fault("returns the memory of its argument", ("alias",), "shares the memory", returns_argument,
          all_of(computes, functional, takes_tensors, one_result, owns_result), level="rule",
          inert="none of its results equals an argument"),
    Fault("gives a view a version of its own", ("view",), "version", forgets_version,
          all_of(kind("view"), functional), level="rule"),
    Fault("returns a copy from the in-place form", ("inplace",), "does not return its target", returns_copy,
          all_of(determined, functional, lambda d: d.has_inplace), level="inplace", excluded=DOUBLE_ONLY),
    Fault("writes nothing in place", ("inplace",), "differ|shape", writes_nothing,
          all_of(determined, functional, lambda d: d.has_inplace), level="inplace",
          excluded=DOUBLE_ONLY | {"conj_physical": "real numbers stay as they are", "detach": "changes no values"}),
    Fault("does not bump the version in place", ("inplace",), "bump", bumps_nothing,
          all_of(determined, functional, lambda d: d.has_inplace), level="inplace", excluded=DOUBLE_ONLY),
    Fault("ignores out=", ("out",), "does not return its target|differ", keeps_out,
          all_of(determined, functional, lambda d: d.has_out), level="out"),
    Fault("does not resize out=", ("resize",), "resized", keeps_shape,
          all_of(determined, functional, lambda d: d.has_out), level="out"),
    Fault("has a method that differs", ("method",), "method|differ", other_method,
          all_of(computes, lambda d: d.has_method, one_result),
          level="method"),
)  # fmt: skip
