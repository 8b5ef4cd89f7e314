"""Runs a module that trains, and prints as JSON what its training loop took. benchmarks/training.py reads it.

python -m benchmarks.timed maieutic train configs/quickstart.yaml
"""

from __future__ import annotations

import json
import runpy
import sys
import time
from typing import Any

from transformers import Trainer

plain = Trainer.train


def train(self: Trainer, *arguments: Any, **named: Any) -> Any:
    began = time.process_time()
    result = plain(self, *arguments, **named)
    took = time.process_time() - began
    print(json.dumps({"steps": self.state.global_step, "loss": result.training_loss, "loop_s": took}), flush=True)
    return result


if __name__ == "__main__":
    Trainer.train = train  # type: ignore[method-assign]
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
