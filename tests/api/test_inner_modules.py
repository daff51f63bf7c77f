"""Modules inside of packages give the same objects as the packages, and former names warn."""

from __future__ import annotations

import importlib

import pytest

import tt


@pytest.mark.parametrize(
    ("inner", "package"),
    [
        ("accelerator.memory", "accelerator"),
        ("cuda.comm", "nn.parallel.comm"),
        ("cuda.graphs", "cuda"),
        ("cuda.random", "cuda"),
        ("cuda.streams", "cuda"),
        ("signal.windows.windows", "signal.windows"),
    ],
)
def test_a_module_inside_of_a_package_has_the_objects_of_the_package(inner, package):
    module, outer = (importlib.import_module(f"tt.{name}") for name in (inner, package))
    assert module.__all__
    for name in module.__all__:
        assert getattr(module, name) == getattr(outer, name)
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        module.nothing_of_this_name  # noqa: B018


@pytest.mark.parametrize(("level", "name"), [("avx512", "AVX512"), ("avx2", "AVX2"), ("baseline", "DEFAULT")])
def test_the_capability_of_the_processor_is_that_of_the_kernels(monkeypatch, level, name):
    from tt.backends.cpu.native import loading

    found = loading.status()._replace(level=level)
    monkeypatch.setattr(loading, "status", lambda: found)
    assert tt.backends.cpu.get_cpu_capability() == name


def test_all_names_of_the_backend_of_cpus_can_be_imported():
    names: dict[str, object] = {}
    exec("from tt.backends.cpu import *", names)
    assert names["get_cpu_capability"] is tt.backends.cpu.get_cpu_capability


def test_saved_tensors_have_a_public_class():
    y = tt.ones(2, requires_grad=True).exp()
    assert type(y.grad_fn._raw_saved_result) is tt.autograd.SavedTensor


def test_a_hook_is_marked_and_works():
    x = tt.ones(1, requires_grad=True)
    x.register_hook(tt.utils.hooks.unserializable_hook(lambda gradient: 2 * gradient))
    x.sum().backward()
    assert x.grad.tolist() == [2.0]


def test_former_names_of_indices_warn(monkeypatch):
    from tt.core.devices import accelerator

    chosen = []
    monkeypatch.setattr(accelerator, "current_device_index", lambda: 3)
    monkeypatch.setattr(accelerator, "set_device_index", chosen.append)
    with pytest.warns(FutureWarning, match="current_device_index"):
        assert tt.accelerator.current_device_idx() == 3
    with pytest.warns(FutureWarning, match="set_device_index"):
        tt.accelerator.set_device_idx(1)
    assert chosen == [1]


def test_the_former_name_of_register_fake_warns():
    with tt.library.scoped():

        @tt.library.custom_op("inner_modules::doubled", mutates_args=())
        def doubled(x: tt.Tensor) -> tt.Tensor:
            return x * 2

        with pytest.warns(FutureWarning, match="register_fake"):
            tt.library.impl_abstract("inner_modules::doubled", lambda x: tt.empty_like(x))
        assert doubled(tt.empty(3, device="meta")).shape == (3,)
