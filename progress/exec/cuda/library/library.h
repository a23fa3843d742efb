/* libxylem-cuda.so: all uses of CUDA, as a table of functions. Only this
 * library needs CUDA, to be built and to run; xylem opens the library when
 * memory of a device may appear (progress/exec/cuda/open.c). Functions do not
 * wait for a device unless their comment says so, do not use the default
 * stream, and leave the calling thread's device as it was. Any thread may call;
 * a stream is for one thread at a time. Functions that return int return 0, or
 * an error for error_text. Included by C and CUDA C++. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "progress/exec/pieces.h"

enum {
    XYL_CUDA_LIBRARY_VERSION = 4,
    XYL_CUDA_MARKS = 16,        /* per stream */
    XYL_CUDA_OPERANDS_MAX = 64, /* inputs, and results, per reduction */
    XYL_CUDA_MOVES_MAX = 64,    /* per kernel */
    XYL_CUDA_HANDLE_BYTES = 64,
    XYL_CUDA_NAME_BYTES = 128
};

typedef enum xyl_cuda_kind {
    XYL_CUDA_KIND_HOST,   /* the processor's memory, unknown to CUDA */
    XYL_CUDA_KIND_PINNED, /* the processor's memory, readable by a device */
    XYL_CUDA_KIND_DEVICE,
    XYL_CUDA_KIND_MANAGED
} xyl_cuda_kind_t;

/* The memory around an address. */
typedef struct xyl_cuda_place {
    xyl_cuda_kind_t kind;
    int device;
    uint64_t base, bytes; /* of the allocation */
    uint64_t buffer;      /* the allocation's number, unique in the process */
    int is_exportable;    /* export_memory accepts the allocation */
} xyl_cuda_place_t;

typedef struct xyl_cuda_stream xyl_cuda_stream_t;

/* Copies `bytes` packed bytes from the places in `from` to those in `to`. */
typedef struct xyl_cuda_repack {
    char *to;
    const char *from;
    uint64_t to_at, from_at, bytes;
    xyl_pieces_t to_pieces, from_pieces; /* blocks are in pinned memory */
} xyl_cuda_repack_t;

/* Each result = input[0] op input[1] op ..., in this order, element by element.
 * The operations are those of collectives/data/kernels.c; 16-bit floating-point
 * numbers are combined as binary32 and rounded once. A result may be one of the
 * inputs. */
typedef struct xyl_cuda_combine {
    uint32_t op, type;        /* xylem_op_t, xylem_type_t */
    uint32_t inputs, results; /* 1 ... XYL_CUDA_OPERANDS_MAX */
    uint32_t blocks; /* of the kernel, at most; 0: as the device decides */
    const void *input[XYL_CUDA_OPERANDS_MAX];
    void *result[XYL_CUDA_OPERANDS_MAX];
    uint64_t count;
} xyl_cuda_combine_t;

/* to = from. The moves of one kernel have no bytes in common. */
typedef struct xyl_cuda_move {
    void *to;
    const void *from;
    uint64_t bytes;
} xyl_cuda_move_t;

typedef struct xyl_cuda_moves {
    uint32_t count;  /* 1 ... XYL_CUDA_MOVES_MAX */
    uint32_t blocks; /* of the kernel, at most; 0: as the device decides */
    xyl_cuda_move_t move[XYL_CUDA_MOVES_MAX];
} xyl_cuda_moves_t;

typedef struct xyl_cuda_device {
    char name[XYL_CUDA_NAME_BYTES];
    uint8_t uuid[16];
    int major, minor;
    uint64_t bytes;
    int processors; /* multiprocessors */
    int pci_domain, pci_bus, pci_slot;
    int is_mps; /* processes share the device through MPS */
} xyl_cuda_device_t;

/* A kernel with one parameter. */
typedef struct xyl_cuda_launch {
    void *function; /* the driver's CUfunction */
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    void *parameter; /* copied */
    size_t parameter_bytes;
} xyl_cuda_launch_t;

typedef struct xyl_cuda_library {
    uint32_t version;
    const char *(*error_text)(int error);

    /* The memory that `address` lies in. This function never begins to use a
     * device: for memory of a device, the allocating code has done so. */
    void (*find)(const void *address, xyl_cuda_place_t *place_out);
    int (*devices)(int *count_out);
    int (*device)(int number, xyl_cuda_device_t *device_out);
    /* Whether one device reads another's memory. */
    int (*reaches)(int device, int other);
    int (*driver_version)(void);

    /* Memory of the processor that all devices can read; may wait. NULL: there
     * is none. */
    void *(*host_take)(int device, size_t bytes);
    void (*host_give)(void *memory);
    /* Makes existing memory, also shared memory, readable for all devices,
     * until host_unregister. */
    int (*host_register)(int device, void *memory, size_t bytes);
    void (*host_unregister)(void *memory);
    int (*device_take)(int device, size_t bytes, void **memory_out);
    void (*device_give)(int device, void *memory);

    /* Works begun on one stream end in that order. */
    int (*stream_create)(int device, xyl_cuda_stream_t **stream_out);
    /* Waits. */
    void (*stream_destroy)(xyl_cuda_stream_t *stream);
    int (*stream_wait)(xyl_cuda_stream_t *stream); /* until all works end */
    int (*copy)(xyl_cuda_stream_t *stream, void *to, const void *from,
                size_t bytes);
    int (*repack)(xyl_cuda_stream_t *stream, const xyl_cuda_repack_t *repack);
    /* 1: a kernel exists for this operation and type. */
    int (*combines)(uint32_t op, uint32_t type);
    int (*combine)(xyl_cuda_stream_t *stream,
                   const xyl_cuda_combine_t *combine);
    int (*move)(xyl_cuda_stream_t *stream, const xyl_cuda_moves_t *moves);
    /* mark: puts the stream's mark `mark` behind all works begun so far.
     * reached: *is_reached_out is 1 if all works before the mark have ended. */
    int (*mark)(xyl_cuda_stream_t *stream, uint32_t mark);
    int (*reached)(xyl_cuda_stream_t *stream, uint32_t mark,
                   int *is_reached_out);

    /* For code that calls CUDA's runtime itself. use: sets the calling thread's
     * device. stream_of_runtime: the runtime's cudaStream_t of a stream. */
    void (*use)(int device);
    void *(*stream_of_runtime)(xyl_cuda_stream_t *stream);

    /* Share exportable memory, such as that of device_take, with other
     * processes of the machine. open_memory waits; a process may open a handle
     * once. */
    int (*export_memory)(const void *base,
                         uint8_t handle_out[XYL_CUDA_HANDLE_BYTES]);
    int (*open_memory)(int device, const uint8_t handle[XYL_CUDA_HANDLE_BYTES],
                       void **base_out);
    void (*close_memory)(int device, void *base);

    /* `stream` is the runtime's cudaStream_t. stream_number: a number unique in
     * the process; fails while the stream is captured. stream_write: after all
     * earlier works of the stream, `value` appears in a word of pinned memory;
     * a reader of `value` sees all that these works have written. */
    int (*stream_number)(void *stream, uint64_t *number_out);
    int (*stream_write)(void *stream, uint64_t *word, uint64_t value);
    int (*launch)(xyl_cuda_stream_t *stream, const xyl_cuda_launch_t *launch);
} xyl_cuda_library_t;

typedef const xyl_cuda_library_t *(*xyl_cuda_library_fn)(void);
