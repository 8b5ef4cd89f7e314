"""The loss of SFTTrainer, on a CPU without the work that nobody uses.

TRL multiplies every position by the vocabulary, padding and the partner's words included, and adds entropy
and accuracy of each batch; on a GPU its own kernel leaves out what carries no loss. Here the head is given
the learned positions alone. Loss and gradient are TRL's, in its order of operations: in float32 and one pass a step
adapters are the same bytes, otherwise they differ by rounding.

    python -m benchmarks.training     # how much that saves
"""

from __future__ import annotations

from typing import Any

import torch
from trl import SFTTrainer

from training.inputs.masks import IGNORE


class StudentTrainer(SFTTrainer):
    """SFTTrainer; a step's loss is the mean over its learned tokens, however many passes it takes."""

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Minus the sum of the learned tokens' log-probabilities, by how many the whole step has."""
        if num_items_in_batch is None or inputs["labels"].device.type != "cpu" or self.aux_loss_enabled:
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        labels = inputs.pop("labels")[:, 1:]
        learned = labels != IGNORE
        head = self.accelerator.unwrap_model(model).get_output_embeddings()
        with head.register_forward_pre_hook(lambda _, states: (states[0][:, :-1][learned],)):
            logits = model(**inputs, use_cache=False).logits.float()
        scores = _LogProbability.apply(logits, labels[learned])
        # Summed in the batch's shape, as TRL does it: another order would round otherwise.
        total = scores.new_zeros(learned.shape).masked_scatter(learned, scores).sum()
        return -total / num_items_in_batch * self.accelerator.num_processes  # processes' gradients are averaged


class _LogProbability(torch.autograd.Function):
    """Log-probability of each row's target; its gradient rounds as TRL's does, so adapters are the same bytes."""

    @staticmethod
    def forward(ctx: Any, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        total = logits.logsumexp(1)
        ctx.save_for_backward(logits, targets, total)
        return logits.gather(1, targets[:, None])[:, 0] - total

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        logits, targets, total = ctx.saved_tensors
        towards = (logits - total[:, None]).exp_().neg_()
        towards.scatter_add_(1, targets[:, None], towards.new_ones(len(targets), 1))
        return towards.mul_(gradients[0][:, None]), None
