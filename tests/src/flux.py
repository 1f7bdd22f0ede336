"""Starts a program as Flux does: `flux.py RANKS PROGRAM [ARGUMENT...]`.

Each task has the server's end of a socket pair in PMI_FD and the variables of a Flux job. The
server speaks PMI-1 with the sizes and replies of Flux: `rc` in every reply, a reply without words
after an abort, a key of at most 63 and a value of at most 1023 bytes, a missing key is rc=4. A
request that Flux would not take ends the job with status 70, so that no test passes by luck.

Every task is waited for; the exit status is the greatest of theirs, 128 + N for signal N. An abort
ends all with the code of the abort.
"""
import os
import selectors
import signal
import socket
import subprocess
import sys

NAME, KEY_MAX, VALUE_MAX, LINE_MAX = "lwj.7.pmi", 64, 1024, 64 + 1024 + 64 + 64
INVALID_KEY, INVALID_KEY_LENGTH, INVALID_VALUE_LENGTH, INVALID_LENGTH = 4, 5, 7, 8
PROTOCOL_ERROR = 70


class Refused(Exception):
    """A request that Flux closes the connection for."""


class Server:
    def __init__(self, size):
        self.size = size
        self.values = {
            "PMI_process_mapping": f"(vector,(0,1,{size}))",
            "flux.instance-level": "0",
        }
        self.pending = {}
        self.waiting = []
        self.aborted = None

    def put(self, words):
        for word, limit, code in (
            ("kvsname", 64, INVALID_LENGTH),
            ("key", KEY_MAX, INVALID_KEY_LENGTH),
            ("value", VALUE_MAX, INVALID_VALUE_LENGTH),
        ):
            if len(words[word]) >= limit:
                return f"cmd=put_result rc={code}"
        if words["kvsname"] != NAME:
            raise Refused("another kvsname")
        if words["key"] in self.pending or words["key"] in self.values:
            return f"cmd=put_result rc={INVALID_KEY}"
        self.pending[words["key"]] = words["value"]
        return "cmd=put_result rc=0"

    def get(self, words):
        if words["kvsname"] != NAME:
            raise Refused("another kvsname")
        if words["key"] not in self.values:
            return f"cmd=get_result rc={INVALID_KEY}"
        return f"cmd=get_result rc=0 value={self.values[words['key']]}"

    def enter_barrier(self, task):
        self.waiting.append(task)
        if len(self.waiting) == self.size:
            # What was put is seen after the barrier, not before.
            self.values.update(self.pending)
            self.pending = {}
            for waiting in self.waiting:
                waiting.sendall(b"cmd=barrier_out rc=0\n")
            self.waiting = []

    def answer(self, task, line):
        words = dict(word.split("=", 1) for word in line.split(" ") if "=" in word)
        command = words.get("cmd")
        if command == "barrier_in":
            return self.enter_barrier(task)
        if command == "abort":
            self.aborted = int(words.get("exitcode", words.get("exit_code", 1)))
            return task.sendall(b"\n")
        replies = {
            "init": lambda: "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1"
            if (words["pmi_version"], words["pmi_subversion"]) == ("1", "1")
            else "cmd=response_to_init rc=-1",
            "get_maxes": lambda: "cmd=maxes rc=0 kvsname_max=64 keylen_max=64 vallen_max=1024",
            "get_universe_size": lambda: f"cmd=universe_size rc=0 size={self.size}",
            "get_appnum": lambda: "cmd=appnum rc=0 appnum=0",
            "get_my_kvsname": lambda: f"cmd=my_kvsname rc=0 kvsname={NAME}",
            "put": lambda: self.put(words),
            "get": lambda: self.get(words),
            "finalize": lambda: "cmd=finalize_ack rc=0",
        }
        if command not in replies:
            raise Refused("an unknown command")
        task.sendall(replies[command]().encode() + b"\n")
        return None


def start(rank, size, words):
    ours, theirs = socket.socketpair()
    variables = {
        "PMI_FD": str(theirs.fileno()),
        "PMI_RANK": str(rank),
        "PMI_SIZE": str(size),
        "FLUX_JOB_ID": "ƒ7",
        "FLUX_JOB_SIZE": str(size),
        "FLUX_JOB_NNODES": "1",
        "FLUX_TASK_RANK": str(rank),
        "FLUX_TASK_LOCAL_ID": str(rank),
        "FLUX_KVS_NAMESPACE": "job-7",
        "FLUX_URI": "local:///run/flux/local",
    }
    process = subprocess.Popen(
        words, pass_fds=[theirs.fileno()], env=os.environ | variables, stdin=subprocess.DEVNULL
    )
    theirs.close()
    return process, ours


def serve(server, tasks):
    """Answers until all tasks have closed their connection or one has aborted."""
    buffers = {}
    with selectors.DefaultSelector() as selector:
        for task in tasks:
            buffers[task] = b""
            selector.register(task, selectors.EVENT_READ)
        while selector.get_map() and server.aborted is None:
            for key, _ in selector.select():
                task = key.fileobj
                try:
                    piece = task.recv(4096)
                except ConnectionResetError:
                    piece = b""
                if not piece:
                    selector.unregister(task)
                    task.close()
                    continue
                *lines, buffers[task] = (buffers[task] + piece).split(b"\n")
                for line in lines:
                    if len(line) >= LINE_MAX:
                        raise Refused(f"a line of {len(line)} bytes")
                    try:
                        server.answer(task, line.decode())
                    except (BrokenPipeError, ConnectionResetError):
                        pass


def main():
    size, words = int(sys.argv[1]), sys.argv[2:]
    started = [start(rank, size, words) for rank in range(size)]
    processes = [process for process, _ in started]
    server = Server(size)
    try:
        serve(server, [task for _, task in started])
    except (Refused, KeyError, ValueError) as error:
        print(f"flux.py: a request is refused: {error!r}", file=sys.stderr)
        server.aborted = PROTOCOL_ERROR
    if server.aborted is not None:
        for process in processes:
            process.send_signal(signal.SIGKILL)
    codes = [process.wait() for process in processes]
    if server.aborted is not None:
        return server.aborted
    return max(code if code >= 0 else 128 - code for code in codes)


sys.exit(main())
