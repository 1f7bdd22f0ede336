/* One way with WINDOW messages in flight; the program says how many before it includes this. */
#ifndef WINDOW_H
#define WINDOW_H

#include "measure.h"

static void batch(char *buffer, int bytes, int rounds)
{
    MPI_Request requests[WINDOW];
    int i, j;

    for (i = 0; i < rounds; i++) {
        for (j = 0; j < WINDOW; j++)
            if (rank == 0)
                MPI_Isend(buffer, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[j]);
            else
                MPI_Irecv(buffer, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[j]);
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    }
    if (rank == 0)
        MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
}

#endif
