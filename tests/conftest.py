"""What every test needs: one thread, no network, and nothing of the user's own settings."""

import gc
import os

os.environ["HF_HUB_OFFLINE"] = "1"
# Several processes share the cores; before torch is imported, which reads it once.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["TOKENIZERS_PARALLELISM"] = "false"
# What torch, transformers and the tests are made of lives on; to look it through for garbage took a fifth of the time.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
    gc.set_threshold(100_000, 50, 100)
