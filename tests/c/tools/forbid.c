/* forbid CALL ERROR PROGRAM ...: runs the program in a sandbox, in which the system answers CALL
 * with the error of that number. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    unsigned number;
} calls[] = {
    {"sendmmsg", SYS_sendmmsg},
    {"recvmmsg", SYS_recvmmsg},
    {"sendmsg", SYS_sendmsg},
    {"socket", SYS_socket},
    {"eventfd2", SYS_eventfd2},
    {"clone3", SYS_clone3},
    {"process_vm_readv", SYS_process_vm_readv},
    {"process_vm_writev", SYS_process_vm_writev},
};

static unsigned number_of(const char *name)
{
    size_t at;

    for (at = 0; at < sizeof calls / sizeof *calls; at++)
        if (strcmp(calls[at].name, name) == 0)
            return calls[at].number;
    fprintf(stderr, "forbid: no call %s\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};

    if (argc < 4) {
        fprintf(stderr, "usage: forbid CALL ERROR PROGRAM ...\n");
        return 2;
    }
    filter[1].k = number_of(argv[1]);
    filter[2].k |= (unsigned)atoi(argv[2]) & SECCOMP_RET_DATA;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
        || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("forbid: the filter");
        return 2;
    }
    execvp(argv[3], argv + 3);
    perror("forbid: the program");
    return 2;
}
