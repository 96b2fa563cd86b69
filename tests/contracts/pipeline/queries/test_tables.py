"""Answers from tables, over HTTP."""

from tests.support.factories import World, ingest_text
from tests.support.http import Client

from .questions import ask

RULES = {
    "Rest in any 24 hours": ("10 hours", "11 hours"),
    "Rest in any 7 days": ("77 hours", "84 hours"),
    "Rest may be divided into": ("3 periods", "2 periods"),
    "Longest period at least": ("6 hours", "7 hours"),
    "Longest time between two rest periods": ("14 hours", "13 hours"),
    "Consecutive working days": ("14", "12"),
}


def test_of_a_section_that_is_a_table_the_named_row_is_quoted(member: Client, live_world: World) -> None:
    rows = "\n".join(f"| {rule} | {old} | {new} |" for rule, (old, new) in RULES.items())
    table = f"| Rule | 2023 (old) | 2025 (current) |\n|---|---|---|\n{rows}"
    beginning, end = "# Sailor Rest Policy\n\nIt is for all.", "## Exceptions\n\nThe master decides."
    text = f"{beginning}\n\n## Minimum rest\n\n{table}\n\n{end}"
    ingest_text(live_world.source("staff"), "/rest.md", text)
    answer = ask(member, query="Minimum rest in any 7 days under the current sailor rest policy").body["answer"]
    assert answer == "- Rest in any 7 days — 2023 (old): 77 hours — 2025 (current): 84 hours [1]"
