/* CRC-32 of zip files, 16 bytes at a time: products without carries fold four lines of 128 bits.
 *
 * The checksum is the remainder of the data as a polynomial over two elements.  A line of 128 bits that is n bits before
 * another may be added to it after a multiplication by x^n modulo the polynomial, whose result has the same remainder.  The
 * constants below are such powers, with the order of bits reversed, as the checksum reads bytes from their lowest bit.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

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

static PyObject *crc32(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "crc32() takes a buffer and the checksum of what came before it");
        return NULL;
    }
    unsigned long before = PyLong_AsUnsignedLongMask(args[1]);
    if (before == (unsigned long)-1 && PyErr_Occurred()) return NULL;
    Py_buffer buffer;
    if (PyObject_GetBuffer(args[0], &buffer, PyBUF_SIMPLE) < 0) return NULL;
    uint32_t state = ~(uint32_t)before;
    Py_BEGIN_ALLOW_THREADS
    const unsigned char *data = buffer.buf;
    size_t size = (size_t)buffer.len;
#if HAS_FOLDING
    if (size >= 64) {
        size_t lines = size & ~(size_t)15;
        state = folded(state, data, lines);
        data += lines;
        size -= lines;
    }
#endif
    state = ~byte_by_byte(state, data, size);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&buffer);
    return PyLong_FromUnsignedLong(state);
}

static PyObject *is_fast(PyObject *module, PyObject *unused) { return PyBool_FromLong(can_fold()); }

static PyMethodDef methods[] = {
    {"crc32", (PyCFunction)(void (*)(void))crc32, METH_FASTCALL, "The CRC-32 of a buffer, continued from another."},
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
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)exec}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_checksums", "Checksums of files.", 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__checksums(void) { return PyModuleDef_Init(&definition); }
