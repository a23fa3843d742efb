#include "tests/proc/device_count.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/proc/job.h"

unsigned device_count(const xyl_cuda_library_t *library, int of_others)
{
    FILE *file = fopen("/proc/self/maps", "r");
    xyl_cuda_place_t place;
    char line[1024];
    unsigned count = 0;

    REQUIRE(file != NULL, "cannot read /proc/self/maps");
    while (fgets(line, sizeof line, file) != NULL) {
        if (strstr(line, "memfd:device") == NULL)
            continue;
        /* An address, as maps say it. */
        library->find((const void *)(uintptr_t)strtoull(line, NULL, 16),
                      &place);
        count += place.kind == XYL_CUDA_KIND_DEVICE &&
                 !place.is_exportable == !!of_others;
    }
    fclose(file);
    return count;
}
