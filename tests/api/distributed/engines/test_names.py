from __future__ import annotations

import logging

import pytest

import tt.distributed as dist
from tests.api.distributed.programs import Bare
from tt.distributed.engines import names
from tt.distributed.engines.threads import Threads


def test_engines_are_found_by_their_names_in_any_case():
    assert names.engine_class("Threads") is Threads
    assert names.engine_class("bare") is Bare and dist.is_backend_available("BARE")


def test_an_unknown_engine_names_those_that_there_are():
    with pytest.raises(ValueError, match=r"Unknown backend 'other'; there are .*gloo, mpi, nccl, threads"):
        names.engine_class("other")


@pytest.mark.parametrize("name", ["mpi", "nccl"])
def test_an_engine_that_is_not_installed_says_what_to_install(name, monkeypatch):
    monkeypatch.setattr(names, "is_installed", lambda name: False)
    with pytest.raises(RuntimeError, match=f"the engine '{name}' is not installed\n  try: pip install "):
        names.engine_class(name)


def test_engines_of_other_packages_are_entry_points(monkeypatch):
    class Point:
        name = "acme"

        def load(self):
            return Bare

    monkeypatch.setattr(names, "_of_packages", lambda: {"acme": Point()})
    assert names.is_installed("acme") and names.engine_class("acme") is Bare
    assert names.by_device("acme") == {"cpu": "acme"}


def test_a_name_is_taken_once():
    for name in ("bare", "threads", "gloo"):
        with pytest.raises(RuntimeError, match="already"):
            dist.Backend.register_backend(name, Bare)


def test_engines_by_device():
    assert names.by_device("threads") == {"cpu": "threads", "cuda": "threads"}
    assert names.by_device("cpu:bare, cuda:Threads") == {"cpu": "bare", "cuda": "threads"}


@pytest.mark.parametrize(("there", "name"), [({"mpi", "gloo"}, "mpi"), ({"gloo"}, "gloo")])
@pytest.mark.parametrize("backend", [None, "undefined"])
def test_without_a_name_the_cpu_gets_mpi_where_it_is_installed_and_gloo_elsewhere(
    there, name, backend, monkeypatch, caplog
):
    monkeypatch.setattr(names, "is_installed", lambda name: name in there)
    caplog.set_level(logging.INFO)
    assert names.by_device(backend) == {"cpu": name}
    assert f"no backend is named; it is cpu:{name}" in caplog.text


@pytest.mark.parametrize("text", ["cpu:", ":bare", "cpu:bare,cuda", "cpu:bare:x"])
def test_pairs_that_are_none_are_refused(text):
    with pytest.raises(ValueError, match="Invalid device:backend pairing"):
        names.by_device(text)


def test_a_device_twice_is_refused():
    with pytest.raises(ValueError, match="Duplicate device type 'cpu'"):
        names.by_device("cpu:bare,cpu:threads")


def test_names_of_pytorch():
    assert (dist.Backend.GLOO, dist.Backend.NCCL, dist.Backend.MPI) == ("gloo", "nccl", "mpi")
    assert dist.get_default_backend_for_device("cuda:1") == "nccl"
    with pytest.raises(ValueError, match="meta"):
        dist.get_default_backend_for_device("meta")
