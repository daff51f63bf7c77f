/* Memory of large results: blocks that were freed are kept and given out again, with their pages.
 *
 * Fresh pages cost more than many kernels: the system clears each one when it is first touched.  The C library keeps freed
 * memory only up to a size and gives the end of its heap back.  Here blocks have size classes, four for each power of two,
 * lie on lines of the cache, and are kept up to a limit, most recently freed first.  A program whose sizes change from one
 * part to the next would hold the blocks of all its parts: a fresh block lets others go as soon as all of them exceed what
 * was in use at most by an eighth.  NumPy frees an array with the handler
 * that allocated it, so arrays may outlive their use by tt, and be resized, as others.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "memory.h"

#define CLASSES 128
#define KEPT 64 /* blocks of a class */
#define HUGE_PAGE ((size_t)1 << 21)
#define SPARE ((size_t)40 << 20) /* bytes that are kept whatever is in use */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    size_t limit;               /* bytes that may be kept */
    size_t cached, peak_in_use, peak_held; /* bytes */
    size_t in_use, most, allocations, reused, returned; /* most: that were ever in use */
    int count[CLASSES];
    void *blocks[CLASSES][KEPT];
} pool;

/* The class of a size, and the size of its blocks: (4 + k) 2^e for k from 0 to 3. */
static int class_of(size_t size, size_t *block)
{
    int e = 63 - __builtin_clzll((unsigned long long)size) - 2;
    size_t quarter = (size_t)1 << e, quarters = (size + quarter - 1) >> e; /* from 4 to 8 */
    *block = quarters << e;
    if (quarters == 8) return (e + 1) * 4 < CLASSES ? (e + 1) * 4 : -1;
    return e * 4 + (int)(quarters - 4) < CLASSES ? e * 4 + (int)(quarters - 4) : -1;
}

static void *from_system(size_t size)
{
    void *block = NULL;
    if (posix_memalign(&block, size >= 2 * HUGE_PAGE ? HUGE_PAGE : 64, size) != 0) return NULL;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (size >= 2 * HUGE_PAGE) madvise(block, size, MADV_HUGEPAGE); /* one fault for 512 pages, where the system agrees */
#endif
    return block;
}

/* Gives freed memory back to the system: the C library, once it has seen large blocks freed, keeps tens of megabytes. */
static void trim(void)
{
#if defined(__GLIBC__) && !defined(TT_SANITIZED)
    malloc_trim(0);
#endif
}

static void note_use(size_t block)
{
    pool.in_use += block;
    if (pool.in_use > pool.peak_in_use) pool.peak_in_use = pool.in_use;
    if (pool.in_use > pool.most) pool.most = pool.in_use;
    if (pool.in_use + pool.cached > pool.peak_held) pool.peak_held = pool.in_use + pool.cached;
    pool.allocations++;
}

/* Takes kept blocks out of the pool until `excess` bytes are, into `out`, as few of them as fit; returns how many.  Locked. */
static int spare_blocks(size_t excess, void **out, int room)
{
    int taken = 0;
    while (excess > 0 && taken < room && pool.cached > SPARE) {
        int chosen = -1;
        for (int kind = 0; kind < CLASSES; kind++) { /* the smallest that is enough, else the largest */
            if (pool.count[kind] == 0) continue;
            chosen = kind;
            if ((size_t)(4 + kind % 4) << (kind / 4) >= excess) break;
        }
        if (chosen < 0) break;
        size_t block = (size_t)(4 + chosen % 4) << (chosen / 4);
        out[taken++] = pool.blocks[chosen][--pool.count[chosen]];
        pool.cached -= block;
        pool.returned++;
        excess -= excess < block ? excess : block;
    }
    return taken;
}

static void *allocate(void *context, size_t size)
{
    (void)context;
    if (size < TT_LARGE_BYTES) return malloc(size ? size : 1);
    size_t block;
    int kind = class_of(size, &block);
    void *found = NULL;
    pthread_mutex_lock(&lock);
    if (kind >= 0 && pool.count[kind] > 0) {
        found = pool.blocks[kind][--pool.count[kind]];
        pool.cached -= block;
        pool.reused++;
        note_use(block);
    }
    void *spare[KEPT];
    int spares = 0;
    if (found == NULL) {
        size_t needed = pool.in_use + block, most = needed > pool.most ? needed : pool.most, all = needed + pool.cached;
        if (all > most + most / 8) spares = spare_blocks(all - most - most / 8, spare, KEPT);
    }
    pthread_mutex_unlock(&lock);
    if (found != NULL) return found;
    for (int k = 0; k < spares; k++) free(spare[k]);
    if (spares > 0) trim();
    found = from_system(block);
    if (found == NULL) return NULL;
    pthread_mutex_lock(&lock);
    note_use(block);
    pthread_mutex_unlock(&lock);
    return found;
}

static void release(void *context, void *memory, size_t size)
{
    (void)context;
    if (memory == NULL || size < TT_LARGE_BYTES) {
        free(memory);
        return;
    }
    size_t block;
    int kind = class_of(size, &block);
    bool kept = false;
    pthread_mutex_lock(&lock);
    pool.in_use -= pool.in_use > block ? block : pool.in_use; /* less where the array was resized */
    if (kind >= 0 && pool.count[kind] < KEPT && pool.cached + block <= pool.limit) {
        pool.blocks[kind][pool.count[kind]++] = memory;
        pool.cached += block;
        kept = true;
    } else {
        pool.returned++;
    }
    pthread_mutex_unlock(&lock);
    if (!kept) free(memory);
}

static void *allocate_zeros(void *context, size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size) return NULL;
    void *memory = allocate(context, count * size);
    if (memory != NULL) memset(memory, 0, count * size);
    return memory;
}

/* NumPy does not say how large the block was, and frees it by its new size: so that is made a block's, too. */
static void *reallocate(void *context, void *memory, size_t size)
{
    (void)context;
    size_t block = size ? size : 1;
    if (size >= TT_LARGE_BYTES) class_of(size, &block);
    return realloc(memory, block);
}

static PyDataMem_Handler handler = {"tt_cached", 1, {NULL, allocate, allocate_zeros, reallocate, release}};

/* --- for Python --------------------------------------------------------------------------------------------- */

static size_t give_back(void)
{
    size_t freed = 0;
    for (int kind = 0; kind < CLASSES; kind++) {
        void *blocks[KEPT];
        pthread_mutex_lock(&lock);
        int count = pool.count[kind];
        memcpy(blocks, pool.blocks[kind], (size_t)count * sizeof(void *));
        size_t block = (size_t)(4 + kind % 4) << (kind / 4);
        pool.count[kind] = 0;
        pool.cached -= block * (size_t)count;
        pool.returned += (size_t)count;
        pthread_mutex_unlock(&lock);
        for (int k = 0; k < count; k++) free(blocks[k]);
        freed += block * (size_t)count;
    }
    return freed;
}

static PyObject *empty_cache(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromSize_t(give_back());
}

static PyObject *stats(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    pthread_mutex_lock(&lock);
    size_t in_use = pool.in_use, peak = pool.peak_in_use, cached = pool.cached, allocations = pool.allocations,
           reused = pool.reused, returned = pool.returned, limit = pool.limit, peak_held = pool.peak_held;
    pthread_mutex_unlock(&lock);
    return Py_BuildValue("{s:n,s:n,s:n,s:n,s:n,s:n,s:n,s:n}", "in_use", (Py_ssize_t)in_use, "peak_in_use", (Py_ssize_t)peak,
                         "cached", (Py_ssize_t)cached, "allocations", (Py_ssize_t)allocations, "reused",
                         (Py_ssize_t)reused, "returned", (Py_ssize_t)returned, "limit", (Py_ssize_t)limit, "peak_held", (Py_ssize_t)peak_held);
}

static PyObject *reset_peak(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    pthread_mutex_lock(&lock);
    pool.peak_in_use = pool.in_use;
    pool.peak_held = pool.in_use + pool.cached;
    pthread_mutex_unlock(&lock);
    Py_RETURN_NONE;
}

static PyObject *reset_counts(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    pthread_mutex_lock(&lock);
    pool.allocations = pool.reused = pool.returned = 0;
    pthread_mutex_unlock(&lock);
    Py_RETURN_NONE;
}

static PyObject *set_limit(PyObject *module, PyObject *bytes)
{
    (void)module;
    size_t limit = PyLong_AsSize_t(bytes);
    if (limit == (size_t)-1 && PyErr_Occurred()) return NULL;
    pthread_mutex_lock(&lock);
    pool.limit = limit;
    bool above = pool.cached > limit;
    pthread_mutex_unlock(&lock);
    if (above) give_back();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"stats", stats, METH_NOARGS, "Bytes in use, at most, kept and that may be kept; how many blocks were asked for and reused."},
    {"empty_cache", empty_cache, METH_NOARGS, "Give the kept blocks back to the system; return their bytes."},
    {"reset_peak", reset_peak, METH_NOARGS, "Let the peak begin at what is in use."},
    {"reset_counts", reset_counts, METH_NOARGS, "Count from zero again."},
    {"set_limit", set_limit, METH_O, "Set how many bytes may be kept."},
    {NULL, NULL, 0, NULL},
};

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }
static void after_fork_in_child(void) { pthread_mutex_init(&lock, NULL); }

static int exec(PyObject *module)
{
    static bool prepared = false;
    if (!prepared) {
        long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
        size_t sixteenth = pages > 0 && page > 0 ? (size_t)pages * (size_t)page / 16 : (size_t)1 << 26;
        pool.limit = sixteenth < ((size_t)1 << 30) ? sixteenth : (size_t)1 << 30;
        if (pthread_atfork(before_fork, after_fork, after_fork_in_child) != 0) {
            PyErr_NoMemory();
            return -1;
        }
        prepared = true;
    }
    PyObject *capsule = PyCapsule_New(&handler, "mem_handler", NULL); /* the name that NumPy asks for */
    if (capsule == NULL) return -1;
    int failed = PyModule_AddObjectRef(module, "handler", capsule);
    Py_DECREF(capsule);
    return failed;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)exec}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_memory", "The memory of large results.", 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__memory(void) { return PyModuleDef_Init(&definition); }
