/* Sums, products, logical and bitwise operations of integers. */
#include "include/xylem.h"
#include "progress/exec/cuda/library/combine.cuh"

OPERATION(land_t, (l != 0) & (r != 0))
OPERATION(lor_t, (l | r) != 0)
OPERATION(lxor_t, (l != 0) ^ (r != 0))
OPERATION(band_t, l &r)
OPERATION(bor_t, l | r)
OPERATION(bxor_t, l ^ r)

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

template <class T> static combine_fn of_bits(uint32_t op)
{
    switch (op) {
    case XYLEM_BAND:
        return combine_by<T, band_t>();
    case XYLEM_BOR:
        return combine_by<T, bor_t>();
    case XYLEM_BXOR:
        return combine_by<T, bxor_t>();
    default:
        return nullptr;
    }
}

template <class T, class Form> static combine_fn of_width(uint32_t op)
{
    switch (op) {
    case XYLEM_SUM:
        return combine_by<T, sum_t, Form>();
    case XYLEM_PROD:
        return combine_by<T, prod_t, Form>();
    case XYLEM_LAND:
        return combine_by<T, land_t>();
    case XYLEM_LOR:
        return combine_by<T, lor_t>();
    case XYLEM_LXOR:
        return combine_by<T, lxor_t>();
    default:
        return of_bits<T>(op);
    }
}

static bool is_logical(uint32_t op)
{
    return op == XYLEM_LAND || op == XYLEM_LOR || op == XYLEM_LXOR;
}

combine_fn combine_of_integers(uint32_t op, uint32_t type)
{
    switch (type) {
    case XYLEM_BYTE:
        return of_bits<uint8_t>(op);
    case XYLEM_BOOL:
        return is_logical(op) ? of_width<uint8_t, plain_t<uint8_t>>(op)
                              : nullptr;
    case XYLEM_INT8:
    case XYLEM_UINT8:
        return of_width<uint8_t, plain_t<uint8_t>>(op);
    case XYLEM_INT16:
    case XYLEM_UINT16:
        return of_width<uint16_t, wide16_t>(op);
    case XYLEM_INT32:
    case XYLEM_UINT32:
        return of_width<uint32_t, plain_t<uint32_t>>(op);
    case XYLEM_INT64:
    case XYLEM_UINT64:
        return of_width<uint64_t, plain_t<uint64_t>>(op);
    default:
        return nullptr;
    }
}
