"""`maieutic` forked from a process that has imported everything: of a small command the imports are most.

    python -m tests.warm serve SOCKET &
    python -m tests.warm SOCKET run quickstart     # as `maieutic run quickstart`, with its output and its status

For the lanes of .ci/run, one command at a time. The job `wheel` runs commands that start by themselves.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from importlib import import_module

IMPORTED = (
    "maieutic.cli", "maieutic.api", "maieutic.workflow", "maieutic.show_preview", "pipeline.tasks.embedded",
    "pipeline.building.rounds", "training.train_round", "evals.audit.audit", "evals.examining.students",
    "evals.report.report_page", "evals.report.summary",
)  # fmt: skip


def serve(path: str) -> None:
    for module in IMPORTED:
        import_module(module)
    from maieutic.cli import main

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{path}.new")
        server.listen()
        os.rename(f"{path}.new", path)  # there once it answers
        while True:
            asked, _ = server.accept()
            words, files, *_ = socket.recv_fds(asked, 1 << 20, 3)
            child = os.fork()
            if not child:
                for number, file in enumerate(files):
                    os.dup2(file, number)
                sys.argv = ["maieutic", *json.loads(words)]
                main()
                sys.exit()
            for file in files:
                os.close(file)
            _, status = os.waitpid(child, 0)
            with asked:
                asked.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def ask(path: str, words: list[str]) -> int:
    for _ in range(3000):  # it still imports
        if os.path.exists(path):
            break
        time.sleep(0.1)
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(path)
        socket.send_fds(server, [json.dumps(words).encode()], [0, 1, 2])
        return int(server.recv(100) or 1)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        sys.exit(ask(sys.argv[1], sys.argv[2:]))
