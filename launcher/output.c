/* Forwarding the output of ranks.
 *
 *   rank's pipe -> stream (cuts into lines) -> sink's queue -> write
 *
 * A sink's queue holds whole lines. It holds a part of a line only if the line
 * is longer than a stream keeps, or ends without a newline. A sink writes
 * pieces of at most PIPE_BUF bytes, which end at the end of a line if they
 * contain one. Such a piece fits when poll says so, so the loop never waits for
 * a reader. A queue that grows too long parks the streams that feed it: in the
 * end only the ranks wait. */
#include "launcher/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LINE_BYTES_MAX = 16 << 10, /* longer lines are passed on in parts */
    QUEUE_BYTES_MAX = 256 << 10,
    QUEUE_BYTES_LOW = 64 << 10
};

/* ---- sinks ---- */

static void stream_park(xyl_stream_t *stream)
{
    if (stream->parked)
        return;
    stream->parked = true;
    stream->parked_next = stream->sink->parked;
    stream->sink->parked = stream;
    (void)event_del(stream->readable);
}

static void sink_resume(xyl_sink_t *sink)
{
    xyl_stream_t *stream = sink->parked;
    sink->parked = NULL;
    while (stream != NULL) {
        xyl_stream_t *next = stream->parked_next;
        stream->parked = false;
        if (stream->fd >= 0) /* else it has been closed meanwhile */
            (void)event_add(stream->readable, NULL);
        stream = next;
    }
}

static void sink_fail(xyl_sink_t *sink, int error)
{
    sink->error = error;
    (void)evbuffer_drain(sink->queue, evbuffer_get_length(sink->queue));
}

/* Writes one piece. False: there is no more to do now. */
static bool sink_write(xyl_sink_t *sink)
{
    char piece[PIPE_BUF];
    if (xyl_sink_empty(sink))
        return false;
    struct pollfd ready = {.fd = sink->fd, .events = POLLOUT};
    if (sink->waits && poll(&ready, 1, 0) <= 0)
        return false;
    const ssize_t copied = evbuffer_copyout(sink->queue, piece, sizeof(piece));
    if (copied <= 0)
        return false;
    size_t bytes = (size_t)copied;
    const char *newline = memrchr(piece, '\n', bytes);
    if (newline != NULL)
        bytes = (size_t)(newline - piece) + 1;
    const ssize_t written = write(sink->fd, piece, bytes);
    if (written >= 0) {
        (void)evbuffer_drain(sink->queue, (size_t)written);
        sink->written += (size_t)written;
        return true;
    }
    if (errno == EINTR)
        return true;
    if (errno == EAGAIN) {
        sink->waits = true; /* another process has set O_NONBLOCK */
        return false;
    }
    sink_fail(sink, errno);
    return false;
}

/* Writes as much as is possible without waiting. */
static void sink_flush(xyl_sink_t *sink)
{
    while (sink_write(sink))
        continue;
    if (!xyl_sink_empty(sink))
        (void)event_add(sink->writable, NULL);
    if (evbuffer_get_length(sink->queue) <= QUEUE_BYTES_LOW)
        sink_resume(sink);
}

static void sink_writable(evutil_socket_t fd, short events, void *arg)
{
    xyl_sink_t *sink = arg;
    (void)fd;
    (void)events;
    sink_flush(sink);
    if (xyl_sink_empty(sink) && sink->drained != NULL)
        sink->drained(sink->arg);
}

static void sink_add(xyl_sink_t *sink, const char *text, size_t bytes)
{
    if (sink->error != 0 || bytes == 0)
        return;
    int failed = 0;
    if (sink->dangling)
        failed = evbuffer_add(sink->queue, "\n", 1);
    sink->dangling = false;
    if (failed != 0 || evbuffer_add(sink->queue, text, bytes) != 0)
        sink_fail(sink, ENOMEM);
}

void xyl_sink_print(xyl_sink_t *sink, const char *format, ...)
{
    char line[XYL_LINE_BYTES];
    va_list args;
    va_start(args, format);
    const size_t bytes = xyl_line_write(line, format, args);
    va_end(args);
    sink_add(sink, line, bytes);
    sink_flush(sink);
}

bool xyl_sink_empty(const xyl_sink_t *sink)
{
    return evbuffer_get_length(sink->queue) == 0;
}

int xyl_sink_init(xyl_sink_t *sink, struct event_base *base, int fd)
{
    struct stat info;
    *sink = (xyl_sink_t){.fd = fd};
    /* Files and devices such as /dev/null never keep a writer waiting, and
     * cannot be watched by epoll. */
    sink->waits =
        fstat(fd, &info) == 0 &&
        (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode) || isatty(fd) == 1);
    sink->queue = evbuffer_new();
    sink->writable = event_new(base, fd, EV_WRITE, sink_writable, sink);
    if (sink->queue == NULL || sink->writable == NULL) {
        xyl_sink_fini(sink);
        return xyl_complain("out of memory");
    }
    return 0;
}

void xyl_sink_fini(xyl_sink_t *sink)
{
    if (sink->writable != NULL)
        event_free(sink->writable);
    if (sink->queue != NULL)
        evbuffer_free(sink->queue);
    sink->writable = NULL;
    sink->queue = NULL;
}

/* ---- streams ---- */

/* Hands the sink the next `bytes` bytes, with a tag before each line. */
static void stream_pass(xyl_stream_t *stream, const char *text, size_t bytes)
{
    const size_t tag_bytes = strlen(stream->tag);
    if (tag_bytes == 0) {
        sink_add(stream->sink, text, bytes);
        return;
    }
    while (bytes > 0) {
        const char *newline = memchr(text, '\n', bytes);
        const size_t line_bytes =
            newline == NULL ? bytes : (size_t)(newline - text) + 1;
        if (!stream->in_line)
            sink_add(stream->sink, stream->tag, tag_bytes);
        sink_add(stream->sink, text, line_bytes);
        stream->in_line = newline == NULL;
        text += line_bytes;
        bytes -= line_bytes;
    }
}

/* Hands over the whole lines, or a part of a line that fills the buffer. */
static void stream_cut(xyl_stream_t *stream)
{
    const char *newline = memrchr(stream->line, '\n', stream->line_bytes);
    size_t bytes = 0;
    if (newline != NULL)
        bytes = (size_t)(newline - stream->line) + 1;
    else if (stream->line_bytes == LINE_BYTES_MAX)
        bytes = LINE_BYTES_MAX;
    stream_pass(stream, stream->line, bytes);
    memmove(stream->line, stream->line + bytes, stream->line_bytes - bytes);
    stream->line_bytes -= bytes;
}

static void stream_close(xyl_stream_t *stream)
{
    const bool open_line = stream->line_bytes > 0 || stream->in_line;
    stream_pass(stream, stream->line, stream->line_bytes);
    stream->line_bytes = 0;
    if (open_line)
        stream->sink->dangling = true;
    sink_flush(stream->sink);
    (void)event_del(stream->readable);
    (void)close(stream->fd);
    stream->fd = -1;
    stream->closed(stream->arg);
}

static void stream_readable(evutil_socket_t fd, short events, void *arg)
{
    xyl_stream_t *stream = arg;
    (void)events;
    if (evbuffer_get_length(stream->sink->queue) >= QUEUE_BYTES_MAX) {
        stream_park(stream);
        return;
    }
    size_t room = LINE_BYTES_MAX - stream->line_bytes;
    if (room > stream->left_bytes)
        room = stream->left_bytes;
    const ssize_t bytes = read(fd, stream->line + stream->line_bytes, room);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (bytes <= 0) {
        stream_close(stream);
        return;
    }
    stream->line_bytes += (size_t)bytes;
    if (stream->left_bytes != SIZE_MAX)
        stream->left_bytes -= (size_t)bytes;
    stream_cut(stream);
    sink_flush(stream->sink);
    /* If the sink has failed, the rank gets a broken pipe. */
    if (stream->left_bytes == 0 || stream->sink->error != 0)
        stream_close(stream);
}

void xyl_stream_finish(xyl_stream_t *stream)
{
    int waiting = 0;
    if (stream->fd < 0)
        return;
    if (ioctl(stream->fd, FIONREAD, &waiting) != 0)
        waiting = 0;
    stream->left_bytes = (size_t)waiting;
    if (waiting == 0)
        stream_close(stream);
}

int xyl_stream_init(xyl_stream_t *stream, struct event_base *base, int fd,
                    xyl_sink_t *sink)
{
    *stream = (xyl_stream_t){.fd = fd, .sink = sink, .left_bytes = SIZE_MAX};
    stream->line = malloc(LINE_BYTES_MAX);
    stream->readable =
        event_new(base, fd, EV_READ | EV_PERSIST, stream_readable, stream);
    if (stream->line == NULL || stream->readable == NULL ||
        fcntl(fd, F_SETFL, O_NONBLOCK) != 0 ||
        event_add(stream->readable, NULL) != 0) {
        xyl_stream_fini(stream);
        return xyl_complain("cannot watch the output of a rank");
    }
    return 0;
}

void xyl_stream_fini(xyl_stream_t *stream)
{
    if (stream->readable != NULL)
        event_free(stream->readable);
    if (stream->fd >= 0)
        (void)close(stream->fd);
    free(stream->line);
    *stream = (xyl_stream_t){.fd = -1};
}
