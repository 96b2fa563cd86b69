"""Trains all layers of the local model, and a linear layer on the mean of the tokens, to judge whether a quote answers.

The embeddings stay as they are. Each pair is used once. A network that was trained before is trained further.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModel

from benchmarks.eval.measures import auc
from benchmarks.training.answer_check.pairs import Pair
from rag.providers.base import Vectors

_DIMENSIONS = 384
# As rag/providers/entailment/answer_check.py reads a question and a text.
_MAX_TOKENS, _MAX_QUESTION_TOKENS = 112, 48
_BATCH, _MIN_RATE, _WEIGHT_DECAY = 32, 0.02, 0.01
# Pairs of similar lengths are in a batch: sorted among those of so many batches.
_SORTED_BATCHES = 40
# A wrong label then costs less, and logits stay moderate.
_SMOOTHING = 0.03
_LOGGED_STEPS = 100


@dataclass(frozen=True, slots=True)
class _Rates:
    """The rates of the layers and of the linear layer, and in how many steps they are reached."""

    layers: float
    head: float
    warm_up: int


_FROM_PUBLISHED = _Rates(1.5e-4, 1.5e-3, 200)
# With higher rates a network that was trained before would forget what it learned from other pairs.
_FROM_TRAINED = _Rates(3e-5, 1.2e-4, 100)


@dataclass(frozen=True, slots=True)
class _Encoded:
    """The tokens of a pair: int64 (tokens), each with its segment, 0 for the question and 1 for the quote."""

    ids: Any
    segments: Any


class AnswerNetwork:
    """The network of rag/providers/entailment/answer_check_graph.py, before it is written as differences."""

    def __init__(self, folder: Path) -> None:
        torch.manual_seed(3)
        torch.set_num_threads(1)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.layers = AutoModel.from_pretrained(folder, attn_implementation="eager")
        self.head = torch.nn.Linear(_DIMENSIONS, 1)
        for parameter in self.layers.embeddings.parameters():
            parameter.requires_grad = False
        self._rates = _FROM_PUBLISHED

    def load(self, layers: Mapping[str, Vectors], head: Mapping[str, Vectors]) -> None:
        """Continue from weights that were trained before, with lower rates.

        Args:
            layers: Weights of the layers, by name. The others stay as they are.
            head: `weight` and `bias` of the linear layer.
        """
        state = self.layers.state_dict()
        for name, weights in layers.items():
            state[name].copy_(torch.from_numpy(weights))
        self.head.load_state_dict({name: torch.from_numpy(value) for name, value in head.items()})
        self._rates = _FROM_TRAINED

    def train(self, pairs: Sequence[Pair]) -> None:
        """Train with each pair once, in random order, with a rate that decreases linearly."""
        encoded = [self._encode(pair) for pair in pairs]
        labels = torch.tensor([float(pair.is_right) for pair in pairs]) * (1 - 2 * _SMOOTHING) + _SMOOTHING
        parameters = [parameter for parameter in self.layers.parameters() if parameter.requires_grad]
        optimizer = torch.optim.AdamW(
            [
                {"params": parameters, "lr": self._rates.layers},
                {"params": self.head.parameters(), "lr": self._rates.head},
            ],
            weight_decay=_WEIGHT_DECAY,
        )
        batches = _batches([len(item.ids) for item in encoded], random.Random(7))
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: min(1, (step + 1) / self._rates.warm_up) * max(_MIN_RATE, 1 - step / len(batches))
        )
        self.layers.train()
        for step, batch in enumerate(batches):
            logits = self._logits([encoded[index] for index in batch])
            loss = functional.binary_cross_entropy_with_logits(logits, labels[batch])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            schedule.step()
            if step % _LOGGED_STEPS == 0:
                print(f"step {step} of {len(batches)}: loss {float(loss.detach()):.3f}", flush=True)

    def evaluate(self, pairs_by_source: Mapping[str, Sequence[Pair]]) -> str:
        """Return how often a right pair of a source has a higher logit than a wrong one (AUC)."""
        self.layers.eval()
        results = []
        for source, pairs in pairs_by_source.items():
            encoded = [self._encode(pair) for pair in pairs]
            logits = np.zeros(len(pairs))
            with torch.no_grad():
                for batch in _batches([len(item.ids) for item in encoded], random.Random(1)):
                    logits[batch] = self._logits([encoded[index] for index in batch]).numpy()
            area = auc(logits.tolist(), [pair.is_right for pair in pairs])
            results.append(f"{source} {'–' if area is None else f'{area:.3f}'}")
        return ", ".join(results)

    def weights(self) -> tuple[dict[str, Vectors], dict[str, Vectors]]:
        """Return the weights of the layers and of the linear layer, float32 by name."""
        layers, head = (
            {name: value.numpy() for name, value in module.state_dict().items()} for module in (self.layers, self.head)
        )
        return layers, head

    def _encode(self, pair: Pair) -> _Encoded:
        cls, sep = (self._tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]"))
        question, quote = self._tokenizer.encode_batch_fast([pair.question, pair.quote], add_special_tokens=False)
        first = [cls, *question.ids[:_MAX_QUESTION_TOKENS], sep]
        second = [*quote.ids[: _MAX_TOKENS - len(first) - 1], sep]
        return _Encoded(torch.tensor([*first, *second]), torch.tensor([0] * len(first) + [1] * len(second)))

    def _logits(self, batch: Sequence[_Encoded]) -> Any:
        """Return the logit of each pair, float32 (pairs)."""
        ids = pad_sequence([item.ids for item in batch], batch_first=True)
        mask = pad_sequence([torch.ones_like(item.ids) for item in batch], batch_first=True)
        segments = pad_sequence([item.segments for item in batch], batch_first=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            hidden = self.layers(ids, attention_mask=mask, token_type_ids=segments).last_hidden_state
        weights = mask[:, :, None].float()
        return self.head((hidden.float() * weights).sum(1) / weights.sum(1))[:, 0]


def _batches(lengths: Sequence[int], generator: random.Random) -> list[list[int]]:
    """Return the indexes of all pairs in batches of similar lengths."""
    order = list(range(len(lengths)))
    generator.shuffle(order)
    batches = []
    for start in range(0, len(order), _BATCH * _SORTED_BATCHES):
        part = sorted(order[start : start + _BATCH * _SORTED_BATCHES], key=lambda index: lengths[index])
        batches_of_part = [part[first : first + _BATCH] for first in range(0, len(part), _BATCH)]
        generator.shuffle(batches_of_part)
        batches += batches_of_part
    return batches
