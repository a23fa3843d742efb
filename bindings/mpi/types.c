/* Datatypes. The binding reads a type of the program's once and keeps the
 * result as an attribute of the type. MPI's own types stand in a table. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/mpi/call.h"
#include "bindings/mpi/pattern.h"

enum {
    TABLE_SIZE = 256, /* a power of two */
    SIGHTS = 64,      /* counters of how often types were seen */
    SIGHTS_MAX = 8    /* a type seen more often is kept */
};

static xmpi_type_t table[TABLE_SIZE];
static int keyval = MPI_KEYVAL_INVALID;
static _Atomic uint64_t sights[SIGHTS]; /* 256 * handle + count */

/* ---- MPI's own types ---- */

static unsigned slot_of(MPI_Datatype handle)
{
    uint64_t key = (uint64_t)(uintptr_t)handle;

    return (unsigned)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 56) &
           (TABLE_SIZE - 1);
}

/* MPI's own type in the table, or NULL; takes no lock. */
static xmpi_type_t *type_named(MPI_Datatype handle)
{
    unsigned slot = slot_of(handle), i;

    for (i = 0; i < TABLE_SIZE; i++) {
        xmpi_type_t *type = &table[(slot + i) & (TABLE_SIZE - 1)];
        if (type->size == 0)
            return NULL;
        if (type->handle == handle)
            return type;
    }
    return NULL;
}

static int extent_of(MPI_Datatype handle, uint64_t *size_out, int64_t *low_out,
                     int64_t *extent_out)
{
    MPI_Count size;
    MPI_Aint low, extent;

    if (xmpi_host.Type_size_x(handle, &size) != MPI_SUCCESS ||
        xmpi_host.Type_get_extent(handle, &low, &extent) != MPI_SUCCESS ||
        size < 0)
        return 1;
    *size_out = (uint64_t)size;
    *low_out = low;
    *extent_out = extent;
    return 0;
}

static void add_named(MPI_Datatype handle, xmpi_class_t class,
                      xylem_type_t kind)
{
    xmpi_type_t type = {
        .handle = handle, .is_named = 1, .is_mpis = 1, .class = class};
    unsigned slot = slot_of(handle);
    int64_t low;

    /* Optional types may be absent, and some are names of other types. */
    if (handle == MPI_DATATYPE_NULL || type_named(handle) != NULL ||
        extent_of(handle, &type.size, &low, &type.extent) != 0 ||
        type.size == 0)
        return;
    type.true_extent = type.extent;
    type.is_plain = low == 0 && type.extent == (int64_t)type.size;
    type.kind = kind;
    /* The host combines types that are not laid out as xylem's. */
    if (class != XMPI_OPAQUE && xylem_type_bytes(kind) != (size_t)type.extent)
        type.class = XMPI_OPAQUE;
    atomic_init(&type.users, 1);
    while (table[slot].size != 0)
        slot = (slot + 1) & (TABLE_SIZE - 1);
    table[slot] = type;
}

/* A library without Fortran has MPI_DATATYPE_NULL for Fortran's types. */
static const MPI_Datatype integers[] = {
    MPI_SIGNED_CHAR, MPI_SHORT,   MPI_INT,     MPI_LONG,     MPI_LONG_LONG,
    MPI_INT8_T,      MPI_INT16_T, MPI_INT32_T, MPI_INT64_T,  MPI_AINT,
    MPI_COUNT,       MPI_OFFSET,  MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2,
    MPI_INTEGER4,    MPI_INTEGER8};
static const MPI_Datatype naturals[] = {
    MPI_UNSIGNED_CHAR,      MPI_UNSIGNED_SHORT, MPI_UNSIGNED,
    MPI_UNSIGNED_LONG,      MPI_UINT8_T,        MPI_UINT16_T,
    MPI_UNSIGNED_LONG_LONG, MPI_UINT32_T,       MPI_UINT64_T};
static const struct {
    MPI_Datatype handle;
    xmpi_class_t class;
    xylem_type_t kind;
} others[] = {
    {MPI_FLOAT, XMPI_FLOATING, XYLEM_FLOAT32},
    {MPI_DOUBLE, XMPI_FLOATING, XYLEM_FLOAT64},
    {MPI_LONG_DOUBLE, XMPI_FLOATING, XYLEM_LONG_DOUBLE},
    {MPI_C_FLOAT_COMPLEX, XMPI_COMPLEX, XYLEM_COMPLEX_FLOAT32},
    {MPI_C_DOUBLE_COMPLEX, XMPI_COMPLEX, XYLEM_COMPLEX_FLOAT64},
    {MPI_C_LONG_DOUBLE_COMPLEX, XMPI_COMPLEX, XYLEM_COMPLEX_LONG_DOUBLE},
    {MPI_C_BOOL, XMPI_LOGICAL, XYLEM_BOOL},
    {MPI_CXX_BOOL, XMPI_LOGICAL, XYLEM_BOOL},
    {MPI_CXX_FLOAT_COMPLEX, XMPI_COMPLEX, XYLEM_COMPLEX_FLOAT32},
    {MPI_CXX_DOUBLE_COMPLEX, XMPI_COMPLEX, XYLEM_COMPLEX_FLOAT64},
    {MPI_CXX_LONG_DOUBLE_COMPLEX, XMPI_COMPLEX, XYLEM_COMPLEX_LONG_DOUBLE},
    {MPI_BYTE, XMPI_BITS, XYLEM_UINT8},
    {MPI_SHORT_INT, XMPI_PAIR, XYLEM_PAIR_INT16_INT},
    {MPI_2INT, XMPI_PAIR, XYLEM_PAIR_INT32_INT},
    {MPI_LONG_INT, XMPI_PAIR, XYLEM_PAIR_INT64_INT},
    {MPI_FLOAT_INT, XMPI_PAIR, XYLEM_PAIR_FLOAT32_INT},
    {MPI_DOUBLE_INT, XMPI_PAIR, XYLEM_PAIR_FLOAT64_INT},
    {MPI_LONG_DOUBLE_INT, XMPI_PAIR, XYLEM_PAIR_LONG_DOUBLE_INT},
    {MPI_CHAR, XMPI_OPAQUE, XYLEM_BYTE},
    {MPI_WCHAR, XMPI_OPAQUE, XYLEM_BYTE},
    {MPI_PACKED, XMPI_OPAQUE, XYLEM_BYTE},
    {MPI_REAL, XMPI_FLOATING, XYLEM_FLOAT32},
    {MPI_REAL4, XMPI_FLOATING, XYLEM_FLOAT32},
    {MPI_REAL8, XMPI_FLOATING, XYLEM_FLOAT64},
    {MPI_DOUBLE_PRECISION, XMPI_FLOATING, XYLEM_FLOAT64},
    {MPI_COMPLEX, XMPI_COMPLEX, XYLEM_COMPLEX_FLOAT32},
    {MPI_COMPLEX8, XMPI_COMPLEX, XYLEM_COMPLEX_FLOAT32},
    {MPI_COMPLEX16, XMPI_COMPLEX, XYLEM_COMPLEX_FLOAT64},
    {MPI_DOUBLE_COMPLEX, XMPI_COMPLEX, XYLEM_COMPLEX_FLOAT64},
    {MPI_2INTEGER, XMPI_PAIR, XYLEM_PAIR_INT32_INT},
    {MPI_LOGICAL, XMPI_OPAQUE, XYLEM_BYTE},
    {MPI_CHARACTER, XMPI_OPAQUE, XYLEM_BYTE},
    {MPI_2REAL, XMPI_OPAQUE, XYLEM_BYTE},
    {MPI_2DOUBLE_PRECISION, XMPI_OPAQUE, XYLEM_BYTE},
};

/* `first` is the kind of one byte; those of 2, 4 and 8 bytes follow it. */
static void add_integer(MPI_Datatype handle, xylem_type_t first)
{
    MPI_Count size = 0;

    if (handle == MPI_DATATYPE_NULL ||
        xmpi_host.Type_size_x(handle, &size) != MPI_SUCCESS)
        return;
    if (size == 1 || size == 2 || size == 4 || size == 8)
        add_named(handle, XMPI_INTEGER,
                  first + (xylem_type_t)__builtin_ctz((unsigned)size));
    else
        add_named(handle, XMPI_OPAQUE, XYLEM_BYTE);
}

static void add_all_named(void)
{
    size_t i;

    /* Handles may be pointers. NOLINTBEGIN(bugprone-sizeof-expression) */
    for (i = 0; i < sizeof integers / sizeof *integers; i++)
        add_integer(integers[i], XYLEM_INT8);
    for (i = 0; i < sizeof naturals / sizeof *naturals; i++)
        add_integer(naturals[i], XYLEM_UINT8);
    /* NOLINTEND(bugprone-sizeof-expression) */
    for (i = 0; i < sizeof others / sizeof *others; i++)
        add_named(others[i].handle, others[i].class, others[i].kind);
}

/* ---- the program's types ---- */

static void type_release(xmpi_type_t *type)
{
    MPI_Datatype handle = type->handle;

    if (type->layout_state == XMPI_LAYOUT_THERE && xmpi_context() != NULL)
        xylem_type_destroy(xmpi_context(), type->layout);
    if (type->is_left)
        xmpi_host.Type_free(&handle); /* calls type_forget() */
    free(type);
}

void xmpi_type_hold(xmpi_type_t *type)
{
    if (!type->is_named)
        atomic_fetch_add_explicit(&type->users, 1, memory_order_relaxed);
}

void xmpi_type_drop(xmpi_type_t *type)
{
    if (type != NULL && !type->is_named &&
        atomic_fetch_sub_explicit(&type->users, 1, memory_order_acq_rel) == 1)
        type_release(type);
}

/* The host deletes the attribute of a type that is freed. */
static int type_forget(MPI_Datatype handle, int key, void *value, void *extra)
{
    xmpi_type_t *type = value;

    (void)handle;
    (void)key;
    (void)extra;
    if (!type->is_left) /* else type_release() frees it */
        xmpi_type_drop(type);
    return MPI_SUCCESS;
}

int xmpi_types_open(void)
{
    add_all_named();
    return xmpi_host.Type_create_keyval(MPI_TYPE_NULL_COPY_FN, type_forget,
                                        &keyval, NULL) != MPI_SUCCESS;
}

static int is_committed(MPI_Datatype handle)
{
    int position = 0;
    char nothing[8] = {0};

    xmpi_has_erred = 0;
    return xmpi_host.Pack(nothing, 0, handle, nothing, 0, &position,
                          xmpi_state.self) == MPI_SUCCESS &&
           !xmpi_has_erred;
}

/* 1: the type was made by repeating one plain type of MPI's. */
static int repeats_a_named(MPI_Datatype handle)
{
    const xmpi_type_t *named;
    xmpi_envelope_t has;
    MPI_Aint addresses[1];
    MPI_Datatype part;
    int ints[3];

    if (!xmpi_type_envelope(handle, &has) ||
        (has.combiner != MPI_COMBINER_CONTIGUOUS &&
         has.combiner != MPI_COMBINER_VECTOR &&
         has.combiner != MPI_COMBINER_HVECTOR) ||
        has.ints > 3 || has.addresses > 1 || has.counts != 0 ||
        has.types != 1 ||
        xmpi_host.Type_get_contents(handle, (int)has.ints, (int)has.addresses,
                                    1, ints, addresses, &part) != MPI_SUCCESS)
        return 0;
    named = type_named(part);
    if (named == NULL)
        xmpi_type_give_back(&part);
    return named != NULL && named->is_plain;
}

/* 0: good; else the handle is no committed type. *doubt_out: 1 if the data have
 * no gaps, but perhaps not the order of a plain type. */
static int type_read(MPI_Datatype handle, xmpi_type_t *type, int *doubt_out)
{
    MPI_Aint true_low, true_extent;
    int64_t low;
    int may_be;

    *type = (xmpi_type_t){.handle = handle, .kind = XYLEM_BYTE};
    if (!is_committed(handle) ||
        extent_of(handle, &type->size, &low, &type->extent) != 0 ||
        xmpi_host.Type_get_true_extent(handle, &true_low, &true_extent) !=
            MPI_SUCCESS)
        return 1;
    type->true_low = true_low;
    type->true_extent = true_extent;
    /* Data that begins elsewhere, say at an absolute address, is not plain. */
    may_be = low == 0 && type->extent == (int64_t)type->size && true_low == 0 &&
             true_extent == type->extent;
    /* A type without gaps that repeats a plain type has its data in order. */
    type->is_plain = type->size == 0 || (may_be && repeats_a_named(handle));
    *doubt_out = may_be && !type->is_plain;
    return 0;
}

static xmpi_type_t *type_make(MPI_Datatype handle)
{
    xmpi_type_t *type = xmpi_memory(1, sizeof *type);
    int doubt;

    if (type_read(handle, type, &doubt) != 0) {
        free(type);
        return NULL;
    }
    atomic_init(&type->users, 1);
    type->is_mpis = xmpi_type_is_mpis(handle);
    if (doubt)
        type->is_plain = xmpi_type_is_in_a_row(handle);
    return type;
}

/* *type_out: the type kept with the handle, or NULL. Returns MPI's code. */
static int type_kept(MPI_Datatype handle, xmpi_type_t **type_out)
{
    xmpi_type_t *type = NULL;
    int found = 0;
    int code = xmpi_host.Type_get_attr(handle, keyval, (void *)&type, &found);

    *type_out = code == MPI_SUCCESS && found ? type : NULL;
    return code;
}

xmpi_type_t *xmpi_type_find(MPI_Datatype handle)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    xmpi_type_t *type = type_named(handle);

    if (type != NULL || handle == MPI_DATATYPE_NULL ||
        type_kept(handle, &type) != MPI_SUCCESS || type != NULL)
        return type;
    pthread_mutex_lock(&lock);
    type_kept(handle, &type);
    if (type == NULL) {
        type = type_make(handle);
        if (type != NULL &&
            xmpi_host.Type_set_attr(handle, keyval, type) != MPI_SUCCESS) {
            free(type);
            type = NULL;
        }
    }
    pthread_mutex_unlock(&lock);
    return type;
}

/* ---- types that do not stay ---- */

static _Atomic uint64_t *sights_of(MPI_Datatype handle)
{
    return &sights[slot_of(handle) % SIGHTS];
}

static uint64_t sights_key(MPI_Datatype handle)
{
    return (uint64_t)(uintptr_t)handle << 8;
}

/* Counts a look at the type; 1: it was seen SIGHTS_MAX times before. Types
 * share counters, and a count may be lost. */
static int is_seen_often(MPI_Datatype handle)
{
    _Atomic uint64_t *word = sights_of(handle);
    uint64_t key = sights_key(handle),
             seen = atomic_load_explicit(word, memory_order_relaxed);

    if ((seen & ~UINT64_C(255)) != key)
        seen = key;
    if ((seen & 255) < SIGHTS_MAX)
        atomic_store_explicit(word, seen + 1, memory_order_relaxed);
    return (seen & 255) == SIGHTS_MAX;
}

xmpi_type_t *xmpi_type_look(MPI_Datatype handle, xmpi_type_t *brief)
{
    xmpi_type_t *type = type_named(handle);
    int doubt;

    if (type != NULL || handle == MPI_DATATYPE_NULL)
        return type;
    type_kept(handle, &type);
    if (type != NULL)
        return type;
    if (is_seen_often(handle) || type_read(handle, brief, &doubt) != 0 || doubt)
        return xmpi_type_find(handle);
    brief->is_named = 1; /* no user has to hold it */
    return brief;
}

/* ---- types that go away ---- */

xmpi_type_t *xmpi_type_goes(MPI_Datatype handle)
{
    xmpi_type_t *type;
    _Atomic uint64_t *word = sights_of(handle);

    if (keyval == MPI_KEYVAL_INVALID || handle == MPI_DATATYPE_NULL ||
        type_named(handle) != NULL)
        return NULL;
    /* Forgets the count, as another type may get the same handle next. */
    if ((atomic_load_explicit(word, memory_order_relaxed) & ~UINT64_C(255)) ==
        sights_key(handle))
        atomic_store_explicit(word, 0, memory_order_relaxed);
    type_kept(handle, &type);
    return type;
}

/* A type that calls under way still need is freed when they end. */
int xmpi_type_leave(xmpi_type_t *type, MPI_Datatype *handle)
{
    if (atomic_load_explicit(&type->users, memory_order_acquire) == 1)
        return xmpi_host.Type_free(handle);
    type->is_left = 1;
    *handle = MPI_DATATYPE_NULL;
    xmpi_type_drop(type);
    return MPI_SUCCESS;
}
