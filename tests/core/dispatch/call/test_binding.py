"""The functions that bind arguments to a schema, where operators share what is made for them."""

import pytest

import tt
from tt.core.dispatch.call import binding
from tt.core.dispatch.call.binding import make_binder
from tt.core.errors import ArgumentError
from tt.core.schema.grammar import parse


def binder(text):
    signature = parse(text)
    return make_binder(signature, tuple(a.default for a in signature.arguments), signature.name, lambda: text)


def test_operators_with_the_same_parameters_keep_their_own_defaults_and_names():
    one = binder("one(int shared_code, str how='a') -> int")
    two = binder("two(int shared_code, str how='b') -> int")
    assert one((1,), None) == (1, "a") and two((1,), None) == (1, "b")
    assert two((), {"shared_code": 2, "how": "c"}) == (2, "c")
    for bind, name in ((one, "one"), (two, "two")):
        with pytest.raises(ArgumentError, match=rf"{name}\(\): argument 'shared_code'"):
            bind(("text",), None)
        with pytest.raises(ArgumentError, match=rf"{name}\("):
            bind((1, "a", 3), None)


def test_the_code_of_parameters_is_compiled_once(monkeypatch):
    compiled = []

    def noted(source, *rest):
        compiled.append(source)
        return compile(source, *rest)

    monkeypatch.setattr(binding, "compile", noted, raising=False)
    x = tt.ones(2)
    for name in ("three", "four"):
        binder(f"{name}(Tensor compiled_once, float by=1.0) -> Tensor")((x,), None)
    binder("five(Tensor compiled_once, float by) -> Tensor")((x, 1.0), None)
    assert len(compiled) == 2 and all("compiled_once" in source for source in compiled)


def test_none_stands_for_a_default_of_no_numbers():
    x = tt.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.amax(None).item() == 4 and x.amin(dim=None, keepdim=True).tolist() == [[1.0]]
    assert x.roll(1, None).tolist() == [[4.0, 1.0], [2.0, 3.0]]
    with pytest.raises(TypeError, match="must be tuple of ints, not NoneType"):
        x.flip(None)


@pytest.mark.torch
def test_arguments_have_numpy_names_too():
    torch = pytest.importorskip("torch")
    found = []
    for library in (tt, torch):
        x = library.tensor([[1.0, 2.0], [3.0, 4.0]])
        results = [
            library.add(x1=x, x2=x),
            library.mul(x1=x, x2=2),
            library.matmul(x1=x, x2=x),
            x.add(x2=x),
            library.abs(x=x),
            library.sum(a=x, axis=0),
            library.sum(x=x, axis=0, keepdims=True),
            library.cumsum(a=x, axis=0),
            library.all(x, keepdim=True),
            x.any(keepdim=True),
        ]
        found.append([result.tolist() for result in results])
    assert found[0] == found[1]
    with pytest.raises(TypeError, match="unexpected keyword argument 'x3'"):
        tt.add(x, x3=x)
