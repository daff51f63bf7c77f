/* CRC-32 of zip files, and reading files with it.
 *
 * The checksum takes 64 or 256 bytes at a time: products without carries fold four lines of 128 or 512 bits.  It is the remainder of the
 * data as a polynomial over two elements.  A line of 128 bits that is n bits before another may be added to it after a
 * multiplication by x^n modulo the polynomial, whose result has the same remainder.  The constants below are such powers,
 * with the order of bits reversed, as the checksum reads bytes from their lowest bit.
 *
 * Large buffers are cut into spans, which threads take one after the other.  The checksum of two spans is that of the first,
 * multiplied by the power of x that the second has bits, added to that of the second.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#define SPAN ((size_t)4 << 20)
#define PIECE ((size_t)256 << 10) /* what stays in the cache between reading and checking */
#define HUGE_PAGE ((size_t)2 << 20)
#define MOST_THREADS 16

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define HAS_FOLDING 1
#include <immintrin.h>

#define FOLDING __attribute__((target("pclmul,sse4.1")))

FOLDING static inline __m128i fold(__m128i line, __m128i powers)
{
    return _mm_xor_si128(_mm_clmulepi64_si128(line, powers, 0x00), _mm_clmulepi64_si128(line, powers, 0x11));
}

/* The state of a checksum after `size` bytes, which are a multiple of 16 and at least 64. */
FOLDING static uint32_t folded(uint32_t state, const unsigned char *data, size_t size)
{
    const __m128i by_512 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4); /* x^(512-32), x^(512+32) */
    const __m128i by_128 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0); /* x^(128-32), x^(128+32) */
    const __m128i low = _mm_set_epi32(0, 0, 0, -1);
    __m128i a = _mm_loadu_si128((const __m128i *)data), b = _mm_loadu_si128((const __m128i *)(data + 16));
    __m128i c = _mm_loadu_si128((const __m128i *)(data + 32)), d = _mm_loadu_si128((const __m128i *)(data + 48));
    a = _mm_xor_si128(a, _mm_cvtsi32_si128((int)state));
    for (data += 64, size -= 64; size >= 64; data += 64, size -= 64) {
        a = _mm_xor_si128(fold(a, by_512), _mm_loadu_si128((const __m128i *)data));
        b = _mm_xor_si128(fold(b, by_512), _mm_loadu_si128((const __m128i *)(data + 16)));
        c = _mm_xor_si128(fold(c, by_512), _mm_loadu_si128((const __m128i *)(data + 32)));
        d = _mm_xor_si128(fold(d, by_512), _mm_loadu_si128((const __m128i *)(data + 48)));
    }
    a = _mm_xor_si128(fold(a, by_128), b);
    a = _mm_xor_si128(fold(a, by_128), c);
    a = _mm_xor_si128(fold(a, by_128), d);
    for (; size >= 16; data += 16, size -= 16) a = _mm_xor_si128(fold(a, by_128), _mm_loadu_si128((const __m128i *)data));

    /* 128 bits to 96, to 64, and these to 32 by Barrett's reduction: the quotient from a product with 1 / P. */
    a = _mm_xor_si128(_mm_srli_si128(a, 8), _mm_clmulepi64_si128(a, by_128, 0x10));
    __m128i power = _mm_set_epi64x(0, 0x0163cd6124); /* x^64 */
    a = _mm_xor_si128(_mm_srli_si128(a, 4), _mm_clmulepi64_si128(_mm_and_si128(a, low), power, 0x00));
    __m128i polynomial = _mm_set_epi64x(0x01f7011641, 0x01db710641); /* 1 / P, and P */
    __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(a, low), polynomial, 0x10);
    a = _mm_xor_si128(a, _mm_clmulepi64_si128(_mm_and_si128(quotient, low), polynomial, 0x00));
    return (uint32_t)_mm_extract_epi32(a, 1);
}

#define WIDE_BYTES ((size_t)256)
#define WIDE __attribute__((target("vpclmulqdq,pclmul,avx512f,avx512vl,sse4.1")))

static bool is_wide;
static uint64_t wide_powers[2]; /* x^(2048+32), x^(2048-32) */

WIDE static inline __m512i fold_wide(__m512i line, __m512i powers, const unsigned char *next)
{
    __m512i low = _mm512_clmulepi64_epi128(line, powers, 0x00), high = _mm512_clmulepi64_epi128(line, powers, 0x11);
    return _mm512_ternarylogic_epi64(low, high, _mm512_loadu_si512(next), 0x96); /* the sum of three */
}

/* The same for a multiple of WIDE_BYTES: what is left of them has the remainder of all. */
WIDE static uint32_t folded_wide(uint32_t state, const unsigned char *data, size_t size)
{
    const __m512i powers = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)wide_powers));
    __m512i lines[4];
    for (int k = 0; k < 4; k++) lines[k] = _mm512_loadu_si512(data + 64 * k);
    lines[0] = _mm512_xor_si512(lines[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)state)));
    for (data += WIDE_BYTES, size -= WIDE_BYTES; size > 0; data += WIDE_BYTES, size -= WIDE_BYTES)
        for (int k = 0; k < 4; k++) lines[k] = fold_wide(lines[k], powers, data + 64 * k);
    unsigned char left[WIDE_BYTES];
    for (int k = 0; k < 4; k++) _mm512_storeu_si512(left + 64 * k, lines[k]);
    return folded(0, left, WIDE_BYTES);
}

static int can_fold(void) { return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1"); }
#else
#define HAS_FOLDING 0
static int can_fold(void) { return 0; }
#endif

static uint32_t table[256];

static uint32_t byte_by_byte(uint32_t state, const unsigned char *data, size_t size)
{
    while (size--) state = table[(state ^ *data++) & 0xff] ^ (state >> 8);
    return state;
}

/* The checksum of what is continued from `before`. */
static uint32_t checksum(uint32_t before, const unsigned char *data, size_t size)
{
    uint32_t state = ~before;
#if HAS_FOLDING
    if (is_wide && size >= 4 * WIDE_BYTES) {
        size_t lines = size & ~(WIDE_BYTES - 1);
        state = folded_wide(state, data, lines);
        data += lines;
        size -= lines;
    }
    if (size >= 64) {
        size_t lines = size & ~(size_t)15;
        state = folded(state, data, lines);
        data += lines;
        size -= lines;
    }
#endif
    return ~byte_by_byte(state, data, size);
}

/* The product of two polynomials modulo that of the checksum; the highest bit is the number one. */
static uint32_t product(uint32_t a, uint32_t b)
{
    uint32_t sum = 0;
    for (int bit = 31; bit >= 0; bit--) {
        if (a >> bit & 1) sum ^= b;
        b = b & 1 ? 0xedb88320u ^ (b >> 1) : b >> 1;
    }
    return sum;
}

/* The power of x of the bits of `size` bytes. */
static uint32_t power_of(size_t size)
{
    uint32_t found = 0x80000000u, square = 0x00800000u; /* 1, and x^8 */
    for (; size > 0; size >>= 1) {
        if (size & 1) found = product(found, square);
        square = product(square, square);
    }
    return found;
}

/* --- spans of a buffer ---------------------------------------------------------------------------------------- */

typedef struct {
    unsigned char *data;
    size_t size, spans;
    int fd; /* -1: the buffer is not read, only checked */
    int64_t offset;
    bool check;
    atomic_size_t next, end; /* end: where the file ended, or `size` */
    atomic_int error;
    uint32_t *sums;
} Work;

#if defined(__linux__) && defined(MADV_NOHUGEPAGE)
/* Until when huge pages are avoided, in seconds: the system may have to move memory about for one, and a virtual machine
 * may have to ask its host for every part of it. */
static atomic_llong avoided_until;

static int64_t microseconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Touches the huge pages of a span, in memory for which they were asked.  One that takes longer than small pages would is
 * the last for some seconds. */
static void touch(Work *work, unsigned char *data, size_t size)
{
    uintptr_t limit = (uintptr_t)(work->data + work->size), end = (uintptr_t)(data + size);
    for (size_t at = 0; at < size; at += HUGE_PAGE) {
        uintptr_t page = (uintptr_t)(data + at + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
        if (page >= end) return; /* of the next span, which another thread may have read */
        if (microseconds(CLOCK_MONOTONIC) < atomic_load(&avoided_until)) {
            if (page + HUGE_PAGE <= limit) madvise((void *)page, HUGE_PAGE, MADV_NOHUGEPAGE);
            continue;
        }
        int64_t begin = microseconds(CLOCK_THREAD_CPUTIME_ID);
        *(volatile unsigned char *)page = 0;
        if (microseconds(CLOCK_THREAD_CPUTIME_ID) - begin > 1500)
            atomic_store(&avoided_until, microseconds(CLOCK_MONOTONIC) + 10000000);
    }
}
#else
static void touch(Work *work, unsigned char *data, size_t size) { (void)work, (void)data, (void)size; }
#endif

/* Notes the first place where the file ended, or failed. */
static void stop_at(Work *work, size_t position, int error)
{
    size_t end = atomic_load(&work->end);
    while (position < end && !atomic_compare_exchange_weak(&work->end, &end, position)) continue;
    if (error) atomic_store(&work->error, error);
}

static void do_span(Work *work, size_t span)
{
    size_t begin = span * SPAN, end = begin + SPAN < work->size ? begin + SPAN : work->size;
    uint32_t sum = work->sums[span];
    if (work->fd < 0) {
        work->sums[span] = checksum(sum, work->data + begin, end - begin);
        return;
    }
    if (work->size >= 2 * HUGE_PAGE) touch(work, work->data + begin, end - begin);
    while (begin < end) {
        size_t piece = end - begin < PIECE ? end - begin : PIECE;
        ssize_t got = pread(work->fd, work->data + begin, piece, (off_t)(work->offset + (int64_t)begin));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            stop_at(work, begin, got < 0 ? errno : 0);
            return;
        }
        if (work->check) sum = checksum(sum, work->data + begin, (size_t)got);
        begin += (size_t)got;
    }
    work->sums[span] = sum;
}

static void *do_spans(void *context)
{
    Work *work = context;
    for (;;) {
        size_t span = atomic_fetch_add(&work->next, 1);
        if (span >= work->spans || atomic_load(&work->end) < work->size) return NULL;
        do_span(work, span);
    }
}

/* Does the work in several threads, and returns the checksum of the whole, continued from another. */
static int run(Work *work, uint32_t *sum, long threads)
{
    work->spans = (work->size + SPAN - 1) / SPAN;
    work->sums = PyMem_RawCalloc(work->spans ? work->spans : 1, sizeof(uint32_t));
    if (work->sums == NULL) return -1;
    work->sums[0] = *sum;
    atomic_init(&work->next, 0);
    atomic_init(&work->end, work->size);
    atomic_init(&work->error, 0);
    pthread_t others[MOST_THREADS];
    int started = 0;
    long wanted = threads < (long)work->spans ? threads : (long)work->spans;
    while (started + 1 < wanted && started < MOST_THREADS) {
        if (pthread_create(&others[started], NULL, do_spans, work) != 0) break; /* this one does it all, then */
        started++;
    }
    do_spans(work);
    for (int k = 0; k < started; k++) pthread_join(others[k], NULL);
    uint32_t all = work->sums[0], power = work->spans > 2 ? power_of(SPAN) : 0;
    for (size_t span = 1; span < work->spans; span++) {
        if (span + 1 == work->spans) power = power_of(work->size - span * SPAN);
        all = product(all, power) ^ work->sums[span];
    }
    *sum = all;
    PyMem_RawFree(work->sums);
    return 0;
}

/* --- for Python ----------------------------------------------------------------------------------------------- */

/* crc32(buffer, before, threads) */
static PyObject *crc32(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "crc32() takes a buffer, the checksum of what came before it, and a number of threads");
        return NULL;
    }
    unsigned long before = PyLong_AsUnsignedLongMask(args[1]);
    long threads = PyLong_AsLong(args[2]);
    if (PyErr_Occurred()) return NULL;
    Py_buffer buffer;
    if (PyObject_GetBuffer(args[0], &buffer, PyBUF_SIMPLE) < 0) return NULL;
    uint32_t sum = (uint32_t)before;
    int failed = 0;
    Py_BEGIN_ALLOW_THREADS
    if ((size_t)buffer.len <= SPAN) {
        sum = checksum(sum, buffer.buf, (size_t)buffer.len);
    } else {
        Work work = {.data = buffer.buf, .size = (size_t)buffer.len, .fd = -1, .check = true};
        failed = run(&work, &sum, threads);
    }
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&buffer);
    return failed ? PyErr_NoMemory() : PyLong_FromUnsignedLong(sum);
}

/* read(fd, offset, buffer, before, check, threads): how many bytes the file has there, and their checksum */
static PyObject *read_file(PyObject *module, PyObject *args)
{
    (void)module;
    Work work = {0};
    Py_buffer buffer;
    long long offset;
    unsigned long before;
    int check;
    long threads;
    if (!PyArg_ParseTuple(args, "iLw*kpl:read", &work.fd, &offset, &buffer, &before, &check, &threads)) return NULL;
    work.data = buffer.buf;
    work.size = (size_t)buffer.len;
    work.offset = offset;
    work.check = check;
    uint32_t sum = (uint32_t)before;
    int failed;
    Py_BEGIN_ALLOW_THREADS
    failed = run(&work, &sum, threads);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&buffer);
    if (failed) return PyErr_NoMemory();
    if ((errno = atomic_load(&work.error)) != 0) return PyErr_SetFromErrno(PyExc_OSError);
    return Py_BuildValue("nk", (Py_ssize_t)atomic_load(&work.end), (unsigned long)sum);
}

static PyObject *is_fast(PyObject *module, PyObject *unused) { return PyBool_FromLong(can_fold()); }

static PyMethodDef methods[] = {
    {"crc32", (PyCFunction)(void (*)(void))crc32, METH_FASTCALL, "The CRC-32 of a buffer, continued from another."},
    {"read", read_file, METH_VARARGS, "Read a part of a file into a buffer; return how many bytes it has, and their CRC-32."},
    {"is_fast", is_fast, METH_NOARGS, "Whether the processor can fold, without which crc32 must not be called."},
    {NULL, NULL, 0, NULL},
};

static int exec(PyObject *module)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t state = byte;
        for (int bit = 0; bit < 8; bit++) state = state & 1 ? 0xedb88320u ^ (state >> 1) : state >> 1;
        table[byte] = state;
    }
#if HAS_FOLDING
    wide_powers[0] = (uint64_t)power_of((2048 + 32) / 8) << 1; /* products of reversed numbers are short by one bit */
    wide_powers[1] = (uint64_t)power_of((2048 - 32) / 8) << 1;
    is_wide = __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
#endif
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)exec}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_checksums", "Checksums of files.", 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__checksums(void) { return PyModuleDef_Init(&definition); }
