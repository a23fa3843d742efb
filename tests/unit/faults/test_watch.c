/* The dump of a call that hangs (XYLEM_HANG_DUMP): which call it is, how far it
 * is, and which ranks that share memory have not said a word in it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/faults/hangs.h"
#include "tests/support/check.h"
#include "tests/support/fabric.h"

enum {
    RANKS = 6,
    LATE = 4,
    WORDS = 64,
    CALLS = 2,
    LOOKS = 4,
    TEXT_BYTES = 4096
};

static char folder[] = "/tmp/xylem-watch-XXXXXX";

/* All but one rank make the same calls, which wait for that one. */
typedef struct scene {
    fabric_t *fabric;
    uint64_t given[RANKS][RANKS * WORDS], gotten[RANKS][RANKS * WORDS];
    xylem_request_t *requests[CALLS][RANKS];
} scene_t;

static void scene_init(scene_t *scene, int shares_memory)
{
    char setting[64];
    const char *settings[] = {"HANG_S=3", setting, NULL};
    fabric_options_t options = {.seed = 1,
                                .eager_bytes_max = 60,
                                .reorder = 1,
                                .tells_failures = 1,
                                .shares_memory = shares_memory,
                                .settings = settings};

    snprintf(setting, sizeof setting, "HANG_DUMP=%s/dump", folder);
    memset(scene, 0, sizeof *scene);
    scene->fabric = fabric_create(RANKS, &options);
}

static void scene_fini(scene_t *scene)
{
    uint32_t call, rank;

    fabric_run_dry(scene->fabric);
    for (call = 0; call < CALLS; call++)
        for (rank = 0; rank < RANKS; rank++)
            if (scene->requests[call][rank] != NULL)
                xylem_request_free(scene->requests[call][rank]);
    fabric_destroy(scene->fabric);
}

static void start(scene_t *scene, xylem_coll_t coll, uint32_t call)
{
    uint32_t rank;

    for (rank = 0; rank < RANKS; rank++) {
        xylem_coll_args_t args = {.struct_bytes = sizeof args,
                                  .coll = coll,
                                  .root = LATE,
                                  .send = scene->given[rank],
                                  .recv = scene->gotten[rank],
                                  .count = WORDS,
                                  .type = XYLEM_UINT64,
                                  .op = XYLEM_SUM};
        if (coll == XYLEM_COLL_BCAST)
            args.send = NULL;
        if (rank != LATE)
            CHECK_EQ(xylem_coll_start(fabric_world(scene->fabric, rank), &args,
                                      &scene->requests[call][rank]),
                     XYLEM_OK);
    }
    fabric_run_dry(scene->fabric);
}

/* Reads the dump of a rank that has looked for long enough. */
static void dump_of(const scene_t *scene, uint32_t rank, char text[TEXT_BYTES])
{
    char path[64];
    size_t got = 0;
    FILE *file;
    int look;

    for (look = 0; look < LOOKS; look++)
        xyl_hangs_look(fabric_context(scene->fabric, rank));
    snprintf(path, sizeof path, "%s/dump.%u", folder, rank);
    file = fopen(path, "r");
    if (file != NULL) {
        got = fread(text, 1, TEXT_BYTES - 1, file);
        fclose(file);
    }
    text[got] = '\0';
    unlink(path);
}

static void check_dump(xylem_coll_t coll, int shares_memory, uint32_t rank,
                       const char *const *words)
{
    static scene_t scene;
    char text[TEXT_BYTES];

    scene_init(&scene, shares_memory);
    start(&scene, coll, 0);
    dump_of(&scene, rank, text);
    for (; *words != NULL; words++) {
        CHECK(strstr(text, *words) != NULL);
        if (strstr(text, *words) == NULL)
            printf("# rank %u lacks \"%s\": %s\n", rank, *words, text);
    }
    scene_fini(&scene);
}

/* All others have posted their contributions: only the late rank is named. */
static void test_late_rank_is_named(void)
{
    static const char *const allreduce[] = {
        "rank 0, an operation hangs:\n",
        "  allreduce of 512 bytes, sum of uint64",
        " of 6 ranks, here rank 0: ",
        "4 s without an event, 1 of 1 stages left",
        "stage node, 1 segments from 0 on: 1 of 1 pieces begun, no word from "
        "rank 4\n",
        NULL};
    static const char *const named[] = {"no word from rank 4\n", NULL};
    uint32_t rank;

    check_dump(XYLEM_COLL_ALLREDUCE, 1, 0, allreduce);
    check_dump(XYLEM_COLL_BARRIER, 1, 0, named);
    for (rank = 0; rank < RANKS; rank++)
        if (rank != LATE)
            check_dump(XYLEM_COLL_ALLTOALL, 1, rank, named);
}

/* A rank that waits as well has not said a word either. */
static void test_late_root_is_among_them(void)
{
    static const char *const first[] = {"no word from rank 1 2 3 4 5\n", NULL};
    static const char *const last[] = {"no word from rank 0 1 2 3 4\n", NULL};

    check_dump(XYLEM_COLL_BCAST, 1, 0, first);
    check_dump(XYLEM_COLL_BCAST, 1, RANKS - 1, last);
    check_dump(XYLEM_COLL_SCATTER, 1, 0, first);
}

/* No other rank has come, and the call waits for its source alone. */
static void test_source_is_named(void)
{
    static const uint32_t late = LATE;
    static scene_t scene;
    char text[TEXT_BYTES];
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_NEIGHBOR_ALLGATHER,
                              .recv = scene.gotten[0],
                              .count = WORDS,
                              .type = XYLEM_UINT64,
                              .sources = &late,
                              .source_count = 1};

    scene_init(&scene, 1);
    CHECK_EQ(xylem_coll_start(fabric_world(scene.fabric, 0), &args,
                              &scene.requests[0][0]),
             XYLEM_OK);
    fabric_run_dry(scene.fabric);
    dump_of(&scene, 0, text);
    CHECK(strstr(text, "no word from rank 4\n") != NULL);
    scene_fini(&scene);
}

static void test_messages(void)
{
    static const char *const bcast[] = {"  bcast of 512 bytes, root 4 on team ",
                                        "stage down, 1 segments from 0 on: \n",
                                        NULL};
    static const char *const alltoall[] = {"  alltoall of 512 bytes on team ",
                                           "stage exchange, ", NULL};

    check_dump(XYLEM_COLL_BCAST, 0, 0, bcast);
    check_dump(XYLEM_COLL_ALLTOALL, 0, 0, alltoall);
}

/* The last call first; this one has waited for longer. */
static void test_every_call_is_there(void)
{
    static scene_t scene;
    char text[TEXT_BYTES], *allreduce, *barrier;

    scene_init(&scene, 1);
    start(&scene, XYLEM_COLL_ALLREDUCE, 0);
    start(&scene, XYLEM_COLL_BARRIER, 1);
    dump_of(&scene, 0, text);
    barrier = strstr(text, "  barrier ");
    allreduce = strstr(text, "  allreduce ");
    CHECK(barrier != NULL && allreduce != NULL && barrier < allreduce);
    CHECK(barrier != NULL && strstr(barrier, ": 4 s without") < allreduce);
    CHECK(allreduce != NULL && strstr(allreduce, ": 3 s without") != NULL);
    scene_fini(&scene);
}

/* Its call fails all the same. */
static void test_file_cannot_be_written(void)
{
    static scene_t scene;
    char text[TEXT_BYTES];

    CHECK_EQ(rmdir(folder), 0);
    scene_init(&scene, 1);
    start(&scene, XYLEM_COLL_BARRIER, 0);
    dump_of(&scene, 0, text);
    CHECK_EQ(text[0], '\0');
    CHECK_EQ(xylem_request_test(scene.requests[0][0]), XYLEM_ERR_TIMED_OUT);
    scene_fini(&scene);
}

int main(int argc, char **argv)
{
    static const check_case_t cases[] = {
        {"watch: on a node the late rank is named", test_late_rank_is_named},
        {"watch: so is a late root, with who waits for it",
         test_late_root_is_among_them},
        {"watch: a source, and nobody else", test_source_is_named},
        {"watch: calls by messages", test_messages},
        {"watch: every call that is under way", test_every_call_is_there},
        {"watch: no file", test_file_cannot_be_written},
    };
    int code;

    if (mkdtemp(folder) == NULL)
        return EXIT_FAILURE;
    code = check_run(cases, sizeof cases / sizeof *cases, argc, argv);
    (void)rmdir(folder);
    return code;
}
