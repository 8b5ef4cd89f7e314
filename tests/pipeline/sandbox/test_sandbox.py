"""Verdicts on harmless code; the harmful is in test_sandbox_attacks.py."""

import asyncio
import subprocess
import sys
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.sandbox import bubblewrap
from pipeline.sandbox.checking_process import same
from pipeline.sandbox.container import Call, ContainmentMissing, Limits, Verdict, require_containment, verdict
from pipeline.sandbox.syscalls import ARCHITECTURES, REFUSED, seccomp_filter
from pipeline.sandbox.wire import packed, shown, unpacked


def missing() -> str:
    try:
        require_containment()
    except ContainmentMissing as error:
        return str(error)
    return ""


@pytest.fixture(params=["contained", "unsafe"])
def unsafe(request: pytest.FixtureRequest) -> bool:
    if request.param == "contained" and (why := missing()):
        pytest.skip(f"model-written code cannot be contained here: {why}")
    return request.param == "unsafe"


def found(code, tests, unsafe=True, limits=Limits(), **how) -> Verdict:
    return asyncio.run(verdict(code, tests, limits, unsafe, **how))


RISE = "def rise(x): return x + 1"


def test_code_that_does_what_its_calls_expect_passes(unsafe):
    got = found(RISE, [Call("rise", (1,), 2), Call("rise", (1.5,), 2.5)], unsafe)
    assert got[:4] == ("passed", 2, 2, "2 of 2 tests passed.")


def test_a_public_failure_is_told_with_call_expected_and_got_and_a_hidden_one_is_not(unsafe):
    got = found(RISE, [Call("rise", (1,), 3), Call("rise", (41,), 77, public=False), Call("rise", (0,), 1)], unsafe)
    assert got[:3] == ("failed", 1, 3)
    assert got.printed == "1 of 3 tests passed.\nrise(1) gave 2, expected 3"


def test_a_call_that_raises_does_not_hold_and_the_others_are_still_asked(unsafe):
    got = found("def f(x): return 1 / x", [Call("f", (0,), 0), Call("f", (1,), 1)], unsafe)
    assert got[:3] == ("failed", 1, 2)
    assert "f(0) raised ZeroDivisionError: division by zero, expected 0" in got.printed


@pytest.mark.parametrize("code", ["def f(:", "x = 1 / 0", "import nowhere_to_be_found", "raise SystemExit(0)", "\0"])
def test_code_that_does_not_load_is_an_error(code, unsafe):
    assert found(code, [Call("f", (), None)], unsafe)[:3] == ("error", 0, 1)


def test_a_program_too_long_to_be_read_is_its_own_error():
    said = asyncio.run(verdict("#" * 30_000_000, [Call("f", (1,), 1)], unsafe=True))
    assert (said.outcome, said.passed, said.total) == ("error", 0, 1)


def test_what_was_found_before_a_limit_is_kept(unsafe):
    code = "def f(x):\n    while x > 1: pass\n    return x"
    got = found(code, [Call("f", (1,), 1), Call("f", (2,), 2), Call("f", (1,), 1)], unsafe, Limits(seconds=0.5))
    assert got[:3] == ("time", 1, 3)


CHECK = """
from math import isclose
def check(candidate):
    assert isclose(candidate([1.0, 2.0]), 1.5)
    try:
        candidate([])
        raise RuntimeError("it gave something")
    except ZeroDivisionError:
        pass
check(mean)
"""


def test_tests_in_the_form_of_humaneval_run(unsafe):
    good = "def mean(xs): return sum(xs) / len(xs)"
    assert found(good, CHECK, unsafe, entry="mean")[:3] == ("passed", 1, 1)
    assert found(good, CHECK, unsafe)[:3] == ("passed", 1, 1)  # the one name that the tests do not define
    assert found("def mean(xs): return 1.5", CHECK, unsafe)[:3] == ("failed", 0, 1)


@pytest.mark.parametrize(
    ("code", "outcome"),
    [("import os\ndef f(x): os._exit(0)", "crash"), ("def f(x): return 'x' * 10**6", "output")],
)
def test_a_test_that_catches_everything_does_not_hide_a_program_that_ended(code, outcome, unsafe):
    catches = "def check(candidate):\n    try:\n        candidate(1)\n        assert False\n    except:\n        pass\n"
    assert found(code, f"{catches}check(f)", unsafe, entry="f")[:3] == (outcome, 0, 1)


def test_tests_in_the_form_of_mbpp_run_and_are_not_quoted(unsafe):
    tests = "assert rise(1) == 2\nassert rise(2) == 4\nassert rise(x=2) == 3"
    assert found(RISE, tests, unsafe)[:4] == ("failed", 2, 3, "2 of 3 tests passed.")


def test_the_code_cannot_take_the_place_of_what_the_tests_use():
    code = "def abs(x): return 0\ndef len(x): return 3\ndef f(x): return 7"
    assert found(code, "assert abs(f(1) - 3) < 1\nassert len([f(2)]) == 3", entry="f")[:3] == ("failed", 0, 2)


@pytest.mark.parametrize("tests", ["", "x = 1", "assert 1 + 1 == 2", "assert f(1) ==", []])
def test_tests_that_ask_nothing_are_refused(tests):
    with pytest.raises(ValueError, match="tests"):
        found(RISE, tests)


def test_nan_is_nan_and_infinity_and_kinds_of_containers_are_told_apart():
    calls = [Call("f", (nan,), [nan]), Call("f", (-inf,), [-inf]), Call("f", (1,), (1,)), Call("f", ({1},), [{1}])]
    assert found("def f(x): return [x]", calls)[:3] == ("failed", 3, 4)


def test_the_order_of_a_set_is_the_same_every_time(unsafe):
    code = "def f(): return list({'a', 'b', 'c', 'd', 'e', 'f', 'g'})"
    assert len({found(code, [Call("f", (), None)], unsafe).printed for _ in range(3)}) == 1


TOGETHER = """
import asyncio
from pipeline.sandbox.container import Call, Limits, verdict
async def main():
    each = (verdict("def f(): return 1", [Call("f", (), 1)], Limits(), UNSAFE) for _ in range(8))
    print({got.outcome for got in await asyncio.gather(*each)})
asyncio.run(main())
"""


def test_a_process_may_begin_with_many_verdicts_at_once(unsafe):
    code = TOGETHER.replace("UNSAFE", str(unsafe))
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"{'passed'}\n"


def test_where_bubblewrap_is_missing_code_is_refused_and_told_how_to_get_it(monkeypatch):
    monkeypatch.setenv("PATH", "")
    bubblewrap.require_bubblewrap.cache_clear()
    try:
        with pytest.raises(ContainmentMissing, match=r"apt-get install bubblewrap.*--unsafe"):
            found(RISE, [Call("rise", (1,), 2)], unsafe=False)
    finally:
        bubblewrap.require_bubblewrap.cache_clear()


DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers(),
    lambda each: (
        st.lists(each)
        | st.lists(each).map(tuple)
        | st.dictionaries(st.integers() | st.text(), each)
        | st.sets(st.integers() | st.text())
        | st.frozensets(st.floats(allow_nan=False))
    ),
    max_leaves=12,
)


@given(DATA)
def test_plain_data_comes_back_as_it_went(value):
    line = packed(value)
    assert same(unpacked(line), value) and type(unpacked(line)) is type(value)
    assert line.isascii() and "\n" not in line


@given(st.text(st.characters(codec=None), max_size=50))
def test_what_is_shown_is_printable(text):
    assert shown(text).isprintable()


@pytest.mark.parametrize("text", ["__import__('os')", "f(1)", "x", "1 + 1", "[x for x in ()]", "set(*[1])", "(" * 999])
def test_nothing_but_plain_data_is_read(text):
    with pytest.raises((ValueError, KeyError, TypeError, SyntaxError, MemoryError, RecursionError)):
        unpacked(text)


def test_the_filter_of_system_calls_ends_in_an_answer_for_every_machine_it_knows():
    for machine in ARCHITECTURES:
        program = seccomp_filter(machine)
        assert len(program) == 8 * (6 + 2 * len(REFUSED) + 13)
    with pytest.raises(KeyError):
        seccomp_filter("pdp11")
