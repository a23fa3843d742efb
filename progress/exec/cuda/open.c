#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "progress/exec/cuda/cuda.h"

static const char library_name[] = "libxylem-cuda.so.0";

/* Opens the library in the folder of the library or program that holds this
 * function. */
static void *open_beside(void)
{
    char path[4096];
    const char *end;
    Dl_info self;

    if (dladdr(library_name, &self) == 0 || self.dli_fname == NULL)
        return NULL;
    end = strrchr(self.dli_fname, '/');
    if (end == NULL ||
        snprintf(path, sizeof path, "%.*s/%s", (int)(end - self.dli_fname),
                 self.dli_fname, library_name) >= (int)sizeof path)
        return NULL;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

const xyl_cuda_library_t *xyl_cuda_library_open(const char *path,
                                                const char **why_out)
{
    const xyl_cuda_library_t *library;
    xyl_cuda_library_fn table;
    void *handle = NULL, *address;

    if (path != NULL && *path != '\0') {
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    } else {
        handle = open_beside();
        if (handle == NULL)
            handle = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    }
    if (handle == NULL) {
        *why_out = dlerror();
        return NULL;
    }
    address = dlsym(handle, "xylem_cuda_library");
    memcpy(&table, &address, sizeof table);
    library = table == NULL ? NULL : table();
    if (library == NULL || library->version != XYL_CUDA_LIBRARY_VERSION) {
        *why_out = "libxylem-cuda is of another version";
        return NULL;
    }
    return library;
}
