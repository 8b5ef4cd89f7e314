"""One contained process: bubblewrap's arguments, and the machine's refusal where it cannot contain."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import platform
import py_compile
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from io import FileIO
from pathlib import Path
from typing import IO

from pipeline.core.errors import ConfigError
from pipeline.sandbox.syscalls import seccomp_filter

HERE = Path(__file__).parent
PACKAGE = "/package"
INSIDE = 65534  # the user that runs the code, as the contained process sees it
OUTSIDE = 61_001  # the same, where we are root: of the numbers that systemd's table of users leaves unused
FLAGS = ("-S", "-s", "-B")  # no site packages, nothing written
COMPILING = threading.Lock()
Streams = tuple[int | IO[bytes], int | IO[bytes], int | IO[bytes]]


class ContainmentMissing(ConfigError):
    """Model-written code was to be run where it cannot be contained."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"{why}. Code tasks run what a model wrote, and do so only in bubblewrap 0.6 or newer. "
            "Debian, Ubuntu: apt-get install bubblewrap. In a container, user namespaces must be allowed. "
            "--unsafe runs the code without containment and with all your rights: only where there is nothing to lose."
        )


@functools.cache
def require_bubblewrap() -> None:
    """Raises ContainmentMissing unless a contained process starts here. Asked once in a process."""
    if shutil.which("bwrap") is None:
        raise ContainmentMissing("bubblewrap's command bwrap is not installed")
    if platform.machine() not in ("x86_64", "aarch64"):
        raise ContainmentMissing(f"the system calls of {platform.machine()} are not known")
    try:
        user, besides = becomes()
        numbers = map(str, (60, 256, 1 + besides, 1, user))
        process = start("solving_process", [*numbers], 1, (subprocess.DEVNULL, subprocess.DEVNULL, subprocess.PIPE))
        try:
            _, told = process.communicate(timeout=60)
        finally:
            process.kill()  # where it did not end; it takes all that it contains with it
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ContainmentMissing(f"bubblewrap does not work here: {error}") from None
    if process.returncode:
        raise ContainmentMissing(f"bubblewrap does not work here: {told.decode(errors='replace').strip()}")


def becomes() -> tuple[int, int]:
    """The user that a contained process becomes (-1: it is that already), and how many more processes it counts."""
    return (INSIDE, 0) if os.getuid() == 0 else (-1, 1)  # bubblewrap's process 1 is of the same user


def start(
    role: str, numbers: Sequence[str], tmp_mb: int, streams: Streams, channel: tuple[int, ...] = ()
) -> subprocess.Popen[bytes]:
    """Start the module `role` of this package in a fresh containment; of our descriptors it gets these alone."""
    root = os.getuid() == 0
    with contextlib.ExitStack() as stack:

        def pipe() -> tuple[FileIO, FileIO]:
            read, write = os.pipe()
            return stack.enter_context(FileIO(read, "r")), stack.enter_context(FileIO(write, "w"))

        (refused, refuse), (told, tell), (wait, go) = pipe(), pipe(), pipe()
        refuse.write(seccomp_filter(platform.machine()))
        refuse.close()
        words = [*_walls(tmp_mb), "--seccomp", str(refused.fileno()), "--chdir", "/tmp"]
        if root:
            words += ["--uid", "0", "--gid", "0", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
            words += ["--info-fd", str(tell.fileno()), "--userns-block-fd", str(wait.fileno())]
            channel = (*channel, tell.fileno(), wait.fileno())
        else:
            words += ["--uid", str(INSIDE), "--gid", str(INSIDE)]
        command = [*words, "/python/bin/python3", *FLAGS, *_runs(role), *numbers]
        # bubblewrap's own environment stays readable in the containment's process 1, so it is empty.
        process = _popen(command, streams, (*channel, refused.fileno()), {})
        tell.close()
        try:
            if root:
                _map_users(told, go)
        except OSError:
            end(process)
            raise
        return process


def unconfined(
    role: str, numbers: Sequence[str], streams: Streams, channel: tuple[int, ...]
) -> subprocess.Popen[bytes]:
    """The same without containment."""
    env = {"PYTHONHASHSEED": "0", "PYTHONPATH": _package()}
    return _popen([sys.executable, *FLAGS, *_runs(role), *numbers], streams, channel, env)


def _package() -> str:
    """The folder of the three modules that run inside, compiled once in a process; removed at its end."""
    with COMPILING:  # a second folder would be removed as soon as the cache has taken the first
        return _compiled().name


@functools.cache
def _compiled() -> tempfile.TemporaryDirectory[str]:
    folder = tempfile.TemporaryDirectory(prefix="contained-")
    for name in ("checking_process", "solving_process", "wire"):
        compiled = Path(folder.name, "pipeline", "sandbox", f"{name}.pyc")
        py_compile.compile(str(HERE / f"{name}.py"), str(compiled), f"{name}.py", doraise=True)
    return folder


def _runs(role: str) -> list[str]:
    return ["-c", f"from pipeline.sandbox.{role} import main; main()"]


def _popen(
    command: list[str], streams: Streams, pipes: tuple[int, ...], env: dict[str, str]
) -> subprocess.Popen[bytes]:
    stdin, stdout, stderr = streams
    return subprocess.Popen(
        command,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env=env,
        cwd="/",
        start_new_session=True,
        pass_fds=pipes,
    )


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill it; all that it started dies with its process 1."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _map_users(told: FileIO, go: FileIO) -> None:
    """As root: a user besides root is mapped, and is what `pipeline.sandbox.wire` becomes.

    bubblewrap alone would map root, against whom the kernel counts no processes.
    """
    info = b""
    while b"}" not in info:
        info += (part := told.read(4096))
        if not part:
            return  # it ended; its last words are on its standard error
    child = json.loads(info)["child-pid"]
    for kind in ("uid_map", "gid_map"):
        Path(f"/proc/{child}/{kind}").write_text(f"0 0 1\n{INSIDE} {OUTSIDE} 1\n", encoding="ascii")
    go.write(b"g")


def _walls(tmp_mb: int) -> list[str]:
    """What it has to read: the interpreter, the system's libraries, our three modules; to write: /tmp."""
    python = Path(sys.base_prefix)
    words = [shutil.which("bwrap") or "bwrap"]
    words += "--unshare-all --unshare-user --die-with-parent --new-session --cap-drop ALL --hostname contained".split()
    words += "--clearenv --setenv LD_LIBRARY_PATH /python/lib --setenv PYTHONHASHSEED 0 --setenv PYTHONPATH".split()
    words += [PACKAGE]
    for folder in ("/usr", "/dev", "/python"):
        words += ["--perms", "0755", "--dir", folder]  # else bubblewrap makes them for its own user alone
    for folder in ("/usr/lib", "/usr/lib64", "/lib", "/lib64"):
        if Path(folder).is_symlink():
            words += ["--symlink", os.readlink(folder), folder]
        elif Path(folder).is_dir():
            words += ["--ro-bind", folder, folder]
    for name in ("lib", "lib64"):
        if (python / name).is_dir():
            words += ["--ro-bind", str(python / name), f"/python/{name}"]
    interpreter = python / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    words += ["--ro-bind", str(interpreter), "/python/bin/python3"]
    system = [(Path(folder), folder) for folder in ("/usr/lib", "/usr/lib64") if not Path(folder).is_symlink()]
    for outside, inside in (*system, *((python / name, f"/python/{name}") for name in ("lib", "lib64"))):
        for packages in outside.glob("python3*/*-packages"):  # may hold the problems of a benchmark, with solutions
            hidden = f"{inside}/{packages.relative_to(outside)}"
            words += ["--tmpfs", hidden, "--remount-ro", hidden]
    words += ["--ro-bind", _package(), PACKAGE, "--dev-bind", "/dev/null", "/dev/null"]
    words += ["--perms", "1777", "--size", str(tmp_mb << 20), "--tmpfs", "/tmp"]
    return [*words, "--remount-ro", "/"]
