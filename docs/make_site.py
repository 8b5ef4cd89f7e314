"""Make build/site: the docs as a site, and what the notebooks print.

    python docs/make_site.py

Pages are those of docs/, in the order of docs/index.md, and the Markdown that stands beside code. The notebooks are run
from start to end. Zensical builds the site; a link to a page, a file or a heading that is not there ends it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
SOURCE, WORK, SITE = (ROOT / "build" / name for name in ("site_source", "notebooks", "site"))
# Where the rest goes by its own name, these would take one another's.
NAMED = {
    "README.md": "index.md", "docs/index.md": "pages.md", "configs/README.md": "which_config.md",
    "data/README.md": "embedded_base.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md",
}  # fmt: skip
LINK = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)\s]*)?\))")
NOTEBOOKS = ("audit", "train", "read")  # the last reads the run of the one before it
SETTINGS = """
[project]
site_name = "maieutic"
site_description = "Who learns to ask: dialogues under controlled knowledge asymmetry"
site_url = ""
use_directory_urls = false
docs_dir = "site_source"
site_dir = "site"
nav = {nav}

[project.theme]
font = false
features = [
    "content.code.copy", "navigation.footer", "navigation.sections", "navigation.top", "search.highlight", "toc.follow",
]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
toggle.icon = "lucide/sun"
toggle.name = "Dark"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
toggle.icon = "lucide/moon"
toggle.name = "Light"
"""


def pages() -> dict[Path, str]:
    """Every file that becomes part of the site, with its name there."""
    named = {ROOT / path: name for path, name in NAMED.items()}
    docs = {path: path.name for path in (ROOT / "docs").iterdir() if path.suffix in (".md", ".png", ".svg")}
    results = {path: f"results_{path.name}" for path in (ROOT / "docs" / "results").iterdir()}
    notebooks = {ROOT / "docs" / "notebooks" / f"{name}.ipynb": f"notebook_{name}.md" for name in NOTEBOOKS}
    beside = {ROOT / name: name for name in ("LICENSE", "CITATION.cff")}
    return docs | results | named | beside | notebooks


def with_links_of_the_site(path: Path, places: dict[Path, str]) -> str:
    """A page whose links go to where the pages stand in the site."""

    def link(found: re.Match[str]) -> str:
        target = Path(os.path.normpath(path.parent / found[2]))
        return f"{found[1]}{places.get(target, found[2])}{found[3]}"

    return LINK.sub(link, path.read_text(encoding="utf-8"))


def nav(places: dict[Path, str]) -> list[dict[str, object]]:
    """The sections of docs/index.md with their pages, between what to begin with and what a contributor reads."""
    sections: list[dict[str, object]] = [
        {"Start": ["index.md", "glossary.md", "pages.md"]},
        {"Notebooks": [f"notebook_{name}.md" for name in NOTEBOOKS]},
    ]
    for part in (ROOT / "docs" / "index.md").read_text(encoding="utf-8").split("\n## ")[1:]:
        title, *lines = part.splitlines()
        items = "\n".join(line for line in lines if line.startswith(("- ", "  ")))
        paths = [ROOT / "docs" / name for name in re.findall(r"\]\(([\w./]+\.md)\)", items)]
        linked = [places[Path(os.path.normpath(path))] for path in paths]
        sections.append({title: [{"Commands": name} if name == "commands.md" else name for name in linked]})
    return [*sections, {"More": ["embedded_base.md", "contributing.md", "changelog.md"]}]


def page_of_notebook(path: Path) -> str:
    """Run it in `WORK`; its cells, and under each what it printed. Raises CellExecutionError where one fails."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as sockets:  # of this user alone, where ports would be anybody's
        kernel = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=f"{sockets}/kernel")
        place = {"metadata": {"path": str(WORK)}}
        NotebookClient(notebook, kernel, timeout=600, startup_timeout=300, resources=place).execute(cleanup_kc=True)
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        if said := "".join(_said(output) for output in cell.outputs):
            plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said).replace(str(WORK), ".")
            parts.append(f"~~~~text\n{plain.rstrip()}\n~~~~")
    where = f"*`docs/notebooks/{path.name}`; under each cell stands what it printed when this site was made.*"
    title, _, rest = parts[0].partition("\n")
    return "\n\n".join([title, where, rest, *parts[1:]]) + "\n"


def _said(output: nbformat.NotebookNode) -> str:
    """Without warnings and bars of libraries, which go to standard error."""
    if output.output_type == "stream":
        return output.text if output.name == "stdout" else ""
    return output.data["text/plain"].rstrip("\n") + "\n"


def make() -> None:
    for folder in (SOURCE, WORK, SITE):
        shutil.rmtree(folder, ignore_errors=True)
    SOURCE.mkdir(parents=True)
    WORK.mkdir()
    places = pages()
    for path, name in places.items():
        if path.suffix == ".md":
            (SOURCE / name).write_text(with_links_of_the_site(path, places), encoding="utf-8")
        elif path.suffix == ".ipynb":
            (SOURCE / name).write_text(page_of_notebook(path), encoding="utf-8")
        else:
            shutil.copyfile(path, SOURCE / name)
    settings = SOURCE.parent / "zensical.toml"
    settings.write_text(SETTINGS.format(nav=_toml(nav(places))), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "zensical", "build", "--strict", "--clean", "-f", str(settings)], check=True)


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(key)} = {_toml(part)}' for key, part in value.items())}}}"
    return f"[{', '.join(map(_toml, value))}]" if isinstance(value, list) else json.dumps(value)


if __name__ == "__main__":
    make()
