/* A rank that uses nothing but PMIx, for testing the launcher.
 *
 *   pmix_client ring NODES block|cyclic
 *       passes data around and checks what PMIx says about the job; NODES 0
 *       stands for one node under the machine's own name
 *   pmix_client exit RANK CODE      one rank exits, the others sleep
 *   pmix_client crash RANK SIGNAL   one rank ends by a signal, the others sleep
 *   pmix_client stray RANK          one rank exits without finalizing
 *   pmix_client abort RANK CODE     one rank calls PMIx_Abort
 *   pmix_client survive RANK        one rank is killed, the others do a fence
 *                                   among themselves and finalize
 *   pmix_client finalize            all finalize and exit with 0
 *   pmix_client pending CODE        rank 0 exits while a fence waits for the
 *                                   others, which never begin to use PMIx
 *   pmix_client lines COUNT BYTES   prints lines that say who wrote them
 *   pmix_client listen              waits for a signal and says which came
 *
 * Exit codes: 0, the requested one, or 99 when a check failed. Ranks that sleep
 * do so for long: it is the launcher that has to end them. */
#include <pmix.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FAILED = 99, SLEEP_S = 600, BLOB_BYTES = 300 };

static void fail(const char *format, ...) __attribute__((noreturn));

static void fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    _exit(FAILED);
}

static void expect(pmix_status_t status, const char *what)
{
    if (status != PMIX_SUCCESS)
        fail("%s: %s", what, PMIx_Error_string(status));
}

static unsigned number(const char *text)
{
    return (unsigned)strtoul(text, NULL, 10);
}

/* ------------------------------------------------------------------------ */
/* Data                                                                     */

static pmix_value_t *get(const pmix_proc_t *me, pmix_rank_t rank,
                         const char *key)
{
    pmix_proc_t proc;
    pmix_value_t *value = NULL;
    PMIX_PROC_LOAD(&proc, me->nspace, rank);
    expect(PMIx_Get(&proc, key, NULL, 0, &value), key);
    return value;
}

static unsigned get_number(const pmix_proc_t *me, pmix_rank_t rank,
                           const char *key)
{
    pmix_value_t *value = get(me, rank, key);
    unsigned result = 0;
    if (value->type == PMIX_UINT32)
        result = value->data.uint32;
    else if (value->type == PMIX_UINT16)
        result = value->data.uint16;
    else if (value->type == PMIX_PROC_RANK)
        result = value->data.rank;
    else
        fail("%s has type %u", key, (unsigned)value->type);
    PMIX_VALUE_RELEASE(value);
    return result;
}

static void check_number(const pmix_proc_t *me, pmix_rank_t rank,
                         const char *key, unsigned expected)
{
    const unsigned found = get_number(me, rank, key);
    if (found != expected)
        fail("rank %u: %s of %u is %u, not %u", me->rank, key, rank, found,
             expected);
}

static void check_text(const pmix_proc_t *me, pmix_rank_t rank, const char *key,
                       const char *expected)
{
    pmix_value_t *value = get(me, rank, key);
    if (value->type != PMIX_STRING || value->data.string == NULL ||
        strcmp(value->data.string, expected) != 0)
        fail("rank %u: %s of %u is not '%s'", me->rank, key, rank, expected);
    PMIX_VALUE_RELEASE(value);
}

/* ------------------------------------------------------------------------ */
/* Where ranks have to be, counted out one by one                           */

typedef struct place {
    unsigned node;
    unsigned local;
} place_t;

static unsigned node_size(unsigned size, unsigned nodes, unsigned node)
{
    return size / nodes + (node < size % nodes ? 1 : 0);
}

static place_t *places_create(unsigned size, unsigned nodes, int cyclic)
{
    place_t *places = calloc(size, sizeof(*places));
    place_t next = {0, 0};
    if (places == NULL)
        fail("out of memory");
    for (unsigned rank = 0; rank < size; rank++) {
        places[rank] = next;
        if (cyclic) {
            next.node = (next.node + 1) % nodes;
            next.local += next.node == 0 ? 1 : 0;
        } else {
            next.local++;
            if (next.local == node_size(size, nodes, next.node))
                next = (place_t){next.node + 1, 0};
        }
    }
    return places;
}

static void check_places(const pmix_proc_t *me, unsigned size, unsigned nodes,
                         const place_t *places)
{
    char host[256] = "";
    const unsigned shown = nodes > 0 ? nodes : 1;
    char *peers = calloc(size, sizeof("4096,"));
    if (peers == NULL)
        fail("out of memory");
    (void)gethostname(host, sizeof(host) - 1);
    check_number(me, PMIX_RANK_WILDCARD, PMIX_NUM_NODES, shown);
    for (unsigned rank = 0; rank < size; rank++) {
        if (nodes > 0)
            (void)snprintf(host, sizeof(host), "node%u", places[rank].node);
        check_text(me, rank, PMIX_HOSTNAME, host);
        check_number(me, rank, PMIX_LOCAL_RANK, places[rank].local);
        if (places[rank].node != places[me->rank].node)
            continue;
        /* Of ranks elsewhere, PMIx 4.2 does not tell the node's number. */
        check_number(me, rank, PMIX_NODEID, places[rank].node);
        (void)sprintf(peers + strlen(peers), "%s%u",
                      peers[0] != '\0' ? "," : "", rank);
    }
    check_text(me, PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS, peers);
    check_number(me, PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE,
                 node_size(size, shown, places[me->rank].node));
    free(peers);
}

/* ------------------------------------------------------------------------ */
/* Modes                                                                    */

static void fence(const pmix_proc_t *procs, size_t count, bool collect)
{
    pmix_info_t info;
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    expect(PMIx_Fence(procs, count, &info, 1), "PMIx_Fence");
    PMIX_INFO_DESTRUCT(&info);
}

static void fill(char *blob, pmix_rank_t rank)
{
    for (unsigned i = 0; i < BLOB_BYTES; i++)
        blob[i] = (char)(rank * 7 + i);
}

static void put_all(void)
{
    expect(PMIx_Commit(), "PMIx_Commit");
    fence(NULL, 0, true);
}

static void ring(const pmix_proc_t *me, unsigned size, char **args)
{
    const unsigned nodes = number(args[0]);
    char blob[BLOB_BYTES];
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT};
    place_t *places = places_create(size, nodes > 0 ? nodes : 1,
                                    strcmp(args[1], "cyclic") == 0);
    check_places(me, size, nodes, places);
    free(places);
    fill(blob, me->rank);
    value.data.bo.bytes = blob;
    value.data.bo.size = BLOB_BYTES;
    expect(PMIx_Put(PMIX_GLOBAL, "blob", &value), "PMIx_Put");
    put_all();
    for (unsigned i = 1; i <= size; i++) {
        const pmix_rank_t from = (me->rank + i) % size;
        pmix_value_t *found = get(me, from, "blob");
        fill(blob, from);
        if (found->type != PMIX_BYTE_OBJECT ||
            found->data.bo.size != BLOB_BYTES ||
            memcmp(found->data.bo.bytes, blob, BLOB_BYTES) != 0)
            fail("rank %u got wrong data of %u", me->rank, from);
        PMIX_VALUE_RELEASE(found);
    }
    fence(NULL, 0, false);
}

/* The rank that is named fails in its own way; the others sleep. */
static void fail_alone(const pmix_proc_t *me, const char *mode, char **args)
{
    fence(NULL, 0, false);
    if (me->rank != number(args[0])) {
        (void)sleep(SLEEP_S);
        fail("rank %u has slept to the end", me->rank);
    }
    if (strcmp(mode, "exit") == 0)
        _exit((int)number(args[1]));
    if (strcmp(mode, "crash") == 0)
        (void)raise((int)number(args[1]));
    if (strcmp(mode, "stray") == 0)
        _exit(0);
    (void)PMIx_Abort((int)number(args[1]), "as asked", NULL, 0);
    (void)sleep(SLEEP_S);
}

static void survive(const pmix_proc_t *me, unsigned size, char **args)
{
    const pmix_rank_t victim = number(args[0]);
    pmix_proc_t *others = calloc(size, sizeof(*others));
    size_t count = 0;
    if (others == NULL)
        fail("out of memory");
    fence(NULL, 0, false);
    if (me->rank == victim)
        (void)raise(SIGKILL);
    for (unsigned rank = 0; rank < size; rank++) {
        if (rank == victim)
            continue;
        PMIX_PROC_LOAD(&others[count], me->nspace, rank);
        count++;
    }
    fence(others, count, false);
    free(others);
    (void)printf("rank %u survives\n", me->rank);
}

/* The server has the fence of all when a fence of this rank alone, which was
 * asked for after it, is over. */
static void leave_pending(const pmix_proc_t *me, char **args)
{
    const int limit = SLEEP_S;
    pmix_info_t info;
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &limit, PMIX_INT);
    expect(PMIx_Fence_nb(NULL, 0, &info, 1, NULL, NULL), "PMIx_Fence_nb");
    fence(me, 1, false);
    _exit((int)number(args[0]));
}

static void lines(char **args)
{
    const char *rank = getenv("PMIX_RANK");
    const unsigned count = number(args[0]);
    const unsigned bytes = number(args[1]);
    char *filling = malloc(bytes + 1);
    if (rank == NULL || filling == NULL)
        fail("no rank or no memory");
    memset(filling, 'x', bytes);
    filling[bytes] = '\0';
    for (unsigned i = 0; i < count; i++)
        (void)printf("%s %u %s end\n", rank, i, filling);
    (void)printf("%s last", rank);
    free(filling);
}

static void listen_once(void)
{
    sigset_t set;
    int signal_number = 0;
    (void)sigfillset(&set);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)printf("%ld ready\n", (long)getpid());
    (void)fflush(stdout);
    if (sigwait(&set, &signal_number) != 0)
        fail("sigwait");
    (void)printf("got SIG%s\n", sigabbrev_np(signal_number));
}

int main(int argc, char **argv)
{
    pmix_proc_t me;
    char *none[] = {NULL, NULL, NULL};
    const char *mode = argc > 1 ? argv[1] : "finalize";
    char **args = argc > 3 ? argv + 2 : none;
    if (argc == 3) {
        none[0] = argv[2];
        args = none;
    }
    if (strcmp(mode, "lines") == 0) {
        lines(args);
        return 0;
    }
    if (strcmp(mode, "listen") == 0) {
        listen_once();
        return 0;
    }
    if (strcmp(mode, "pending") == 0 && strcmp(getenv("PMIX_RANK"), "0") != 0)
        return 0;
    expect(PMIx_Init(&me, NULL, 0), "PMIx_Init");
    const unsigned size = get_number(&me, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
    if (strcmp(mode, "ring") == 0)
        ring(&me, size, args);
    else if (strcmp(mode, "survive") == 0)
        survive(&me, size, args);
    else if (strcmp(mode, "pending") == 0)
        leave_pending(&me, args);
    else if (strcmp(mode, "finalize") != 0)
        fail_alone(&me, mode, args);
    expect(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
    return 0;
}
