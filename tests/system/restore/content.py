"""python -m tests.system.restore.content fill COUNT: documents of all kinds of sources, and keys.

python -m tests.system.restore.content ask FILE: what each person and key finds and is answered, as JSON.

python -m tests.system.restore.content empty: delete all rows, for tests that need an empty database.
"""

import json
import sys
from pathlib import Path
from typing import Any

import django

from ragsite.postgres import identity
from tests.support.data.database import delete_all_rows

ANIMALS = ("zebra", "okapi", "otter", "lynx", "heron", "gecko", "bison", "tapir", "moose", "quail")
PLACES = ("savanna", "forest", "river", "mountain", "marsh", "desert", "steppe", "valley", "coast", "island")
QUESTIONS = (
    "Where does the zebra live?",
    "Which animals eat at the river?",
    "How many bison are in the valley?",
    "Wo lebt der Luchs?",
    "heron marsh",
    "What does the tapir eat on the island?",
)


def fill(count: int) -> None:
    from orgs.access.permissions import Visibility
    from rag.models import Grant
    from tests.support.factories import World, ingest_text

    world = World.create()
    owners = list(world.users.values())
    sources = [
        world.source(f"{visibility}-{number}", visibility=visibility, owner=owners[number])
        for visibility in Visibility
        for number in range(2)
    ]
    sources.append(world.source("foreign", organization=world.abroad))
    Grant.objects.create(source=next(s for s in sources if s.visibility == "private"), user=world.users["member"])
    for number in range(count):
        animal, place = ANIMALS[number % 10], PLACES[number // 10 % 10]
        text = f"The {animal} number {number} lives in the {place}. It eats what grows there, and {number % 7} berries."
        ingest_text(sources[number % len(sources)], f"{animal}-{number}", text, metadata={"number": number})
    for name in ("owner", "editor", "member"):
        world.key(name)
        world.key(name, "query", sources=[sources[0].pk])


def ask(file: Path) -> None:
    from accounts.models import User
    from orgs.access.caller import Caller
    from orgs.models import ApiKey
    from rag.errors import RagError
    from rag.models import Action, Chunk, DataSource
    from rag.services.queries import permitted_queries
    from rag.services.queries.source_selection import SourceSelection
    from rag.types import AnswerOptions, Mode, Question

    callers = [*map(Caller, User.objects.order_by("email"))]
    callers += [Caller(key.user, key) for key in ApiKey.objects.order_by("pk").select_related("user")]
    answers: dict[str, Any] = {}
    for caller in callers:
        name = f"{caller.user} {caller.key.pk if caller.key else ''}"
        visible = {
            action.value: sorted(map(str, DataSource.objects.visible_to(caller, action).values_list("pk", flat=True)))
            for action in Action
        }
        with identity.run_as(caller.database_identity):
            answers[name] = {"sources": visible, "chunks": Chunk.objects.count(), "questions": []}
            selection = SourceSelection(caller)
            for text in QUESTIONS:
                for mode in Mode:
                    retrieval = permitted_queries.search(
                        Question(text, top_k=10, mode=mode, rerank=mode == Mode.HYBRID), selection
                    )
                    ranked = [(str(passage.chunk_id), round(passage.score, 6)) for passage in retrieval.passages]
                    answers[name]["questions"].append(ranked)
                try:
                    events = permitted_queries.ask(
                        Question(text, top_k=5), selection, AnswerOptions(max_prompt_tokens=2_000)
                    )
                    answers[name]["questions"].append(permitted_queries.run_to_completion(events).answer.text)
                except RagError as error:
                    answers[name]["questions"].append(error.code)
    file.write_text(json.dumps(answers, indent=1))


if __name__ == "__main__":
    identity.run_process_as(identity.WORKER)
    django.setup()
    match sys.argv[1:]:
        case ["fill", count]:
            fill(int(count))
        case ["ask", file]:
            ask(Path(file))
        case ["empty"]:
            delete_all_rows()
