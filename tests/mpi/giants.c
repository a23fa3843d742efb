/* Elements that are longer than 2 GiB, or reach further, in all collectives
 * that move data: in a row, with gaps, made of parts that reach over 2^31
 * bytes, at MPI_BOTTOM, by int and by large counts. Buffers are address space:
 * but for both ends of each element, and what lies around 2^31 bytes of it, its
 * memory is the same few MiB again and again, so that data there repeat
 * themselves.
 *
 *   giants        elements with data far apart, in all calls; one bcast of more
 *                 than 2 GiB
 *   giants long   elements of more than 2 GiB in all calls */
#define _GNU_SOURCE /* memfd_create */
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/mpi/mpi4.h"
#include "tests/mpi/mpitest.h"

enum {
    CHUNK = 1 << 22, /* of address space */
    PIECE = 1 << 18, /* what follows its pattern, of which */
    DATA = 3 << 16,  /* so much is data where there are gaps */
    STEP = 1021      /* of bytes that are looked at */
};

/* A type, and what is known of it. */
typedef struct giant {
    const char *name;
    MPI_Datatype type;
    uint64_t extent;
    uint64_t far; /* DATA bytes at both ends of so many, and nothing between */
    int has_gaps;
} giant_t;

typedef struct buffer {
    char *at;
    uint64_t elements, extent, bytes;
} buffer_t;

static int rank, size;

/* ---- buffers ---- */

/* Chunks that are not like all others. */
static int is_own(uint64_t extent, uint64_t inside)
{
    return inside < CHUNK || inside + CHUNK > extent ||
           (inside + CHUNK > (UINT64_C(1) << 31) &&
            inside < (UINT64_C(1) << 31) + CHUNK);
}

static buffer_t buffer_make(uint64_t elements, uint64_t extent)
{
    buffer_t b = {NULL, elements, extent, elements * extent};
    int file = memfd_create("giants", 0);
    uint64_t i, at;

    CHECK(file >= 0 && ftruncate(file, CHUNK) == 0);
    b.at = mmap(NULL, b.bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(b.at != MAP_FAILED);
    for (i = 0; i < elements; i++)
        for (at = 0; at < extent; at += CHUNK)
            if (!is_own(extent, at))
                CHECK(mmap(b.at + i * extent + at, CHUNK,
                           PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                           0) != MAP_FAILED);
    close(file);
    return b;
}

static void buffer_drop(buffer_t *b)
{
    munmap(b->at, b->bytes);
}

static int is_data(const giant_t *g, uint64_t inside)
{
    if (g->far != 0)
        return inside < DATA || (inside >= g->far && inside < g->far + DATA);
    return !g->has_gaps || inside % PIECE < DATA;
}

/* What element `number` of rank `from` has; never 0. */
static char value(const giant_t *g, int from, uint64_t number, uint64_t inside)
{
    uint64_t at = is_own(g->extent, inside / CHUNK * CHUNK)
                      ? inside + 7 * (uint64_t)from + 13 * number
                      : inside % CHUNK;

    return (char)(at / STEP % 127 + 1);
}

/* The next byte that is looked at: in chunks that are their own memory, and in
 * the first of the others. */
static uint64_t next(uint64_t extent, uint64_t inside)
{
    inside += STEP;
    while (inside < extent && inside / CHUNK > 1 &&
           !is_own(extent, inside / CHUNK * CHUNK))
        inside = (inside / CHUNK + 1) * CHUNK;
    return inside;
}

/* What rank `from` has, or (negative) nothing: then bytes are 0. */
static void buffer_set(const buffer_t *b, const giant_t *g, int from)
{
    uint64_t i, at;

    for (i = 0; i < b->elements; i++)
        for (at = 0; at < b->extent; at = next(b->extent, at))
            b->at[i * b->extent + at] =
                from >= 0 && is_data(g, at) ? value(g, from, i, at) : 0;
}

/* Element `i` is that which `from` has had as its `number`th. */
static void buffer_check(const buffer_t *b, const giant_t *g, uint64_t i,
                         int from, uint64_t number, const char *call)
{
    uint64_t at, wrong = 0;

    for (at = 0; at < b->extent; at = next(b->extent, at))
        wrong += b->at[i * b->extent + at] !=
                 (is_data(g, at) ? value(g, from, number, at) : 0);
    if (wrong != 0)
        printf("# rank %d: %s of %s: %llu wrong\n", rank, call, g->name,
               (unsigned long long)wrong);
    CHECK(wrong == 0);
}

/* ---- types ---- */

static MPI_Datatype done_with(MPI_Datatype *part, MPI_Datatype made)
{
    MPI_Type_commit(&made);
    if (part != NULL)
        MPI_Type_free(part);
    return made;
}

/* 3 times 3 times a third of a third. */
static giant_t giant_in_a_row(void)
{
    giant_t g = {.name = "a row", .extent = UINT64_C(9) << 28};
    MPI_Datatype third, made;

    MPI_Type_contiguous(3 << 28, MPI_BYTE, &third);
    MPI_Type_contiguous(3, third, &made);
    g.type = done_with(&third, made);
    return g;
}

/* As libraries for large counts make them: chunks, and the rest behind them. */
static giant_t giant_of_chunks(void)
{
    giant_t g = {.name = "chunks and a rest", .extent = UINT64_C(9) << 28};
    MPI_Datatype parts[2], made;
    int ones[2] = {1, 1};
    MPI_Aint places[2] = {0, (MPI_Aint)2 << 30};

    MPI_Type_vector(1 << 15, 1 << 16, 1 << 16, MPI_BYTE, &parts[0]);
    MPI_Type_contiguous(1 << 28, MPI_BYTE, &parts[1]);
    MPI_Type_create_struct(2, ones, places, parts, &made);
    MPI_Type_free(&parts[0]);
    g.type = done_with(&parts[1], made);
    return g;
}

/* Pieces with gaps behind them, many in a row of rows. */
static giant_t giant_with_gaps(void)
{
    giant_t g = {
        .name = "gaps", .extent = (uint64_t)PIECE * 12 * 1024, .has_gaps = 1};
    MPI_Datatype piece, vector, made;

    MPI_Type_contiguous(DATA, MPI_BYTE, &piece);
    MPI_Type_create_hvector(1024, 1, PIECE, piece, &vector);
    MPI_Type_free(&piece);
    MPI_Type_create_hvector(12, 1, (MPI_Aint)PIECE * 1024, vector, &made);
    MPI_Type_free(&vector);
    vector = made;
    MPI_Type_create_resized(vector, 0, (MPI_Aint)g.extent, &made);
    g.type = done_with(&vector, made);
    return g;
}

/* The first of two parts of an array whose rows are distributed. */
static giant_t giant_of_array(void)
{
    giant_t g = {.name = "an array", .extent = (uint64_t)PIECE * 12 * 1024};
    int sizes[2] = {12 * 1024, PIECE}, grid[2] = {1, 2};
    int ways[2] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK};
    int parts[2] = {MPI_DISTRIBUTE_DFLT_DARG, DATA};
    MPI_Datatype made;

    MPI_Type_create_darray(2, 0, 2, sizes, ways, parts, grid, MPI_ORDER_C,
                           MPI_BYTE, &made);
    g.type = done_with(NULL, made);
    g.has_gaps = 1;
    return g;
}

/* Little data, but far apart. */
static giant_t giant_far_apart(void)
{
    giant_t g = {.name = "far apart",
                 .extent = (UINT64_C(3) << 30) + CHUNK,
                 .far = UINT64_C(3) << 30};
    MPI_Aint places[2] = {0, (MPI_Aint)g.far};
    int lengths[2] = {DATA, DATA};
    MPI_Datatype part, made;

    MPI_Type_create_hindexed(2, lengths, places, MPI_BYTE, &part);
    MPI_Type_create_resized(part, 0, (MPI_Aint)g.extent, &made);
    g.type = done_with(&part, made);
    return g;
}

/* ---- calls ---- */

/* Arrays of a call of blocks, all of one element, in order or backwards. */
static int ones[16], places[16];
static MPI_Count large_ones[16];
static MPI_Aint large_places[16], byte_places[16];
static MPI_Datatype types[16];

static void complete(MPI_Request *request)
{
    int flag = 0;

    while (!flag)
        MPI_Test(request, &flag, MPI_STATUS_IGNORE);
}

static void start(MPI_Request *request)
{
    MPI_Start(request);
    complete(request);
    MPI_Request_free(request);
}

/* What is received is cleared, the call is made, and, where this rank HAS a
 * result, its elements i_ are to be those that FROM has as its NUMBERth. */
#define TRY(name, CALL, got, HAS, FROM, NUMBER)                                \
    do {                                                                       \
        uint64_t i_;                                                           \
        buffer_set(&(got), g, -1);                                             \
        CALL;                                                                  \
        for (i_ = 0; i_ < (got).elements && (HAS); i_++)                       \
            buffer_check(&(got), g, i_, (int)(FROM), (uint64_t)(NUMBER),       \
                         name);                                                \
    } while (0)

static void try_bcast(const giant_t *g, int forms)
{
    buffer_t b = buffer_make(1, g->extent);
    int root, form;
    MPI_Request r;

    for (form = 0; form < forms; form++) {
        root = form % size;
        buffer_set(&b, g, rank == root ? root : -1);
        switch (form) {
        case 0:
            MPI_Bcast(b.at, 1, g->type, root, MPI_COMM_WORLD);
            break;
        case 1:
            MPI_Bcast_c(b.at, 1, g->type, root, MPI_COMM_WORLD);
            break;
        case 2:
            MPI_Ibcast(b.at, 1, g->type, root, MPI_COMM_WORLD, &r);
            complete(&r);
            break;
        default:
            MPI_Bcast_init(b.at, 1, g->type, root, MPI_COMM_WORLD,
                           MPI_INFO_NULL, &r);
            start(&r);
            break;
        }
        buffer_check(&b, g, 0, root, 0, "bcast");
    }
    buffer_drop(&b);
}

/* From a rank to the root, or from the root to all. */
static void try_rooted(const giant_t *g, buffer_t *one, buffer_t *all)
{
    int last = size - 1, is_root = rank == last;

    buffer_set(one, g, rank);
    TRY("gather",
        MPI_Gather(one->at, 1, g->type, all->at, 1, g->type, last,
                   MPI_COMM_WORLD),
        *all, is_root, i_, 0);
    TRY("gatherv",
        MPI_Gatherv(one->at, 1, g->type, all->at, ones, places, g->type, last,
                    MPI_COMM_WORLD),
        *all, is_root, last - (int)i_, 0);
    TRY("gatherv_c",
        MPI_Gatherv_c(one->at, 1, g->type, all->at, large_ones, large_places,
                      g->type, last, MPI_COMM_WORLD),
        *all, is_root, last - (int)i_, 0);
    buffer_set(all, g, rank);
    TRY("scatter",
        MPI_Scatter(all->at, 1, g->type, one->at, 1, g->type, last,
                    MPI_COMM_WORLD),
        *one, 1, last, rank);
    TRY("scatterv",
        MPI_Scatterv(all->at, ones, places, g->type, one->at, 1, g->type, last,
                     MPI_COMM_WORLD),
        *one, 1, last, last - rank);
}

static void try_unrooted(const giant_t *g, buffer_t *one, buffer_t *all,
                         buffer_t *got)
{
    int before = (rank + size - 1) % size, behind = (rank + 1) % size, i;
    MPI_Comm ring;

    buffer_set(one, g, rank);
    TRY("allgather",
        MPI_Allgather(one->at, 1, g->type, got->at, 1, g->type, MPI_COMM_WORLD),
        *got, 1, i_, 0);
    TRY("allgatherv",
        MPI_Allgatherv(one->at, 1, g->type, got->at, ones, places, g->type,
                       MPI_COMM_WORLD),
        *got, 1, size - 1 - (int)i_, 0);
    buffer_set(all, g, rank);
    TRY("alltoall",
        MPI_Alltoall(all->at, 1, g->type, got->at, 1, g->type, MPI_COMM_WORLD),
        *got, 1, i_, rank);
    TRY("alltoallv",
        MPI_Alltoallv(all->at, ones, places, g->type, got->at, ones, places,
                      g->type, MPI_COMM_WORLD),
        *got, 1, size - 1 - (int)i_, size - 1 - rank);
    for (i = 0; i < size; i++)
        types[i] = g->type;
    TRY("alltoallw_c",
        MPI_Alltoallw_c(all->at, large_ones, byte_places, types, got->at,
                        large_ones, byte_places, types, MPI_COMM_WORLD),
        *got, 1, size - 1 - (int)i_, size - 1 - rank);
    if (g->far == 0 &&
        g->has_gaps) /* would go through buffers of their length */
        return;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED,
                                   1, &behind, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &ring);
    TRY("neighbor_allgather",
        MPI_Neighbor_allgather(all->at, 1, g->type, one->at, 1, g->type, ring),
        *one, 1, before, 0);
    MPI_Comm_free(&ring);
}

/* By absolute addresses; the blocks of the last ranks lie before the buffer. */
static void try_bottom(const giant_t *g, buffer_t *one, buffer_t *all)
{
    int length = 1, i, behind[16];
    MPI_Aint address;
    MPI_Datatype type;

    MPI_Get_address(one->at, &address);
    MPI_Type_create_hindexed(1, &length, &address, g->type, &type);
    MPI_Type_commit(&type);
    buffer_set(one, g, rank);
    for (i = 0; i < size; i++)
        behind[i] = -i;
    TRY("allgatherv at MPI_BOTTOM",
        MPI_Allgatherv(MPI_BOTTOM, 1, type,
                       all->at + (uint64_t)(size - 1) * g->extent, ones, behind,
                       g->type, MPI_COMM_WORLD),
        *all, 1, size - 1 - (int)i_, 0);
    buffer_set(one, g, rank == 0 ? 0 : -1);
    MPI_Bcast(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD);
    buffer_check(one, g, 0, 0, 0, "bcast at MPI_BOTTOM");
    MPI_Type_free(&type);
}

static void try_all(giant_t g)
{
    buffer_t one = buffer_make(1, g.extent);
    buffer_t all = buffer_make((uint64_t)size, g.extent);
    buffer_t got = buffer_make((uint64_t)size, g.extent);
    int i;

    for (i = 0; i < size; i++) {
        places[i] = size - 1 - i;
        ones[i] = 1;
        large_ones[i] = 1;
        large_places[i] = size - 1 - i;
        byte_places[i] = (size - 1 - i) * (MPI_Aint)g.extent;
    }
    try_bcast(&g, 4);
    try_rooted(&g, &one, &all);
    try_unrooted(&g, &one, &all, &got);
    try_bottom(&g, &one, &got);
    buffer_drop(&one);
    buffer_drop(&all);
    buffer_drop(&got);
    MPI_Type_free(&g.type);
}

static void try_one(giant_t g, int forms)
{
    try_bcast(&g, forms);
    MPI_Type_free(&g.type);
}

int main(int argc, char **argv)
{
    int word = 1, sum = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    try_all(giant_far_apart());
    try_one(giant_with_gaps(), 1);
    if (argc > 1) {
        try_one(giant_of_chunks(), 1);
        try_one(giant_of_array(), 1);
        try_all(giant_in_a_row());
        try_all(giant_with_gaps());
    }
    MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size);
    return test_end("giants");
}
