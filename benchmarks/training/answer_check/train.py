"""Trains all layers of the local model, and a linear layer on the mean of the tokens, to judge whether a quote answers.

The embeddings stay as they are. The loss is that of each pair, and that of finding the right quote of a question. A
network that was trained before is trained further.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModel

from benchmarks.eval.measures import auc
from benchmarks.training.multilingual_check.groups import Group
from rag.providers.base import Vectors

_DIMENSIONS = 384
# As rag/providers/entailment/answer_check.py reads a question and a text.
_MAX_TOKENS, _MAX_QUESTION_TOKENS = 72, 40
_MIN_RATE, _WEIGHT_DECAY = 0.03, 0.01
# A batch has so many tokens, of groups of similar lengths among so many. Of a group at most so many quotes are used.
_TOKENS_PER_BATCH, _SORTED_GROUPS, _MAX_QUOTES = 2600, 400, 4
# A wrong label then costs less, and logits stay moderate.
_SMOOTHING = 0.03
# The weight of finding the right quote of a question.
_GROUP_WEIGHT = 0.5
_LOGGED_STEPS = 100


@dataclass(frozen=True, slots=True)
class _Rates:
    """The rates of the layers and of the linear layer, and in how many steps they are reached."""

    layers: float
    head: float
    warm_up: int


_FROM_PUBLISHED = _Rates(1.5e-4, 1.5e-3, 200)
# With higher rates a network that was trained before would forget what it learned from other pairs.
_FROM_TRAINED = _Rates(6e-5, 2.4e-4, 60)


# The tokens of a question and a quote: int64 (tokens), each with its segment, 0 for the question and 1 for the quote.
_Encoded = tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class _EncodedGroup:
    """The encoded quotes of a question, and whether each of them answers it."""

    quotes: list[_Encoded]
    is_right: list[bool]

    @property
    def length(self) -> int:
        return max(len(ids) for ids, _ in self.quotes)


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

    def train(self, groups: Sequence[Group]) -> None:
        """Train with each group once, in random order, with a rate that decreases linearly."""
        parameters = [parameter for parameter in self.layers.parameters() if parameter.requires_grad]
        optimizer = torch.optim.AdamW(
            [
                {"params": parameters, "lr": self._rates.layers},
                {"params": self.head.parameters(), "lr": self._rates.head},
            ],
            weight_decay=_WEIGHT_DECAY,
            betas=(0.9, 0.98),
        )
        batches = self._batches(groups, random.Random(7))
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: min(1, (step + 1) / self._rates.warm_up) * max(_MIN_RATE, 1 - step / len(batches))
        )
        self.layers.train()
        for step, batch in enumerate(batches):
            loss = _loss(self._logits([quote for group in batch for quote in group.quotes]), batch)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            schedule.step()
            if step % _LOGGED_STEPS == 0:
                print(f"step {step} of {len(batches)}: loss {float(loss.detach()):.3f}", flush=True)

    def evaluate(self, groups_by_source: Mapping[str, Sequence[Group]]) -> str:
        """Return how often a right quote of a source has a higher logit than a wrong one (AUC)."""
        self.layers.eval()
        results = []
        for source, groups in groups_by_source.items():
            logits: list[float] = []
            labels: list[bool] = []
            with torch.no_grad():
                for batch in self._batches(groups, random.Random(1)):
                    logits += self._logits([quote for group in batch for quote in group.quotes]).tolist()
                    labels += [is_right for group in batch for is_right in group.is_right]
            area = auc(logits, labels)
            results.append(f"{source} {'–' if area is None else f'{area:.3f}'}")
        return ", ".join(results)

    def weights(self) -> tuple[dict[str, Vectors], dict[str, Vectors]]:
        """Return the weights of the layers and of the linear layer, float32 by name."""
        layers, head = (
            {name: value.numpy() for name, value in module.state_dict().items()} for module in (self.layers, self.head)
        )
        return layers, head

    def _batches(self, groups: Sequence[Group], generator: random.Random) -> list[list[_EncodedGroup]]:
        """Return all groups in batches of similar lengths."""
        shuffled = [self._encode(group, generator) for group in generator.sample(groups, len(groups))]
        batches: list[list[_EncodedGroup]] = []
        for start in range(0, len(shuffled), _SORTED_GROUPS):
            part: list[list[_EncodedGroup]] = [[]]
            for group in sorted(shuffled[start : start + _SORTED_GROUPS], key=lambda group: group.length):
                count = sum(len(item.quotes) for item in [*part[-1], group])
                if part[-1] and count * group.length > _TOKENS_PER_BATCH:
                    part.append([])
                part[-1].append(group)
            batches += generator.sample(part, len(part))
        return batches

    def _encode(self, group: Group, generator: random.Random) -> _EncodedGroup:
        texts = generator.sample(group.texts, min(_MAX_QUOTES, len(group.texts)))
        return _EncodedGroup([self._join(group.question, text) for text, _ in texts], [right for _, right in texts])

    def _join(self, question: str, quote: str) -> _Encoded:
        cls, sep = (self._tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]"))
        of_question, of_quote = self._tokenizer.encode_batch_fast([question, quote], add_special_tokens=False)
        first = [cls, *of_question.ids[:_MAX_QUESTION_TOKENS], sep]
        second = [*of_quote.ids[: _MAX_TOKENS - len(first) - 1], sep]
        return torch.tensor([*first, *second]), torch.tensor([0] * len(first) + [1] * len(second))

    def _logits(self, quotes: Sequence[_Encoded]) -> Any:
        """Return the logit of each pair of a question and a quote, float32 (pairs)."""
        ids = pad_sequence([ids for ids, _ in quotes], batch_first=True)
        mask = pad_sequence([torch.ones_like(ids) for ids, _ in quotes], batch_first=True)
        segments = pad_sequence([segments for _, segments in quotes], batch_first=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            hidden = self.layers(ids, attention_mask=mask, token_type_ids=segments).last_hidden_state
        weights = mask[:, :, None].float()
        return self.head((hidden.float() * weights).sum(1) / weights.sum(1))[:, 0]


def _loss(logits: Any, batch: Sequence[_EncodedGroup]) -> Any:
    """Return the mean loss of the pairs, and that of finding the only right quote of each group."""
    labels = torch.tensor([float(is_right) for group in batch for is_right in group.is_right])
    loss = functional.binary_cross_entropy_with_logits(logits, labels * (1 - 2 * _SMOOTHING) + _SMOOTHING)
    of_groups = logits.split([len(group.quotes) for group in batch])
    choices = [
        functional.cross_entropy(row[None], torch.tensor([group.is_right.index(True)]))
        for row, group in zip(of_groups, batch, strict=True)
        if sum(group.is_right) == 1 < len(group.is_right)
    ]
    return loss + _GROUP_WEIGHT * torch.stack(choices).mean() if choices else loss
