"""Every error of ours is a MaieuticError, which the command line prints without a traceback."""

import ast
import builtins

from tests.test_rooms import trees

BUILT_IN = {
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
}
CONTAINED = {"pipeline.sandbox.checking_process", "pipeline.sandbox.solving_process"}  # they cannot import us


def bases_of_errors() -> dict[str, set[str]]:
    """Of each class that is an error by its name or by a base's, the names of its bases, whatever module has them."""
    found = {}
    for name, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and name not in CONTAINED:
                bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
                if bases & BUILT_IN or any(base.endswith(("Error", "Exception")) for base in (node.name, *bases)):
                    found[node.name] = bases
    return found


def test_no_error_of_ours_is_only_one_of_pythons_or_of_a_library():
    errors = bases_of_errors()
    ours = {"MaieuticError"}
    while more := {name for name, bases in errors.items() if bases & ours} - ours:
        ours |= more
    # An interrupt has to pass every `except Exception`; the command says what it stopped.
    assert len(ours) > 5 and errors.keys() - ours == {"Stopped"}
