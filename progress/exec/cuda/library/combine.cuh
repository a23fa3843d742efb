/* Reductions of several inputs in one pass: a kernel for each class of types
 * and operation. Integers of one width share a kernel where signs do not
 * matter; bitwise operations know bytes alone. */
#pragma once

#include <cuda_runtime.h>

#include "progress/exec/cuda/library/library.h"

struct operands_t {
    uint32_t inputs, results;
    const void *input[XYL_CUDA_OPERANDS_MAX];
    void *result[XYL_CUDA_OPERANDS_MAX];
};

/* Begins a kernel of `blocks` at most; `elements` of the kernel's type. */
typedef void (*combine_fn)(cudaStream_t stream, uint64_t blocks,
                           const operands_t &operands, uint64_t elements);

/* Find the function for an operation and a type. Each stands in a file of its
 * own, so that nvcc compiles them side by side. NULL: the file has no kernel.
 */
combine_fn combine_of_integers(uint32_t op, uint32_t type);
combine_fn combine_of_orders(uint32_t op, uint32_t type);
combine_fn combine_of_floats(uint32_t op, uint32_t type);

/* ---- operations ---- */

/* An operation on two elements `l` and `r` of a type T. */
#define OPERATION(name, result)                                                \
    struct name {                                                              \
        template <class T> static __device__ T apply(T l, T r)                 \
        {                                                                      \
            return T(result);                                                  \
        }                                                                      \
    };
OPERATION(sum_t, l + r)
OPERATION(prod_t, l *r)
OPERATION(min_t, l < r ? l : r)
OPERATION(max_t, l > r ? l : r)

/* ---- kernels ---- */

enum { THREADS = 512, PACK_BYTES = 16, FLIGHT = 8 };

/* Combines numbers as they are; other forms make them wider in between. */
template <class T> struct plain_t {
    typedef T wide;
    static __device__ wide widen(T value)
    {
        return value;
    }
    static __device__ T narrow(wide value)
    {
        return value;
    }
};

template <class T> struct alignas(PACK_BYTES) pack_t {
    enum { COUNT = PACK_BYTES / sizeof(T) };
    T at[COUNT];
};

template <class T, class Op, class Form>
__device__ T combine_one(const operands_t &operands, uint64_t i)
{
    typename Form::wide sum =
        Form::widen(static_cast<const T *>(operands.input[0])[i]);

    for (uint32_t k = 1; k < operands.inputs; k++)
        sum = Op::apply(
            sum, Form::widen(static_cast<const T *>(operands.input[k])[i]));
    return Form::narrow(sum);
}

template <class T, class Op, class Form>
__device__ void combine_pack(typename Form::wide sum[pack_t<T>::COUNT],
                             const pack_t<T> &in, bool is_first)
{
#pragma unroll
    for (int e = 0; e < pack_t<T>::COUNT; e++)
        sum[e] = is_first ? Form::widen(in.at[e])
                          : Op::apply(sum[e], Form::widen(in.at[e]));
}

/* Loads packs of up to GROUP inputs, then combines them in order. Each thread
 * waits for FLIGHT packs at a time, so few blocks keep a link between GPUs
 * full. */
template <class T, class Op, class Form, int GROUP>
__global__ void __launch_bounds__(THREADS)
    combine_kernel(const __grid_constant__ operands_t operands, uint64_t packs,
                   uint64_t count)
{
    typedef pack_t<T> pack;
    enum { UNROLL = FLIGHT / GROUP };
    uint64_t self = uint64_t(blockIdx.x) * THREADS + threadIdx.x;
    uint64_t all = uint64_t(gridDim.x) * THREADS;

    for (uint64_t first = self; first < packs; first += all * UNROLL) {
        typename Form::wide sum[UNROLL][pack::COUNT];
        for (uint32_t group = 0; group < operands.inputs; group += GROUP) {
            pack in[GROUP][UNROLL];
#pragma unroll
            for (int k = 0; k < GROUP; k++)
#pragma unroll
                for (int u = 0; u < UNROLL; u++)
                    if (group + k < operands.inputs && first + u * all < packs)
                        in[k][u] = static_cast<const pack *>(
                            operands.input[group + k])[first + u * all];
#pragma unroll
            for (int k = 0; k < GROUP; k++)
                if (group + k < operands.inputs)
#pragma unroll
                    for (int u = 0; u < UNROLL; u++)
                        combine_pack<T, Op, Form>(sum[u], in[k][u],
                                                  group + k == 0);
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            pack out;
#pragma unroll
            for (int e = 0; e < pack::COUNT; e++)
                out.at[e] = Form::narrow(sum[u][e]);
            if (first + u * all < packs)
                for (uint32_t k = 0; k < operands.results; k++)
                    static_cast<pack *>(operands.result[k])[first + u * all] =
                        out;
        }
    }
    for (uint64_t i = packs * pack::COUNT + self; i < count; i += all) {
        T out = combine_one<T, Op, Form>(operands, i);
        for (uint32_t k = 0; k < operands.results; k++)
            static_cast<T *>(operands.result[k])[i] = out;
    }
}

static inline bool is_aligned(const operands_t &operands)
{
    uintptr_t bits = 0;

    for (uint32_t k = 0; k < operands.inputs; k++)
        bits |= reinterpret_cast<uintptr_t>(operands.input[k]);
    for (uint32_t k = 0; k < operands.results; k++)
        bits |= reinterpret_cast<uintptr_t>(operands.result[k]);
    return bits % PACK_BYTES == 0;
}

template <class T, class Op, class Form>
void combine_begin(cudaStream_t stream, uint64_t blocks,
                   const operands_t &operands, uint64_t count)
{
    uint64_t packs = is_aligned(operands) ? count / pack_t<T>::COUNT : 0;
    uint64_t threads = packs != 0 ? packs : count;
    uint64_t useful = (threads + THREADS - 1) / THREADS;

    if (useful > blocks)
        useful = blocks;
    if (operands.inputs <= 2)
        combine_kernel<T, Op, Form, 2>
            <<<unsigned(useful), THREADS, 0, stream>>>(operands, packs, count);
    else
        combine_kernel<T, Op, Form, 4>
            <<<unsigned(useful), THREADS, 0, stream>>>(operands, packs, count);
}

template <class T, class Op, class Form = plain_t<T>> combine_fn combine_by()
{
    return combine_begin<T, Op, Form>;
}
