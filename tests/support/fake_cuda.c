/* A library in place of libxylem-cuda, which plays GPUs whose memory the
 * processor must not touch. Memory of a device is mapped twice, once without
 * any rights, at the address that programs get, and once for this library; so a
 * process that uses such an address as an ordinary one dies. Work on a stream
 * is done late, at the third question whether it has ended. FAKE_CUDA_DEVICES
 * is the number of devices (2), FAKE_CUDA_OPENS how many allocations of others
 * a process may have open (any number). FAKE_CUDA_REACH=none: no device reads
 * memory of another one. FAKE_CUDA_MPS=1: processes share devices through MPS.
 * FAKE_CUDA_OWN: of so many devices each process sees one, by its rank. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collectives/data/op.h"
#include "progress/exec/cuda/library/library.h"

enum { MAPS_MAX = 4096, LOOKS = 3, ERROR = 1, PAGE = 4096 };

typedef struct map {
    char *base, *shadow; /* NULL: free */
    size_t bytes;
    int device, file;
    uint64_t buffer;
    pid_t of_process; /* the owner, if it has been opened; 0: this one */
    uintptr_t of_base;
} map_t;

typedef struct step {
    struct step *next;
    uint32_t mark; /* UINT32_MAX: it is work */
    int is_combine, is_move;
    xyl_cuda_repack_t repack; /* a copy has no pieces */
    xyl_cuda_combine_t combine;
    xyl_cuda_moves_t moves;
} step_t;

struct xyl_cuda_stream {
    int device;
    unsigned looks;
    step_t *first, **last;
    int is_reached[XYL_CUDA_MARKS];
};

/* Of the process, as CUDA's own is. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static map_t maps[MAPS_MAX];
static map_t pinned[MAPS_MAX]; /* memory of the processor that kernels see */
static uint64_t buffers;

static int number_in(const char *variable)
{
    const char *text = getenv(variable);

    return text == NULL ? 0 : atoi(text);
}

static int device_count(void)
{
    const char *text = getenv("FAKE_CUDA_DEVICES");

    if (getenv("FAKE_CUDA_OWN") != NULL)
        return 1;
    return text == NULL ? 2 : atoi(text);
}

static const char *fake_error_text(int error)
{
    (void)error;
    return "not a real error";
}

/* ---- memory ---- */

static map_t *map_of(const void *address)
{
    const char *at = address;
    map_t *map;

    for (map = maps; map < maps + MAPS_MAX; map++)
        if (map->base != NULL && at >= map->base && at < map->base + map->bytes)
            return map;
    return NULL;
}

/* The address by which this library may touch it. */
static char *touchable(const void *address)
{
    const union {
        const void *constant;
        char *plain;
    } at = {address};
    char *found;
    map_t *map;

    pthread_mutex_lock(&lock);
    map = map_of(address);
    found = map == NULL ? at.plain : map->shadow + (at.plain - map->base);
    pthread_mutex_unlock(&lock);
    return found;
}

static int map_add(int device, int file, size_t bytes, void **base_out)
{
    char *base, *shadow;
    map_t *map = maps;

    base = mmap(NULL, bytes, PROT_NONE, MAP_SHARED, file, 0);
    shadow = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (base == MAP_FAILED || shadow == MAP_FAILED)
        return ERROR;
    pthread_mutex_lock(&lock);
    while (map < maps + MAPS_MAX && map->base != NULL)
        map++;
    if (map < maps + MAPS_MAX)
        *map = (map_t){.base = base,
                       .shadow = shadow,
                       .bytes = bytes,
                       .device = device,
                       .file = file,
                       .buffer = ++buffers};
    pthread_mutex_unlock(&lock);
    *base_out = base;
    return map < maps + MAPS_MAX ? 0 : ERROR;
}

static void map_remove(void *base)
{
    map_t *map;

    pthread_mutex_lock(&lock);
    map = map_of(base);
    munmap(map->base, map->bytes);
    munmap(map->shadow, map->bytes);
    close(map->file);
    map->base = NULL;
    pthread_mutex_unlock(&lock);
}

static void fake_find(const void *address, xyl_cuda_place_t *place)
{
    map_t *map;

    memset(place, 0, sizeof *place);
    pthread_mutex_lock(&lock);
    map = map_of(address);
    if (map != NULL)
        *place = (xyl_cuda_place_t){.kind = XYL_CUDA_KIND_DEVICE,
                                    .device = map->device,
                                    .base = (uintptr_t)map->base,
                                    .bytes = map->bytes,
                                    .buffer = map->buffer,
                                    .is_exportable = map->of_process == 0};
    pthread_mutex_unlock(&lock);
}

static int fake_devices(int *count)
{
    *count = device_count();
    return 0;
}

static int fake_device(int number, xyl_cuda_device_t *device)
{
    int of_machine = number_in("FAKE_CUDA_OWN");

    if (of_machine != 0)
        number = number_in("PMIX_RANK") % of_machine;
    *device = (xyl_cuda_device_t){.major = 9,
                                  .bytes = UINT64_C(1) << 32,
                                  .processors = 1,
                                  .pci_bus = number,
                                  .is_mps = getenv("FAKE_CUDA_MPS") != NULL};
    snprintf(device->name, sizeof device->name, "GPU that is not there");
    device->uuid[0] = (uint8_t)(number + 1);
    return 0;
}

static int fake_reaches(int device, int other)
{
    return device == other || getenv("FAKE_CUDA_REACH") == NULL;
}

static int fake_driver_version(void)
{
    return 0;
}

static void *fake_host_take(int device, size_t bytes)
{
    map_t *free_one = pinned;
    char *memory = malloc(bytes + 1);

    (void)device;
    pthread_mutex_lock(&lock);
    while (free_one < pinned + MAPS_MAX && free_one->base != NULL)
        free_one++;
    if (free_one == pinned + MAPS_MAX || memory == NULL)
        abort();
    *free_one = (map_t){.base = memory, .bytes = bytes};
    pthread_mutex_unlock(&lock);
    return memory;
}

static void fake_host_give(void *memory)
{
    map_t *map;

    pthread_mutex_lock(&lock);
    for (map = pinned; map < pinned + MAPS_MAX; map++)
        if (map->base == memory)
            map->base = NULL;
    pthread_mutex_unlock(&lock);
    free(memory);
}

/* An address that a kernel cannot see ends the program, as it would end a GPU's
 * work: memory of the processor that is not pinned, memory of another device
 * that has not been opened for this one, and bytes behind an allocation. */
static void must_be_seen(const xyl_cuda_stream_t *stream, const void *address,
                         uint64_t bytes)
{
    const char *at = address;
    const map_t *map;
    int is_seen;

    pthread_mutex_lock(&lock);
    map = map_of(at);
    is_seen = map != NULL && map->device == stream->device &&
              at + bytes <= map->base + map->bytes;
    for (map = pinned; map < pinned + MAPS_MAX; map++)
        is_seen |= map->base != NULL && at >= map->base &&
                   at + bytes <= map->base + map->bytes;
    pthread_mutex_unlock(&lock);
    if (is_seen)
        return;
    fputs("a kernel works on memory that it does not see\n", stderr);
    abort();
}

static int fake_host_register(int device, void *memory, size_t bytes)
{
    (void)device;
    (void)memory;
    (void)bytes;
    return 0;
}

static void fake_host_unregister(void *memory)
{
    (void)memory;
}

static int fake_device_take(int device, size_t bytes, void **memory_out)
{
    int file = memfd_create("device", 0);

    bytes = (bytes + PAGE) / PAGE * PAGE;
    if (file < 0 || ftruncate(file, (off_t)bytes) != 0)
        return ERROR;
    return map_add(device, file, bytes, memory_out);
}

static void fake_device_give(int device, void *memory)
{
    (void)device;
    map_remove(memory);
}

/* ---- streams ---- */

static int fake_stream_create(int device, xyl_cuda_stream_t **stream_out)
{
    xyl_cuda_stream_t *stream = calloc(1, sizeof *stream);

    if (stream == NULL)
        return ERROR;
    stream->device = device;
    stream->last = &stream->first;
    *stream_out = stream;
    return 0;
}

static void repack_do(const xyl_cuda_repack_t *repack)
{
    int64_t to_first = xyl_pieces_place(&repack->to_pieces, repack->to_at);
    int64_t from_first =
        xyl_pieces_place(&repack->from_pieces, repack->from_at);
    /* There need not be any memory where elements begin. */
    char *to = touchable(repack->to + to_first) - to_first;
    const char *from = touchable(repack->from + from_first) - from_first;
    uint64_t i;

    if (repack->to_pieces.level_count == 0 &&
        repack->from_pieces.level_count == 0) {
        memcpy(to, from, repack->bytes);
        return;
    }
    for (i = 0; i < repack->bytes; i++)
        to[xyl_pieces_place(&repack->to_pieces, repack->to_at + i)] =
            from[xyl_pieces_place(&repack->from_pieces, repack->from_at + i)];
}

static void combine_do(const xyl_cuda_combine_t *combine)
{
    xyl_kernel_fn kernel =
        xyl_kernel_find((xylem_op_t)combine->op, combine->type, XYL_ISA_BASE);
    size_t bytes = combine->count * xylem_type_bytes(combine->type);
    char *sum = malloc(bytes + 1);
    uint32_t i;

    memcpy(sum, touchable(combine->input[0]), bytes);
    for (i = 1; i < combine->inputs; i++)
        kernel(sum, sum, touchable(combine->input[i]), combine->count);
    for (i = 0; i < combine->results; i++)
        memcpy(touchable(combine->result[i]), sum, bytes);
    free(sum);
}

static void moves_do(const xyl_cuda_moves_t *moves)
{
    uint64_t i;

    for (i = 0; i < moves->count; i++)
        memcpy(touchable(moves->move[i].to), touchable(moves->move[i].from),
               moves->move[i].bytes);
}

static int fake_stream_wait(xyl_cuda_stream_t *stream)
{
    step_t *step;

    while ((step = stream->first) != NULL) {
        if (step->mark != UINT32_MAX)
            stream->is_reached[step->mark] = 1;
        else if (step->is_combine)
            combine_do(&step->combine);
        else if (step->is_move)
            moves_do(&step->moves);
        else
            repack_do(&step->repack);
        stream->first = step->next;
        free(step);
    }
    stream->last = &stream->first;
    return 0;
}

static void fake_stream_destroy(xyl_cuda_stream_t *stream)
{
    (void)fake_stream_wait(stream);
    free(stream);
}

static step_t *step_add(xyl_cuda_stream_t *stream)
{
    step_t *step = calloc(1, sizeof *step);

    if (step == NULL)
        abort();
    step->mark = UINT32_MAX;
    *stream->last = step;
    stream->last = &step->next;
    return step;
}

static int fake_repack(xyl_cuda_stream_t *stream,
                       const xyl_cuda_repack_t *repack)
{
    const xyl_pieces_t *to = &repack->to_pieces, *from = &repack->from_pieces;

    if (to->level_count != 0 || from->level_count != 0) {
        must_be_seen(stream, repack->to + xyl_pieces_place(to, repack->to_at),
                     1);
        must_be_seen(stream,
                     repack->from + xyl_pieces_place(from, repack->from_at), 1);
    }
    step_add(stream)->repack = *repack;
    return 0;
}

static int fake_copy(xyl_cuda_stream_t *stream, void *to, const void *from,
                     size_t bytes)
{
    const xyl_cuda_repack_t plain = {.to = to, .from = from, .bytes = bytes};

    return fake_repack(stream, &plain);
}

static int fake_combines(uint32_t op, uint32_t type)
{
    return op < XYLEM_OP_COUNT && type < XYLEM_TYPE_COUNT &&
           xyl_kernel_find((xylem_op_t)op, type, XYL_ISA_BASE) != NULL;
}

static int fake_combine(xyl_cuda_stream_t *stream,
                        const xyl_cuda_combine_t *combine)
{
    uint64_t bytes = combine->count * xylem_type_bytes(combine->type);
    step_t *step = step_add(stream);
    uint32_t i;

    for (i = 0; i < combine->inputs; i++)
        must_be_seen(stream, combine->input[i], bytes);
    for (i = 0; i < combine->results; i++)
        must_be_seen(stream, combine->result[i], bytes);
    step->is_combine = 1;
    step->combine = *combine;
    return 0;
}

static int fake_move(xyl_cuda_stream_t *stream, const xyl_cuda_moves_t *moves)
{
    step_t *step = step_add(stream);
    uint64_t i;

    for (i = 0; i < moves->count; i++) {
        must_be_seen(stream, moves->move[i].from, moves->move[i].bytes);
        must_be_seen(stream, moves->move[i].to, moves->move[i].bytes);
    }
    step->is_move = 1;
    step->moves = *moves;
    return 0;
}

static int fake_mark(xyl_cuda_stream_t *stream, uint32_t mark)
{
    stream->is_reached[mark] = 0;
    step_add(stream)->mark = mark;
    return 0;
}

static int fake_reached(xyl_cuda_stream_t *stream, uint32_t mark,
                        int *is_reached_out)
{
    if (!stream->is_reached[mark] && ++stream->looks % LOOKS == 0)
        (void)fake_stream_wait(stream);
    *is_reached_out = stream->is_reached[mark];
    return 0;
}

/* ---- other processes ---- */

typedef struct handle {
    pid_t process;
    int device, file;
    uintptr_t base;
    size_t bytes;
} handle_t;

static int fake_export(const void *base, uint8_t *handle_out)
{
    handle_t handle = {.process = getpid()};
    map_t *map;

    pthread_mutex_lock(&lock);
    map = map_of(base);
    handle.device = map->device;
    handle.file = map->file;
    handle.bytes = map->bytes;
    handle.base = (uintptr_t)map->base;
    pthread_mutex_unlock(&lock);
    memcpy(handle_out, &handle, sizeof handle);
    return 0;
}

/* A driver takes no more. */
static int has_enough_open(void)
{
    const char *most = getenv("FAKE_CUDA_OPENS");
    int count = 0;
    map_t *map;

    if (most == NULL)
        return 0;
    pthread_mutex_lock(&lock);
    for (map = maps; map < maps + MAPS_MAX; map++)
        count += map->base != NULL && map->of_process != 0;
    pthread_mutex_unlock(&lock);
    return count >= atoi(most);
}

/* 1: another allocation of that process is still open where this one lies. */
static int is_open_still(const handle_t *handle)
{
    map_t *map;
    int found = 0;

    pthread_mutex_lock(&lock);
    for (map = maps; map < maps + MAPS_MAX; map++)
        if (map->base != NULL && map->of_process == handle->process &&
            map->of_base < handle->base + handle->bytes &&
            handle->base < map->of_base + map->bytes)
            found = 1;
    pthread_mutex_unlock(&lock);
    return found;
}

static void remember_origin(const void *base, const handle_t *handle)
{
    map_t *map;

    pthread_mutex_lock(&lock);
    map = map_of(base);
    map->of_process = handle->process;
    map->of_base = handle->base;
    pthread_mutex_unlock(&lock);
}

static int fake_open(int device, const uint8_t *handle, void **base_out)
{
    handle_t of;
    char path[64];
    int file;

    memcpy(&of, handle, sizeof of);
    if (is_open_still(&of) || has_enough_open())
        return ERROR; /* as a driver says: already mapped */
    if (!fake_reaches(device, of.device))
        return ERROR;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)of.process, of.file);
    file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0 || map_add(device, file, of.bytes, base_out) != 0)
        return ERROR;
    remember_origin(*base_out, &of);
    return 0;
}

static void fake_close(int device, void *base)
{
    (void)device;
    map_remove(base);
}

/* ---- streams of the runtime's ---- */

static void *fake_stream_of_runtime(xyl_cuda_stream_t *stream)
{
    return stream;
}

/* A program may name any address; an odd one is being captured. */
static int fake_stream_number(void *stream, uint64_t *number_out)
{
    *number_out = (uintptr_t)stream;
    return (uintptr_t)stream % 2 != 0 ? ERROR : 0;
}

/* The work on such streams has already ended. */
static int fake_stream_write(void *stream, uint64_t *word, uint64_t value)
{
    (void)stream;
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
    return 0;
}

/* A kernel is a function of the host's. */
static int fake_launch(xyl_cuda_stream_t *stream,
                       const xyl_cuda_launch_t *launch)
{
    void (*function)(void *);

    (void)stream;
    memcpy(&function, &launch->function, sizeof function);
    function(launch->parameter);
    return 0;
}

const xyl_cuda_library_t *xylem_cuda_library(void);

const xyl_cuda_library_t *xylem_cuda_library(void)
{
    static const xyl_cuda_library_t library = {
        .version = XYL_CUDA_LIBRARY_VERSION,
        .error_text = fake_error_text,
        .find = fake_find,
        .devices = fake_devices,
        .device = fake_device,
        .reaches = fake_reaches,
        .driver_version = fake_driver_version,
        .host_take = fake_host_take,
        .host_give = fake_host_give,
        .host_register = fake_host_register,
        .host_unregister = fake_host_unregister,
        .device_take = fake_device_take,
        .device_give = fake_device_give,
        .stream_create = fake_stream_create,
        .stream_destroy = fake_stream_destroy,
        .stream_wait = fake_stream_wait,
        .copy = fake_copy,
        .repack = fake_repack,
        .combines = fake_combines,
        .combine = fake_combine,
        .move = fake_move,
        .mark = fake_mark,
        .reached = fake_reached,
        .stream_of_runtime = fake_stream_of_runtime,
        .export_memory = fake_export,
        .open_memory = fake_open,
        .close_memory = fake_close,
        .stream_number = fake_stream_number,
        .stream_write = fake_stream_write,
        .launch = fake_launch,
    };

    return &library;
}
