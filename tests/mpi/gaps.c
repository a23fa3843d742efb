/* Data with gaps, made by every function that makes types, moved by every
 * collective that moves blocks; each rank describes the same ints in a way of
 * its own. What must come out is what MPI_Unpack makes of them,
 * gaps included. */
#include "tests/mpi/mpitest.h"

enum { INTS = 60, KINDS = 16, RANKS_MAX = 16 };

static int rank, size;

/* ---- the types, all of 60 ints ---- */

static MPI_Datatype commit(MPI_Datatype type)
{
    MPI_Type_commit(&type);
    return type;
}

static MPI_Datatype make_blocks(int kind)
{
    static const int lengths[] = {7, 0, 20, 33}, places[] = {40, 3, 5, -30};
    static const MPI_Aint bytes[] = {160, 4, 20, -128};
    int even[20], i;
    MPI_Aint even_bytes[20];
    MPI_Datatype type;

    for (i = 0; i < 20; i++) {
        even[i] = 4 * ((i * 7) % 20);
        even_bytes[i] = 4 * even[i] + 4;
    }
    if (kind == 0)
        MPI_Type_indexed(4, lengths, places, MPI_INT, &type);
    else if (kind == 1)
        MPI_Type_create_hindexed(4, lengths, bytes, MPI_INT, &type);
    else if (kind == 2)
        MPI_Type_create_indexed_block(20, 3, even, MPI_INT, &type);
    else
        MPI_Type_create_hindexed_block(20, 3, even_bytes, MPI_INT, &type);
    return commit(type);
}

static MPI_Datatype make_array(int order)
{
    static const int sizes[] = {5, 6, 7}, parts[] = {3, 4, 5},
                     starts[] = {1, 2, 0};
    MPI_Datatype type;

    MPI_Type_create_subarray(3, sizes, parts, starts, order, MPI_INT, &type);
    return commit(type);
}

static MPI_Datatype make_struct(void)
{
    static const int lengths[] = {2, 10, 3, 0, 2};
    static const MPI_Aint places[] = {800, 0, 120, 4, 400};
    MPI_Datatype parts[5], type;

    MPI_Type_vector(5, 2, 3, MPI_INT, &parts[0]); /* 10 ints, twice */
    parts[1] = MPI_INT;
    MPI_Type_create_resized(MPI_INT, 0, 12, &parts[2]);
    parts[3] = MPI_INT;
    MPI_Type_contiguous(27, MPI_INT, &parts[4]);
    MPI_Type_create_struct(5, lengths, places, parts, &type);
    MPI_Type_free(&parts[0]);
    MPI_Type_free(&parts[2]);
    MPI_Type_free(&parts[4]);
    return type; /* 20 + 10 + 3 + 54 ints */
}

/* 12 ints in a struct, five times in a vector, with another extent. */
static MPI_Datatype make_nest(int low, int extent)
{
    static const int lengths[] = {4, 8};
    static const MPI_Aint places[] = {44, 0};
    const MPI_Datatype parts[] = {MPI_INT, MPI_INT};
    MPI_Datatype inner, wide, nest, type;

    MPI_Type_create_struct(2, lengths, places, parts, &inner);
    MPI_Type_create_resized(inner, 0, 80, &wide);
    MPI_Type_create_hvector(5, 1, 100, wide, &nest);
    MPI_Type_create_resized(nest, low, extent, &type);
    MPI_Type_free(&inner);
    MPI_Type_free(&wide);
    MPI_Type_free(&nest);
    return commit(type);
}

static MPI_Datatype make_darray(void)
{
    static const int sizes[] = {12, 10},
                     ways[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    static const int args[] = {MPI_DISTRIBUTE_DFLT_DARG, 1}, ranks[] = {1, 2};
    MPI_Datatype type;

    MPI_Type_create_darray(2, 1, 2, sizes, ways, args, ranks, MPI_ORDER_C,
                           MPI_INT, &type);
    return commit(type);
}

static MPI_Datatype make(int kind)
{
    MPI_Datatype type, other;

    switch (kind) {
    case 0:
        MPI_Type_contiguous(INTS, MPI_INT, &type);
        return commit(type);
    case 1:
        MPI_Type_vector(30, 2, 5, MPI_INT, &type);
        return commit(type);
    case 2:
        MPI_Type_create_hvector(INTS, 1, 12, MPI_INT, &type);
        return commit(type);
    case 3:
    case 4:
    case 5:
    case 6:
        return make_blocks(kind - 3);
    case 7:
        return make_array(MPI_ORDER_C);
    case 8:
        return make_array(MPI_ORDER_FORTRAN);
    case 9:
        return make_nest(0, 640);
    case 10:
        return make_nest(-16, 700);
    case 11:
        other = make_nest(0, 640);
        MPI_Type_dup(other, &type);
        MPI_Type_free(&other);
        return type;
    case 12:
        return make_darray();
    case 13: /* a column of a matrix */
        MPI_Type_vector(INTS, 1, 8, MPI_INT, &other);
        MPI_Type_create_resized(other, 0, 4, &type);
        MPI_Type_free(&other);
        return commit(type);
    case 14: /* backwards */
        MPI_Type_vector(INTS, 1, -2, MPI_INT, &type);
        return commit(type);
    default:
        MPI_Type_contiguous(10, MPI_INT, &other);
        MPI_Type_vector(6, 1, 2, other, &type);
        MPI_Type_free(&other);
        return commit(type);
    }
}

/* ---- buffers ---- */

typedef struct buffer {
    MPI_Datatype type;
    int elements;
    size_t bytes, begin;
    char *memory;
} buffer_t;

static void buffer_make(buffer_t *b, int kind, int elements)
{
    MPI_Aint low, extent, true_low, true_extent;
    size_t step;

    b->type = make(kind);
    b->elements = elements;
    MPI_Type_get_extent(b->type, &low, &extent);
    MPI_Type_get_true_extent(b->type, &true_low, &true_extent);
    step = (size_t)(true_extent + (extent < 0 ? -extent : extent));
    b->begin = (size_t)(true_low < 0 ? -true_low : true_low) + step;
    b->bytes = 2 * b->begin + step * (size_t)(elements + 1);
    b->memory = malloc(b->bytes);
    memset(b->memory, 0x5a, b->bytes);
}

static char *at(const buffer_t *b)
{
    return b->memory + b->begin;
}

/* Elements [first, first + count): the ints of the source. */
static void buffer_set(buffer_t *b, int first, int count, int from, int shift)
{
    MPI_Aint low, extent;
    int *ints = malloc((size_t)count * INTS * sizeof *ints), i, position = 0;
    int bytes = count * INTS * (int)sizeof *ints;

    MPI_Type_get_extent(b->type, &low, &extent);
    for (i = 0; i < count * INTS; i++)
        ints[i] = from * 1000003 + shift + i;
    MPI_Unpack(ints, bytes, &position, at(b) + first * extent, count, b->type,
               MPI_COMM_SELF);
    free(ints);
}

static void buffer_end(buffer_t *b)
{
    MPI_Type_free(&b->type);
    free(b->memory);
}

static void end_pair(buffer_t *got, buffer_t *wanted)
{
    CHECK(memcmp(got->memory, wanted->memory, got->bytes) == 0);
    buffer_end(got);
    buffer_end(wanted);
}

/* ---- collectives ---- */

static MPI_Request request;

static void wait(int is_now)
{
    if (!is_now)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void test_bcast(int kind, int n, int root, int now)
{
    buffer_t got, wanted;

    buffer_make(&got, kind, n);
    buffer_make(&wanted, kind, n);
    if (rank == root)
        buffer_set(&got, 0, n, root, n);
    buffer_set(&wanted, 0, n, root, n);
    if (now)
        MPI_Bcast(at(&got), n, got.type, root, MPI_COMM_WORLD);
    else
        MPI_Ibcast(at(&got), n, got.type, root, MPI_COMM_WORLD, &request);
    wait(now);
    end_pair(&got, &wanted);
}

/* To the root, or to all: `root` -1. */
static void test_gather(int kind, int other, int n, int root, int now)
{
    buffer_t sent, got, wanted;
    int i;

    buffer_make(&sent, other, n);
    buffer_make(&got, kind, n * size);
    buffer_make(&wanted, kind, n * size);
    buffer_set(&sent, 0, n, rank, 7);
    for (i = 0; i < size && (root < 0 || rank == root); i++)
        buffer_set(&wanted, i * n, n, i, 7);
    if (root < 0 && now)
        MPI_Allgather(at(&sent), n, sent.type, at(&got), n, got.type,
                      MPI_COMM_WORLD);
    else if (root < 0)
        MPI_Iallgather(at(&sent), n, sent.type, at(&got), n, got.type,
                       MPI_COMM_WORLD, &request);
    else if (now)
        MPI_Gather(at(&sent), n, sent.type, at(&got), n, got.type, root,
                   MPI_COMM_WORLD);
    else
        MPI_Igather(at(&sent), n, sent.type, at(&got), n, got.type, root,
                    MPI_COMM_WORLD, &request);
    wait(now);
    buffer_end(&sent);
    end_pair(&got, &wanted);
}

static void test_scatter(int kind, int other, int n, int root, int now)
{
    buffer_t sent, got, wanted;
    int i;

    buffer_make(&sent, other, n * size);
    buffer_make(&got, kind, n);
    buffer_make(&wanted, kind, n);
    for (i = 0; i < size; i++)
        buffer_set(&sent, i * n, n, i, root);
    buffer_set(&wanted, 0, n, rank, root);
    if (now)
        MPI_Scatter(at(&sent), n, sent.type, at(&got), n, got.type, root,
                    MPI_COMM_WORLD);
    else
        MPI_Iscatter(at(&sent), n, sent.type, at(&got), n, got.type, root,
                     MPI_COMM_WORLD, &request);
    wait(now);
    buffer_end(&sent);
    end_pair(&got, &wanted);
}

static void test_alltoall(int kind, int other, int n, int in_place)
{
    buffer_t sent, got, wanted;
    int i;

    buffer_make(&sent, other, n * size);
    buffer_make(&got, kind, n * size);
    buffer_make(&wanted, kind, n * size);
    for (i = 0; i < size; i++) {
        buffer_set(in_place ? &got : &sent, i * n, n, rank, 100 * i);
        buffer_set(&wanted, i * n, n, i, 100 * rank);
    }
    if (in_place)
        MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, at(&got), n, got.type,
                     MPI_COMM_WORLD);
    else
        MPI_Alltoall(at(&sent), n, sent.type, at(&got), n, got.type,
                     MPI_COMM_WORLD);
    buffer_end(&sent);
    end_pair(&got, &wanted);
}

static void test_in_place(int kind, int n)
{
    buffer_t got, wanted;
    int i;

    buffer_make(&got, kind, n * size);
    buffer_make(&wanted, kind, n * size);
    buffer_set(&got, rank * n, n, rank, 5);
    for (i = 0; i < size; i++)
        buffer_set(&wanted, i * n, n, i, 5);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, at(&got), n, got.type,
                  MPI_COMM_WORLD);
    end_pair(&got, &wanted);
}

/* ---- blocks of different lengths, the last one first ---- */

typedef struct blocks {
    int counts[RANKS_MAX], displs[RANKS_MAX], elements;
} blocks_t;

/* Block i has `n` elements, or none. */
static blocks_t blocks_of(int n, int shift)
{
    blocks_t b = {.elements = 0};
    int i;

    for (i = size - 1; i >= 0; i--) {
        b.counts[i] = (i + shift) % 4 == 3 ? 0 : n + (i + shift) % 2;
        b.displs[i] = b.elements + 1;
        b.elements += b.counts[i] + 2;
    }
    return b;
}

static void test_gatherv(int kind, int other, int n, int root, int now)
{
    blocks_t b = blocks_of(n, 0);
    int mine = b.counts[rank], in_place = n % 2, i;
    buffer_t sent, got, wanted;

    buffer_make(&sent, other, mine);
    buffer_make(&got, kind, b.elements);
    buffer_make(&wanted, kind, b.elements);
    in_place = in_place && (root < 0 || rank == root);
    if (in_place)
        buffer_set(&got, b.displs[rank], mine, rank, 7);
    else
        buffer_set(&sent, 0, mine, rank, 7);
    for (i = 0; i < size && (root < 0 || rank == root); i++)
        buffer_set(&wanted, b.displs[i], b.counts[i], i, 7);
#define SENT in_place ? MPI_IN_PLACE : at(&sent), mine, sent.type
#define GOT  at(&got), b.counts, b.displs, got.type
    if (root < 0 && now)
        MPI_Allgatherv(SENT, GOT, MPI_COMM_WORLD);
    else if (root < 0)
        MPI_Iallgatherv(SENT, GOT, MPI_COMM_WORLD, &request);
    else if (now)
        MPI_Gatherv(SENT, GOT, root, MPI_COMM_WORLD);
    else
        MPI_Igatherv(SENT, GOT, root, MPI_COMM_WORLD, &request);
#undef SENT
#undef GOT
    wait(now);
    buffer_end(&sent);
    end_pair(&got, &wanted);
}

static void test_scatterv(int kind, int other, int n, int root, int now)
{
    blocks_t b = blocks_of(n, 1);
    int mine = b.counts[rank], in_place = n % 2 && rank == root, i;
    buffer_t sent, got, wanted;

    buffer_make(&sent, other, b.elements);
    buffer_make(&got, kind, mine);
    buffer_make(&wanted, kind, mine);
    for (i = 0; i < size; i++)
        buffer_set(&sent, b.displs[i], b.counts[i], i, root);
    if (!in_place)
        buffer_set(&wanted, 0, mine, rank, root);
#define SENT at(&sent), b.counts, b.displs, sent.type
#define GOT  in_place ? MPI_IN_PLACE : at(&got), mine, got.type
    if (now)
        MPI_Scatterv(SENT, GOT, root, MPI_COMM_WORLD);
    else
        MPI_Iscatterv(SENT, GOT, root, MPI_COMM_WORLD, &request);
#undef SENT
#undef GOT
    wait(now);
    buffer_end(&sent);
    end_pair(&got, &wanted);
}

/* What a rank sends to another is as much as it gets from it. */
static void test_alltoallv(int kind, int other, int n, int in_place, int now)
{
    blocks_t b = {.elements = size * (n + 2)};
    buffer_t sent, got, wanted;
    int i;

    for (i = 0; i < size; i++) {
        b.counts[i] = (i + rank) % 3 == 2 ? 0 : n;
        b.displs[i] = (size - 1 - i) * (n + 2) + 1;
    }
    buffer_make(&sent, other, b.elements);
    buffer_make(&got, kind, b.elements);
    buffer_make(&wanted, kind, b.elements);
    for (i = 0; i < size; i++) {
        buffer_set(in_place ? &got : &sent, b.displs[i], b.counts[i], rank,
                   100 * i);
        buffer_set(&wanted, b.displs[i], b.counts[i], i, 100 * rank);
    }
#define SENT in_place ? MPI_IN_PLACE : at(&sent), b.counts, b.displs, sent.type
#define GOT  at(&got), b.counts, b.displs, got.type
    if (now)
        MPI_Alltoallv(SENT, GOT, MPI_COMM_WORLD);
    else
        MPI_Ialltoallv(SENT, GOT, MPI_COMM_WORLD, &request);
#undef SENT
#undef GOT
    wait(now);
    buffer_end(&sent);
    end_pair(&got, &wanted);
}

/* Each block has a buffer of its own kind, all in one memory; rank 1's are all
 * plain. */
static void test_alltoallw(int n, int round, int in_place, int now)
{
    buffer_t sent[RANKS_MAX], got[RANKS_MAX], wanted[RANKS_MAX];
    MPI_Datatype send_types[RANKS_MAX], recv_types[RANKS_MAX];
    int counts[RANKS_MAX], to[RANKS_MAX], from[RANKS_MAX], i;
    char *send_base, *recv_base;

    for (i = 0; i < size; i++) {
        int kind = rank == 1 ? 0 : (round + 3 * i + rank) % KINDS;
        kind = kind == 13 ? 12 : kind;
        counts[i] = (i + rank + round) % 4 == 3 ? 0 : n;
        buffer_make(&sent[i], (kind + 1) % 12, counts[i]);
        buffer_make(&got[i], kind, counts[i]);
        buffer_make(&wanted[i], kind, counts[i]);
        buffer_set(in_place ? &got[i] : &sent[i], 0, counts[i], rank, 100 * i);
        buffer_set(&wanted[i], 0, counts[i], i, 100 * rank);
        send_types[i] = sent[i].type;
        recv_types[i] = got[i].type;
    }
    /* Displacements are ints: the memories are copied into one. */
    for (i = 0, to[0] = from[0] = 0; i < size - 1; i++) {
        to[i + 1] = to[i] + (int)sent[i].bytes;
        from[i + 1] = from[i] + (int)got[i].bytes;
    }
    send_base = malloc((size_t)to[size - 1] + sent[size - 1].bytes);
    recv_base = malloc((size_t)from[size - 1] + got[size - 1].bytes);
    for (i = 0; i < size; i++) {
        memcpy(send_base + to[i], sent[i].memory, sent[i].bytes);
        memcpy(recv_base + from[i], got[i].memory, got[i].bytes);
        to[i] += (int)sent[i].begin;
        from[i] += (int)got[i].begin;
    }
#define SENT in_place ? MPI_IN_PLACE : send_base, counts, to, send_types
#define GOT  recv_base, counts, from, recv_types
    if (now)
        MPI_Alltoallw(SENT, GOT, MPI_COMM_WORLD);
    else
        MPI_Ialltoallw(SENT, GOT, MPI_COMM_WORLD, &request);
#undef SENT
#undef GOT
    wait(now);
    for (i = 0; i < size; i++) {
        memcpy(got[i].memory, recv_base + from[i] - got[i].begin, got[i].bytes);
        buffer_end(&sent[i]);
        end_pair(&got[i], &wanted[i]);
    }
    free(send_base);
    free(recv_base);
}

/* A struct of another signature, in a broadcast. */
static void test_struct(int root)
{
    MPI_Datatype type = make_struct();
    int sent[512], got[512], i;

    MPI_Type_commit(&type);
    for (i = 0; i < 512; i++) {
        sent[i] = i;
        got[i] = rank == root ? i : -1;
    }
    MPI_Bcast(got, 1, type, root, MPI_COMM_WORLD);
    for (i = 0; i < 30 && rank != root; i++)
        CHECK(got[i] == (i < 10 ? sent[i] : -1));
    MPI_Type_free(&type);
}

/* Types that are made for a few calls each, over and over: whatever handle
 * another one has had, and whatever was known of that. */
static MPI_Datatype make_passing(int kind)
{
    static const int ones[] = {1, 1, 1}, order[] = {2, 0, 1};
    MPI_Datatype type, other;

    switch (kind) {
    case 0:
        MPI_Type_vector(3, 1, 1, MPI_INT, &type);
        break;
    case 1:
        MPI_Type_vector(3, 1, 5, MPI_INT, &type);
        break;
    case 2: /* as long as its data, but in another order */
        MPI_Type_indexed(3, ones, order, MPI_INT, &type);
        break;
    case 3:
        MPI_Type_contiguous(3, MPI_INT, &type);
        break;
    case 4: /* the second of its data comes first */
        MPI_Type_indexed(3, ones, order, MPI_INT, &other);
        MPI_Type_contiguous(1, other, &type);
        MPI_Type_free(&other);
        break;
    default:
        MPI_Type_create_hvector(3, 1, 4, MPI_INT, &type);
    }
    return commit(type);
}

static void test_passing(int round)
{
    static const int places[6][3] = {{0, 1, 2}, {0, 5, 10}, {2, 0, 1},
                                     {0, 1, 2}, {2, 0, 1},  {0, 1, 2}};
    int kind = (round + rank) % 6, got[12], i, call;
    MPI_Datatype type = make_passing(kind);

    for (call = 0; call < 1 + round % 13; call++) {
        memset(got, 0xff, sizeof got);
        for (i = 0; i < 3 && rank == call % size; i++)
            got[places[kind][i]] = round * 100 + call * 3 + i;
        MPI_Bcast(got, 1, type, call % size, MPI_COMM_WORLD);
        for (i = 0; i < 3; i++) {
            CHECK(got[places[kind][i]] == round * 100 + call * 3 + i);
            got[places[kind][i]] = -1;
        }
        for (i = 0; i < 12; i++)
            CHECK(got[i] == -1);
    }
    MPI_Type_free(&type);
}

/* Made with large counts, where the library can. */
#pragma weak MPI_Type_vector_c
int MPI_Type_vector_c(MPI_Count count, MPI_Count length, MPI_Count step,
                      MPI_Datatype of, MPI_Datatype *made);

static void test_large_counts(MPI_Count blocks, MPI_Count step)
{
    int ints = (int)(blocks * step), *got, i;
    MPI_Datatype type;

    if (MPI_Type_vector_c == NULL)
        return;
    MPI_Type_vector_c(blocks, 2, step, MPI_INT, &type);
    MPI_Type_commit(&type);
    got = malloc((size_t)ints * sizeof *got);
    for (i = 0; i < ints; i++)
        got[i] = rank == 0 ? i : -1;
    MPI_Bcast(got, 1, type, 0, MPI_COMM_WORLD);
    for (i = 0; i < ints && rank != 0; i++)
        CHECK(got[i] == (i % step < 2 ? i : -1));
    free(got);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    int round, n, one, other;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    for (round = 0; round < 2 * KINDS; round++) {
        /* Few are packed at once, many on their way. */
        n = round % 5 == 4 ? 700 : round % 4 < 2 ? 70 : 1 + round % 3;
        one = (round + 5 * rank) % KINDS;
        other = (3 * round + rank) % KINDS;
        /* More than eight columns overlap. */
        test_bcast(one == 13 && n > 8 ? 12 : one, n, round % size, round & 1);
        one = one == 13 ? 12 : one;
        other = other == 13 ? 12 : other;
        test_gather(one, other, n, round % size, round & 1);
        test_gather(one, other, n, -1, round & 1);
        test_scatter(one, other, n, round % size, round & 1);
        test_alltoall(one, other, n, round % 4 == 3 && one != 14);
        test_in_place(one, n);
        test_gatherv(one, other, n, round % size, round & 1);
        test_gatherv(one, other, n, -1, round & 1);
        test_scatterv(one, other, n, round % size, round & 1);
        test_alltoallv(one, other, n, round % 4 == 3 && one != 14, round & 1);
        test_alltoallw(n, round, round % 4 == 2, round & 1);
        test_struct(round % size);
    }
    for (round = 0; round < 100; round++)
        test_passing(round);
    test_large_counts(7, 2);
    test_large_counts(7, 5);
    test_large_counts(7000, 5);
    return test_end("gaps");
}
