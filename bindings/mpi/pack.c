/* Packs elements by MPI_Pack, and unpacks them; if one element is too long for
 * MPI_Pack, each of its parts goes through it. */
#include <stdlib.h>
#include <string.h>

#include "bindings/mpi/call.h"
#include "bindings/mpi/pattern.h"

enum { PACK_BYTES_MAX = 1 << 30 /* MPI_Pack counts in int */ };

/* The number of elements that one MPI_Pack can take; 0: not even one. */
static uint64_t at_once(const xmpi_type_t *type)
{
    return type->size == 0 ? 0 : PACK_BYTES_MAX / type->size;
}

/* Makes a type of `count` elements that lie one byte before its address. */
static int one_byte_before(MPI_Datatype handle, int count, MPI_Datatype *made)
{
    MPI_Aint displ = -1;
    int code = xmpi_host.Type_create_hindexed(1, &count, &displ, handle, made);

    return code == MPI_SUCCESS ? xmpi_host.Type_commit(made) : code;
}

/* Packs or unpacks `count` elements, as many as MPI_Pack can take at once. */
static int pack_some(const xmpi_type_t *type, xmpi_way_t way, uintptr_t user,
                     int count, uintptr_t packed)
{
    int bytes = (int)((uint64_t)count * type->size), position = 0, code;
    MPI_Datatype handle = type->handle;
    int is_moved = user == 0; /* MPICH refuses the address 0 */

    if (is_moved) {
        code = one_byte_before(type->handle, count, &handle);
        if (code != MPI_SUCCESS)
            return code;
        user++;
        count = 1;
    }
    code =
        way == XMPI_PACK
            ? xmpi_host.Pack((const void *)user, count, handle, (void *)packed,
                             bytes, &position, xmpi_state.self)
            : xmpi_host.Unpack((const void *)packed, bytes, &position,
                               (void *)user, count, handle, xmpi_state.self);
    if (is_moved)
        xmpi_host.Type_free(&handle);
    return code;
}

/* Types nest, as deep as the program has made them.
 * NOLINTBEGIN(misc-no-recursion) */

typedef struct packing {
    const xmpi_pattern_t *pattern;
    xmpi_type_t *const *children;
    xmpi_way_t way;
    uintptr_t packed; /* moves on */
} packing_t;

/* Packs the repetitions from `level` inwards, of the element at `user`. */
static int pattern_pack(packing_t *packing, size_t level, uintptr_t user)
{
    const xmpi_pattern_t *p = packing->pattern;
    int code = MPI_SUCCESS;
    uint64_t k;
    size_t i;

    if (level < p->repetitions_count) {
        const xmpi_repetition_t *by = &p->repetitions[level];
        for (k = 0; k < by->count && code == MPI_SUCCESS; k++)
            code = pattern_pack(packing, level + 1,
                                user + (uintptr_t)k * (uintptr_t)by->stride);
        return code;
    }
    for (i = 0; i < p->rows_count && code == MPI_SUCCESS; i++) {
        const xmpi_row_t *row = &p->rows[i];
        const xmpi_type_t *child = packing->children[row->child];
        code = xmpi_type_pack(child, packing->way,
                              (void *)(user + (uintptr_t)row->displ),
                              row->count, (void *)packing->packed);
        packing->packed += row->count * child->size;
    }
    return code;
}

/* Commits the parts, as MPI_Pack requires. The program does not notice: it has
 * committed its own types among the parts already, or does not use them. */
static int pack_parts(const xmpi_type_t *type, xmpi_way_t way, uintptr_t user,
                      uintptr_t packed)
{
    xmpi_recipe_t r;
    xmpi_pattern_t p;
    xmpi_type_t **children;
    int code = xmpi_pattern_read(type->handle, &r, &p) != 0 ? MPI_ERR_COUNT
                                                            : MPI_SUCCESS;
    size_t i;

    children = calloc(r.types_count + 1, sizeof(xmpi_type_t *));
    if (children == NULL)
        code = MPI_ERR_NO_MEM;
    for (i = 0; i < r.types_count && code == MPI_SUCCESS; i++) {
        code = xmpi_host.Type_commit(&r.types[i]);
        children[i] = xmpi_type_find(r.types[i]);
        if (children[i] == NULL)
            code = MPI_ERR_TYPE;
    }
    if (code == MPI_SUCCESS)
        code = pattern_pack(&(packing_t){&p, children, way, packed}, 0, user);
    free(children);
    xmpi_pattern_drop(&r, &p);
    return code;
}

int xmpi_type_pack(const xmpi_type_t *type, xmpi_way_t way, void *user,
                   uint64_t count, void *packed)
{
    uint64_t most = at_once(type), now, done = 0;
    int code = MPI_SUCCESS;

    if (type->size == 0 || count == 0)
        return MPI_SUCCESS;
    if (type->is_plain) {
        memcpy(way == XMPI_PACK ? packed : user,
               way == XMPI_PACK ? user : packed, count * type->size);
        return MPI_SUCCESS;
    }
    for (; done < count && code == MPI_SUCCESS; done += now) {
        uintptr_t at = (uintptr_t)user + done * (uint64_t)type->extent;
        uintptr_t to = (uintptr_t)packed + done * type->size;
        now = most == 0 ? 1 : count - done < most ? count - done : most;
        code = most == 0 ? pack_parts(type, way, at, to)
                         : pack_some(type, way, at, (int)now, to);
    }
    return code;
}

/* NOLINTEND(misc-no-recursion) */
