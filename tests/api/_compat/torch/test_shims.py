"""Private modules of PyTorch: what they answer, with and without the facade."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tt
from tt._compat.no_device import names_of
from tt._compat.settings import patch_of
from tt._compat.torch import _C, _dynamo, _prims_common, _tensor_str, onnx
from tt._compat.torch._C import _functorch, _nn
from tt._compat.torch._dynamo import config
from tt._compat.torch._functorch import vmap as parts
from tt._compat.torch._guards import active_fake_mode
from tt._compat.torch._subclasses import FakeTensor, FakeTensorMode
from tt._compat.torch._tensor import _rebuild_from_type_v2
from tt.errors import UnsupportedError


def run(program: str) -> str:
    """Run a program under the facade; return what it printed."""
    command = [
        sys.executable,
        "-W",
        "error::DeprecationWarning",
        "-c",
        f"import tt.as_torch as a; a.install()\n{program}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_libraries_import_is_there_and_what_they_ask_for_first_is_not():
    printed = run(
        """
import importlib.util
import torch
import torch._C, torch._dynamo, torch._inductor, torch.fx, torch.export, torch.onnx, torch.ao.quantization
import torch.distributed.tensor.parallel, torch.distributed.rpc, torch.distributed._composable.fsdp
import torch.utils.data.datapipes, torch.cuda.amp.common, torch.profiler, functorch, torchgen
from torch.fx.experimental.symbolic_shapes import guard_or_false
from torch.distributed.tensor import DTensor, Replicate
from torch.distributed.fsdp.api import StateDictType
from torch.jit.annotations import BroadcastingList2, List
from torch.nn.modules.module import _EXTRA_STATE_KEY_SUFFIX, _global_forward_hooks
from torch.hub import HASH_REGEX, _get_torch_home, tqdm
from torch.utils.model_zoo import load_url, tqdm
assert torch.torch is torch and torch.torch.Tensor is torch.Tensor
# As attributes, too, without an import of their own.
assert torch.distributed.distributed_c10d._get_default_group and torch.fx.node.Node
assert torch.distributed.tensor.DTensor is DTensor and torch.distributed.constants.default_pg_timeout
assert functorch.vmap is torch.vmap and torch.distributed.fsdp.StateDictType is StateDictType
for name in ("torch._inductor.codecache", "torch._meta_registrations", "torch.nonsense", "functorch.dim"):
    try:
        assert importlib.util.find_spec(name) is None, name
    except ModuleNotFoundError:
        pass
absent = [(torch.fx, "nonsense"), (torch.backends.cuda, "SDPAParams"), (torch, "uint4"), (torch._C, "_cuda_init")]
for owner, name in absent:
    assert not hasattr(owner, name), name
assert not isinstance(torch.ones(1), (DTensor, torch.fx.Proxy, torch.ScriptModule, torch._dynamo.OptimizedModule))
assert guard_or_false(3 > 2) is True and not torch._dynamo.is_compiling() and not torch.onnx.is_in_onnx_export()
assert not torch.xpu.is_available() and torch.mps.device_count() == 0 and torch.mtia.empty_cache() is None
assert torch._C._get_tracing_state() is None and not torch.distributed.rpc.is_available()
for call in (lambda: torch.onnx.export(None, None, "x"),
             lambda: torch.export.export(None, ()), lambda: DTensor(),
             lambda: torch.profiler.profile(), lambda: torch.xpu.get_device_name(0)):
    try:
        call()
    except NotImplementedError as error:
        print(str(error).partition("\\n")[0])
"""
    )
    assert printed.splitlines() == [
        "torch.onnx.export(): tt does not write ONNX files yet",
        "torch.export.export(): tt does not export programs yet",
        "torch.distributed.tensor.DTensor(): tt has no sharded tensors (DTensor) yet",
        "profiler.profile(): a profiler is not built yet",
        "torch.xpu.get_device_name(): no backend of tt serves an Intel GPU",
    ]


def test_a_process_without_the_facade_has_none_of_the_absent_names():
    program = "import tt, sys; print(hasattr(tt.distributed, 'rpc'), any('_compat.absent' in m for m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_sets_of_keys_and_the_guard_that_turns_autocast_off():
    key, keys = _C.DispatchKey, _C.DispatchKeySet
    autocast = keys(key.AutocastCPU) | keys(key.AutocastCUDA)
    assert autocast.has(key.AutocastCUDA)
    assert autocast - keys(key.AutocastCUDA) == keys(key.AutocastCPU)
    assert autocast & keys(key.CPU) == keys()
    a = tt.ones(2, 2)
    with tt.autocast("cpu", dtype=tt.bfloat16):
        assert (a @ a).dtype == tt.bfloat16
        with _C._ExcludeDispatchKeyGuard(autocast):
            assert (a @ a).dtype == tt.float32
        assert (a @ a).dtype == tt.bfloat16
    with pytest.raises(UnsupportedError, match="Autograd"):
        _C._ExcludeDispatchKeyGuard(keys(key.Autograd))


def test_questions_about_the_state_of_the_process():
    assert not _C._are_functorch_transforms_active()
    assert tt.func.vmap(lambda x: x * _C._are_functorch_transforms_active())(tt.ones(2)).tolist() == [1, 1]
    assert not _C._is_torch_function_mode_enabled()
    with tt.overrides.BaseTorchFunctionMode():
        assert _C._is_torch_function_mode_enabled()
    x = tt.ones(4)
    assert _C._is_alias_of(x, x[1:])
    assert not _C._is_alias_of(x, x.clone())
    assert _C._jit_set_profiling_mode(True) is False


def test_batched_tensors_are_seen_and_their_dims_hidden_and_shown():
    seen = []

    def look(x):
        seen.append(
            (_functorch.is_batchedtensor(x), _functorch.maybe_get_bdim(x), _functorch.maybe_get_level(x))
        )
        outer = _functorch.get_unwrapped(x)
        seen.append(tuple(outer.shape))
        again = _functorch._add_batch_dim(tt.arange(6.0).reshape(2, 3), 0, 1)
        assert tuple(_functorch._remove_batch_dim(again + x, 1, 2, 1).shape) == (3, 2)
        return x

    tt.func.vmap(look)(tt.ones(2, 3))
    assert seen == [(True, 0, 1), (2, 3)]
    assert not _functorch.is_batchedtensor(tt.ones(1))
    with pytest.raises(ValueError, match="there is no level 1"):
        _functorch._add_batch_dim(tt.ones(1), 0, 1)


def test_the_parts_of_vmap_check_and_split_its_arguments():
    size, dims, flat, spec = parts._process_batched_inputs((0, None), (tt.ones(2, 3), 5), abs)
    assert (size, dims, flat[1]) == (2, [0, None], 5)
    assert spec.num_leaves == 2
    for in_dims, args, message in (
        (0, (), "no inputs"),
        ((0, 0), (tt.ones(2), tt.ones(3)), "sizes differ"),
        ((2,), (tt.ones(2),), "1 dimensions"),
        ((0,), (5,), "for an input of"),
        ((None,), (tt.ones(1),), "no input is mapped over"),
    ):
        with pytest.raises(ValueError, match=message):
            parts._process_batched_inputs(in_dims, args, abs)


def test_fake_tensors_are_tested_for_by_their_class():
    mode = FakeTensorMode()
    fake = mode.from_tensor(tt.ones(2, 3))
    assert isinstance(fake, FakeTensor)
    assert not isinstance(tt.ones(1), FakeTensor)
    assert mode.from_tensor(tt.ones(1)).shape == (1,)
    assert active_fake_mode() is None
    with mode:
        assert active_fake_mode() is mode
    with pytest.raises(UnsupportedError, match="made by a mode"):
        FakeTensor()
    with pytest.raises(UnsupportedError, match="shape_env"):
        FakeTensorMode(shape_env=object())


def test_settings_of_a_compiler_can_be_set_for_a_block():
    before = config.cache_size_limit
    with config.patch(cache_size_limit=99, something_new=1):
        assert (config.cache_size_limit, config.something_new) == (99, 1)
    assert config.cache_size_limit == before
    assert not hasattr(config, "something_new")
    with pytest.raises(TypeError, match="takes settings by name"), patch_of(config.__name__)(3):
        pass


def test_nothing_is_compiled():
    assert not _dynamo.is_compiling()
    assert _dynamo.allow_in_graph(abs) is abs
    assert _dynamo.substitute_in_graph(abs)(len) is len
    assert _dynamo.mark_dynamic(tt.ones(1), 0) is None
    with pytest.raises(UnsupportedError, match="no compiler yet"):
        _dynamo.OptimizedModule(tt.nn.Linear(1, 1))


def test_arguments_of_to_are_parsed():
    assert _nn._parse_to("cpu", tt.float64, True)[:3] == (tt.device("cpu"), tt.float64, True)
    assert _nn._parse_to(tt.ones(1, dtype=tt.float16))[1] == tt.float16
    assert _nn.gelu is tt.nn.functional.gelu


def test_a_tensor_is_written_in_parts():
    x = tt.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert _tensor_str._str(x) == repr(x)
    assert _tensor_str._tensor_str(x, 7) == "[[1., 2.],\n        [3., 4.]]"
    assert (
        _tensor_str._add_suffixes("tensor([1.]", ["requires_grad=True"], 7, False)
        == "tensor([1.], requires_grad=True)"
    )
    assert _tensor_str.PRINT_OPTS.precision == 4
    with pytest.raises(AttributeError, match="no print option"):
        _tensor_str.PRINT_OPTS.nonsense  # noqa: B018 - the look is what raises


def test_a_subclass_is_made_anew_with_its_attributes():
    class Mine(tt.Tensor):
        pass

    mine = _rebuild_from_type_v2(tt.ones, Mine, (2,), {"note": "here"})
    assert type(mine) is Mine
    assert mine.note == "here"


def test_kinds_of_dtypes():
    assert [_prims_common.is_integer_dtype(d) for d in (tt.int8, tt.bool, tt.float32)] == [True, False, False]
    assert _prims_common.is_contiguous_or_false(tt.ones(2, 3))
    assert not _prims_common.is_contiguous_or_false(tt.ones(2, 3).T)


def test_the_kinds_of_files_and_decorators_of_onnx():
    assert onnx.TensorProtoDataType.FLOAT == 1
    assert onnx.OperatorExportTypes.ONNX.name == "ONNX"
    assert not onnx.is_in_onnx_export()
    from tt._compat.torch.onnx.operators import reshape_from_tensor_shape, shape_as_tensor
    from tt._compat.torch.onnx.symbolic_helper import parse_args

    assert reshape_from_tensor_shape(tt.ones(6), shape_as_tensor(tt.ones(2, 3))).shape == (2, 3)
    assert parse_args("v", "i")(abs) is abs


def test_a_device_that_is_not_there_says_so():
    hpu = names_of("torch.hpu", "an accelerator of Habana")
    assert (hpu["is_available"](), hpu["device_count"](), hpu["manual_seed"](1)) == (False, 0, None)
    with pytest.raises(UnsupportedError, match=r"torch\.hpu\.current_device\(\): no backend"):
        hpu["current_device"]()
