"""What a thread sets for autocast, and the older functions that name a device type."""

from __future__ import annotations

import threading

import pytest

import tt
from tt.errors import UnsupportedError

TYPES = {"cpu": "cpu", "gpu": "cuda", "ipu": "ipu", "xla": "xla"}


@pytest.fixture(autouse=True)
def unchanged():
    before = {kind: tt.get_autocast_dtype(kind) for kind in TYPES.values()}
    yield
    for kind, dtype in before.items():
        tt.set_autocast_dtype(kind, dtype)
    tt.set_autocast_cache_enabled(True)


@pytest.mark.torch
def test_default_dtypes_are_those_of_torch():
    torch = pytest.importorskip("torch")
    for kind in ("cpu", "cuda", "mps", "xpu", "ipu", "xla", "hpu", "mtia"):
        assert tt.get_autocast_dtype(kind).name == str(torch.get_autocast_dtype(kind)).split(".")[1], kind


@pytest.mark.parametrize(("short", "kind"), TYPES.items())
def test_the_older_functions_set_and_return_the_dtype_of_their_device(short, kind):
    with pytest.warns(DeprecationWarning, match=f"set_autocast_dtype.'{kind}'"):
        getattr(tt, f"set_autocast_{short}_dtype")(tt.float64)
    assert tt.get_autocast_dtype(kind) is tt.float64
    with pytest.warns(DeprecationWarning, match=f"get_autocast_dtype.'{kind}'"):
        assert getattr(tt, f"get_autocast_{short}_dtype")() is tt.float64
    others = [other for other in TYPES.values() if other != kind]
    assert all(tt.get_autocast_dtype(other) is not tt.float64 for other in others)


@pytest.mark.parametrize("kind", ["cpu", "ipu", "xla"])
def test_the_older_switches_are_those_of_their_device(kind):
    with pytest.warns(DeprecationWarning, match=f"is_autocast_enabled.'{kind}'"):
        assert getattr(tt, f"is_autocast_{kind}_enabled")() is False
    with pytest.warns(DeprecationWarning, match=f"set_autocast_enabled.'{kind}'"):
        getattr(tt, f"set_autocast_{kind}_enabled")(False)
    with pytest.warns(DeprecationWarning), pytest.raises(UnsupportedError, match="mixed precision"):
        getattr(tt, f"set_autocast_{kind}_enabled")(True)


def test_a_block_sets_dtype_cache_and_nesting_and_restores_them():
    with tt.autocast("cpu", dtype=tt.float16, enabled=False, cache_enabled=False):
        assert tt.get_autocast_dtype("cpu") is tt.float16
        assert not tt.is_autocast_cache_enabled()
        with tt.autocast("cpu", enabled=False):
            assert tt.get_autocast_dtype("cpu") is tt.float16
            assert tt.autocast_increment_nesting() == 3
            assert tt.autocast_decrement_nesting() == 2
    assert tt.get_autocast_dtype("cpu") is tt.bfloat16
    assert tt.is_autocast_cache_enabled()
    assert tt.autocast_increment_nesting() == 1 and tt.autocast_decrement_nesting() == 0


def test_a_block_that_raises_restores_them():
    with pytest.raises(KeyError), tt.autocast("cpu", dtype=tt.float16, enabled=False):
        raise KeyError
    assert tt.get_autocast_dtype("cpu") is tt.bfloat16


def test_threads_have_settings_of_their_own():
    tt.set_autocast_dtype("cpu", tt.float16)
    tt.set_autocast_cache_enabled(False)
    seen = []
    thread = threading.Thread(
        target=lambda: seen.extend((tt.get_autocast_dtype("cpu"), tt.is_autocast_cache_enabled()))
    )
    thread.start()
    thread.join()
    assert seen == [tt.bfloat16, True]
    tt.clear_autocast_cache()
    assert not tt.is_autocast_cache_enabled()


@pytest.mark.parametrize(
    "call",
    [
        lambda: tt.set_autocast_dtype("cpu", "float16"),
        lambda: tt.set_autocast_dtype(3, tt.float16),
        lambda: tt.get_autocast_dtype(None),
        lambda: tt.set_autocast_cache_enabled(1),
    ],
)
def test_wrong_types_are_refused(call):
    with pytest.raises(TypeError):
        call()


def test_the_scaler_is_found_at_the_root():
    assert tt.GradScaler is tt.amp.GradScaler
