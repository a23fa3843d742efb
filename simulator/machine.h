/* The simulated machine: how its cores, nodes and switches are nested, and what
 * work costs on it. Times are integers, so that equal inputs give equal results
 * on every machine.
 *
 * Machines are described by JSON files; simulator/machines/ has some, and
 * docs/machines.md says what each number means. A number is written as
 * {"value": V, "from": "where it comes from"}, or plainly.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "include/xylem.h"

typedef uint64_t sim_time_t; /* picoseconds */

#define SIM_NS    ((sim_time_t)1000)
#define SIM_US    ((sim_time_t)1000000)
#define SIM_MS    ((sim_time_t)1000000000)
#define SIM_S     ((sim_time_t)1000000000000)
#define SIM_NEVER UINT64_MAX

/* Per byte: femtoseconds, so that 200 GB/s are still a whole number. */
typedef uint64_t sim_rate_t;

static inline sim_time_t sim_rate_time(sim_rate_t fs_per_byte, size_t bytes)
{
    return (sim_time_t)bytes * fs_per_byte / 1000;
}

/* The innermost thing that two ranks share. */
typedef enum sim_level {
    SIM_LEVEL_GROUP,  /* cores with a common last-level cache */
    SIM_LEVEL_NUMA,   /* a memory */
    SIM_LEVEL_SOCKET, /* a package */
    SIM_LEVEL_NODE,   /* a machine */
    SIM_LEVEL_SWITCH, /* the first switch, or group of nodes */
    SIM_LEVEL_SYSTEM, /* nothing but the network */
    SIM_LEVEL_COUNT
} sim_level_t;

const char *sim_level_name(sim_level_t level); /* "group", "numa", ... */

/* The parts that move the bytes of a message. */
typedef enum sim_transport {
    /* The ranks' cores, through memory that they share: an eager message is
     * copied in by the sender and out by the receiver. */
    SIM_TRANSPORT_COPY,
    /* The nodes' network interfaces: the sender's core copies an eager message
     * into a buffer of the interface's, the receiver's core out of one. */
    SIM_TRANSPORT_NIC
} sim_transport_t;

/* How the bytes of a rendezvous travel once sender and receiver have met. */
typedef enum sim_rendezvous {
    SIM_RENDEZVOUS_GET,     /* COPY: one copy by the receiver's core;
                               NIC: the receiver's interface reads them */
    SIM_RENDEZVOUS_PIPELINE /* COPY: in by the sender's core and out by the
                               receiver's, in pieces, at the same time */
} sim_rendezvous_t;

/* Messages between ranks that share a level and nothing further in: LogGP
 * (Alexandrov, Ionescu, Schauser, Scheiman, SPAA 1995), o split by side. */
typedef struct sim_link {
    sim_transport_t transport;
    sim_rendezvous_t rendezvous;
    sim_time_t latency;       /* L: of a first byte */
    sim_time_t send_overhead; /* o, of the sender's core, per message */
    sim_time_t recv_overhead; /* o, of the receiver's core */
    sim_rate_t per_byte;      /* G: NIC: of one message on its way; COPY: the
                                 least for the receiver's copy, whose source
                                 lies in another core's cache */
    size_t eager_bytes_max;   /* longer messages use the rendezvous */
    /* COPY: the cost of a rendezvous for the core that moves its bytes, before
     * it begins, and its highest speed then. */
    sim_time_t rendezvous_overhead;
    sim_rate_t rendezvous_per_byte;
} sim_link_t;

typedef struct sim_machine {
    char name[64];
    char about[256];
    /* The nest; all at least 1. */
    uint32_t cores_per_group;
    uint32_t groups_per_numa;
    uint32_t numas_per_socket;
    uint32_t sockets_per_node;
    uint32_t nodes_per_switch;
    sim_link_t links[SIM_LEVEL_COUNT];
    struct {
        sim_time_t call;  /* to start an operation */
        sim_time_t event; /* to handle a completion */
        sim_time_t post;  /* to post a receive */
        sim_time_t flag;  /* to set a flag in shared memory, or to see it */
        /* When a core switches between two ranks that share it: only if ranks
         * outnumber cores. */
        sim_time_t rank_switch;
        /* How long a rank without work keeps its core before a switch. */
        sim_time_t rank_linger;
        sim_rate_t copy;   /* per byte copied within the caches */
        sim_rate_t reduce; /* per byte of the result */
        /* The same for messages beyond `cache_bytes`. */
        sim_rate_t copy_far;
        sim_rate_t reduce_far;
        size_t cache_bytes; /* SIZE_MAX: all is near */
    } core;
    struct {
        sim_rate_t memory;    /* per byte copied, all cores together; 0: no
                                 bound */
        uint32_t queue_slots; /* eager messages that wait at a rank, over COPY
                                 links; 0: no bound */
    } node;
    struct {
        sim_time_t gap;       /* g: between messages, each way */
        sim_rate_t injection; /* per byte, all ranks of a node together */
        sim_rate_t ejection;
    } nic;
} sim_machine_t;

static inline uint32_t sim_machine_cores(const sim_machine_t *machine)
{
    return machine->cores_per_group * machine->groups_per_numa *
           machine->numas_per_socket * machine->sockets_per_node;
}

/* Everything free of charge, one core per rank: for tests, and to build on.
 * Eager up to 8 KiB, copying transport at all levels. */
void sim_machine_ideal(uint32_t cores_per_node, sim_machine_t *machine_out);

/* `name` is a file, or the name of a machine that comes with xylem ("cori"). On
 * failure `error` says what is wrong, with line and column if the file is no
 * JSON, and with the key if a number is missing, unknown or out of bounds. */
xylem_status_t sim_machine_load(const char *name, sim_machine_t *machine_out,
                                char *error, size_t error_bytes);
/* Writes a file that sim_machine_load reads back as an equal machine; `from`
 * is noted with each number. 1 when written. */
int sim_machine_write(const sim_machine_t *machine, const char *from,
                      FILE *file);

/* Names of the machines that come with xylem, NULL at the end. */
const char *const *sim_machine_names(void);
