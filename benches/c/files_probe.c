/* What files cost without MPI: files_probe PATH [ROW...]
 *
 * Four processes write what the ranks of files.c write: each its 16 MiB by one call ("contiguous"),
 * or in blocks of 1 KiB, by turns with the others ("calls"). Prints "ROW: MILLISECONDS", from the
 * word to the first process until the last one is ready; checks once what was written; deletes the
 * file at the end.
 */
#include "probe.h"

#include <fcntl.h>

enum { PROCESSES = 4, BLOCK = 1024, BLOCKS = 16384, BYTES = BLOCK * BLOCKS, MOST_TIMES = 7 };

/* Which process this is, the pipes by which each gets its word, and that of the answers. */
static int number, file, words[PROCESSES][2], answers[2];
static char *buffer;
static int is_by_turns;

/* Where in the file block `i` of process `n` is. */
static off_t place_of(int n, int i)
{
    return is_by_turns ? ((off_t)i * PROCESSES + n) * BLOCK : ((off_t)n * BLOCKS + i) * BLOCK;
}

/* Each process has bytes of its own, and writes others by turns than together. */
static int byte_of(int n)
{
    return 1 + n + (is_by_turns ? PROCESSES : 0);
}

static void write_all(void)
{
    int i, count = is_by_turns ? BLOCKS : 1;
    ssize_t bytes = BYTES / count;

    for (i = 0; i < count; i++)
        if (pwrite(file, buffer + (size_t)i * BLOCK, (size_t)bytes, place_of(number, i)) != bytes)
            fail("files_probe: pwrite");
}

/* Writes at each word that comes. */
static void work(int fd)
{
    char word;

    memset(buffer, byte_of(number), BYTES);
    while (read(fd, &word, 1) == 1) {
        write_all();
        if (write(answers[1], &word, 1) != 1)
            fail("files_probe: write");
    }
}

static double time_of_all(void)
{
    double start = now();
    char word = 0;
    int i;

    for (i = 0; i < PROCESSES; i++)
        if (write(words[i][1], &word, 1) != 1)
            fail("files_probe: write");
    for (i = 0; i < PROCESSES; i++)
        if (read(answers[0], &word, 1) != 1)
            fail("files_probe: read");
    return now() - start;
}

static void check(void)
{
    char expected[BLOCK], block[BLOCK];
    int n, i;

    for (n = 0; n < PROCESSES; n++) {
        memset(expected, byte_of(n), BLOCK);
        for (i = 0; i < BLOCKS; i++)
            if (pread(file, block, BLOCK, place_of(n, i)) != BLOCK ||
                memcmp(block, expected, BLOCK) != 0) {
                fprintf(stderr, "files_probe: block %d of process %d is wrong\n", i, n);
                exit(1);
            }
    }
}

static void measure(const char *name)
{
    double seconds[MOST_TIMES], sum = 0;
    pid_t children[PROCESSES];
    int times = 0;

    for (number = 0; number < PROCESSES; number++) {
        if (pipe(words[number]) != 0)
            fail("files_probe: pipe");
        children[number] = start_child(work, words[number][0]);
    }
    time_of_all();
    do {
        seconds[times] = time_of_all();
        sum += seconds[times++];
    } while (sum < ENOUGH_S && times < MOST_TIMES);
    for (number = 0; number < PROCESSES; number++) {
        end_child(children[number]);
        close(words[number][0]);
        close(words[number][1]);
    }
    check();
    printf("%s: %.4f\n", name, median(seconds, times) * 1e3);
    fflush(stdout);
}

static int is_wanted(const char *name, int argc, char **argv)
{
    int i;

    for (i = 2; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return 1;
    return argc < 3;
}

int main(int argc, char **argv)
{
    const char *names[] = {"contiguous", "calls"};

    if (argc < 2) {
        fprintf(stderr, "files_probe: needs the path of a file that may be written and deleted\n");
        return 2;
    }
    file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0666);
    buffer = malloc(BYTES);
    if (file < 0 || buffer == NULL || pipe(answers) != 0)
        fail("files_probe: cannot begin");
    for (is_by_turns = 0; is_by_turns < 2; is_by_turns++)
        if (is_wanted(names[is_by_turns], argc, argv))
            measure(names[is_by_turns]);
    close(file);
    remove(argv[1]);
    return 0;
}
