"""Societies of peers: n agents that answer one query, hear their neighbours, and form silos or one of them.

Mirroring and silos after McGuinness, Wang, Priebe and Helm (arXiv 2412.06834). Measured in evals/society/silos.py.

    maieutic society configs/mirroring.yaml
"""
