#include "runtime/triggers/proxy.h"

#include <string.h>

#include "include/xylem_device.h"
#include "runtime/base/members.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"
#include "runtime/modules.h"
#include "runtime/triggers/trigger.h"

enum {
    PROXY_MAGIC = 0x78507278,
    PROXY_FREED = 0x78506672,
    LINES_BYTES = 256, /* tail and places, in front of the records */
    PLACES_AT = 128,
    RECORDS_DEFAULT = 1024,
    RECORDS_MAX = 1 << 20,
    TAGS_DEFAULT = 256,
    TAGS_MAX = 1 << 20,
    EARLY_MAX = 1 << 20, /* counters of a tag that is not bound yet */
    BATCH = 64
};

typedef struct proxy_tag {
    xylem_trigger_t *trigger; /* NULL: none yet */
    uint64_t *early;          /* [early_count] */
    uint32_t early_count;
} proxy_tag_t;

struct xylem_proxy {
    uint32_t magic;
    int is_armed;
    xylem_context_t *context;
    _Atomic uint32_t status; /* xylem_status_t */
    xylem_device_queue_t queue;
    uint64_t *tail; /* read by threads that post */
    uint64_t taken;
    void *owned;                    /* NULL: the memory is the caller's */
    LIST_ENTRY(xylem_proxy) others; /* of the context */
    LIST_ENTRY(xylem_proxy) armed;
    uint32_t tags;
    proxy_tag_t tag[];
};

typedef struct proxies {
    LIST_HEAD(, xylem_proxy) armed; /* the progressing thread's */
    LIST_HEAD(, xylem_proxy) all;   /* by the context's lock */
} proxies_t;

XYL_STATE_OF_CONTEXT(proxies_t, proxies_of, XYL_MODULE_PROXIES)

/* ---- reading: the progressing thread ---- */

static void proxy_fail(xylem_proxy_t *proxy, xylem_status_t status)
{
    uint32_t none = XYLEM_OK;

    atomic_compare_exchange_strong_explicit(
        &proxy->status, &none, (uint32_t)status, memory_order_relaxed,
        memory_order_relaxed);
}

static void early_release(xylem_proxy_t *proxy, proxy_tag_t *tag)
{
    if (tag->early != NULL)
        xyl_pool_release(&proxy->context->pool, tag->early,
                         tag->early_count * sizeof *tag->early);
    tag->early = NULL;
    tag->early_count = 0;
}

static xylem_status_t early_keep(xylem_proxy_t *proxy, proxy_tag_t *tag,
                                 uint32_t index, uint64_t count)
{
    uint64_t *early;
    uint32_t grown = 16;

    if (index >= EARLY_MAX)
        return XYLEM_ERR_INVALID_ARG;
    while (grown <= index)
        grown *= 2;
    if (index >= tag->early_count) {
        early = xyl_pool_acquire(&proxy->context->pool, grown * sizeof *early);
        if (early == NULL)
            return XYLEM_ERR_NO_MEMORY;
        memset(early, 0, grown * sizeof *early);
        if (tag->early != NULL)
            memcpy(early, tag->early, tag->early_count * sizeof *early);
        early_release(proxy, tag);
        tag->early = early;
        tag->early_count = grown;
    }
    tag->early[index] += count;
    return XYLEM_OK;
}

static void record_take(xylem_proxy_t *proxy, uint64_t what, uint64_t count)
{
    uint32_t number = (uint32_t)what, index = (uint32_t)(what >> 32) << 1 >> 1;
    proxy_tag_t *tag = &proxy->tag[number];
    xylem_status_t status;

    if (number >= proxy->tags)
        status = XYLEM_ERR_INVALID_ARG;
    else if (tag->trigger != NULL)
        status = xyl_trigger_count_here(tag->trigger, index, count);
    else
        status = early_keep(proxy, tag, index, count);
    if (status != XYLEM_OK)
        proxy_fail(proxy, status);
}

static unsigned proxy_poll(xylem_proxy_t *proxy)
{
    const xylem_device_queue_t *queue = &proxy->queue;
    unsigned done;

    for (done = 0; done < BATCH; done++) {
        const xylem_device_record_t *record =
            &queue->records[proxy->taken & queue->mask];
        uint64_t lap = xylem_device_lap_(proxy->taken, queue->mask);
        /* Partners: the releases in xylem_device_write_. */
        uint64_t what = xylem_device_load_sys_(&record->what), count;

        if (((what ^ lap) >> 63) != 0)
            break;
        count = xylem_device_load_sys_(&record->count);
        if (((count ^ lap) >> 63) != 0)
            break;
        record_take(proxy, what, count << 1 >> 1);
        proxy->taken++;
    }
    /* The places may be used again. Partner: the acquire in
     * xylem_device_ticket_. */
    if (done != 0)
        __atomic_store_n(proxy->tail, proxy->taken, __ATOMIC_RELEASE);
    return done;
}

static unsigned proxies_poll(void *arg)
{
    xylem_context_t *context = arg;
    xylem_proxy_t *proxy;
    unsigned done = 0;

    LIST_FOREACH(proxy, &proxies_of(context)->armed, armed)
    done += proxy_poll(proxy);
    if (done != 0)
        xyl_triggers_run(context);
    return done;
}

/* ---- arming and binding ---- */

static xylem_status_t proxy_check(const xylem_proxy_t *proxy, const char *call)
{
    if (proxy != NULL && proxy->magic == PROXY_MAGIC)
        return XYLEM_OK;
    return xyl_fail(XYLEM_ERR_INVALID_HANDLE,
                    "%s: the proxy is NULL or has been destroyed", call);
}

/* Work for the progressing thread: to arm or to bind. */
typedef struct proxy_errand {
    xylem_proxy_t *proxy;
    int is_armed;
    uint32_t tag;
    xylem_trigger_t *trigger;
    xylem_status_t status;
} proxy_errand_t;

static void proxy_arm(void *arg)
{
    proxy_errand_t *errand = arg;
    xylem_proxy_t *proxy = errand->proxy;
    xylem_context_t *context = proxy->context;
    const xyl_source_t source = {proxies_poll, context};

    if (proxy->is_armed == errand->is_armed)
        return;
    if (errand->is_armed && LIST_EMPTY(&proxies_of(context)->armed))
        errand->status = xyl_engine_restless_add(&context->engine, source);
    if (errand->status != XYLEM_OK)
        return;
    proxy->is_armed = errand->is_armed;
    if (errand->is_armed)
        LIST_INSERT_HEAD(&proxies_of(context)->armed, proxy, armed);
    else
        LIST_REMOVE(proxy, armed);
    if (LIST_EMPTY(&proxies_of(context)->armed))
        xyl_engine_restless_remove(&context->engine, source);
}

xylem_status_t xylem_proxy_arm(xylem_proxy_t *proxy, int is_armed)
{
    proxy_errand_t errand = {.proxy = proxy, .is_armed = is_armed != 0};
    xylem_status_t status = proxy_check(proxy, "xylem_proxy_arm");

    if (status != XYLEM_OK)
        return status;
    xyl_context_do(proxy->context, proxy_arm, &errand);
    return errand.status == XYLEM_OK
               ? XYLEM_OK
               : xyl_fail(errand.status,
                          "xylem_proxy_arm: the context looks after too many "
                          "resident kernels already; destroy some");
}

static void proxy_bind(void *arg)
{
    const proxy_errand_t *errand = arg;
    xylem_proxy_t *proxy = errand->proxy;
    proxy_tag_t *tag = &proxy->tag[errand->tag];
    uint32_t i;

    if (tag->trigger != NULL)
        xyl_trigger_unname(tag->trigger);
    tag->trigger = errand->trigger;
    if (tag->trigger == NULL)
        return;
    xyl_trigger_name(tag->trigger);
    for (i = 0; i < tag->early_count; i++)
        if (tag->early[i] != 0 &&
            xyl_trigger_count_here(tag->trigger, i, tag->early[i]) != XYLEM_OK)
            proxy_fail(proxy, XYLEM_ERR_INVALID_ARG);
    early_release(proxy, tag);
    xyl_triggers_run(proxy->context);
}

xylem_status_t xylem_proxy_bind(xylem_proxy_t *proxy, uint32_t tag,
                                xylem_trigger_t *trigger)
{
    proxy_errand_t errand = {.proxy = proxy, .tag = tag, .trigger = trigger};
    xylem_status_t status = proxy_check(proxy, "xylem_proxy_bind");

    if (status == XYLEM_OK && trigger != NULL)
        status = xyl_trigger_check(trigger, "xylem_proxy_bind");
    if (status != XYLEM_OK)
        return status;
    if (tag >= proxy->tags)
        return xyl_refuse("xylem_proxy_bind", "there is no tag %u of %u", tag,
                          proxy->tags);
    if (trigger != NULL && trigger->context != proxy->context)
        return xyl_refuse("xylem_proxy_bind",
                          "the trigger is of another context");
    xyl_context_do(proxy->context, proxy_bind, &errand);
    return XYLEM_OK;
}

/* ---- creation ---- */

size_t xylem_proxy_bytes(uint32_t records)
{
    return LINES_BYTES + (size_t)records * sizeof(xylem_device_record_t);
}

static xylem_status_t args_read(const xylem_proxy_args_t *given,
                                xylem_proxy_args_t *args)
{
    xylem_status_t status = xyl_members_read(
        "xylem_proxy_create", "args", given,
        XYL_BYTES_UP_TO(xylem_proxy_args_t, places), args, sizeof *args);

    if (status != XYLEM_OK)
        return status;
    if (args->records == 0)
        args->records = RECORDS_DEFAULT;
    if (args->tags == 0)
        args->tags = TAGS_DEFAULT;
    if ((args->records & (args->records - 1)) != 0 ||
        args->records > RECORDS_MAX || args->tags > TAGS_MAX)
        return xyl_refuse("xylem_proxy_create",
                          "records is no power of 2, or there are more than "
                          "2^20 records or tags");
    if ((uintptr_t)args->memory % 64 != 0 || (uintptr_t)args->places % 32 != 0)
        return xyl_refuse("xylem_proxy_create",
                          "memory or places is not aligned");
    return XYLEM_OK;
}

static void proxy_lay_out(xylem_proxy_t *proxy, const xylem_proxy_args_t *args,
                          void *memory)
{
    char *at = memory;

    memset(at, 0, xylem_proxy_bytes(args->records));
    proxy->tail = memory;
    proxy->queue = (xylem_device_queue_t){
        .struct_bytes = sizeof proxy->queue,
        .records = (xylem_device_record_t *)(void *)(at + LINES_BYTES),
        .places =
            args->places != NULL ? args->places : (void *)(at + PLACES_AT),
        .tail = memory,
        .mask = args->records - 1,
    };
}

static size_t proxy_bytes(uint32_t tags)
{
    return sizeof(xylem_proxy_t) + tags * sizeof(proxy_tag_t);
}

static void proxy_free(xylem_proxy_t *proxy)
{
    xyl_pool_t *pool = &proxy->context->pool;
    uint32_t i;

    for (i = 0; i < proxy->tags; i++)
        early_release(proxy, &proxy->tag[i]);
    if (proxy->owned != NULL)
        xyl_pool_release(pool, proxy->owned,
                         xylem_proxy_bytes((uint32_t)proxy->queue.mask + 1));
    proxy->magic = PROXY_FREED;
    xyl_pool_release(pool, proxy, proxy_bytes(proxy->tags));
}

xylem_status_t xylem_proxy_create(xylem_context_t *context,
                                  const xylem_proxy_args_t *given,
                                  xylem_proxy_t **proxy_out)
{
    xylem_proxy_args_t args;
    xylem_proxy_t *proxy;
    xylem_status_t status = xyl_context_check(context, "xylem_proxy_create");

    if (status == XYLEM_OK && proxy_out == NULL)
        return xyl_refuse("xylem_proxy_create", "proxy_out is NULL");
    if (status == XYLEM_OK)
        status = args_read(given, &args);
    if (status != XYLEM_OK)
        return status;
    proxy = xyl_pool_acquire(&context->pool, proxy_bytes(args.tags));
    if (proxy == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a proxy");
    memset(proxy, 0, proxy_bytes(args.tags));
    proxy->magic = PROXY_MAGIC;
    proxy->context = context;
    proxy->tags = args.tags;
    if (args.memory == NULL) {
        proxy->owned =
            xyl_pool_acquire(&context->pool, xylem_proxy_bytes(args.records));
        if (proxy->owned == NULL) {
            proxy_free(proxy);
            return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a queue");
        }
    }
    proxy_lay_out(proxy, &args,
                  args.memory != NULL ? args.memory : proxy->owned);
    pthread_mutex_lock(&context->lock);
    LIST_INSERT_HEAD(&proxies_of(context)->all, proxy, others);
    pthread_mutex_unlock(&context->lock);
    *proxy_out = proxy;
    return XYLEM_OK;
}

xylem_status_t xylem_proxy_queue(const xylem_proxy_t *proxy,
                                 struct xylem_device_queue *queue)
{
    xylem_status_t status = proxy_check(proxy, "xylem_proxy_queue");

    if (status != XYLEM_OK)
        return status;
    if (queue == NULL || queue->struct_bytes < sizeof *queue)
        return xyl_refuse("xylem_proxy_queue",
                          "the queue is NULL or its struct_bytes is not set");
    *queue = proxy->queue;
    return XYLEM_OK;
}

xylem_status_t xylem_proxy_status(const xylem_proxy_t *proxy)
{
    xylem_status_t status = proxy_check(proxy, "xylem_proxy_status");

    if (status != XYLEM_OK)
        return status;
    status = (xylem_status_t)atomic_load_explicit(&proxy->status,
                                                  memory_order_relaxed);
    return status == XYLEM_OK
               ? XYLEM_OK
               : xyl_explain(status, status == XYLEM_ERR_NO_MEMORY
                                         ? "no memory for early counts"
                                         : "a record named a tag or a counter "
                                           "that there is not");
}

/* ---- the end ---- */

static void proxy_end(void *arg)
{
    proxy_errand_t *errand = arg;
    uint32_t i;

    proxy_arm(errand);
    for (i = 0; i < errand->proxy->tags; i++)
        if (errand->proxy->tag[i].trigger != NULL)
            xyl_trigger_unname(errand->proxy->tag[i].trigger);
}

xylem_status_t xylem_proxy_destroy(xylem_proxy_t *proxy)
{
    proxy_errand_t errand = {.proxy = proxy};
    xylem_context_t *context;
    xylem_status_t status;

    if (proxy == NULL)
        return XYLEM_OK;
    status = proxy_check(proxy, "xylem_proxy_destroy");
    if (status != XYLEM_OK)
        return status;
    context = proxy->context;
    xyl_context_do(context, proxy_end, &errand);
    pthread_mutex_lock(&context->lock);
    LIST_REMOVE(proxy, others);
    pthread_mutex_unlock(&context->lock);
    proxy_free(proxy);
    return XYLEM_OK;
}

static void proxies_end(xylem_context_t *context)
{
    xylem_proxy_t *proxy;

    while ((proxy = LIST_FIRST(&proxies_of(context)->all)) != NULL) {
        LIST_REMOVE(proxy, others);
        proxy_free(proxy);
    }
}

const xyl_module_t xyl_proxies_module = {
    .bytes = {[XYL_OWNER_CONTEXT] = sizeof(proxies_t)},
    .context_ends = proxies_end,
};
