/* The front: every name of MPI's that the binding takes over, each a jump
 * through a slot. At first all slots lead to resolve(), which finds the MPI of
 * the process, however and whenever it was loaded, and fills them.
 *
 * MPI_NAME and PMPI_NAME are the same: Open MPI's Fortran functions and
 * profiling tools call the latter. The binding itself calls the MPI library by
 * addresses that come from its handle.
 *
 * A process without MPI pays for nothing but the loading of this library, which
 * needs no other. Any thread.
 */
#include "bindings/mpi/front.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/mpi/names.h"

/* ---- slots and jumps ---- */

#define X_(name) extern xmpi_function_t xmpi_slot_##name;
XYL_COLL_MPI_MAP(XMPI_FORMS_)
XYL_COLL_MPI_DATA_MAP(XMPI_LARGE_FORMS_)
XMPI_OTHERS(X_)
#undef X_

static const struct {
    const char *name;
    xmpi_function_t *slot;
} slots[] = {
#define X_(name) {#name, &xmpi_slot_##name},
    XYL_COLL_MPI_MAP(XMPI_FORMS_) XYL_COLL_MPI_DATA_MAP(XMPI_LARGE_FORMS_)
        XMPI_OTHERS(X_)
#undef X_
};

/* clang-format off */
#if defined(__x86_64__)
#define JUMP(name)                                                             \
    __asm__(".text\n"                                                          \
            ".globl MPI_" #name "\n.type MPI_" #name ",@function\n"            \
            ".globl PMPI_" #name "\n.type PMPI_" #name ",@function\n"          \
            ".p2align 4\n"                                                     \
            "MPI_" #name ":\nPMPI_" #name ":\n"                                \
            "  endbr64\n"                                                      \
            "  jmp *xmpi_slot_" #name "(%rip)\n"                               \
            ".size MPI_" #name ", . - MPI_" #name "\n"                         \
            ".size PMPI_" #name ", . - PMPI_" #name "\n"                       \
            "1:\n"                                                             \
            "  endbr64\n"                                                      \
            "  lea xmpi_slot_" #name "(%rip), %r11\n"                          \
            "  jmp xmpi_lazy\n"                                                \
            ".data\n.p2align 3\n"                                              \
            "xmpi_slot_" #name ": .quad 1b\n"                                  \
            ".text\n");
/* Keeps all registers that may hold arguments. */
__asm__(".text\n.p2align 4\nxmpi_lazy:\n"
        "  push %rdi\n  push %rsi\n  push %rdx\n  push %rcx\n"
        "  push %r8\n  push %r9\n  push %r11\n"
        "  call xmpi_resolve\n"
        "  pop %r11\n  pop %r9\n  pop %r8\n  pop %rcx\n"
        "  pop %rdx\n  pop %rsi\n  pop %rdi\n"
        "  jmp *(%r11)\n");
#elif defined(__aarch64__)
#define JUMP(name)                                                             \
    __asm__(".text\n"                                                          \
            ".globl MPI_" #name "\n.type MPI_" #name ",%function\n"            \
            ".globl PMPI_" #name "\n.type PMPI_" #name ",%function\n"          \
            ".p2align 4\n"                                                     \
            "MPI_" #name ":\nPMPI_" #name ":\n"                                \
            "  adrp x16, xmpi_slot_" #name "\n"                                \
            "  ldr x16, [x16, :lo12:xmpi_slot_" #name "]\n"                    \
            "  br x16\n"                                                       \
            ".size MPI_" #name ", . - MPI_" #name "\n"                         \
            ".size PMPI_" #name ", . - PMPI_" #name "\n"                       \
            "1:\n"                                                             \
            "  adrp x17, xmpi_slot_" #name "\n"                                \
            "  add x17, x17, :lo12:xmpi_slot_" #name "\n"                      \
            "  b xmpi_lazy\n"                                                  \
            ".data\n.p2align 3\n"                                              \
            "xmpi_slot_" #name ": .quad 1b\n"                                  \
            ".text\n");
__asm__(".text\n.p2align 4\nxmpi_lazy:\n"
        "  stp x0, x1, [sp, #-96]!\n  stp x2, x3, [sp, #16]\n"
        "  stp x4, x5, [sp, #32]\n  stp x6, x7, [sp, #48]\n"
        "  stp x8, x17, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
        "  bl xmpi_resolve\n"
        "  ldp x29, x30, [sp, #80]\n  ldp x8, x17, [sp, #64]\n"
        "  ldp x6, x7, [sp, #48]\n  ldp x4, x5, [sp, #32]\n"
        "  ldp x2, x3, [sp, #16]\n  ldp x0, x1, [sp], #96\n"
        "  ldr x16, [x17]\n  br x16\n");
#else
#error "the jumps of this processor are not written"
#endif
/* clang-format on */

#define X_(name) JUMP(name)
XYL_COLL_MPI_MAP(XMPI_FORMS_)
XYL_COLL_MPI_DATA_MAP(XMPI_LARGE_FORMS_)
XMPI_OTHERS(X_)
#undef X_

/* ---- finding libraries ---- */

typedef struct search {
    const char *begin; /* of the file's name */
    char path[4096];   /* "": not found */
} search_t;

static int look_at(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    search_t *search = arg;
    const char *name = strrchr(info->dlpi_name, '/');

    (void)bytes;
    name = name == NULL ? info->dlpi_name : name + 1;
    if (strncmp(name, search->begin, strlen(search->begin)) != 0 ||
        strlen(info->dlpi_name) >= sizeof search->path)
        return 0;
    memcpy(search->path, info->dlpi_name, strlen(info->dlpi_name) + 1);
    return 1;
}

/* The handle of a library that is loaded already; NULL: it is not. */
static void *library_loaded(const char *begin)
{
    search_t search = {begin, ""};

    dl_iterate_phdr(look_at, &search);
    if (search.path[0] == '\0')
        return NULL;
    return dlopen(search.path, RTLD_LAZY | RTLD_NOLOAD);
}

/* ---- UCX's turns, for MPIs that offer no hook of their own ---- */

typedef unsigned (*progress_fn)(void *worker);
static _Atomic(progress_fn) ucx_progress;
static _Atomic(unsigned (*)(void)) ucx_hook;
static uintptr_t own_begin, own_end;

static progress_fn find_ucx_progress(void)
{
    progress_fn found = NULL;
    void *library = library_loaded("libucp.so");

    if (library != NULL)
        *(void **)(void *)&found = dlsym(library, "ucp_worker_progress");
    if (found == NULL) {
        fputs("xylem-mpi: there is no ucp_worker_progress\n", stderr);
        abort();
    }
    atomic_store_explicit(&ucx_progress, found, memory_order_release);
    return found;
}

__attribute__((visibility("default"))) unsigned
ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker)
{
    uintptr_t caller = (uintptr_t)__builtin_return_address(0);
    progress_fn progress =
        atomic_load_explicit(&ucx_progress, memory_order_acquire);
    unsigned done;
    unsigned (*hook)(void);

    if (progress == NULL)
        progress = find_ucx_progress();
    done = progress(worker);
    /* Partner: the release in hook_ucx. */
    hook = atomic_load_explicit(&ucx_hook, memory_order_acquire);
    if (hook != NULL && (caller < own_begin || caller >= own_end))
        done += hook();
    return done;
}

static void hook_ucx(unsigned (*hook)(void), const void *own, size_t own_bytes)
{
    if (hook != NULL) {
        own_begin = (uintptr_t)own;
        own_end = own_begin + own_bytes;
    }
    atomic_store_explicit(&ucx_hook, hook, memory_order_release);
}

/* ---- the module ---- */

static const struct {
    const char *library;
    const char *module;
} mpis[] = {
    {"libmpich.so", "libxylem-mpi-mpich.so"},
    {"libmpi.so", "libxylem-mpi-openmpi.so"},
};

/* Beside this library, or where the system looks. */
static void *open_beside(const char *name)
{
    char path[4096];
    Dl_info info;
    const char *slash;
    void *module = NULL;

    if (dladdr((void *)(uintptr_t)&open_beside, &info) == 0)
        return dlopen(name, RTLD_NOW | RTLD_LOCAL);
    slash = strrchr(info.dli_fname, '/');
    if (slash != NULL &&
        snprintf(path, sizeof path, "%.*s/%s", (int)(slash - info.dli_fname),
                 info.dli_fname, name) < (int)sizeof path)
        module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return module != NULL ? module : dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

/* NULL: MPI is used alone. */
static void *module_load(const char *name, void *host)
{
    static xmpi_front_t front = {NULL, hook_ucx};
    void *module = open_beside(name);
    xmpi_module_open_t open = NULL;

    front.host = host;
    if (module == NULL) {
        const char *reason = dlerror();
        fprintf(stderr, "xylem-mpi: cannot load %s, MPI is used alone: %s\n",
                name, reason == NULL ? "" : reason);
        return NULL;
    }
    *(void **)(void *)&open = dlsym(module, XMPI_MODULE_OPEN);
    if (open == NULL || open(&front) != 0) {
        fprintf(stderr, "xylem-mpi: %s does not fit, MPI is used alone\n",
                name);
        return NULL;
    }
    return module;
}

static void function_missing(void)
{
    fputs("xylem-mpi: the program calls a function that neither its MPI nor "
          "this library has\n",
          stderr);
    abort();
}

/* PREFIX_name of a library; NULL: there is none. */
static void *named(void *library, const char *prefix, const char *name)
{
    char full[64];

    if (library == NULL)
        return NULL;
    snprintf(full, sizeof full, "%s_%s", prefix, name);
    return dlsym(library, full);
}

static void slots_fill(void *module, void *host)
{
    size_t i;

    for (i = 0; i < sizeof slots / sizeof *slots; i++) {
        void *found = named(module, "xmpi", slots[i].name);
        if (found == NULL)
            found = named(host, "PMPI", slots[i].name);
        if (found == NULL)
            found = (void *)(uintptr_t)&function_missing;
        __atomic_store_n((void **)(void *)slots[i].slot, found,
                         __ATOMIC_RELEASE);
    }
}

static void resolve_once(void)
{
    void *host = NULL;
    size_t i;

    for (i = 0; i < sizeof mpis / sizeof *mpis; i++) {
        host = library_loaded(mpis[i].library);
        if (host == NULL)
            continue;
        slots_fill(module_load(mpis[i].module, host), host);
        return;
    }
    fputs("xylem-mpi: the program calls MPI, but there is neither libmpi.so "
          "(Open MPI) nor libmpich.so (MPICH) in it\n",
          stderr);
    abort();
}

void xmpi_resolve(void) __attribute__((visibility("hidden")));

void xmpi_resolve(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, resolve_once);
}
