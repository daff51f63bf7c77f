/* Random numbers: the words and numbers of docs/design/random.md, whatever the number of threads.
 *
 * Words are made in pieces that stay in the first-level cache and become numbers there.  Each piece depends on its
 * place only, so threads change nothing.
 */
#include "fallback.h"
#include "philox.h"
#include "random_math.h"
#include "scratch.h"
#include <float.h>

#define PIECE 1024 /* words */
#define GRAIN 16   /* pieces for a thread */

TT_PYTHON(reserve, "tt.core.library", "reserve");

#define NUMPY(NAME, FUNCTION) TT_PYTHON(numpy_##NAME, "tt.backends.cpu.random", FUNCTION)
NUMPY(rand, "rand");
NUMPY(randn, "randn");
NUMPY(randint, "randint");
NUMPY(randperm, "randperm");
NUMPY(bernoulli_p, "bernoulli_p");
NUMPY(bernoulli, "bernoulli");
NUMPY(bernoulli_tensor, "bernoulli_tensor");
NUMPY(exponential, "exponential");
NUMPY(normal, "normal");
NUMPY(uniform, "uniform");
NUMPY(multinomial, "multinomial");
NUMPY(native_dropout, "native_dropout");

/* --- jobs ---------------------------------------------------------------------------------------------------- */

typedef struct Job Job;
struct Job {
    uint64_t seed, offset;
    int64_t count; /* elements */
    int width;     /* words for an element: 1 or 2 */
    void (*fill)(const uint32_t *words, int64_t first, int64_t count, const Job *job);
    char *out, *mask;
    const char *in;
    double a, b; /* parameters of the distribution */
    uint64_t span;
    int64_t low, limit;
};

/* Takes the counters of a call from its generator. */
static bool reserved(Job *job, PyObject *generator, int64_t words)
{
    PyObject *function = tt_imported(&reserve);
    if (function == NULL) return false;
    PyObject *blocks = PyLong_FromLongLong((words + 3) / 4), *device = PyUnicode_InternFromString("cpu");
    if (blocks == NULL || device == NULL) {
        Py_XDECREF(blocks);
        Py_XDECREF(device);
        return false;
    }
    PyObject *args[] = {generator, blocks, device};
    PyObject *found = PyObject_Vectorcall(function, args, 3, NULL);
    Py_DECREF(blocks);
    Py_DECREF(device);
    if (found == NULL) return false;
    unsigned long long seed, offset;
    bool fine = PyArg_ParseTuple(found, "KK", &seed, &offset);
    job->seed = seed;
    job->offset = offset;
    Py_DECREF(found);
    return fine;
}

static void run_pieces(int64_t begin, int64_t end, void *context)
{
    const Job *job = context;
    uint32_t words[PIECE] __attribute__((aligned(64)));
    int64_t size = PIECE / job->width;
    for (int64_t piece = begin; piece < end; piece++) {
        int64_t first = piece * size;
        int64_t count = job->count - first < size ? job->count - first : size;
        /* The last of an odd number of normal numbers has words of its pair. */
        int64_t used = (count + (count & 1)) * job->width;
        philox(job->seed, job->offset + (uint64_t)(piece * (PIECE / 4)), (used + 3) / 4, words);
        job->fill(words, first, count, job);
    }
}

static void run(Job *job)
{
    int64_t size = PIECE / job->width;
    TT_BEGIN_WORK(job->count)
    tt_parallel_for(0, (job->count + size - 1) / size, GRAIN, run_pieces, job);
    TT_END_WORK
}

/* --- numbers of words ---------------------------------------------------------------------------------------- */

/* 64 bits, the low half first. */
TT_INLINE uint64_t long_word(const uint32_t *words, int64_t i)
{
    return (uint64_t)words[2 * i] | (uint64_t)words[2 * i + 1] << 32;
}

/* A number below 2**53 as a double, exactly; vector units convert no 64-bit integers. */
TT_INLINE double exact_double(uint64_t value)
{
    union { uint64_t bits; double value; } low = {0x4330000000000000ULL | (value & 0xffffffffULL)},
                                           high = {0x4530000000000000ULL | (value >> 32)};
    return (high.value - 19342813113834066795298816.0) + (low.value - 4503599627370496.0); /* 2**84, 2**52 */
}

TT_INLINE float unit_f32(uint32_t word) { return (float)(int32_t)(word >> 8) * 0x1p-24f; }
TT_INLINE double unit_f64(uint64_t word) { return exact_double(word >> 11) * 0x1p-53; }

static void fill_unit_f32(const uint32_t *words, int64_t first, int64_t count, const Job *job)
{
    float *out = (float *)job->out + first;
    for (int64_t i = 0; i < count; i++) out[i] = unit_f32(words[i]);
}

static void fill_unit_f64(const uint32_t *words, int64_t first, int64_t count, const Job *job)
{
    double *out = (double *)job->out + first;
    for (int64_t i = 0; i < count; i++) out[i] = unit_f64(long_word(words, i));
}

static void fill_unit_f16(const uint32_t *words, int64_t first, int64_t count, const Job *job)
{
    tt_half *out = (tt_half *)job->out + first;
    for (int64_t i = 0; i < count; i++) out[i] = tt_half_of_float((float)(int32_t)(words[i] >> 21) * 0x1p-11f);
}

static void fill_unit_bf16(const uint32_t *words, int64_t first, int64_t count, const Job *job)
{
    tt_bfloat *out = (tt_bfloat *)job->out + first;
    for (int64_t i = 0; i < count; i++) out[i] = tt_bfloat_of_float((float)(int32_t)(words[i] >> 24) * 0x1p-8f);
}

/* Scaled and moved in two loops, so that no compiler makes one rounding of two. */
static void fill_uniform_f32(const uint32_t *words, int64_t first, int64_t count, const Job *job)
{
    float *out = (float *)job->out + first, scale = (float)job->a, shift = (float)job->b;
    for (int64_t i = 0; i < count; i++) out[i] = unit_f32(words[i]) * scale;
    __asm__ volatile("" ::: "memory");
    for (int64_t i = 0; i < count; i++) out[i] += shift;
}

static void fill_uniform_f64(const uint32_t *words, int64_t first, int64_t count, const Job *job)
{
    double *out = (double *)job->out + first, scale = job->a, shift = job->b;
    for (int64_t i = 0; i < count; i++) out[i] = unit_f64(long_word(words, i)) * scale;
    __asm__ volatile("" ::: "memory");
    for (int64_t i = 0; i < count; i++) out[i] += shift;
}

/* --- normal numbers ------------------------------------------------------------------------------------------ */

/* The numbers of a piece, an even number of them. */
static void normals_f32(const uint32_t *words, int64_t pairs, float *out)
{
    for (int64_t p = 0; p < pairs; p++) {
        /* Each word as a float: halves are exact, and their sum rounds once, as the conversion does. */
        uint32_t a = words[2 * p], b = words[2 * p + 1];
        float first = (float)(int32_t)(a >> 16) * 65536.0f + (float)(int32_t)(a & 0xffff);
        float second = (float)(int32_t)(b >> 16) * 65536.0f + (float)(int32_t)(b & 0xffff);
        float u = first * 0x1p-32f + 0x1p-33f, angle = second * 0x1.921fb6p-30f; /* 2 pi * 2**-32 */
        float radius = sqrtf(-2.0f * tt_log_f(u)), sine, cosine;
        sin_cos_f32(angle, &sine, &cosine);
        out[2 * p] = radius * cosine;
        out[2 * p + 1] = radius * sine;
    }
}

static void normals_f64(const uint32_t *words, int64_t pairs, double *out)
{
    for (int64_t p = 0; p < pairs; p++) {
        double u = unit_f64(long_word(words, 2 * p)) + 0x1p-54;
        double angle = unit_f64(long_word(words, 2 * p + 1)) * 6.283185307179586;
        double radius = sqrt(-2.0 * tt_log(u)), sine, cosine;
        sin_cos_f64(angle, &sine, &cosine);
        out[2 * p] = radius * cosine;
        out[2 * p + 1] = radius * sine;
    }
}

/* a and b: standard deviation and mean, where they are given; limit: whether. */
static void fill_normal_f32(const uint32_t *words, int64_t first, int64_t count, const Job *job)
{
    float *out = (float *)job->out + first, spare[2];
    float std = (float)job->a, mean = (float)job->b;
    normals_f32(words, count / 2, out);
    if (count & 1) {
        normals_f32(words + count - 1, 1, spare);
        out[count - 1] = spare[0];
    }
    if (!job->limit) return;
    for (int64_t i = 0; i < count; i++) out[i] *= std;
    __asm__ volatile("" ::: "memory");
    for (int64_t i = 0; i < count; i++) out[i] += mean;
}

static void fill_normal_f64(const uint32_t *words, int64_t first, int64_t count, const Job *job)
{
    double *out = (double *)job->out + first, spare[2];
    normals_f64(words, count / 2, out);
    if (count & 1) {
        normals_f64(words + 2 * (count - 1), 1, spare);
        out[count - 1] = spare[0];
    }
    if (!job->limit) return;
    for (int64_t i = 0; i < count; i++) out[i] *= job->a;
    __asm__ volatile("" ::: "memory");
    for (int64_t i = 0; i < count; i++) out[i] += job->b;
}

static void fill_normal_half(const uint32_t *words, int64_t first, int64_t count, const Job *job)
{
    float numbers[PIECE];
    normals_f32(words, (count + 1) / 2, numbers);
    if (job->low) {
        for (int64_t i = 0; i < count; i++) ((tt_bfloat *)job->out)[first + i] = tt_bfloat_of_float(numbers[i]);
    } else {
        for (int64_t i = 0; i < count; i++) ((tt_half *)job->out)[first + i] = tt_half_of_float(numbers[i]);
    }
}

/* --- drawing kernels ----------------------------------------------------------------------------------------- */

static int64_t count_of(PyArrayObject *array) { return (int64_t)PyArray_SIZE(array); }

/* Sets up units (normal: normals) for an array of a floating or complex dtype; false where none is served. */
static bool set_up(Job *job, tt_dtype dtype, int64_t count, bool normal)
{
    job->count = dtype == TT_C64 || dtype == TT_C128 ? 2 * count : count;
    job->width = dtype == TT_F64 || dtype == TT_C128 ? 2 : 1;
    switch (dtype) {
    case TT_F32: case TT_C64: job->fill = normal ? fill_normal_f32 : fill_unit_f32; break;
    case TT_F64: case TT_C128: job->fill = normal ? fill_normal_f64 : fill_unit_f64; break;
    case TT_F16: case TT_BF16:
        job->fill = normal ? fill_normal_half : dtype == TT_F16 ? fill_unit_f16 : fill_unit_bf16;
        job->low = dtype == TT_BF16;
        break;
    default: return false;
    }
    if (normal && (dtype == TT_C64 || dtype == TT_C128)) {
        job->limit = 1;
        job->a = 0.70710678118654757; /* sqrt(0.5) */
        job->b = -0.0;
    }
    return true;
}

static int64_t words_for(const Job *job, bool normal)
{
    return (job->count + (normal ? job->count & 1 : 0)) * job->width;
}

static PyObject *draw(PyObject *const *args, Py_ssize_t count, bool normal, tt_python *numpy)
{
    npy_intp shape[NPY_MAXDIMS];
    Job job = {0};
    int ndim = count == 3 ? tt_shape(args[0], shape) : -1;
    tt_dtype dtype = count == 3 ? tt_dtype_argument(args[2]) : TT_NONE;
    if (ndim < 0 || dtype == TT_NONE) return tt_leave(numpy, args, count);
    if (!set_up(&job, dtype, 1, normal)) return tt_leave(numpy, args, count);
    PyArrayObject *out = tt_empty(ndim, shape, dtype);
    if (out == NULL) return NULL;
    set_up(&job, dtype, count_of(out), normal);
    job.out = PyArray_BYTES(out);
    if (!reserved(&job, args[1], words_for(&job, normal))) {
        Py_DECREF(out);
        return NULL;
    }
    run(&job);
    return (PyObject *)out;
}

static PyObject *native_rand(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    return draw(args, count, false, &numpy_rand);
}

static PyObject *native_randn(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    return draw(args, count, true, &numpy_randn);
}

/* uniform(self, from_, to, generator), normal(self, mean, std, generator): new numbers in the shape of self. */
static PyObject *draw_like(PyObject *const *args, Py_ssize_t count, bool normal, tt_python *numpy)
{
    Job job = {0};
    double first, second;
    PyArrayObject *self = count == 4 ? tt_plain(args[0]) : NULL;
    tt_dtype dtype = self == NULL ? TT_NONE : tt_dtype_of(self);
    if ((dtype != TT_F32 && dtype != TT_F64) || !tt_double(args[1], &first) || !tt_double(args[2], &second) ||
        (normal ? !(second >= 0) : !(first <= second && second - first <= (dtype == TT_F32 ? FLT_MAX : DBL_MAX))))
        return tt_leave(numpy, args, count);
    PyArrayObject *out = tt_empty_of(PyArray_NDIM(self), PyArray_DIMS(self), self);
    if (out == NULL) return NULL;
    set_up(&job, dtype, count_of(out), normal);
    job.limit = 1;
    job.a = normal ? second : second - first;
    job.b = first;
    if (!normal) job.fill = dtype == TT_F32 ? fill_uniform_f32 : fill_uniform_f64;
    job.out = PyArray_BYTES(out);
    if (!reserved(&job, args[3], words_for(&job, normal))) {
        Py_DECREF(out);
        return NULL;
    }
    run(&job);
    return (PyObject *)out;
}

static PyObject *uniform(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    return draw_like(args, count, false, &numpy_uniform);
}

static PyObject *normal(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    return draw_like(args, count, true, &numpy_normal);
}

static void fill_exponential_f32(const uint32_t *words, int64_t first, int64_t count, const Job *job);
static void fill_exponential_f64(const uint32_t *words, int64_t first, int64_t count, const Job *job);

static PyObject *exponential(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Job job = {0};
    (void)module;
    PyArrayObject *self = count == 3 ? tt_plain(args[0]) : NULL;
    tt_dtype dtype = self == NULL ? TT_NONE : tt_dtype_of(self);
    if ((dtype != TT_F32 && dtype != TT_F64) || !tt_double(args[1], &job.a) || !(job.a > 0))
        return tt_leave(&numpy_exponential, args, count);
    PyArrayObject *out = tt_empty_of(PyArray_NDIM(self), PyArray_DIMS(self), self);
    if (out == NULL) return NULL;
    set_up(&job, dtype, count_of(out), false);
    job.fill = dtype == TT_F32 ? fill_exponential_f32 : fill_exponential_f64;
    job.out = PyArray_BYTES(out);
    if (!reserved(&job, args[2], words_for(&job, false))) {
        Py_DECREF(out);
        return NULL;
    }
    run(&job);
    return (PyObject *)out;
}

static void fill_exponential_f32(const uint32_t *words, int64_t first, int64_t count, const Job *job)
{
    float *out = (float *)job->out + first;
    double rate = -job->a;
    for (int64_t i = 0; i < count; i++)
        out[i] = (float)(tt_log((double)(int32_t)(words[i] >> 8) * 0x1p-24 + 0x1p-25) / rate);
}

static void fill_exponential_f64(const uint32_t *words, int64_t first, int64_t count, const Job *job)
{
    double *out = (double *)job->out + first, rate = -job->a;
    for (int64_t i = 0; i < count; i++)
        out[i] = tt_log(unit_f64(long_word(words, i)) + 0x1p-54) / rate;
}

#include "random_integers.inc"
#include "random_choices.inc"
#include "random_counts.inc"

static PyMethodDef methods[] = {
    TT_METHOD_AS("rand", native_rand, "rand(size, generator, dtype)"),
    TT_METHOD_AS("randn", native_randn, "randn(size, generator, dtype)"),
    TT_METHOD(uniform, "uniform(self, from_, to, generator)"),
    TT_METHOD(normal, "normal(self, mean, std, generator)"),
    TT_METHOD(exponential, "exponential(self, lambd, generator)"),
    TT_METHOD(randint, "randint(low, high, size, generator, dtype)"),
    TT_METHOD(randperm, "randperm(n, generator, dtype)"),
    TT_METHOD(bernoulli_p, "bernoulli_p(self, p, generator)"),
    TT_METHOD(bernoulli, "bernoulli(self, generator)"),
    TT_METHOD(bernoulli_tensor, "bernoulli_tensor(self, p, generator)"),
    TT_METHOD(native_dropout, "native_dropout(self, p, train)"),
    TT_METHOD(native_dropout_backward, "native_dropout_backward(grad_output, mask, scale)"),
    TT_METHOD(multinomial, "multinomial(self, num_samples, replacement, generator)"),
    TT_METHOD(poisson_counts, "poisson_counts(rate, generator)"),
    TT_METHOD(binomial_counts, "binomial_counts(count, prob, generator)"),
    {NULL, NULL, 0, NULL},
};

#define NAME _random
#define DOC "Random numbers."
#include "module.inc"
