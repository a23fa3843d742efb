/* Seats that step through a protocol over words that they share: in every order
 * of their accesses, with and without a seat that stops for ever while it
 * works, or in orders by chance. A test embeds orders_t in its own state. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "collectives/board/seats.h"

enum { ORDERS_NOBODY = 255, ORDERS_SEATS_MAX = 9 };

/* The rest of a seat that can do nothing. In real jobs it says that it sleeps,
 * looks once more, and sleeps until another seat wakes it. In the simulator it
 * rests at once, and later gets all that was set meanwhile. */
typedef enum rest { AWAKE, NEWS, ANNOUNCED, ASLEEP } rest_t;

/* The begin of a scene, which is the whole state of a test; scenes are compared
 * by their bytes. */
typedef struct orders_scene {
    uint8_t rest[ORDERS_SEATS_MAX];
    uint8_t stopped; /* a seat, or NOBODY */
    uint8_t pad[6];
} orders_scene_t;

typedef struct orders orders_t;

typedef struct orders_ops {
    /* Runs up to and with one access to a shared word. */
    void (*step)(orders_t *orders, uint32_t seat);
    int (*is_done)(const orders_t *orders, uint32_t seat);
    /* 1: the seat is between two accesses, where it may stop. */
    int (*works)(const orders_t *orders, uint32_t seat);
    /* Clears members that no longer matter, so that they make no difference. */
    void (*forget)(orders_t *orders);
    /* Checks the scene in which no seat can go on. */
    void (*check_end)(orders_t *orders);
} orders_ops_t;

struct orders {
    xyl_shm_t shm; /* first */
    const orders_ops_t *ops;
    uint32_t seats; /* that step */
    int may_stop;   /* one of them */
    int is_simulated;
    orders_scene_t *now;
    size_t scene_bytes;
    const char *mistake;
    uint32_t ranks[ORDERS_SEATS_MAX], readers[ORDERS_SEATS_MAX];
};

/* In `now` no seat rests; ranks are seats. */
void orders_init(orders_t *orders, const orders_ops_t *ops);
xyl_seats_t orders_seats(orders_t *orders, uint32_t seat);
void orders_wrong(orders_t *orders, const char *what);
/* The seat can do nothing; or it can again. */
void orders_rest(orders_t *orders, uint32_t seat);
void orders_wake(orders_t *orders, uint32_t seat);
int orders_may_step(const orders_t *orders, uint32_t seat);

/* From the scene that is; returns the number of scenes. */
uint64_t orders_every(orders_t *orders);
void orders_by_chance(orders_t *orders, uint64_t *random);
