"""Trains a network with groups of texts: whether each answers the question, and which one of a group does.

A network that was trained before learns from new groups, and its earlier logits of others, so that it judges these as
before (Li and Hoiem 2016).
"""

import copy
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch.nn import functional

from benchmarks.eval.measures import auc
from benchmarks.training.multilingual_check.groups import Group
from benchmarks.training.multilingual_check.network import CheckNetwork
from rag.providers.entailment.multilingual.check import join
from rag.providers.entailment.multilingual.pieces import PieceSplitter


@dataclass(frozen=True, slots=True)
class _Rates:
    """The rates of the layers and of the linear layers, and in how many steps they are reached."""

    layers: float
    heads: float
    warm_up: int


_FIRST, _FURTHER = _Rates(6e-4, 1.2e-3, 60), _Rates(2.5e-4, 2.5e-4, 20)
_MIN_SHARE, _WEIGHT_DECAY = 0.03, 0.01
# A batch has so many tokens, of groups of similar lengths among so many.
_TOKENS_PER_BATCH, _SORTED_GROUPS = 2400, 200
# A wrong label then costs less, and logits stay moderate.
_SMOOTHING = 0.015
# The weights of the early linear layer and of the last one, for single pairs and for groups.
_PAIR_WEIGHTS, _GROUP_WEIGHTS = (0.4, 1.0), (0.25, 0.6)
# The weight of finding the right text of a group whose logits are kept.
_KEPT_GROUP_WEIGHT = 0.15
_LOGGED_STEPS = 100


@dataclass(frozen=True, slots=True)
class _Encoded:
    """The pieces of a group's texts with its question, and whether each text answers it."""

    sequences: list[list[int]]
    is_right: list[bool]
    keeps_logits: bool

    @property
    def longest(self) -> int:
        return max(map(len, self.sequences))


def train(network: CheckNetwork, splitter: PieceSplitter, groups: Iterator[Group], steps: int) -> None:
    """Train for so many steps, with a rate that decreases linearly."""

    def loss_of(batch: Sequence[_Encoded]) -> Any:
        logits = network(_sequences(batch))
        return sum(
            pair_weight * _pair_loss(row, batch) + group_weight * _group_loss(row, batch)
            for row, pair_weight, group_weight in zip(logits, _PAIR_WEIGHTS, _GROUP_WEIGHTS, strict=True)
        )

    _train(network, _batches(groups, splitter, random.Random(7)), steps, _FIRST, loss_of)


def train_further(network: CheckNetwork, splitter: PieceSplitter, groups: Iterator[Group], steps: int) -> None:
    """Train a network that was trained before, with lower rates, so that it keeps its logits of some groups."""
    earlier = copy.deepcopy(network).eval()

    def loss_of(batch: Sequence[_Encoded]) -> Any:
        learned, kept = ([group for group in batch if group.keeps_logits == keeps] for keeps in (False, True))
        logits = network(_sequences([*learned, *kept]))[-1]
        count = len(_sequences(learned))
        loss = torch.zeros(())
        if learned:
            row = logits[:count]
            loss = loss + _PAIR_WEIGHTS[-1] * _pair_loss(row, learned) + _GROUP_WEIGHTS[-1] * _group_loss(row, learned)
        if kept:
            row = logits[count:]
            with torch.no_grad():
                sought = earlier(_sequences(kept))[-1]
            loss = loss + functional.mse_loss(row, sought) + _KEPT_GROUP_WEIGHT * _group_loss(row, kept)
        return loss

    _train(network, _batches(groups, splitter, random.Random(7)), steps, _FURTHER, loss_of)


def _train(
    network: CheckNetwork,
    batches: Iterator[list[_Encoded]],
    steps: int,
    rates: _Rates,
    loss_of: Callable[[Sequence[_Encoded]], Any],
) -> None:
    torch.set_num_threads(1)
    parameters = network.trained_parameters()
    optimizer = torch.optim.AdamW(
        [{"params": parameters, "lr": rates.layers}, {"params": network.heads.parameters(), "lr": rates.heads}],
        weight_decay=_WEIGHT_DECAY,
        betas=(0.9, 0.98),
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / rates.warm_up) * max(_MIN_SHARE, 1 - step / steps)
    )
    network.train()
    for step, batch in enumerate(islice(batches, steps)):
        loss = loss_of(batch)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        schedule.step()
        if step % _LOGGED_STEPS == 0:
            print(f"step {step} of {steps}: loss {float(loss.detach()):.3f}", flush=True)


def evaluate(network: CheckNetwork, splitter: PieceSplitter, groups: Sequence[Group]) -> float | None:
    """Return how often a text that answers its question has a higher logit than one that does not (AUC)."""
    network.eval()
    logits: list[float] = []
    labels: list[bool] = []
    with torch.no_grad():
        for group in groups:
            encoded = _encode(group, splitter)
            logits += network(encoded.sequences)[-1].tolist()
            labels += encoded.is_right
    return auc(logits, labels)


def _encode(group: Group, splitter: PieceSplitter) -> _Encoded:
    question = splitter.ids(group.question)
    sequences = [join(question, splitter.ids(text)) for text, _ in group.texts]
    return _Encoded(sequences, [is_right for _, is_right in group.texts], group.keeps_logits)


def _sequences(batch: Sequence[_Encoded]) -> list[list[int]]:
    return [ids for group in batch for ids in group.sequences]


def _batches(groups: Iterator[Group], splitter: PieceSplitter, generator: random.Random) -> Iterator[list[_Encoded]]:
    """Yield groups of similar lengths together, without an end."""
    while True:
        encoded = [_encode(group, splitter) for group in islice(groups, _SORTED_GROUPS)]
        batches: list[list[_Encoded]] = [[]]
        for group in sorted(encoded, key=lambda group: group.longest):
            count = len(_sequences([*batches[-1], group]))
            if batches[-1] and count * group.longest > _TOKENS_PER_BATCH:
                batches.append([])
            batches[-1].append(group)
        generator.shuffle(batches)
        yield from batches


def _pair_loss(logits: Any, batch: Sequence[_Encoded]) -> Any:
    labels = torch.tensor([float(is_right) for group in batch for is_right in group.is_right])
    return functional.binary_cross_entropy_with_logits(logits, labels * (1 - 2 * _SMOOTHING) + _SMOOTHING)


def _group_loss(logits: Any, batch: Sequence[_Encoded]) -> Any:
    """Return the mean loss of finding the only right text of each group."""
    of_groups = logits.split([len(group.sequences) for group in batch])
    choices = [
        functional.cross_entropy(row[None], torch.tensor([group.is_right.index(True)]))
        for row, group in zip(of_groups, batch, strict=True)
        if sum(group.is_right) == 1 < len(group.is_right)
    ]
    return torch.stack(choices).mean() if choices else torch.zeros(())
