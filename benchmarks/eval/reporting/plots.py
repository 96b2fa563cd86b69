"""Draws the plots of an evaluation."""

from pathlib import Path

from benchmarks.eval import measures
from benchmarks.eval.reporting.figures import Figures
from benchmarks.support import plots


def draw(figures: Figures, folder: Path) -> None:
    """Write modes.svg (NDCG@10 by set and mode), and a reliability and a coverage-risk plot of each judgement."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.glob("*.svg"):
        file.unlink()
    by_set = {name: {mode: row["ndcg10"] for mode, row in rows.items()} for name, rows in figures["retrieval"].items()}
    if by_set:
        (folder / "modes.svg").write_bytes(plots.bars("NDCG@10", by_set))
    for kind, judged in figures.judged.items():
        if not judged:
            continue
        reliable = {
            name: [(score, share) for score, share, _ in measures.bins(judgement.scores, judgement.labels)]
            for name, judgement in judged.items()
        }
        risk = {name: measures.coverage_risk(judgement.scores, judgement.labels) for name, judgement in judged.items()}
        title = kind.replace("_", " ")
        diagonal = [(0.0, 0.0), (1.0, 1.0)]
        axes = (_shares("score"), plots.Axis("share that is true"))
        (folder / f"{kind}-reliability.svg").write_bytes(plots.lines(f"{title}: reliability", reliable, axes, diagonal))
        axes = (_shares("coverage: share that is answered"), plots.Axis("risk: share of those that should not be"))
        (folder / f"{kind}-coverage-risk.svg").write_bytes(plots.lines(f"{title}: risk by coverage", risk, axes))


def _shares(label: str) -> plots.Axis:
    return plots.Axis(label, ticks=(0, 0.25, 0.5, 0.75, 1))
