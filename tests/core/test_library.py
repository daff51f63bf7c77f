"""The two doors: `tt.library` for others, with examples; `tt.core.library` for the plugins of tt itself."""

from __future__ import annotations

import inspect
import re
from types import ModuleType
from typing import Any

import pytest

import tt
from tests.processes import printed_by
from tt.core import library

PYTORCH = {
    "CustomOp", "Library", "custom_op", "define", "get_ctx", "get_kernel", "impl", "impl_abstract", "infer_schema",
    "opcheck", "register_autocast", "register_autograd", "register_fake", "register_kernel", "register_tt_dispatch",
    "register_vmap",
}  # fmt: skip
"""The names of `torch.library`; `CustomOp` is the class of what `custom_op` returns."""
MOST = 45


def example_of(name: str) -> str:
    """Return the lines of code in the docstring of a name; of an object, in that of its class."""
    value: Any = getattr(tt.library, name)
    if not (inspect.isclass(value) or callable(value) or isinstance(value, ModuleType)):
        value = type(value)
    text = inspect.getdoc(value) or ""
    return "\n".join(re.findall(r"^\s*(?:>>>|\.\.\.) (.*)", text, re.MULTILINE))


def test_the_public_door_has_few_names():
    assert len({*tt.library.__all__} - PYTORCH) <= MOST
    assert len(tt.library.__all__) == len({*tt.library.__all__})


@pytest.mark.torch
def test_pytorch_has_the_names_that_are_not_counted():
    import torch

    names = {name.replace("tt_dispatch", "torch_dispatch") for name in PYTORCH - {"CustomOp"}}
    assert names <= {*dir(torch.library)} and hasattr(torch._library.custom_ops, "CustomOpDef")


@pytest.mark.parametrize("name", sorted(tt.library.__all__))
def test_each_public_name_has_an_example(name):
    """Its own, which runs as a doctest, or, of types and constants and what is compiled, that of another name."""
    if example_of(name):
        return
    others = [other for other in tt.library.__all__ if re.search(rf"\b{name}\b", example_of(other))]
    assert others, f"no example uses tt.library.{name}"


def test_the_names_of_both_doors_are_the_same_objects():
    both = {*tt.library.__all__} & {*library.__all__}
    assert len(both) > 40
    assert all(getattr(tt.library, name) is getattr(library, name) for name in both)


@pytest.mark.parametrize("name", ["CachedCall", "KEYS", "begin_epoch", "Entry", "Source"])
def test_what_only_plugins_of_tt_use_is_not_at_the_public_door(name):
    with pytest.raises(AttributeError, match=f"module 'tt.library' has no attribute '{name}'"):
        getattr(tt.library, name)


def test_authors_of_operators_import_no_checks_and_no_backend():
    program = (
        "import sys\nfrom tt.library import custom_op, infer_schema\n"
        "print([m for m in sys.modules if m.startswith(('tt.testing', 'tt.backends', 'tt.plugins'))])"
    )
    assert printed_by(program).strip() == "[]"
