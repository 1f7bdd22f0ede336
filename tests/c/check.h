/* The few words every test program uses: begin, CHECK, fill, end.
 *
 * A program checks itself. The first thing that is not as expected is printed in one line
 * (file, line, rank, what was expected) and ends the job with a non-zero code.
 */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static inline void check_failed(const char *file, int line, const char *format, ...)
{
    char text[400];
    const char *name = strrchr(file, '/');
    va_list arguments;
    int started = 0, over = 0;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s:%d: rank %d of %d: expected %s\n", name ? name + 1 : file, line, rank,
            size, text);
    fflush(stderr);
    MPI_Initialized(&started);
    MPI_Finalized(&over);
    if (started && !over)
        MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

/* CHECK(condition, "printf-like text of what was expected", ...) */
#define CHECK(condition, ...)                              \
    do {                                                   \
        if (!(condition))                                  \
            check_failed(__FILE__, __LINE__, __VA_ARGS__); \
    } while (0)

/* Compares two integers of any width. */
#define CHECK_INT(got, wanted)                                                           \
    do {                                                                                 \
        long long got_ = (long long)(got), wanted_ = (long long)(wanted);                \
        CHECK(got_ == wanted_, "%s to be %lld (%s), not %lld", #got, wanted_, #wanted,   \
              got_);                                                                     \
    } while (0)

/* The class of the error that a call returned (MPI_SUCCESS has class MPI_SUCCESS). */
static inline int class_of(int code)
{
    int class = MPI_SUCCESS;

    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &class);
    return class;
}

static inline void begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static inline int end(void)
{
    MPI_Finalize();
    return 0;
}

static inline unsigned char pattern(size_t i, unsigned seed)
{
    return (unsigned char)(i * 131 + (i >> 8) * 7 + (i >> 16) * 3 + seed * 29 + 1);
}

static inline void fill(void *buffer, size_t bytes, unsigned seed)
{
    unsigned char *byte = buffer;
    size_t i;

    for (i = 0; i < bytes; i++)
        byte[i] = pattern(i, seed);
}

#define CHECK_FILLED(buffer, bytes, seed) check_filled(__FILE__, __LINE__, buffer, bytes, seed)

static inline void check_filled(const char *file, int line, const void *buffer, size_t bytes,
                                unsigned seed)
{
    const unsigned char *byte = buffer;
    size_t i;

    for (i = 0; i < bytes; i++)
        if (byte[i] != pattern(i, seed))
            check_failed(file, line, "byte %lu of %lu to be 0x%02x (seed %u), not 0x%02x",
                         (unsigned long)i, (unsigned long)bytes, pattern(i, seed), seed,
                         byte[i]);
}

/* Checks the three public fields of a status and its length in bytes. */
#define CHECK_STATUS(status, source, tag, bytes)                  \
    do {                                                          \
        int count_;                                               \
        CHECK_INT((status).MPI_SOURCE, source);                   \
        CHECK_INT((status).MPI_TAG, tag);                         \
        MPI_Get_count(&(status), MPI_BYTE, &count_);              \
        CHECK_INT(count_, bytes);                                 \
    } while (0)

/* An empty status (MPI 5.0, 3.7.3): what a null or inactive request completes with. */
#define CHECK_EMPTY_STATUS(status)                                \
    do {                                                          \
        int cancelled_;                                           \
        CHECK_STATUS(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);     \
        MPI_Test_cancelled(&(status), &cancelled_);               \
        CHECK_INT(cancelled_, 0);                                 \
    } while (0)

/* A small generator, the same on every rank: seeds are part of the program. */
static inline unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

#endif
