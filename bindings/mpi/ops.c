/* Operations: MPI's own are xylem's; the program's are applied through
 * MPI_Reduce_local, which knows how to call what Fortran and C have defined.
 *
 * For each pair of an operation of the program's and a datatype there is an
 * operation of xylem's, kept for later calls. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/mpi/call.h"

enum { PAIRS_MAX = 128, STACK_BYTES = 4096, CHUNK_MAX = 1 << 30, ALIGN = 64 };

struct xmpi_op {
    MPI_Op handle;
    xmpi_type_t *type;
    xylem_op_t xylem;
    uint32_t users;
    int is_used;
};

/* An operation that the program has freed, but that calls need. */
static xmpi_op_t pairs[PAIRS_MAX];
static MPI_Op left[PAIRS_MAX];
static uint32_t left_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
    MPI_Op handle;
    xylem_op_t op;
} own[XYLEM_OP_COUNT];

/* ---- MPI's own ---- */

void xmpi_ops_open(void)
{
    const MPI_Op handles[XYLEM_OP_COUNT] = {
        [XYLEM_SUM] = MPI_SUM,       [XYLEM_PROD] = MPI_PROD,
        [XYLEM_MIN] = MPI_MIN,       [XYLEM_MAX] = MPI_MAX,
        [XYLEM_LAND] = MPI_LAND,     [XYLEM_LOR] = MPI_LOR,
        [XYLEM_LXOR] = MPI_LXOR,     [XYLEM_BAND] = MPI_BAND,
        [XYLEM_BOR] = MPI_BOR,       [XYLEM_BXOR] = MPI_BXOR,
        [XYLEM_MINLOC] = MPI_MINLOC, [XYLEM_MAXLOC] = MPI_MAXLOC};
    uint32_t i;

    for (i = 0; i < XYLEM_OP_COUNT; i++) {
        own[i].handle = handles[i];
        own[i].op = i;
    }
}

xylem_op_t xmpi_op_predefined(MPI_Op handle)
{
    uint32_t i;

    for (i = 0; i < XYLEM_OP_COUNT; i++)
        if (own[i].handle == handle)
            return own[i].op;
    return XYLEM_OP_COUNT;
}

int xmpi_op_is_named(MPI_Op handle)
{
    return xmpi_op_predefined(handle) != XYLEM_OP_COUNT ||
           handle == MPI_REPLACE || handle == MPI_NO_OP;
}

int xmpi_op_fits(xylem_op_t op, const xmpi_type_t *type)
{
    static const uint32_t arithmetic = 1u << XYLEM_SUM | 1u << XYLEM_PROD;
    static const uint32_t order = 1u << XYLEM_MIN | 1u << XYLEM_MAX;
    static const uint32_t logic =
        1u << XYLEM_LAND | 1u << XYLEM_LOR | 1u << XYLEM_LXOR;
    static const uint32_t bits =
        1u << XYLEM_BAND | 1u << XYLEM_BOR | 1u << XYLEM_BXOR;
    static const uint32_t places = 1u << XYLEM_MINLOC | 1u << XYLEM_MAXLOC;
    const uint32_t of_class[] = {[XMPI_OPAQUE] = 0,
                                 [XMPI_INTEGER] =
                                     arithmetic | order | logic | bits,
                                 [XMPI_FLOATING] = arithmetic | order,
                                 [XMPI_COMPLEX] = arithmetic,
                                 [XMPI_LOGICAL] = logic,
                                 [XMPI_BITS] = bits,
                                 [XMPI_PAIR] = places,
                                 [XMPI_HOSTS_LOGICAL] = logic,
                                 [XMPI_HOSTS_PAIR] = places};

    return (of_class[type->class] >> op & 1) != 0;
}

/* ---- the program's ---- */

/* right = left op right, for elements where they lie. */
static int apply(const xmpi_op_t *op, const void *left_at, void *right_at,
                 size_t count)
{
    const char *from = left_at;
    char *to = right_at;
    size_t now, bytes = (size_t)op->type->extent;
    int code = MPI_SUCCESS;

    for (; count > 0 && code == MPI_SUCCESS; count -= now) {
        now = count < CHUNK_MAX ? count : CHUNK_MAX;
        code = xmpi_host.Reduce_local(from, to, (int)now, op->type->handle,
                                      op->handle);
        from += now * bytes;
        to += now * bytes;
    }
    return code;
}

/* Where element 0 goes in `memory`, so that all have room and are aligned. */
static char *elements_in(char *memory, const xmpi_type_t *type, size_t count)
{
    int64_t low = type->true_low;

    if (type->extent < 0)
        low += type->extent * (int64_t)(count - 1);
    return memory + ((-low + ALIGN - 1) & ~(int64_t)(ALIGN - 1));
}

/* Packed elements of a type with gaps: combined where there is room. */
static void apply_packed(const xmpi_op_t *op, void *result, const void *left_at,
                         const void *right_at, size_t count)
{
    const xmpi_type_t *type = op->type;
    int64_t step = type->extent < 0 ? -type->extent : type->extent;
    size_t span = (size_t)(step * (int64_t)count + type->true_extent);
    char *memory, *a, *b;

    span = (span + 2 * (size_t)ALIGN) & ~((size_t)ALIGN - 1);
    memory = aligned_alloc(ALIGN, 2 * span);
    if (memory == NULL)
        abort();                 /* in a callback there is no way back */
    memset(memory, 0, 2 * span); /* gaps, too, may be looked at */
    a = elements_in(memory, type, count);
    b = a + span;
    xmpi_type_unpack(type, a, count, left_at);
    xmpi_type_unpack(type, b, count, right_at);
    apply(op, a, b, count);
    xmpi_type_pack(type, b, count, result);
    free(memory);
}

/* xylem's operation: result = left op right. */
static void combine(void *result, const void *left_at, const void *right_at,
                    size_t count, void *arg)
{
    const xmpi_op_t *op = arg;
    size_t bytes = count * (size_t)op->type->size;
    _Alignas(64) char room[STACK_BYTES];
    char *copy = room;

    if (!op->type->is_plain) {
        apply_packed(op, result, left_at, right_at, count);
        return;
    }
    if (result == right_at) {
        apply(op, left_at, result, count);
        return;
    }
    if (result != left_at) {
        memcpy(result, right_at, bytes);
        apply(op, left_at, result, count);
        return;
    }
    if (bytes > sizeof room)
        copy = malloc(bytes);
    if (copy == NULL)
        abort();
    memcpy(copy, right_at, bytes);
    apply(op, left_at, copy, count);
    memcpy(result, copy, bytes);
    if (copy != room)
        free(copy);
}

/* The lock is held. */
static void pair_release(xmpi_op_t *pair)
{
    xylem_context_t *context =
        atomic_load_explicit(&xmpi_state.context, memory_order_relaxed);

    if (context != NULL)
        xylem_op_destroy(context, pair->xylem);
    xmpi_type_drop(pair->type);
    *pair = (xmpi_op_t){.is_used = 0};
}

/* A place for a pair; the lock is held. */
static xmpi_op_t *pair_room(void)
{
    uint32_t i;

    for (i = 0; i < PAIRS_MAX; i++)
        if (!pairs[i].is_used)
            return &pairs[i];
    for (i = 0; i < PAIRS_MAX; i++)
        if (pairs[i].users == 0) {
            pair_release(&pairs[i]);
            return &pairs[i];
        }
    return NULL;
}

static xmpi_op_t *pair_make(MPI_Op handle, xmpi_type_t *type)
{
    xmpi_op_t *pair = pair_room();
    int commutes = 0;

    if (pair == NULL ||
        xmpi_host.Op_commutative(handle, &commutes) != MPI_SUCCESS)
        return NULL;
    *pair = (xmpi_op_t){.handle = handle, .type = type};
    if (xylem_op_create(
            atomic_load_explicit(&xmpi_state.context, memory_order_relaxed),
            combine, pair, commutes ? XYLEM_OP_COMMUTATIVE : 0,
            &pair->xylem) != XYLEM_OK)
        return NULL;
    xmpi_type_hold(type);
    pair->is_used = 1;
    return pair;
}

xmpi_op_t *xmpi_op_hold(MPI_Op handle, xmpi_type_t *type)
{
    xmpi_op_t *pair = NULL;
    uint32_t i;

    pthread_mutex_lock(&lock);
    for (i = 0; i < PAIRS_MAX && pair == NULL; i++)
        if (pairs[i].is_used && pairs[i].handle == handle &&
            pairs[i].type == type)
            pair = &pairs[i];
    if (pair == NULL)
        pair = pair_make(handle, type);
    if (pair != NULL)
        pair->users++;
    pthread_mutex_unlock(&lock);
    return pair;
}

static uint32_t users_of(MPI_Op handle)
{
    uint32_t i, users = 0;

    for (i = 0; i < PAIRS_MAX; i++)
        if (pairs[i].is_used && pairs[i].handle == handle)
            users += pairs[i].users;
    return users;
}

/* The lock is held. */
static void forget_pairs(MPI_Op handle)
{
    uint32_t i;

    for (i = 0; i < PAIRS_MAX; i++)
        if (pairs[i].is_used && pairs[i].handle == handle)
            pair_release(&pairs[i]);
}

void xmpi_op_drop(xmpi_op_t *op)
{
    MPI_Op handle;
    uint32_t i;

    if (op == NULL)
        return;
    pthread_mutex_lock(&lock);
    op->users--;
    handle = op->handle;
    for (i = 0; i < left_count && op->users == 0; i++)
        if (left[i] == handle && users_of(handle) == 0) {
            forget_pairs(handle);
            xmpi_host.Op_free(&handle);
            left[i] = left[--left_count];
            break;
        }
    pthread_mutex_unlock(&lock);
}

void xmpi_op_forget_type(const xmpi_type_t *type)
{
    uint32_t i;

    pthread_mutex_lock(&lock);
    for (i = 0; i < PAIRS_MAX; i++)
        if (pairs[i].is_used && pairs[i].type == type && pairs[i].users == 0)
            pair_release(&pairs[i]);
    pthread_mutex_unlock(&lock);
}

xylem_op_t xmpi_op_handle(const xmpi_op_t *op)
{
    return op->xylem;
}

void xmpi_ops_close(void)
{
    uint32_t i;

    pthread_mutex_lock(&lock);
    for (i = 0; i < PAIRS_MAX; i++)
        if (pairs[i].is_used)
            pair_release(&pairs[i]);
    pthread_mutex_unlock(&lock);
}

/* ---- MPI_Op_free ---- */

int xmpi_Op_free(MPI_Op *handle);

int xmpi_Op_free(MPI_Op *handle)
{
    int is_needed = 0;

    if (handle != NULL && *handle != MPI_OP_NULL &&
        !xmpi_op_is_named(*handle)) {
        pthread_mutex_lock(&lock);
        is_needed = users_of(*handle) != 0 && left_count < PAIRS_MAX;
        if (is_needed)
            left[left_count++] = *handle;
        else
            forget_pairs(*handle);
        pthread_mutex_unlock(&lock);
    }
    if (!is_needed)
        return xmpi_host.Op_free(handle);
    *handle = MPI_OP_NULL;
    return MPI_SUCCESS;
}
