"""Trains a network with groups of texts: whether each answers the question, and which one of a group does."""

import random
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import torch
from torch.nn import functional

from benchmarks.eval.measures import auc
from benchmarks.training.multilingual_check.groups import Group
from benchmarks.training.multilingual_check.network import CheckNetwork
from rag.providers.entailment.multilingual.check import join
from rag.providers.entailment.multilingual.pieces import PieceSplitter

_RATE, _HEAD_RATE, _WARM_UP, _MIN_SHARE, _WEIGHT_DECAY = 6e-4, 1.2e-3, 60, 0.03, 0.01
# A batch has so many tokens, of groups of similar lengths among so many.
_TOKENS_PER_BATCH, _SORTED_GROUPS = 2400, 200
# A wrong label then costs less, and logits stay moderate.
_SMOOTHING = 0.015
# The weights of the early linear layer and of the last one, for single pairs and for groups.
_PAIR_WEIGHTS, _GROUP_WEIGHTS = (0.4, 1.0), (0.25, 0.6)
_LOGGED_STEPS = 100

_Encoded = tuple[list[list[int]], list[bool]]


def train(network: CheckNetwork, splitter: PieceSplitter, groups: Iterator[Group], steps: int) -> None:
    """Train for so many steps, with a rate that decreases linearly."""
    torch.set_num_threads(1)
    parameters = network.trained_parameters()
    optimizer = torch.optim.AdamW(
        [{"params": parameters, "lr": _RATE}, {"params": network.heads.parameters(), "lr": _HEAD_RATE}],
        weight_decay=_WEIGHT_DECAY,
        betas=(0.9, 0.98),
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / _WARM_UP) * max(_MIN_SHARE, 1 - step / steps)
    )
    network.train()
    for step, batch in enumerate(islice(_batches(groups, splitter, random.Random(7)), steps)):
        loss = _loss(network([ids for sequences, _ in batch for ids in sequences]), [labels for _, labels in batch])
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
            sequences, of_group = _encode(group, splitter)
            logits += network(sequences)[-1].tolist()
            labels += of_group
    return auc(logits, labels)


def _encode(group: Group, splitter: PieceSplitter) -> _Encoded:
    question = splitter.ids(group.question)
    return [join(question, splitter.ids(text)) for text, _ in group.texts], [is_right for _, is_right in group.texts]


def _batches(groups: Iterator[Group], splitter: PieceSplitter, generator: random.Random) -> Iterator[list[_Encoded]]:
    """Yield groups of similar lengths together, without an end."""
    while True:
        encoded = [_encode(group, splitter) for group in islice(groups, _SORTED_GROUPS)]
        batches: list[list[_Encoded]] = [[]]
        for group in sorted(encoded, key=_longest):
            count = sum(len(sequences) for sequences, _ in [*batches[-1], group])
            if batches[-1] and count * _longest(group) > _TOKENS_PER_BATCH:
                batches.append([])
            batches[-1].append(group)
        generator.shuffle(batches)
        yield from batches


def _longest(group: _Encoded) -> int:
    return max(map(len, group[0]))


def _loss(logits: Any, labels: Sequence[Sequence[bool]]) -> Any:
    """Return the loss of each pair, and of finding the only right text of each group."""
    flat = torch.tensor([float(label) for of_group in labels for label in of_group])
    smooth = flat * (1 - 2 * _SMOOTHING) + _SMOOTHING
    loss = sum(
        weight * functional.binary_cross_entropy_with_logits(row, smooth)
        for weight, row in zip(_PAIR_WEIGHTS, logits, strict=True)
    )
    bounds = torch.tensor([0, *map(len, labels)]).cumsum(0).tolist()
    choices = [
        (start, of_group) for start, of_group in zip(bounds, labels, strict=False) if sum(of_group) == 1 < len(of_group)
    ]
    for weight, row in zip(_GROUP_WEIGHTS, logits, strict=True):
        for start, of_group in choices:
            right = torch.tensor([of_group.index(True)])
            loss = loss + weight / len(choices) * functional.cross_entropy(
                row[start : start + len(of_group)][None], right
            )
    return loss
