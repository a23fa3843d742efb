#include "bindings/mpi/module.h"

#include <string.h>

#include "bindings/mpi/host.h"

const xmpi_front_t *xmpi_front;

#define X_(name) extern void xmpi_function_##name(void) __asm__("xmpi_" #name);
XYL_COLL_MPI_MAP(XMPI_FORMS_)
XYL_COLL_MPI_DATA_MAP(XMPI_LARGE_FORMS_)
XMPI_OTHERS(X_)
#undef X_

static const struct {
    const char *name;
    xmpi_function_t function;
} functions[] = {
#define X_(name) {#name, xmpi_function_##name},
    XYL_COLL_MPI_MAP(XMPI_FORMS_) XYL_COLL_MPI_DATA_MAP(XMPI_LARGE_FORMS_)
        XMPI_OTHERS(X_)
#undef X_
};

static int module_open(const xmpi_front_t *front)
{
    xmpi_front = front;
    return xmpi_host_find(front->host);
}

static xmpi_function_t module_find(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0)
            return functions[i].function;
    return NULL;
}

extern const xmpi_module_t xmpi_module;

__attribute__((visibility("default")))
const xmpi_module_t xmpi_module = {module_open, module_find};
