/* The table of functions, over CUDA's runtime. The runtime is linked in; only
 * the driver comes from the machine. */
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <new>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/xylem.h"
#include "progress/exec/cuda/library/combine.cuh"
#include "progress/exec/cuda/library/library.h"

enum { REPACK_THREADS = 256, REPACK_BLOCKS_PER_PROCESSOR = 8 };
enum { MOVE_THREADS = 512, MOVE_UNROLL = 4, MOVE_BLOCKS_PER_PROCESSOR = 4 };
enum { COMBINE_BLOCKS_PER_PROCESSOR = 4 };
/* Looks at a word between two questions to the driver, which alone tells of an
 * error. */
enum { WORD_LOOKS = 4096 };

/* A word of pinned memory that a stream writes. One writer per 128 bytes. */
struct alignas(128) mark_word {
    uint64_t value;
};

/* A mark behind a kernel is a word: a look at it does not call the driver. A
 * mark behind a copy is an event, as a word takes 2 to 3 us longer there. */
struct xyl_cuda_stream {
    int device;
    int processors;
    cudaStream_t stream;
    cudaEvent_t marks[XYL_CUDA_MARKS];
    mark_word *words;                 /* [MARKS]; nullptr: there are none */
    uint64_t awaited[XYL_CUDA_MARKS]; /* values of words; 0: it is an event */
    uint64_t written;                 /* the last value */
    int ends_in_kernel;
    unsigned looks;
};

/* Sets the calling thread's device while this object lives. */
class on_device
{
    int before;
    int device;

  public:
    explicit on_device(int number) : before(number), device(number)
    {
        if (cudaGetDevice(&before) != cudaSuccess)
            before = device;
        if (before != device)
            cudaSetDevice(device);
    }
    ~on_device()
    {
        if (before != device)
            cudaSetDevice(before);
    }
};

/* Clears the runtime's last error, which a later call of the user's would
 * report. */
static int outcome(cudaError_t error)
{
    if (error != cudaSuccess)
        cudaGetLastError();
    return static_cast<int>(error);
}

static const char *error_text(int error)
{
    return cudaGetErrorString(static_cast<cudaError_t>(error));
}

/* ---- kinds of memory, devices ---- */

/* A function of the driver; nullptr: the process has not loaded the driver, or
 * it has no such function. */
template <class Function> static Function driver_function(const char *name)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

    return driver == nullptr ? nullptr
                             : reinterpret_cast<Function>(dlsym(driver, name));
}

/* The driver's function, as that of the runtime would begin to use a device. */
typedef CUresult (*attributes_fn)(unsigned, CUpointer_attribute *, void **,
                                  CUdeviceptr);

static attributes_fn driver_attributes()
{
    static attributes_fn found = nullptr;

    if (found == nullptr)
        found = driver_function<attributes_fn>("cuPointerGetAttributes");
    return found;
}

static void find(const void *address, xyl_cuda_place_t *place)
{
    unsigned type = 0, is_managed = 0, exportable = 0;
    int device = -1;
    unsigned long long buffer = 0;
    CUdeviceptr base = 0;
    size_t bytes = 0;
    CUpointer_attribute names[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_BUFFER_ID,
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
        CU_POINTER_ATTRIBUTE_RANGE_SIZE,
        CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE};
    void *values[] = {&type, &is_managed, &device,    &buffer,
                      &base, &bytes,      &exportable};
    attributes_fn attributes = driver_attributes();

    memset(place, 0, sizeof *place);
    place->kind = XYL_CUDA_KIND_HOST;
    if (address == nullptr || attributes == nullptr ||
        attributes(sizeof names / sizeof *names, names, values,
                   reinterpret_cast<CUdeviceptr>(address)) != CUDA_SUCCESS ||
        type == 0)
        return;
    place->kind = is_managed                     ? XYL_CUDA_KIND_MANAGED
                  : type == CU_MEMORYTYPE_DEVICE ? XYL_CUDA_KIND_DEVICE
                                                 : XYL_CUDA_KIND_PINNED;
    place->device = device;
    place->base = base;
    place->bytes = bytes;
    place->buffer = buffer;
    place->is_exportable = exportable != 0;
}

static int devices(int *count)
{
    *count = 0;
    return outcome(cudaGetDeviceCount(count));
}

static int is_mps(int number)
{
    typedef CUresult (*attribute_fn)(int *, CUdevice_attribute, CUdevice);
    attribute_fn get = driver_function<attribute_fn>("cuDeviceGetAttribute");
    int value = 0;

    return get != nullptr && get(&value, CU_DEVICE_ATTRIBUTE_MPS_ENABLED,
                                 number) == CUDA_SUCCESS
               ? value
               : 0;
}

static int device(int number, xyl_cuda_device_t *device)
{
    cudaDeviceProp all;
    cudaError_t error = cudaGetDeviceProperties(&all, number);

    if (error != cudaSuccess)
        return outcome(error);
    memset(device, 0, sizeof *device);
    snprintf(device->name, sizeof device->name, "%.127s", all.name);
    memcpy(device->uuid, all.uuid.bytes, sizeof device->uuid);
    device->major = all.major;
    device->minor = all.minor;
    device->bytes = all.totalGlobalMem;
    device->processors = all.multiProcessorCount;
    device->pci_domain = all.pciDomainID;
    device->pci_bus = all.pciBusID;
    device->pci_slot = all.pciDeviceID;
    device->is_mps = is_mps(number);
    return 0;
}

static int reaches(int device, int other)
{
    int can = 0;

    return device == other ||
           (outcome(cudaDeviceCanAccessPeer(&can, device, other)) == 0 && can);
}

static int driver_version()
{
    int version = 0;

    return outcome(cudaDriverGetVersion(&version)) == 0 ? version : 0;
}

/* ---- memory ---- */

static void *host_take(int device, size_t bytes)
{
    on_device here(device);
    void *memory = nullptr;

    return outcome(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable)) == 0
               ? memory
               : nullptr;
}

static void host_give(void *memory)
{
    outcome(cudaFreeHost(memory));
}

static int host_register(int device, void *memory, size_t bytes)
{
    on_device here(device);

    return outcome(cudaHostRegister(memory, bytes, cudaHostRegisterPortable));
}

static void host_unregister(void *memory)
{
    outcome(cudaHostUnregister(memory));
}

static int device_take(int device, size_t bytes, void **memory)
{
    on_device here(device);

    return outcome(cudaMalloc(memory, bytes));
}

static void device_give(int device, void *memory)
{
    on_device here(device);

    outcome(cudaFree(memory));
}

/* ---- streams ---- */

static void stream_destroy(xyl_cuda_stream_t *stream)
{
    on_device here(stream->device);

    if (stream->stream != nullptr) {
        outcome(cudaStreamSynchronize(stream->stream));
        outcome(cudaStreamDestroy(stream->stream));
    }
    for (int i = 0; i < XYL_CUDA_MARKS; i++)
        if (stream->marks[i] != nullptr)
            outcome(cudaEventDestroy(stream->marks[i]));
    if (stream->words != nullptr)
        outcome(cudaFreeHost(stream->words));
    free(stream);
}

/* Without memory for words, all marks are events. */
static void words_create(xyl_cuda_stream_t *stream)
{
    size_t bytes = XYL_CUDA_MARKS * sizeof *stream->words;
    void *words = nullptr;

    if (outcome(cudaHostAlloc(&words, bytes, cudaHostAllocPortable)) == 0)
        stream->words = static_cast<mark_word *>(memset(words, 0, bytes));
}

static int stream_create(int device, xyl_cuda_stream_t **stream_out)
{
    on_device here(device);
    xyl_cuda_stream_t *stream =
        static_cast<xyl_cuda_stream_t *>(calloc(1, sizeof *stream));
    cudaError_t error;

    if (stream == nullptr)
        return static_cast<int>(cudaErrorMemoryAllocation);
    stream->device = device;
    error = cudaDeviceGetAttribute(&stream->processors,
                                   cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess)
        error =
            cudaStreamCreateWithFlags(&stream->stream, cudaStreamNonBlocking);
    for (int i = 0; i < XYL_CUDA_MARKS && error == cudaSuccess; i++)
        error =
            cudaEventCreateWithFlags(&stream->marks[i], cudaEventDisableTiming);
    if (error == cudaSuccess) {
        words_create(stream);
        *stream_out = stream;
    } else {
        stream_destroy(stream);
    }
    return outcome(error);
}

static int stream_wait(xyl_cuda_stream_t *stream)
{
    on_device here(stream->device);

    return outcome(cudaStreamSynchronize(stream->stream));
}

static int copy(xyl_cuda_stream_t *stream, void *to, const void *from,
                size_t bytes)
{
    on_device here(stream->device);

    stream->ends_in_kernel = 0;
    return outcome(
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream->stream));
}

static int stream_write(void *stream, uint64_t *word, uint64_t value)
{
    typedef CUresult (*write_fn)(CUstream, CUdeviceptr, cuuint64_t, unsigned);
    static write_fn write =
        driver_function<write_fn>("cuStreamWriteValue64_v2");

    if (write == nullptr)
        return static_cast<int>(cudaErrorNotSupported);
    return static_cast<int>(write(static_cast<CUstream>(stream),
                                  reinterpret_cast<CUdeviceptr>(word), value,
                                  CU_STREAM_WRITE_VALUE_DEFAULT));
}

static int mark(xyl_cuda_stream_t *stream, uint32_t number)
{
    on_device here(stream->device);

    stream->awaited[number] = 0;
    if (stream->words != nullptr && stream->ends_in_kernel &&
        stream_write(stream->stream, &stream->words[number].value,
                     stream->written + 1) == 0) {
        stream->awaited[number] = ++stream->written;
        return 0;
    }
    return outcome(cudaEventRecord(stream->marks[number], stream->stream));
}

static int reached(xyl_cuda_stream_t *stream, uint32_t number, int *is_reached)
{
    uint64_t awaited = stream->awaited[number];
    cudaError_t error;

    if (awaited != 0) {
        *is_reached = __atomic_load_n(&stream->words[number].value,
                                      __ATOMIC_ACQUIRE) == awaited;
        if (*is_reached || ++stream->looks % WORD_LOOKS != 0)
            return 0;
        error = cudaStreamQuery(stream->stream);
    } else {
        error = cudaEventQuery(stream->marks[number]);
    }
    *is_reached = error == cudaSuccess;
    return error == cudaErrorNotReady ? (cudaGetLastError(), 0)
                                      : outcome(error);
}

/* ---- elements with gaps ---- */

template <class Unit>
__global__ void __launch_bounds__(REPACK_THREADS)
    repack_kernel(const __grid_constant__ xyl_cuda_repack_t repack)
{
    uint64_t units = repack.bytes / sizeof(Unit), i;
    uint64_t all = uint64_t(gridDim.x) * REPACK_THREADS;

    for (i = uint64_t(blockIdx.x) * REPACK_THREADS + threadIdx.x; i < units;
         i += all) {
        uint64_t at = i * sizeof(Unit);
        int64_t to = xyl_pieces_place(&repack.to_pieces, repack.to_at + at);
        int64_t from =
            xyl_pieces_place(&repack.from_pieces, repack.from_at + at);
        *reinterpret_cast<Unit *>(repack.to + to) =
            *reinterpret_cast<const Unit *>(repack.from + from);
    }
}

template <class Unit>
static void repack_begin(const xyl_cuda_stream_t *stream,
                         const xyl_cuda_repack_t &repack)
{
    uint64_t units = repack.bytes / sizeof(Unit);
    uint64_t blocks = (units + REPACK_THREADS - 1) / REPACK_THREADS;
    uint64_t most = uint64_t(stream->processors) * REPACK_BLOCKS_PER_PROCESSOR;

    repack_kernel<Unit><<<unsigned(blocks < most ? blocks : most),
                          REPACK_THREADS, 0, stream->stream>>>(repack);
}

static int repack(xyl_cuda_stream_t *stream, const xyl_cuda_repack_t *repack)
{
    on_device here(stream->device);
    uint32_t unit = 16;

    stream->ends_in_kernel = 1;
    if (repack->bytes == 0)
        return 0;
    while (unit > 1 && repack->bytes % unit != 0)
        unit /= 2;
    unit = xyl_pieces_unit(&repack->to_pieces,
                           reinterpret_cast<uintptr_t>(repack->to),
                           repack->to_at, unit);
    unit = xyl_pieces_unit(&repack->from_pieces,
                           reinterpret_cast<uintptr_t>(repack->from),
                           repack->from_at, unit);
    if (unit == 16)
        repack_begin<uint4>(stream, *repack);
    else if (unit == 8)
        repack_begin<uint64_t>(stream, *repack);
    else if (unit == 4)
        repack_begin<uint32_t>(stream, *repack);
    else if (unit == 2)
        repack_begin<uint16_t>(stream, *repack);
    else
        repack_begin<uint8_t>(stream, *repack);
    return outcome(cudaGetLastError());
}

/* ---- reductions ---- */

static combine_fn combine_find(uint32_t op, uint32_t type)
{
    combine_fn begin = combine_of_floats(op, type);

    if (begin == nullptr)
        begin = combine_of_orders(op, type);
    return begin != nullptr ? begin : combine_of_integers(op, type);
}

static int combines(uint32_t op, uint32_t type)
{
    return combine_find(op, type) != nullptr;
}

/* Bytes are combined as the widest integers that all operands begin with. */
static uint32_t wide_type(const xyl_cuda_combine_t *combine, uint64_t *count)
{
    uint64_t bits = combine->count;

    if (combine->type != XYLEM_BYTE)
        return combine->type;
    for (uint32_t k = 0; k < combine->inputs; k++)
        bits |= reinterpret_cast<uintptr_t>(combine->input[k]);
    for (uint32_t k = 0; k < combine->results; k++)
        bits |= reinterpret_cast<uintptr_t>(combine->result[k]);
    if (bits % 4 != 0)
        return XYLEM_BYTE;
    *count /= bits % 8 == 0 ? 8 : 4;
    return bits % 8 == 0 ? XYLEM_UINT64 : XYLEM_UINT32;
}

static uint64_t blocks_of(const xyl_cuda_stream_t *stream, uint32_t most,
                          uint32_t per_processor)
{
    return most != 0 ? most : uint64_t(stream->processors) * per_processor;
}

static int combine(xyl_cuda_stream_t *stream, const xyl_cuda_combine_t *combine)
{
    on_device here(stream->device);
    uint64_t count = combine->count;
    combine_fn begin = combine_find(combine->op, wide_type(combine, &count));
    operands_t operands;

    stream->ends_in_kernel = 1;
    if (begin == nullptr)
        return static_cast<int>(cudaErrorInvalidValue);
    if (count == 0)
        return 0;
    operands.inputs = combine->inputs;
    operands.results = combine->results;
    memcpy(operands.input, combine->input,
           combine->inputs * sizeof *combine->input);
    memcpy(operands.result, combine->result,
           combine->results * sizeof *combine->result);
    begin(stream->stream,
          blocks_of(stream, combine->blocks, COMBINE_BLOCKS_PER_PROCESSOR),
          operands, count);
    return outcome(cudaGetLastError());
}

/* ---- several moves ---- */

/* Moves in units of a size that both addresses are multiples of. */
template <class Unit>
static __device__ void move_units(const xyl_cuda_move_t &move)
{
    uint64_t units = move.bytes / sizeof(Unit), i;
    uint64_t all = uint64_t(gridDim.x) * MOVE_THREADS, done;
    Unit *to = static_cast<Unit *>(move.to);
    const Unit *from = static_cast<const Unit *>(move.from);

    i = uint64_t(blockIdx.x) * MOVE_THREADS + threadIdx.x;
    for (; i + (MOVE_UNROLL - 1) * all < units; i += MOVE_UNROLL * all) {
        Unit there[MOVE_UNROLL];
#pragma unroll
        for (int k = 0; k < MOVE_UNROLL; k++)
            there[k] = from[i + k * all];
#pragma unroll
        for (int k = 0; k < MOVE_UNROLL; k++)
            to[i + k * all] = there[k];
    }
    for (; i < units; i += all)
        to[i] = from[i];
    done = units * sizeof(Unit);
    if (blockIdx.x == 0 && done + threadIdx.x < move.bytes)
        static_cast<char *>(move.to)[done + threadIdx.x] =
            static_cast<const char *>(move.from)[done + threadIdx.x];
}

__global__ void __launch_bounds__(MOVE_THREADS)
    move_kernel(const __grid_constant__ xyl_cuda_moves_t moves)
{
    const xyl_cuda_move_t &move = moves.move[blockIdx.y];
    uintptr_t both = reinterpret_cast<uintptr_t>(move.to) |
                     reinterpret_cast<uintptr_t>(move.from);

    if (both % 16 == 0)
        move_units<uint4>(move);
    else if (both % 8 == 0)
        move_units<uint64_t>(move);
    else if (both % 4 == 0)
        move_units<uint32_t>(move);
    else
        move_units<uint8_t>(move);
}

static int move(xyl_cuda_stream_t *stream, const xyl_cuda_moves_t *moves)
{
    on_device here(stream->device);
    uint64_t longest = 0, each = 16 * MOVE_THREADS, useful;
    uint64_t most =
        blocks_of(stream, moves->blocks, MOVE_BLOCKS_PER_PROCESSOR) /
        moves->count;

    stream->ends_in_kernel = 1;
    for (uint32_t i = 0; i < moves->count; i++)
        if (moves->move[i].bytes > longest)
            longest = moves->move[i].bytes;
    if (longest == 0)
        return 0;
    useful = (longest + each - 1) / each;
    if (useful > most)
        useful = most != 0 ? most : 1;
    move_kernel<<<dim3(unsigned(useful), moves->count), MOVE_THREADS, 0,
                  stream->stream>>>(*moves);
    return outcome(cudaGetLastError());
}

/* ---- for code that uses the runtime itself ---- */

static void use(int device)
{
    outcome(cudaSetDevice(device));
}

static void *stream_of_runtime(xyl_cuda_stream_t *stream)
{
    return stream->stream;
}

/* ---- other processes ---- */

static int export_memory(const void *base, uint8_t *handle)
{
    static_assert(sizeof(cudaIpcMemHandle_t) == XYL_CUDA_HANDLE_BYTES,
                  "handles are as long as the table says");
    cudaIpcMemHandle_t own;
    int error = outcome(cudaIpcGetMemHandle(&own, const_cast<void *>(base)));

    memcpy(handle, &own, sizeof own);
    return error;
}

static int open_memory(int device, const uint8_t *handle, void **base)
{
    on_device here(device);
    cudaIpcMemHandle_t own;

    memcpy(&own, handle, sizeof own);
    return outcome(
        cudaIpcOpenMemHandle(base, own, cudaIpcMemLazyEnablePeerAccess));
}

static void close_memory(int device, void *base)
{
    on_device here(device);

    outcome(cudaIpcCloseMemHandle(base));
}

/* ---- streams and kernels of other code ---- */

static int stream_number(void *stream, uint64_t *number)
{
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
    cudaError_t error =
        cudaStreamIsCapturing(static_cast<cudaStream_t>(stream), &status);

    if (error == cudaSuccess && status != cudaStreamCaptureStatusNone)
        error = cudaErrorStreamCaptureUnsupported;
    if (error == cudaSuccess)
        error = cudaStreamGetId(static_cast<cudaStream_t>(stream), &id);
    *number = id;
    return outcome(error);
}

static int launch(xyl_cuda_stream_t *stream, const xyl_cuda_launch_t *launch)
{
    typedef CUresult (*launch_fn)(CUfunction, unsigned, unsigned, unsigned,
                                  unsigned, unsigned, unsigned, unsigned,
                                  CUstream, void **, void **);
    static launch_fn begin = driver_function<launch_fn>("cuLaunchKernel");
    on_device here(stream->device);
    void *parameters[] = {launch->parameter};

    stream->ends_in_kernel = 1;
    if (begin == nullptr)
        return static_cast<int>(cudaErrorNotSupported);
    return static_cast<int>(
        begin(static_cast<CUfunction>(launch->function), launch->grid[0],
              launch->grid[1], launch->grid[2], launch->block[0],
              launch->block[1], launch->block[2], launch->shared_bytes,
              stream->stream, parameters, nullptr));
}

/* ---- the table ---- */

extern "C" __attribute__((visibility("default"))) const xyl_cuda_library_t *
xylem_cuda_library(void)
{
    static const xyl_cuda_library_t library = {
        XYL_CUDA_LIBRARY_VERSION,
        error_text,
        find,
        devices,
        device,
        reaches,
        driver_version,
        host_take,
        host_give,
        host_register,
        host_unregister,
        device_take,
        device_give,
        stream_create,
        stream_destroy,
        stream_wait,
        copy,
        repack,
        combines,
        combine,
        move,
        mark,
        reached,
        use,
        stream_of_runtime,
        export_memory,
        open_memory,
        close_memory,
        stream_number,
        stream_write,
        launch,
    };

    return &library;
}
