// A function of the program throws inside a call of MPI, though somebody above would catch it:
// `exception operator|handler|copy|delete|event|query|catch`. With `catch` the function catches it itself.
#include <cstdio>
#include <cstring>
#include <mpi.h>
#include <stdexcept>

static bool catches;

static void go_wrong()
{
    try {
        throw std::runtime_error("of the program");
    } catch (...) {
        if (!catches)
            throw;
    }
}

static void fold(void *in, void *inout, int *count, MPI_Datatype *)
{
    go_wrong();
    for (int i = 0; i < *count; i++)
        static_cast<int *>(inout)[i] += static_cast<int *>(in)[i];
}

static void handle(MPI_Comm *, int *, ...)
{
    go_wrong();
}

static int copy(MPI_Comm, int, void *, void *, void *, int *flag)
{
    go_wrong();
    *flag = 0;
    return MPI_SUCCESS;
}

static int drop(MPI_Comm, int, void *, void *)
{
    go_wrong();
    return MPI_SUCCESS;
}

static void reduce()
{
    MPI_Op op;
    int one = 1, sum = 0, size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Op_create(fold, 1, &op);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    if (sum != size)
        MPI_Abort(MPI_COMM_WORLD, 9);
}

static void err()
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Send(nullptr, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    MPI_Errhandler_free(&handler);
}

static void cache(bool copies)
{
    MPI_Comm other;
    int key;
    MPI_Comm_create_keyval(copies ? copy : MPI_COMM_NULL_COPY_FN,
                           copies ? MPI_COMM_NULL_DELETE_FN : drop, &key, nullptr);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &key);
    if (copies) {
        MPI_Comm_dup(MPI_COMM_WORLD, &other);
        MPI_Comm_free(&other);
    }
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    MPI_Comm_free_keyval(&key);
}

static void on_event(MPI_T_event_instance, MPI_T_event_registration, MPI_T_cb_safety, void *)
{
    go_wrong();
}

static void watch()
{
    MPI_T_event_registration events;
    int provided, index;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_event_get_index("collective_begin", &index);
    MPI_T_event_handle_alloc(index, nullptr, MPI_INFO_NULL, &events);
    MPI_T_event_register_callback(events, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, nullptr, on_event);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_T_event_handle_free(events, nullptr, nullptr);
    MPI_T_finalize();
}

static int query(void *, MPI_Status *status)
{
    go_wrong();
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int release(void *)
{
    return MPI_SUCCESS;
}

static int cancel(void *, int)
{
    return MPI_SUCCESS;
}

static void generalize()
{
    MPI_Request request;
    MPI_Grequest_start(query, release, cancel, nullptr, &request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    catches = !std::strcmp(mode, "catch");
    try {
        if (catches || !std::strcmp(mode, "operator"))
            reduce();
        if (catches || !std::strcmp(mode, "event"))
            watch();
        if (catches || !std::strcmp(mode, "query"))
            generalize();
        if (catches || !std::strcmp(mode, "handler"))
            err();
        if (catches || !std::strcmp(mode, "copy"))
            cache(true);
        if (catches || !std::strcmp(mode, "delete"))
            cache(false);
    } catch (const std::exception &error) {
        std::printf("unwound: %s\n", error.what());
        std::fflush(stdout);
    }
    MPI_Finalize();
    std::puts("all right");
    return 0;
}
