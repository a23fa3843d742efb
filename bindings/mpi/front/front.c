/* The front exports every name of MPI's that the binding takes over; each is a
 * jump through a slot. At first all slots lead to xmpi_resolve(), which finds
 * the process's MPI, however and whenever that was loaded, and fills the slots.
 *
 * MPI_NAME and PMPI_NAME are the same function: Open MPI's Fortran functions
 * and profiling tools call PMPI_NAME. The binding itself calls the MPI library
 * by addresses that come from its handle.
 *
 * A process without MPI only pays for loading this library, which needs no
 * other library. Any thread.
 */
#include "bindings/mpi/front/front.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bindings/mpi/names.h"
#include "runtime/base/launched.h"

/* ---- slots and jumps ---- */

/* A program may look for a function to learn whether the library has sessions,
 * or communicators that survive deaths of ranks. Libraries of MPI-3 have
 * neither, so the front for them leaves these functions out. */
#ifdef XMPI_FRONT_OF_3
#define NAMES_OF_4(X)
#define EXTENSIONS(X)
#else
#define NAMES_OF_4 XMPI_OTHERS_OF_4
#define EXTENSIONS XMPI_EXTENSIONS
#endif

#define X_(name, ...) extern xmpi_function_t xmpi_slot_##name;
XMPI_NAMES_
NAMES_OF_4(X_)
EXTENSIONS(X_)
#undef X_

static const struct {
    const char *name;
    xmpi_function_t *slot;
    const char *prefix; /* in the MPI library */
} slots[] = {
#define X_(name, ...) {#name, &xmpi_slot_##name, "PMPI"},
    XMPI_NAMES_ NAMES_OF_4(X_)
#undef X_
#define X_(name, ...) {#name, &xmpi_slot_##name, "PMPIX"},
        EXTENSIONS(X_)
#undef X_
};

/* clang-format off */
#if defined(__x86_64__)
#define THROUGH(name) "  endbr64\n  jmp *xmpi_slot_" #name "(%rip)\n"
#define LAZILY(name)                                                           \
    "  endbr64\n  lea xmpi_slot_" #name "(%rip), %r11\n  jmp xmpi_lazy\n"
/* Keeps all registers that may hold arguments. */
__asm__(".text\n.p2align 4\nxmpi_lazy:\n"
        "  push %rdi\n  push %rsi\n  push %rdx\n  push %rcx\n"
        "  push %r8\n  push %r9\n  push %r11\n"
        "  call xmpi_resolve\n"
        "  pop %r11\n  pop %r9\n  pop %r8\n  pop %rcx\n"
        "  pop %rdx\n  pop %rsi\n  pop %rdi\n"
        "  jmp *(%r11)\n");
#elif defined(__aarch64__)
#define THROUGH(name)                                                          \
    "  adrp x16, xmpi_slot_" #name "\n"                                        \
    "  ldr x16, [x16, :lo12:xmpi_slot_" #name "]\n  br x16\n"
#define LAZILY(name)                                                           \
    "  adrp x17, xmpi_slot_" #name "\n"                                        \
    "  add x17, x17, :lo12:xmpi_slot_" #name "\n  b xmpi_lazy\n"
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
/* MPI_NAME and PMPI_NAME jump through the slot; at first it leads to LAZILY. */
#define JUMP(MPI, name)                                                        \
    __asm__(".text\n"                                                          \
            ".globl " MPI "_" #name "\n.type " MPI "_" #name ",%function\n"    \
            ".globl P" MPI "_" #name "\n.type P" MPI "_" #name ",%function\n"  \
            ".p2align 4\n"                                                     \
            MPI "_" #name ":\nP" MPI "_" #name ":\n"                           \
            THROUGH(name)                                                      \
            ".size " MPI "_" #name ", . - " MPI "_" #name "\n"                 \
            ".size P" MPI "_" #name ", . - P" MPI "_" #name "\n"               \
            "1:\n"                                                             \
            LAZILY(name)                                                       \
            ".data\n.p2align 3\n"                                              \
            "xmpi_slot_" #name ": .quad 1b\n"                                  \
            ".text\n");
/* clang-format on */

#define X_(name, ...) JUMP("MPI", name)
XMPI_NAMES_
NAMES_OF_4(X_)
#undef X_
#define X_(name, ...) JUMP("MPIX", name)
EXTENSIONS(X_)
#undef X_

/* ---- finding libraries ---- */

/* The libraries of the process, in the order in which they were loaded. */
typedef struct libraries {
    char **paths;
    size_t count;
} libraries_t;

static int library_add(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    libraries_t *all = arg;
    char **more = realloc(all->paths, (all->count + 1) * sizeof *all->paths);

    (void)bytes;
    if (more == NULL)
        return 1;
    all->paths = more;
    more[all->count] = strdup(info->dlpi_name);
    return more[all->count++] == NULL;
}

static struct link_map *owner_of(void *symbol)
{
    struct link_map *owner = NULL;
    Dl_info info;

    return dladdr1(symbol, &info, (void **)&owner, RTLD_DL_LINKMAP) != 0 ? owner
                                                                         : NULL;
}

/* Finds a symbol of any library but this one, in whatever scope the library was
 * loaded. NULL: there is none. `*owner_out` has to be NULL before. */
static void *symbol_find(const char *name, struct link_map **owner_out)
{
    const struct link_map *self = owner_of((void *)(uintptr_t)&symbol_find);
    libraries_t all = {NULL, 0};
    void *found = NULL;
    size_t i;

    dl_iterate_phdr(library_add, &all);
    for (i = 0; i < all.count; i++) {
        /* The first is the program, which has no name. */
        void *library =
            dlopen(i == 0 ? NULL : all.paths[i], RTLD_LAZY | RTLD_NOLOAD);
        if (found == NULL && library != NULL)
            found = dlsym(library, name);
        if (found != NULL && *owner_out == NULL) {
            *owner_out = owner_of(found);
            if (*owner_out == NULL || *owner_out == self)
                found = *owner_out = NULL;
        }
        if (library != NULL)
            dlclose(library);
        free(all.paths[i]);
    }
    free(all.paths);
    return found;
}

/* ---- progress of UCX, for MPIs that offer no hook of their own ---- */

typedef unsigned (*progress_fn)(void *worker);
static _Atomic(progress_fn) ucx_progress;
static _Atomic(unsigned (*)(void)) ucx_hook;
static uintptr_t own_begin, own_end;

static progress_fn find_ucx_progress(void)
{
    struct link_map *owner = NULL;
    progress_fn found = NULL;

    *(void **)(void *)&found = symbol_find("ucp_worker_progress", &owner);
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

/* ---- which MPI it is ---- */

enum { VERSION_BYTES = 8192 }; /* no MPI has a longer text */

typedef struct host {
    void *library;
    const char *soname;
    char version[VERSION_BYTES]; /* the first line */
} host_t;

/* The soname in a library's dynamic section; "": none. */
static const char *soname_of(const struct link_map *library)
{
    const ElfW(Dyn) * entry;
    const char *names = NULL;
    ElfW(Xword) at = 0;

    for (entry = library->l_ld; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_STRTAB)
            names = (const char *)entry->d_un.d_ptr;
        if (entry->d_tag == DT_SONAME)
            at = entry->d_un.d_val;
    }
    return names == NULL || at == 0 ? "" : names + at;
}

/* 0: there is no MPI library. */
static int host_find(host_t *host)
{
    struct link_map *owner = NULL;
    int (*version)(char *text, int *length);
    int length;

    *(void **)(void *)&version =
        symbol_find("PMPI_Get_library_version", &owner);
    if (version == NULL)
        return 0;
    host->library = dlopen(owner->l_name, RTLD_LAZY | RTLD_NOLOAD);
    host->soname = soname_of(owner);
    version(host->version, &length);
    host->version[strcspn(host->version, "\n")] = '\0';
    return host->library != NULL;
}

/* The module for each family of libraries with one ABI. A library is known by
 * its soname and its version text, since Open MPI, too, had a libmpi.so.12. */
static const struct {
    const char *soname;
    const char *says; /* in the version; "": anything */
    const char *module;
} families[] = {
    {"libmpi.so.40", "Open MPI", "libxylem-mpi-openmpi.so"},
    {"libmpich.so.12", "MPICH", "libxylem-mpi-mpich.so"},
    {"libmpi.so.12", "MPICH", "libxylem-mpi-mpich.so"},
    {"libmpi.so.12", "Intel(R) MPI", "libxylem-mpi-mpich.so"},
    {"libmpi.so.12", "MVAPICH", "libxylem-mpi-mpich.so"},
    {"libmpi_abi.so.0", "", "libxylem-mpi-abi.so"},
    {"libmpi_abi.so.1", "", "libxylem-mpi-abi.so"},
};

/* NULL: there is no module for the library. */
static const char *module_of(const host_t *host)
{
    size_t i;

    for (i = 0; i < sizeof families / sizeof *families; i++)
        if (strcmp(host->soname, families[i].soname) == 0 &&
            strstr(host->version, families[i].says) != NULL)
            return families[i].module;
    return NULL;
}

/* ---- the module ---- */

/* Loads a library beside this one, or else where the system looks. */
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

static void slot_set(xmpi_function_t *slot, void *function)
{
    __atomic_store_n((void **)(void *)slot, function, __ATOMIC_RELEASE);
}

static void slot_take(const char *name, xmpi_function_t function)
{
    size_t i;

    for (i = 0; i < sizeof slots / sizeof *slots; i++)
        if (strcmp(slots[i].name, name) == 0)
            slot_set(slots[i].slot, (void *)(uintptr_t)function);
}

/* Prints on rank 0, or in a process that no launcher has started. */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    va_list args;

    if (xyl_launched_rank() > 0)
        return;
    va_start(args, format);
    /* clang-tidy 14 doubts it in files that are compiled twice.
     * NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    vfprintf(stderr, format, args);
    va_end(args);
}

/* Loads and opens the host's module. NULL: MPI is used alone. */
static void *module_load(const host_t *host)
{
    static xmpi_front_t front = {NULL, NULL, hook_ucx, slot_take};
    const char *name = module_of(host), *reason;
    xmpi_module_open_t open = NULL;
    void *module;

    front.host = host->library;
    front.version = host->version;
    if (name == NULL) {
        say("xylem-mpi: no module for %s (%s), MPI is used alone\n",
            host->soname, host->version);
        return NULL;
    }
    module = open_beside(name);
    if (module == NULL) {
        reason = dlerror();
        say("xylem-mpi: cannot load %s, MPI is used alone: %s\n", name,
            reason == NULL ? "" : reason);
        return NULL;
    }
    *(void **)(void *)&open = dlsym(module, XMPI_MODULE_OPEN);
    if (open == NULL || open(&front) != 0) {
        say("xylem-mpi: %s does not fit, MPI is used alone\n", name);
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
            found = named(host, slots[i].prefix, slots[i].name);
        if (found == NULL)
            found = (void *)(uintptr_t)&function_missing;
        slot_set(slots[i].slot, found);
    }
}

int xylem_mpi_check(const char **version_out)
    __attribute__((visibility("default")));

int xylem_mpi_check(const char **version_out)
{
    static host_t host;
    int is_taken;

    *version_out = host.version;
    if (!host_find(&host)) {
        puts("no MPI library: nothing would be taken over");
        return 0;
    }
    is_taken = module_load(&host) != NULL;
    printf("%s: %s\nmodule: %s\ncollectives: %s\n", host.soname, host.version,
           is_taken ? module_of(&host) : "none that fits",
           is_taken ? "xylem's" : "the MPI library's");
    fflush(stdout);
    return is_taken;
}

static void resolve_once(void)
{
    static host_t host;
    void *module;

    if (!host_find(&host)) {
        fputs("xylem-mpi: the program calls MPI, but there is no MPI library "
              "in it\n",
              stderr);
        abort();
    }
    module = module_load(&host);
    slots_fill(module, host.library);
}

void xmpi_resolve(void) __attribute__((visibility("hidden")));

void xmpi_resolve(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, resolve_once);
}
