/* The few calls of MPI that btu makes, with plain C types: the types and constants of mpi.h differ from library to library.
   Every function returns MPI's own code, 0 for success. */

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { SENDS, RECEIVES, WAYS };

struct btu_link {
    int tag;                    /* links of one process are told apart by this */
    MPI_Request requests[WAYS]; /* at most one each way is under way */
};

/* The rank of the other process. */
static int peer;

static void copy(char *text, int room, const char *from) {
    strncpy(text, from, room - 1);
    text[room - 1] = 0;
}

/* May be called at any time (MPI 3.1, section 8.1.1). */
void btu_mpi_version(char *text, int room) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    if (MPI_Get_library_version(version, &length) != MPI_SUCCESS) version[0] = 0;
    copy(text, room, version);
}

void btu_mpi_explain(int code, char *text, int room) {
    char why[MPI_MAX_ERROR_STRING];
    int length;
    if (MPI_Error_string(code, why, &length) != MPI_SUCCESS) strcpy(why, "unknown error");
    copy(text, room, why);
}

/* Begins MPI. `size` is the number of processes that found each other; `granted` says whether several threads may call
   at a time. */
int btu_mpi_begin(int several, int *size, int *granted) {
    int wanted = several ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED;
    int provided = MPI_THREAD_SINGLE, rank = 0;
    int code = MPI_Init_thread(NULL, NULL, wanted, &provided);
    *granted = provided >= MPI_THREAD_MULTIPLE;
    if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS) code = MPI_Comm_size(MPI_COMM_WORLD, size);
    if (code == MPI_SUCCESS) code = MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = 1 - rank;
    return code;
}

/* A link whose messages have this tag; NULL where there is no memory. */
struct btu_link *btu_mpi_link(int tag) {
    struct btu_link *link = calloc(1, sizeof *link);
    if (!link) return NULL;
    link->tag = tag;
    for (int way = 0; way < WAYS; way++) link->requests[way] = MPI_REQUEST_NULL;
    return link;
}

int btu_mpi_send(struct btu_link *link, const void *message, int length) {
    return MPI_Isend(message, length, MPI_BYTE, peer, link->tag, MPI_COMM_WORLD, &link->requests[SENDS]);
}

int btu_mpi_receive(struct btu_link *link, void *room, int length) {
    return MPI_Irecv(room, length, MPI_BYTE, peer, link->tag, MPI_COMM_WORLD, &link->requests[RECEIVES]);
}

/* Whether what is under way this way is done, and how many bytes came if something was to come. */
int btu_mpi_test(struct btu_link *link, int way, int *done, int *came) {
    MPI_Status status;
    int code = MPI_Test(&link->requests[way], done, &status);
    if (code == MPI_SUCCESS && *done && way == RECEIVES) code = MPI_Get_count(&status, MPI_BYTE, came);
    return code;
}

/* Lets the library work on what it still has to send. */
int btu_mpi_progress(struct btu_link *link) {
    int is_there;
    return MPI_Iprobe(peer, link->tag, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
}

/* Gives up what is under way. */
void btu_mpi_abandon(struct btu_link *link) {
    for (int way = 0; way < WAYS; way++)
        if (link->requests[way] != MPI_REQUEST_NULL) MPI_Cancel(&link->requests[way]);
}
