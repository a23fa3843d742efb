/* Memory of GPUs to which kernels of other ranks write. The library only
 * exchanges its addresses. */
#include <unistd.h>

#include "include/xylem_device.h"
#include "progress/exec/cuda/cuda.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"
#include "runtime/core/team.h"
#include "runtime/triggers/stream_steps.h"

/* A rank's memory, as other ranks open it. */
typedef struct card {
    uint32_t status; /* xylem_status_t */
    uint32_t node;
    int32_t device;
    uint32_t unused;
    uint64_t bytes, offset;
    uint8_t handle[XYL_CUDA_HANDLE_BYTES];
} card_t;

static xylem_status_t card_write(xylem_context_t *context,
                                 const xyl_cuda_library_t *library,
                                 const void *memory, size_t bytes, card_t *card)
{
    xyl_cuda_place_t place;

    library->find(memory, &place);
    card->device = place.device;
    card->node = context->peers[context->rank].place.node;
    card->offset = (uintptr_t)memory - place.base;
    card->bytes = bytes;
    if (place.kind != XYL_CUDA_KIND_DEVICE || !place.is_exportable ||
        card->offset + bytes > place.bytes ||
        library->export_memory((const void *)(uintptr_t)place.base,
                               card->handle) != 0)
        return XYLEM_ERR_UNSUPPORTED;
    return XYLEM_OK;
}

static xylem_status_t peer_open(const xyl_cuda_library_t *library,
                                const card_t *mine, const card_t *card,
                                void **memory)
{
    void *base;

    if (card->node != mine->node || card->bytes != mine->bytes ||
        library->open_memory(mine->device, card->handle, &base) != 0)
        return XYLEM_ERR_UNSUPPORTED;
    *memory = (char *)base + card->offset;
    return XYLEM_OK;
}

static void peers_close(const xyl_cuda_library_t *library, int device,
                        const xylem_device_peers_t *peers)
{
    uint32_t r;

    for (r = 0; r < peers->ranks; r++)
        if (r != peers->rank && peers->memory[r] != NULL) {
            xyl_cuda_place_t place;
            library->find(peers->memory[r], &place);
            library->close_memory(device, (void *)(uintptr_t)place.base);
        }
}

/* The worst status of all ranks. */
static xylem_status_t agree(xylem_team_t *team, xylem_status_t status)
{
    uint32_t mine = status, all = status;
    xylem_status_t outcome =
        xylem_allreduce(team, &mine, &all, 1, XYLEM_UINT32, XYLEM_MAX);

    return outcome == XYLEM_OK ? (xylem_status_t)all : outcome;
}

static xylem_status_t peers_exchange(xylem_team_t *team,
                                     const xyl_cuda_library_t *library,
                                     card_t *mine, void *memory,
                                     xylem_device_peers_t *peers)
{
    card_t cards[XYLEM_PEERS_MAX];
    uint32_t r;
    xylem_status_t status =
        xylem_allgather(team, mine, cards, sizeof *mine, XYLEM_BYTE);

    for (r = 0; r < peers->ranks && status == XYLEM_OK; r++) {
        if (cards[r].status != XYLEM_OK)
            status = XYLEM_ERR_UNSUPPORTED;
        else if (r == peers->rank)
            peers->memory[r] = memory;
        else
            status = peer_open(library, mine, &cards[r], &peers->memory[r]);
    }
    status = agree(team, status);
    if (status != XYLEM_OK && library != NULL)
        peers_close(library, mine->device, peers);
    return status;
}

xylem_status_t xylem_peers_open(xylem_team_t *team, void *memory, size_t bytes,
                                xylem_device_peers_t *peers)
{
    const xyl_cuda_library_t *library = NULL;
    card_t mine = {.status = XYLEM_OK};
    xyl_exec_t *exec;
    xylem_status_t status = xyl_team_check(team, "xylem_peers_open");

    if (status != XYLEM_OK)
        return status;
    if (peers == NULL || peers->struct_bytes < sizeof *peers ||
        team->size > XYLEM_PEERS_MAX)
        return xyl_refuse("xylem_peers_open",
                          "peers is NULL, its struct_bytes is not set, or the "
                          "team has more than %d ranks",
                          XYLEM_PEERS_MAX);
    *peers = (xylem_device_peers_t){.struct_bytes = sizeof *peers,
                                    .bytes = bytes,
                                    .rank = team->rank,
                                    .ranks = team->size};
    status = xyl_stream_steps_gpu(team->context, "xylem_peers_open", &exec,
                                  &library);
    if (status == XYLEM_OK)
        status = card_write(team->context, library, memory, bytes, &mine);
    mine.status = status;
    status = peers_exchange(team, library, &mine, memory, peers);
    return status == XYLEM_ERR_UNSUPPORTED
               ? xyl_fail(status,
                          "xylem_peers_open: on some rank the memory is "
                          "not a GPU's, or not for all others")
               : status;
}

xylem_status_t xylem_peers_close(xylem_team_t *team,
                                 xylem_device_peers_t *peers)
{
    const xyl_cuda_library_t *library;
    xyl_cuda_place_t place;
    xyl_exec_t *exec;
    xylem_status_t status = xyl_team_check(team, "xylem_peers_close");

    if (status != XYLEM_OK)
        return status;
    if (peers == NULL || peers->struct_bytes < sizeof *peers ||
        peers->ranks > XYLEM_PEERS_MAX)
        return xyl_refuse("xylem_peers_close", "these are no peers");
    status = xylem_barrier(team);
    if (xyl_stream_steps_gpu(team->context, "xylem_peers_close", &exec,
                             &library) == XYLEM_OK) {
        library->find(peers->memory[peers->rank], &place);
        peers_close(library, place.device, peers);
    }
    peers->ranks = 0;
    return status;
}
