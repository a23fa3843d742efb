/* xylem_device_task.h: the device's side of remote tasks that are kernels. A
 * part of xylem_device.h, which programs include. */
#ifndef XYLEM_DEVICE_TASK_H
#define XYLEM_DEVICE_TASK_H

#include "xylem_device_channel.h"

/* The parameter of a kernel that is a remote task (xylem_kernel_create):
 *
 *   __global__ void task(const __grid_constant__ xylem_device_task_t task) */
typedef struct xylem_device_task {
    uint32_t source, index;
    uint64_t args_bytes, payload_bytes;
    void *payload; /* in pinned memory, or where entry->place has put it */
    uint64_t unused;
    unsigned char args[XYLEM_TASK_ARGS_MAX];
} xylem_device_task_t;

/* A resident kernel stays, and its blocks run tasks without a launch for each
 * (xylem_resident_create). Block w of the kernel has box w, in memory that the
 * host reaches, too:
 *
 *   given  by the host:  number: 16 │ coming: 24 │ function: 16 │ words: 8
 *   said   by the block: number: 16 │ coming: 24 │ status: 16 │ state: 8
 *
 * A block counts its comings, and says the count before it looks at anything.
 * It takes only tasks that are given to this coming, in the order of their
 * numbers. So the next block in the place of one that has left never runs a
 * task that was given to that one; the host takes the task back, sets `given`
 * to 0, and gives the task to another block.
 *
 * The first words of a task lie in lines. The host writes all lines with each
 * task, whatever its length, and they carry the mark of its `given`. So a block
 * looks at the lines and at `given` in one journey over the bus. After it has
 * seen `given`, it reads lines again that were not there yet, and all other
 * words. */
enum {
    XYLEM_DEVICE_ABSENT_,
    XYLEM_DEVICE_PRESENT_,      /* has run task `number`, and no later one */
    XYLEM_DEVICE_END_ = 0xffff, /* a function: the block is to leave */
    XYLEM_DEVICE_LINES_ = 7,
    XYLEM_DEVICE_WORDS_ = sizeof(xylem_device_task_t) / 8
};

typedef struct xylem_device_box {
    uint64_t given;
    uint64_t unused;
    xylem_device_line_t lines[XYLEM_DEVICE_LINES_];
    uint64_t said;
    uint64_t unused_too[15];
    uint64_t rest[XYLEM_DEVICE_WORDS_ - XYLEM_DEVICE_LINES_];
    uint64_t unused_end[2];
} xylem_device_box_t;

typedef union xylem_device_copy {
    xylem_device_task_t task;
    uint64_t words[XYLEM_DEVICE_WORDS_];
} xylem_device_copy_t;

/* Filled in by xylem_resident_queue; copied into a kernel's arguments. */
typedef struct xylem_device_resident {
    size_t struct_bytes; /* sizeof(xylem_device_resident_t) */
    xylem_device_box_t *boxes;
    uint32_t workers; /* the number of boxes, and of blocks */
} xylem_device_resident_t;

/* A function that a resident kernel can run, and an entry of its table. All
 * threads of a block call it; the task's status, up to 65,535, is the result of
 * the first thread. On a device it is a __device__ function, and the table lies
 * in the device's memory. */
typedef int (*xylem_device_task_fn)(const xylem_device_task_t *task);

/* The mark that the lines of a task carry. From one task of a box to the next
 * the number or the coming grows, by less than the mark's bits can hold, so
 * marks of two such tasks differ. */
XYLEM_DEVICE_FN_ uint32_t xylem_device_mark_(uint64_t given)
{
    return (uint32_t)(given >> 24);
}

/* `given` of the next task for a block that has said this, without the last 24
 * bits. */
XYLEM_DEVICE_FN_ uint64_t xylem_device_next_(uint64_t said)
{
    return ((said >> 48) + 1) << 48 | (said >> 24 & 0xffffff) << 24;
}

/* Returns the word by which a block says that it has done `given`. */
XYLEM_DEVICE_FN_ uint64_t xylem_device_said_(uint64_t given, int status,
                                             uint64_t state)
{
    return given >> 24 << 24 | ((uint64_t)status & 0xffff) << 8 | state;
}

/* Says that a block has come. Tells number and status of the last task once
 * more, as the host may not have seen them. */
XYLEM_DEVICE_FN_ uint64_t xylem_device_come_(xylem_device_box_t *box)
{
    uint64_t said = xylem_device_load_sys_(&box->said);

    said = said >> 48 << 48 | (((said >> 24) + 1) & 0xffffff) << 24 |
           (said & 0xffff00) | XYLEM_DEVICE_PRESENT_;
    xylem_device_store_sys_(&box->said, said);
    return said;
}

#ifdef __CUDA_ARCH__
/* Called by the threads of the first warp: 1 if `what` is true in the first
 * thread. */
#define XYLEM_DEVICE_FIRST_(self, what)                                        \
    __any_sync(XYLEM_DEVICE_THREADS_ < 32 ? (1u << XYLEM_DEVICE_THREADS_) - 1  \
                                          : 0xffffffffu,                       \
               (self) == 0 && (what))
#else
#define XYLEM_DEVICE_FIRST_(self, what) (what)
#endif

/* Waits for the next task. In the first thread *given becomes the task's
 * `given`; 0: none came within `tries` + 1 looks. *line becomes line `self`, as
 * thread `self` has seen it, which may have been too early. */
XYLEM_DEVICE_FN_ void xylem_device_given_(const xylem_device_box_t *box,
                                          uint64_t next, uint64_t tries,
                                          uint32_t self, uint64_t *given,
                                          xylem_device_line_t *line)
{
    int is_there;

    do {
        /* Before the load below, whose result the thread waits for. */
        if (self < XYLEM_DEVICE_LINES_)
            *line = xylem_device_see_line_(&box->lines[self]);
        /* Partner: the host's release. */
        if (self == 0)
            *given = xylem_device_load_sys_(&box->given);
        is_there = XYLEM_DEVICE_FIRST_(self, (*given ^ next) >> 24 == 0 &&
                                                 (*given & 0xffffff) != 0);
        if (is_there)
            return;
        xylem_device_rest_();
    } while (tries-- != 0);
    *given = 0;
}

/* Word `i` of a task. `line` is the word's line, if it was looked at before. */
XYLEM_DEVICE_FN_ uint64_t xylem_device_word_(const xylem_device_box_t *box,
                                             uint64_t given, uint32_t i,
                                             xylem_device_line_t line)
{
    uint32_t mark = xylem_device_mark_(given);

    if (i >= XYLEM_DEVICE_LINES_)
        return box->rest[i - XYLEM_DEVICE_LINES_];
    if (line.low >> 32 != mark || line.high >> 32 != mark)
        line = xylem_device_see_line_(&box->lines[i]);
    return line.high << 32 | (line.low & 0xffffffff);
}

/* Called by all threads of block `worker` of a resident kernel, or by a thread
 * of the host: runs tasks by `functions`[count], until xylem_resident_end asks
 * the block to leave (XYLEM_OK), or `tries` + 1 looks in a row have found no
 * task (XYLEM_ERR_TIMED_OUT). After the latter the call may be repeated, by the
 * same kernel or another; tasks wait meanwhile. One block or thread at a time
 * may serve as a worker. */
XYLEM_DEVICE_FN_ int xylem_device_serve(const xylem_device_resident_t *resident,
                                        uint32_t worker,
                                        const xylem_device_task_fn *functions,
                                        uint32_t count, uint64_t tries)
{
    xylem_device_box_t *box = &resident->boxes[worker];
    const xylem_device_line_t none = {0, 0};
    xylem_device_line_t line = none;
    uint64_t said = 0, given = 0;
    uint32_t self = XYLEM_DEVICE_SELF_, threads = XYLEM_DEVICE_THREADS_, i;
    int status;
    XYLEM_DEVICE_SHARED_ uint64_t shared_given;
    XYLEM_DEVICE_SHARED_ xylem_device_copy_t copy;

    if (self == 0)
        said = xylem_device_come_(box);
    for (;;) {
        if (self < 32)
            xylem_device_given_(box, xylem_device_next_(said), tries, self,
                                &given, &line);
        if (self == 0)
            shared_given = given;
        XYLEM_DEVICE_MEET_();
        given = shared_given;
        if (given == 0 || (given >> 8 & 0xffff) == XYLEM_DEVICE_END_) {
            XYLEM_DEVICE_MEET_(); /* all have read it: the call may repeat */
            if (self == 0)
                xylem_device_store_sys_(
                    &box->said, given == 0 ? said & ~(uint64_t)0xff
                                           : xylem_device_said_(given, 0, 0));
            return given == 0 ? XYLEM_ERR_TIMED_OUT : XYLEM_OK;
        }
        for (i = self; i < (given & 0xff); i += threads)
            copy.words[i] =
                xylem_device_word_(box, given, i, i == self ? line : none);
        XYLEM_DEVICE_MEET_();
        status = (given >> 8 & 0xffff) < count
                     ? functions[given >> 8 & 0xffff](&copy.task)
                     : (int)XYLEM_ERR_INVALID_ARG;
        XYLEM_DEVICE_MEET_();
        if (self == 0) {
            said = xylem_device_said_(given, status, XYLEM_DEVICE_PRESENT_);
            xylem_device_store_sys_(&box->said, said);
        }
    }
}

#endif
