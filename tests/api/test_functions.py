"""Functions and types of `tt` that are not operators: inquiries, windows, older names, settings, control flow."""

from __future__ import annotations

import inspect
import subprocess
import sys
import threading
import typing
import warnings
from operator import attrgetter
from types import ModuleType

import pytest

import tt
from tests.processes import printed_by

# --- tests of tensors ------------------------------------------------------------------------------------------


def test_inquiries_are_those_of_the_methods():
    x, z = tt.ones(2, 3), tt.tensor([1j])
    assert tt.is_floating_point(x) and not tt.is_floating_point(z) and tt.is_complex(input=z)
    assert tt.numel(x) == 6 and tt.get_device(x) == -1 and tt.is_same_size(x, tt.zeros(2, 3))
    assert tt.is_signed(x) and tt.is_nonzero(tt.tensor([3])) and not tt.is_inference(x)
    assert not (tt.is_conj(z) or tt.is_neg(x) or tt.is_distributed(x))
    assert tt.is_storage(x.untyped_storage()) and not tt.is_storage(x)


@pytest.mark.parametrize(
    "name", ["is_complex", "is_floating_point", "is_nonzero", "numel", "get_device", "is_signed"]
)
def test_inquiries_refuse_what_is_no_tensor(name):
    with pytest.raises(TypeError, match=f"{name}.*must be Tensor, not list"):
        getattr(tt, name)([1.0])


def test_inquiries_serve_tensor_likes():
    class Like:
        @classmethod
        def __tt_function__(cls, func, types, args=(), kwargs=None):
            return 7 if func is tt.numel else NotImplemented

    assert tt.numel(Like()) == 7
    with pytest.raises(TypeError, match=r"tt\.is_complex"):
        tt.is_complex(Like())


def test_names_of_types():
    assert tt.typename(tt.ones(1)) == "tt.FloatTensor" and tt.typename("") == "str"
    assert tt.typename(tt.nn.ReLU()) == "tt.nn.modules.rectifiers.ReLU"


# --- types of tensors --------------------------------------------------------------------------------------------


def test_constructors_of_one_dtype_take_sizes_data_and_tensors():
    for name, dtype in (("FloatTensor", tt.float32), ("LongTensor", tt.int64), ("BoolTensor", tt.bool)):
        kind = getattr(tt, name)
        assert kind(2, 3).shape == (2, 3) and kind([1, 0]).dtype == dtype and kind().shape == (0,)
        assert isinstance(kind([1]), kind) and not isinstance(tt.ones(1, dtype=tt.int8), kind)
    x = tt.ones(2)
    assert tt.FloatTensor(x).data_ptr() == x.data_ptr()
    assert not isinstance(1.0, tt.FloatTensor) and issubclass(tt.FloatTensor, object)
    assert not isinstance(x, tt.cuda.FloatTensor) and tt.cuda.FloatTensor.is_cuda


def test_types_convert_and_are_named():
    x = tt.ones(2).type(tt.DoubleTensor)
    assert x.dtype == tt.float64 and x.type() == "tt.DoubleTensor" == str(tt.DoubleTensor)
    assert tt.ones(2).type("torch.LongTensor").dtype == tt.int64


@pytest.mark.parametrize(
    "call",
    [
        lambda: tt.FloatTensor(tt.arange(2)), lambda: tt.LongTensor(1.5), lambda: tt.IntTensor("a"),
        lambda: tt.set_default_tensor_type("nonsense"), lambda: tt.set_default_tensor_type(tt.IntTensor),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:tt.set_default_tensor_type")
def test_types_refuse_what_they_cannot_hold(call):
    with pytest.raises(TypeError):
        call()


def test_a_constructor_of_the_cpu_makes_nothing_elsewhere():
    with pytest.raises(RuntimeError, match="expects device type: cpu"):
        tt.FloatTensor(2, device="meta")


@pytest.mark.filterwarnings("ignore:tt.set_default_tensor_type")
def test_the_default_type_sets_dtype_and_device():
    tt.set_default_tensor_type("torch.DoubleTensor")
    try:
        assert tt.ones(1).dtype == tt.float64
    finally:
        tt.set_default_tensor_type(tt.FloatTensor)
    assert tt.ones(1).dtype == tt.float32


# --- random ------------------------------------------------------------------------------------------------------


def test_random_is_a_module_and_forks_restore_the_generators():
    tt.random.manual_seed(3)
    with tt.random.fork_rng():
        tt.manual_seed(9)
        tt.rand(2)
    inside = tt.rand(2)
    tt.random.manual_seed(3)
    assert tt.equal(inside, tt.rand(2)) and tt.random.initial_seed() == 3
    with tt.random.fork_rng(enabled=False):
        tt.manual_seed(4)
    assert tt.random.initial_seed() == 4
    with pytest.raises(TypeError), tt.random.fork_rng(device_type=3):
        pass
    with pytest.raises(ValueError, match="inside"), tt.random.fork_rng(devices=[]):
        tt.manual_seed(5)
        raise ValueError("inside")
    assert tt.random.initial_seed() == 4
    state = tt.random.get_rng_state()
    tt.random.seed()
    tt.random.set_rng_state(state)
    assert tt.random.initial_seed() == 4


# --- settings ----------------------------------------------------------------------------------------------------


def test_deterministic_algorithms_are_set_by_flag_and_by_word():
    assert not tt.are_deterministic_algorithms_enabled() and tt.get_deterministic_debug_mode() == 0
    try:
        tt.use_deterministic_algorithms(True, warn_only=True)
        assert tt.is_deterministic_algorithms_warn_only_enabled() and tt.get_deterministic_debug_mode() == 1
        tt.set_deterministic_debug_mode("error")
        assert tt.are_deterministic_algorithms_enabled() and tt.get_deterministic_debug_mode() == 2
    finally:
        tt.set_deterministic_debug_mode("default")
    assert not tt.are_deterministic_algorithms_enabled()
    for wrong, error in (("often", RuntimeError), (3, RuntimeError), (1.0, TypeError), (True, TypeError)):
        with pytest.raises(error):
            tt.set_deterministic_debug_mode(wrong)
    with pytest.raises(TypeError, match="mode"):
        tt.use_deterministic_algorithms("yes")


def test_the_precision_of_products_is_tf32_on_cuda():
    try:
        tt.set_float32_matmul_precision("medium")
        assert tt.get_float32_matmul_precision() == "medium" and tt.backends.cuda.matmul.allow_tf32
        tt.backends.cuda.matmul.allow_tf32 = False
        assert tt.get_float32_matmul_precision() == "highest"
    finally:
        tt.set_float32_matmul_precision("highest")
    with pytest.raises(RuntimeError, match="'highest', 'high', 'medium'"):
        tt.set_float32_matmul_precision("low")


def test_warnings_are_always_given_when_asked_and_as_before_after():
    with warnings.catch_warnings():
        before = list(warnings.filters)
        tt.set_warn_always(True)
        assert tt.is_warn_always_enabled() and warnings.filters[0][0] == "always"
        tt.set_warn_always(False)
        assert not tt.is_warn_always_enabled() and list(warnings.filters) == before
    with pytest.raises(TypeError):
        tt.set_warn_always(1)
    assert tt.set_flush_denormal(False) is False


def test_default_devices_are_those_of_a_thread_and_of_a_block():
    seen = []
    tt.set_default_device("meta")
    try:
        thread = threading.Thread(target=lambda: seen.append(tt.ones(1).device.type))
        thread.start()
        thread.join()
        assert tt.ones(1).device.type == "meta" and tt.FloatTensor([1]).device.type == "cpu"
    finally:
        tt.set_default_device(None)
    assert seen == ["cpu"]
    with tt.device("meta"):
        assert tt.hann_window(3).device.type == "meta"


# --- windows and older names ---------------------------------------------------------------------------------------


@pytest.mark.torch
def test_windows_are_those_of_pytorch():
    import torch

    for name in ("bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"):
        for length in (0, 1, 2, 5, 8):
            for periodic in (True, False):
                for dtype in ("float32", "float64", "float16"):
                    ours = getattr(tt, name)(length, periodic, dtype=getattr(tt, dtype))
                    theirs = getattr(torch, name)(length, periodic, dtype=getattr(torch, dtype))
                    assert str(ours.dtype) == f"tt.{dtype}"
                    tolerance = 2e-3 if dtype == "float16" else 2e-6
                    assert (tt.from_numpy(theirs.numpy()) - ours).abs().sum() <= tolerance * max(length, 1)
    ours, theirs = (m.hamming_window(6, False, 0.6, 0.3, dtype=m.float64) for m in (tt, torch))
    assert (tt.from_numpy(theirs.numpy()) - ours).abs().max() < 1e-12
    ours, theirs = (m.kaiser_window(6, True, 3.0, dtype=m.float64) for m in (tt, torch))
    assert (tt.from_numpy(theirs.numpy()) - ours).abs().max() < 1e-6


def test_windows_take_the_options_of_factories():
    window = tt.hann_window(4, dtype=tt.float64, requires_grad=True)
    assert window.requires_grad and window.is_leaf and window.dtype == tt.float64
    for wrong in (lambda: tt.hann_window(-1), lambda: tt.hann_window(2, dtype=tt.int64)):
        with pytest.raises(RuntimeError, match="hann_window"):
            wrong()
    with pytest.raises(TypeError, match="colour"):
        tt.hann_window(2, colour=1)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Sparse CS:UserWarning")
def test_older_functions_are_those_of_pytorch():
    import torch

    def both(call):
        ours, theirs = call(tt), call(torch)
        assert tt.allclose(ours.double(), tt.from_numpy(theirs.double().numpy()), atol=1e-6)

    weight = [[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]]
    both(lambda m: m.embedding_renorm_(m.tensor(weight), m.tensor([0, 1, 0]), 1.0, 2.0))
    both(lambda m: m.norm_except_dim(m.tensor(weight), 2, 1))
    both(lambda m: m.norm_except_dim(m.tensor(weight), 2, 0))
    both(lambda m: m.norm_except_dim(m.tensor(weight), 2, -1))
    x, w = [[[1.0, 2.0, 3.0, 4.0]]], [[[1.0, -1.0]]]
    both(lambda m: m.convolution(m.tensor(x), m.tensor(w), None, [2], [1], [1], False, [0], 1))
    both(lambda m: m.convolution(m.tensor(x), m.tensor(w), None, [2], [0], [1], True, [1], 1))
    both(lambda m: m.spmm(m.tensor(weight).to_sparse(), m.ones(2, 2)))
    sparse = lambda m: m.tensor(weight).to_sparse()  # noqa: E731
    both(lambda m: m.saddmm(sparse(m), sparse(m), m.ones(2, 2), alpha=2, beta=3).to_dense())
    both(lambda m: m.crow_indices_copy(m.tensor(weight).to_sparse_csr()))
    both(lambda m: m.row_indices_copy(m.tensor(weight).to_sparse_csc()))


def test_dropout_in_place_and_of_channels():
    x = tt.ones(4, 5, 6)
    tt.manual_seed(0)
    dropped = tt.feature_dropout(x, 0.5, True)
    assert set(dropped.flatten().tolist()) == {0.0, 2.0} and (dropped.std(2) == 0).all()
    assert tt.feature_dropout_(x, 1.0, True) is x and not x.any()
    y = tt.ones(100)
    assert tt.dropout_(y, 0.5, True) is y and set(y.tolist()) == {0.0, 2.0}
    with pytest.raises(RuntimeError, match="between 0 and 1"):
        tt.feature_dropout(x, 2.0, True)
    with pytest.raises(RuntimeError, match="2 dimensions"):
        tt.feature_dropout(y, 0.5, True)


# --- files and storages --------------------------------------------------------------------------------------------


def test_files_are_mapped_and_shared(tmp_path):
    path = str(tmp_path / "numbers")
    shared = tt.from_file(path, shared=True, size=3, dtype=tt.int32)
    shared.copy_(tt.tensor([1, 2, 3]))
    private = tt.from_file(path, size=2, dtype=tt.int32)
    assert shared.untyped_storage().filename == path
    with pytest.warns(UserWarning, match="TypedStorage is deprecated"):
        assert shared[1:].storage().filename == path
    assert private.untyped_storage().filename is None
    assert tt.UntypedStorage.from_file(path, True, 8).filename == path
    private[0] = 9
    assert tt.from_file(path, size=3, dtype=tt.int32).tolist() == [1, 2, 3] and private.tolist() == [9, 2]
    with pytest.raises(RuntimeError, match=r"has 12 bytes, and 4 elements of tt.int32 take 16"):
        tt.from_file(path, size=4, dtype=tt.int32)
    with pytest.raises(FileNotFoundError):
        tt.from_file(str(tmp_path / "none"), size=1)
    with pytest.raises(TypeError):
        tt.from_file(path, size=1, device="meta")


def test_storages_are_made_and_tested_for():
    memory = tt.UntypedStorage([1, 0, 0, 0])
    assert tt.zeros(0, dtype=tt.int32).set_(memory).tolist() == [1]
    assert isinstance(memory, tt.storage.UntypedStorage) and not isinstance(1, tt.UntypedStorage)
    with pytest.raises(TypeError, match="not float"):
        tt.UntypedStorage(1.5)


# --- control flow and results --------------------------------------------------------------------------------------


def test_conditions_choose_and_loops_carry():
    x = tt.tensor([2.0], requires_grad=True)
    tt.cond(x.sum() > 0, lambda v: v * v, lambda v: -v, (x,)).sum().backward()
    assert x.grad.tolist() == [4.0]
    assert (
        tt.while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, s + i), (tt.tensor(0), tt.tensor(0)))[1] == 6
    )
    for wrong in (
        lambda: tt.cond("yes", abs, abs, (1,)), lambda: tt.cond(True, 1, abs, (1,)),
        lambda: tt.cond(True, abs, abs, 1), lambda: tt.while_loop(lambda i: i < 1, lambda i: (i, i), (0,)),
    ):  # fmt: skip
        with pytest.raises(RuntimeError):
            wrong()


def test_symbolic_functions_work_on_numbers():
    assert tt.sym_int(2.7) == 2 and tt.sym_float(1) == 1.0 and tt.sym_not(False) and tt.sym_sum([1, 2]) == 3
    assert isinstance(tt.sym_max(1, 0.5), float) and tt.sym_min(1, 2) == 1 and tt.sym_sqrt(9) == 3
    with pytest.raises(TypeError):
        tt.sym_ite(True, 1, 1.0)


def test_results_have_their_classes():
    found = tt.max(tt.ones(2, 2), 0)
    assert type(found) is tt.return_types.max and tt.return_types.max_out is tt.return_types.max
    with pytest.raises(AttributeError, match="nothing_like_it"):
        tt.return_types.nothing_like_it  # noqa: B018


@pytest.mark.torch
def test_results_have_the_names_that_pytorch_has():
    import torch

    names = [n for n in dir(torch.return_types) if not n.startswith("_") and n.islower()]
    own = set(dir(tt.return_types)) | {"pytree_register_structseq", "linalg_ldl_factor_ex_out", "namedtuple"}
    assert len(names) > 60 and set(names) - own <= {
        n for n in names if not isinstance(getattr(torch.return_types, n), type)
    }


def test_the_older_comparison_warns_and_takes_other_dtypes_and_nan():
    nan = float("nan")
    with pytest.warns(FutureWarning, match="assert_close"):
        tt.testing.assert_allclose(tt.tensor([1.0, nan]), tt.tensor([1.00005, nan], dtype=tt.float64))
    with pytest.warns(FutureWarning, match="assert_close"), pytest.raises(AssertionError):
        tt.testing.assert_allclose(tt.tensor([1.0]), [1.1])
    with pytest.warns(FutureWarning, match="assert_close"), pytest.raises(AssertionError):
        tt.testing.assert_allclose([1], [2])


# --- wrong input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: tt.hann_window("a"), TypeError),
        (lambda: tt.hann_window(3.0), TypeError),
        (lambda: tt.kaiser_window(4, beta="x"), TypeError),
        (lambda: tt.hann_window(3, layout=tt.sparse_coo), NotImplementedError),
        (lambda: tt.feature_dropout_(3, 0.5, True), TypeError),
        (lambda: tt.convolution(1, 2, None, 1, 0, 1, False, 0, 1), TypeError),
        (lambda: tt.convolution(tt.ones(1, 1), tt.ones(1, 1), None, 1, 0, 1, False, 0, 1), RuntimeError),
        (lambda: tt.norm_except_dim([1.0]), TypeError),
        (lambda: tt.norm_except_dim(tt.ones(2, 2), 2, 7), IndexError),
        (lambda: tt.embedding_renorm_(tt.ones(2), tt.tensor([0]), 1.0, 2.0), RuntimeError),
        (lambda: tt.embedding_renorm_(tt.ones(2, 2), [0], 1.0, 2.0), TypeError),
        (lambda: tt.indices_copy([1]), TypeError),
        (lambda: tt.from_file(5, size=2), TypeError),
        (lambda: tt.from_file("x", size=2.5), TypeError),
        (lambda: tt.from_file("x", size=-1), ValueError),
        (lambda: tt.random.fork_rng(devices=["nonsense"]).__enter__(), ValueError),
        (lambda: tt.zeros(2).set_(tt.zeros(3), 5), ValueError),
        (lambda: tt.UntypedStorage(1, 2), TypeError),
        (lambda: tt.quasirandom.SobolEngine("a"), ValueError),
        (lambda: tt.quasirandom.SobolEngine(2).fast_forward("a"), TypeError),
        (lambda: tt.hub.load("a/b", "m", source=3), ValueError),
        (lambda: tt.hub.load(3, "m"), ValueError),
        (lambda: tt.set_float32_matmul_precision([]), RuntimeError),
    ],
)
def test_wrong_input_is_refused_in_words_of_tt(call, error):
    with pytest.raises(error) as caught:
        call()
    assert isinstance(caught.value, tt.errors.TTError | RuntimeError) and str(caught.value)


@pytest.mark.filterwarnings("ignore:tt.set_default_tensor_type")
@pytest.mark.skipif(tt.cuda.is_available(), reason="there is a CUDA device")
def test_types_of_cuda_need_a_device():
    with pytest.raises(TypeError, match=r"tt\.cuda\.FloatTensor not available"):
        tt.set_default_tensor_type(tt.cuda.FloatTensor)
    with pytest.raises(RuntimeError, match="cuda"):
        tt.cuda.FloatTensor(2)


def test_random_states_are_whole_tensors_before_any_other_tensor_is_made():
    program = "import tt; print(tt.random.get_rng_state().numel())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "16"


# --- facts, norms, ranges, futures -----------------------------------------------------------------------------


def test_facts_of_the_installation_are_booleans():
    facts = [tt.has_lapack, tt.has_mkl, tt.has_openmp, tt.has_spectral]
    assert all(type(fact) is bool for fact in facts) and tt.has_lapack and tt.has_spectral
    assert tt.has_mkl == tt.backends.mkl.is_available() and tt.has_openmp == tt.backends.openmp.is_available()
    assert not tt.is_vulkan_available() and not tt.compiled_with_cxx11_abi()
    assert tt.cudnn_is_acceptable(tt.ones(1)) == tt.backends.cudnn.is_acceptable(tt.ones(1))
    with pytest.raises(TypeError, match="cudnn_is_acceptable"):
        tt.cudnn_is_acceptable(3)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("has_cuda", "backends.cuda.is_built"),
        ("has_cudnn", "backends.cudnn.is_available"),
        ("has_mkldnn", "backends.mkldnn.is_available"),
        ("has_mps", "backends.mps.is_built"),
    ],
)
def test_former_facts_warn_each_time_and_name_their_function(name, instead):
    for _ in range(2):
        with pytest.warns(UserWarning, match=f"please use 'tt.{instead}"):
            fact = getattr(tt, name)
        assert fact is attrgetter(instead)(tt)()
    assert name not in dir(tt)


def test_a_thread_may_ask_for_its_number_of_kernels():
    before = tt.get_num_threads()
    thread = threading.Thread(target=tt.init_num_threads)
    thread.start()
    thread.join()
    assert tt.get_num_threads() == before


def test_errors_of_devices_are_accelerator_errors():
    assert issubclass(tt.OutOfMemoryError, tt.AcceleratorError)
    with pytest.raises(tt.AcceleratorError):
        tt.ones(1).to("cuda:99" if tt.cuda.is_available() else "cuda")


NORMS = {
    "two dimensions": lambda t, x: t.frobenius_norm(x, [1, 2]),
    "one dimension": lambda t, x: t.frobenius_norm(x, 1, True),
    "all of them": lambda t, x: t.frobenius_norm(x, []),
    "three dimensions": lambda t, x: t.frobenius_norm(x, [0, 1, 2]),
    "out": lambda t, x: t.frobenius_norm(x, (0, 1), out=t.empty(3, dtype=t.float64)),
    "nuclear": lambda t, x: t.nuclear_norm(x),
    "nuclear, keepdim": lambda t, x: t.nuclear_norm(x[0], True),
    "nuclear, dimensions": lambda t, x: t.nuclear_norm(x, (0, 1)),
    "nuclear, dimensions kept": lambda t, x: t.nuclear_norm(x, [1, 2], True),
    "nuclear, one dimension": lambda t, x: t.nuclear_norm(x, [1]),
    "nuclear, out": lambda t, x: t.nuclear_norm(x, (0, 1), out=t.empty(3, dtype=t.float64)),
    "sparse": lambda t, x: t.native_norm(x.to_sparse()),
    "sparse, order 3": lambda t, x: t.native_norm(x.to_sparse(), 3),
    "sparse, some": lambda t, x: t.native_norm(x.to_sparse(), 1, [0], False, None),
    "sparse, kept": lambda t, x: t.native_norm(x.to_sparse(), 2, [0, 1, 2], True, None),
    "sparse, dtype": lambda t, x: t.native_norm(x.to_sparse(), 2, [], False, t.float64),
    "not sparse": lambda t, x: t.native_norm(x),
}


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:at::", "ignore:(frobenius|nuclear)_norm")
@pytest.mark.parametrize("case", NORMS)
def test_older_norms_are_those_of_torch(case):
    torch = pytest.importorskip("torch")
    found = []
    for library in (tt, torch):
        try:
            x = library.arange(12, dtype=library.float64).reshape(2, 2, 3)
            found.append(pytest.approx(NORMS[case](library, x).flatten().tolist(), rel=1e-12))
        except (RuntimeError, IndexError, ValueError):
            found.append("refused")
    refused = [each == "refused" for each in found]
    assert all(refused) or (not any(refused) and found[0].expected == found[1])


RANGES = {
    "inside": lambda t: t.sym_constrain_range(5, min=2, max=9),
    "above": lambda t: t.sym_constrain_range(5, max=4),
    "below": lambda t: t.sym_constrain_range(5, min=6),
    "wrong way round": lambda t: t.sym_constrain_range(5, min=6, max=4),
    "a fraction": lambda t: t.sym_constrain_range(5.5, min=5, max=5),
    "a tensor": lambda t: t.sym_constrain_range(t.tensor(3), min=4),
    "no bounds": lambda t: t.sym_constrain_range(-5),
    "a size": lambda t: t.sym_constrain_range_for_size(1, max=9),
    "a negative size": lambda t: t.sym_constrain_range_for_size(-1),
    "a small limit": lambda t: t.sym_constrain_range_for_size(1, max=2),
    "an integer": lambda t: t.sym_fresh_size(5),
    "a float": lambda t: t.sym_fresh_size(2.5),
}


@pytest.mark.torch
@pytest.mark.parametrize("case", RANGES)
def test_ranges_are_checked_as_in_torch(case):
    torch = pytest.importorskip("torch")
    found = []
    for library in (tt, torch):
        try:
            found.append(RANGES[case](library))
        except (RuntimeError, ValueError):
            found.append("refused")
    assert found[0] == found[1]


def test_a_forked_call_has_run_and_its_result_is_waited_for():
    ran = []
    later = tt.fork(lambda a, b=1: ran.append(a) or a + b, 1, b=4)
    assert ran == [1] and later.done() and tt.wait(later) == tt.jit.wait(later) == 5
    assert isinstance(later, tt.jit.Future)
    with pytest.raises(ZeroDivisionError):
        tt.fork(lambda: 1 / 0)
    with pytest.raises(TypeError, match="must be Future"):
        tt.wait(3)


def test_sparse_tensors_take_the_size_of_others():
    x = tt.eye(2).to_sparse()
    assert tt.resize_as_sparse_(x, tt.eye(3).to_sparse()) is x and x.shape == (3, 3)
    with pytest.raises(TypeError, match="resize_as_sparse_"):
        tt.resize_as_sparse_(3, x)


def test_settings_and_the_configuration_need_no_import():
    assert printed_by("import tt; print(tt.__future__.get_swap_module_params_on_conversion())") == "False\n"
    assert printed_by("import tt; print(len(tt.__config__.show()) > 20)") == "True\n"


@pytest.mark.parametrize("module", ["nn", "nn.modules", "optim", "linalg", "fft", "special"])
def test_vars_of_a_namespace_has_all_its_names(module):
    space = attrgetter(module)(tt)
    found = set(vars(space))  # before `getattr` fills it
    assert {name for name in dir(space) if not isinstance(getattr(space, name), ModuleType)} <= found


_NOT_EVALUATED = {
    "get_rng_state", "is_tensor", "prefer", "set_preference", "set_rng_state",  # of modules below that of the class
    "distributions.RelaxedBernoulli", "distributions.RelaxedOneHotCategorical",
    "distributions.identity_transform", "distributions.biject_to", "distributions.transform_to",  # no functions
}  # fmt: skip


@pytest.mark.parametrize(
    "space",
    ["", "nn", "nn.functional", "nn.utils", "optim", "linalg", "fft", "distributions", "utils.data", "func"],
)
def test_annotations_of_public_names_can_be_evaluated(space):
    home = attrgetter(space)(tt) if space else tt
    failed = set()
    for name in dir(home):
        value = getattr(home, name, None)
        if callable(value) and not name.startswith("_"):
            try:
                typing.get_type_hints(value)
            except (NameError, TypeError):
                failed.add(f"{space}.{name}".lstrip("."))
    assert failed <= _NOT_EVALUATED


def test_functions_of_networks_take_an_input():
    for name in ("gelu", "softplus", "linear", "elu_", "avg_pool2d"):
        function = getattr(tt.nn.functional, name)
        assert next(iter(inspect.signature(function).parameters)) == "input", name
    assert tt.nn.functional.gelu(input=tt.zeros(1)).item() == 0
