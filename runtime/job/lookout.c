#include "runtime/job/lookout.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/log.h"
#include "runtime/base/status.h"

enum {
    WATCHES = 16, /* connections, including those of strangers */
    ACCEPTS_MAX = 8,
    PROBES = 6 /* keepalive probes within silence_s */
};
#define HELLO_MAGIC UINT64_C(0x78796c656d2d6c6f)
#define PATIENCE_NS (UINT64_C(5) * 1000000000) /* to connect; for a hello */
static const char goodbye = 'b';

/* The first message of the connecting leader. */
typedef struct hello {
    uint64_t magic, question;
    uint32_t node, unused;
} hello_t;

enum { UNREACHED = 1, OVER = 2 /* lost, or gone with a goodbye */ };

typedef struct watch {
    enum {
        FREE,
        CONNECTING,
        ASKING,  /* this leader waits for the other's answer */
        OPENING, /* this leader waits for the other's hello */
        WATCHED
    } state;
    int fd;
    int is_mine;    /* this leader has connected */
    uint32_t node;  /* of the other leader; not set in OPENING */
    uint32_t host;  /* index of the next address to try */
    uint64_t since; /* first look at CONNECTING or OPENING; 0: none yet */
    size_t got;     /* bytes received of the awaited message */
    union {
        hello_t hello;
        uint64_t answer;
        char bytes[sizeof(hello_t)];
    } in;
} watch_t;

struct xyl_lookout {
    int listener;
    xyl_lookout_address_t mine;
    xyl_lookout_params_t params;
    uint8_t *fates; /* [nodes]: UNREACHED, OVER; NULL: not begun */
    watch_t watches[WATCHES];
};

/* ---- the ring ---- */

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

uint32_t xyl_lookout_next(uint32_t nodes, uint32_t node, uint32_t hops)
{
    uint32_t step = (uint32_t)((uint64_t)nodes * 382 / 1000);

    if (step == 0)
        step = 1;
    while (common_divisor(nodes, step) != 1)
        step--;
    return (uint32_t)((node + (uint64_t)step * hops) % nodes);
}

/* ---- sockets ---- */

static void watch_end(watch_t *watch)
{
    close(watch->fd);
    watch->state = FREE;
}

static watch_t *watch_free_one(xyl_lookout_t *lookout)
{
    uint32_t i;

    for (i = 0; i < WATCHES; i++)
        if (lookout->watches[i].state == FREE)
            return &lookout->watches[i];
    return NULL;
}

static void option_set(int fd, int level, int option, uint64_t value)
{
    int number = value > INT32_MAX ? INT32_MAX : (int)value;

    (void)setsockopt(fd, level, option, &number, sizeof number);
}

/* Makes the system probe the other end, and end the connection after silence_s
 * without an answer. */
static void socket_watch(const xyl_lookout_t *lookout, int fd)
{
    uint64_t silence_s = lookout->params.silence_s;
    uint64_t each_s = silence_s / PROBES != 0 ? silence_s / PROBES : 1;

    option_set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    option_set(fd, IPPROTO_TCP, TCP_KEEPIDLE, each_s);
    option_set(fd, IPPROTO_TCP, TCP_KEEPINTVL, each_s);
    option_set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, silence_s * 1000);
}

/* Finds the addresses of this machine's interfaces that are up: the loopback's
 * if `loopback` is IFF_LOOPBACK, all others if it is 0. Returns how many. */
static uint32_t hosts_find(uint32_t *hosts, unsigned loopback)
{
    struct ifaddrs *all = NULL, *one;
    uint32_t count = 0;

    if (getifaddrs(&all) != 0)
        return 0;
    for (one = all; one != NULL && count < XYL_LOOKOUT_HOSTS;
         one = one->ifa_next)
        if (one->ifa_addr != NULL && one->ifa_addr->sa_family == AF_INET &&
            (one->ifa_flags & IFF_UP) != 0 &&
            (one->ifa_flags & IFF_LOOPBACK) == loopback) {
            struct sockaddr_in address;
            memcpy(&address, one->ifa_addr, sizeof address);
            hosts[count++] = address.sin_addr.s_addr;
        }
    freeifaddrs(all);
    return count;
}

static int listener_open(uint16_t *port_out)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t bytes = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fd, WATCHES) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &bytes) != 0) {
        close(fd);
        return -1;
    }
    *port_out = address.sin_port;
    return fd;
}

xyl_lookout_t *xyl_lookout_open(xyl_lookout_address_t *address_out)
{
    xyl_lookout_t *lookout = calloc(1, sizeof *lookout);
    uint64_t numbers[2];

    *address_out = (xyl_lookout_address_t){.port = 0};
    if (lookout == NULL)
        return NULL;
    if (getrandom(numbers, sizeof numbers, GRND_NONBLOCK) !=
            (ssize_t)sizeof numbers ||
        (hosts_find(lookout->mine.hosts, 0) == 0 &&
         hosts_find(lookout->mine.hosts, IFF_LOOPBACK) == 0))
        goto fail;
    lookout->mine.question = numbers[0];
    lookout->mine.answer = numbers[1];
    lookout->listener = listener_open(&lookout->mine.port);
    if (lookout->listener < 0)
        goto fail;
    *address_out = lookout->mine;
    return lookout;
fail:
    free(lookout);
    return NULL;
}

/* ---- connecting ---- */

static int socket_connect(const xyl_lookout_t *lookout, uint32_t host,
                          uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = port};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    socket_watch(lookout, fd);
    address.sin_addr.s_addr = host;
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 ||
        errno == EINPROGRESS)
        return fd;
    close(fd);
    return -1;
}

/* Connects to the next address that can be tried, or gives the node up. */
static void watch_connect(xyl_lookout_t *lookout, watch_t *watch)
{
    const xyl_lookout_address_t *address =
        lookout->params.addresses[watch->node];

    watch->state = CONNECTING;
    watch->since = 0;
    watch->fd = -1;
    while (watch->fd < 0 && watch->host < XYL_LOOKOUT_HOSTS &&
           address->hosts[watch->host] != 0)
        watch->fd = socket_connect(lookout, address->hosts[watch->host++],
                                   address->port);
    if (watch->fd >= 0)
        return;
    watch->state = FREE;
    lookout->fates[watch->node] |= UNREACHED;
    xyl_log(XYL_LOG_INFO,
            "node %u cannot be reached, and is not watched from here",
            watch->node);
}

static void watch_connect_otherwise(xyl_lookout_t *lookout, watch_t *watch)
{
    close(watch->fd);
    watch_connect(lookout, watch);
}

static int is_connected_to(const xyl_lookout_t *lookout, uint32_t node)
{
    uint32_t i;

    for (i = 0; i < WATCHES; i++)
        if (lookout->watches[i].state != FREE && lookout->watches[i].is_mine &&
            lookout->watches[i].node == node)
            return 1;
    return 0;
}

/* Connects to the nodes ahead; a lost node is replaced by the next one. */
static void look_ahead(xyl_lookout_t *lookout)
{
    const xyl_lookout_params_t *params = &lookout->params;
    uint32_t hops, ahead = 0;

    for (hops = 1; hops < params->nodes && ahead < XYL_LOOKOUT_AHEAD; hops++) {
        uint32_t node = xyl_lookout_next(params->nodes, params->node, hops);
        watch_t *watch;
        if (lookout->fates[node] != 0 || params->addresses[node]->port == 0 ||
            !params->is_watched(params->arg, node))
            continue;
        ahead++;
        watch = is_connected_to(lookout, node) ? NULL : watch_free_one(lookout);
        if (watch == NULL)
            continue;
        *watch = (watch_t){.is_mine = 1, .node = node};
        watch_connect(lookout, watch);
    }
}

/* ---- events on connections ---- */

static int patience_ends(watch_t *watch, uint64_t now_ns)
{
    if (watch->since == 0)
        watch->since = now_ns;
    return now_ns - watch->since > PATIENCE_NS;
}

static void look_at_connecting(xyl_lookout_t *lookout, watch_t *watch,
                               uint64_t now_ns)
{
    const hello_t hello = {.magic = HELLO_MAGIC,
                           .question =
                               lookout->params.addresses[watch->node]->question,
                           .node = lookout->params.node};
    struct pollfd end = {watch->fd, POLLOUT, 0};
    socklen_t bytes = sizeof(int);
    int error = 0;

    if (poll(&end, 1, 0) <= 0) {
        if (patience_ends(watch, now_ns))
            watch_connect_otherwise(lookout, watch);
        return;
    }
    if (getsockopt(watch->fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0 ||
        error != 0 ||
        send(watch->fd, &hello, sizeof hello, MSG_NOSIGNAL) !=
            (ssize_t)sizeof hello) {
        watch_connect_otherwise(lookout, watch);
        return;
    }
    watch->state = ASKING;
    watch->got = 0;
}

/* Receives the awaited message of `bytes`. 1: complete; 0: not yet; -1: the
 * connection has ended. */
static int watch_take(watch_t *watch, size_t bytes)
{
    ssize_t got = recv(watch->fd, watch->in.bytes + watch->got,
                       bytes - watch->got, MSG_DONTWAIT);

    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    if (got == 0) {
        errno = ECONNRESET;
        return -1;
    }
    watch->got += (size_t)got;
    return watch->got == bytes;
}

static void look_at_asking(xyl_lookout_t *lookout, watch_t *watch)
{
    int taken = watch_take(watch, sizeof watch->in.answer);

    if (taken == 0)
        return;
    watch->got = 0;
    if (taken > 0 &&
        watch->in.answer == lookout->params.addresses[watch->node]->answer)
        watch->state = WATCHED;
    else
        watch_connect_otherwise(lookout, watch);
}

static void look_at_opening(xyl_lookout_t *lookout, watch_t *watch,
                            uint64_t now_ns)
{
    const uint64_t answer = lookout->mine.answer;
    const hello_t *hello = &watch->in.hello;
    int taken = watch_take(watch, sizeof *hello);

    if (taken == 0 && !patience_ends(watch, now_ns))
        return;
    watch->got = 0;
    watch->node = hello->node;
    if (taken > 0 && hello->magic == HELLO_MAGIC &&
        hello->question == lookout->mine.question &&
        hello->node < lookout->params.nodes &&
        send(watch->fd, &answer, sizeof answer, MSG_NOSIGNAL) ==
            (ssize_t)sizeof answer)
        watch->state = WATCHED;
    else
        watch_end(watch);
}

static void look_at_watched(xyl_lookout_t *lookout, watch_t *watch)
{
    const xyl_lookout_params_t *params = &lookout->params;
    int taken = watch_take(watch, 1), error = errno;
    uint32_t node = watch->node;
    int was_over = (lookout->fates[node] & OVER) != 0;

    if (taken == 0)
        return;
    watch_end(watch);
    lookout->fates[node] |= OVER;
    if (taken < 0 && !was_over && params->is_watched(params->arg, node))
        params->lost(params->arg, node, error != ECONNRESET && error != EPIPE);
}

static void take_in(xyl_lookout_t *lookout)
{
    uint32_t i;

    for (i = 0; i < ACCEPTS_MAX; i++) {
        watch_t *watch = watch_free_one(lookout);
        int fd = watch == NULL ? -1
                               : accept4(lookout->listener, NULL, NULL,
                                         SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        socket_watch(lookout, fd);
        *watch = (watch_t){.state = OPENING, .fd = fd};
    }
}

void xyl_lookout_look(xyl_lookout_t *lookout, uint64_t now_ns)
{
    uint32_t i;

    if (lookout->fates == NULL)
        return;
    take_in(lookout);
    for (i = 0; i < WATCHES; i++) {
        watch_t *watch = &lookout->watches[i];
        if (watch->state == CONNECTING)
            look_at_connecting(lookout, watch, now_ns);
        if (watch->state == ASKING)
            look_at_asking(lookout, watch);
        if (watch->state == OPENING)
            look_at_opening(lookout, watch, now_ns);
        if (watch->state == WATCHED)
            look_at_watched(lookout, watch);
    }
    look_ahead(lookout);
}

uint32_t xyl_lookout_count(const xyl_lookout_t *lookout)
{
    uint32_t i, count = 0;

    for (i = 0; i < WATCHES; i++)
        count += lookout->watches[i].state == WATCHED;
    return count;
}

/* ---- begin and end ---- */

int xyl_lookout_begin(xyl_lookout_t *lookout,
                      const xyl_lookout_params_t *params)
{
    lookout->params = *params;
    lookout->fates = calloc(params->nodes, 1);
    return lookout->fates == NULL ? XYLEM_ERR_NO_MEMORY : XYLEM_OK;
}

/* Says goodbye, reads all bytes that have come, and closes the connection. With
 * unread bytes the system would reset the connection, and the goodbye would be
 * lost. */
static void watch_leave(watch_t *watch)
{
    char rest[64];

    if (watch->state == ASKING || watch->state == WATCHED) {
        (void)send(watch->fd, &goodbye, sizeof goodbye,
                   MSG_NOSIGNAL | MSG_DONTWAIT);
        (void)shutdown(watch->fd, SHUT_WR);
        while (recv(watch->fd, rest, sizeof rest, MSG_DONTWAIT) > 0)
            continue;
    }
    watch_end(watch);
}

void xyl_lookout_close(xyl_lookout_t *lookout)
{
    uint32_t i;

    if (lookout == NULL)
        return;
    for (i = 0; i < WATCHES; i++)
        if (lookout->watches[i].state != FREE)
            watch_leave(&lookout->watches[i]);
    close(lookout->listener);
    free(lookout->fates);
    free(lookout);
}
