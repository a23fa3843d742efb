/* Open memory of other ranks' GPUs: memory that works use stays open, however
 * much more is opened meanwhile; unused memory makes room; and memory of a rank
 * that has freed it, or died, is closed as soon as no work uses it. Opening
 * shows which GPUs reach one another. */
#include <stdlib.h>

#include "collectives/device/device.h"
#include "collectives/device/reach.h"
#include "runtime/base/log.h"
#include "tests/support/check.h"
#include "tests/support/fabric.h"

enum {
    MANY = 1000,
    OWNER = 1,
    OTHER = 2,
    SOME = 256,
    NOTICE_MAX = 50 /* us */
};

/* ---- a library of allocations 1 ... MANY, which know nothing else ---- */

static char mapped[MANY + 1];
static int open_count, is_open[MANY + 1], is_reached, is_full;
static int opens, unreached; /* attempts; a number that fails */
static int is_at_work;       /* until that is seen to have ended */

static const char *stub_text(int error)
{
    return error != 0 ? "full" : "";
}

static int stub_open(int device, const uint8_t *handle, void **base_out)
{
    int number = handle[0] << 8 | handle[1];

    (void)device;
    opens++;
    if ((is_full && open_count != 0) || number == unreached)
        return 1;
    is_open[number] = 1;
    open_count++;
    *base_out = &mapped[number];
    return 0;
}

static void stub_close(int device, void *base)
{
    (void)device;
    CHECK_EQ(is_at_work, 0);
    is_open[(char *)base - mapped] = 0;
    open_count--;
}

static int stub_stream_create(int device, xyl_cuda_stream_t **stream_out)
{
    (void)device;
    *stream_out = (xyl_cuda_stream_t *)(void *)mapped;
    return 0;
}

static void stub_stream_destroy(xyl_cuda_stream_t *stream)
{
    (void)stream;
}

static int stub_stream_wait(xyl_cuda_stream_t *stream)
{
    (void)stream;
    is_reached = 1;
    return 0;
}

static int stub_combine(xyl_cuda_stream_t *stream,
                        const xyl_cuda_combine_t *combine)
{
    (void)stream;
    (void)combine;
    return 0;
}

static int stub_mark(xyl_cuda_stream_t *stream, uint32_t mark)
{
    (void)stream;
    (void)mark;
    return 0;
}

static int stub_reached(xyl_cuda_stream_t *stream, uint32_t mark,
                        int *is_reached_out)
{
    (void)stream;
    (void)mark;
    *is_reached_out = is_reached;
    is_at_work = is_at_work && !is_reached;
    return 0;
}

static xyl_cuda_library_t stub = {.version = XYL_CUDA_LIBRARY_VERSION,
                                  .error_text = stub_text,
                                  .stream_create = stub_stream_create,
                                  .stream_destroy = stub_stream_destroy,
                                  .stream_wait = stub_stream_wait,
                                  .combine = stub_combine,
                                  .mark = stub_mark,
                                  .reached = stub_reached,
                                  .open_memory = stub_open,
                                  .close_memory = stub_close};

/* ---- scenes ---- */

typedef struct scene {
    fabric_t *fabric;
    xyl_fifo_t ready;
    xyl_exec_t *exec;
    xyl_work_t work;
} scene_t;

static void scene_begin(scene_t *scene)
{
    const xyl_exec_ops_t *ops = &xyl_exec_cuda_of_table;

    scene->fabric = fabric_create(3, &(fabric_options_t){.seed = 1});
    scene->exec = calloc(1, ops->bytes);
    CHECK(scene->exec != NULL);
    scene->exec->ops = ops;
    scene->exec->ready = &scene->ready;
    xyl_fifo_init(&scene->ready);
    CHECK_EQ(ops->init(scene->exec, &stub), XYLEM_OK);
    is_reached = is_full = is_at_work = 0;
    opens = unreached = 0;
}

static void scene_end(scene_t *scene)
{
    scene->exec->ops->fini(scene->exec);
    free(scene->exec);
    fabric_destroy(scene->fabric);
    CHECK_EQ(open_count, 0);
}

/* Opens allocation `number`, in which only `place` lies. */
static void *placed_open(scene_t *scene, uint32_t owner, unsigned number,
                         unsigned place)
{
    const xyl_device_name_t name = {
        .base = (uint64_t)place << 20,
        .bytes = 1 << 20,
        .buffer = number,
        .handle = {(uint8_t)(number >> 8), (uint8_t)number}};
    const xyl_device_remote_t remote = {owner, &name, 0, scene->exec, &stub};

    return xyl_device_open(fabric_context(scene->fabric, 0), &remote);
}

static void *owners_open(scene_t *scene, uint32_t owner, unsigned number)
{
    return placed_open(scene, owner, number, number);
}

static void *allocation_open(scene_t *scene, unsigned number)
{
    return owners_open(scene, OWNER, number);
}

static void work_begin(scene_t *scene)
{
    static const xyl_cuda_combine_t combine;

    is_reached = 0;
    is_at_work = 1;
    xyl_cuda_combine_begin(scene->exec, &scene->work, 0, XYL_CUDA_WITHIN,
                           &combine);
}

static void work_ends(scene_t *scene)
{
    is_reached = 1;
    (void)scene->exec->ops->poll(scene->exec); /* marks */
    (void)scene->exec->ops->poll(scene->exec);
    CHECK(xyl_fifo_pop(&scene->ready) == &scene->work.event);
}

static void test_used_stays_open(void)
{
    scene_t scene;
    unsigned i;

    scene_begin(&scene);
    CHECK(allocation_open(&scene, 1) == &mapped[1]);
    work_begin(&scene);
    for (i = 2; i <= MANY; i++)
        CHECK(allocation_open(&scene, i) == &mapped[i]);
    CHECK_EQ(is_open[1], 1);
    work_ends(&scene);
    scene_end(&scene);
}

static void test_unused_makes_room(void)
{
    scene_t scene;
    unsigned i;

    scene_begin(&scene);
    for (i = 1; i <= MANY; i++) {
        CHECK(allocation_open(&scene, i) == &mapped[i]);
        CHECK(allocation_open(&scene, i) == &mapped[i]);
        work_begin(&scene);
        work_ends(&scene);
    }
    CHECK(open_count <= SOME);
    CHECK_EQ(is_open[MANY], 1);
    scene_end(&scene);
}

/* The driver takes no more: memory that these works use is not closed for the
 * next. */
static void test_driver_takes_no_more(void)
{
    scene_t scene;

    scene_begin(&scene);
    CHECK(allocation_open(&scene, 1) == &mapped[1]);
    is_full = 1;
    xyl_log_level_set(XYL_LOG_NONE);
    CHECK(allocation_open(&scene, 2) == NULL);
    xyl_log_level_set(XYL_LOG_WARN);
    CHECK_EQ(is_open[1], 1);
    work_begin(&scene);
    work_ends(&scene);
    CHECK(allocation_open(&scene, 2) == &mapped[2]);
    CHECK_EQ(is_open[1], 0);
    scene_end(&scene);
}

/* Memory of a call that has failed elsewhere: its owner has freed it, and has
 * another allocation there. */
static void test_another_lies_there(void)
{
    scene_t scene;

    scene_begin(&scene);
    CHECK(allocation_open(&scene, 1) == &mapped[1]);
    work_begin(&scene);
    CHECK(placed_open(&scene, OWNER, 2, 1) == &mapped[2]);
    CHECK_EQ(is_open[1], 0);
    CHECK_EQ(is_open[2], 1);
    CHECK(xyl_fifo_pop(&scene.ready) == &scene.work.event);
    scene_end(&scene);
}

static void test_waits_for_room(void)
{
    scene_t scene;

    scene_begin(&scene);
    CHECK(owners_open(&scene, OTHER, 1) == &mapped[1]);
    work_begin(&scene);
    is_full = 1;
    CHECK(allocation_open(&scene, 2) == &mapped[2]);
    CHECK_EQ(is_open[1], 0);
    CHECK(xyl_fifo_pop(&scene.ready) == &scene.work.event);
    scene_end(&scene);
}

/* The driver keeps memory of a process that has gone for as long as another one
 * has it open. */
static void test_dead_keep_nothing(void)
{
    scene_t scene;
    unsigned i;

    scene_begin(&scene);
    for (i = 1; i <= 3; i++)
        CHECK(allocation_open(&scene, i) == &mapped[i]);
    work_begin(&scene);
    work_ends(&scene);
    fabric_kill(scene.fabric, OWNER, NOTICE_MAX);
    fabric_run_dry(scene.fabric);
    CHECK_EQ(open_count, 0);
    scene_end(&scene);
}

/* Works of another team, which fails next, or ends, use memory of the dead.
 * Nothing is opened afterwards. */
static void test_dead_are_used(void)
{
    scene_t scene;

    scene_begin(&scene);
    CHECK(allocation_open(&scene, 1) == &mapped[1]);
    CHECK(owners_open(&scene, OTHER, 2) == &mapped[2]);
    work_begin(&scene);
    fabric_kill(scene.fabric, OWNER, NOTICE_MAX);
    fabric_run_dry(scene.fabric);
    CHECK_EQ(is_open[1], 1);
    work_ends(&scene);
    CHECK_EQ(is_open[1], 0);
    CHECK_EQ(is_open[2], 1);
    scene_end(&scene);
}

static void owner_frees(const scene_t *scene, unsigned number)
{
    const xyl_device_freed_t freed = {.base = (uint64_t)number << 20,
                                      .buffer = number};

    xyl_device_forget(fabric_context(scene->fabric, 0), OWNER, &freed);
}

static void test_freed_is_closed(void)
{
    scene_t scene;

    scene_begin(&scene);
    CHECK(allocation_open(&scene, 1) == &mapped[1]);
    CHECK(allocation_open(&scene, 2) == &mapped[2]);
    work_begin(&scene);
    work_ends(&scene);
    owner_frees(&scene, 1);
    CHECK_EQ(is_open[1], 0);
    CHECK_EQ(is_open[2], 1);
    scene_end(&scene);
}

/* Its owner says so once. Nothing is opened afterwards. */
static void test_freed_is_used(void)
{
    scene_t scene;

    scene_begin(&scene);
    CHECK(allocation_open(&scene, 1) == &mapped[1]);
    CHECK(allocation_open(&scene, 2) == &mapped[2]);
    work_begin(&scene);
    owner_frees(&scene, 1);
    CHECK_EQ(is_open[1], 1);
    work_ends(&scene);
    CHECK_EQ(is_open[1], 0);
    CHECK_EQ(is_open[2], 1);
    scene_end(&scene);
}

/* ---- which GPUs reach one another ---- */

enum { RANKS = 3, GPU_NEAR = 10, GPU_FAR = 20, FAILURES = 3 };

typedef struct learner {
    _Alignas(xyl_device_offer_t) char offers[RANKS][sizeof(xyl_device_offer_t)];
    xyl_device_plan_t plan;
    xyl_device_reach_t *reach;
} learner_t;

static xyl_device_offer_t *offer_of(const learner_t *learner, uint32_t rank)
{
    return xyl_device_offer(&learner->plan, rank);
}

/* Rank 0 learns; it shares its GPU with rank 1, and rank 2 has another one, of
 * which allocation 2 lies there. */
static void learner_begin(scene_t *scene, learner_t *learner)
{
    uint32_t rank;

    scene_begin(scene);
    *learner = (learner_t){.plan = {.context = fabric_context(scene->fabric, 0),
                                    .library = &stub,
                                    .exec = scene->exec,
                                    .problem = {.ranks = RANKS},
                                    .offer_bytes = sizeof learner->offers[0],
                                    .offers = learner->offers[0]}};
    learner->reach = xyl_device_reach_of(learner->plan.context);
    for (rank = 0; rank < RANKS; rank++)
        *offer_of(learner, rank) =
            (xyl_device_offer_t){.owner = rank,
                                 .kind = XYL_DEVICE_GPU,
                                 .gpu = rank == 2 ? GPU_FAR : GPU_NEAR,
                                 .input = {.base = rank << 20,
                                           .bytes = 1 << 20,
                                           .buffer = rank,
                                           .handle = {0, (uint8_t)rank}}};
}

static void test_reach_is_learnt(void)
{
    scene_t scene;
    learner_t learner;

    learner_begin(&scene, &learner);
    CHECK(!xyl_device_reach_is_known(&learner.plan));
    xyl_device_reach_learn(&learner.plan, learner.reach);
    xyl_device_reach_learn(&learner.plan, learner.reach);
    CHECK_EQ(opens, 1);
    CHECK_EQ(open_count, 0);
    xyl_device_reach_tell(learner.reach, offer_of(&learner, 0));
    CHECK_EQ(offer_of(&learner, 0)->reached[0], GPU_FAR);
    CHECK_EQ(offer_of(&learner, 0)->reached[1], 0);
    CHECK(!xyl_device_reach_is_known(&learner.plan)); /* of the others' */
    offer_of(&learner, 1)->reached[0] = GPU_FAR;
    offer_of(&learner, 2)->reached[0] = GPU_NEAR;
    CHECK(xyl_device_reach_is_known(&learner.plan));
    offer_of(&learner, 2)->gpu = GPU_NEAR + 1;
    CHECK(!xyl_device_reach_is_known(&learner.plan));
    scene_end(&scene);
}

/* One failure may be due to the owner, which has freed the memory. */
static void test_unreached_is_left(void)
{
    scene_t scene;
    learner_t learner;
    unsigned i;

    learner_begin(&scene, &learner);
    xyl_log_level_set(XYL_LOG_NONE);
    unreached = 2;
    for (i = 0; i < 2 * FAILURES; i++)
        xyl_device_reach_learn(&learner.plan, learner.reach);
    xyl_log_level_set(XYL_LOG_WARN);
    /* Three attempts of the driver's each. */
    CHECK_EQ(opens, FAILURES * 3);
    xyl_device_reach_tell(learner.reach, offer_of(&learner, 0));
    CHECK_EQ(offer_of(&learner, 0)->reached[0], 0);
    scene_end(&scene);
}

static void test_reach_after_a_failure(void)
{
    scene_t scene;
    learner_t learner;

    learner_begin(&scene, &learner);
    unreached = 2;
    xyl_device_reach_learn(&learner.plan, learner.reach);
    xyl_device_reach_tell(learner.reach, offer_of(&learner, 0));
    CHECK_EQ(offer_of(&learner, 0)->reached[0], 0);
    unreached = 0;
    xyl_device_reach_learn(&learner.plan, learner.reach);
    xyl_device_reach_tell(learner.reach, offer_of(&learner, 0));
    CHECK_EQ(offer_of(&learner, 0)->reached[0], GPU_FAR);
    scene_end(&scene);
}

/* Each rank may use several GPUs, one after the other. */
static void test_reach_is_of_two(void)
{
    scene_t scene;
    learner_t learner;

    learner_begin(&scene, &learner);
    xyl_device_reach_learn(&learner.plan, learner.reach);
    offer_of(&learner, 0)->gpu = GPU_FAR + 1;
    xyl_device_reach_tell(learner.reach, offer_of(&learner, 0));
    CHECK_EQ(offer_of(&learner, 0)->reached[0], 0);
    scene_end(&scene);
}

static const check_case_t cases[] = {
    {"device: what works use stays open", test_used_stays_open},
    {"device: what nobody uses makes room", test_unused_makes_room},
    {"device: a driver that opens no more", test_driver_takes_no_more},
    {"device: what works use is not closed for another one",
     test_another_lies_there},
    {"device: a driver that opens no more before works end",
     test_waits_for_room},
    {"device: nothing of the dead is open", test_dead_keep_nothing},
    {"device: what works use of the dead is closed next", test_dead_are_used},
    {"device: what has been freed is closed", test_freed_is_closed},
    {"device: what works use is closed next", test_freed_is_used},
    {"device: which GPUs reach one another is learnt", test_reach_is_learnt},
    {"device: what GPUs do not reach is left", test_unreached_is_left},
    {"device: a failure may be of the moment", test_reach_after_a_failure},
    {"device: what one GPU reaches another need not", test_reach_is_of_two},
};
CHECK_MAIN(cases)
