"""Functions over tt_tensor * and plain pointers."""

from __future__ import annotations

import gc
import threading
import weakref
from functools import partial

import numpy as np
import pytest

import tt
from tests.threads import in_threads
from tt.core.dispatch.registry.registry import REGISTRY
from tt.utils.cpp_extension import load_inline

ROW_SUM = """
tt_tensor *row_sum(const tt_tensor *x) {
    if (x->ndim != 2) return tt_error("row_sum takes a matrix, not %d dimensions", x->ndim);
    if (x->dtype != TT_FLOAT64) return tt_error("row_sum takes float64");
    tt_tensor *out = tt_empty(x->dtype, 1, x->shape);
    const double *in = (const double *)x->data;
    double *sums = (double *)out->data;
    for (int64_t i = 0; i < x->shape[0]; i++) {
        sums[i] = 0;
        for (int64_t j = 0; j < x->shape[1]; j++) sums[i] += in[i * x->strides[0] + j * x->strides[1]];
    }
    return out;
}
"""
TOTAL = """
template <typename T>
T total(const tt_tensor &x, T by) {
    T sum = 0;
    const T *data = (const T *)x.data;
    for (int64_t i = 0; i < tt_numel(&x); i++) sum += data[tt_offset(&x, i)];
    return sum * by;
}
"""


def kernel_of(op):
    return REGISTRY.kernels[op.name][0].kernel.function


# --- arguments and results -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["cpp_sources", "c_sources"])
def test_a_new_tensor_is_returned_for_any_strides(both_callers, language):
    module = load_inline(f"rows_{language[:1]}", **{language: ROW_SUM})
    base = tt.arange(24, dtype=tt.float64).reshape(4, 6)
    for x in (base, base.T, base[::2, 1::2], base[:1].expand(3, 6), tt.zeros(0, 3, dtype=tt.float64)):
        assert module.row_sum(x).tolist() == x.sum(1).tolist()


def test_tt_error_is_raised_with_its_message(both_callers):
    module = load_inline("rows_c", c_sources=ROW_SUM)
    with pytest.raises(
        tt.errors.ValueRangeError, match=r"^rows_c::row_sum\(\): row_sum takes a matrix, not 3 dim"
    ):
        module.row_sum(tt.ones(2, 2, 2))
    assert module.row_sum(tt.ones(1, 2, dtype=tt.float64)).tolist() == [2.0]


def test_a_template_over_tensors_returns_numbers_and_follows_the_dtype(both_callers):
    module = load_inline(
        "totals", TOTAL, dtypes=["float32", "int64", tt.complex128], extra_cflags=["-include", "complex"]
    )
    assert module.total(tt.arange(4, dtype=tt.float32), 2) == 12.0
    found = module.total(tt.arange(6).reshape(2, 3).T, 3)
    assert (found, type(found)) == (45, int)
    assert module.total(tt.tensor([1 + 2j, 3j], dtype=tt.complex128), 1j) == (1 + 5j) * 1j
    with pytest.raises(tt.errors.DtypeNotServedError, match="complex128, float32, int64"):
        module.total(tt.ones(2, dtype=tt.float64), 1)


def test_every_dtype_arrives_with_its_number(both_callers):
    source = "int64_t code(const tt_tensor *x) { return x->dtype * 100 + x->ndim; }"
    module = load_inline("codes", c_sources=source)
    for dtype in tt.core.library.DTYPES:
        assert module.code(tt.zeros(2, 3, dtype=dtype)) == dtype.code * 100 + 2


@pytest.mark.parametrize("dtype", tt.core.library.DTYPES, ids=lambda d: d.name)
def test_every_dtype_can_be_returned(both_callers, dtype):
    source = """
    tt_tensor *make(const tt_tensor *x, int dtype) {
        int64_t shape[2] = {2, 3};
        return tt_empty(dtype, 2, shape);
    }
    """
    module = load_inline("makes", c_sources=source)
    found = kernel_of(module.make)(np.ones(1), dtype.code)
    assert (found.shape, found.dtype) == ((2, 3), dtype.numpy)


def test_several_results(both_callers):
    source = """
    void halves(const tt_tensor *x, tt_tensor **low, tt_tensor **high) {
        int64_t count[1] = {x->shape[0] / 2};
        *low = tt_empty(x->dtype, 1, count);
        *high = tt_empty(x->dtype, 1, count);
        for (int64_t i = 0; i < count[0]; i++) {
            ((float *)(*low)->data)[i] = ((const float *)x->data)[i * x->strides[0]];
            ((float *)(*high)->data)[i] = ((const float *)x->data)[(count[0] + i) * x->strides[0]];
        }
    }
    void one(const tt_tensor *x, tt_tensor **y) { *y = tt_empty(x->dtype, x->ndim, x->shape); }
    """
    module = load_inline("several", c_sources=source)
    found = module.halves(tt.arange(6, dtype=tt.float32))
    assert (found.low.tolist(), found.high.tolist()) == ([0.0, 1.0, 2.0], [3.0, 4.0, 5.0])
    assert module.one(tt.ones(2, 3)).shape == (2, 3)


def test_several_results_of_different_dtypes(both_callers):
    source = """
    void greatest(const tt_tensor *x, tt_tensor **value, tt_tensor **place) {
        *value = tt_empty(x->dtype, 0, x->shape);
        *place = tt_empty(TT_INT64, 0, x->shape);
        int64_t best = 0;
        for (int64_t i = 1; i < x->shape[0]; i++)
            if (((const float *)x->data)[i] > ((const float *)x->data)[best]) best = i;
        *(float *)(*value)->data = ((const float *)x->data)[best];
        *(int64_t *)(*place)->data = best;
    }
    """
    module = load_inline("greatest", c_sources=source, result=("same", "int64"))
    found = module.greatest(tt.tensor([1.0, 5.0, 2.0]))
    assert (found.value.item(), found.place.item(), found.place.dtype) == (5.0, 1, tt.int64)
    module.remove()
    module = load_inline("greatest", c_sources=source, result={"greatest": ["same", "int64"]})
    assert module.greatest(tt.tensor([7.0])).place.dtype == tt.int64


def test_numbers_and_texts_are_passed_in_their_types(both_callers):
    source = """
    #include <string.h>
    double sum(const tt_tensor *x, double a, float b, int8_t c, uint64_t d, bool e, const char *f) {
        return a + b + c + (double)d + e + (double)strlen(f);
    }
    bool flip(const tt_tensor *x, bool e) { return !e; }
    uint64_t same(const tt_tensor *x, uint64_t d) { return d; }
    """
    module = load_inline("numbers", c_sources=source)
    x = tt.ones(1)
    assert module.sum(x, 0.5, 0.25, -3, 2**40, True, "four") == 0.75 - 3 + 2**40 + 1 + 4
    assert module.flip(x, True) is False
    assert kernel_of(module.same)(np.ones(1), 2**64 - 1) == 2**64 - 1
    with pytest.raises(tt.errors.NumberRangeError, match="argument 'c' is 200, beyond the range of int8"):
        module.sum(x, 0.5, 0.25, 200, 1, True, "")
    with pytest.raises(tt.errors.ArgumentError):
        module.sum(x, "0.5", 0.25, 2, 1, True, "")
    with pytest.raises(tt.errors.ArgumentError, match="argument 'f' must be str"):
        kernel_of(module.sum)(np.ones(1), 0.5, 0.25, 2, 1, True, 7)


def test_complex_numbers_of_c(both_callers):
    module = load_inline(
        "rotations",
        c_sources="double _Complex turn(const tt_tensor *x, float _Complex by) { return by * by; }",
    )
    assert module.turn(tt.ones(1), 1 + 2j) == (1 + 2j) ** 2


def test_an_optional_tensor_is_null(both_callers):
    source = "bool given(const tt_tensor *x, const tt_tensor *y) { return y != NULL; }"
    module = load_inline("optional", c_sources=source, schema="(Tensor x, Tensor? y=None) -> bool")
    assert module.given(tt.ones(1)) is False
    assert module.given(tt.ones(1), tt.ones(1)) is True


# --- plain pointers ------------------------------------------------------------------------------------------------


def test_plain_pointers_change_tensors_in_place(both_callers):
    source = "void axpy(const float *x, float *y, int64_t n, float by) { while (n-- > 0) y[n] += by * x[n]; }"
    module = load_inline("pointers", c_sources=source)
    x, y = tt.ones(3), tt.tensor([1.0, 2.0, 3.0])
    version = y._version
    assert module.axpy(x, y, 3, 2.0) is None
    assert y.tolist() == [3.0, 4.0, 5.0]
    assert y._version > version


def test_what_a_pointer_cannot_say_is_refused(both_callers):
    module = load_inline(
        "sums",
        c_sources="double sum(const double *x, int64_t n) { double s = 0; while (n-- > 0) s += x[n]; return s; }",
    )
    assert module.sum(tt.ones(4, dtype=tt.float64), 4) == 4.0
    with pytest.raises(tt.errors.ValueRangeError, match=r"must be contiguous\n  try: x.contiguous\(\)"):
        module.sum(tt.ones(4, 4, dtype=tt.float64).T[1:], 12)
    with pytest.raises(tt.errors.DtypeNotServedError, match=r"\{float64\}"):
        module.sum(tt.ones(4), 4)
    with pytest.raises(
        tt.errors.DtypeError, match=r"must be float64, not float32\n.*\n  try: x.to\(tt.float64\)"
    ):
        kernel_of(module.sum)(np.ones(4, np.float32), 4)


def test_memory_that_is_read_only_is_not_written(both_callers):
    module = load_inline("writes", c_sources="void clear(tt_tensor *x) { ((float *)x->data)[0] = 0; }")
    array = np.ones(2, np.float32)
    array.flags.writeable = False
    with pytest.raises(tt.errors.ArgumentError, match="read-only"):
        kernel_of(module.clear)(array)
    assert array.tolist() == [1.0, 1.0]


# --- what functions may do wrong -----------------------------------------------------------------------------------

WRONG = """
tt_tensor *nothing(const tt_tensor *x) { return NULL; }
tt_tensor *itself(const tt_tensor *x) { return (tt_tensor *)x; }
tt_tensor *strange(const tt_tensor *x) { int64_t shape[1] = {1}; return tt_empty(99, 1, shape); }
tt_tensor *huge(const tt_tensor *x) { int64_t shape[1] = {INT64_MAX / 16}; return tt_empty(TT_FLOAT64, 1, shape); }
tt_tensor *other(const tt_tensor *x) { return tt_empty(TT_INT64, x->ndim, x->shape); }
"""


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("nothing", "returned NULL instead of a tensor"),
        ("itself", "returned a tensor that tt_empty did not make"),
        ("strange", "."),
    ],
)
def test_a_wrong_result_is_an_error(both_callers, function, message):
    module = load_inline("wrong", c_sources=WRONG)
    with pytest.raises((tt.errors.ValueRangeError, IndexError), match=message):
        getattr(module, function)(tt.ones(2))


def test_memory_that_is_not_there_is_a_memory_error(both_callers):
    module = load_inline("wrong", c_sources=WRONG)
    with pytest.raises((MemoryError, ValueError)):
        module.huge(tt.ones(2))


def test_a_result_of_another_dtype_than_promised_is_an_error_until_it_is_promised(both_callers):
    module = load_inline("wrong", c_sources=WRONG)
    with pytest.raises(
        tt.errors.KernelContractError, match="returned int64 where the schema promises float32"
    ):
        module.other(tt.ones(2))
    module = load_inline("wrong", c_sources=WRONG, result={"other": "int64"})
    assert module.other(tt.ones(2)).dtype is tt.int64


def test_nothing_that_was_made_is_kept(both_callers):
    source = """
    tt_tensor *second(const tt_tensor *x) {
        tt_empty(x->dtype, x->ndim, x->shape);
        return tt_empty(x->dtype, x->ndim, x->shape);
    }
    """
    module = load_inline("second", c_sources=source)
    array = np.ones((2, 3), np.float32)
    references = []
    for _ in range(3):
        found = kernel_of(module.second)(array)
        references.append(weakref.ref(found))
        del found
    gc.collect()
    assert [reference() for reference in references] == [None] * 3
    array.resize((6,), refcheck=True)  # refused while a buffer of it is held


# --- threads -------------------------------------------------------------------------------------------------------


def test_other_threads_run_while_c_does(both_callers):
    # Ends only when another thread has written into the array: with the lock of the interpreter held, never.
    source = """
    #include <time.h>
    bool wait_for(const tt_tensor *flag) {
        struct timespec nap = {0, 1000000};
        for (int i = 0; i < 20000; i++) {
            if (*(volatile const int64_t *)flag->data) return true;
            nanosleep(&nap, NULL);
        }
        return false;
    }
    """
    module = load_inline("waiting", c_sources=source)
    flag = np.zeros(1, np.int64)
    started = threading.Event()

    def release() -> None:
        started.wait()
        flag[0] = 1

    thread = threading.Thread(target=release)
    thread.start()
    started.set()
    assert module.wait_for(tt.from_numpy(flag)) is True
    thread.join()


def test_calls_of_several_threads_do_not_mix(both_callers):
    module = load_inline("rows_c", c_sources=ROW_SUM)
    wrong = []

    def work(number: int) -> None:
        x = tt.full((3, 4), float(number), dtype=tt.float64)
        for _ in range(200):
            if module.row_sum(x).tolist() != [4.0 * number] * 3:
                wrong.append(number)
            try:
                module.row_sum(tt.ones((2,) * (number % 3 + 3)))
            except tt.errors.ValueRangeError as error:
                if f"not {number % 3 + 3} dimensions" not in str(error):
                    wrong.append(str(error))

    in_threads(*[partial(work, n) for n in range(6)])
    assert not wrong
