/* Ranks of one node whose buffers lie in memory of GPUs name these to one
 * another. Then one rank for each GPU, its *worker*, begins kernels that read
 * inputs where they lie, combine them in the order of ranks or move them, and
 * write results where they belong. A message is cut into a part for each
 * worker. A worker moves the blocks that come from its GPU, and reduces those
 * whose results lie there.
 *
 * This is the Gathered Shared Buffer (Faraji, Afsahi, "Design considerations
 * for GPU-aware collective communications in MPI", 2018) without the copies
 * into a buffer of a leader's GPU (cuda_staged.c). Processes that share a GPU
 * take no turns on it, as only its worker begins work there. Memory that cannot
 * be exported is copied to a room (run.c), and back.
 *
 * A few blocks of threads fill a link between GPUs, and many slow it down. So a
 * kernel that uses links has limits.device_blocks blocks for each rank of its
 * GPU. */
#include "collectives/data/limits.h"
#include "collectives/device/plan.h"
#include "collectives/levels/parts.h"
#include "runtime/base/parts.h"

enum { UNIT = 256 /* elements: parts of workers begin at multiples */ };

/* The tasks that are being written. */
typedef struct writer {
    const xyl_device_plan_t *plan;
    uint32_t part, parts; /* this worker's, of so many */
    uint64_t begin, end;  /* of the part, in a message */
    uint32_t blocks;      /* of each kernel, at most; 0: the device decides */
    uint32_t count;       /* tasks so far */
    int is_open;          /* the last task has room for moves */
    int has_failed;
} writer_t;

/* ---- workers ---- */

static int are_together(const xyl_device_plan_t *plan, uint32_t rank,
                        uint32_t other)
{
    const xyl_device_offer_t *offer = xyl_device_offer(plan, rank);
    const xyl_device_offer_t *others = xyl_device_offer(plan, other);

    return offer->kind == XYL_DEVICE_GPU && others->kind == XYL_DEVICE_GPU &&
           offer->gpu == others->gpu;
}

/* 1: the rank is the first on its GPU. */
static int is_first(const xyl_device_plan_t *plan, uint32_t rank)
{
    uint32_t before;

    for (before = 0; before < rank; before++)
        if (are_together(plan, before, rank))
            return 0;
    return xyl_device_offer(plan, rank)->kind == XYL_DEVICE_GPU;
}

/* 1: the GPU of the root has no part of a message, as its link carries the
 * whole message already. It has a part if there are only two GPUs, or if other
 * ranks share it. */
static int root_rests(const xyl_device_plan_t *plan)
{
    xylem_coll_t coll = plan->problem.coll;
    uint32_t rank, others = 0;

    if (coll != XYLEM_COLL_BCAST && coll != XYLEM_COLL_REDUCE)
        return 0;
    for (rank = 0; rank < plan->problem.ranks; rank++) {
        if (rank == plan->problem.root)
            continue;
        if (are_together(plan, rank, plan->problem.root))
            return 0;
        others += (uint32_t)is_first(plan, rank);
    }
    return others > 1;
}

static uint64_t part_at(uint64_t count, uint32_t parts, uint32_t part)
{
    uint64_t units = (count + UNIT - 1) / UNIT;
    uint64_t at = xyl_part_at(units, parts, part) * UNIT;

    return at < count ? at : count;
}

/* Finds this worker's part. 0: this rank is no worker. */
static int find_part(const xyl_device_plan_t *plan, writer_t *writer)
{
    uint32_t rank, ranks = 0, gpus = 0;
    int rests = root_rests(plan), works = 0;

    for (rank = 0; rank < plan->problem.ranks; rank++) {
        ranks += xyl_device_offer(plan, rank)->kind == XYL_DEVICE_GPU;
        if (!is_first(plan, rank))
            continue;
        gpus++;
        if (rests && rank == plan->problem.root)
            continue;
        if (rank == plan->problem.rank) {
            writer->part = writer->parts;
            works = 1;
        }
        writer->parts++;
    }
    if (works) {
        writer->begin = part_at(plan->count, writer->parts, writer->part);
        writer->end = part_at(plan->count, writer->parts, writer->part + 1);
    }
    if (gpus > 1)
        writer->blocks = (uint32_t)xyl_limits_of(plan->context)->device_blocks *
                         (ranks / gpus);
    return works;
}

/* ---- operands ---- */

static char *operand(writer_t *writer, uint32_t rank, int is_input)
{
    const xyl_device_plan_t *plan = writer->plan;
    const xyl_device_offer_t *offer = xyl_device_offer(plan, rank);
    char *opened = xyl_device_operand(
        plan, rank, is_input ? &offer->input : &offer->result);

    if (opened == NULL)
        writer->has_failed = 1;
    return opened;
}

static xyl_cuda_combine_t *combine_next(writer_t *writer, uint64_t elements)
{
    xyl_device_task_t *task = &writer->plan->tasks[writer->count++];

    task->is_moves = 0;
    xyl_device_combine_fill(writer->plan, elements, &task->does.combine);
    task->does.combine.blocks = writer->blocks;
    return &task->does.combine;
}

static void add_input(writer_t *writer, xyl_cuda_combine_t *combine,
                      uint32_t rank, uint64_t element)
{
    char *input = operand(writer, rank, 1);

    if (input != NULL)
        combine->input[combine->inputs++] =
            input + element * writer->plan->element_bytes;
}

static void add_result(writer_t *writer, xyl_cuda_combine_t *combine,
                       uint32_t rank, uint64_t element)
{
    char *result = operand(writer, rank, 0);

    if (result != NULL)
        combine->result[combine->results++] =
            result + element * writer->plan->element_bytes;
}

/* ---- one message ---- */

static void write_message(writer_t *writer)
{
    const xyl_device_plan_t *plan = writer->plan;
    xyl_cuda_combine_t *combine;
    uint32_t rank;

    if (writer->begin == writer->end)
        return;
    combine = combine_next(writer, writer->end - writer->begin);
    for (rank = 0; rank < plan->problem.ranks; rank++) {
        if (xyl_device_offer(plan, rank)->input_bytes != 0)
            add_input(writer, combine, rank, writer->begin);
        if (xyl_device_offer(plan, rank)->result_bytes != 0)
            add_result(writer, combine, rank, writer->begin);
    }
    if (combine->results == 0)
        writer->count--; /* a broadcast of one rank */
}

static void write_gathered(writer_t *writer)
{
    const xyl_device_plan_t *plan = writer->plan;
    xyl_cuda_combine_t *combine;
    uint32_t block, rank;

    for (block = 0; block < plan->problem.ranks; block++) {
        if (plan->count == 0 || !are_together(plan, block, plan->problem.rank))
            continue;
        combine = combine_next(writer, plan->count);
        add_input(writer, combine, block, 0);
        for (rank = 0; rank < plan->problem.ranks; rank++)
            add_result(writer, combine, rank, block * plan->count);
    }
}

/* Writes the last rank first: its result may overwrite its input, which only
 * that result needs. */
static void write_prefixes(writer_t *writer)
{
    const xyl_device_plan_t *plan = writer->plan;
    uint32_t with_own = plan->problem.coll == XYLEM_COLL_SCAN, rank, other;
    xyl_cuda_combine_t *combine;

    for (rank = plan->problem.ranks;
         rank-- > 0 && writer->begin < writer->end;) {
        if (rank + with_own == 0)
            break;
        combine = combine_next(writer, writer->end - writer->begin);
        for (other = 0; other < rank + with_own; other++)
            add_input(writer, combine, other, writer->begin);
        add_result(writer, combine, rank, writer->begin);
    }
}

/* Finds this worker's part of a block; returns its length. A block of more than
 * twice the mean length is cut into a part for each worker. */
static uint64_t cut_block(const writer_t *writer, uint32_t block,
                          uint64_t *begin_out)
{
    const xyl_device_plan_t *plan = writer->plan;
    uint64_t count = plan->counts[block];
    uint64_t all = plan->input.bytes / plan->element_bytes;

    *begin_out = 0;
    if (count * plan->problem.ranks <= 2 * all)
        return are_together(plan, block, plan->problem.rank) ? count : 0;
    *begin_out = part_at(count, writer->parts, writer->part);
    return part_at(count, writer->parts, writer->part + 1) - *begin_out;
}

static void write_scattered(writer_t *writer)
{
    const xyl_device_plan_t *plan = writer->plan;
    xyl_cuda_combine_t *combine;
    uint32_t block, rank;

    for (block = 0; block < plan->problem.ranks; block++) {
        uint64_t begin, count = cut_block(writer, block, &begin);
        if (count == 0)
            continue;
        combine = combine_next(writer, count);
        for (rank = 0; rank < plan->problem.ranks; rank++)
            add_input(writer, combine, rank, plan->places[block] + begin);
        add_result(writer, combine, block, begin);
    }
}

/* ---- blocks that move ---- */

static void add_move(writer_t *writer, uint32_t from, uint32_t to,
                     const xyl_device_cell_t *cell)
{
    const xyl_device_plan_t *plan = writer->plan;
    uint64_t bytes = cell->send_bytes < cell->recv_bytes ? cell->send_bytes
                                                         : cell->recv_bytes;
    char *input, *result;
    xyl_cuda_moves_t *moves;

    if (bytes == 0)
        return;
    input = operand(writer, from, 1);
    result = operand(writer, to, 0);
    if (input == NULL || result == NULL)
        return;
    if (input + cell->send_at == result + cell->recv_at)
        return; /* in place */
    if (!writer->is_open) {
        plan->tasks[writer->count].is_moves = 1;
        plan->tasks[writer->count].does.moves.blocks = writer->blocks;
        plan->tasks[writer->count++].does.moves.count = 0;
    }
    moves = &plan->tasks[writer->count - 1].does.moves;
    moves->move[moves->count++] =
        (xyl_cuda_move_t){.to = result + cell->recv_at,
                          .from = input + cell->send_at,
                          .bytes = bytes};
    writer->is_open = moves->count < XYL_CUDA_MOVES_MAX;
}

/* The block from one rank to another, if all blocks are alike. */
static xyl_device_cell_t cell_alike(const xyl_device_plan_t *plan,
                                    uint32_t from, uint32_t to)
{
    uint64_t bytes = plan->count * plan->element_bytes;
    xyl_device_cell_t cell = {.send_bytes = bytes, .recv_bytes = bytes};

    if (plan->problem.coll != XYLEM_COLL_GATHER)
        cell.send_at = to * bytes;
    if (plan->problem.coll != XYLEM_COLL_SCATTER)
        cell.recv_at = from * bytes;
    return cell;
}

static xyl_device_cell_t cell_of(const xyl_device_plan_t *plan, uint32_t from,
                                 uint32_t to)
{
    xyl_device_cell_t sent, gotten;

    if (plan->cell == NULL)
        return cell_alike(plan, from, to);
    sent = xyl_device_offer(plan, from)->cell[to];
    gotten = xyl_device_offer(plan, to)->cell[from];
    sent.recv_at = gotten.recv_at;
    sent.recv_bytes = gotten.recv_bytes;
    return sent;
}

static void write_moves(writer_t *writer)
{
    const xyl_device_plan_t *plan = writer->plan;
    xyl_device_cell_t cell;
    uint32_t from, to;

    for (from = 0; from < plan->problem.ranks; from++) {
        if (!are_together(plan, from, plan->problem.rank) ||
            xyl_device_offer(plan, from)->input_bytes == 0)
            continue;
        for (to = 0; to < plan->problem.ranks; to++) {
            if (xyl_device_offer(plan, to)->result_bytes == 0)
                continue;
            cell = cell_of(plan, from, to);
            add_move(writer, from, to, &cell);
        }
    }
}

/* ---- the writer of a collective's tasks ---- */

typedef void (*write_fn)(writer_t *writer);

static write_fn writer_of(xylem_coll_t coll)
{
    static const write_fn writers[XYLEM_COLL_COUNT] = {
        [XYLEM_COLL_BCAST] = write_message,
        [XYLEM_COLL_REDUCE] = write_message,
        [XYLEM_COLL_ALLREDUCE] = write_message,
        [XYLEM_COLL_ALLGATHER] = write_gathered,
        [XYLEM_COLL_SCAN] = write_prefixes,
        [XYLEM_COLL_EXSCAN] = write_prefixes,
        [XYLEM_COLL_REDUCE_SCATTER] = write_scattered,
        [XYLEM_COLL_REDUCE_SCATTER_BLOCK] = write_scattered,
        [XYLEM_COLL_GATHER] = write_moves,
        [XYLEM_COLL_GATHERV] = write_moves,
        [XYLEM_COLL_SCATTER] = write_moves,
        [XYLEM_COLL_SCATTERV] = write_moves,
        [XYLEM_COLL_ALLGATHERV] = write_moves,
        [XYLEM_COLL_ALLTOALL] = write_moves,
        [XYLEM_COLL_ALLTOALLV] = write_moves,
    };

    return writers[coll];
}

int xyl_device_has_tasks(xylem_coll_t coll)
{
    return writer_of(coll) != NULL;
}

static uint32_t ipc_tasks_max(const xyl_problem_t *problem)
{
    write_fn write = writer_of(problem->coll);

    if (write == write_message)
        return 1;
    if (write != write_moves)
        return problem->ranks;
    return problem->ranks * problem->ranks / XYL_CUDA_MOVES_MAX + 1;
}

static int ipc_write(xyl_device_plan_t *plan, uint32_t phase)
{
    writer_t writer = {.plan = plan};

    (void)phase;
    if (!find_part(plan, &writer))
        return 0;
    writer_of(plan->problem.coll)(&writer);
    return writer.has_failed ? -1 : (int)writer.count;
}

static void cuda_ipc_add_stages(xyl_han_t *han)
{
    static const xyl_device_design_t ipc = {
        .shares_buffers = 1,
        .tasks_max = ipc_tasks_max,
        .write = ipc_write,
    };

    xyl_device_stages_add(han, &ipc);
}

const xyl_algorithm_t xyl_algorithm_cuda_ipc = {
    .name = "cuda_ipc",
    .help = "kernels on all ranks' buffers (Faraji, Afsahi 2018)",
    .kind = XYL_ALGORITHM_LEVELS,
    .colls = XYL_DEVICE_COLLS,
    .needs = XYL_NEEDS_DEVICE,
    .add_stages = cuda_ipc_add_stages,
    .level = &xyl_device_level,
};
