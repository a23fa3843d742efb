/* Limits, signals and modes of files that the launcher has been started with.
 * The launcher changes those that it cannot work with, for itself only, and
 * complains if it may not change them. */
#include "launcher/launcher.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum {
    FILES_PER_RANK = 3,
    FILES_BESIDES = 64,
    STACK_BYTES = 256 << 10, /* of the main thread */
    THREAD_STACK_BYTES = 1 << 20,
    MEMORY_BYTES = 8 << 20
};

/* Raises a soft limit; complains about `what` if the hard limit is too low. */
static int limit_raise(__rlimit_resource_t which, rlim_t needed,
                       const char *what, struct rlimit *old)
{
    struct rlimit limit;
    if (getrlimit(which, &limit) != 0)
        return xyl_complain("cannot get a limit: %s", strerror(errno));
    *old = limit;
    if (limit.rlim_max < needed)
        return xyl_complain("the limit of %s is %lu; so many ranks need %lu",
                            what, (unsigned long)limit.rlim_max,
                            (unsigned long)needed);
    if (limit.rlim_cur < needed) {
        limit.rlim_cur = needed;
        (void)setrlimit(which, &limit);
    }
    return 0;
}

/* Sets the default stack size of threads, which else is the process's limit at
 * its start. Too little crashes them, and the usual 8 MiB may be more than a
 * limit of address space leaves. */
static void threads_set_stack(void)
{
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return;
    if (pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES) == 0)
        (void)pthread_setattr_default_np(&attributes);
    (void)pthread_attr_destroy(&attributes);
}

/* PMIx (4.2.2) reports no error if it has no memory for the thread that accepts
 * ranks; the ranks would wait for ever. */
static int memory_check(void)
{
    void *memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return xyl_complain(
            "too little memory for the PMIx server (ulimit -v, -d): "
            "%d MiB more are needed",
            MEMORY_BYTES >> 20);
    (void)munmap(memory, MEMORY_BYTES);
    return 0;
}

int xyl_inherited_take(xyl_inherited_t *inherited, unsigned ranks)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGPIPE, &ignore, &inherited->pipe);
    (void)sigaction(SIGXFSZ, &ignore, &inherited->file_size);
    inherited->umask = umask(S_IRWXG | S_IRWXO);
    threads_set_stack();
    const rlim_t files = (rlim_t)ranks * FILES_PER_RANK + FILES_BESIDES;
    int code = limit_raise(RLIMIT_NOFILE, files, "open files (ulimit -n)",
                           &inherited->files);
    if (code == 0)
        code = limit_raise(RLIMIT_STACK, STACK_BYTES,
                           "bytes of stack (ulimit -s)", &inherited->stack);
    return code == 0 ? memory_check() : code;
}

int xyl_inherited_give_back(const xyl_inherited_t *inherited)
{
    (void)umask(inherited->umask);
    (void)sigaction(SIGPIPE, &inherited->pipe, NULL);
    (void)sigaction(SIGXFSZ, &inherited->file_size, NULL);
    if (setrlimit(RLIMIT_STACK, &inherited->stack) != 0)
        return -1;
    return setrlimit(RLIMIT_NOFILE, &inherited->files);
}
