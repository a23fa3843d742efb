/* The state in which a program finds its process. */
#ifndef XYL_BENCH_COMMON_BEGIN_H
#define XYL_BENCH_COMMON_BEGIN_H

/* Undoes what a program inherits and cannot work with: descriptors 0 to 2 that
 * are closed are opened on /dev/null, no signal is blocked, and the ends of
 * children are not ignored. Other signals that are ignored stay so, as nohup(1)
 * wants it. While there is one thread, before anything is opened. */
void program_begin(void);

#endif
