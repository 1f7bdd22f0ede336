/* ranks: 1, 2, 3; transports: one; MPI 5.0 12.2.1, 12.2.6 */
/* Programs that take the memory of a window away, or change it, before they free the window: what
 * they have there afterwards stays as it is. */
#include "in_place.h"
#include <malloc.h>

enum { PAGES = 8, MIB = 1 << 20 };

/* Maps memory at an address, with contents that are to survive. */
static void map_at(char *place, size_t bytes)
{
    void *got = mmap(place, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

    CHECK(got == place, "memory at this place");
    CHECK(place[0] == 0 && memcmp(place, place + 1, bytes - 1) == 0, "new memory to be zero");
    fill(place, bytes, LAST);
}

static int is_mapped(char *page)
{
    unsigned char state;

    return mincore(page, 1, &state) == 0;
}

/* A window over pages of its own, which all peers have seen. */
static char *make(MPI_Win *win, size_t at, size_t bytes)
{
    char *memory = map(PAGES * page_bytes, MAP_PRIVATE);

    fill(memory, PAGES * page_bytes, STORED);
    fill(memory + at, bytes, FIRST + rank);
    *win = window_of(MPI_COMM_WORLD, memory + at, bytes);
    see(*win, 0, bytes, FIRST);
    MPI_Barrier(MPI_COMM_WORLD);
    return memory;
}

/* The pages go, and others come to their place; or they come on top of them at once. */
static void other_pages(int is_at_once)
{
    const size_t bytes = PAGES * page_bytes;
    MPI_Win win;
    char *memory = make(&win, page_bytes + 100, 3 * page_bytes);

    if (!is_at_once)
        CHECK_INT(munmap(memory, bytes), 0);
    map_at(memory, bytes);
    OK(MPI_Win_free(&win));
    CHECK_FILLED(memory, bytes, LAST);
    live(memory + page_bytes + 50, page_bytes, 50, 50);
    CHECK_INT(munmap(memory, bytes), 0);
}

/* One page of a window is another one now. */
static void one_other_page(void)
{
    MPI_Win win;
    char *memory = make(&win, page_bytes, 3 * page_bytes);

    map_at(memory + 2 * page_bytes, page_bytes);
    OK(MPI_Win_free(&win));
    CHECK_FILLED(memory, page_bytes, STORED);
    CHECK_FILLED(memory + page_bytes, page_bytes, FIRST + rank);
    CHECK_FILLED(memory + 2 * page_bytes, page_bytes, LAST);
    CHECK_INT(munmap(memory, PAGES * page_bytes), 0);
}

/* What is gone does not come back. */
static void no_pages(size_t first, size_t pages)
{
    MPI_Win win;
    char *memory = make(&win, page_bytes + 100, 3 * page_bytes);
    size_t i;

    CHECK_INT(munmap(memory + first * page_bytes, pages * page_bytes), 0);
    OK(MPI_Win_free(&win));
    for (i = 0; i < PAGES; i++)
        CHECK_INT(is_mapped(memory + i * page_bytes), i < first || i >= first + pages);
    CHECK_INT(munmap(memory, PAGES * page_bytes), 0);
}

/* A window begins and ends on pages of the process, between which nothing is. */
static void hole(void)
{
    char *memory = map(PAGES * page_bytes, MAP_PRIVATE);
    MPI_Win win;

    fill(memory, page_bytes, FIRST + rank);
    CHECK_INT(munmap(memory + page_bytes, 2 * page_bytes), 0);
    win = window_of(MPI_COMM_WORLD, memory, PAGES * page_bytes);
    see(win, 0, page_bytes, FIRST);
    take(win, memory, (PAGES - 1) * page_bytes, page_bytes, PUT);
    OK(MPI_Win_free(&win));
    CHECK_FILLED(memory, page_bytes, FIRST + rank);
    CHECK_FILLED(memory + (PAGES - 1) * page_bytes, page_bytes, PUT + from);
    CHECK(!is_mapped(memory + page_bytes), "a hole to be left");
    CHECK_INT(munmap(memory, PAGES * page_bytes), 0);
}

/* A large block of malloc goes back to the system, and another one comes, often to its place. */
static void other_block(void)
{
    enum { TIMES = 10 };
    int i;

    CHECK_INT(mallopt(M_MMAP_THRESHOLD, 128 << 10), 1);
    for (i = 0; i < TIMES; i++) {
        char *block = malloc(MIB), *other;
        MPI_Win win;

        fill(block, MIB, FIRST + rank);
        win = window_of(MPI_COMM_WORLD, block + i * 1000, MIB - i * 2000);
        MPI_Barrier(MPI_COMM_WORLD);
        free(block);
        other = i % 2 ? calloc(MIB, 1) : malloc(MIB);
        CHECK(i % 2 == 0 || (other[0] == 0 && memcmp(other, other + 1, MIB - 1) == 0), "zeros");
        fill(other, MIB, LAST);
        OK(MPI_Win_free(&win));
        CHECK_FILLED(other, MIB, LAST);
        free(other);
    }
}

/* A small block goes back to malloc and belongs to somebody else; no page of it goes. */
static void other_object(void)
{
    char *object = malloc(200), *other;
    MPI_Win win;

    fill(object, 200, FIRST + rank);
    win = window_of(MPI_COMM_WORLD, object, 200);
    MPI_Barrier(MPI_COMM_WORLD);
    free(object);
    other = malloc(200);
    fill(other, 200, LAST);
    OK(MPI_Win_free(&win));
    CHECK_FILLED(other, 200, LAST);
    free(other);
}

/* A block is moved by realloc while it is a window; it has its contents then. */
static void moved_block(void)
{
    char *block = malloc(MIB), *room;
    MPI_Win win;

    fill(block, MIB, FIRST + rank);
    win = window_of(MPI_COMM_WORLD, block + 100, MIB - 200);
    MPI_Barrier(MPI_COMM_WORLD);
    block = realloc(block, 10 * MIB);
    CHECK_FILLED(block, MIB, FIRST + rank);
    room = malloc(MIB);
    fill(room, MIB, STORED);
    fill(block, 10 * MIB, LAST);
    OK(MPI_Win_free(&win));
    CHECK_FILLED(block, 10 * MIB, LAST);
    CHECK_FILLED(room, MIB, STORED);
    free(room);
    free(block);
}

/* What may be done with a page, from the list of the system: "r--p" for example. */
static void check_rights(char *page, const char *wanted)
{
    FILE *list = fopen("/proc/self/maps", "r");
    unsigned long start, end, at = (unsigned long)(uintptr_t)page;
    char line[4200], rights[5] = "none";
    int is_found = 0;

    CHECK(list != NULL, "a list of mappings");
    while (!is_found && fgets(line, sizeof line, list) != NULL)
        if (sscanf(line, "%lx-%lx %4s", &start, &end, rights) == 3)
            is_found = start <= at && at < end;
    fclose(list);
    CHECK(is_found && strcmp(rights, wanted) == 0, "page with %s, not %s", wanted, rights);
}

/* Rights that were taken from a page in the life of its window are not given back. No misuse. */
static void protected_pages(void)
{
    MPI_Win win;
    char *memory = make(&win, page_bytes, 4 * page_bytes);

    CHECK_INT(mprotect(memory + 2 * page_bytes, page_bytes, PROT_READ), 0);
    CHECK_INT(mprotect(memory + 3 * page_bytes, page_bytes, PROT_NONE), 0);
    see(win, 0, 2 * page_bytes, FIRST);
    OK(MPI_Win_free(&win));
    check_rights(memory + page_bytes, "rw-p");
    check_rights(memory + 2 * page_bytes, "r--p");
    check_rights(memory + 3 * page_bytes, "---p");
    check_rights(memory + 5 * page_bytes, "rw-p");
    CHECK_INT(mprotect(memory, PAGES * page_bytes, PROT_READ | PROT_WRITE), 0);
    CHECK_FILLED(memory + page_bytes, 4 * page_bytes, FIRST + rank);
    CHECK_INT(munmap(memory, PAGES * page_bytes), 0);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    find_peers();
    other_pages(0);
    other_pages(1);
    one_other_page();
    no_pages(0, PAGES);
    no_pages(1, 1);
    no_pages(2, 1);
    no_pages(4, 4);
    hole();
    other_block();
    other_object();
    moved_block();
    protected_pages();
    forget_peers();
    return end();
}
