"""What programs import from `_utils`: flat buffers, indices of devices, errors of threads, against torch."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt import _utils as utils


def parts(lib):
    return [lib.arange(6.0).reshape(2, 3), lib.zeros(0, 2), lib.tensor(7.0), lib.ones(2)]


def test_tensors_become_a_vector_and_views_of_it() -> None:
    flat = utils._flatten_dense_tensors(parts(tt))
    assert flat.tolist() == [0, 1, 2, 3, 4, 5, 7, 1, 1]
    views = utils._unflatten_dense_tensors(flat, parts(tt))
    assert [view.shape for view in views] == [part.shape for part in parts(tt)]
    views[0][1, 2] = 9
    assert flat[5] == 9


def test_flat_buffers_carry_gradients() -> None:
    leaves = [tt.ones(2, requires_grad=True), tt.ones(1, 2, requires_grad=True)]
    weights = tt.tensor([1.0, 2.0, 3.0, 4.0])
    first, second = utils._unflatten_dense_tensors(utils._flatten_dense_tensors(leaves) * weights, leaves)
    (first.sum() + 2 * second.sum()).backward()
    assert [leaf.grad.tolist() for leaf in leaves] == [[1, 2], [[6, 8]]]


def test_wrong_buffers_are_refused() -> None:
    with pytest.raises(RuntimeError, match="at least one tensor"):
        utils._flatten_dense_tensors([])
    with pytest.raises(TypeError, match=r"one dtype, not tt.float32 and tt.int64"):
        utils._flatten_dense_tensors([tt.ones(1), tt.ones(1, dtype=tt.int64)])
    for flat in (tt.ones(2), tt.ones(3, 1)):
        with pytest.raises(RuntimeError, match="a vector of 3 elements"):
            utils._unflatten_dense_tensors(flat, [tt.ones(3)])


@pytest.mark.torch
@pytest.mark.parametrize("limit", [1, 16, 24, 1000])
def test_groups_and_their_order_are_those_of_torch(limit: int) -> None:
    torch = pytest.importorskip("torch")
    from torch import _utils as reference

    def grouped(lib, module):
        tensors = [lib.full((n,), float(n)) for n in (2, 4, 1)] + [lib.arange(n) for n in (1, 2)]
        tensors = [tensors[i] for i in (3, 0, 1, 4, 2)]
        tensors.append(lib.eye(2).to_sparse())
        groups = list(module._take_tensors(tensors, limit))
        back = module._reorder_tensors_as([tensor for group in groups for tensor in group], tensors)
        assert all(one is other for one, other in zip(back, tensors, strict=True))
        return [[tensor.to_dense().tolist() for tensor in group] for group in groups]

    assert grouped(tt, utils) == grouped(torch, reference)


def test_too_few_tensors_cannot_be_ordered() -> None:
    with pytest.raises(RuntimeError, match=r"too few tensors of tt.float32 on cpu"):
        utils._reorder_tensors_as([tt.ones(1)], [tt.ones(1), tt.ones(1)])


def test_devices_have_indices() -> None:
    assert utils._get_device_index(3) == 3
    assert utils._get_device_index("cuda:1") == utils._get_device_index(tt.device("cuda", 1)) == 1
    assert utils._get_device_index("cpu", allow_cpu=True) == -1
    with pytest.raises(ValueError, match="other than the CPU"):
        utils._get_device_index(tt.device("cpu"))
    for device in ("cuda", None):
        with pytest.raises(ValueError, match="a device with an index"):
            utils._get_device_index(device)


def test_without_an_index_the_current_accelerator_counts(monkeypatch) -> None:
    monkeypatch.setattr(tt.accelerator, "current_accelerator", lambda check_available: None)
    assert utils._get_available_device_type() is utils._get_all_device_indices() is None
    assert utils._get_device_index("cuda", optional=True) is None
    monkeypatch.setattr(tt.accelerator, "current_accelerator", lambda check_available: tt.device("cuda"))
    monkeypatch.setattr(tt.accelerator, "device_count", lambda: 2)
    monkeypatch.setattr(tt.accelerator, "current_device_index", lambda: 1)
    assert utils._get_available_device_type() == "cuda"
    assert utils._get_all_device_indices() == [0, 1]
    assert utils._get_device_index(None, optional=True) == utils._get_device_index("cuda", optional=True) == 1


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["bool", "int16", "float64", "bfloat16", "complex64", "float8_e5m2"])
def test_sizes_of_elements_are_those_of_torch(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    expected = torch.empty(1, dtype=getattr(torch, dtype)).element_size()
    assert utils._element_size(getattr(tt, dtype)) == expected
    with pytest.raises(TypeError, match="expected a dtype, got str"):
        utils._element_size(dtype)  # type: ignore[arg-type]


class TwoArgumentsError(Exception):
    def __init__(self, one: object, two: object) -> None:
        super().__init__(one, two)


@pytest.mark.parametrize("kind", [ValueError, KeyError])
def test_exceptions_of_other_threads_are_raised_with_their_traceback(kind: type[Exception]) -> None:
    try:
        raise kind("lost")
    except kind:
        wrapped = utils.ExceptionWrapper(where="in replica 1")
    with pytest.raises(kind) as caught:
        wrapped.reraise()
    text = str(caught.value)
    assert text.startswith(f"Caught {kind.__name__} in replica 1.\nOriginal Traceback")
    assert 'raise kind("lost")\n' in text


def test_exceptions_that_need_more_than_a_message_become_runtime_errors() -> None:
    error = TwoArgumentsError(1, 2)
    wrapped = utils.ExceptionWrapper((TwoArgumentsError, error, None))
    with pytest.raises(RuntimeError, match="Caught TwoArgumentsError in background"):
        wrapped.reraise()
    with pytest.raises(TypeError, match="no exception is being handled"):
        utils.ExceptionWrapper()


def test_names_with_dots_are_imported() -> None:
    assert utils._import_dotted_name("numpy.linalg.svd") is np.linalg.svd
    assert utils._import_dotted_name("math").pi == tt.pi


def test_a_property_of_a_class_is_computed_from_the_class() -> None:
    class Base:
        @utils.classproperty
        def title(cls) -> str:  # noqa: N805  # as of a class method
            return cls.__name__

        answer = utils.classproperty(staticmethod(lambda: 42))

    class Derived(Base):
        pass

    assert (Base.title, Derived.title, Derived().title, Base.answer) == ("Base", "Derived", "Derived", 42)
