/* From how many bytes on results lie in memory of the extension `_memory`. */
#ifndef TT_MEMORY_H
#define TT_MEMORY_H

#ifdef TT_SANITIZED /* each block is as large as what lies in it, and given back at once */
#define TT_LARGE_BYTES SIZE_MAX
#else
#define TT_LARGE_BYTES ((size_t)1 << 18)
#endif

#endif
