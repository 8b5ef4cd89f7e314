"""Under which names the hub knows licences: a card that names another one is refused there, after all was sent.

The identifiers of https://huggingface.co/docs/hub/repositories-licenses; huggingface_hub has no list of them. Left out
are `unknown` and `other`, which state nothing.
"""

from __future__ import annotations

from pipeline.core.errors import ConfigError, meant

LICENCES = frozenset(
    """
    afl-3.0 agpl-3.0 apache-2.0 artistic-2.0 bigcode-openrail-m bigscience-bloom-rail-1.0 bigscience-openrail-m bsd
    bsd-2-clause bsd-3-clause bsd-3-clause-clear bsl-1.0 c-uda cc cc-by-2.0 cc-by-2.5 cc-by-3.0 cc-by-4.0 cc-by-nc-2.0
    cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nc-nd-3.0 cc-by-nc-nd-4.0 cc-by-nc-sa-2.0 cc-by-nc-sa-3.0 cc-by-nc-sa-4.0
    cc-by-nd-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc0-1.0 cdla-permissive-1.0 cdla-permissive-2.0 cdla-sharing-1.0
    creativeml-openrail-m deepfloyd-if-license ecl-2.0 epl-1.0 epl-2.0 etalab-2.0 eupl-1.1 eupl-1.2 gemma gfdl gpl
    gpl-2.0 gpl-3.0 isc lgpl lgpl-2.1 lgpl-3.0 lgpl-lr llama2 lppl-1.3c mit mpl-2.0 ms-pl ncsa odbl odc-by ofl-1.1
    openrail openrail++ osl-3.0 pddl postgresql unlicense wtfpl zlib
    """.split()
)


def known_licence(name: str, said_by: str) -> str:
    """The identifier as the hub writes it. Raises ConfigError with what `said_by` said, for one that it does not know.

    Its identifiers are those of SPDX in small letters where SPDX has the licence, but for a few (`odc-by`).
    """
    if name.lower() in LICENCES:
        return name.lower()
    raise ConfigError(
        f"push: {said_by}: {name!r} is no licence that the hub knows.{meant(name.lower(), LICENCES)} "
        f"Known: {', '.join(sorted(LICENCES))}"
    )
