/* MIN and MAX of integers; MINLOC and MAXLOC. */
#include "include/xylem.h"
#include "progress/exec/cuda/library/combine.cuh"

/* The same in memory as the pairs of collectives/data/kernels.h. */
template <class T> struct pair_t {
    T value;
    int index;
};

/* The lower index counts if values are equal. */
template <class P> static __device__ P first_of(P l, P r, bool is_before)
{
    bool left = is_before || (l.value == r.value && l.index < r.index);
    return left ? l : r;
}
OPERATION(minloc_t, first_of(l, r, l.value < r.value))
OPERATION(maxloc_t, first_of(l, r, l.value > r.value))

template <class T> static combine_fn ordered(uint32_t op)
{
    if (op == XYLEM_MIN)
        return combine_by<T, min_t>();
    return op == XYLEM_MAX ? combine_by<T, max_t>() : nullptr;
}

template <class T> static combine_fn paired(uint32_t op)
{
    if (op == XYLEM_MINLOC)
        return combine_by<pair_t<T>, minloc_t>();
    return op == XYLEM_MAXLOC ? combine_by<pair_t<T>, maxloc_t>() : nullptr;
}

combine_fn combine_of_orders(uint32_t op, uint32_t type)
{
    switch (type) {
    case XYLEM_INT8:
        return ordered<int8_t>(op);
    case XYLEM_INT16:
        return ordered<int16_t>(op);
    case XYLEM_INT32:
        return ordered<int32_t>(op);
    case XYLEM_INT64:
        return ordered<int64_t>(op);
    case XYLEM_UINT8:
        return ordered<uint8_t>(op);
    case XYLEM_UINT16:
        return ordered<uint16_t>(op);
    case XYLEM_UINT32:
        return ordered<uint32_t>(op);
    case XYLEM_UINT64:
        return ordered<uint64_t>(op);
    case XYLEM_PAIR_INT16_INT:
        return paired<int16_t>(op);
    case XYLEM_PAIR_INT32_INT:
        return paired<int32_t>(op);
    case XYLEM_PAIR_INT64_INT:
        return paired<int64_t>(op);
    case XYLEM_PAIR_FLOAT32_INT:
        return paired<float>(op);
    case XYLEM_PAIR_FLOAT64_INT:
        return paired<double>(op);
    default:
        return nullptr;
    }
}
