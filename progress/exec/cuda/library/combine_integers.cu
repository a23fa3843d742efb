/* Sums, products, logical and bitwise operations of integers. */
#include "include/xylem.h"
#include "progress/exec/cuda/library/combine.cuh"

struct sum_t {
    template <class T> static __device__ T apply(T l, T r)
    {
        return T(l + r);
    }
};
struct prod_t {
    template <class T> static __device__ T apply(T l, T r)
    {
        return T(l * r);
    }
};
struct land_t {
    template <class T> static __device__ T apply(T l, T r)
    {
        return T((l != 0) & (r != 0));
    }
};
struct lor_t {
    template <class T> static __device__ T apply(T l, T r)
    {
        return T((l | r) != 0);
    }
};
struct lxor_t {
    template <class T> static __device__ T apply(T l, T r)
    {
        return T((l != 0) ^ (r != 0));
    }
};
struct band_t {
    template <class T> static __device__ T apply(T l, T r)
    {
        return T(l & r);
    }
};
struct bor_t {
    template <class T> static __device__ T apply(T l, T r)
    {
        return T(l | r);
    }
};
struct bxor_t {
    template <class T> static __device__ T apply(T l, T r)
    {
        return T(l ^ r);
    }
};

/* Integers of 16 bits are multiplied as unsigned ones of 32 bits. In C they
 * would be promoted to int, whose overflow is undefined. */
struct wide16_t {
    typedef uint32_t wide;
    static __device__ wide widen(uint16_t value)
    {
        return value;
    }
    static __device__ uint16_t narrow(wide value)
    {
        return uint16_t(value);
    }
};

static const combine_entry_t none = {nullptr, 0};

template <class T, class Form> static combine_entry_t of_width(uint32_t op)
{
    switch (op) {
    case XYLEM_SUM:
        return combine_entry<T, sum_t, Form>();
    case XYLEM_PROD:
        return combine_entry<T, prod_t, Form>();
    case XYLEM_LAND:
        return combine_entry<T, land_t>();
    case XYLEM_LOR:
        return combine_entry<T, lor_t>();
    case XYLEM_LXOR:
        return combine_entry<T, lxor_t>();
    default:
        return none;
    }
}

static combine_entry_t of_bytes(uint32_t op, uint32_t bytes)
{
    switch (op) {
    case XYLEM_BAND:
        return combine_entry<uint8_t, band_t>(bytes);
    case XYLEM_BOR:
        return combine_entry<uint8_t, bor_t>(bytes);
    case XYLEM_BXOR:
        return combine_entry<uint8_t, bxor_t>(bytes);
    default:
        return none;
    }
}

static bool is_logical(uint32_t op)
{
    return op == XYLEM_LAND || op == XYLEM_LOR || op == XYLEM_LXOR;
}

static bool is_bitwise(uint32_t op)
{
    return op == XYLEM_BAND || op == XYLEM_BOR || op == XYLEM_BXOR;
}

combine_entry_t combine_of_integers(uint32_t op, uint32_t type)
{
    switch (type) {
    case XYLEM_BYTE:
        return of_bytes(op, 1);
    case XYLEM_BOOL:
        return is_logical(op) ? of_width<uint8_t, plain_t<uint8_t>>(op) : none;
    case XYLEM_INT8:
    case XYLEM_UINT8:
        return is_bitwise(op) ? of_bytes(op, 1)
                              : of_width<uint8_t, plain_t<uint8_t>>(op);
    case XYLEM_INT16:
    case XYLEM_UINT16:
        return is_bitwise(op) ? of_bytes(op, 2)
                              : of_width<uint16_t, wide16_t>(op);
    case XYLEM_INT32:
    case XYLEM_UINT32:
        return is_bitwise(op) ? of_bytes(op, 4)
                              : of_width<uint32_t, plain_t<uint32_t>>(op);
    case XYLEM_INT64:
    case XYLEM_UINT64:
        return is_bitwise(op) ? of_bytes(op, 8)
                              : of_width<uint64_t, plain_t<uint64_t>>(op);
    default:
        return none;
    }
}
