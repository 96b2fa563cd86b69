"""Trains a projection of question tokens, so that MaxSim prefers the sentence that answers the question."""

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from benchmarks.training.embedded_texts import EmbeddedQuestion, EmbeddedText

_DIMENSIONS, _MAX_TOKENS = 384, 64
_BATCH, _RATE, _WARM_UP, _TEMPERATURE = 16, 2e-3, 100, 20.0
# How many other passages of the same group a question is compared with.
_OTHERS, _OTHERS_IN_EVALUATION, _MAX_EVALUATED = 4, 7, 500
# A section has many sentences; each of them is a little right.
_SHARE_OF_ALL_SENTENCES = 0.15

Sets = Mapping[str, Sequence[EmbeddedText]]
QuestionSets = Mapping[str, Sequence[EmbeddedQuestion]]


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A question and the sentences that it is compared with: first those of its own passage, then the others.

    Attributes:
        tokens: The token vectors of the question (tokens, dimensions).
        signatures: The signatures of all passages as -1 or 1 (rows, dimensions).
        rows: For each sentence, the rows of its tokens, one sentence after the other.
        sentences: The sentence of each of these rows.
        count: The number of sentences.
        in_passage: The number of sentences of its own passage.
        answers: The sentences that answer the question.
    """

    tokens: Any
    signatures: Any
    rows: Any
    sentences: Any
    count: int
    in_passage: int
    answers: list[int]


class Projection(torch.nn.Module):
    """A matrix for the token vectors of a question, and a linear weight of each token. At first nothing changes."""

    def __init__(self) -> None:
        super().__init__()
        self.matrix = torch.nn.Linear(_DIMENSIONS, _DIMENSIONS, bias=False)
        self.weight = torch.nn.Linear(_DIMENSIONS, 1)
        self.scale = torch.nn.Parameter(torch.tensor(_TEMPERATURE))
        torch.nn.init.eye_(self.matrix.weight)
        torch.nn.init.zeros_(self.weight.weight)
        torch.nn.init.constant_(self.weight.bias, 0.5413)  # softplus of it is 1

    def forward(self, tokens: Any) -> tuple[Any, Any]:
        """Return the projected tokens, of length 1, and their weights, not yet divided by their sum."""
        return functional.normalize(self.matrix(tokens), dim=1), functional.softplus(self.weight(tokens)[:, 0])

    def parameters_as_arrays(self) -> tuple[Any, Any, float]:
        return (
            self.matrix.weight.detach().numpy(),
            self.weight.weight.detach().numpy()[0],
            float(self.weight.bias.detach()[0]),
        )


def train(texts: Sets, questions: QuestionSets) -> Projection:
    """Train with each question once, in random order, with a rate that decreases linearly."""
    torch.set_num_threads(1)  # the matrices are small
    torch.manual_seed(1)
    generator = random.Random(5)
    projection = Projection()
    names = ("matrix.weight", "weight.weight", "weight.bias")
    parameters = [parameter for name, parameter in projection.named_parameters() if name in names]
    optimizer = torch.optim.AdamW(
        [{"params": parameters, "lr": _RATE, "weight_decay": 1e-3}, {"params": [projection.scale], "lr": 0.1}]
    )
    pairs = [(name, question) for name in questions for question in questions[name]]
    generator.shuffle(pairs)
    steps = len(pairs) // _BATCH
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / _WARM_UP) * max(0.05, 1 - step / steps)
    )
    groups = {name: _indexes_by_group(texts[name]) for name in texts}
    for step in range(steps):
        batch = [
            _compare(texts[name], groups[name], question, _OTHERS, generator)
            for name, question in pairs[step * _BATCH : (step + 1) * _BATCH]
        ]
        scores = _scores(projection, batch)
        loss = sum(_loss(item, score * projection.scale) for item, score in zip(batch, scores, strict=True)) / _BATCH
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(projection.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 200 == 0:
            print(f"step {step} of {steps}: loss {float(loss.detach()):.3f}", flush=True)
    return projection


def evaluate(projection: Projection | None, texts: Sets, questions: QuestionSets) -> str:
    """Return how often the best sentence answers the question, within its passage and among eight passages."""
    results = []
    model = projection or Projection()
    for name, of_set in questions.items():
        generator, groups = random.Random(1), _indexes_by_group(texts[name])
        chosen = generator.sample(list(of_set), min(_MAX_EVALUATED, len(of_set)))
        within = among = 0
        with torch.no_grad():
            for question in chosen:
                item = _compare(texts[name], groups, question, _OTHERS_IN_EVALUATION, generator)
                (scores,) = _scores(model, [item])
                within += int(scores[: item.in_passage].argmax()) in item.answers
                among += int(scores.argmax()) in item.answers
        if chosen:
            results.append(f"{name} {within / len(chosen):.3f} and {among / len(chosen):.3f}")
    return ", ".join(results)


def _indexes_by_group(texts: Sequence[EmbeddedText]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for index, text in enumerate(texts):
        groups.setdefault(text.group, []).append(index)
    return groups


def _compare(
    texts: Sequence[EmbeddedText],
    groups: Mapping[str, list[int]],
    question: EmbeddedQuestion,
    others: int,
    generator: random.Random,
) -> _Comparison:
    similar = [index for index in groups[texts[question.text_index].group] if index != question.text_index]
    passages = [question.text_index, *generator.sample(similar, min(others, len(similar)))]
    if len(passages) < 3:
        passages.append(generator.randrange(len(texts)))
    starts = itertools.accumulate((len(texts[index].signatures) for index in passages), initial=0)
    rows = [
        sentence + start for index, start in zip(passages, starts, strict=False) for sentence in texts[index].sentences
    ]
    bits = np.unpackbits(np.concatenate([texts[index].signatures for index in passages]), axis=1)
    return _Comparison(
        tokens=torch.from_numpy(question.token_vectors[:_MAX_TOKENS]),
        signatures=torch.from_numpy(bits.astype(np.float32) * 2 - 1),
        rows=torch.from_numpy(np.concatenate(rows)),
        sentences=torch.repeat_interleave(torch.arange(len(rows)), torch.tensor([len(row) for row in rows])),
        count=len(rows),
        in_passage=len(texts[question.text_index].sentences),
        answers=question.answers,
    )


def _scores(projection: Projection, batch: Sequence[_Comparison]) -> list[Any]:
    """Return the weighted MaxSim of each sentence of each comparison."""
    lengths = [len(item.tokens) for item in batch]
    vectors, weights = projection(torch.cat([item.tokens for item in batch]))
    vectors = pad_sequence(list(torch.split(vectors, lengths)), batch_first=True)
    weights = pad_sequence(list(torch.split(weights, lengths)), batch_first=True)
    weights = weights / weights.sum(1, keepdim=True)
    signatures = pad_sequence([item.signatures for item in batch], batch_first=True)
    similarities = torch.bmm(signatures, vectors.transpose(1, 2)) / _DIMENSIONS**0.5
    counts = [item.count for item in batch]
    firsts = list(itertools.accumulate(counts, initial=0))
    rows = torch.cat([item.rows + number * signatures.shape[1] for number, item in enumerate(batch)])
    sentences = torch.cat([item.sentences + first for item, first in zip(batch, firsts, strict=False)])
    width = similarities.shape[2]
    lower_than_any = -9.0
    best = torch.full((firsts[-1], width), lower_than_any).scatter_reduce(
        0, sentences[:, None].expand(-1, width), similarities.reshape(-1, width)[rows], "amax"
    )
    owners = torch.repeat_interleave(torch.arange(len(batch)), torch.tensor(counts))
    return list(torch.split((best * weights[owners]).sum(1), counts))


def _loss(item: _Comparison, scores: Any) -> Any:
    """Return the cross entropy of the answers among all sentences, and half of that within its own passage."""
    answers = torch.log_softmax(scores, 0)[item.answers]
    loss = -torch.logsumexp(answers, 0)
    if len(item.answers) > 1:
        loss = 0.5 * loss - _SHARE_OF_ALL_SENTENCES * answers.mean()
    if 1 < item.in_passage < item.count and len(item.answers) < item.in_passage:
        within = torch.log_softmax(scores[: item.in_passage], 0)[item.answers]
        loss = loss - 0.5 * torch.logsumexp(within, 0)
    return loss
