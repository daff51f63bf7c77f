/* Loops over lanes: partial results side by side, which compilers keep in vector registers (lanes.inc). */
#ifndef TT_LANES_H
#define TT_LANES_H

enum { LANES = 64, LANES_BLOCK = 16 * LANES };

#define LANES_ADD(a, x) (a) += (x)

/* Fetches what LANES elements of a type become in 1.5 KB: processors fetch ahead, but with AVX2 not far enough for sums of what
 * is in memory only.  Addresses behind the end are ignored. */
#define LANES_AHEAD(TYPE, x) \
    for (size_t ahead = 0; ahead < LANES * sizeof(TYPE); ahead += 64) __builtin_prefetch((const char *)(x) + 1536 + ahead)

#endif
