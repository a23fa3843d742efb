/* Operations. xylem applies MPI's own to the types that it has. All others are
 * applied by MPI_Reduce_local, which knows how to call functions of Fortran and
 * of C: the program's, and MPI's own on types that only the host has.
 *
 * For these, each pair of an operation and a datatype has an operation of
 * xylem's, which is kept for later calls. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "bindings/mpi/call.h"

enum { PAIRS_KEPT = 128, STACK_BYTES = 4096, CHUNK_MAX = 1 << 30, ALIGN = 64 };

struct xmpi_op {
    MPI_Op handle;
    xmpi_type_t *type;
    xylem_op_t xylem;
    uint32_t users; /* calls */
    int is_left;    /* the program has freed the operation */
    /* The error of MPI_Reduce_local, kept until no call uses the pair. */
    _Atomic int code;
    LIST_ENTRY(xmpi_op) others;
};

static LIST_HEAD(, xmpi_op) pairs;
static uint32_t pair_count;
static pthread_mutex_t pairs_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- MPI's own ---- */

static const MPI_Op own[XYLEM_OP_COUNT] = {
    [XYLEM_SUM] = MPI_SUM,       [XYLEM_PROD] = MPI_PROD,
    [XYLEM_MIN] = MPI_MIN,       [XYLEM_MAX] = MPI_MAX,
    [XYLEM_LAND] = MPI_LAND,     [XYLEM_LOR] = MPI_LOR,
    [XYLEM_LXOR] = MPI_LXOR,     [XYLEM_BAND] = MPI_BAND,
    [XYLEM_BOR] = MPI_BOR,       [XYLEM_BXOR] = MPI_BXOR,
    [XYLEM_MINLOC] = MPI_MINLOC, [XYLEM_MAXLOC] = MPI_MAXLOC};

xylem_op_t xmpi_op_predefined(MPI_Op handle)
{
    uint32_t i = 0;

    while (i < XYLEM_OP_COUNT && own[i] != handle)
        i++;
    return (xylem_op_t)i;
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
                                 [XMPI_PAIR] = places};

    return (of_class[type->class] >> op & 1) != 0;
}

/* Tries the operation on one element, on this rank alone; errors return. */
static int host_combines(xylem_op_t op, const xmpi_type_t *type)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    _Alignas(ALIGN) char from[ALIGN] = {0}, to[ALIGN];
    int code;

    if (type->true_low != 0 || type->true_extent > ALIGN)
        return 0;
    pthread_mutex_lock(&lock);
    xmpi_has_erred = 0;
    code = xmpi_host.Allreduce(from, to, 1, type->handle, own[op],
                               xmpi_state.self);
    pthread_mutex_unlock(&lock);
    return code == MPI_SUCCESS && !xmpi_has_erred;
}

int xmpi_op_is_hosts(xylem_op_t op, xmpi_type_t *type)
{
    uint32_t bit = UINT32_C(1) << op;

    if (!type->is_mpis)
        return 0;
    if ((atomic_load_explicit(&type->asked, memory_order_acquire) & bit) == 0) {
        if (host_combines(op, type))
            atomic_fetch_or_explicit(&type->combined, bit,
                                     memory_order_relaxed);
        atomic_fetch_or_explicit(&type->asked, bit, memory_order_release);
    }
    return (atomic_load_explicit(&type->combined, memory_order_relaxed) &
            bit) != 0;
}

/* ---- the program's ---- */

/* right = left op right, for elements that are not packed. */
static void pair_apply(xmpi_op_t *op, const void *left_at, void *right_at,
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
    if (code != MPI_SUCCESS)
        atomic_store_explicit(&op->code, code, memory_order_relaxed);
}

/* The place of element 0 in `memory`: all elements fit and are aligned. */
static char *elements_in(char *memory, const xmpi_type_t *type, size_t count)
{
    int64_t low = type->true_low;

    if (type->extent < 0)
        low += type->extent * (int64_t)(count - 1);
    return memory + ((-low + ALIGN - 1) & ~(int64_t)(ALIGN - 1));
}

/* Combines packed elements of a type with gaps: unpacks them into other memory,
 * combines them there, and packs the result. */
static void pair_apply_packed(xmpi_op_t *op, void *result, const void *left_at,
                              const void *right_at, size_t count)
{
    const xmpi_type_t *type = op->type;
    int64_t step = type->extent < 0 ? -type->extent : type->extent;
    size_t span = (size_t)(step * (int64_t)count + type->true_extent);
    char *memory, *a, *b;

    span = (span + 2 * (size_t)ALIGN) & ~((size_t)ALIGN - 1);
    memory = aligned_alloc(ALIGN, 2 * span);
    if (memory == NULL)
        abort();                 /* a callback cannot return an error */
    memset(memory, 0, 2 * span); /* the operation may also read gaps */
    a = elements_in(memory, type, count);
    b = a + span;
    xmpi_type_pack(type, XMPI_UNPACK, a, count, (void *)(uintptr_t)left_at);
    xmpi_type_pack(type, XMPI_UNPACK, b, count, (void *)(uintptr_t)right_at);
    pair_apply(op, a, b, count);
    xmpi_type_pack(type, XMPI_PACK, b, count, result);
    free(memory);
}

/* xylem's operation: result = left op right. */
static void pair_combine(void *result, const void *left_at,
                         const void *right_at, size_t count, void *arg)
{
    xmpi_op_t *op = arg;
    size_t bytes = count * (size_t)op->type->size;
    _Alignas(64) char room[STACK_BYTES];
    char *copy = room;

    if (!op->type->is_plain) {
        pair_apply_packed(op, result, left_at, right_at, count);
        return;
    }
    if (result == right_at) {
        pair_apply(op, left_at, result, count);
        return;
    }
    if (result != left_at) {
        memcpy(result, right_at, bytes);
        pair_apply(op, left_at, result, count);
        return;
    }
    if (bytes > sizeof room)
        copy = malloc(bytes);
    if (copy == NULL)
        abort();
    memcpy(copy, right_at, bytes);
    pair_apply(op, left_at, copy, count);
    memcpy(result, copy, bytes);
    if (copy != room)
        free(copy);
}

/* The lock is held, here and in the functions on pairs below. */
static void pair_release(xmpi_op_t *pair)
{
    xylem_context_t *context = xmpi_context();

    if (context != NULL)
        xylem_op_destroy(context, pair->xylem);
    xmpi_type_drop(pair->type);
    LIST_REMOVE(pair, others);
    pair_count--;
    free(pair);
}

/* Frees pairs that no call needs: those of an operation, those of a type, or
 * (MPI_OP_NULL, NULL) all. */
static void pairs_forget(MPI_Op handle, const xmpi_type_t *type)
{
    xmpi_op_t *pair, *next;

    for (pair = LIST_FIRST(&pairs); pair != NULL; pair = next) {
        next = LIST_NEXT(pair, others);
        if (pair->users == 0 &&
            (handle == MPI_OP_NULL || pair->handle == handle) &&
            (type == NULL || pair->type == type))
            pair_release(pair);
    }
}

static xmpi_op_t *pair_find(MPI_Op handle, const xmpi_type_t *type)
{
    xmpi_op_t *pair;

    LIST_FOREACH(pair, &pairs, others)
    if (pair->handle == handle && (type == NULL || pair->type == type))
        break;
    return pair;
}

static xmpi_op_t *pair_make(MPI_Op handle, xmpi_type_t *type)
{
    xylem_context_t *context = xmpi_context();
    xmpi_op_t *pair = calloc(1, sizeof *pair);
    int commutes = 0;

    if (pair_count >= PAIRS_KEPT)
        pairs_forget(MPI_OP_NULL, NULL);
    if (pair == NULL)
        return NULL;
    pair->handle = handle;
    pair->type = type;
    if (xmpi_host.Op_commutative(handle, &commutes) != MPI_SUCCESS ||
        xylem_op_create(context, pair_combine, pair,
                        commutes ? XYLEM_OP_COMMUTATIVE : 0,
                        &pair->xylem) != XYLEM_OK) {
        free(pair);
        return NULL;
    }
    xmpi_type_hold(type);
    LIST_INSERT_HEAD(&pairs, pair, others);
    pair_count++;
    return pair;
}

xmpi_op_t *xmpi_op_hold(MPI_Op handle, xmpi_type_t *type)
{
    xmpi_op_t *pair;

    pthread_mutex_lock(&pairs_lock);
    pair = pair_find(handle, type);
    if (pair == NULL)
        pair = pair_make(handle, type);
    if (pair != NULL)
        pair->users++;
    pthread_mutex_unlock(&pairs_lock);
    if (pair != NULL)
        xmpi_work_count_host_op(1);
    return pair;
}

void xmpi_op_drop(xmpi_op_t *op)
{
    MPI_Op handle;

    if (op == NULL)
        return;
    xmpi_work_count_host_op(-1);
    pthread_mutex_lock(&pairs_lock);
    handle = op->handle;
    if (--op->users == 0)
        atomic_store_explicit(&op->code, MPI_SUCCESS, memory_order_relaxed);
    if (op->users == 0 && op->is_left) {
        pair_release(op);
        if (pair_find(handle, NULL) == NULL)
            xmpi_host.Op_free(&handle);
    }
    pthread_mutex_unlock(&pairs_lock);
}

int xmpi_op_code(const xmpi_op_t *op)
{
    return op == NULL ? MPI_SUCCESS
                      : atomic_load_explicit(&op->code, memory_order_relaxed);
}

xylem_op_t xmpi_op_handle(const xmpi_op_t *op)
{
    return op->xylem;
}

void xmpi_ops_close(void)
{
    pthread_mutex_lock(&pairs_lock);
    while (!LIST_EMPTY(&pairs))
        pair_release(LIST_FIRST(&pairs));
    pthread_mutex_unlock(&pairs_lock);
}

/* ---- MPI_Op_free ---- */

/* An operation that calls under way still need is freed when they end. */
int xmpi_Op_free(MPI_Op *handle)
{
    xmpi_op_t *pair;
    int is_needed = 0;

    if (handle != NULL && *handle != MPI_OP_NULL &&
        !xmpi_op_is_named(*handle)) {
        pthread_mutex_lock(&pairs_lock);
        pairs_forget(*handle, NULL);
        LIST_FOREACH(pair, &pairs, others)
        if (pair->handle == *handle)
            is_needed = pair->is_left = 1;
        pthread_mutex_unlock(&pairs_lock);
    }
    if (!is_needed)
        return xmpi_host.Op_free(handle);
    *handle = MPI_OP_NULL;
    return MPI_SUCCESS;
}

int xmpi_Type_free(MPI_Datatype *handle)
{
    xmpi_type_t *type = handle == NULL ? NULL : xmpi_type_goes(*handle);

    if (type == NULL)
        return xmpi_host.Type_free(handle);
    pthread_mutex_lock(&pairs_lock);
    pairs_forget(MPI_OP_NULL, type);
    pthread_mutex_unlock(&pairs_lock);
    return xmpi_type_leave(type, handle);
}
