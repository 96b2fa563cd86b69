"""The evaluation's measures, reading of sets, and reports."""

import io
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console

from benchmarks.eval import measures, quality_guard
from benchmarks.eval.datasets import sets, tuning
from benchmarks.eval.reporting import plots, report
from benchmarks.eval.reporting.figures import Figures
from benchmarks.eval.runner import corpora
from benchmarks.eval.runner.figures_by_kind import Judged


def test_ndcg_equals_the_definition_of_beir() -> None:
    """Linear gain over log2(rank + 1). The ideal includes judged documents that were not found."""
    grades = {"a": 3.0, "b": 1.0, "c": 2.0}
    ideal = 3 / 1 + 2 / 1.584962500721156 + 1 / 2
    gain = 1 / 1 + 3 / 2
    assert measures.ndcg(["b", "x", "a"], grades) == pytest.approx(gain / ideal)
    assert measures.ndcg(["a", "c", "b"], grades) == pytest.approx(1)
    assert measures.ndcg(["x"] * 10 + ["a"], grades) == 0


def test_recall_and_reciprocal_rank() -> None:
    grades = {"a": 1.0, "b": 1.0}
    assert measures.recall(["x", "a", "y", "b"], grades, 3) == 0.5
    assert measures.reciprocal_rank(["x", "b"], grades) == 0.5
    assert measures.reciprocal_rank(["x"], grades) == 0


def test_auc_counts_equal_scores_half() -> None:
    assert measures.auc([0.9, 0.8, 0.2], [True, True, False]) == 1
    assert measures.auc([0.5, 0.5], [True, False]) == 0.5
    assert measures.auc([0.1, 0.5, 0.5, 0.9], [True, False, True, False]) == pytest.approx(0.125)
    assert measures.auc([0.5], [True]) is None


def test_calibration_error_and_risk() -> None:
    scores, labels = [0.95] * 4 + [0.05] * 4, [True, True, True, False, False, False, False, True]
    assert measures.calibration_error(scores, labels) == pytest.approx(0.2)
    assert measures.coverage_risk(scores, labels) == [(0.5, 0.25), (1.0, 0.5)]


def test_characters_of_overlapping_passages_count_once() -> None:
    figures = measures.overlap([("t", 0, 10), ("t", 5, 15), ("u", 0, 5)], [("t", 10, 30)])
    assert figures == {"recall": 5 / 20, "precision": 5 / 20, "iou": 5 / 35}


def write(folder: Path, name: str, *lines: str, end: str = "\n") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes("".join(line + end for line in lines).encode())


def test_invalid_lines_are_skipped_and_noted(tmp_path: Path) -> None:
    """A heading, Windows line ends, a byte-order mark, ids that are numbers, NUL; empty, repeated and broken lines."""
    path = tmp_path / "retrieval" / "odd"
    texts: list[dict[str, Any]] = [
        {"id": 1, "text": "one\u2028line"},
        {"id": "1", "text": "again"},
        {"id": "two", "title": "only a title", "text": None},
        {"id": "../x?y#z", "title": "T", "text": "nul \0 and half \ud800"},
        {"id": "none", "text": " "},
    ]
    write(path, "corpus.jsonl", *(json.dumps(text, ensure_ascii="\ud800" in text["text"] if text["text"] else True)
                                   for text in texts), "{broken", "", end="\r\n")  # fmt: skip
    write(path, "queries.jsonl", "\ufeff" + json.dumps({"id": "q1", "text": "one?"}),
          json.dumps({"id": "q2", "text": ""}), json.dumps({"id": "q3", "text": "unjudged"}))  # fmt: skip
    write(path, "qrels.tsv", "query-id\tcorpus-id\tscore", "q1\t1\t2", "q1\tghost\t1", "q1\ttwo\t0", "q2\t1\t1", "odd",
          end="\r\n")  # fmt: skip
    dataset = sets.retrieval(tmp_path, "odd")
    assert [(text.id, text.title, text.text) for text in dataset.texts] == [
        ("1", "", "one\u2028line"), ("two", "only a title", "only a title"), ("../x?y#z", "T", "nul   and half ?")
    ]  # fmt: skip
    assert dataset.questions == {"q1": "one?"}
    assert dataset.grades["q1"] == {"1": 2.0, "ghost": 1.0}
    assert sum(dataset.notes.values()) == 8
    assert sets.names(tmp_path, "chunking") == []


def test_the_tables_say_what_was_tuned_on_a_set(tmp_path: Path) -> None:
    for name, text in (("known", "weights of words\n"), ("unknown", "")):
        (tmp_path / "answers" / name).mkdir(parents=True)
        if text:
            (tmp_path / "answers" / name / "tuning.txt").write_text(text)
    stated = {name: tuning.read(tmp_path, "answers", name) for name in ("known", "unknown")}
    assert stated == {"known": "weights of words", "unknown": "not stated"}
    assert tuning.read(tmp_path, "groundability", "squad") == tuning.read(tmp_path, "retrieval", "squad")
    for name in sets.names(quality_guard.INCLUDED_SETS, "answers"):
        assert tuning.read(quality_guard.INCLUDED_SETS, "answers", name) != tuning.NOT_STATED, name
    row = dict.fromkeys(("facts", "readable", "refused", "calibration_error", "wrong_at_high_confidence"), 0.5)
    figures = Figures(tmp_path / "out.json", print)
    figures.all |= {"answers": {name: {"extractive": {**row, "failures": []}} for name in stated}}
    figures.all |= {"tuning": {"answers": stated}}
    assert "| known | weights of words | extractive |" in report.as_markdown(figures.all)
    console = Console(record=True, width=200, file=io.StringIO())
    report.show(console, figures.all)
    assert "weights of words" in console.export_text()


def test_each_id_has_a_unique_path() -> None:
    ids = ["", "a", "A", "a/b", "a%2Fb", "../../etc", "ü", "x" * 5000, "x" * 5001, "white space\n"]
    paths = {corpora.path_of_text(name) for name in ids}
    assert len(paths) == len(ids)
    assert all(path.isprintable() and 0 < len(path) < 200 and "/" not in path for path in paths)


def test_a_drop_beyond_the_tolerance_is_reported() -> None:
    baseline = {"a": 0.5, "b": 0.5, "c": 0.5}
    assert quality_guard.describe_falls(baseline, {"a": 0.49, "b": 0.4899, "d": 0.1}) == [
        "b was 0.5000 and is 0.4899.",
        "c was 0.5000 and is not measured any more.",
    ]


def test_the_share_of_kept_citations_of_the_stub_must_not_rise() -> None:
    """Each fourth answer has an invention with a citation: if more citations are kept, inventions are."""
    name = "answers/held-out/model/citations_kept"
    assert quality_guard.describe_falls({name: 0.8}, {name: 0.805}) == []
    assert len(quality_guard.describe_falls({name: 0.8}, {name: 0.9})) == 1
    measured = {"answers": {"held-out": {"model": {"citations_kept": 0.8, "facts": 0.7, "readable": 1.0}}}}
    assert dict(quality_guard.guarded(measured)) == {name: 0.8, "answers/held-out/model/facts": 0.7}


def test_a_failed_set_is_reported_and_the_others_are_written(tmp_path: Path) -> None:
    messages: list[str] = []
    figures = Figures(tmp_path / "new" / "out.json", messages.append)
    with figures.part("retrieval/broken"):
        raise ValueError("no corpus")
    with figures.part("answer_grounding/good"):
        figures.judge("answer_grounding", "good", Judged([0.9, 0.1], [True, False]))
    written = json.loads((tmp_path / "new" / "out.json").read_text())
    assert written["failures"] == [{"set": "retrieval/broken", "error": "ValueError: no corpus"}]
    assert written["answer_grounding"]["good"]["auc"] == 1
    assert "broken" in messages[0]


def test_plots_are_svg(tmp_path: Path) -> None:
    figures = Figures(tmp_path / "out.json", lambda line: None)
    figures["retrieval"]["a & b"] = {"dense": {"ndcg10": 0.5}, "rerank": {"ndcg10": 0.7}}
    figures.judge("groundability", "<odd>", Judged([0.9, 0.1], [True, False]))
    plots.draw(figures, tmp_path / "plots")
    files = sorted((tmp_path / "plots").iterdir())
    assert len(files) == 3
    assert all(ElementTree.parse(file).getroot().tag.endswith("svg") for file in files)  # noqa: S314
