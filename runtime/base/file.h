/* Reads whole files, and hashes their contents. Any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Reads a file of less than `bytes_max` bytes. *text_out is from malloc and
 * ends with a 0, which *bytes_out does not count. Returns NULL, or the reason
 * of the failure, valid until the thread's next call; errno is set if the
 * system gave the reason. */
const char *xyl_file_read(const char *path, size_t bytes_max, char **text_out,
                          size_t *bytes_out);

#define XYL_HASH_SEED UINT64_C(0xcbf29ce484222325)

/* FNV-1a (Fowler, Noll, Vo), continued from `seed`. */
uint64_t xyl_hash(uint64_t seed, const void *data, size_t bytes);
