"""python -m benchmarks.follow_ups: measures whether the search finds the passage that a follow-up question needs.

It sends dialogues (benchmarks/data) about small texts with equal headings through the search service and the database,
without a language model. The questions in the column `alone` have nothing to do with the questions before them:
rewriting follow-ups must not make them worse.
"""

import json
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.support.set_up import set_up_django

DATA = Path(__file__).parent / "data"
_TOP = 10


def main() -> None:
    set_up_django()
    from django.core.management import call_command

    from ragsite.postgres.base import run_as_owner

    with run_as_owner():  # of the tables, which an earlier run may have created
        call_command("migrate", verbosity=0)
    print(f"{'':24} {'follow-ups':>23} {'alone':>23}")
    print(f"{'':24} {'Recall@5   first    MRR':>23} {'Recall@5   first    MRR':>23}")
    for name, figures in measured().items():
        print(f"{name:24} " + " ".join(f"{'   '.join(f'{item:.3f}' for item in group):>23}" for group in figures))


def measured() -> dict[str, list[tuple[float, float, float]]]:
    """Variant → Recall@5, share of first ranks and MRR, for follow-ups and for questions that stand alone."""
    from accounts.models import User
    from orgs.access.caller import Caller
    from orgs.creation import add_member, create_organization
    from rag.models import DataSource, EmbeddingModel
    from rag.services.ingestion import synchronous_ingestion
    from rag.services.queries.source_selection import SourceSelection
    from rag.types import Submission

    name = f"bench-{secrets.token_hex(4)}"
    organization = create_organization(name=name, slug=name)
    user = User.objects.create_user(f"{name}@bench.example", name)
    try:
        add_member(user=user, organization=organization, roles=("editor",))
        model = EmbeddingModel.objects.default()
        source = DataSource.objects.create(organization=organization, slug="town", name="Town", embedding_model=model)
        for title, text in _sections():
            synchronous_ingestion.ingest_now(
                source=source, submission=Submission(path=text[:80], title=title, text=text)
            )
        dialogues = [json.loads(line) for line in (DATA / "follow_ups.jsonl").read_text().splitlines()]
        reader = SourceSelection(Caller(user))
        return {
            f"{variant}, {mode}": [
                _figures(
                    [
                        _rank(dialogue, rewrite, reader, mode)
                        for dialogue in dialogues
                        if bool(dialogue.get("alone")) is alone
                    ]
                )
                for alone in (False, True)
            ]
            for mode in ("by cosine", "reranked")
            for variant, rewrite in (("original question", _original), ("rewritten question", _rewritten))
        }
    finally:
        organization.delete()
        user.delete()


def _sections() -> list[tuple[str, str]]:
    """Title and text of each section. All sections of a text have its title, like pages in a folder."""
    sections, title = [], ""
    for block in (DATA / "follow_ups.md").read_text().split("\n\n"):
        if block.startswith("# "):
            title = block.removeprefix("# ")
        else:
            sections.append((title, block))
    return sections


def _original(question: Any, messages: Sequence[str], reader: Any) -> Any:
    return question


def _rewritten(question: Any, texts: Sequence[str], reader: Any) -> Any:
    from rag.services.queries import chat_replies
    from rag.types import Message

    messages = [Message("assistant" if number % 2 else "user", text) for number, text in enumerate(texts)]
    messages.append(Message("user", question.text))
    return chat_replies.resolve_follow_up(chat_replies.ChatTurn(messages, question=question), messages, reader)


def _rank(dialogue: dict[str, Any], rewrite: Callable[..., Any], reader: Any, mode: str) -> int:
    """Rank of the passage that answers; 0 if it is not found."""
    from rag.services.queries import permitted_queries
    from rag.types import Question

    question = Question(dialogue["asks"], top_k=_TOP, rerank=mode == "reranked")
    title, heading = dialogue["finds"]
    passages = permitted_queries.search(rewrite(question, dialogue["said"], reader), reader).passages
    ranks = [
        passage.rank for passage in passages if passage.title == title and f"## {heading}\n" in f"{passage.text}\n"
    ]
    return min(ranks, default=0)


def _figures(ranks: Sequence[int]) -> tuple[float, float, float]:
    """Return the share of ranks up to 5, the share of first ranks, and the mean reciprocal rank. 0 is no rank."""
    count = len(ranks)
    return (
        sum(0 < rank <= 5 for rank in ranks) / count,
        ranks.count(1) / count,
        sum(1 / rank for rank in ranks if rank) / count,
    )


if __name__ == "__main__":
    main()
