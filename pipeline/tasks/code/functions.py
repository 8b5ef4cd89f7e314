"""Code tasks: the embedded ones, and files or hub data sets in the shape of HumanEval or of MBPP.

Without `tasks.path` the tasks are those of `pipeline.tasks.code.generated`. With one, rows are `full` tasks of either
shape, told by their keys (Chen et al., arXiv 2107.03374; Austin et al., arXiv 2108.07732):
- task_id, prompt, entry_point, canonical_solution, test: `test` defines check(candidate), which the function is given;
  the examples of its docstring are public;
- task_id, text (or prompt), code, test_list: assertions, of which the question shows the first, and all decide.
A reference solution that does not parse, or defines no function that the tests call, and tests that assert nothing or
define that function themselves, make a row a BadRow; whether the reference passes its own tests is not looked at here,
since that would run it.

    maieutic preview configs/code_qwen3_0.6b.yaml
"""

from __future__ import annotations

import ast
import doctest
import symtable
from collections.abc import Iterator
from typing import Any

from pipeline.core.schema import ExampleCall, Specification, Task, Tests, digest
from pipeline.reading.programs import fenced
from pipeline.sandbox.wire import packed
from pipeline.tasks.parsing import (
    BadRow,
    RowError,
    distinct,
    full_task,
    hub_name,
    hub_rows,
    json_lines,
    local_file,
    parse,
    text_of,
)
from pipeline.tasks.settings import Tasks

WHAT = (
    "a JSON Lines file in the shape of HumanEval (prompt, entry_point, canonical_solution, test) or of MBPP (text, "
    "code, test_list), or a hub name such as openai/openai_humaneval, whose owner is no folder here"
)
LOADED: tuple[Specification, ...] = ("full",)


def read(settings: Tasks) -> tuple[list[Task], list[BadRow]]:
    """Every task of the file. Raises ConfigError where there is nothing to read."""
    name = hub_name(settings.path)
    rows = hub_rows(name) if name else json_lines(local_file(settings, WHAT))
    return parse(rows, distinct(task, lambda earlier, _: f" ({earlier[0].get('task_id', 'without a task_id')})"))


def task(row: dict[str, Any]) -> Task:
    """One row of either shape. Raises RowError."""
    if "test_list" in row:
        question, reference, tests = _mbpp(row)
    elif "entry_point" in row:
        question, reference, tests = _human_eval(row)
    else:
        raise RowError(f"neither 'entry_point' nor 'test_list'; found {', '.join(sorted(row)) or 'no keys'}")
    if tests.entry not in _functions(reference, "the reference solution"):
        raise RowError(f"the reference solution does not define {tests.entry!r}")
    _decides(tests)
    name = digest(" ".join(question.split()))  # a question about "(" is another one than about "<"
    return full_task("code", name, question, reference, facts=(), kind="loaded", tests=tests)


def _decides(tests: Tests) -> None:
    """Raises RowError for tests that a program of no use would pass, or that cannot be run."""
    body = _parsed(tests.script, "what prepares the tests").body
    names = symtable.symtable(tests.script, "<tests>", "exec")
    named = [names.lookup(tests.entry)] if tests.entry in names.get_identifiers() else []
    if any(name.is_assigned() or name.is_imported() for name in named):  # a definition assigns, too
        raise RowError(f"the tests define {tests.entry!r} themselves, and would never call the program's")
    if not any(isinstance(node, ast.Assert | ast.Raise) for each in body for node in ast.walk(each)):
        raise RowError("the tests assert nothing")


def _human_eval(row: dict[str, Any]) -> tuple[str, str, Tests]:
    prompt, entry, test = (_raw(row, key) for key in ("prompt", "entry_point", "test"))
    entry = entry.strip()
    body = _parsed(test, "'test'").body
    if not any(isinstance(node, ast.FunctionDef) and node.name == "check" for node in body):
        raise RowError("'test' does not define check(candidate), or defines it as async, which nobody would await")
    script = f"{test.strip()}\n\ncheck({entry})\n"
    question = f"Write this Python function, whole and without changing its name.\n{fenced(prompt)}"
    reference = (prompt + _raw(row, "canonical_solution")).strip()
    return question, reference, Tests(entry=entry, public=_doctests(reference, entry), script=script)


def _doctests(reference: str, entry: str) -> tuple[ExampleCall, ...]:
    """The examples of the function's docstring that are calls with plain data; they stand in the question."""
    for node in _parsed(reference, "the reference solution").body:
        if isinstance(node, ast.FunctionDef) and node.name == entry:
            try:
                shown = doctest.DocTestParser().get_examples(ast.get_docstring(node) or "")
            except ValueError:  # a docstring with examples in another form
                return ()
            examples = (
                _example(f"assert {doctested.source.strip()} == {doctested.want.strip() or None}", entry)
                for doctested in shown
            )
            return tuple(example for example in examples if example)
    return ()


def _mbpp(row: dict[str, Any]) -> tuple[str, str, Tests]:
    text = text_of(row, "text" if "text" in row else "prompt")
    code, asserts = _raw(row, "code").replace("\r\n", "\n").strip(), row["test_list"]
    if not isinstance(asserts, list) or not asserts or not all(isinstance(line, str) for line in asserts):
        raise RowError("'test_list' is no list of assertions")
    called = [name for line in asserts for name in _called(line)]
    own = _functions(code, "the reference solution")
    entry = next((name for name in called if name in own), None)
    if entry is None:
        raise RowError(f"the assertions call none of the functions of the reference solution ({', '.join(own)})")
    statements = [node for line in asserts for node in _parsed(line, "an assertion").body]
    if not statements or not all(isinstance(node, ast.Assert) for node in statements):
        raise RowError("'test_list' holds what is no assertion")
    imports = row.get("test_imports") or []
    if not isinstance(imports, list) or not all(isinstance(line, str) for line in imports):
        raise RowError("'test_imports' is no list of lines")
    setup = row.get("test_setup_code") or "\n".join(imports)
    if not isinstance(setup, str):
        raise RowError("'test_setup_code' is no text")
    script = "\n".join([*([setup] if setup else []), *asserts]) + "\n"
    shown = _example(asserts[0], entry)
    question = f"{text}\nName the function `{entry}`. For example:\n{asserts[0].strip()}"
    return question, code, Tests(entry=entry, public=(shown,) if shown else (), script=script)


def _raw(row: dict[str, Any], key: str) -> str:
    """Code, whose blanks count."""
    text_of(row, key)
    return str(row[key])


def _parsed(code: str, what: str) -> ast.Module:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise RowError(f"{what} is not Python: {error}") from None


def _functions(code: str, what: str) -> list[str]:
    return [node.name for node in _parsed(code, what).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def _called(assertion: str) -> Iterator[str]:
    for node in ast.walk(_parsed(assertion, f"the assertion {assertion!r}")):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def _example(assertion: str, entry: str) -> ExampleCall | None:
    """The assertion as a call and its value, where it is no more than that."""
    try:
        body = ast.parse(assertion).body
    except (SyntaxError, ValueError):
        return None
    match body:
        case [
            ast.Assert(
                test=ast.Compare(left=ast.Call(func=ast.Name(id=name)) as call, ops=[ast.Eq()], comparators=[value])
            )
        ]:
            if name == entry and not call.keywords and all(map(_plain, [*call.args, value])):
                return ExampleCall(call=ast.unparse(call), expected=ast.unparse(value))
    return None


def _plain(node: ast.expr) -> bool:
    try:
        packed(ast.literal_eval(node))  # an ellipsis is a literal, too
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True
