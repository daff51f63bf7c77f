/* Scratch memory that a later call takes again: fresh pages of the system cost more than most work that is done on them.
 *
 * An extension keeps a block for each of a few threads; a thread that finds none free, or needs more, asks the system.
 */
#ifndef TT_SCRATCH_H
#define TT_SCRATCH_H

#include <stdatomic.h>
#include <stdlib.h>

#ifdef TT_SANITIZED
#define SCRATCH_KEPT ((size_t)0)
#else
#define SCRATCH_KEPT ((size_t)48 << 20) /* the most bytes of one block */
#endif
#define SCRATCH_SHARED ((size_t)8 << 20) /* of each of the others */
#define SCRATCH_BLOCKS 16

typedef struct {
    size_t size;
    char pad[56]; /* what follows lies at a cache line's beginning */
} scratch_head;

static _Atomic(scratch_head *) scratch_kept[SCRATCH_BLOCKS]; /* the first may be large */

/* Memory of any content, or NULL; alignment is that of a cache line. */
static void *scratch_take(size_t size)
{
    scratch_head *found = NULL;
    for (int i = 0; i < SCRATCH_BLOCKS && found == NULL; i++) {
        if (atomic_load_explicit(&scratch_kept[i], memory_order_relaxed) != NULL) found = atomic_exchange(&scratch_kept[i], NULL);
    }
    if (found != NULL && found->size >= size) return found + 1;
    free(found);
#ifdef TT_SANITIZED /* not a byte more, and not kept: what is written outside of it is found */
    size_t whole = size + sizeof(scratch_head);
#else
    size_t whole = (size + sizeof(scratch_head) + 4159) / 4096 * 4096;
#endif
    void *memory = NULL;
    if (posix_memalign(&memory, 64, whole)) return NULL;
    found = memory;
    found->size = whole - sizeof(scratch_head);
    return found + 1;
}

static void scratch_give(void *memory)
{
    if (memory == NULL) return;
    scratch_head *block = (scratch_head *)memory - 1;
    for (int i = 0; i < SCRATCH_BLOCKS && block->size <= (i == 0 ? SCRATCH_KEPT : SCRATCH_SHARED); i++) {
        scratch_head *none = NULL;
        if (atomic_compare_exchange_strong(&scratch_kept[i], &none, block)) return;
    }
    free(block);
}

#endif
