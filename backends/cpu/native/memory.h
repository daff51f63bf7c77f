/* From how many bytes on results lie in memory of the extension `_memory`. */
#ifndef TT_MEMORY_H
#define TT_MEMORY_H

#define TT_LARGE_BYTES ((size_t)1 << 18)

#endif
