/* What the benchmarks of triggers on a GPU share: ranks, memory, times. */
#pragma once

#include <algorithm>
#include <chrono>
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

#include "include/xylem_device.h"

static inline void must_at(int line, xylem_status_t status)
{
    if (status == XYLEM_OK)
        return;
    fprintf(stderr, "line %d: %s: %s\n", line, xylem_status_name(status),
            xylem_last_error());
    exit(EXIT_FAILURE);
}

static inline void cuda_at(int line, cudaError_t error)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(error));
    exit(EXIT_FAILURE);
}

#define MUST(call) must_at(__LINE__, call)
#define CUDA(call) cuda_at(__LINE__, call)

struct job {
    xylem_context_t *context;
    xylem_team_t *world;
    uint32_t rank, ranks;
    int gpus;
};

/* What a job ends. */
static std::vector<xylem_proxy_t *> owned_proxies;
static std::vector<xylem_trigger_t *> owned_triggers;
static std::vector<xylem_request_t *> owned_requests;
static std::vector<xylem_team_t *> owned_teams;

/* Ranks take GPUs in turn. */
static inline void job_begin(job *j)
{
    MUST(xylem_context_create(NULL, &j->context));
    j->world = xylem_context_world(j->context);
    j->rank = xylem_team_rank(j->world);
    j->ranks = xylem_team_size(j->world);
    CUDA(cudaGetDeviceCount(&j->gpus));
    CUDA(cudaSetDevice(int(j->rank) % j->gpus));
}

template <class T> static inline T *pinned(size_t count)
{
    void *memory;

    CUDA(cudaHostAlloc(&memory, count * sizeof(T), cudaHostAllocPortable));
    memset(memory, 0, count * sizeof(T));
    return static_cast<T *>(memory);
}

template <class T> static inline T *device(size_t count)
{
    void *memory;

    CUDA(cudaMalloc(&memory, count * sizeof(T)));
    CUDA(cudaMemset(memory, 0, count * sizeof(T)));
    return static_cast<T *>(memory);
}

static inline double now_us()
{
    return std::chrono::duration<double, std::micro>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

template <class T> static inline double at(std::vector<T> &all, double part)
{
    std::sort(all.begin(), all.end());
    return all.empty() ? 0 : double(all[size_t(double(all.size() - 1) * part)]);
}

/* Of the slowest rank. */
static inline double slowest(const job &j, double mine)
{
    double all = 0;

    MUST(xylem_allreduce(j.world, &mine, &all, 1, XYLEM_FLOAT64, XYLEM_MAX));
    return all;
}

/* A queue in pinned memory whose places lie on the device. */
struct proxy {
    xylem_proxy_t *proxy;
    xylem_device_queue_t queue;
};

static inline proxy proxy_make(const job &j, uint32_t records, uint32_t tags)
{
    xylem_proxy_args_t args = XYLEM_PROXY_ARGS_INIT;
    proxy made = {};

    args.records = records;
    args.tags = tags;
    args.memory = pinned<char>(xylem_proxy_bytes(records));
    args.places = device<xylem_device_places_t>(1);
    made.queue.struct_bytes = sizeof made.queue;
    MUST(xylem_proxy_create(j.context, &args, &made.proxy));
    MUST(xylem_proxy_queue(made.proxy, &made.queue));
    owned_proxies.push_back(made.proxy);
    return made;
}

/* Progresses until the stream's work has ended; checks that it went well. */
static inline void progress_until(const job &j, cudaStream_t stream)
{
    cudaError_t error;
    int turns = 0;

    do {
        for (turns = 0; turns < 2000; turns++)
            xylem_progress(j.context);
        error = cudaStreamQuery(stream);
    } while (error == cudaErrorNotReady);
    CUDA(error);
}

static inline xylem_request_t *planned(xylem_team_t *team,
                                       const xylem_coll_args_t &args)
{
    xylem_request_t *request;

    MUST(xylem_coll_init(team, &args, &request));
    owned_requests.push_back(request);
    return request;
}

static inline xylem_team_t *team_of_its_own(const job &j)
{
    xylem_team_t *team;

    MUST(xylem_team_dup(j.world, &team));
    owned_teams.push_back(team);
    return team;
}

/* A message of `bytes` to rank `to`, and one from `from`; UINT32_MAX: none. */
static inline xylem_request_t *message(xylem_team_t *team, void *send,
                                       void *recv, size_t bytes, uint32_t to,
                                       uint32_t from)
{
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;

    args.coll = XYLEM_COLL_NEIGHBOR_ALLGATHER;
    args.send = send;
    args.recv = recv;
    args.count = bytes;
    args.type = XYLEM_BYTE;
    args.destinations = &to;
    args.sources = &from;
    args.destination_count = to != UINT32_MAX;
    args.source_count = from != UINT32_MAX;
    return planned(team, args);
}

static inline xylem_trigger_t *
start_trigger(const job &j, xylem_request_t *request, uint64_t *word)
{
    xylem_trigger_args_t args = XYLEM_TRIGGER_ARGS_INIT;
    xylem_trigger_t *trigger;

    args.action = request != NULL ? XYLEM_TRIGGER_START : XYLEM_TRIGGER_NOTHING;
    args.request = request;
    args.word = word;
    MUST(xylem_trigger_create(j.context, &args, &trigger));
    owned_triggers.push_back(trigger);
    return trigger;
}

/* In this order. */
static inline void job_end(const job &j)
{
    fflush(stdout);
    MUST(xylem_barrier(j.world));
    for (xylem_proxy_t *proxy : owned_proxies)
        MUST(xylem_proxy_destroy(proxy));
    for (xylem_trigger_t *trigger : owned_triggers)
        MUST(xylem_trigger_destroy(trigger));
    for (xylem_request_t *request : owned_requests)
        MUST(xylem_request_free(request));
    for (xylem_team_t *team : owned_teams)
        MUST(xylem_team_destroy(team));
    MUST(xylem_context_destroy(j.context));
}

enum : uint64_t { TRIES = 2000000 }; /* of device functions: about a second */
