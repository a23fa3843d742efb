/* Ranks without the binding run another program of the job, or their
 * environment lacks LD_PRELOAD. Such ranks would not take part in the
 * agreements of the other ranks, and cannot answer. But on this node the system
 * knows which processes the launcher has started, and which libraries these
 * have.
 *
 * Ranks that cannot be seen (on another node, or with a launcher in another
 * container) are taken to have the binding. */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bindings/mpi/call.h"

enum {
    PATH_BYTES = 128,
    ENVIRONMENT_BYTES = 1 << 20,
    GENERATIONS = 6, /* from the launcher to a rank, with shells between */
    PROCESSES_MAX = 4096
};

/* Variables that are equal in all processes of a job. */
static const char *const marks[] = {
    "PMIX_NAMESPACE", "PMI_JOBID",     "PMI_SIZE",       "OMPI_COMM_WORLD_SIZE",
    "SLURM_JOB_ID",   "SLURM_STEP_ID", "MPI_LOCALNRANKS"};

/* ---- what the system knows of a process ---- */

/* Reads a file of /proc, with its bytes of 0; "": it cannot be read. */
static size_t proc_read(long process, const char *name, char *text,
                        size_t bytes)
{
    char path[PATH_BYTES];
    size_t length = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%ld/%s", process, name);
    file = fopen(path, "re");
    if (file != NULL) {
        length = fread(text, 1, bytes - 1, file);
        fclose(file);
    }
    text[length] = '\0';
    return length;
}

/* The value of a variable in an environment; NULL: it is not set. */
static const char *value_in(const char *environment, size_t length,
                            const char *name)
{
    size_t bytes = strlen(name);
    const char *at = environment;

    for (; at < environment + length; at += strlen(at) + 1)
        if (strncmp(at, name, bytes) == 0 && at[bytes] == '=')
            return at + bytes + 1;
    return NULL;
}

/* Whether a variable has the same value in this process and in `environment`,
 * or is set in neither. */
static int is_same_in(const char *environment, size_t length, const char *name)
{
    const char *mine = getenv(name);
    const char *theirs = value_in(environment, length, name);

    return mine == NULL || theirs == NULL ? mine == theirs
                                          : strcmp(mine, theirs) == 0;
}

typedef enum kin { STRANGER, OF_JOB, OF_JOB_AND_PRELOADED } kin_t;

static kin_t kin_of(long process)
{
    char *environment = malloc(ENVIRONMENT_BYTES);
    const char *preload = getenv("LD_PRELOAD");
    int is_same = 0, is_preloaded = 0;
    size_t length, i;

    if (environment == NULL)
        return STRANGER;
    length = proc_read(process, "environ", environment, ENVIRONMENT_BYTES);
    for (i = 0, is_same = length > 0;
         is_same && i < sizeof marks / sizeof *marks; i++)
        is_same = is_same_in(environment, length, marks[i]);
    is_preloaded = preload != NULL && strstr(preload, "libxylem-mpi") != NULL &&
                   is_same_in(environment, length, "LD_PRELOAD");
    free(environment);
    if (!is_same)
        return STRANGER;
    return is_preloaded ? OF_JOB_AND_PRELOADED : OF_JOB;
}

/* The parent of a process; 0: unknown. */
static long parent_of(long process)
{
    char text[1024];
    const char *end;
    long parent = 0;

    proc_read(process, "stat", text, sizeof text);
    end = strrchr(text, ')'); /* the end of the process's name */
    if (end == NULL || sscanf(end + 1, " %*c %ld", &parent) != 1)
        return 0;
    return parent;
}

/* Whether a process has mapped the MPI library, but not the binding. The system
 * takes half a millisecond to tell, and more while other ranks ask, too. */
static int is_mapped_without(long process, const char *library)
{
    char path[PATH_BYTES], line[4096 + 128];
    int has_mpi = 0, has_binding = 0;
    FILE *maps;

    snprintf(path, sizeof path, "/proc/%ld/maps", process);
    maps = fopen(path, "re");
    if (maps == NULL)
        return 0;
    while (fgets(line, sizeof line, maps) != NULL) {
        has_mpi |= strstr(line, library) != NULL;
        has_binding |= strstr(line, "/libxylem-mpi") != NULL;
    }
    fclose(maps);
    return has_mpi && !has_binding;
}

/* Whether a process is a rank without the binding. A process with this rank's
 * LD_PRELOAD has the binding, as this rank has. */
static int is_without(long process, const char *library)
{
    return kin_of(process) == OF_JOB && is_mapped_without(process, library);
}

/* ---- the processes that the launcher has started ---- */

typedef struct search {
    const char *library;
    int left;    /* processes to look at */
    int without; /* ranks without the binding that were found */
} search_t;

/* Looks at the children of a process, and at theirs, `generations` deep.
 * NOLINTBEGIN(misc-no-recursion) */
static void search_below(search_t *search, long process, int generations)
{
    char path[PATH_BYTES];
    struct dirent *entry;
    FILE *children;
    DIR *threads;
    long child;

    snprintf(path, sizeof path, "/proc/%ld/task", process);
    threads = opendir(path);
    while (threads != NULL && (entry = readdir(threads)) != NULL) {
        if (entry->d_name[0] == '.' ||
            snprintf(path, sizeof path, "/proc/%ld/task/%s/children", process,
                     entry->d_name) >= (int)sizeof path)
            continue;
        children = fopen(path, "re");
        while (children != NULL && search->left > 0 &&
               fscanf(children, "%ld", &child) == 1) {
            search->left--;
            search->without += is_without(child, search->library);
            if (generations > 1)
                search_below(search, child, generations - 1);
        }
        if (children != NULL)
            fclose(children);
    }
    if (threads != NULL)
        closedir(threads);
}
/* NOLINTEND(misc-no-recursion) */

/* The first ancestor of this process that is not of the job; 0: unknown. */
static long launcher_find(void)
{
    long process = getpid();
    int i;

    for (i = 0; i < GENERATIONS && process > 1 && kin_of(process) != STRANGER;
         i++)
        process = parent_of(process);
    return process > 1 && i > 0 && i < GENERATIONS ? process : 0;
}

/* ---- the verdict ---- */

/* The number of ranks on this node; 0: the launcher does not say. */
static int ranks_of_node(void)
{
    const char *said = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");

    if (said == NULL)
        said = getenv("MPI_LOCALNRANKS");
    return said == NULL ? 0 : atoi(said);
}

static int guard_look(void)
{
    search_t search = {.left = PROCESSES_MAX};
    long launcher = launcher_find();
    Dl_info host;

    if (launcher == 0 ||
        dladdr((void *)(uintptr_t)xmpi_host.Comm_rank, &host) == 0)
        return 1;
    search.library = strrchr(host.dli_fname, '/');
    if (search.library == NULL)
        return 1;
    search_below(&search, launcher, GENERATIONS);
    if (search.without == 0)
        return 1;
    if (ranks_of_node() == xmpi_state.size) {
        /* All ranks are on this node and have found the same. */
        fprintf(stderr,
                "xylem-mpi: rank %d: %d ranks of the job run without the "
                "binding; MPI is used alone\n",
                xmpi_state.rank, search.without);
        return 0;
    }
    fprintf(stderr,
            "xylem-mpi: rank %d: %d ranks of the job run without the binding: "
            "either all have it or none; see xylem-preload\n",
            xmpi_state.rank, search.without);
    xmpi_host.Abort(xmpi_state.self, EXIT_FAILURE);
    return 0;
}

int xmpi_guard_passes(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int has_looked, passes;
    int result;

    pthread_mutex_lock(&lock);
    if (!has_looked)
        passes = guard_look();
    has_looked = 1;
    result = passes;
    pthread_mutex_unlock(&lock);
    return result;
}
