"""What programs ask of TorchScript."""

from __future__ import annotations

import warnings

import pytest

import tt


def test_nothing_is_scripted_and_decorators_keep_functions():
    def function(x):
        return x

    assert not tt.jit.is_scripting() and not tt.jit.is_tracing()
    assert tt.jit.ignore(function) is function and tt.jit.ignore(drop=True)(function) is function
    for decorator in (tt.jit.export, tt.jit.unused, tt.jit.script_if_tracing):
        assert decorator(function) is function
    assert tt.jit.annotate(int, 3) == 3
    assert tt.jit.isinstance([1], list[int]) and not tt.jit.isinstance((1,), list[int])


@pytest.mark.parametrize("library", ["tt", pytest.param("torch", marks=pytest.mark.torch)])
def test_scripted_and_traced_functions_and_modules_compute_the_same(library):
    module = tt if library == "tt" else pytest.importorskip("torch")
    x = module.ones(2)
    with pytest.warns(DeprecationWarning):
        assert module.jit.script(_twice)(x).tolist() == [2.0, 2.0]
    linear = module.nn.Linear(2, 1)
    with pytest.warns(DeprecationWarning):
        traced = module.jit.trace(linear, x)
    assert traced(x).tolist() == linear(x).tolist() and list(traced.state_dict()) == ["weight", "bias"]
    assert issubclass(module.jit.ScriptModule, module.nn.Module) and issubclass(
        module.jit.TracerWarning, Warning
    )
    assert module.jit._script_if_tracing(_twice)(x).tolist() == [2.0, 2.0]
    for decorator in (module.jit.export, module.jit.unused, module.jit.ignore):
        assert decorator(_twice) is _twice
    assert module.jit._overload_method(_declared) is _declared
    for wrong in (3, None):
        with pytest.raises(TypeError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module.jit.script(wrong)
    from importlib import import_module

    annotations = import_module(f"{library}.jit.annotations")
    assert all(hasattr(annotations, name) for name in ("Dict", "List", "Optional", "Tuple", "Future", "Any"))


def _twice(x):
    return 2 * x


def _declared(x: int) -> int: ...


def test_a_script_is_what_was_given_and_warns_once_a_call():
    linear = tt.nn.Linear(1, 1)
    for value in (_twice, linear, tt.nn.Linear):
        for make in (tt.jit.script, tt.jit.trace):
            with warnings.catch_warnings(record=True) as given:
                warnings.simplefilter("always")
                assert make(value, example_inputs=(1,)) is value
            assert [warning.category for warning in given] == [DeprecationWarning]
            assert given[0].filename == __file__
    assert not isinstance(linear, tt.jit.ScriptModule)
    with pytest.raises(AttributeError, match="save"):
        _ = tt.jit.save


def test_a_script_module_is_a_module():
    with pytest.warns(DeprecationWarning, match="script_method"):

        class Scaled(tt.jit.ScriptModule):
            def __init__(self):
                super().__init__()
                self.weight = tt.nn.Parameter(tt.tensor(3.0))

            @tt.jit.script_method
            def forward(self, x):
                return self.weight * x

    assert Scaled()(tt.ones(1)).tolist() == [3.0] and isinstance(Scaled(), tt.jit.ScriptModule)


def test_an_interface_is_the_class():
    @tt.jit.interface
    class Named:
        def forward(self, x):
            return x

    assert Named().forward(3) == 3


def test_the_module_of_annotations_is_an_attribute():
    import typing

    assert tt.jit.annotations.List is typing.List  # noqa: UP006 - the name that programs import
    assert tt.jit.annotations.BroadcastingList2[int]
