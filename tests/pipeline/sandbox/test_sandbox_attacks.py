"""Code that attacks its containment. Every attack ends as a verdict, gets nothing out, and leaves no process behind.

Three kinds: a reach tries something and returns what it got, which must be nothing; a forgery does not compute what is
asked and must not pass; a bomb uses up something and must end at its limit.
"""

import asyncio
import ctypes
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.sandbox.container import Call, ContainmentMissing, Limits, Verdict, require_containment, verdict
from tests.pipeline.sandbox.attacks import BOMBS, FORGERIES, REACHES, TRY

SECRET = "tiger-8136-lily"  # in a file, in our environment, and in a hidden test
LIMITS = Limits(seconds=30, memory_mb=256, processes=8, file_mb=2, output_kb=64)
SOON = LIMITS.model_copy(update={"seconds": 1.0})  # for what ends at no other limit
PR_SET_CHILD_SUBREAPER = 36


@pytest.fixture(scope="module", autouse=True)
def containment(request: pytest.FixtureRequest) -> Iterator[list[str]]:
    try:
        require_containment()
    except ContainmentMissing as error:
        pytest.skip(f"model-written code cannot be contained here, so NO ATTACK WAS TRIED: {error}")
    # What outlives its parent becomes ours, so that nothing can hide.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    tried = list[str]()  # and, once all is checked, "held" in place of the code
    yield tried
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        held = tried.count("held")
        print(f"\n{len(tried)} attacks; {held} ended as a verdict, with nothing out and no process left behind")


@pytest.fixture
def attacked(containment, tmp_path, monkeypatch):
    """The verdict on an attack, with what must hold after every one."""
    monkeypatch.setenv("SECRET", SECRET)
    Path(tmp_path, "secret").write_text(SECRET)
    before = descendants()

    def attack(code: str, tests=None, limits: Limits = LIMITS, **how) -> Verdict:
        code = code.replace("OUTSIDE", str(tmp_path)).replace("PARENT", str(os.getpid()))
        containment.append(code)
        calls = [Call("f", (), [], public=True), Call("f", (), SECRET, public=False)]
        got = asyncio.run(verdict(code, tests or calls, limits, **how))
        left, patience = {-1}, time.monotonic() + 20
        while left and time.monotonic() < patience:
            left = descendants() - before
        assert not left, "processes were left behind"
        assert SECRET not in got.printed
        assert all(each.isprintable() for each in got.printed.split("\n")), got.printed
        assert sorted(os.listdir(tmp_path)) == ["secret"]
        containment[-1] = "held"
        return got

    return attack


def descendants() -> set[int]:
    """Of this process, the dead that nobody waited for left out."""
    parents = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            parents[int(pid)] = int(parent)
    found, ours = set(), {os.getpid()}
    while ours:
        ours = {pid for pid, parent in parents.items() if parent in ours} - found
        found |= ours
    return found


@pytest.mark.parametrize("name", REACHES)
def test_nothing_is_reached(name, attacked):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        code = TRY + REACHES[name].replace("PORT", str(server.getsockname()[1]))
        got = attacked(code if "def f()" in code else code + "\ndef f(): return got\n")
        with pytest.raises(BlockingIOError):
            server.accept()
    assert (got.outcome, got.passed) == ("failed", 1), got.printed


@pytest.mark.parametrize("name", FORGERIES)
def test_no_verdict_is_forged(name, attacked):
    got = attacked(FORGERIES[name])
    assert got.outcome in ("failed", "error", "crash")
    assert got.passed == 0, got


ASSERTED = """
def check(candidate):
    assert all(map(lambda each: candidate() == each, [1, 2]))
    assert abs(candidate() - 1) < 1e-6 and len([candidate()]) == 1 and isinstance(candidate(), int)
check(f)
"""


@pytest.mark.parametrize("name", FORGERIES)
def test_no_assertion_is_forged(name, attacked):
    got = attacked(FORGERIES[name] + "\nabs = len = check = all = map = f\n", ASSERTED, entry="f")
    assert got.outcome in ("failed", "error", "crash")
    assert (got.passed, got.total) == (0, 1), got


@pytest.mark.parametrize("name", BOMBS)
def test_every_bomb_ends_at_its_limit(name, attacked):
    outcomes, code = BOMBS[name]
    got = attacked(code, limits=LIMITS.model_copy(update={"seconds": 0.4}) if "time" in outcomes else LIMITS)
    assert got.outcome in outcomes.split(), got
    assert got.passed == 0


def test_what_is_asked_in_secret_is_not_told_in_what_is_printed(attacked):
    code = "asked = []\ndef f(x=0):\n    asked.append(x)\n    return list(asked)"
    got = attacked(
        code, [Call("f", (SECRET,), 1, public=False), Call("f", (), 1), Call("f", (SECRET,), 1, public=False)]
    )
    assert got.printed == "0 of 3 tests passed.\nf() gave [0], expected 1"
    attacked("def f(x=0): raise ValueError(x)", f"kept = f({SECRET!r})\nassert f({SECRET!r}) == 1")


def test_a_fork_bomb_has_no_more_processes_than_its_limit(attacked):
    async def counted() -> int:
        most, bomb = 0, asyncio.create_task(verdict(BOMBS["processes"][1], [Call("f", (), 1)], SOON))
        while not bomb.done():
            most = max(most, len(descendants()))
            await asyncio.sleep(0.01)
        return most

    before = len(descendants())
    # Of each of the two containments bubblewrap itself is two processes, and the judge is one.
    assert 5 < asyncio.run(counted()) - before <= LIMITS.processes + 5


def test_by_default_code_is_one_process(attacked):
    got = attacked("import os\ndef f(): return os.fork()", limits=Limits())
    assert got.outcome == "failed"
    assert "f() raised BlockingIOError" in got.printed


def test_a_cancelled_verdict_leaves_nothing_behind(attacked):
    async def cancelled() -> None:
        task = asyncio.create_task(verdict(BOMBS["processes"][1], [Call("f", (), 1)], SOON))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert attacked("def f(): return 7").outcome == "failed"  # and counts what is left of both


def test_many_attacks_at_once_have_the_verdicts_that_each_has_alone(attacked):
    codes = {"def f(): return 1": "passed", "def f(): return 2": "failed", BOMBS["processes"][1]: "time"}

    async def together() -> list[str]:
        each = (verdict(code, [Call("f", (), 1)], SOON) for code in [*codes, *codes])
        return [got.outcome for got in await asyncio.gather(*each)]

    assert asyncio.run(together()) == [*codes.values(), *codes.values()]
    attacked("def f(): return 7")
