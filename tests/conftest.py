"""What every test needs: one thread, no network, and nothing of the user's own settings."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"
# Several processes share the cores; before torch is imported, which reads it once.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["TOKENIZERS_PARALLELISM"] = "false"
