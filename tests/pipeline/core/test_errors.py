"""Every error of ours is a MaieuticError, which the command line prints without a traceback."""

import ast

from tests.test_rooms import modules

BUILT_IN = {"Exception", "ValueError", "RuntimeError", "TypeError", "KeyError", "OSError"}
CONTAINED = {"pipeline.sandbox.checking_process", "pipeline.sandbox.solving_process"}  # they cannot import us


def test_no_error_of_ours_is_only_one_of_pythons():
    bare = []
    for name, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and name not in CONTAINED:
                bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
                if set(bases) & BUILT_IN and "MaieuticError" not in bases:
                    bare.append(f"{name}.{node.name}")
    assert bare == ["pipeline.core.errors.MaieuticError"]
