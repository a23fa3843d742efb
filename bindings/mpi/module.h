/* A module: the binding, compiled for one MPI. */
#ifndef XMPI_MODULE_H
#define XMPI_MODULE_H

#include "bindings/mpi/front.h"

extern const xmpi_front_t *xmpi_front;

#endif
