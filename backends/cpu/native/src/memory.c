/* Memory of large results: blocks that were freed are kept and given out again, with their pages.
 *
 * Fresh pages cost more than many kernels: the system clears each one when it is first touched.  The C library keeps freed
 * memory only up to a size and gives the end of its heap back.  Here blocks have size classes, four for each power of two,
 * lie on lines of the cache, and are kept up to a limit, most recently freed first.  A program whose sizes change from one
 * part to the next would hold the blocks of all its parts: a fresh block lets others go as soon as all of them exceed what
 * was in use at most by an eighth.  Blocks above half of the limit, and blocks that were not used for ten seconds, go back
 * to the system.  NumPy frees an array with the handler that allocated it, so arrays may outlive their use by tt, and be
 * resized, as others.
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
#include <time.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "memory.h"

#define CLASSES 128
#define KEPT 256 /* blocks of a class */
#define HUGE_PAGE ((size_t)1 << 21)
#define SPARE ((size_t)40 << 20) /* bytes that are kept whatever is in use */
/* Milliseconds that a block is kept without use.  Fresh pages cost up to 0.4 s for a GB: for a program that uses all of them
 * again every ten seconds, 4% of its time. */
#define IDLE 10000
#define MAPPED ((size_t)32 << 20) /* bytes from which the C library maps a block alone, unless its heap has a gap that holds it */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    size_t limit;               /* bytes that may be kept */
    size_t cached, peak_in_use, peak_held; /* bytes */
    size_t in_use, most, allocations, reused, returned; /* most: that were ever in use */
    int64_t idle, next_look; /* milliseconds a block may be unused, and when to look for such blocks */
    int count[CLASSES];
    void *blocks[CLASSES][KEPT]; /* the last one was freed last */
    int64_t freed[CLASSES][KEPT];
} pool;

static int64_t milliseconds(void)
{
    struct timespec now;
#if defined(CLOCK_MONOTONIC_COARSE)
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
#else
    clock_gettime(CLOCK_MONOTONIC, &now);
#endif
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The class of a size, and the size of its blocks: (4 + k) 2^e for k from 0 to 3. */
static int class_of(size_t size, size_t *block)
{
    int e = 63 - __builtin_clzll((unsigned long long)size) - 2;
    size_t quarter = (size_t)1 << e, quarters = (size + quarter - 1) >> e; /* from 4 to 8 */
    *block = quarters << e;
    if (quarters == 8) return (e + 1) * 4 < CLASSES ? (e + 1) * 4 : -1;
    return e * 4 + (int)(quarters - 4) < CLASSES ? e * 4 + (int)(quarters - 4) : -1;
}

static size_t bytes_of(int kind) { return (size_t)(4 + kind % 4) << (kind / 4); }

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

/* Frees a block.  One that lay in a gap of the C library's heap would keep its pages there. */
static void free_block(void *block, size_t size)
{
#if defined(__linux__)
    if (size >= MAPPED) {
        uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = ((uintptr_t)block + page - 1) & ~(page - 1),
                  end = ((uintptr_t)block + size) & ~(page - 1);
        madvise((void *)begin, end - begin, MADV_DONTNEED);
    }
#else
    (void)size;
#endif
    free(block);
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
            if (bytes_of(kind) >= excess) break;
        }
        if (chosen < 0) break;
        size_t block = bytes_of(chosen);
        out[taken++] = pool.blocks[chosen][--pool.count[chosen]];
        pool.cached -= block;
        pool.returned++;
        excess -= excess < block ? excess : block;
    }
    return taken;
}

/* Takes blocks that were freed at `until` or before out of the pool, into `out`; returns how many.  Locked. */
static int idle_blocks(int64_t until, void **out, int room)
{
    int taken = 0;
    for (int kind = 0; kind < CLASSES && taken < room; kind++) {
        int old = 0, count = pool.count[kind];
        while (old < count && taken < room && pool.freed[kind][old] <= until) out[taken++] = pool.blocks[kind][old++];
        if (old == 0) continue;
        pool.count[kind] = count -= old;
        memmove(pool.blocks[kind], pool.blocks[kind] + old, (size_t)count * sizeof pool.blocks[kind][0]);
        memmove(pool.freed[kind], pool.freed[kind] + old, (size_t)count * sizeof pool.freed[kind][0]);
        pool.cached -= bytes_of(kind) * (size_t)old;
        pool.returned += (size_t)old;
    }
    return taken;
}

/* Gives blocks back to the system that no result has used for a while.  Called now and then, without the lock. */
static void give_back_idle(int64_t now)
{
    void *blocks[KEPT];
    pthread_mutex_lock(&lock);
    int count = now < pool.next_look ? 0 : idle_blocks(now - pool.idle, blocks, KEPT);
    if (count < KEPT && now >= pool.next_look) pool.next_look = now + pool.idle / 8;
    pthread_mutex_unlock(&lock);
    for (int k = 0; k < count; k++) free(blocks[k]);
    if (count > 0) trim();
}

static size_t give_back(void);

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
    if (found == NULL && give_back() > 0) found = from_system(block);
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
    bool kept = false, aligned = ((uintptr_t)memory & 63) == 0; /* arrays that were resized need not be */
    int64_t now = milliseconds();
    pthread_mutex_lock(&lock);
    pool.in_use -= pool.in_use > block ? block : pool.in_use; /* less where the array was resized */
    if (kind >= 0 && aligned && pool.count[kind] < KEPT && block <= pool.limit / 2 && pool.cached + block <= pool.limit) {
        pool.freed[kind][pool.count[kind]] = now;
        pool.blocks[kind][pool.count[kind]++] = memory;
        pool.cached += block;
        kept = true;
    } else {
        pool.returned++;
    }
    bool look = now >= pool.next_look;
    pthread_mutex_unlock(&lock);
    if (!kept) free_block(memory, size);
    if (look) give_back_idle(now);
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

/* Gives all kept blocks back to the system; returns their bytes. */
static size_t give_back(void)
{
    void *blocks[KEPT];
    size_t freed = 0;
    int count;
    do {
        pthread_mutex_lock(&lock);
        size_t before = pool.cached;
        count = idle_blocks(INT64_MAX, blocks, KEPT);
        freed += before - pool.cached;
        pthread_mutex_unlock(&lock);
        for (int k = 0; k < count; k++) free(blocks[k]);
    } while (count == KEPT);
    trim();
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

static PyObject *set_idle(PyObject *module, PyObject *number)
{
    (void)module;
    long long idle = PyLong_AsLongLong(number);
    if (idle == -1 && PyErr_Occurred()) return NULL;
    pthread_mutex_lock(&lock);
    pool.idle = idle;
    pool.next_look = 0;
    pthread_mutex_unlock(&lock);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"stats", stats, METH_NOARGS, "Bytes in use, at most, kept and that may be kept; how many blocks were asked for and reused."},
    {"empty_cache", empty_cache, METH_NOARGS, "Give the kept blocks back to the system; return their bytes."},
    {"reset_peak", reset_peak, METH_NOARGS, "Let the peak begin at what is in use."},
    {"reset_counts", reset_counts, METH_NOARGS, "Count from zero again."},
    {"set_limit", set_limit, METH_O, "Set how many bytes may be kept."},
    {"set_idle", set_idle, METH_O, "Set how many milliseconds a block is kept without use."},
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
        pool.idle = IDLE;
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
