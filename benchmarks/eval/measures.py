"""Metrics of retrieval, judgements and spans, independent of the product."""

import math
from collections.abc import Sequence
from itertools import pairwise

DEPTH = 10


def ndcg(ranked: Sequence[str], grades: dict[str, float]) -> float:
    """nDCG@10 with linear gain, as in BEIR (trec_eval's ndcg_cut)."""
    ideal = sorted(grades.values(), reverse=True)[:DEPTH]
    return _gain([grades.get(document, 0.0) for document in ranked[:DEPTH]]) / _gain(ideal)


def _gain(grades: Sequence[float]) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))


def recall(ranked: Sequence[str], grades: dict[str, float], depth: int) -> float:
    return len(set(ranked[:depth]) & grades.keys()) / len(grades)


def reciprocal_rank(ranked: Sequence[str], grades: dict[str, float]) -> float:
    return next((1 / rank for rank, document in enumerate(ranked[:DEPTH], start=1) if document in grades), 0.0)


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def auc(scores: Sequence[float], labels: Sequence[bool]) -> float | None:
    """How often a true case scores higher than a false one; ties count half. None without true or false cases."""
    positive = sum(labels)
    negative = len(labels) - positive
    if not positive or not negative:
        return None
    order = sorted(range(len(scores)), key=lambda index: scores[index])
    total, start = 0.0, 0
    while start < len(order):
        end = start
        while end < len(order) and scores[order[end]] == scores[order[start]]:
            end += 1
        rank = (start + 1 + end) / 2  # the mean rank of equal scores
        total += rank * sum(labels[index] for index in order[start:end])
        start = end
    return (total - positive * (positive + 1) / 2) / (positive * negative)


def bins(scores: Sequence[float], labels: Sequence[bool], count: int = 10) -> list[tuple[float, float, int]]:
    """(mean score, share of true cases, number of cases) of each non-empty bin of scores between 0 and 1."""
    indexes_by_bin: list[list[int]] = [[] for _ in range(count)]
    for index, score in enumerate(scores):
        indexes_by_bin[min(count - 1, max(0, int(score * count)))].append(index)
    return [
        (mean([scores[index] for index in indexes]), mean([float(labels[index]) for index in indexes]), len(indexes))
        for indexes in indexes_by_bin
        if indexes
    ]


def calibration_error(scores: Sequence[float], labels: Sequence[bool]) -> float:
    """Expected calibration error in ten bins: how far scores are from probabilities."""
    return sum(abs(score - share) * number for score, share, number in bins(scores, labels)) / max(1, len(scores))


def coverage_risk(scores: Sequence[float], labels: Sequence[bool]) -> list[tuple[float, float]]:
    """(share of cases that are answered, share of these that are wrong), from the highest score to all cases."""
    order = sorted(range(len(scores)), key=lambda index: -scores[index])
    wrong, points = 0, []
    for number, index in enumerate(order, start=1):
        wrong += not labels[index]
        if number == len(order) or scores[order[number]] != scores[index]:
            points.append((number / len(order), wrong / number))
    return points


def area_under(points: Sequence[tuple[float, float]]) -> float:
    """Mean risk over all coverages: the smaller, the better the scores tell what to leave unanswered."""
    extended = [(0.0, points[0][1]), *points] if points else []
    return sum((x2 - x1) * (y1 + y2) / 2 for (x1, y1), (x2, y2) in pairwise(extended))


def characters(spans: Sequence[tuple[str, int, int]]) -> dict[str, list[tuple[int, int]]]:
    """Merged spans by text, in order, so that no character counts twice."""
    joined: dict[str, list[tuple[int, int]]] = {}
    for text, start, end in sorted(spans):
        merged_spans = joined.setdefault(text, [])
        if merged_spans and start <= merged_spans[-1][1]:
            merged_spans[-1] = (merged_spans[-1][0], max(merged_spans[-1][1], end))
        else:
            merged_spans.append((start, end))
    return joined


def overlap(retrieved: Sequence[tuple[str, int, int]], relevant: Sequence[tuple[str, int, int]]) -> dict[str, float]:
    """Recall, precision and intersection over union of the retrieved text, in characters."""
    retrieved_spans, relevant_spans = characters(retrieved), characters(relevant)
    both = sum(
        max(0, min(end, other_end) - max(start, other_start))
        for text in retrieved_spans.keys() & relevant_spans.keys()
        for start, end in retrieved_spans[text]
        for other_start, other_end in relevant_spans[text]
    )
    size, other_size = _size(retrieved_spans), _size(relevant_spans)
    return {
        "recall": both / other_size,
        "precision": both / size if size else 0.0,
        "iou": both / (size + other_size - both),
    }


def _size(spans: dict[str, list[tuple[int, int]]]) -> int:
    return sum(end - start for merged_spans in spans.values() for start, end in merged_spans)
