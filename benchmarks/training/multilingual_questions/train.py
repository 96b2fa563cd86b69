"""Trains a matrix for the vectors of questions, so that the sentence that answers a question is similar to it."""

import random
from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional

from benchmarks.training.multilingual_questions.articles import Article

_DIMENSIONS, _EPOCHS, _BATCH, _RATE, _TEMPERATURE = 512, 2, 64, 1e-3, 12.0
# How much the matrix may differ from one that changes nothing: it is trained in English, and used in all languages.
_REGULARISATION = 0.003
# How many other passages of the same article a question is compared with.
_OTHERS = 4


def train(articles: Sequence[Article]) -> Any:
    """Train with the cross entropy of the sentence that answers each question, at a rate that decreases linearly.

    Returns:
        The matrix, a tensor of float32 (dimensions, dimensions).
    """
    torch.set_num_threads(1)  # the matrices are small
    torch.manual_seed(1)
    generator = random.Random(5)
    identity = torch.eye(_DIMENSIONS)
    matrix, scale = torch.nn.Parameter(identity.clone()), torch.nn.Parameter(torch.tensor(_TEMPERATURE))
    optimizer = torch.optim.AdamW([{"params": [matrix]}, {"params": [scale], "lr": 1e-2}], lr=_RATE, weight_decay=0.0)
    questions = [(article, index) for article in articles for index in range(len(article.answers))]
    steps = _EPOCHS * (len(questions) // _BATCH)
    for step in range(steps):
        start = step * _BATCH % (len(questions) - _BATCH + 1)
        if step % (steps // _EPOCHS) == 0:
            generator.shuffle(questions)
        optimizer.param_groups[0]["lr"] = _RATE * max(0.05, 1 - step / steps)
        losses = [_loss(matrix, scale, *question, generator) for question in questions[start : start + _BATCH]]
        loss = sum(losses) / _BATCH + _REGULARISATION * ((matrix - identity) ** 2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step} of {steps}: loss {float(loss.detach()):.3f}", flush=True)
    return matrix.detach()


def _loss(matrix: Any, scale: Any, article: Article, index: int, generator: random.Random) -> Any:
    """Return the cross entropy of the answer among the sentences of its passage and of some others of the article."""
    passage, sentence = article.answers[index]
    passage_rows = article.passages[passage]
    others = [rows for number, rows in enumerate(article.passages) if number != passage]
    chosen = [passage_rows, *generator.sample(others, min(_OTHERS, len(others)))]
    candidates = torch.from_numpy(article.sentences[[row for rows in chosen for row in rows]])
    projected = functional.normalize(matrix @ torch.from_numpy(article.questions[index]), dim=0)
    return functional.cross_entropy(
        (candidates @ projected * scale)[None], torch.tensor([sentence - passage_rows.start])
    )


def accuracy(matrix: Any, articles: Sequence[Article]) -> str:
    """Return how often the most similar sentence answers a question, within its passage and among five passages.

    Args:
        matrix: The matrix; None to compare the vectors as they are.
        articles: Articles that the matrix was not trained with.
    """
    within = among = count = 0
    for article in articles:
        # The order of the sentences does not depend on the length of the projected question.
        questions = article.questions if matrix is None else article.questions @ matrix.numpy().T
        similarities = questions @ article.sentences.T
        for (passage, sentence), row in zip(article.answers, similarities, strict=True):
            passage_rows = article.passages[passage]
            five = article.passages[max(0, passage - 2) : passage + 3]
            first, last = five[0].start, five[-1].stop
            within += passage_rows.start + int(row[passage_rows.start : passage_rows.stop].argmax()) == sentence
            among += first + int(row[first:last].argmax()) == sentence
            count += 1
    return f"{within / count:.3f} within its passage, {among / count:.3f} among five passages"
