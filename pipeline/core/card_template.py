"""Templates of the cards that people read beside datasets and students."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined, Template


def card_template(package: str, name: str) -> Template:
    """A Markdown template of a package's folder `templates`; what it names and nobody gives is an error."""
    return Environment(
        loader=PackageLoader(package),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    ).get_template(name)
