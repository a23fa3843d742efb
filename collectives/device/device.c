/* Handles of exported memory are asked for, and those of others opened, once:
 * both take longer than a short collective. An allocation is known by its
 * number, which no other of its process ever has; so one that lies where
 * another has been is found out. */
#include "collectives/device/device.h"

#include <stdlib.h>
#include <string.h>

#include "collectives/device/way.h"
#include "runtime/base/log.h"
#include "runtime/core/context.h"

enum {
    OWN_MAX = 64,     /* handles of this process that are remembered */
    OPENED_MAX = 256, /* of others that are open */
    ROOMS_MAX = 64,
    ROOM_BITS_MIN = 16
};

typedef struct own {
    uint64_t base, buffer;
    uint8_t handle[XYL_CUDA_HANDLE_BYTES];
} own_t;

typedef struct opened {
    void *mapped; /* NULL: free */
    uint32_t owner;
    int device;
    uint64_t base, bytes, buffer;
    uint64_t used; /* when, in calls */
} opened_t;

typedef struct room {
    void *memory; /* NULL: there is none */
    int device, is_taken;
    size_t bytes;
} room_t;

typedef struct device_state {
    const xyl_cuda_library_t *library; /* NULL: nothing of it is used yet */
    uint64_t gpu;                      /* of gpu_device; 0: not asked for yet */
    int gpu_device;
    own_t own[OWN_MAX];
    uint32_t own_next;
    opened_t opened[OPENED_MAX];
    uint64_t calls;
    room_t rooms[ROOMS_MAX];
} device_state_t;

static device_state_t *state_of(const xylem_context_t *context)
{
    return context->attached[XYL_MODULE_DEVICE];
}

xyl_device_team_t *xyl_device_of_team(const xylem_team_t *team)
{
    return team->attached[XYL_MODULE_DEVICE];
}

/* ---- names ---- */

/* The driver takes its time to say it. */
uint64_t xyl_device_gpu(xylem_context_t *context,
                        const xyl_cuda_library_t *library, int device)
{
    device_state_t *state = state_of(context);
    xyl_cuda_device_t found;

    if (state->gpu != 0 && state->gpu_device == device)
        return state->gpu;
    if (library->device(device, &found) != 0)
        return UINT64_MAX;
    state->gpu_device = device;
    state->gpu = UINT64_C(1) << 63 | (uint64_t)found.pci_domain << 32 |
                 (uint64_t)(uint32_t)found.pci_bus << 16 |
                 (uint64_t)(uint32_t)found.pci_slot;
    return state->gpu;
}

int xyl_device_name(xylem_context_t *context, const xyl_cuda_library_t *library,
                    const void *address, const xyl_cuda_place_t *place,
                    xyl_device_name_t *name_out)
{
    device_state_t *state = state_of(context);
    own_t *own = state->own;
    int error;

    *name_out = (xyl_device_name_t){.base = place->base,
                                    .bytes = place->bytes,
                                    .buffer = place->buffer,
                                    .offset = (uintptr_t)address - place->base};
    for (; own < state->own + OWN_MAX; own++)
        if (own->base == place->base && own->buffer == place->buffer)
            break;
    if (own == state->own + OWN_MAX) {
        own = &state->own[state->own_next++ % OWN_MAX];
        own->base = 0;
        error = library->export_memory((const void *)(uintptr_t)place->base,
                                       own->handle);
        if (error != 0)
            return error;
        own->base = place->base;
        own->buffer = place->buffer;
    }
    memcpy(name_out->handle, own->handle, sizeof own->handle);
    return 0;
}

static void opened_close(device_state_t *state, opened_t *opened)
{
    if (opened->mapped != NULL)
        state->library->close_memory(opened->device, opened->mapped);
    opened->mapped = NULL;
}

/* What lay where an allocation lies now has gone, and the driver does not open
 * the new one while the old one is open. `all`: whatever the owner has. */
static void opened_close_gone(device_state_t *state, uint32_t owner,
                              const xyl_device_name_t *name, int all)
{
    opened_t *opened = state->opened;

    for (; opened < state->opened + OPENED_MAX; opened++)
        if (opened->mapped != NULL && opened->owner == owner &&
            (all || (opened->buffer != name->buffer &&
                     opened->base < name->base + name->bytes &&
                     name->base < opened->base + opened->bytes)))
            opened_close(state, opened);
}

/* The place of an allocation; of one that has gone, if another lies there now;
 * else the one that has not been used for the longest. */
static opened_t *opened_find(device_state_t *state, uint32_t owner, int device,
                             const xyl_device_name_t *name)
{
    opened_t *opened = state->opened, *oldest = opened;

    for (; opened < state->opened + OPENED_MAX; opened++) {
        if (opened->mapped != NULL && opened->owner == owner &&
            opened->device == device && opened->base == name->base)
            return opened;
        if (oldest->mapped != NULL &&
            (opened->mapped == NULL || opened->used < oldest->used))
            oldest = opened;
    }
    return oldest;
}

void *xyl_device_open(xylem_context_t *context,
                      const xyl_cuda_library_t *library, uint32_t owner,
                      int device, const xyl_device_name_t *name, int is_idle)
{
    device_state_t *state = state_of(context);
    opened_t *opened;
    int error;

    if (owner == context->rank)
        return (void *)(uintptr_t)(name->base + name->offset);
    state->library = library;
    opened = opened_find(state, owner, device, name);
    if (opened->mapped == NULL || opened->owner != owner ||
        opened->device != device || opened->base != name->base ||
        opened->buffer != name->buffer) {
        opened_close_gone(state, owner, name, 0);
        opened_close(state, opened);
        *opened = (opened_t){.owner = owner,
                             .device = device,
                             .base = name->base,
                             .bytes = name->bytes,
                             .buffer = name->buffer};
        error = library->open_memory(device, name->handle, &opened->mapped);
        if (error != 0 && is_idle) {
            opened->mapped = NULL;
            opened_close_gone(state, owner, name, 1);
            error = library->open_memory(device, name->handle, &opened->mapped);
        }
        if (error != 0) {
            opened->mapped = NULL;
            xyl_log(XYL_LOG_ERROR,
                    "memory of a GPU that rank %u of the job has cannot be "
                    "opened: %s",
                    owner, library->error_text(error));
            return NULL;
        }
    }
    opened->used = ++state->calls;
    return (char *)opened->mapped + name->offset;
}

/* ---- room ---- */

static size_t room_bytes(size_t bytes)
{
    size_t room = (size_t)1 << ROOM_BITS_MIN;

    while (room < bytes)
        room *= 2;
    return room;
}

void *xyl_device_room_take(xylem_context_t *context,
                           const xyl_cuda_library_t *library, int device,
                           size_t bytes)
{
    device_state_t *state = state_of(context);
    room_t *room = state->rooms, *free = NULL;
    size_t wanted = room_bytes(bytes);

    state->library = library;
    for (; room < state->rooms + ROOMS_MAX; room++) {
        if (room->memory != NULL && !room->is_taken && room->device == device &&
            room->bytes == wanted)
            break;
        if (room->memory == NULL || (free == NULL && !room->is_taken))
            free = room;
    }
    if (room == state->rooms + ROOMS_MAX) {
        room = free;
        if (room == NULL)
            return NULL;
        if (room->memory != NULL)
            library->device_give(room->device, room->memory);
        room->memory = NULL;
        if (library->device_take(device, wanted, &room->memory) != 0) {
            room->memory = NULL;
            return NULL;
        }
        room->device = device;
        room->bytes = wanted;
    }
    room->is_taken = 1;
    return room->memory;
}

void xyl_device_room_give(xylem_context_t *context, void *memory)
{
    device_state_t *state = state_of(context);
    room_t *room;

    for (room = state->rooms; room < state->rooms + ROOMS_MAX; room++)
        if (room->memory == memory)
            room->is_taken = 0;
}

static void device_context_ends(xylem_context_t *context)
{
    device_state_t *state = state_of(context);
    uint32_t i;

    for (i = 0; i < OPENED_MAX; i++)
        opened_close(state, &state->opened[i]);
    for (i = 0; i < ROOMS_MAX; i++)
        if (state->rooms[i].memory != NULL)
            state->library->device_give(state->rooms[i].device,
                                        state->rooms[i].memory);
}

const xyl_module_t xyl_device_module = {
    .name = "device",
    .bytes = {[XYL_OWNER_CONTEXT] = sizeof(device_state_t),
              [XYL_OWNER_TEAM] = sizeof(xyl_device_team_t)},
    .context_ends = device_context_ends,
};
