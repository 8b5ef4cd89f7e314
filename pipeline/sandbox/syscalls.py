"""Which system calls model-written code is refused, as a seccomp filter for bubblewrap.

The namespaces of `pipeline.sandbox.container` do most of the work. Refused here is what they leave open: sockets of
families that no network namespace separates (vsock reaches the host of a virtual machine), memory that no rlimit counts
(memfd, System V, message queues, attributes of files, pages lent to pipes, huge pages of which little stays mapped),
namespaces within, and interfaces with a long record of kernel bugs. Format: linux/filter.h, linux/seccomp.h; numbers:
asm/unistd_64.h and asm-generic/unistd.h.
"""

from __future__ import annotations

import errno
import struct

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CLONE = {"x86_64": 56, "aarch64": 220}
MADVISE = {"x86_64": 28, "aarch64": 233}
HUGE, COLLAPSE = 14, 25  # MADV_HUGEPAGE, MADV_COLLAPSE
NEW_NAMESPACES = 0x7E020000  # CLONE_NEWNS | NEWCGROUP | NEWUTS | NEWIPC | NEWUSER | NEWPID | NEWNET
REFUSED = {
    #                     x86_64  aarch64
    "socket":             (41, 198),
    "shmget":             (29, 194),
    "semget":             (64, 190),
    "msgget":             (68, 186),
    "mq_open":            (240, 180),
    "memfd_create":       (319, 279),
    "memfd_secret":       (447, 447),
    "vmsplice":           (278, 75),
    "process_madvise":    (440, 440),
    "setxattr":           (188, 5),
    "lsetxattr":          (189, 6),
    "fsetxattr":          (190, 7),
    "setxattrat":         (463, 463),
    "unshare":            (272, 97),
    "setns":              (308, 268),
    "mount":              (165, 40),
    "umount2":            (166, 39),
    "pivot_root":         (155, 41),
    "open_tree":          (428, 428),
    "move_mount":         (429, 429),
    "fsopen":             (430, 430),
    "fsmount":            (432, 432),
    "mount_setattr":      (442, 442),
    "open_by_handle_at":  (304, 265),
    "fanotify_init":      (300, 262),
    "ptrace":             (101, 117),
    "process_vm_readv":   (310, 270),
    "process_vm_writev":  (311, 271),
    "personality":        (135, 92),
    "add_key":            (248, 217),
    "request_key":        (249, 218),
    "keyctl":             (250, 219),
    "bpf":                (321, 280),
    "perf_event_open":    (298, 241),
    "userfaultfd":        (323, 282),
    "io_uring_setup":     (425, 425),
}  # fmt: skip
CLONE3 = 435  # its flags lie in memory, which a filter cannot read: glibc falls back to clone
X32 = 0x40000000  # on x86_64 every call has a second number

LOAD, EQUAL, AT_LEAST, ANY_OF, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000, 0x80000000
NUMBER, ARCHITECTURE, FIRST_ARGUMENT, THIRD_ARGUMENT = 0, 4, 16, 32


def seccomp_filter(machine: str) -> bytes:
    """The filter's program for `platform.machine()`. Raises KeyError where the numbers are not known here."""
    column = list(ARCHITECTURES).index(machine) if machine in ARCHITECTURES else None
    if column is None:
        raise KeyError(machine)
    lines = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, ARCHITECTURES[machine]),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
        (AT_LEAST, 0, 1, X32),
        (RETURN, 0, 0, KILL),
    ]
    for numbers in REFUSED.values():
        lines += [(EQUAL, 0, 1, numbers[column]), (RETURN, 0, 0, REFUSE | errno.EPERM)]
    lines += [
        (EQUAL, 0, 1, CLONE3),
        (RETURN, 0, 0, REFUSE | errno.ENOSYS),
        (EQUAL, 0, 5, MADVISE[machine]),
        (LOAD, 0, 0, THIRD_ARGUMENT),
        (EQUAL, 1, 0, HUGE),
        (EQUAL, 0, 1, COLLAPSE),
        (RETURN, 0, 0, REFUSE | errno.EPERM),
        (RETURN, 0, 0, ALLOW),
        (EQUAL, 0, 3, CLONE[machine]),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (ANY_OF, 0, 1, NEW_NAMESPACES),
        (RETURN, 0, 0, REFUSE | errno.EPERM),
        (RETURN, 0, 0, ALLOW),
    ]
    return b"".join(struct.pack("HBBI", *line) for line in lines)
