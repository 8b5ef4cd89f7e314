"""The exams, a module or a folder each: formula, edge cases and source in the docstring, its metrics, a fixed partner.

Each runs on any engine. One whose content the embedded base cannot understand first gives its figures on people, on
reference text or on a scripted model with known behaviour (`reference`), and asks that base nothing.
"""
