"""The blocks and switches of autocast, and the decorators for functions with a gradient."""

from __future__ import annotations

import pickle
import threading
from typing import Any, ClassVar

import pytest

import tt

TYPES = {"cpu": "cpu", "gpu": "cuda", "ipu": "ipu", "xla": "xla"}


@pytest.fixture(autouse=True)
def unchanged() -> Any:
    before = {kind: tt.get_autocast_dtype(kind) for kind in TYPES.values()}
    yield
    for kind, dtype in before.items():
        tt.set_autocast_dtype(kind, dtype)
    tt.set_autocast_cache_enabled(True)
    assert not tt.is_autocast_enabled("cpu") and not tt.is_autocast_enabled("cuda")


def product() -> Any:
    return (tt.ones(2, 2) @ tt.ones(2, 2)).dtype


# --- blocks ------------------------------------------------------------------------------------------------------


def test_a_block_lowers_and_restores() -> None:
    with tt.autocast("cpu") as block:
        assert product() is tt.bfloat16 and block.enabled and tt.is_autocast_enabled("cpu")
        assert not tt.is_autocast_enabled()
    assert product() is tt.float32


def test_disabled_it_changes_nothing() -> None:
    with tt.autocast("cpu", dtype=tt.bfloat16, enabled=False) as block:
        assert block.enabled is False and product() is tt.float32


def test_blocks_nest_with_other_dtypes_and_disabled() -> None:
    with tt.autocast("cpu"):
        with tt.autocast("cpu", dtype=tt.float16):
            assert product() is tt.float16 and tt.get_autocast_dtype("cpu") is tt.float16
            with tt.autocast("cpu", enabled=False):
                assert product() is tt.float32 and not tt.is_autocast_enabled("cpu")
            assert product() is tt.float16
        assert product() is tt.bfloat16 and tt.get_autocast_dtype("cpu") is tt.bfloat16


def test_a_block_is_entered_again_and_inside_of_itself() -> None:
    block = tt.autocast("cpu", dtype=tt.float16)
    for _ in range(2):
        with block:
            assert product() is tt.float16
            with block:
                assert product() is tt.float16
            assert product() is tt.float16
        assert product() is tt.float32


def test_it_decorates_functions() -> None:
    @tt.autocast("cpu")
    def lowered(scale: float) -> Any:
        """Multiplies."""
        return (scale * tt.ones(1, 1) @ tt.ones(1, 1)).dtype

    assert lowered(2.0) is tt.bfloat16 and lowered.__doc__ == "Multiplies."
    with pytest.raises(TypeError, match="takes a function, not Tensor"):
        tt.autocast("cpu")(tt.ones(1))


def test_an_exception_restores() -> None:
    with pytest.raises(KeyError), tt.autocast("cpu", dtype=tt.float16):
        raise KeyError
    assert product() is tt.float32 and tt.get_autocast_dtype("cpu") is tt.bfloat16


def test_a_block_sets_dtype_cache_and_nesting_and_restores_them() -> None:
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


def test_unknown_devices_are_refused_and_those_with_autocast_are_named() -> None:
    with pytest.raises(RuntimeError, match="cpu"):
        tt.autocast("nowhere")
    with pytest.raises(RuntimeError, match="cpu"):
        tt.autocast("meta")
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        tt.autocast(3)  # type: ignore[arg-type]


def test_a_dtype_that_the_device_does_not_lower_to_warns_and_disables() -> None:
    with pytest.warns(UserWarning, match="target dtype tt.float64 is not supported"):
        block = tt.autocast("cpu", dtype=tt.float64)
    with block:
        assert product() is tt.float32


def test_without_cuda_it_warns_and_is_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tt.cuda, "is_available", lambda: False)
    with pytest.warns(UserWarning, match="CUDA is not available"):
        assert not tt.autocast("cuda").enabled


def test_where_it_is_available() -> None:
    assert tt.amp.is_autocast_available("cpu") and tt.amp.is_autocast_available("cuda")
    assert not tt.amp.is_autocast_available("meta")


# --- switches ----------------------------------------------------------------------------------------------------


def test_the_switch_of_a_thread() -> None:
    tt.set_autocast_enabled("cpu", True)
    try:
        assert product() is tt.bfloat16
        tt.set_autocast_dtype("cpu", tt.float16)
        assert product() is tt.float16
    finally:
        tt.set_autocast_enabled("cpu", False)
    assert product() is tt.float32


def test_a_bool_alone_switches_cuda() -> None:
    tt.set_autocast_enabled(True)
    assert tt.is_autocast_enabled() and tt.is_autocast_enabled("cuda")
    tt.set_autocast_enabled(False)


@pytest.mark.torch
def test_default_dtypes_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch")
    for kind in ("cpu", "cuda", "mps", "xpu", "ipu", "xla", "hpu", "mtia"):
        assert tt.get_autocast_dtype(kind).name == str(torch.get_autocast_dtype(kind)).split(".")[1], kind


@pytest.mark.parametrize(("short", "kind"), TYPES.items())
def test_the_older_functions_set_and_return_the_dtype_of_their_device(short: str, kind: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"set_autocast_dtype.'{kind}'"):
        getattr(tt, f"set_autocast_{short}_dtype")(tt.float64)
    assert tt.get_autocast_dtype(kind) is tt.float64
    with pytest.warns(DeprecationWarning, match=f"get_autocast_dtype.'{kind}'"):
        assert getattr(tt, f"get_autocast_{short}_dtype")() is tt.float64
    others = [other for other in TYPES.values() if other != kind]
    assert all(tt.get_autocast_dtype(other) is not tt.float64 for other in others)


def test_the_older_switches_are_those_of_their_device() -> None:
    with pytest.warns(DeprecationWarning, match=r"set_autocast_enabled.'cpu'"):
        tt.set_autocast_cpu_enabled(True)
    with pytest.warns(DeprecationWarning, match=r"is_autocast_enabled.'cpu'"):
        assert tt.is_autocast_cpu_enabled() is True
    with pytest.warns(DeprecationWarning):
        tt.set_autocast_cpu_enabled(False)
    for kind in ("ipu", "xla"):
        with pytest.warns(DeprecationWarning, match=f"is_autocast_enabled.'{kind}'"):
            assert getattr(tt, f"is_autocast_{kind}_enabled")() is False
        with pytest.warns(DeprecationWarning, match=f"set_autocast_enabled.'{kind}'"):
            getattr(tt, f"set_autocast_{kind}_enabled")(False)
        with pytest.warns(DeprecationWarning), pytest.raises(RuntimeError, match="autocast"):
            getattr(tt, f"set_autocast_{kind}_enabled")(True)


def test_threads_have_settings_of_their_own() -> None:
    tt.set_autocast_dtype("cpu", tt.float16)
    tt.set_autocast_cache_enabled(False)
    seen: ClassVar[list[Any]] = []
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
        lambda: tt.autocast("cpu", dtype="bfloat16"),  # type: ignore[arg-type]
        lambda: tt.set_autocast_dtype("cpu", "float16"),  # type: ignore[arg-type]
        lambda: tt.set_autocast_dtype(3, tt.float16),  # type: ignore[arg-type]
        lambda: tt.get_autocast_dtype(None),  # type: ignore[arg-type]
        lambda: tt.set_autocast_cache_enabled(1),  # type: ignore[arg-type]
        lambda: tt.set_autocast_enabled("cpu", 1),  # type: ignore[arg-type]
        lambda: tt.is_autocast_enabled(3),  # type: ignore[arg-type]
    ],
)
def test_wrong_types_are_refused(call: Any) -> None:
    with pytest.raises(TypeError):
        call()


# --- functions with a gradient of their own ----------------------------------------------------------------------


class Casting(tt.autograd.Function):
    """Multiplies in float32, whatever the caller's precision."""

    seen: ClassVar[list[Any]] = []

    @staticmethod
    @tt.amp.custom_fwd(device_type="cpu", cast_inputs=tt.float32)
    def forward(ctx: Any, x: Any, others: Any) -> Any:
        Casting.seen += [x.dtype, others["w"][0].dtype, tt.is_autocast_enabled("cpu"), others["n"].dtype]
        ctx.save_for_backward(x, others["w"][0])
        return x @ others["w"][0]

    @staticmethod
    @tt.amp.custom_bwd(device_type="cpu")
    def backward(ctx: Any, gradient: Any) -> Any:
        Casting.seen.append(tt.is_autocast_enabled("cpu"))
        _, w = ctx.saved_tensors
        return gradient @ w.t(), None


class Same(tt.autograd.Function):
    """Multiplies in the caller's precision."""

    seen: ClassVar[list[Any]] = []

    @staticmethod
    @tt.amp.custom_fwd(device_type="cpu")
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return (x @ x).float()

    @staticmethod
    @tt.amp.custom_bwd(device_type="cpu")
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        Same.seen += [(x @ x).dtype, tt.get_autocast_dtype("cpu")]
        return gradient


def test_cast_inputs_runs_the_forward_without_autocast() -> None:
    Casting.seen.clear()
    others = {"w": [tt.ones(2, 2, dtype=tt.bfloat16)], "n": tt.ones(1, dtype=tt.int64)}
    x = tt.ones(2, 2, requires_grad=True)
    with tt.autocast("cpu"):
        y = Casting.apply(x, others)
    assert y.dtype is tt.float32
    y.sum().backward()
    assert Casting.seen == [tt.float32, tt.float32, False, tt.int64, False]
    Casting.seen.clear()
    with pytest.raises(RuntimeError):  # outside of a block nothing is cast
        Casting.apply(x, others)
    assert Casting.seen == [tt.float32, tt.bfloat16, False, tt.int64]


def test_the_backward_runs_in_the_state_of_the_forward() -> None:
    x = tt.ones(2, 2, requires_grad=True)
    Same.seen.clear()
    with tt.autocast("cpu", dtype=tt.float16):
        y = Same.apply(x)
    y.sum().backward()
    with tt.autocast("cpu"):
        Same.apply(x)
    z = Same.apply(x)
    with tt.autocast("cpu"):
        z.sum().backward()
    assert Same.seen == [tt.float16, tt.float16, tt.float32, tt.bfloat16]


def test_a_backward_without_the_decorator_of_its_forward_says_so() -> None:
    class Half(tt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        @tt.amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient

    with pytest.raises(RuntimeError, match="custom_fwd"):
        Half.apply(tt.ones(1, requires_grad=True)).backward()
    with pytest.raises(ValueError, match="device_type"):
        tt.amp.custom_fwd(device_type=3)  # type: ignore[call-overload]


def test_the_older_decorators_warn_and_work() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        return x

    with pytest.warns(FutureWarning, match="device_type='cuda'"):
        assert tt.cuda.amp.custom_fwd(forward).__wrapped__ is forward
    with pytest.warns(FutureWarning, match="device_type='cuda'"):
        assert tt.cuda.amp.custom_bwd(forward).__wrapped__ is forward


def test_modules_and_their_copies_run_in_a_block() -> None:
    model = tt.nn.Sequential(tt.nn.Conv2d(1, 2, 3), tt.nn.ReLU(), tt.nn.Flatten(), tt.nn.Linear(8, 3))
    x = tt.randn(2, 1, 4, 4)
    with tt.autocast("cpu"):
        y = model(x)
        z = pickle.loads(pickle.dumps(model))(x)
    assert y.dtype is tt.bfloat16 and tt.equal(y, z)
    tt.nn.functional.cross_entropy(y.float(), tt.tensor([0, 1])).backward()
    assert all(p.grad.dtype is tt.float32 for p in model.parameters())
