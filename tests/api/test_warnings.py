"""The warnings of PyTorch: the same calls warn here, with the same category, at the line of the program."""

from __future__ import annotations

import copy
import importlib
import math
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tt

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

CASES: dict[str, Callable[[Any], Any]] = {}
"""Calls that warn, by what they are about."""
QUIET: dict[str, Callable[[Any], Any]] = {}
"""Their siblings that do not."""


def warning(call: Callable[[Any], Any]) -> Callable[[Any], Any]:
    CASES[call.__name__] = call
    return call


def quiet(call: Callable[[Any], Any]) -> Callable[[Any], Any]:
    QUIET[call.__name__] = call
    return call


def caught(call: Callable[[Any], Any], lib: Any) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call(lib)
    return found


@pytest.fixture(autouse=True)
def _every_time() -> Any:
    """Let PyTorch repeat what it says once in a process."""
    switch = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(switch)


def parameter(lib: Any) -> Any:
    return lib.ones(2, requires_grad=True)


# --- gradients -------------------------------------------------------------------------------------------------


@warning
def backward_that_is_recorded(lib):
    x = parameter(lib)
    (x * x).sum().backward(create_graph=True)


@warning
def function_backward_that_is_recorded(lib):
    x = parameter(lib)
    lib.autograd.backward((x * x).sum(), create_graph=True, inputs=[x])


@quiet
def grad_that_is_recorded(lib):
    x = parameter(lib)
    lib.autograd.grad((x * x).sum(), x, create_graph=True)


@warning
def grad_of_not_only_inputs(lib):
    x = parameter(lib)
    assert lib.autograd.grad((x * x).sum(), x, only_inputs=False)[0].tolist() == [2.0, 2.0]


@warning
def backward_with_grad_variables(lib):
    x = parameter(lib)
    lib.autograd.backward((x * x).sum(), grad_variables=lib.tensor(2.0))
    assert x.grad.tolist() == [4.0, 4.0]


@warning
def variable_that_is_volatile(lib):
    lib.autograd.Variable(lib.ones(2), volatile=True)


@warning
def checkpoint_without_its_form(lib):
    lib.utils.checkpoint.checkpoint(lambda x: x * 2, parameter(lib))


@warning
def checkpoint_sequential_without_its_form(lib):
    lib.utils.checkpoint.checkpoint_sequential([lib.sin, lib.cos], 2, parameter(lib))


@quiet
def checkpoints_with_their_form(lib):
    lib.utils.checkpoint.checkpoint(lambda x: x * 2, lib.ones(2), use_reentrant=False)
    lib.utils.checkpoint.checkpoint_sequential([lib.sin], 1, parameter(lib), use_reentrant=False)


# --- numbers and arrays ----------------------------------------------------------------------------------------


@warning
def float_of_a_tensor_with_gradient(lib):
    float(lib.ones((), requires_grad=True))


@warning
def complex_of_a_tensor_with_gradient(lib):
    complex(lib.ones((), requires_grad=True))


@warning
def square_root_of_a_tensor_with_gradient(lib):
    math.sqrt(lib.ones((), requires_grad=True))


@warning
def list_of_tensors_with_gradient(lib):
    lib.tensor([1.0, lib.ones((), requires_grad=True)])


@quiet
def numbers_of_tensors_with_gradient(lib):
    x = lib.ones((), requires_grad=True)
    int(x), bool(x), x.item(), x.tolist(), f"{x:.2f}", float(x.detach())
    lib.zeros(2)[0] = x
    with lib.no_grad():
        float(x), lib.tensor([x])


@warning
def tensor_of_a_list_of_arrays(lib):
    lib.tensor([np.zeros(2), np.ones(2)])


@warning
def as_tensor_of_a_list_of_arrays(lib):
    lib.as_tensor((np.zeros(2), np.ones(2)))


@warning
def asarray_of_nested_arrays(lib):
    lib.asarray([[np.zeros(2)]])


@warning
def tensor_of_lists_and_arrays(lib):
    lib.tensor([[1, 2], np.zeros(2)])


@warning
def new_tensor_of_a_list_of_arrays(lib):
    lib.zeros(2).new_tensor([np.zeros(2)])


@warning
def constructor_of_a_list_of_arrays(lib):
    lib.FloatTensor([np.zeros(2)])


@warning
def index_of_arrays(lib):
    lib.ones(2, 2)[([np.array([0, 1])],)]


@quiet
def arrays_and_numbers(lib):
    lib.tensor(np.zeros(2)), lib.tensor([np.float32(1), 2.0]), lib.tensor([lib.tensor(1.0)])
    lib.utils.data.default_collate([np.zeros(2), np.zeros(2)])


@warning
def array_of_complex_numbers_as_real(lib):
    lib.tensor(np.ones(2, np.complex128), dtype=lib.float32)


@warning
def asarray_of_a_tensor_with_gradient(lib):
    lib.asarray(lib.ones(2, requires_grad=True))


@quiet
def asarray_that_says_so(lib):
    lib.asarray(lib.ones(2, requires_grad=True), requires_grad=False)
    lib.asarray(lib.ones(2, requires_grad=True), requires_grad=True), lib.asarray(lib.ones(2))


# --- hooks in pickles ------------------------------------------------------------------------------------------


def _hook(grad):
    return grad


@warning
def pickle_of_a_tensor_with_a_hook(lib):
    x = parameter(lib)
    x.register_hook(_hook)
    pickle.dumps(x)


@quiet
def pickles_without_hooks_to_lose(lib):
    x, p = parameter(lib), lib.nn.Parameter(lib.ones(2))
    x.register_hook(lib.utils.hooks.unserializable_hook(lambda grad: grad))
    x.register_post_accumulate_grad_hook(lambda _: None)
    p.register_hook(_hook)
    pickle.dumps((x, p)), copy.deepcopy(x)
    handle = x.register_hook(_hook)
    handle.remove()
    pickle.dumps(x)


# --- operators -------------------------------------------------------------------------------------------------


@warning
def cross_without_dim(lib):
    lib.cross(lib.ones(2, 3), lib.ones(2, 3))


@warning
def cross_method_without_dim(lib):
    lib.ones(3).cross(lib.ones(3))


@quiet
def cross_with_dim(lib):
    lib.cross(lib.ones(2, 3), lib.ones(2, 3), dim=1), lib.linalg.cross(lib.ones(2, 3), lib.ones(2, 3))


@warning
def older_qr(lib):
    lib.qr(lib.eye(2))


@warning
def older_cholesky(lib):
    lib.eye(2).cholesky()


@warning
def older_cholesky_of_the_upper_triangle(lib):
    lib.cholesky(lib.eye(2), upper=True)


@warning
def older_triangular_solve(lib):
    lib.triangular_solve(lib.ones(2, 1), lib.eye(2))


@warning
def older_chain_of_products(lib):
    lib.chain_matmul(lib.eye(2), lib.eye(2))


@warning
def older_frobenius_norm(lib):
    lib.frobenius_norm(lib.eye(2), dim=(0, 1))


@warning
def older_nuclear_norm(lib):
    lib.nuclear_norm(lib.eye(2))


@quiet
def newer_linear_algebra(lib):
    x = lib.eye(2)
    lib.linalg.qr(x), lib.linalg.cholesky(x), lib.linalg.multi_dot([x, x]), lib.norm(x), lib.svd(x)
    lib.linalg.solve_triangular(x, x, upper=True), lib.cholesky_solve(x, x), lib.ger(x[0], x[0])


@warning
def stft_without_a_window(lib):
    lib.stft(lib.ones(64), 16, return_complex=True)


@warning
def istft_without_a_window(lib):
    lib.istft(lib.stft(lib.ones(64), 16, window=lib.ones(16), return_complex=True), 16)


@quiet
def stft_with_a_window(lib):
    window = lib.ones(16)
    lib.istft(lib.stft(lib.ones(64), 16, window=window, return_complex=True), 16, window=window)


@warning
def scatter_of_a_tensor_with_reduce(lib):
    lib.zeros(3).scatter(0, lib.tensor([0]), lib.ones(1), reduce="add")


@warning
def scatter_in_place_of_a_tensor_with_reduce(lib):
    lib.zeros(3).scatter_(0, lib.tensor([0]), lib.ones(1), reduce="multiply")


@quiet
def scatter_of_a_number_with_reduce(lib):
    lib.zeros(3).scatter(0, lib.tensor([0]), 2.0, reduce="add")
    lib.zeros(3).scatter_reduce(0, lib.tensor([0]), lib.ones(1), "sum")


@warning
def searchsorted_in_a_strided_sequence(lib):
    lib.searchsorted(lib.arange(8.0)[::2], lib.ones(3))


@warning
def searchsorted_of_strided_values(lib):
    lib.searchsorted(lib.arange(4.0), lib.ones(8)[::2])


@warning
def bucketize_with_strided_boundaries(lib):
    lib.bucketize(lib.ones(3), lib.arange(8.0)[::2])


@quiet
def searchsorted_of_rows(lib):
    lib.searchsorted(lib.arange(4.0), lib.ones(3), sorter=lib.arange(8)[::2] // 2)
    lib.searchsorted(lib.arange(4.0), 2), lib.isin(lib.arange(8)[::2], lib.arange(8)[::2])


@warning
def where_of_bytes(lib):
    found = lib.where(lib.tensor([2, 0], dtype=lib.uint8), lib.tensor([1.0, 2.0]), 0.0)
    assert found.tolist() == [1.0, 0.0]


@warning
def where_method_of_bytes(lib):
    x = lib.ones(2, requires_grad=True)
    found = x.where(lib.tensor([1, 0], dtype=lib.uint8), lib.zeros(2))
    found.sum().backward()
    assert found.tolist() == x.grad.tolist() == [1.0, 0.0]


@warning
def index_put_at_bytes(lib):
    lib.ones(2).index_put((lib.ones(2, dtype=lib.uint8),), lib.ones(2))


@quiet
def where_of_bools(lib):
    lib.where(lib.tensor([True, False]), 1, 0), lib.where(lib.ones(2, dtype=lib.uint8))


@warning
def same_padding_of_even_kernels(lib):
    lib.nn.functional.conv1d(lib.ones(1, 1, 5), lib.ones(1, 1, 2), padding="same")


@warning
def same_padding_of_a_module(lib):
    lib.nn.Conv2d(1, 1, (3, 4), padding="same")(lib.ones(1, 1, 5, 5))


@quiet
def same_padding_of_odd_kernels(lib):
    lib.nn.functional.conv1d(lib.ones(1, 1, 5), lib.ones(1, 1, 3), padding="same")
    lib.nn.functional.conv1d(lib.ones(1, 1, 5), lib.ones(1, 1, 2), padding="same", dilation=2)


@warning
def random_integers_that_half_precision_lacks(lib):
    lib.zeros(2, dtype=lib.float16).random_(0, 2050)


@warning
def random_integers_below_those_of_half_precision(lib):
    lib.zeros(2, dtype=lib.bfloat16).random_(-300, 0)


@warning
def random_integers_that_single_precision_lacks(lib):
    lib.zeros(2).random_(2**24 + 2)


@warning
def randint_that_half_precision_lacks(lib):
    lib.randint(0, 300, (2,), dtype=lib.bfloat16)


@warning
def randint_that_single_precision_lacks(lib):
    lib.randint(0, 2**30, (2,), dtype=lib.float32)


@warning
def randint_that_double_precision_lacks(lib):
    lib.randint_like(lib.zeros(2, dtype=lib.float64), -(2**53) - 2, 0)


@quiet
def random_integers_that_a_dtype_has(lib):
    (
        lib.zeros(2, dtype=lib.float16).random_(-2048, 2049),
        lib.zeros(2).random_(),
        lib.zeros(2).random_(2**24 + 1),
    )
    lib.randint(-(2**24), 2**24 + 1, (2,), dtype=lib.float32), lib.randint(0, 2**60, (2,))
    lib.randint(0, 257, (2,), dtype=lib.bfloat16)


# --- modules ---------------------------------------------------------------------------------------------------


@warning
def module_that_becomes_complex(lib):
    lib.nn.Linear(2, 2).to(lib.complex64)


@quiet
def modules_that_change_their_dtype(lib):
    lib.nn.Linear(2, 2).type(lib.complex64), lib.nn.Linear(2, 2).to(lib.float64)


@warning
def masks_of_two_dtypes(lib):
    q = lib.ones(3, 1, 4)
    padding = lib.zeros(1, 3, dtype=lib.bool)
    lib.nn.MultiheadAttention(4, 2)(q, q, q, key_padding_mask=padding, attn_mask=lib.zeros(3, 3))


@warning
def masks_of_two_dtypes_of_an_encoder_layer(lib):
    padding = lib.zeros(1, 3, dtype=lib.bool)
    layer = lib.nn.TransformerEncoderLayer(4, 2, 8)
    layer(lib.ones(3, 1, 4), src_mask=lib.zeros(3, 3), src_key_padding_mask=padding)


@quiet
def masks_of_one_dtype(lib):
    q = lib.ones(3, 1, 4)
    attention = lib.nn.MultiheadAttention(4, 2)
    attention(q, q, q, key_padding_mask=lib.zeros(1, 3), attn_mask=lib.zeros(3, 3))
    attention(q, q, q, key_padding_mask=lib.zeros(1, 3, dtype=lib.bool))


@warning
def zero_grad_of_a_replica(lib):
    lib.nn.Linear(2, 2)._replicate_for_data_parallel().zero_grad()


@warning
def functional_call_at_its_older_place(lib):
    lib.nn.utils.stateless.functional_call(lib.nn.Linear(2, 2), {}, (lib.ones(1, 2),))


@quiet
def functional_call_at_its_place(lib):
    lib.func.functional_call(lib.nn.Linear(2, 2), {}, (lib.ones(1, 2),))


@warning
def logarithms_of_flex_attention(lib):
    q = lib.ones(1, 1, 4, 4)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "flex_attention called without")  # PyTorch's is not compiled
        flex = importlib.import_module(f"{lib.__name__}.nn.attention.flex_attention")
        getattr(flex, "_WARNINGS_SHOWN", set()).clear()
        flex.flex_attention(q, q, q, return_lse=True)


@warning
def compiled_block_mask(lib):
    flex = importlib.import_module(f"{lib.__name__}.nn.attention.flex_attention")
    flex.create_block_mask(lambda b, h, q, k: q >= k, 1, 1, 4, 4, device="cpu", _compile=True)


@warning
def plateau_at_an_epoch(lib):
    optimizer = lib.optim.SGD([parameter(lib)], lr=0.1)
    lib.optim.lr_scheduler.ReduceLROnPlateau(optimizer).step(1.0, epoch=3)


@quiet
def plateau(lib):
    optimizer = lib.optim.SGD([parameter(lib)], lr=0.1)
    lib.optim.lr_scheduler.ReduceLROnPlateau(optimizer).step(1.0)


# --- former names and forms ------------------------------------------------------------------------------------


@warning
def autocast_of_cuda(lib):
    lib.cuda.amp.autocast(enabled=False)


@warning
def gradient_scaler_of_cuda(lib):
    lib.cuda.amp.GradScaler(enabled=False)


@warning
def gradient_scaler_of_the_cpu(lib):
    lib.cpu.amp.GradScaler(enabled=False)


@warning
def autocast_of_the_cpu(lib):
    lib.cpu.amp.autocast(enabled=False)


@warning
def forward_and_backward_in_autocast_of_cuda(lib):
    lib.cuda.amp.custom_fwd(lambda ctx, x: x), lib.cuda.amp.custom_bwd(lambda ctx, x: x)


@quiet
def mixed_precision(lib):
    lib.amp.autocast("cuda", enabled=False), lib.amp.GradScaler("cuda", enabled=False)
    lib.amp.custom_fwd(lambda ctx, x: x, device_type="cpu")


@warning
def default_tensor_type(lib):
    lib.set_default_tensor_type(lib.FloatTensor)


@warning
def class_that_is_decorated(lib):
    @lib.no_grad()
    class Model:
        pass


@warning
def modules_of_a_counter(lib):
    flop_counter = importlib.import_module(f"{lib.__name__}.utils.flop_counter")
    flop_counter.FlopCounterMode(lib.nn.Linear(2, 2), display=False)


@warning
def named_tuples_of_data_parallel(lib):
    lib.nn.parallel.scatter_gather.is_namedtuple((1, 2))


@warning
def older_context_of_processes(lib):
    lib.multiprocessing.SpawnContext([], [])


@warning
def kernels_of_attention_by_their_older_switch(lib):
    with lib.backends.cuda.sdp_kernel(enable_flash=False):
        assert not lib.backends.cuda.flash_sdp_enabled()
    assert lib.backends.cuda.flash_sdp_enabled()


@quiet
def kernels_of_attention(lib):
    with lib.nn.attention.sdpa_kernel(lib.nn.attention.SDPBackend.MATH):
        assert not lib.backends.cuda.flash_sdp_enabled()
    assert lib.backends.cuda.flash_sdp_enabled()


@warning
def storages_that_a_function_marks(lib):
    class Double(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_shared_storage((x, x))
            return x * 2

    Double.apply(parameter(lib))


@warning
def sizes_of_a_dataset_by_their_former_name(lib):
    assert lib.utils.data.ConcatDataset([[1], [2, 3]]).cummulative_sizes == [1, 3]


@warning
def former_facts_of_the_installation(lib):
    lib.has_cuda, lib.has_cudnn, lib.has_mkldnn, lib.has_mps  # noqa: B018


@quiet
def facts_of_the_installation(lib):
    lib.has_lapack, lib.has_mkl, lib.has_openmp, lib.has_spectral  # noqa: B018


@warning
def former_permutation_of_batches(lib):
    lib.nn.modules.rnn.apply_permutation(lib.ones(2, 2), lib.tensor([1, 0]))


# --- groups of ranks -------------------------------------------------------------------------------------------

COLLECTIVES = {
    "all_gather_into_tensor": lambda dist: dist.all_gather_into_tensor(tt.zeros(2), tt.ones(2)),
    "reduce_scatter_tensor": lambda dist: dist.reduce_scatter_tensor(tt.zeros(2), tt.ones(2)),
    "all_reduce_coalesced": lambda dist: dist.all_reduce_coalesced([tt.ones(2)]),
    "all_gather_coalesced": lambda dist: dist.all_gather_coalesced([[tt.zeros(2)]], [tt.ones(2)]),
}
"""Deprecated ones; PyTorch's are marked as such, which needs no group of its own to be seen."""


@pytest.mark.parametrize("name", COLLECTIVES)
def test_former_names_of_collectives_warn(name: str) -> None:
    assert getattr(torch.distributed, name).__deprecated__

    def program() -> list[Any]:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            COLLECTIVES[name](tt.distributed)
        return [(w.category, w.filename) for w in found]

    assert tt.distributed.run_threads(program, 1) == [[(FutureWarning, __file__)]]


def test_an_argument_of_data_parallel_training_without_effect_warns() -> None:
    def program() -> list[Any]:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            tt.nn.parallel.DistributedDataParallel(tt.nn.Linear(2, 2), check_reduction=True)
        return [(w.category, w.filename) for w in found]

    assert tt.distributed.run_threads(program, 1) == [[(FutureWarning, __file__)]]


# --- distributions and masks -----------------------------------------------------------------------------------


@warning
def wishart_of_few_degrees_of_freedom(lib):
    lib.distributions.Wishart(lib.tensor(1.5), lib.eye(2))


@warning
def masked_tensor_of_data_with_gradient(lib):
    lib.masked.masked_tensor(parameter(lib), lib.tensor([True, False]))


@quiet
def wishart(lib):
    (
        lib.distributions.Wishart(lib.tensor(2.0), lib.eye(2)),
        lib.distributions.Wishart(lib.tensor(3.0), lib.eye(2)),
    )


# --- other backends --------------------------------------------------------------------------------------------


def test_complex_numbers_that_become_real_ones_warn_on_arrays_of_the_standard() -> None:
    backend = importlib.import_module("tt.backends.array_api.backend")
    made = backend.ArrayApiBackend(pytest.importorskip("array_api_strict"), "strict")
    value = made.xp.ones((2,), dtype=made.xp.complex64)
    with pytest.warns(UserWarning, match="imaginary parts are lost"):
        assert made.cast(value, made.xp.float32).dtype == made.xp.float32
    assert caught(lambda _: made.cast(value, made.xp.complex128), None) == []


# --- the tests -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_calls_warn_as_in_torch(name: str) -> None:
    found = caught(CASES[name], tt)
    assert {w.category for w in found} == {w.category for w in caught(CASES[name], torch)} != set()
    assert all(w.filename == __file__ for w in found), "the line of the program"


@pytest.mark.parametrize("name", QUIET)
def test_their_siblings_do_not(name: str) -> None:
    assert [str(w.message) for w in caught(QUIET[name], tt)] == []
    assert [str(w.message) for w in caught(QUIET[name], torch)] == []
