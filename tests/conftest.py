"""What every test needs: one thread, no network, and nothing of the user's own settings."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
