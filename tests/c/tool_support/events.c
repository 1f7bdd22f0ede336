/* ranks: 2; transports: one; MPI 5.0 15.3.8 */
/* Events through MPI_T: names and elements, callbacks in order, lost events, wrong handles. */
#include <stddef.h>

#include "../check.h"

#define MOST 64
#define MANY 6000

enum { POSTED, MATCHED, UNEXPECTED, BEGIN, END, TYPES };

static const char *const names[TYPES] = {"message_posted", "message_matched",
                                         "message_unexpected", "collective_begin",
                                         "collective_end"};

struct message {
    int source, tag;
    unsigned long long bytes, communicator;
};

struct collective {
    int operation;
    unsigned long long communicator;
};

struct seen {
    int type;
    MPI_Count time;
    struct message message;
    struct collective collective;
};

static MPI_T_event_registration handles[TYPES];
static struct seen seen[MOST];
static int types[TYPES] = {POSTED, MATCHED, UNEXPECTED, BEGIN, END};
static int number, freed;
static MPI_Count lost, total;

static void on_event(MPI_T_event_instance event, MPI_T_event_registration registration,
                     MPI_T_cb_safety safety, void *data)
{
    int type = *(int *)data, source = -1, value = 0, mine = -1;
    struct seen *it = &seen[number % MOST];

    total++;
    number++;
    it->type = type;
    CHECK(registration == handles[type], "the handle of %s", names[type]);
    CHECK_INT(safety, MPI_T_CB_REQUIRE_NONE);
    CHECK_INT(MPI_T_event_get_source(event, &source), MPI_SUCCESS);
    CHECK_INT(source, 0);
    CHECK_INT(MPI_T_event_get_timestamp(event, &it->time), MPI_SUCCESS);
    if (type <= UNEXPECTED) {
        CHECK_INT(MPI_T_event_copy(event, &it->message), MPI_SUCCESS);
        CHECK_INT(MPI_T_event_read(event, 1, &value), MPI_SUCCESS);
        CHECK_INT(value, it->message.tag);
        CHECK_INT(MPI_T_event_read(event, 4, &value), MPI_T_ERR_INVALID_INDEX);
    } else {
        CHECK_INT(MPI_T_event_copy(event, &it->collective), MPI_SUCCESS);
        CHECK_INT(MPI_T_event_read(event, 0, &value), MPI_SUCCESS);
        CHECK_INT(value, it->collective.operation);
        CHECK_INT(MPI_T_event_read(event, -1, &value), MPI_T_ERR_INVALID_INDEX);
    }
    /* No more is required of a callback than of any function: it may call MPI. */
    CHECK_INT(MPI_Comm_rank(MPI_COMM_WORLD, &mine), MPI_SUCCESS);
    CHECK_INT(mine, rank);
}

static void on_loss(MPI_Count count, MPI_T_event_registration registration, int source,
                    MPI_T_cb_safety safety, void *data)
{
    CHECK(registration == handles[POSTED], "the handle of %s", names[POSTED]);
    CHECK_INT(source, 0);
    CHECK_INT(safety, MPI_T_CB_REQUIRE_NONE);
    CHECK(data == &types[POSTED], "the data of the callback");
    lost += count;
}

static void on_free(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    (void)safety;
    CHECK(registration == *(MPI_T_event_registration *)data, "the handle that was freed");
    freed++;
}

static void watch(int type)
{
    int index = -1;

    CHECK_INT(MPI_T_event_get_index(names[type], &index), MPI_SUCCESS);
    CHECK_INT(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &handles[type]), MPI_SUCCESS);
    CHECK_INT(MPI_T_event_register_callback(handles[type], MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL,
                                            &types[type], on_event),
              MPI_SUCCESS);
}

static void unwatch(int type)
{
    int before = freed;

    CHECK_INT(MPI_T_event_handle_free(handles[type], &handles[type], on_free), MPI_SUCCESS);
    CHECK_INT(freed, before + 1);
}

static void check_types(void)
{
    int i, count = -1, index;

    CHECK_INT(MPI_T_event_get_num(&count), MPI_SUCCESS);
    CHECK_INT(count, TYPES);
    for (i = 0; i < TYPES; i++) {
        char name[100], text[800];
        int name_len = sizeof name, text_len = sizeof text, verbosity, bind, elements = 2;
        MPI_Datatype datatypes[4] = {0, 0, 0, 0};
        MPI_Aint displacements[4] = {-1, -1, -1, -1};
        MPI_T_enum none;

        CHECK_INT(MPI_T_event_get_index(names[i], &index), MPI_SUCCESS);
        CHECK_INT(MPI_T_event_get_info(index, name, &name_len, &verbosity, datatypes,
                                       displacements, &elements, &none, NULL, text, &text_len,
                                       &bind),
                  MPI_SUCCESS);
        CHECK(strcmp(name, names[i]) == 0, "the name %s, not %s", names[i], name);
        CHECK_INT(text_len, strlen(text) + 1);
        CHECK_INT(elements, i <= UNEXPECTED ? 4 : 2);
        CHECK(datatypes[0] == MPI_INT && displacements[0] == 0, "an int first");
        CHECK_INT(displacements[1], i <= UNEXPECTED ? offsetof(struct message, tag)
                                                    : offsetof(struct collective, communicator));
        CHECK(displacements[2] == -1, "no more than there is room for");
        CHECK_INT(bind, MPI_T_BIND_NO_OBJECT);
        CHECK_INT(MPI_T_event_get_info(index, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                       NULL, NULL),
                  MPI_SUCCESS);
    }
    CHECK_INT(MPI_T_category_get_index("events", &index), MPI_SUCCESS);
    CHECK_INT(MPI_T_category_get_num_events(index, &count), MPI_SUCCESS);
    CHECK_INT(count, TYPES);
}

static void check_source(void)
{
    MPI_T_source_order order;
    MPI_Count ticks, most, first, second;
    int count = -1, length = 100;
    char name[100];

    CHECK_INT(MPI_T_source_get_num(&count), MPI_SUCCESS);
    CHECK_INT(count, 1);
    CHECK_INT(MPI_T_source_get_info(0, name, &length, NULL, NULL, &order, &ticks, &most, NULL),
              MPI_SUCCESS);
    CHECK_INT(order, MPI_T_SOURCE_ORDERED);
    CHECK_INT(ticks, 1000000000);
    CHECK_INT(MPI_T_source_get_timestamp(0, &first), MPI_SUCCESS);
    CHECK_INT(MPI_T_source_get_timestamp(0, &second), MPI_SUCCESS);
    CHECK(first <= second && second <= most, "a clock that goes on");
    CHECK_INT(MPI_T_source_get_timestamp(1, &first), MPI_T_ERR_INVALID_INDEX);
    CHECK_INT(MPI_T_source_get_info(-1, name, &length, NULL, NULL, NULL, NULL, NULL, NULL),
              MPI_T_ERR_INVALID_INDEX);
}

static void check_errors(void)
{
    MPI_T_event_registration handle, wrong = (MPI_T_event_registration)0x1234;
    MPI_T_event_instance instance = (MPI_T_event_instance)0x1234;
    MPI_Count time;
    int index;

    CHECK_INT(MPI_T_event_get_index("no such event", &index), MPI_T_ERR_INVALID_NAME);
    CHECK_INT(MPI_T_event_handle_alloc(TYPES, NULL, MPI_INFO_NULL, &handle),
              MPI_T_ERR_INVALID_INDEX);
    CHECK_INT(MPI_T_event_register_callback(wrong, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL,
                                            on_event),
              MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_event_set_dropped_handler(wrong, on_loss), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_event_get_timestamp(instance, &time), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_event_copy(instance, &time), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &handle), MPI_SUCCESS);
    CHECK_INT(MPI_T_event_register_callback(handle, 7, MPI_INFO_NULL, NULL, on_event),
              MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_event_handle_free(handle, NULL, NULL), MPI_SUCCESS);
    CHECK_INT(MPI_T_event_handle_free(handle, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
}

/* The next event is of this type; returns its message. */
static struct message *next(int *at, int type)
{
    CHECK(*at < number, "an event %s", names[type]);
    CHECK(seen[*at].type == type, "%s, not %s, as event %d", names[type], names[seen[*at].type],
          *at);
    CHECK(*at == 0 || seen[*at - 1].time <= seen[*at].time, "events in the order of their times");
    return &seen[(*at)++].message;
}

/* A receive before its message, then a message before its receive. */
static void check_messages(void)
{
    char small[10] = "", large[100] = "";
    struct message *it;
    MPI_Request request;
    MPI_Status status;
    int at = 0, type;

    for (type = POSTED; type <= UNEXPECTED; type++)
        watch(type);
    if (rank == 0) {
        MPI_Irecv(large, sizeof large, MPI_CHAR, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &request);
        CHECK_INT(number, 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Send(small, sizeof small, MPI_CHAR, 0, 7, MPI_COMM_WORLD);
        MPI_Send(small, 5, MPI_CHAR, 0, 8, MPI_COMM_WORLD);
        CHECK_INT(number, 0);
    } else {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Probe(1, 8, MPI_COMM_WORLD, &status);
        MPI_Recv(small, sizeof small, MPI_CHAR, 1, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        it = next(&at, POSTED);
        CHECK(it->source == MPI_ANY_SOURCE && it->tag == 7 && it->bytes == sizeof large,
              "the receive with tag 7");
        it = next(&at, MATCHED);
        CHECK(it->source == 1 && it->tag == 7 && it->bytes == sizeof small, "message 7");
        it = next(&at, UNEXPECTED);
        CHECK(it->source == 1 && it->tag == 8 && it->bytes == 5, "message 8");
        it = next(&at, POSTED);
        CHECK(it->source == 1 && it->tag == MPI_ANY_TAG && it->bytes == sizeof small,
              "the receive of any tag");
        it = next(&at, MATCHED);
        CHECK(it->source == 1 && it->tag == 8 && it->bytes == 5, "message 8");
        CHECK_INT(number, at);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (type = POSTED; type <= UNEXPECTED; type++)
        unwatch(type);
    number = 0;
    MPI_Sendrecv(small, 1, MPI_CHAR, 1 - rank, 1, large, 1, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK_INT(number, 0);
}

static void check_collectives(void)
{
    int i, in = 1, out = 0, at = 0;
    MPI_Comm twin;

    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    watch(BEGIN);
    watch(END);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, twin);
    CHECK_INT(out, 2);
    CHECK_INT(number, 4);
    for (i = 0; i < 2; i++) {
        next(&at, BEGIN);
        next(&at, END);
        CHECK_INT(seen[at - 1].collective.operation, seen[at - 2].collective.operation);
        CHECK_INT(seen[at - 1].collective.communicator, seen[at - 2].collective.communicator);
    }
    CHECK(seen[0].collective.operation != seen[2].collective.operation, "two operations");
    CHECK(seen[0].collective.communicator != seen[2].collective.communicator, "two communicators");
    /* Without a callback nothing is told. */
    CHECK_INT(MPI_T_event_register_callback(handles[BEGIN], MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL,
                                            NULL, NULL),
              MPI_SUCCESS);
    MPI_Barrier(twin);
    CHECK_INT(number, 5);
    unwatch(BEGIN);
    unwatch(END);
    MPI_Barrier(twin);
    CHECK_INT(number, 5);
    MPI_Comm_free(&twin);
    number = 0;
}

/* Collectives beside the program begin with their start, and end at the latest in the wait. */
static void check_collectives_beside(void)
{
    int i, in = 1, out = 0, at = 0;
    MPI_Request requests[2];

    MPI_Allreduce_init(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    watch(BEGIN);
    watch(END);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    CHECK(number >= 1, "it has begun");
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    CHECK_INT(number, 2);
    MPI_Start(&requests[1]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    CHECK_INT(out, 2);
    CHECK_INT(number, 4);
    for (i = 0; i < 2; i++) {
        next(&at, BEGIN);
        next(&at, END);
        CHECK_INT(seen[at - 1].collective.operation, seen[at - 2].collective.operation);
        CHECK_INT(seen[at - 1].collective.communicator, seen[at - 2].collective.communicator);
    }
    CHECK(seen[0].collective.operation != seen[2].collective.operation, "two operations");
    MPI_Request_free(&requests[1]);
    unwatch(BEGIN);
    unwatch(END);
    number = 0;
}

/* One call starts more receives than events can wait: the rest is told as lost. */
static void check_losses(void)
{
    static MPI_Request requests[MANY];
    int i;

    for (i = 0; i < MANY; i++)
        MPI_Recv_init(NULL, 0, MPI_CHAR, 1 - rank, 3, MPI_COMM_WORLD, &requests[i]);
    watch(POSTED);
    CHECK_INT(MPI_T_event_set_dropped_handler(handles[POSTED], on_loss), MPI_SUCCESS);
    total = 0;
    MPI_Startall(MANY, requests);
    CHECK(lost > 0, "lost events");
    CHECK_INT(total + lost, MANY);
    unwatch(POSTED);
    for (i = 0; i < MANY; i++) {
        MPI_Cancel(&requests[i]);
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        MPI_Request_free(&requests[i]);
    }
}

int main(int argc, char **argv)
{
    int provided;

    CHECK_INT(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    check_types();
    /* A handle may be older than MPI_Init. */
    watch(END);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_INT(number, 1);
    unwatch(END);
    number = 0;
    check_source();
    check_errors();
    check_messages();
    check_collectives();
    check_collectives_beside();
    check_losses();
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
    MPI_Finalize();
    return 0;
}
