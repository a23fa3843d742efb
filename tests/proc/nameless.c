/* What this rank shares with others has no name in the file system, hence is
 * gone with the last process that has it, however that ends:
 *
 *   nameless shared|alone
 *
 * shared: the ranks of the node do share memory. UCX's own is left out. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/proc/job.h"

enum { TEXT_BYTES = 1024 };

static int is_ours(const char *path)
{
    return strstr(path, "/memfd:xylem") != NULL;
}

/* Mappings that are shared and can be written, as "... rw-s ... path". */
static int check_mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[TEXT_BYTES];
    int ours = 0;

    REQUIRE(maps != NULL, "there is no /proc/self/maps");
    while (fgets(line, sizeof line, maps) != NULL) {
        if (strstr(line, " rw-s ") == NULL)
            continue;
        ours += is_ours(line);
        REQUIRE(strstr(line, " (deleted)") != NULL ||
                    strstr(line, "ucx") != NULL || strstr(line, "/SYSV") ||
                    strstr(line, "pmix") != NULL || strstr(line, "/dev/zero"),
                "shared memory with a name: %s", line);
    }
    fclose(maps);
    return ours;
}

static int check_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    char path[TEXT_BYTES], target[TEXT_BYTES];
    struct dirent *entry;
    int ours = 0;

    REQUIRE(folder != NULL, "there is no /proc/self/fd");
    while ((entry = readdir(folder)) != NULL) {
        ssize_t bytes;
        snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
        bytes = readlink(path, target, sizeof target - 1);
        if (bytes < 0)
            continue;
        target[bytes] = '\0';
        ours += is_ours(target);
        REQUIRE(strstr(target, "xylem") == NULL || is_ours(target) ||
                    strstr(target, "/xylem-run") != NULL,
                "an open file has a name: %s", target);
    }
    closedir(folder);
    return ours;
}

int main(int argc, char **argv)
{
    int shares = argc == 2 && strcmp(argv[1], "shared") == 0;
    uint32_t value = 0;
    job_t job;

    job_begin(&job);
    MUST(xylem_bcast(job.world, &value, 1, XYLEM_UINT32, 0));
    REQUIRE((check_mappings() != 0) == shares, "shared mappings of xylem: %d",
            !shares);
    REQUIRE((check_descriptors() != 0) == shares, "files of xylem: %d",
            !shares);
    job_end(&job);
    return 0;
}
