/* How a datatype was made, as MPI_Type_get_contents tells, and where its parts
 * lie. */
#pragma once

#include "bindings/mpi/call.h"

/* How many arguments of each kind a type was made with; `counts` are those of
 * MPI_Count. */
typedef struct xmpi_envelope {
    MPI_Count ints, addresses, counts, types;
    int combiner;
} xmpi_envelope_t;

int xmpi_type_envelope(MPI_Datatype handle, xmpi_envelope_t *has); /* 1: good */
/* Frees a type that MPI_Type_get_contents has given, unless it is MPI's own. */
void xmpi_type_give_back(MPI_Datatype *part);
/* 1: the type is MPI's own, in the table of types.c or not. */
int xmpi_type_is_mpis(MPI_Datatype handle);

/* The arguments of the call that has made a type. The numbers are its integers,
 * then its addresses, then its large counts: in this order the forms for int
 * and for MPI_Count are the same, except for subarrays and darrays. */
typedef struct xmpi_recipe {
    int combiner, is_large;
    size_t numbers_count, types_count;
    int64_t *numbers;
    MPI_Datatype *types;
} xmpi_recipe_t;

/* `count` adjacent elements of types[child]. */
typedef struct xmpi_row {
    int64_t displ; /* bytes */
    uint64_t count;
    size_t child;
} xmpi_row_t;

typedef struct xmpi_repetition {
    uint64_t count;
    int64_t stride; /* bytes */
} xmpi_repetition_t;

/* The rows, repeated; the outermost repetition is the first. */
typedef struct xmpi_pattern {
    size_t repetitions_count, rows_count;
    xmpi_repetition_t *repetitions;
    xmpi_row_t *rows;
} xmpi_pattern_t;

/* Reads recipe and pattern. The caller drops them, also on failure. 0: good. */
int xmpi_pattern_read(MPI_Datatype handle, xmpi_recipe_t *r, xmpi_pattern_t *p);
void xmpi_pattern_drop(xmpi_recipe_t *r, xmpi_pattern_t *p);

/* Whether the data lie in order without gaps, by how the type was made. */
int xmpi_type_is_in_a_row(MPI_Datatype handle);
