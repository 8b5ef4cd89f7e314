"""The value of an arithmetic expression that a model wrote: exact, and nothing else is ever run.

What is not numbers, + - * / and parentheses is refused before Python's parser reads it, and the tree that
the parser gives is walked here: no name, call, power or comparison has a meaning, and nothing is `eval`ed.

    evaluate("(1,200 - 300) / 4")     # Computed(value=Fraction(225), numbers=(Fraction(1200), ...))
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from pipeline.core.errors import MaieuticError

LONGEST = 200  # characters; what a word problem needs is far shorter, and deep nesting cannot stand in it
PLACES = 2  # decimals of a number as people write it, at most
SIGNS = str.maketrans({"×": "*", "÷": "/", "−": "-", "–": "-"})
BINARY: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
UNARY: dict[type[ast.unaryop], Callable[[Fraction], Fraction]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}


class NotArithmetic(MaieuticError, ValueError):
    """An expression that has no value here; the message says what of it."""


class Computed(NamedTuple):
    """What an expression comes to, exactly."""

    value: Fraction
    numbers: tuple[Fraction, ...]  # that stand in the expression, in its order
    operations: int  # between two numbers


def evaluate(expression: str) -> Computed:
    """The exact value of sums, differences, products and quotients. Raises NotArithmetic."""
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", expression.translate(SIGNS)).strip()
    if len(text) > LONGEST:
        raise NotArithmetic(f"{len(text)} characters, at most {LONGEST} are expected")
    if strange := re.search(r"[^0-9.+\-*/() ]", text):
        raise NotArithmetic(f"{strange[0]!r} in {text!r}: only numbers, + - * / and parentheses are expected")
    try:
        tree = ast.parse(text, mode="eval").body
        numbers: list[Fraction] = []
        value = _value(tree, text, numbers)
    except ZeroDivisionError:
        raise NotArithmetic(f"{text!r} divides by zero") from None
    except (SyntaxError, RecursionError, MemoryError):
        raise NotArithmetic(f"{text!r} is no arithmetic expression") from None
    return Computed(value, tuple(numbers), sum(isinstance(node, ast.BinOp) for node in ast.walk(tree)))


def _value(node: ast.expr, text: str, numbers: list[Fraction]) -> Fraction:
    match node:
        case ast.Constant(int() | float()):  # read from the text, since the parser's own number is a rounded one
            numbers.append(Fraction(ast.get_source_segment(text, node) or ""))
            return numbers[-1]
        case ast.BinOp(left, sign, right) if type(sign) in BINARY:
            first = _value(left, text, numbers)
            return BINARY[type(sign)](first, _value(right, text, numbers))
        case ast.UnaryOp(ast.USub(), ast.Constant(int() | float()) as operand):  # a number below zero
            numbers.append(-Fraction(ast.get_source_segment(text, operand) or ""))
            return numbers[-1]
        case ast.UnaryOp(sign, operand) if type(sign) in UNARY:
            return UNARY[type(sign)](_value(operand, text, numbers))
    raise NotArithmetic(f"{text!r}: only numbers, + - * / and parentheses are expected")


def written(value: Fraction) -> str:
    """A number as people write it: 225, 0.5. Raises NotArithmetic where PLACES decimals do not hold it exactly."""
    scaled = value * 10**PLACES
    if scaled.denominator != 1:
        raise NotArithmetic(f"the value {value} has more than {PLACES} decimals: people would round it, each otherwise")
    whole, rest = divmod(abs(scaled.numerator), 10**PLACES)
    decimals = f"{rest:0{PLACES}d}".rstrip("0")
    return f"{'-' if value < 0 else ''}{whole}{'.' * bool(decimals)}{decimals}"
