"""python -m benchmarks.languages ADDRESS [DISTRACTORS]: finds passages in other languages, over HTTP.

Needs a running product with its demo accounts (make run). Two data sources are created and deleted again: one has the
passages of benchmarks/data/languages.jsonl in English, the other one their translations (translations.jsonl) too. Both
have the texts of DISTRACTORS, a file of JSON lines with "text". Password: RAGSITE_DEMO_PASSWORD, by default the demo's.
"""

import json
import os
import sys
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

_DATA = Path(__file__).parent / "data"
_LANGUAGES = ("de", "es", "fr", "zh", "ar")
_PASSAGE_LANGUAGES = (*_LANGUAGES, "en")
_ACCOUNT = "editor@acme.example"
_WAIT_SECONDS = 600


class Api:
    """The API of the running product, for one account."""

    def __init__(self, address: str) -> None:
        self._address, self._headers = address.rstrip("/"), {"Content-Type": "application/json"}
        password = os.environ.get("RAGSITE_DEMO_PASSWORD", "ragsite-demo")
        token = self.send("POST", "/api/auth/token", {"email": _ACCOUNT, "password": password})["access"]
        self._headers["Authorization"] = f"Bearer {token}"

    def send(self, method: str, path: str, body: object = None) -> Any:
        """Send a request and return the body of its response."""
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self._address + path, data, self._headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as response:
            content = response.read()
        return json.loads(content) if content else None

    def ingest(self, source: str, texts: dict[str, str]) -> None:
        """Send texts and wait until they are searchable."""
        documents = [{"path": path, "text": text, "title": path} for path, text in texts.items()]
        for start in range(0, len(documents), 100):
            body = {"dataSourceId": source, "documents": documents[start : start + 100]}
            job = self.send("POST", "/api/rag/ingest", body)
            deadline = time.monotonic() + _WAIT_SECONDS
            while self.send("GET", f"/api/rag/ingest/{job['jobId']}")["status"] not in ("completed", "failed"):
                if time.monotonic() > deadline:
                    sys.exit("The job does not end. Are the workers running?")
                time.sleep(1)

    def find(self, source: str, query: str) -> list[str]:
        """Return the paths of the documents of the first ten passages."""
        body = {"query": query, "dataSources": [source], "topK": 10}
        return [passage["path"] for passage in self.send("POST", "/api/rag/retrieve", body)["documents"]]


def main(address: str, distractors: Sequence[str]) -> None:
    """Print recall@10 by the languages of question and passage."""
    api = Api(address)
    questions = {row["id"]: row for row in _rows("languages.jsonl")}
    translations = {row["id"]: row for row in _rows("translations.jsonl")}
    other = {f"other/{number}": text for number, text in enumerate(distractors)}
    english = {f"{key}/en": row["passage"] for key, row in questions.items()}
    translated = {f"{key}/{lang}": row[lang] for key, row in translations.items() for lang in _LANGUAGES}
    names = [f"languages-{os.getpid()}-{part}" for part in ("english", "all")]
    try:
        for name, texts in zip(names, ({**english, **other}, {**english, **other, **translated}), strict=True):
            api.send("POST", "/api/rag/sources", {"name": name, "slug": name, "visibility": "personal"})
            api.ingest(name, texts)
            _wait_for_second_vectors(api, name, questions)
        _print_to_english(_measure_to_english(api, names[0], questions))
        translated_questions = {key: questions[key] for key in translations}
        _print_between_languages(_measure_between_languages(api, names[1], translated_questions))
    finally:
        for name in names:
            api.send("DELETE", f"/api/rag/sources/{name}")


def _wait_for_second_vectors(api: Api, source: str, questions: dict[str, Any]) -> None:
    """The first question that is not English has second vectors made: wait until they find no more passages."""
    deadline, counts = time.monotonic() + _WAIT_SECONDS, [0, 0, 0]
    while not (counts[-1] and counts[-1] == counts[-2] == counts[-3]):
        if time.monotonic() > deadline:
            sys.exit("The second model is not used. Is the background worker running?")
        time.sleep(10)
        results = [(key, path) for key, row in questions.items() for path in api.find(source, row["zh"])]
        counts = [*counts[-2:], sum(path.startswith(key) for key, path in results)]


def _measure_to_english(api: Api, source: str, questions: dict[str, Any]) -> dict[str, float]:
    """Return the recall@10 of the English passages by the language of the questions."""
    return {
        lang: fmean(f"{key}/en" in api.find(source, row[lang]) for key, row in questions.items()) for lang in _LANGUAGES
    }


def _print_to_english(recalls: dict[str, float]) -> None:
    _print_header("question", list(recalls))
    _print_row("English passage, recall@10", recalls.values())
    print()


def _measure_between_languages(api: Api, source: str, questions: dict[str, Any]) -> dict[tuple[str, str], float]:
    """Return the recall@10 by the languages of question and passage."""
    hits: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for key, row in questions.items():
        for question_lang in _LANGUAGES:
            paths = api.find(source, row[question_lang])
            for passage_lang in _PASSAGE_LANGUAGES:
                hits[question_lang, passage_lang].append(f"{key}/{passage_lang}" in paths)
    return {langs: fmean(outcomes) for langs, outcomes in hits.items()}


def _print_between_languages(recalls: dict[tuple[str, str], float]) -> None:
    _print_header("question \\ passage", _PASSAGE_LANGUAGES)
    for question_lang in _LANGUAGES:
        _print_row(question_lang, [recalls[question_lang, passage_lang] for passage_lang in _PASSAGE_LANGUAGES])


def _print_header(first: str, others: Sequence[str]) -> None:
    print(f"| {first} | " + " | ".join(others) + " |\n" + "| --- " * (len(others) + 1) + "|")


def _print_row(first: str, recalls: Iterable[float]) -> None:
    print(f"| {first} | " + " | ".join(f"{recall:.2f}" for recall in recalls) + " |")


def _rows(file: str) -> list[Any]:
    return [json.loads(line) for line in (_DATA / file).read_text().splitlines()]


if __name__ == "__main__":
    more = Path(sys.argv[2]).read_text().splitlines() if sys.argv[2:] else []
    main(sys.argv[1], [json.loads(line)["text"] for line in more])
