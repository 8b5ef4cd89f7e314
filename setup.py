"""What pyproject.toml cannot say: data/ and configs/ lie in the wheel as maieutic.data and maieutic.configs."""

from setuptools import find_packages, setup

SHIPPED = {
    "maieutic.data": "data",
    "maieutic.data.base": "data/base",
    "maieutic.data.hidden_item_base": "data/hidden_item_base",
    "maieutic.data.reading": "data/reading",
    "maieutic.data.readers.semantic": "data/readers/semantic",
    "maieutic.data.readers.cross_encoder": "data/readers/cross_encoder",
    "maieutic.configs": "configs",
}
CODE = ("maieutic*", "pipeline*", "training*", "evals*")

setup(packages=[*find_packages(include=CODE), *SHIPPED], package_dir=SHIPPED)
