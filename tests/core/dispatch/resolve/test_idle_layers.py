"""Where a layer has nothing to do, it is as if it were not there: the kernel below runs, and modes see one call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tt
from tt.core.library import REGISTRY
from tt.core.schema.classes import dtype_names
from tt.testing.samples import samples
from tt.utils._python_dispatch import TTDispatchMode

DEFINITIONS = [
    d
    for d in REGISTRY.definitions()
    if "::" not in d.name and d.samples and "float32" in dtype_names(d.dtypes)
]
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


class Seen(TTDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __tt_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


def requiring(value: Any) -> Any:
    """Return arguments whose floating-point tensors require gradients."""
    if isinstance(value, tt.Tensor):
        copy = value.detach()
        return copy.requires_grad_() if copy.is_floating_point() or copy.is_complex() else copy
    if isinstance(value, list | tuple):
        return type(value)(map(requiring, value)) if not hasattr(value, "_fields") else value
    return value


def few(definition: Any) -> Iterator[Any]:
    chosen = [sample for sample in samples(definition, "cpu", tt.float32) if sample.error is None]
    yield from chosen[:2]


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda definition: definition.name)
def test_a_mode_sees_the_operators_that_plain_tensors_call(definition: Any) -> None:
    call = REGISTRY.operator(definition.name).overload()
    for sample in few(definition):
        names = []
        for change in (lambda value: value, requiring):
            args = [change(value) for value in sample.args]
            kwargs = {name: change(value) for name, value in sample.kwargs.items()}
            tt.manual_seed(0)
            with tt.no_grad(), Seen() as seen:
                call(*args, **kwargs)
            names.append(seen.names)
        assert names[1] == names[0]


@pytest.mark.parametrize("fake", [False, True])
def test_backward_passes_call_whole_operators(fake: bool) -> None:
    def cross_entropy() -> tt.Tensor:
        x = tt.randn(4, 5, requires_grad=True)
        return tt.nn.functional.cross_entropy(x, tt.zeros(4, dtype=tt.int64))

    def attention() -> tt.Tensor:
        x = tt.randn(1, 2, 3, 4, requires_grad=True)
        return tt.nn.functional.scaled_dot_product_attention(x, x, x).sum()

    def layer_norm() -> tt.Tensor:
        x = tt.randn(3, 4, requires_grad=True)
        return tt.nn.functional.layer_norm(x, (4,), tt.ones(4, requires_grad=True)).sum()

    for program, whole in (
        (cross_entropy, "_cross_entropy_backward"),
        (attention, "_attention_backward"),
        (layer_norm, "_layer_norm_backward"),
    ):
        with tt.FakeMode() if fake else tt.enable_grad(), Seen() as seen:
            result = program()
            before = len(seen.names)
            result.backward()
        assert whole in seen.names[before:]
        assert len(seen.names) - before < 7
