"""The words of the schema and their meanings."""

from __future__ import annotations

from typing import Final

__all__ = ["AUTOCAST", "BASES", "KINDS", "RESULTS", "TAGS", "VARIANTS"]

AUTOCAST: Final[dict[str, str]] = {
    "lower": "its floating tensors are cast to the precision of autocast",
    "float32": "its tensors of half precision are cast to float32",
    "widest": "its floating tensors are cast to the widest precision among them and that of autocast",
    "set_dtype": "computes in float32 where no dtype= is given",
    "refuse": "is refused",
    "lower_result": "computes in the dtype of its arguments; its result is cast to the precision of autocast",
    "whole": "is left alone with its parts, which would choose otherwise",
    "none": "is left alone: for autocast_cpu, where autocast says otherwise",
}
BASES: Final[dict[str, str]] = {
    "Tensor": "a tensor; `Tensor|Scalar` also takes a Python number",
    "Scalar": "a Python bool, int, float or complex",
    "int": "a Python int",
    "float": "a Python float",
    "bool": "a Python bool",
    "str": "a string",
    "dtype": "a dtype",
    "device": "a device",
    "layout": "a memory layout",
    "memory_format": "an order of dimensions in memory",
    "Generator": "a random number generator",
    "tuple": "a tuple of fixed length: `tuple(int, float)`",
    "dict": "a dict with values of one type: `dict(str, float)`",
    "any": "any Python object; only in composites",
}
KINDS: Final[dict[str, str]] = {
    "pointwise": "broadcasts, element by element",
    "reduction": "combines the elements along dimensions",
    "view": "shares the memory of its argument",
    "factory": "makes a tensor from a size or like another tensor",
    "composite": "has no kernel of its own: always runs as its composite",
    "other": "anything else",
}
RESULTS: Final[dict[str, str]] = {
    "default": "the promoted dtype",
    "int_to_float": "the promoted dtype; bools and integers become the default dtype",
    "int_to_int64": "the promoted dtype; bools and integers become int64",
    "bool_to_int64": "the promoted dtype; bools become int64",
    "bool": "bool",
    "truth": "bool; uint8 for uint8",
    "int64": "int64",
    "same": "the dtype of the first tensor argument",
    "dtype": "the argument dtype, else the default dtype",
    "real": "the promoted dtype; a complex one becomes its real dtype",
    "complex": "the complex dtype of the promoted one",
    "wide": "the promoted dtype; half precision becomes float32",
    "none": "the result is not a tensor",
}
VARIANTS: Final[dict[str, str]] = {
    "function": "a function of the public namespace",
    "method": "a method of Tensor",
    "property": "an attribute of Tensor, of an operator that takes nothing else",
    "inplace": "the in-place form, a method whose name ends in an underscore",
    "out": "the keyword out=",
    "copy": "a function NAME_copy, which returns copies of the views that the operator returns",
}
TAGS: Final[dict[str, str]] = {
    "data_dependent": "the result is a Python value that depends on data: meta refuses",
    "data_dependent_shape": "the shape depends on data: meta refuses",
    "random": "draws from a generator",
    "nondifferentiable": "no result has a gradient",
    "no_derivative": "a result requires a gradient, but has none yet: backward raises when it reaches it",
    "same_dtype": "the arguments of promote must have one dtype, they do not promote",
    "metadata_inplace": "the in-place form changes the tensor, not its data",
    "inplace_only": "only the in-place form is public",
    "exact_out": "out= has the dtype of the result, and memory that no argument shares",
    "internal": "called by other operators, no public name of PyTorch's",
    "no_bool": "refuses bools among the arguments of promote, tensors and numbers",
    "exact_target": "what out= and the in-place form write to must have the dtype of the result; nothing is cast",
    "pass_through": "layers let it pass",
    "real_is_self": "of real numbers, the functional form returns the argument itself",
    "out_decides": "computes in the dtype of out= where no dtype= is given",
    "variadic": "the tensors of its last positional argument, a list, may also be given one by one (any[]: always are)",
}
