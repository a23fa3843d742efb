/* Limits of the system and of the library, and how much of them is in use: by
 * this process, by the machine, and by the jobs of this user on it. */
#include "bench/info/limits.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "progress/shm/directory.h"
#include "runtime/core/context.h"
#include "runtime/core/team.h"

enum { FILES_MAX = 4096, TEXT_BYTES = 64 };

/* ---- of a process ---- */

static void print_limit(const char *name, unsigned resource, unsigned shift,
                        const char *unit, const char *how)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) != 0)
        return;
    printf("  %-14s ", name);
    if (limit.rlim_cur == RLIM_INFINITY)
        printf("unlimited");
    else
        printf("%" PRIu64 "%s", (uint64_t)limit.rlim_cur >> shift, unit);
    if (limit.rlim_max != limit.rlim_cur && limit.rlim_max != RLIM_INFINITY)
        printf(", may be %" PRIu64 "%s", (uint64_t)limit.rlim_max >> shift,
               unit);
    printf(" (%s)\n", how);
}

static unsigned descriptors_open(void)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned count = 0;

    while (folder != NULL && readdir(folder) != NULL)
        count++;
    if (folder != NULL)
        closedir(folder);
    return count;
}

/* Creates a context of one rank, to count its descriptors. */
static void print_context(void)
{
    static const char *const settings[] = {"BOOTSTRAP=single", "LOG=none",
                                           NULL};
    xylem_context_params_t params = XYLEM_CONTEXT_PARAMS_INIT;
    unsigned before = descriptors_open();
    xylem_context_t *context;

    params.settings = settings;
    if (xylem_context_create(&params, &context) != XYLEM_OK)
        return;
    printf("  %-14s %u descriptors, up to 3 more for each rank of its machine, "
           "2 for\n%17sothers over TCP\n",
           "a context", descriptors_open() - before, "");
    (void)xylem_context_destroy(context);
}

/* ---- of the machine ---- */

/* A number in a file; 0: there is none. */
static uint64_t number_in(const char *path)
{
    FILE *file = fopen(path, "r");
    unsigned long long number = 0;

    if (file == NULL)
        return 0;
    if (fscanf(file, "%llu", &number) != 1)
        number = 0;
    fclose(file);
    return number;
}

static void print_group(const char *most, const char *now)
{
    uint64_t limit = number_in(most);

    /* The largest number stands for none. */
    if (limit != 0 && limit < UINT64_MAX / 4)
        printf("  %-14s %" PRIu64 " of %" PRIu64
               " MiB in use (control group)\n",
               "memory", number_in(now) >> 20, limit >> 20);
}

static void print_dev_shm(void)
{
    struct statvfs found;
    uint64_t unit;

    if (statvfs("/dev/shm", &found) != 0) {
        printf("  %-14s not there: UCX does without\n", "/dev/shm");
        return;
    }
    unit = found.f_frsize;
    printf("  %-14s %" PRIu64 " of %" PRIu64 " MiB in use (by UCX)\n",
           "/dev/shm", (found.f_blocks - found.f_bfree) * unit >> 20,
           found.f_blocks * unit >> 20);
}

/* ---- of jobs ---- */

typedef struct in_use {
    unsigned processes, files;
    uint64_t bytes;
    ino_t seen[FILES_MAX];
} in_use_t;

static void count_file(in_use_t *in_use, const struct stat *found)
{
    unsigned i;

    for (i = 0; i < in_use->files; i++)
        if (in_use->seen[i] == found->st_ino)
            return;
    if (in_use->files == FILES_MAX)
        return;
    in_use->seen[in_use->files++] = found->st_ino;
    in_use->bytes += (uint64_t)found->st_blocks * 512;
}

/* Memory of nodes that the process has open. */
static void count_process(in_use_t *in_use, const char *number)
{
    char path[PATH_MAX], target[TEXT_BYTES];
    struct dirent *entry;
    struct stat found;
    int has_any = 0;
    ssize_t length;
    DIR *folder;

    snprintf(path, sizeof path, "/proc/%s/fd", number);
    folder = opendir(path); /* fails for other users' processes */
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        snprintf(path, sizeof path, "/proc/%s/fd/%.20s", number, entry->d_name);
        length = readlink(path, target, sizeof target - 1);
        if (length < 0)
            continue;
        target[length] = '\0';
        if (strncmp(target, "/memfd:xylem ", 13) != 0 ||
            stat(path, &found) != 0)
            continue;
        count_file(in_use, &found);
        has_any = 1;
    }
    if (folder != NULL)
        closedir(folder);
    in_use->processes += (unsigned)has_any;
}

static void print_jobs(void)
{
    in_use_t *in_use = calloc(1, sizeof *in_use);
    DIR *processes = opendir("/proc");
    struct dirent *entry;

    while (in_use != NULL && processes != NULL &&
           (entry = readdir(processes)) != NULL)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            count_process(in_use, entry->d_name);
    if (in_use != NULL)
        printf("  %-14s %u of this user run here, with %" PRIu64
               " MiB of shared memory\n",
               "ranks", in_use->processes, in_use->bytes >> 20);
    if (processes != NULL)
        closedir(processes);
    free(in_use);
}

void print_limits(void)
{
    puts("\nlimits, and what is in use");
    print_limit("descriptors", RLIMIT_NOFILE, 0, "", "ulimit -n");
    print_context();
    print_limit("addresses", RLIMIT_AS, 20, " MiB", "ulimit -v");
    print_limit("file size", RLIMIT_FSIZE, 20, " MiB", "ulimit -f");
    print_group("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current");
    print_group("/sys/fs/cgroup/memory/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/memory.usage_in_bytes");
    print_dev_shm();
    print_jobs();
    printf(
        "  %-14s %d of a job; a rank is in %d teams and tables of tasks; on a "
        "node of\n%17sN ranks %d / N share memory, the others do without\n",
        "at most", XYL_TEAM_SIZE_MAX, XYL_TEAM_SLOTS, "", XYL_SHM_NODE_ENTRIES);
}
