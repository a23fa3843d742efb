/* A rank exports each of its allocations once, and opens each allocation of
 * another rank once: both take longer than a short collective. A process gives
 * each allocation a number that it never uses again, so an allocation is told
 * from an older one at the same address. */
#include "collectives/device/device.h"

#include <stdlib.h>
#include <string.h>

#include "collectives/device/reach.h"
#include "collectives/device/staging.h"
#include "collectives/device/team.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/core/context.h"

enum {
    OWN_SOME = 64,     /* remembered handles of own allocations, at first, */
    OWN_MOST = 1024,   /* and at most */
    OPENED_SOME = 256, /* open allocations of others; more if works use all */
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
    uint64_t used;  /* state.calls at the last use; 0: no work has used it */
    uint64_t works; /* state.works then; works that began later use it */
    int is_gone;    /* its owner has freed it, or died */
} opened_t;

typedef struct room {
    void *memory; /* NULL: there is none */
    int device, is_taken;
    size_t bytes;
} room_t;

typedef struct device_state {
    const xyl_cuda_library_t *library; /* NULL: no room, nothing opened yet */
    uint64_t gpu; /* number of gpu_device's GPU; 0: not asked for yet */
    int gpu_device;
    own_t *own; /* [own_count]; base 0: free */
    uint32_t own_count;
    uint32_t own_next, own_look; /* places: to fill next, to look at next */
    uint32_t own_added;          /* allocations whose extra look is owed */
    opened_t *opened;            /* [opened_count] */
    uint32_t opened_count;
    uint64_t calls;              /* of xyl_device_open */
    xyl_exec_t *exec;            /* NULL: nothing has been opened yet */
    uint64_t works, works_ended; /* of exec, when works_look last asked */
    int keeps_gone;              /* works use memory that is gone */
    room_t rooms[ROOMS_MAX];
    xyl_device_reach_t reach;
} device_state_t;

static device_state_t *state_of(const xylem_context_t *context)
{
    return context->attached[XYL_MODULE_DEVICE];
}

xyl_device_reach_t *xyl_device_reach_of(const xylem_context_t *context)
{
    return &state_of(context)->reach;
}

/* ---- names ---- */

/* Parts of one GPU that are devices of their own (MIG) differ only in uuid. */
static uint64_t gpu_number(const xyl_cuda_device_t *device)
{
    const int places[] = {device->pci_domain, device->pci_bus,
                          device->pci_slot};
    uint64_t hash = xyl_hash(XYL_HASH_SEED, places, sizeof places);

    hash = xyl_hash(hash, device->uuid, sizeof device->uuid);
    return hash == 0 || hash == XYL_DEVICE_GPU_UNKNOWN ? 1 : hash;
}

/* Asks the driver once, as its answer takes long. */
uint64_t xyl_device_gpu(xylem_context_t *context,
                        const xyl_cuda_library_t *library, int device)
{
    device_state_t *state = state_of(context);
    xyl_cuda_device_t found = {.pci_domain = 0};

    if (state->gpu != 0 && state->gpu_device == device)
        return state->gpu;
    if (library->device(device, &found) != 0)
        return XYL_DEVICE_GPU_UNKNOWN;
    state->gpu_device = device;
    state->gpu = gpu_number(&found);
    return state->gpu;
}

static own_t *own_find(const device_state_t *state,
                       const xyl_cuda_place_t *place)
{
    uint32_t i;

    for (i = 0; i < state->own_count; i++)
        if (state->own[i].base == place->base &&
            state->own[i].buffer == place->buffer)
            return &state->own[i];
    return NULL;
}

/* Doubles the places. 0: there are enough, or there is no memory. */
static int own_grow(device_state_t *state)
{
    uint32_t before = state->own_count;
    uint32_t count = before == 0 ? OWN_SOME : 2 * before;
    own_t *own =
        count > OWN_MOST ? NULL : realloc(state->own, count * sizeof *own);

    if (own == NULL)
        return 0;
    memset(own + before, 0, (count - before) * sizeof *own);
    state->own = own;
    state->own_count = count;
    state->own_next = before;
    return 1;
}

/* A free place, or that of the allocation that was named first: other ranks
 * will not be told when that allocation is freed. NULL: no memory. */
static own_t *own_place(device_state_t *state)
{
    uint32_t i;

    for (i = 0; i < state->own_count; i++) {
        own_t *own = &state->own[state->own_next++ % state->own_count];
        if (own->base == 0)
            return own;
    }
    if (!own_grow(state) && state->own_count == 0)
        return NULL;
    return &state->own[state->own_next++ % state->own_count];
}

int xyl_device_name(xylem_context_t *context, const xyl_cuda_library_t *library,
                    const void *address, const xyl_cuda_place_t *place,
                    xyl_device_name_t *name_out)
{
    device_state_t *state = state_of(context);
    own_t *own = own_find(state, place),
          made = {.base = place->base, .buffer = place->buffer};
    int error;

    *name_out = (xyl_device_name_t){.base = place->base,
                                    .bytes = place->bytes,
                                    .buffer = place->buffer,
                                    .offset = (uintptr_t)address - place->base};
    if (own == NULL) {
        error = library->export_memory((const void *)(uintptr_t)place->base,
                                       made.handle);
        if (error != 0)
            return error;
        own = own_place(state);
        if (own != NULL)
            *own = made;
        state->own_added++;
    }
    memcpy(name_out->handle, own == NULL ? made.handle : own->handle,
           sizeof own->handle);
    return 0;
}

/* The next named allocation to look at. NULL: there is none. */
static own_t *own_next_look(device_state_t *state)
{
    uint32_t looks;

    for (looks = 0; looks < state->own_count; looks++) {
        own_t *own = &state->own[state->own_look++ % state->own_count];
        if (own->base != 0)
            return own;
    }
    return NULL;
}

/* Looks at one named allocation in each call, and at one more for each new one:
 * the driver's answer takes long. */
void xyl_device_find_freed(xylem_context_t *context,
                           const xyl_cuda_library_t *library,
                           xyl_device_freed_t freed_out[XYL_DEVICE_FREED_MAX])
{
    device_state_t *state = state_of(context);
    uint32_t i, count = 0, looks = 1 + state->own_added;
    xyl_cuda_place_t place;
    own_t *own;

    memset(freed_out, 0, XYL_DEVICE_FREED_MAX * sizeof *freed_out);
    if (looks > XYL_DEVICE_FREED_MAX)
        looks = XYL_DEVICE_FREED_MAX;
    state->own_added -= looks - 1;
    for (i = 0; i < looks; i++) {
        own = own_next_look(state);
        if (own == NULL)
            return;
        library->find((const void *)(uintptr_t)own->base, &place);
        if (place.kind == XYL_CUDA_KIND_DEVICE && place.buffer == own->buffer)
            continue;
        freed_out[count++] =
            (xyl_device_freed_t){.base = own->base, .buffer = own->buffer};
        own->base = 0;
    }
}

static void opened_close(device_state_t *state, opened_t *opened)
{
    if (opened->mapped != NULL)
        state->library->close_memory(opened->device, opened->mapped);
    opened->mapped = NULL;
}

/* 1: works that have not ended, or not begun, may use the memory. */
static int is_used(const device_state_t *state, const opened_t *opened)
{
    return opened->mapped != NULL && opened->works >= state->works_ended;
}

static void works_look(device_state_t *state)
{
    state->works = xyl_cuda_works(state->exec, &state->works_ended);
}

/* Waits for all works; then only works that begin later may use memory. */
static void works_settle(device_state_t *state)
{
    xyl_cuda_settle(state->exec);
    works_look(state);
}

/* Closes freed memory of `owner` in whose place the allocation `name` lies now:
 * until then the driver does not open the new allocation. Works still use
 * the freed memory if their call has failed on `owner`, but not here yet. */
static void opened_close_gone(device_state_t *state, uint32_t owner,
                              const xyl_device_name_t *name)
{
    opened_t *opened;
    uint32_t i;

    for (i = 0; i < state->opened_count; i++) {
        opened = &state->opened[i];
        if (opened->mapped == NULL || opened->owner != owner ||
            opened->buffer == name->buffer ||
            opened->base >= name->base + name->bytes ||
            name->base >= opened->base + opened->bytes)
            continue;
        if (is_used(state, opened))
            works_settle(state);
        opened_close(state, opened);
    }
}

/* Closes memory of `owner`, or of all ranks, that no work uses. */
static void opened_close_unused(device_state_t *state, uint32_t owner,
                                int of_all)
{
    uint32_t i;

    for (i = 0; i < state->opened_count; i++)
        if ((of_all || state->opened[i].owner == owner) &&
            !is_used(state, &state->opened[i]))
            opened_close(state, &state->opened[i]);
}

/* Doubles the places; returns the first new one. NULL: no memory. */
static opened_t *opened_grow(device_state_t *state)
{
    uint32_t before = state->opened_count;
    uint32_t count = before == 0 ? OPENED_SOME : 2 * before;
    opened_t *opened = realloc(state->opened, count * sizeof *opened);

    if (opened == NULL)
        return NULL;
    memset(opened + before, 0, (count - before) * sizeof *opened);
    state->opened = opened;
    state->opened_count = count;
    return &opened[before];
}

/* The place of the allocation, or of an older one at its address; else a free
 * place, or that of the memory used longest ago. NULL: no memory. */
static opened_t *opened_find(device_state_t *state,
                             const xyl_device_remote_t *remote)
{
    opened_t *opened, *oldest = NULL;
    uint32_t i;

    for (i = 0; i < state->opened_count; i++) {
        opened = &state->opened[i];
        if (opened->mapped != NULL && opened->owner == remote->owner &&
            opened->device == remote->device &&
            opened->base == remote->name->base)
            return opened;
        if (is_used(state, opened))
            continue;
        if (oldest == NULL ||
            (oldest->mapped != NULL &&
             (opened->mapped == NULL || opened->used < oldest->used)))
            oldest = opened;
    }
    return oldest != NULL ? oldest : opened_grow(state);
}

/* Opens an allocation in a place. The driver may have too much open, or refuse
 * a second device. Then this function closes unused memory of the owner and
 * tries again; then it waits for all works, closes memory of all ranks, and
 * tries once more. 0, or an error of the library. */
static int opened_fill(device_state_t *state, const xyl_device_remote_t *remote,
                       opened_t *opened)
{
    const xyl_device_name_t *name = remote->name;
    int error, attempt;

    opened_close_gone(state, remote->owner, name);
    opened_close(state, opened);
    *opened = (opened_t){.owner = remote->owner,
                         .device = remote->device,
                         .base = name->base,
                         .bytes = name->bytes,
                         .buffer = name->buffer};
    for (attempt = 0;; attempt++) {
        error = state->library->open_memory(opened->device, name->handle,
                                            &opened->mapped);
        if (error == 0)
            return 0;
        opened->mapped = NULL;
        if (attempt == 2)
            return error;
        if (attempt == 1)
            works_settle(state);
        opened_close_unused(state, opened->owner, attempt == 1);
    }
}

/* Closes memory that has gone, if no work uses it: the driver keeps freed
 * memory, and memory of a process that has gone, while it is open here. */
static void opened_close_left(device_state_t *state)
{
    opened_t *opened;
    uint32_t i;

    works_look(state);
    state->keeps_gone = 0;
    for (i = 0; i < state->opened_count; i++) {
        opened = &state->opened[i];
        if (opened->mapped == NULL || !opened->is_gone)
            continue;
        if (is_used(state, opened))
            state->keeps_gone = 1;
        else
            opened_close(state, opened);
    }
}

/* Called when no work is under way: closes gone memory that works have used. */
static void works_rest(void *arg)
{
    device_state_t *state = arg;

    if (state->keeps_gone)
        opened_close_left(state);
}

void xyl_device_forget(xylem_context_t *context, uint32_t owner,
                       const xyl_device_freed_t *freed)
{
    device_state_t *state = state_of(context);
    opened_t *opened;
    uint32_t i;

    if (state->exec == NULL)
        return;
    for (i = 0; i < state->opened_count; i++) {
        opened = &state->opened[i];
        if (opened->owner == owner && opened->base == freed->base &&
            opened->buffer == freed->buffer)
            opened->is_gone = 1;
    }
    opened_close_left(state);
}

/* Marks memory of the dead; works of teams not yet failed may still use it. */
static void device_teams_failed(xylem_context_t *context)
{
    device_state_t *state = state_of(context);
    opened_t *opened;
    uint32_t i;

    if (state->exec == NULL)
        return;
    for (i = 0; i < state->opened_count; i++) {
        opened = &state->opened[i];
        if (opened->mapped != NULL &&
            xyl_peer_is_dead(&context->peers[opened->owner]))
            opened->is_gone = 1;
    }
    opened_close_left(state);
}

/* Opens an allocation if it is not open, and notes the executor whose works use
 * it. Returns its place; NULL: see *why_out. */
static opened_t *open_name(device_state_t *state,
                           const xyl_device_remote_t *remote,
                           const char **why_out)
{
    opened_t *opened;
    int error;

    if (state->exec == NULL)
        xyl_cuda_at_rest(remote->exec, works_rest, state);
    state->exec = remote->exec;
    state->library = remote->library;
    works_look(state);
    opened = opened_find(state, remote);
    if (opened == NULL) {
        *why_out = "no memory";
        return NULL;
    }
    if (opened->mapped != NULL && opened->owner == remote->owner &&
        opened->device == remote->device &&
        opened->base == remote->name->base &&
        opened->buffer == remote->name->buffer)
        return opened;
    error = opened_fill(state, remote, opened);
    *why_out = error == 0 ? NULL : remote->library->error_text(error);
    return error == 0 ? opened : NULL;
}

void *xyl_device_open(xylem_context_t *context,
                      const xyl_device_remote_t *remote)
{
    device_state_t *state = state_of(context);
    const xyl_device_name_t *name = remote->name;
    const char *why;
    opened_t *opened;

    if (remote->owner == context->rank)
        return (void *)(uintptr_t)(name->base + name->offset);
    opened = open_name(state, remote, &why);
    if (opened == NULL) {
        xyl_log(XYL_LOG_ERROR,
                "memory of a GPU that rank %u of the job has cannot be "
                "opened: %s",
                remote->owner, why);
        return NULL;
    }
    opened->used = ++state->calls;
    opened->works = state->works;
    return (char *)opened->mapped + name->offset;
}

int xyl_device_opens(xylem_context_t *context,
                     const xyl_device_remote_t *remote, const char **why_out)
{
    device_state_t *state = state_of(context);
    opened_t *opened = open_name(state, remote, why_out);

    if (opened != NULL && opened->used == 0)
        opened_close(state, opened);
    return opened != NULL;
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

void xyl_device_room_give(xylem_context_t *context, void *memory,
                          int has_failed)
{
    device_state_t *state = state_of(context);
    room_t *room;

    for (room = state->rooms; room < state->rooms + ROOMS_MAX; room++) {
        if (room->memory != memory)
            continue;
        room->is_taken = 0;
        if (has_failed) {
            state->library->device_give(room->device, memory);
            room->memory = NULL;
        }
    }
}

static void device_context_ends(xylem_context_t *context)
{
    device_state_t *state = state_of(context);
    uint32_t i;

    for (i = 0; i < state->opened_count; i++)
        opened_close(state, &state->opened[i]);
    free(state->opened);
    free(state->own);
    for (i = 0; i < ROOMS_MAX; i++)
        if (state->rooms[i].memory != NULL)
            state->library->device_give(state->rooms[i].device,
                                        state->rooms[i].memory);
}

static void device_team_ends(xylem_team_t *team)
{
    xyl_device_team_t *state = xyl_gpus_of_team(team);

    if (state->staging != NULL)
        xyl_device_staging_end(team, state->staging);
}

const xyl_module_t xyl_device_module = {
    .bytes = {[XYL_OWNER_CONTEXT] = sizeof(device_state_t),
              [XYL_OWNER_TEAM] = sizeof(xyl_device_team_t)},
    .context_ends = device_context_ends,
    .teams_failed = device_teams_failed,
    .team_ends = device_team_ends,
};
