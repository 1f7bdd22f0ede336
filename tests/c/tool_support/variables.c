/* ranks: 1, 2, 4; transports: one; MPI 5.0 15.3 */
/* Counters and settings through MPI_T: before MPI_Init, around a ping-pong, and after the end. */
#define _POSIX_C_SOURCE 200112L /* setenv */
#include "../check.h"

#define ROUNDS 50
#define BYTES 4000

typedef unsigned long long number;

static MPI_T_pvar_session session;

static int index_of(const char *name, int class)
{
    int index = -1;

    CHECK_INT(MPI_T_pvar_get_index(name, class, &index), MPI_SUCCESS);
    return index;
}

static MPI_T_pvar_handle handle_of(const char *name, int class)
{
    MPI_T_pvar_handle handle;
    int count = 0;

    CHECK_INT(MPI_T_pvar_handle_alloc(session, index_of(name, class), NULL, &handle, &count),
              MPI_SUCCESS);
    CHECK_INT(count, 1);
    return handle;
}

static number value_of(MPI_T_pvar_handle handle)
{
    number value = 0;

    CHECK_INT(MPI_T_pvar_read(session, handle, &value), MPI_SUCCESS);
    return value;
}

/* Each rank with its neighbour; the last of an odd number with itself. */
static void ping_pong(void)
{
    static char out[BYTES], in[BYTES];
    int i, other = rank ^ 1;

    if (other >= size)
        other = rank;
    for (i = 0; i < ROUNDS; i++)
        MPI_Sendrecv(out, BYTES, MPI_BYTE, other, 1, in, BYTES, MPI_BYTE, other, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void check_names(void)
{
    int count, i, index, class, length, verbosity, bind, readonly, continuous, atomic;
    char name[200], text[400], cut[6];
    MPI_Datatype type;
    MPI_T_enum none;

    CHECK_INT(MPI_T_pvar_get_num(&count), MPI_SUCCESS);
    CHECK(count > 30, "some dozens of counters, not %d", count);
    for (i = 0; i < count; i++) {
        int name_len = sizeof name, text_len = sizeof text;

        CHECK_INT(MPI_T_pvar_get_info(i, name, &name_len, &verbosity, &class, &type, &none, text,
                                      &text_len, &bind, &readonly, &continuous, &atomic),
                  MPI_SUCCESS);
        CHECK_INT(name_len, strlen(name) + 1);
        CHECK_INT(text_len, strlen(text) + 1);
        CHECK(type == MPI_UNSIGNED_LONG_LONG && none == MPI_T_ENUM_NULL, "a number");
        CHECK_INT(bind, MPI_T_BIND_NO_OBJECT);
        CHECK_INT(continuous, class == MPI_T_PVAR_CLASS_HIGHWATERMARK);
        CHECK_INT(index_of(name, class), i);
    }
    /* What the caller does not want may be null; what does not fit is cut. */
    length = sizeof cut;
    CHECK_INT(MPI_T_pvar_get_info(0, cut, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                  NULL, NULL),
              MPI_SUCCESS);
    CHECK_INT(strlen(cut), sizeof cut - 1);
    CHECK(length > (int)sizeof cut, "the length of the whole name, not %d", length);
    i = length;
    length = 0;
    CHECK_INT(MPI_T_pvar_get_info(0, NULL, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                  NULL, NULL),
              MPI_SUCCESS);
    CHECK_INT(length, i);

    CHECK_INT(MPI_T_pvar_get_index("no such thing", MPI_T_PVAR_CLASS_COUNTER, &index),
              MPI_T_ERR_INVALID_NAME);
    CHECK_INT(MPI_T_pvar_get_index("mpi_messages_sent", MPI_T_PVAR_CLASS_LEVEL, &index),
              MPI_T_ERR_INVALID_NAME);
    CHECK_INT(MPI_T_pvar_get_index(NULL, MPI_T_PVAR_CLASS_COUNTER, &index), MPI_T_ERR_INVALID);
    for (i = -1; i <= count; i += count + 1)
        CHECK_INT(MPI_T_pvar_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                      NULL, NULL, NULL),
                  MPI_T_ERR_INVALID_INDEX);
}

static void check_settings(const char *expected)
{
    int index, count, class_index, bind, scope, num;
    char text[300];
    number value = 0;
    MPI_T_cvar_handle handle, copy;
    MPI_Datatype type;

    CHECK_INT(MPI_T_cvar_get_num(&num), MPI_SUCCESS);
    CHECK_INT(MPI_T_cvar_get_index("MPILITE_EAGER_COPY_BYTES", &index), MPI_SUCCESS);
    CHECK_INT(MPI_T_cvar_get_info(index, NULL, NULL, NULL, &type, NULL, NULL, NULL, &bind,
                                  &scope),
              MPI_SUCCESS);
    CHECK(type == MPI_UNSIGNED_LONG_LONG, "a number");
    CHECK_INT(scope, MPI_T_SCOPE_READONLY);
    CHECK_INT(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count), MPI_SUCCESS);
    CHECK_INT(count, 1);
    CHECK_INT(MPI_T_cvar_read(handle, &value), MPI_SUCCESS);
    CHECK_INT(value, 12345);
    CHECK_INT(MPI_T_cvar_write(handle, &value), MPI_T_ERR_CVAR_SET_NEVER);
    copy = handle;
    CHECK_INT(MPI_T_cvar_handle_free(&handle), MPI_SUCCESS);
    CHECK(handle == MPI_T_CVAR_HANDLE_NULL, "the null handle");
    CHECK_INT(MPI_T_cvar_read(copy, &value), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_cvar_read(handle, &value), MPI_T_ERR_INVALID_HANDLE);

    CHECK_INT(MPI_T_cvar_get_index("MPILITE_SPIN_US", &index), MPI_SUCCESS);
    CHECK_INT(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count), MPI_SUCCESS);
    CHECK(count > 1 && count <= (int)sizeof text, "room for a text, not %d", count);
    CHECK_INT(MPI_T_cvar_read(handle, text), MPI_SUCCESS);
    CHECK(strcmp(text, expected) == 0, "MPILITE_SPIN_US to be '%s', not '%s'", expected, text);
    CHECK_INT(MPI_T_cvar_handle_free(&handle), MPI_SUCCESS);
    CHECK_INT(MPI_T_cvar_handle_alloc(num, NULL, &handle, &count), MPI_T_ERR_INVALID_INDEX);
    CHECK_INT(MPI_T_cvar_get_index("PATH", &class_index), MPI_T_ERR_INVALID_NAME);
}

/* Every variable is in one category; names lead to their index. */
static void check_categories(void)
{
    int count, i, j, num, pvars = 0, cvars = 0, inner = 0, events, index, stamp;
    int kinds = 0, all[500];

    CHECK_INT(MPI_T_category_get_num(&count), MPI_SUCCESS);
    for (i = 0; i < count; i++) {
        int num_cvars, num_pvars, num_categories, length = 200, text_len = 0;
        char name[200];

        CHECK_INT(MPI_T_category_get_info(i, name, &length, NULL, &text_len, &num_cvars,
                                          &num_pvars, &num_categories),
                  MPI_SUCCESS);
        CHECK(text_len > 1, "a description of %s", name);
        CHECK_INT(MPI_T_category_get_index(name, &index), MPI_SUCCESS);
        CHECK_INT(index, i);
        CHECK_INT(MPI_T_category_get_pvars(i, 500, all), MPI_SUCCESS);
        for (j = 1; j < num_pvars; j++)
            CHECK(all[j - 1] < all[j], "different counters in %s", name);
        CHECK_INT(MPI_T_category_get_cvars(i, 500, all), MPI_SUCCESS);
        CHECK_INT(MPI_T_category_get_categories(i, 500, all), MPI_SUCCESS);
        CHECK_INT(MPI_T_category_get_num_events(i, &events), MPI_SUCCESS);
        kinds += events;
        pvars += num_pvars;
        cvars += num_cvars;
        inner += num_categories;
    }
    CHECK_INT(MPI_T_pvar_get_num(&num), MPI_SUCCESS);
    CHECK_INT(pvars, num);
    CHECK_INT(MPI_T_cvar_get_num(&num), MPI_SUCCESS);
    CHECK_INT(cvars, num);
    CHECK_INT(MPI_T_event_get_num(&num), MPI_SUCCESS);
    CHECK_INT(kinds, num);
    CHECK(inner > 0 && inner < count, "categories in categories");
    CHECK_INT(MPI_T_category_changed(&stamp), MPI_SUCCESS);
    CHECK_INT(MPI_T_category_get_cvars(count, 1, all), MPI_T_ERR_INVALID_INDEX);
    CHECK_INT(MPI_T_category_get_index("no such thing", &index), MPI_T_ERR_INVALID_NAME);
}

/* There are no enumerations: nothing can be right. */
static void check_enumerations(void)
{
    int count = -1;

    CHECK_INT(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &count, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
}

static void check_counting(void)
{
    MPI_T_pvar_handle sent = handle_of("mpi_messages_sent", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle again = handle_of("mpi_messages_sent", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle bytes = handle_of("mpi_bytes_received", MPI_T_PVAR_CLASS_AGGREGATE);
    MPI_T_pvar_handle messages = handle_of("rmpp_messages_sent", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle shared = handle_of("shm_messages_sent", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle others = handle_of("streams_messages_sent", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle datagrams = handle_of("udp_datagrams_sent", MPI_T_PVAR_CLASS_COUNTER);
    int is_alone = (rank ^ 1) >= size, i;
    number before, value = 0;

    ping_pong();
    CHECK_INT(value_of(sent), 0); /* nothing runs before it is started */
    CHECK_INT(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    ping_pong();
    CHECK_INT(value_of(sent), ROUNDS);
    CHECK_INT(value_of(bytes), ROUNDS * BYTES);
    CHECK_INT(value_of(messages) + value_of(shared) + value_of(others), is_alone ? 0 : ROUNDS);
    CHECK(value_of(datagrams) >= value_of(messages), "at least a datagram for each message");

    CHECK_INT(MPI_T_pvar_stop(session, again), MPI_SUCCESS);
    for (i = 0, before = 0; i < 5; i++, before = value) {
        ping_pong();
        value = value_of(sent);
        CHECK(value == before + (i ? 1 : 2) * ROUNDS, "%d more, not %d", ROUNDS,
              (int)(value - before));
    }
    CHECK_INT(value_of(again), ROUNDS);

    CHECK_INT(MPI_T_pvar_readreset(session, sent, &value), MPI_SUCCESS);
    CHECK_INT(value, 6 * ROUNDS);
    CHECK_INT(value_of(sent), 0);
    value = 7;
    CHECK_INT(MPI_T_pvar_write(session, again, &value), MPI_SUCCESS);
    CHECK_INT(value_of(again), 7);
    CHECK_INT(MPI_T_pvar_reset(session, again), MPI_SUCCESS);
    CHECK_INT(value_of(again), 0);
}

static void check_peaks(void)
{
    MPI_T_pvar_handle peak = handle_of("mpi_unexpected_peak", MPI_T_PVAR_CLASS_HIGHWATERMARK);
    int out[3] = {1, 2, 3}, in, i;
    number value = 0;

    for (i = 0; i < 3; i++)
        MPI_Send(&out[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD);
    /* The last one is here, and so all of them are: messages of a pair keep their order. */
    MPI_Probe(rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (i = 0; i < 3; i++)
        MPI_Recv(&in, 1, MPI_INT, rank, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(value_of(peak) >= 3, "three messages to have waited, not %d", (int)value_of(peak));
    CHECK_INT(MPI_T_pvar_start(session, peak), MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK_INT(MPI_T_pvar_stop(session, peak), MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK_INT(MPI_T_pvar_reset(session, peak), MPI_T_ERR_PVAR_NO_WRITE);
    CHECK_INT(MPI_T_pvar_write(session, peak, &value), MPI_T_ERR_PVAR_NO_WRITE);
    CHECK_INT(MPI_T_pvar_readreset(session, peak, &value), MPI_T_ERR_PVAR_NO_WRITE);
    CHECK_INT(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
}

static void check_handles(void)
{
    MPI_T_pvar_session other, gone;
    MPI_T_pvar_handle handle = handle_of("mpi_sleeps", MPI_T_PVAR_CLASS_COUNTER), copy = handle;
    MPI_T_pvar_handle made;
    number value;
    int count, num;

    CHECK_INT(MPI_T_pvar_session_create(&other), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_read(other, handle, &value), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_pvar_handle_free(other, &handle), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, &value), MPI_T_ERR_INVALID_HANDLE);
    CHECK_INT(MPI_T_pvar_read(session, handle, NULL), MPI_T_ERR_INVALID);
    CHECK_INT(MPI_T_pvar_handle_free(session, &handle), MPI_SUCCESS);
    CHECK(handle == MPI_T_PVAR_HANDLE_NULL, "the null handle");
    CHECK_INT(MPI_T_pvar_read(session, copy, &value), MPI_T_ERR_INVALID_HANDLE);
    MPI_T_pvar_get_num(&num);
    CHECK_INT(MPI_T_pvar_handle_alloc(session, num, NULL, &made, &count), MPI_T_ERR_INVALID_INDEX);
    CHECK_INT(MPI_T_pvar_handle_alloc(session, -1, NULL, &made, &count), MPI_T_ERR_INVALID_INDEX);
    gone = other;
    CHECK_INT(MPI_T_pvar_session_free(&other), MPI_SUCCESS);
    CHECK(other == MPI_T_PVAR_SESSION_NULL, "the null handle");
    CHECK_INT(MPI_T_pvar_session_free(&gone), MPI_T_ERR_INVALID_SESSION);
    CHECK_INT(MPI_T_pvar_start(gone, MPI_T_PVAR_ALL_HANDLES), MPI_T_ERR_INVALID_SESSION);
    CHECK_INT(MPI_T_pvar_handle_alloc(gone, 0, NULL, &made, &count), MPI_T_ERR_INVALID_SESSION);
}

int main(int argc, char **argv)
{
    MPI_T_pvar_handle sent;
    int provided, num;
    number value;

    setenv("MPILITE_EAGER_COPY_BYTES", "12345", 1);
    setenv("MPILITE_SPIN_US", "77", 1);
    CHECK_INT(MPI_T_pvar_get_num(&num), MPI_T_ERR_NOT_INITIALIZED);
    CHECK_INT(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_SERIALIZED, &provided), MPI_SUCCESS);
    CHECK_INT(provided, MPI_THREAD_SERIALIZED);
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided), MPI_SUCCESS);
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);

    check_names();
    check_settings("77");
    check_categories();
    check_enumerations();
    CHECK_INT(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    sent = handle_of("mpi_messages_sent", MPI_T_PVAR_CLASS_COUNTER);
    CHECK_INT(MPI_T_pvar_start(session, sent), MPI_SUCCESS);
    CHECK_INT(value_of(sent), 0);

    begin(&argc, &argv);
    setenv("MPILITE_SPIN_US", "78", 1);
    check_settings("77"); /* what MPI_Init has read */
    check_counting();
    check_peaks();
    check_handles();
    CHECK_INT(MPI_T_pvar_reset(session, sent), MPI_SUCCESS);
    ping_pong();
    MPI_Finalize();

    CHECK_INT(MPI_T_pvar_read(session, sent, &value), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_session_free(&session), MPI_SUCCESS);
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
    CHECK_INT(MPI_T_cvar_get_num(&num), MPI_T_ERR_NOT_INITIALIZED);
    return 0;
}
