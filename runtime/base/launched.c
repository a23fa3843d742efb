#include "runtime/base/launched.h"

#include <stdlib.h>

long xyl_launched_rank(void)
{
    /* Slurm's variable comes last: srun may have started another launcher. */
    static const char *const names[] = {"PMIX_RANK", "OMPI_COMM_WORLD_RANK",
                                        "PMI_RANK", "SLURM_PROCID"};
    size_t i;

    for (i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *rank = getenv(names[i]);

        if (rank != NULL && *rank >= '0' && *rank <= '9')
            return strtol(rank, NULL, 10);
    }
    return -1;
}
