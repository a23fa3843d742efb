#include "tests/support/turns.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "simulator/random.h"

#define NOBODY UINT32_MAX

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t
    is_next[TURNS_ACTORS_MAX]; /* an actor waits for its own */
static void (*acts)(uint32_t self);
static uint32_t count, turn;
static uint32_t present; /* bits */
static uint64_t chance;
static _Thread_local uint32_t own = NOBODY;

static void hand_over(void)
{
    do
        turn = random_below(&chance, count);
    while ((present >> turn & 1) == 0);
    if (turn != own)
        pthread_cond_signal(&is_next[turn]);
}

static void await_turn(void)
{
    while (turn != own)
        pthread_cond_wait(&is_next[own], &lock);
}

int turns_pass(void)
{
    if (own != NOBODY) {
        hand_over();
        await_turn();
    }
    return 0;
}

uint32_t turns_below(uint32_t limit)
{
    return random_below(&chance, limit);
}

static void *actor(void *arg)
{
    own = (uint32_t)(uintptr_t)arg;
    pthread_mutex_lock(&lock);
    await_turn();
    acts(own);
    present &= ~(UINT32_C(1) << own);
    if (present != 0)
        hand_over();
    pthread_mutex_unlock(&lock);
    return NULL;
}

void turns_run(uint32_t actors, uint64_t seed, void (*act)(uint32_t self))
{
    pthread_t threads[TURNS_ACTORS_MAX];
    uint32_t i;

    assert(actors != 0 && actors <= TURNS_ACTORS_MAX);
    acts = act;
    count = actors;
    chance = random_mix(seed);
    turn = random_below(&chance, actors);
    present = UINT32_MAX >> (TURNS_ACTORS_MAX - actors);
    for (i = 0; i < actors; i++)
        pthread_cond_init(&is_next[i], NULL);
    for (i = 0; i < actors; i++)
        if (pthread_create(&threads[i], NULL, actor, (void *)(uintptr_t)i) != 0)
            abort();
    for (i = 0; i < actors; i++)
        pthread_join(threads[i], NULL);
    for (i = 0; i < actors; i++)
        pthread_cond_destroy(&is_next[i]);
}
