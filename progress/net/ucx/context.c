/* Configures UCX: which transports it opens, and how. Settings that the user
 * gives UCX, in the environment or in UCX's own file (ucx.conf), come first. */
#include "progress/net/ucx/context.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/log.h"

enum {
    ROOM_MIB = 1024, /* of addresses, for memory that ranks of a node share */
    FILE_MIB = 64,   /* more than UCX's longest file in /dev/shm */
    LIST_BYTES = 512
};

/* 1: this process may map little more memory (ulimit -v). */
static int room_is_short(void)
{
    uint64_t room = (uint64_t)ROOM_MIB << 20;
    struct rlimit limit;
    unsigned long pages = 0;
    FILE *file;

    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return 0;
    file = fopen("/proc/self/statm", "re");
    if (file != NULL) {
        if (fscanf(file, "%lu", &pages) != 1)
            pages = 0;
        fclose(file);
    }
    return limit.rlim_cur < room + pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* 1: UCX cannot make files in /dev/shm, and would not start; or the system
 * would end this process for such a file (ulimit -f). */
static int files_are_refused(void)
{
    uint64_t enough = (uint64_t)FILE_MIB << 20;
    struct rlimit limit;

    return access("/dev/shm", W_OK) != 0 ||
           (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < enough);
}

/* The transports for UCX to open, as a value of UCX_TLS; NULL: all. UCX (1.13
 * to 1.18) drops a message silently if it cannot map the sender's memory, so a
 * process with little room opens no shared memory. Ranks that are together open
 * no network, since this takes milliseconds of a start, and more if many ranks
 * do it at once. */
static const char *transports(const xyl_net_params_t *params)
{
    if (room_is_short()) {
        xyl_log(XYL_LOG_INFO, "there is little room for addresses (ulimit "
                              "-v): messages do not go through shared memory");
        return "^mm";
    }
    if (files_are_refused())
        return params->are_together ? "sysv,cma,self" : "^posix";
    return params->are_together ? "shm,self" : NULL;
}

/* Sets how many buffers UCX makes at once for messages through shared memory.
 * UCX clears them all: its default, 512, is 4 MiB, and 6 ms of a start of 16
 * ranks. A UCX without this setting keeps its default. Do not call this if UCX
 * opens no shared memory: each rank would print that the setting is unused. */
static void keep_buffers_few(ucp_config_t *config)
{
    if (getenv("UCX_MM_RX_BUFS_GROW") == NULL)
        ucp_config_modify(config, "MM_RX_BUFS_GROW", "64");
}

/* A list that UCX has read from the environment or from ucx.conf. UCX tells the
 * values of its settings only in print. */
static void list_read(const ucp_config_t *config, const char *name, char *list,
                      size_t bytes)
{
    size_t printed_bytes = 0;
    char *printed = NULL, *at;
    FILE *file = open_memstream(&printed, &printed_bytes);

    snprintf(list, bytes, "all");
    if (file == NULL)
        return;
    ucp_config_print(config, file, NULL, UCS_CONFIG_PRINT_CONFIG);
    at = fclose(file) == 0 ? strstr(printed, name) : NULL;
    if (at != NULL) {
        snprintf(list, bytes, "%s", at + strlen(name));
        list[strcspn(list, "\n")] = '\0';
    }
    free(printed);
}

/* 1: UCX's list `devices` contains `device`. */
static int list_has(const char *devices, const char *device)
{
    char copy[LIST_BYTES], *name, *rest = copy;

    snprintf(copy, sizeof copy, "%s", devices);
    while ((name = strsep(&rest, ",")) != NULL)
        if (strcmp(name, "all") == 0 || strcmp(name, device) == 0)
            return 1;
    return 0;
}

/* 1: among the devices that UCX may open there is a network interface for TCP
 * that is up and has an address. UCX 1.13 knows IPv4 alone. */
static int has_kernel_network(const ucp_config_t *config, int knows_ipv6)
{
    struct ifaddrs *addresses, *a;
    char devices[LIST_BYTES];
    int found = 0;

    if (getifaddrs(&addresses) != 0)
        return 0;
    list_read(config, "UCX_NET_DEVICES=", devices, sizeof devices);
    for (a = addresses; a != NULL && !found; a = a->ifa_next)
        found = a->ifa_addr != NULL && (a->ifa_flags & IFF_UP) != 0 &&
                (a->ifa_addr->sa_family == AF_INET ||
                 (knows_ipv6 && a->ifa_addr->sa_family == AF_INET6)) &&
                list_has(devices, a->ifa_name);
    freeifaddrs(addresses);
    return found;
}

/* By default UCX connects over TCP while the caller waits (1.13, 1.18), for
 * minutes if the other machine does not answer. If the peer dies meanwhile, an
 * assertion of UCX ends the process (tcp_ep.c: a connection that fails before
 * it counts as sending). With CONN_NB set UCX does neither. UCX prints a line
 * if the setting is given but no TCP is opened, or if the setting's name is
 * that of another release: 1.13 has no prefix, 1.18 has one. */
static void connect_without_waiting(ucp_config_t *config, const char *list)
{
    int has_tcp = strstr(list, "tcp") != NULL || strstr(list, "all") != NULL;
    unsigned major, minor, release;
    int is_old;

    ucp_get_version(&major, &minor, &release);
    is_old = major == 1 && minor <= 13;
    if (has_tcp != (list[0] == '^') && getenv("UCX_TCP_CONN_NB") == NULL &&
        has_kernel_network(config, !is_old))
        ucp_config_modify(config, is_old ? "CONN_NB" : "TCP_CONN_NB", "y");
}

/* Sets what neither the environment nor UCX's file sets. */
static ucs_status_t config_complete(ucp_config_t *config,
                                    const xyl_net_params_t *given)
{
    const char *list = transports(given);
    char chosen[LIST_BYTES];
    ucs_status_t status = UCS_OK;

    list_read(config, "UCX_TLS=", chosen, sizeof chosen);
    if (getenv("UCX_TLS") != NULL || strcmp(chosen, "all") != 0) {
        connect_without_waiting(config, chosen);
        return UCS_OK;
    }
    if (list != NULL)
        status = ucp_config_modify(config, "TLS", list);
    if (list == NULL || strcmp(list, "^mm") != 0)
        keep_buffers_few(config);
    connect_without_waiting(config, list == NULL ? "all" : list);
    return status;
}

ucs_status_t xyl_ucx_context_create(const xyl_net_params_t *given,
                                    ucp_context_h *context_out)
{
    ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME,
        .features =
            UCP_FEATURE_TAG | (given->can_sleep ? UCP_FEATURE_WAKEUP : 0),
        .name = "xylem",
    };
    ucp_config_t *config;
    ucs_status_t status = ucp_config_read(NULL, NULL, &config);

    if (status != UCS_OK)
        return status;
    status = config_complete(config, given);
    if (status == UCS_OK)
        status = ucp_init(&params, config, context_out);
    ucp_config_release(config);
    return status;
}
