#include "collectives/board/seats.h"

void xyl_seats_mark(const xyl_seats_t *seats, _Atomic uint64_t *marks,
                    int is_marked)
{
    _Atomic uint64_t *word = &marks[seats->own / 64];
    uint64_t bit = UINT64_C(1) << (seats->own % 64);
    uint64_t seen = xyl_seats_get(seats, word);

    while (!xyl_seats_swap(seats, word, &seen,
                           is_marked ? seen | bit : seen & ~bit))
        continue; /* another seat was faster; seats are few */
}

void xyl_seats_wake_marked(const xyl_seats_t *seats,
                           const _Atomic uint64_t *marks,
                           _Atomic uint64_t *flag, uint64_t value)
{
    uint32_t base, seat, count = 0;
    uint64_t seen;

    for (base = 0; base < seats->count; base += 64)
        for (seen = xyl_seats_get(seats, &marks[base / 64]); seen != 0;
             seen &= seen - 1) {
            seat = base + (uint32_t)__builtin_ctzll(seen);
            if (seat != seats->own)
                seats->readers[count++] = seats->ranks[seat];
        }
    if (count != 0)
        seats->shm->ops->set(seats->shm, flag, value, seats->readers, count);
}
