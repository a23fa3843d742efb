/* Floating-point and complex numbers. The build (-fmad=false) does not fuse
 * products with sums, so results equal those of the processor's kernels. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "include/xylem.h"
#include "progress/exec/cuda/library/combine.cuh"

template <class T> struct alignas(2 * sizeof(T)) complex_t {
    T re, im;

    friend __device__ complex_t operator+(complex_t l, complex_t r)
    {
        return {l.re + r.re, l.im + r.im};
    }
    friend __device__ complex_t operator*(complex_t l, complex_t r)
    {
        return {l.re * r.re - l.im * r.im, l.re * r.im + l.im * r.re};
    }
};

struct float16_t {
    typedef float wide;
    static __device__ wide widen(__half value)
    {
        return __half2float(value);
    }
    static __device__ __half narrow(wide value)
    {
        return __float2half_rn(value);
    }
};
struct bfloat16_t {
    typedef float wide;
    static __device__ wide widen(__nv_bfloat16 value)
    {
        return __bfloat162float(value);
    }
    static __device__ __nv_bfloat16 narrow(wide value)
    {
        return __float2bfloat16_rn(value);
    }
};

template <class T, class Form> static combine_fn real(uint32_t op)
{
    switch (op) {
    case XYLEM_SUM:
        return combine_by<T, sum_t, Form>();
    case XYLEM_PROD:
        return combine_by<T, prod_t, Form>();
    case XYLEM_MIN:
        return combine_by<T, min_t, Form>();
    case XYLEM_MAX:
        return combine_by<T, max_t, Form>();
    default:
        return nullptr;
    }
}

template <class T> static combine_fn complex(uint32_t op)
{
    if (op == XYLEM_SUM)
        return combine_by<complex_t<T>, sum_t>();
    return op == XYLEM_PROD ? combine_by<complex_t<T>, prod_t>() : nullptr;
}

combine_fn combine_of_floats(uint32_t op, uint32_t type)
{
    switch (type) {
    case XYLEM_FLOAT16:
        return real<__half, float16_t>(op);
    case XYLEM_BFLOAT16:
        return real<__nv_bfloat16, bfloat16_t>(op);
    case XYLEM_FLOAT32:
        return real<float, plain_t<float>>(op);
    case XYLEM_FLOAT64:
        return real<double, plain_t<double>>(op);
    case XYLEM_COMPLEX_FLOAT32:
        return complex<float>(op);
    case XYLEM_COMPLEX_FLOAT64:
        return complex<double>(op);
    default:
        return nullptr;
    }
}
