/* A heap with guards: bytes before and after each block, and blocks that stay filled for a while after they are freed.
 *
 * Loaded before Python (LD_PRELOAD), it serves all libraries of the process, also those that no sanitizer compiled: NumPy,
 * SciPy, OpenBLAS.  `guard_check` walks over all blocks; called after each program, it names the one that wrote where it
 * must not.  What is read outside of a block, and what is written far outside, it does not see.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void __libc_free(void *);

#define TAIL 64
#define ALIVE 0xA11CEB10C5EEDF00ull
#define GUARD 0xA5
#define FREED 0xDB
#define KEPT 30000               /* freed blocks that stay filled */
#define KEPT_BYTES ((size_t)1 << 20) /* of each, at most */

typedef struct head {
    struct head *next, *prev;
    void *raw;
    size_t size;
    uint64_t number;
    uint64_t guard[2];
    uint64_t alive; /* next to the block */
} head;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static head list = {&list, &list, 0, 0, 0, {0, 0}, 0};
static head *kept[KEPT];
static size_t next_kept;
static uint64_t count;
static int reported;

static void say(const char *what, const head *block, size_t place, const unsigned char *bytes)
{
    char text[400];
    int length = snprintf(text, sizeof text, "guard: heap corruption: %s block %llu of %zu bytes at %p, at byte %zd:", what,
                          (unsigned long long)block->number, block->size, (const void *)(block + 1), (ssize_t)place);
    for (int k = 0; k < 16 && length < 380; k++) length += snprintf(text + length, sizeof text - (size_t)length, " %02x", bytes[k]);
    text[length++] = '\n';
    if (write(2, text, (size_t)length) < 0) return;
}

static size_t first_unlike(const unsigned char *bytes, size_t size, unsigned char wanted)
{
    for (size_t k = 0; k < size; k++)
        if (bytes[k] != wanted) return k;
    return size;
}

/* Whether the guards of a block are as they were. */
static int is_whole(head *block, const char *what)
{
    unsigned char *user = (unsigned char *)(block + 1);
    if (block->alive != ALIVE || block->guard[0] != ALIVE || block->guard[1] != ALIVE) {
        say(what, block, (size_t)-24, (unsigned char *)block->guard);
        block->alive = block->guard[0] = block->guard[1] = ALIVE;
        return 0;
    }
    size_t place = first_unlike(user + block->size, TAIL, GUARD);
    if (place == TAIL) return 1;
    say(what, block, block->size + place, user + block->size + place);
    memset(user + block->size, GUARD, TAIL);
    return 0;
}

static int is_untouched(head *block)
{
    unsigned char *user = (unsigned char *)(block + 1);
    size_t place = first_unlike(user, block->size, FREED);
    if (place == block->size) return 1;
    say("written after it was freed,", block, place, user + place);
    memset(user, FREED, block->size);
    return 0;
}

static void *take(size_t align, size_t size)
{
    if (align < 64) align = 64;
    if (size > PTRDIFF_MAX - align - sizeof(head) - TAIL) {
        errno = ENOMEM;
        return NULL;
    }
    char *raw = __libc_malloc(size + align + sizeof(head) + TAIL);
    if (raw == NULL) return NULL;
    /* 16 bytes after a multiple of 64, as often in real life, where no more is asked for. */
    uintptr_t user = ((uintptr_t)raw + sizeof(head) + align - 1) / align * align;
    head *block = (head *)user - 1;
    block->raw = raw;
    block->size = size;
    block->alive = block->guard[0] = block->guard[1] = ALIVE;
    memset((char *)user + size, GUARD, TAIL);
    pthread_mutex_lock(&lock);
    block->number = ++count;
    block->next = list.next;
    block->prev = &list;
    list.next->prev = block;
    list.next = block;
    pthread_mutex_unlock(&lock);
    return (void *)user;
}

void free(void *memory)
{
    if (memory == NULL) return;
    head *block = (head *)memory - 1;
    if (block->alive != ALIVE) {
        say("freed twice, or no block, or written before the", block, 0, (unsigned char *)&block->alive);
        abort();
    }
    int whole = is_whole(block, "written outside of the freed");
    pthread_mutex_lock(&lock);
    reported += !whole;
    block->next->prev = block->prev;
    block->prev->next = block->next;
    head *gone = block;
    if (block->size <= KEPT_BYTES) {
        block->alive = 0;
        memset(memory, FREED, block->size);
        gone = kept[next_kept];
        kept[next_kept] = block;
        next_kept = (next_kept + 1) % KEPT;
        if (gone != NULL) reported += !is_untouched(gone);
    }
    pthread_mutex_unlock(&lock);
    if (gone != NULL) __libc_free(gone->raw);
}

void *malloc(size_t size) { return take(16, size); }

void *calloc(size_t number, size_t size)
{
    size_t whole;
    if (__builtin_mul_overflow(number, size, &whole)) {
        errno = ENOMEM;
        return NULL;
    }
    void *memory = take(16, whole);
    if (memory != NULL) memset(memory, 0, whole);
    return memory;
}

void *realloc(void *memory, size_t size)
{
    if (memory == NULL) return malloc(size);
    if (size == 0) {
        free(memory);
        return NULL;
    }
    size_t before = ((head *)memory - 1)->size;
    void *other = malloc(size);
    if (other == NULL) return NULL;
    memcpy(other, memory, before < size ? before : size);
    free(memory);
    return other;
}

int posix_memalign(void **result, size_t align, size_t size)
{
    void *memory = take(align, size);
    if (memory == NULL) return ENOMEM;
    *result = memory;
    return 0;
}

void *aligned_alloc(size_t align, size_t size) { return take(align, size); }
void *memalign(size_t align, size_t size) { return take(align, size); }
void *valloc(size_t size) { return take(4096, size); }
size_t malloc_usable_size(void *memory) { return memory == NULL ? 0 : ((head *)memory - 1)->size; }

/* How many blocks were found damaged since the last time. */
int guard_check(void)
{
    pthread_mutex_lock(&lock);
    int found = reported;
    reported = 0;
    for (head *block = list.next; block != &list; block = block->next) found += !is_whole(block, "written outside of the live");
    for (size_t k = 0; k < KEPT; k++)
        if (kept[k] != NULL && kept[k]->size <= 4096) found += !is_untouched(kept[k]);
    pthread_mutex_unlock(&lock);
    return found;
}
