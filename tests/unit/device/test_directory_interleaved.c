/* The directory by which ranks gather in one rank's GPU, and get the result, by
 * two mechanisms. One rank runs at a time, chance decides which before each
 * access to shared words, and copies end in random order and late. All ranks
 * have the right bytes, whichever rank copied in whichever way, also if copies
 * were assigned twice, and no ring or place is written while it is needed. */
#include <string.h>

#include "collectives/device/directory.h"
#include "tests/support/check.h"
#include "tests/support/turns.h"

enum {
    RANKS_MAX = 6,
    CHUNK = 8,
    GIVEN_MAX = 9 * CHUNK,
    GOTTEN_MAX = RANKS_MAX * GIVEN_MAX,
    COLLECTIVES = 3,
    PENDING_MAX = 3 + XYL_DIRECTORY_SLOTS * (RANKS_MAX + 2),
    LOOKS_MAX = 1 << 20,
    SCHEDULES = 160,
    LAST_SCHEDULES = 2000
};

typedef enum kind { BCAST, REDUCE, ALLREDUCE, ALLGATHER, KINDS } kind_t;

/* ---- shared words ---- */

static uint64_t turn_get(xyl_shm_t *shm, const _Atomic uint64_t *flag)
{
    (void)shm;
    (void)turns_pass();
    return atomic_load(flag);
}

static void turn_set(xyl_shm_t *shm, _Atomic uint64_t *flag, uint64_t value,
                     const uint32_t *readers, uint32_t count)
{
    (void)shm;
    (void)readers;
    CHECK(count != 0);
    (void)turns_pass();
    atomic_store(flag, value);
}

static int turn_swap(xyl_shm_t *shm, _Atomic uint64_t *word, uint64_t *expected,
                     uint64_t value)
{
    (void)shm;
    (void)turns_pass();
    return atomic_compare_exchange_strong(word, expected, value);
}

static const xyl_shm_ops_t ops = {
    .get = turn_get, .set = turn_set, .swap = turn_swap};
static xyl_shm_t shm = {.ops = &ops};
static const uint32_t world[RANKS_MAX] = {0, 1, 2, 3, 4, 5};

/* ---- one schedule ---- */

typedef struct actor {
    xyl_directory_t directory;
    xyl_directory_run_t run;
    xyl_copy_t pending[PENDING_MAX];
    uint32_t count;
    unsigned char input[GIVEN_MAX + GOTTEN_MAX], output[GOTTEN_MAX];
} actor_t;

static struct {
    kind_t kind;
    uint32_t ranks, leader, staged, slow; /* slow: copies of a kind, 1 in so
                                             many looks */
    xyl_copy_kind_t slow_kind;
    uint64_t given, gotten;
    int is_dynamic, in_place;
    uint32_t at_once; /* one copy in so many ends as it begins; 0: none */
} plan;

static actor_t actors[RANKS_MAX];
static _Alignas(128) char memory[1 << 14];
static unsigned char room[GOTTEN_MAX];  /* contributions, or the result */
static unsigned char sum[GIVEN_MAX];    /* the result of a kernel */
static uint64_t copies[XYL_COPY_KINDS]; /* of all schedules */
static uint64_t reassigned, twice, joined_late;

static unsigned char byte_of(uint64_t number, uint32_t rank, uint64_t at)
{
    return (unsigned char)(number * 31 + rank * UINT64_C(57) + at * 7 + at / 5);
}

static uint64_t place_bytes(void)
{
    return plan.kind == BCAST ? plan.gotten : plan.given;
}

/* Moves one half; then another rank may run. */
static void move(unsigned char *to, const unsigned char *from, uint64_t bytes)
{
    memcpy(to, from, bytes / 2);
    (void)turns_pass();
    memcpy(to + bytes / 2, from + bytes / 2, bytes - bytes / 2);
}

static unsigned char *result(void)
{
    return plan.kind == REDUCE || plan.kind == ALLREDUCE ? sum : room;
}

static unsigned char *own_output(actor_t *actor)
{
    return plan.in_place ? actor->input : actor->output;
}

static void kernel(void)
{
    uint64_t i;
    uint32_t rank;

    for (i = 0; i < plan.given; i++) {
        sum[i] = actors[plan.leader].input[i];
        for (rank = 0; rank < plan.ranks; rank++)
            if (rank != plan.leader)
                sum[i] = (unsigned char)(sum[i] + room[rank * plan.given + i]);
    }
    if (plan.kind == REDUCE || plan.kind == ALLREDUCE)
        memcpy(own_output(&actors[plan.leader]), sum, plan.given);
}

static void copy_do(uint32_t self, const xyl_copy_t *copy)
{
    actor_t *actor = &actors[self];
    unsigned char *staged = (unsigned char *)copy->staged;
    unsigned char *place = plan.kind == BCAST ? room : &room[self * plan.given];

    switch ((int)copy->kind) {
    case XYL_COPY_OWN_IN:
    case XYL_COPY_IPC_IN:
        CHECK_EQ(copy->bytes, place_bytes());
        move(place, actor->input, copy->bytes);
        break;
    case XYL_COPY_KERNEL:
        kernel();
        break;
    case XYL_COPY_OWN_OUT:
    case XYL_COPY_IPC_OUT:
        CHECK_EQ(copy->bytes, plan.gotten);
        move(own_output(actor), result(), copy->bytes);
        break;
    case XYL_COPY_FILL:
        move(staged, actor->input + copy->at, copy->bytes);
        break;
    case XYL_COPY_DRAIN:
        move(room + copy->rank * plan.given + copy->at, staged, copy->bytes);
        break;
    case XYL_COPY_PUBLISH:
        move(staged, result() + copy->at, copy->bytes);
        break;
    default:
        move(own_output(actor) + copy->at, staged, copy->bytes);
    }
}

static int begin(void *arg, const xyl_copy_t *copy)
{
    actor_t *actor = arg;

    copies[copy->kind]++;
    if (plan.at_once != 0 && turns_below(plan.at_once) == 0) {
        copy_do((uint32_t)(actor - actors), copy);
        return 1;
    }
    CHECK(actor->count < PENDING_MAX);
    actor->pending[actor->count++] = *copy;
    return 0;
}

/* Ends some copy of this rank, unless the rank is slow. */
static void end_some(uint32_t self)
{
    actor_t *actor = &actors[self];
    uint32_t which;
    xyl_copy_t copy;

    if (actor->count == 0)
        return;
    which = turns_below(actor->count);
    copy = actor->pending[which];
    if (copy.kind == plan.slow_kind && turns_below(plan.slow) != 0)
        return;
    copy_do(self, &copy);
    actor->pending[which] = actor->pending[--actor->count];
    xyl_directory_ended(&actor->run, copy.kind, copy.rank, copy.slot);
}

static void check_output(uint32_t self, uint64_t number)
{
    const unsigned char *output = own_output(&actors[self]);
    uint32_t rank;
    uint64_t i;

    if ((plan.kind == REDUCE && self != plan.leader) ||
        (plan.kind == BCAST && self == plan.leader))
        return;
    for (i = 0; i < (plan.kind == REDUCE ? plan.given : plan.gotten); i++) {
        unsigned char expected = 0;
        if (plan.kind == BCAST)
            expected = byte_of(number, plan.leader, i);
        else if (plan.kind == ALLGATHER)
            expected =
                byte_of(number, (uint32_t)(i / plan.given), i % plan.given);
        else
            for (rank = 0; rank < plan.ranks; rank++)
                expected = (unsigned char)(expected + byte_of(number, rank, i));
        CHECK_EQ(output[i], expected);
    }
}

static void act(uint32_t self)
{
    actor_t *actor = &actors[self];
    uint64_t number, i;
    uint32_t looks;

    for (number = 1; number <= COLLECTIVES; number++) {
        const xyl_directory_call_t call = {
            .number = number,
            .rank = self,
            .leader = plan.leader,
            .given = plan.kind == BCAST ? 0 : plan.given,
            .gotten = plan.kind == REDUCE ? 0 : plan.gotten,
            .keeps_own = plan.kind == BCAST || plan.kind == ALLGATHER,
            .combines = plan.kind == REDUCE || plan.kind == ALLREDUCE,
            .takes_own = plan.kind == ALLGATHER,
            .is_dynamic = plan.is_dynamic,
            .staged = plan.staged,
            .begin = begin,
            .arg = actor};
        for (looks = 0; looks < LOOKS_MAX; looks++)
            if (xyl_directory_is_free(&actor->directory, number))
                break;
        for (i = 0; i < place_bytes(); i++)
            actor->input[i] = byte_of(number, self, i);
        memset(actor->output, 0, sizeof actor->output);
        xyl_directory_begin(&actor->run, &actor->directory, &call);
        for (looks = 0; looks < LOOKS_MAX && !actor->run.is_over; looks++) {
            (void)xyl_directory_go(&actor->run);
            if (turns_below(2) == 0)
                end_some(self);
        }
        CHECK(actor->run.is_over);
        CHECK_EQ(actor->count, 0);
        if (actor->run.is_reassigned)
            reassigned++;
        if (actor->run.has_ended_ipc[XYL_COPY_GATHER] &&
            actor->run.fill.begun != 0)
            twice++;
        joined_late += actor->run.joins != 0;
        check_output(self, number);
    }
}

static void draw(uint32_t schedule)
{
    static const xyl_copy_kind_t slow[] = {XYL_COPY_IPC_IN, XYL_COPY_DRAIN,
                                           XYL_COPY_FILL,   XYL_COPY_IPC_OUT,
                                           XYL_COPY_TAKE,   XYL_COPY_KERNEL};

    plan.kind = (kind_t)(schedule % KINDS);
    plan.ranks = 2 + schedule / KINDS % (RANKS_MAX - 1);
    plan.leader = schedule / 7 % plan.ranks;
    plan.given = 1 + schedule * 37 % GIVEN_MAX;
    plan.gotten = plan.kind == ALLGATHER ? plan.given * plan.ranks : plan.given;
    plan.is_dynamic = schedule / 3 % 3 != 0;
    plan.staged = schedule / 5 % plan.ranks;
    plan.in_place = plan.kind != ALLGATHER && schedule % 5 == 0;
    plan.slow_kind = slow[schedule / 11 % (sizeof slow / sizeof *slow)];
    plan.slow = 1 + schedule % 50;
    plan.at_once = 0;
}

static void run_schedule(uint32_t seed)
{
    uint32_t rank;

    CHECK(xyl_directory_bytes(plan.ranks, CHUNK) <= sizeof memory);
    memset(memory, 0, sizeof memory);
    for (rank = 0; rank < plan.ranks; rank++) {
        actors[rank].count = 0;
        xyl_directory_init(&actors[rank].directory, &shm, memory, world,
                           plan.ranks, CHUNK);
    }
    turns_run(plan.ranks, seed, act);
}

static void test_schedules(void)
{
    uint32_t schedule;

    for (schedule = 0; schedule < check_cases(SCHEDULES); schedule++) {
        draw(schedule);
        run_schedule(schedule);
    }
    CHECK(copies[XYL_COPY_IPC_IN] != 0 && copies[XYL_COPY_IPC_OUT] != 0);
    CHECK(copies[XYL_COPY_FILL] != 0 && copies[XYL_COPY_DRAIN] != 0);
    CHECK(copies[XYL_COPY_PUBLISH] != 0 && copies[XYL_COPY_TAKE] != 0);
    if (schedule == SCHEDULES) /* rare events are not in a few of them */
        CHECK(reassigned != 0 && twice != 0 && joined_late != 0);
}

/* Copies that end at once, as those by the processor do. */
static void test_at_once(void)
{
    uint32_t schedule;

    for (schedule = 0; schedule < check_cases(SCHEDULES); schedule++) {
        draw(schedule);
        plan.at_once = 1 + schedule % 3;
        run_schedule(schedule);
    }
    plan.at_once = 0;
}

/* A rank whose copy is assigned again is about to say that it has ended, and
 * leaves. */
static void test_last_copy(void)
{
    uint32_t schedule;

    for (schedule = 0; schedule < check_cases(LAST_SCHEDULES); schedule++) {
        draw(schedule);
        plan.kind = REDUCE;
        plan.ranks = 3;
        plan.leader = schedule % 3;
        plan.given = plan.gotten = 1 + schedule % CHUNK;
        plan.is_dynamic = 1;
        plan.in_place = 0;
        plan.slow_kind = schedule % 4 == 0 ? XYL_COPY_DRAIN : XYL_COPY_IPC_IN;
        plan.slow = 1 + schedule % 8;
        run_schedule(schedule);
    }
}

static void check_words(uint32_t rank, const char *expected)
{
    char text[100];

    xyl_directory_describe(&actors[rank].run, text, sizeof text);
    CHECK(strcmp(text, expected) == 0);
}

static void test_words(void)
{
    xyl_directory_call_t call = {.number = 1,
                                 .leader = 1,
                                 .given = CHUNK,
                                 .combines = 1,
                                 .is_dynamic = 1};
    uint32_t rank;

    memset(memory, 0, sizeof memory);
    call.begin = begin;
    for (rank = 0; rank < 3; rank++) {
        call.rank = rank;
        call.arg = &actors[rank];
        actors[rank].count = 0;
        xyl_directory_init(&actors[rank].directory, &shm, memory, world, 3,
                           CHUNK);
        xyl_directory_begin(&actors[rank].run, &actors[rank].directory, &call);
    }
    (void)xyl_directory_go(&actors[0].run);
    check_words(0, "gather, 0 copies under way, RTS, rank 1 leads");
    check_words(1, "gather, 0 copies under way, rank 0 RTS, rank 2 -");
    (void)xyl_directory_go(&actors[1].run);
    (void)xyl_directory_go(&actors[0].run);
    check_words(0, "gather, 1 copies under way, IPC_INIT, rank 1 leads");
}

static void test_chunks_follow(void)
{
    xyl_directory_call_t call = {.number = 1,
                                 .rank = 1,
                                 .given = UINT64_C(3) * CHUNK,
                                 .staged = 1,
                                 .begin = begin,
                                 .arg = &actors[1]};
    uint32_t chunks;

    memset(memory, 0, sizeof memory);
    actors[1].count = 0;
    xyl_directory_init(&actors[1].directory, &shm, memory, world, 2, CHUNK);
    xyl_directory_begin(&actors[1].run, &actors[1].directory, &call);
    (void)xyl_directory_go(&actors[1].run);
    (void)xyl_directory_go(&actors[1].run);
    for (chunks = 1; chunks <= 3; chunks++) {
        (void)xyl_directory_go(&actors[1].run);
        CHECK_EQ(actors[1].count, chunks);
    }
}

static const check_case_t cases[] = {
    {"directory: chunks begin one by one", test_chunks_follow},
    {"directory: what is waited for is said", test_words},
    {"directory: the last copy is assigned again", test_last_copy},
    {"directory: any order, any delay", test_schedules},
    {"directory: copies that end as they begin", test_at_once},
};
CHECK_MAIN(cases)
