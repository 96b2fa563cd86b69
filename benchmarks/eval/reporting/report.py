"""Prints the figures of a run as tables."""

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.eval.datasets.tuning import NOT_STATED
from benchmarks.eval.runner import modes


def show(console: Console, figures: dict[str, Any]) -> None:
    table = Table(title="Quality", title_justify="left")
    for column in ("set", "used for tuning", "mode"):
        table.add_column(column)
    for column in ("NDCG@10", "Recall@5", "Recall@10", "MRR@10", "precision", "IoU", "AUC", "calibration error", "ms"):
        table.add_column(column, justify="right")
    for name, rows in figures["retrieval"].items():
        for mode, row in rows.items():
            keys = ("ndcg10", "recall5", "recall10", "mrr10", "", "", "", "")
            cells = [_figure(row.get(key)) for key in keys]
            table.add_row(escape(name), _tuning(figures, "retrieval", name), mode, *cells, f"{row['milliseconds']:.0f}")
        table.add_section()
    for name, rows in figures["chunking"].items():
        for mode, row in rows["modes"].items():
            keys = ("", "", "recall", "", "precision", "iou", "", "")
            cells = [_figure(row.get(key)) for key in keys]
            table.add_row(escape(f"{name}, characters"), _tuning(figures, "chunking", name), mode, *cells)
        table.add_section()
    for kind, label in (("groundability", "groundable"), ("answer_grounding", "supported")):
        for name, row in figures[kind].items():
            figure = [""] * 6 + [_figure(row["auc"]), _figure(row["calibration_error"])]
            mode = modes.DEFAULT if kind == "groundability" else ""
            table.add_row(escape(f"{name}, {label}"), _tuning(figures, kind, name), mode, *figure)
        table.add_section()
    console.print(table)
    _show_answers(console, figures)
    documents = figures["documents"]
    console.print(f"documents: {documents['passed']} of {documents['total']} are parsed correctly")
    for failure in documents["failures"]:
        console.print(f"  {failure['file']}: {'; '.join(failure['faults'])}", markup=False)
    for name, notes in figures["notes"].items():
        console.print(f"{name}: " + "; ".join(f"{number} {reason}" for reason, number in notes.items()), markup=False)
    sizes = figures["sizes"]
    if sizes:
        parts = ", ".join(f"{name} {size:,.0f}" for name, size in sizes["bytes_per_chunk"].items())
        console.print(f"{sizes['chunks']:,} chunks; bytes per chunk, including indexes: {parts}")
    seconds = ", ".join(f"{name} {value:.0f}" for name, value in figures["seconds"].items())
    console.print(f"seconds: {seconds}", markup=False)
    for failure in figures["failures"]:
        console.print(f"NOT MEASURED {failure['set']}: {failure['error']}", style="red", markup=False)


_ANSWER_COLUMNS = {
    "facts": "facts",
    "readable": "readable",
    "refused": "refused",
    "calibration_error": "calibration error",
    "wrong_at_high_confidence": "wrong at 0.8",
}


def _show_answers(console: Console, figures: dict[str, Any]) -> None:
    """Print the figures of whole answers, and the questions that were not answered."""
    if not figures["answers"]:
        return
    table = Table("set", "used for tuning", "author", *_ANSWER_COLUMNS.values(), title="Answers", title_justify="left")
    for name, rows in figures["answers"].items():
        for author, row in rows.items():
            table.add_row(
                escape(name), _tuning(figures, "answers", name), author, *(_figure(row[key]) for key in _ANSWER_COLUMNS)
            )
    console.print(table)
    for name, rows in figures["answers"].items():
        for failure in rows["extractive"]["failures"]:
            console.print(f"  {name}: {failure['question']} ({failure['confidence']:.2f})", markup=False)


def _tuning(figures: dict[str, Any], kind: str, name: str) -> str:
    """Return what was tuned on the set: its figures are then no independent test."""
    return escape(str(figures.get("tuning", {}).get(kind, {}).get(name, NOT_STATED)))


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def as_markdown(figures: dict[str, Any]) -> str:
    """The tables of docs/benchmarks.md, "Quality"."""
    columns, line = " | ".join(modes.MODES), "| --- |" + " --- |" * (len(modes.MODES) + 1)
    lines = [f"| NDCG@10, Recall@10 | used for tuning | {columns} |", line]
    for name, rows_by_mode in figures["retrieval"].items():
        cells = [f"{_figure(row['ndcg10'])}, {_figure(row['recall10'])}" for row in rows_by_mode.values()]
        lines.append(f"| {name} | {_tuning(figures, 'retrieval', name)} | {' | '.join(cells)} |")
    lines += ["", f"| recall, precision, IoU | used for tuning | {columns} |", line]
    for name, rows_by_mode in figures["chunking"].items():
        rows = [[_figure(row[key]) for key in ("recall", "precision", "iou")] for row in rows_by_mode["modes"].values()]
        cells = [", ".join(row) for row in rows]
        lines.append(f"| {name} | {_tuning(figures, 'chunking', name)} | {' | '.join(cells)} |")
    lines += ["", "| judgement | set | used for tuning | AUC | calibration error | cases |", "| --- |" + " --- |" * 5]
    for kind, label in (("groundability", "before an answer"), ("answer_grounding", "of an answer")):
        for name, row in figures[kind].items():
            figure = f"{_figure(row['auc'])} | {_figure(row['calibration_error'])} | {row['cases']}"
            lines.append(f"| {label} | {name} | {_tuning(figures, kind, name)} | {figure} |")
    lines += [
        "",
        f"| set | used for tuning | author | {' | '.join(_ANSWER_COLUMNS.values())} |",
        "| --- |" + " --- |" * 7,
    ]
    for name, authors in figures["answers"].items():
        for author, row in authors.items():
            cells = [_tuning(figures, "answers", name), author, *(_figure(row[key]) for key in _ANSWER_COLUMNS)]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    sizes = figures["sizes"].get("bytes_per_chunk", {})
    lines += ["", "| table | bytes per chunk, including indexes |", "| --- | --- |"]
    lines += [f"| `{name}` | {size:,.0f} |" for name, size in sizes.items()]
    return "\n".join(lines) + "\n"
