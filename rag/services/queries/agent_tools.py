"""The two tools of the agent contract, for one question of one caller."""

import dataclasses
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import TypedDict

from rag.errors import InvalidRequest, NoAccessibleSources
from rag.pipeline.answering.sanitize_for_prompt import sanitize
from rag.pipeline.retrieval.retrieve import LANGUAGE_PENDING
from rag.pipeline.validation.entailment import AnswerValidator
from rag.providers.base import EntailmentModel
from rag.services.access import access_rechecks
from rag.services.operations.measurements.measured_queries import MeasuredQuery
from rag.services.queries.source_selection import SourceSelection
from rag.text.token_counts import count_tokens
from rag.types import MAX_QUESTION_CHARACTERS, AgentTool, Passage, Question, Retrieval, SearchScope

from . import permitted_queries


class ObjectSchema(TypedDict):
    """The JSON Schema of an object that has all of these properties and no others."""

    type: str
    properties: dict[str, Mapping[str, object]]
    required: list[str]
    additionalProperties: bool


def _object(**properties: Mapping[str, object]) -> ObjectSchema:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


_STRING, _INTEGER, _FLOAT, _BOOLEAN = ({"type": name} for name in ("string", "integer", "number", "boolean"))
_STRINGS = {"type": "array", "items": _STRING}
_CHUNK = _object(text=_STRING, source_url=_STRING, position=_INTEGER, score=_FLOAT, chunk_id=_STRING)
RETRIEVAL_INPUT = _object(query=_STRING, top_k=_INTEGER, min_score=_FLOAT)
RETRIEVAL_OUTPUT = _object(chunks={"type": "array", "items": _CHUNK}, retrieval_time=_FLOAT)
VALIDATOR_INPUT = _object(response=_STRING, context=_STRING, sources=_STRINGS)
VALIDATOR_OUTPUT = _object(
    is_valid=_BOOLEAN, validation_details=_STRING, hallucination_detected=_BOOLEAN, confidence_score=_FLOAT
)

_SCRIPT_SCHEMES = ("javascript", "vbscript", "data")


class ToolVerdict(TypedDict):
    """The result of GroundingValidatorTool, which matches VALIDATOR_OUTPUT."""

    is_valid: bool
    validation_details: str
    hallucination_detected: bool
    confidence_score: float


class Toolbox:
    """The tools of one run, and the passages that they have retrieved.

    Attributes:
        is_language_pending: Whether a search had the warning LANGUAGE_PENDING.
        scopes: What the latest search covered.
    """

    def __init__(
        self,
        question: Question,
        selection: SourceSelection,
        *,
        token_budget: int | None = None,
        entailment_model: EntailmentModel | None = None,
    ) -> None:
        """Create the tools.

        Args:
            question: The question. No call can exceed its `top_k` or go below its `min_score`.
            selection: The caller, and the sources to search.
            token_budget: The limit of all returned texts together, in OpenAI tokens; None for no limit.
            entailment_model: Validates responses; None to compare words, token vectors, names and numbers only.
        """
        self._question = question
        self._selection = selection
        self._remaining_tokens = token_budget
        self._entailment_model = entailment_model
        self._passages: dict[uuid.UUID, Passage] = {}
        self.is_language_pending = False
        self.scopes: Sequence[SearchScope] = ()

    @property
    def passages(self) -> tuple[Passage, ...]:
        """The passages that were returned so far, each once, in order."""
        return tuple(self._passages.values())

    def tools(self) -> list[AgentTool]:
        """Return the tools with their JSON Schemas."""
        return [
            AgentTool(
                name="QdrantRetrievalTool",
                description="Finds the chunks of the sources that are nearest to a query. At most "
                f"{self._question.top_k} are given, with a score of at least {self._question.min_score:g}.",
                input_schema=RETRIEVAL_INPUT,
                output_schema=RETRIEVAL_OUTPUT,
                call=self.retrieve,
            ),
            AgentTool(
                name="GroundingValidatorTool",
                description="Says whether a context supports a response, and whether its sources were retrieved.",
                input_schema=VALIDATOR_INPUT,
                output_schema=VALIDATOR_OUTPUT,
                call=self.validate,
            ),
        ]

    def retrieve(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """Search (QdrantRetrievalTool). If the caller may query no source, no chunk is returned.

        Args:
            arguments: A JSON object that matches RETRIEVAL_INPUT; `top_k` and `min_score` may be missing.

        Returns:
            A JSON object that matches RETRIEVAL_OUTPUT; `retrieval_time` is in seconds.

        Raises:
            InvalidRequest: If an argument is missing or wrong.
            AccessEnded: If the caller lost access.
            RagError: If `permitted_queries.retrieve` fails.
        """
        started = time.monotonic()
        if self._passages:  # the search itself checks access
            self.require_access()
        question = self._read_question(arguments)
        retrieval = self._search(question)
        self.is_language_pending |= LANGUAGE_PENDING in retrieval.warnings
        returned = [passage for passage in retrieval.passages if self._consume_tokens(passage)]
        for passage in returned:
            self._passages.setdefault(passage.chunk_id, passage)
        return {"chunks": [chunk_out(passage) for passage in returned], "retrieval_time": time.monotonic() - started}

    def find_closest(self) -> Retrieval:
        """Return the closest passage, however low its score; none if the caller may query no source."""
        return self._search(dataclasses.replace(self._question, top_k=1, min_score=0.0))

    def _search(self, question: Question) -> Retrieval:
        query = MeasuredQuery()
        try:
            retrieval = permitted_queries.retrieve(question, self._selection, query=query)
        except NoAccessibleSources:
            return permitted_queries.NO_RESULTS
        self.scopes = query.scopes
        return retrieval

    def validate(self, arguments: Mapping[str, object]) -> ToolVerdict:
        """Check an answer (GroundingValidatorTool).

        Args:
            arguments: A JSON object that matches VALIDATOR_INPUT.

        Returns:
            A JSON object that matches VALIDATOR_OUTPUT.

        Raises:
            InvalidRequest: If an argument is missing or wrong.
            AccessEnded: If the caller lost access.
        """
        self.require_access()
        response, context = _get_string(arguments, "response"), _get_string(arguments, "context")
        sources = arguments.get("sources", [])
        if not isinstance(sources, list) or not all(isinstance(source, str) for source in sources):
            raise InvalidRequest("sources must be an array of strings", field="sources")
        validator = AnswerValidator(self._entailment_model)
        validation = validator.validate(response, context, [passage.lang for passage in self.passages])
        urls = [source_url(passage) for passage in self.passages]
        unknown = set(sources) - {*urls, *map(sanitize, urls)}
        details = validation.details
        if unknown:
            details += f" Sources that were not retrieved: {len(unknown)}."
        is_valid = validation.is_valid and not unknown
        return {
            "is_valid": is_valid,
            "validation_details": details,
            "hallucination_detected": bool(response.strip()) and not is_valid,
            "confidence_score": validation.score if is_valid else 0.0,
        }

    def require_access(self) -> None:
        """Check before each step that the caller may still use all returned passages.

        Raises:
            AccessEnded: If the caller lost access, or a document was deleted.
        """
        source_ids = {passage.source_id for passage in self.passages}
        document_ids = {passage.document_id for passage in self.passages}
        access_rechecks.require_access(self._selection.caller, source_ids, document_ids=document_ids)

    def _read_question(self, arguments: Mapping[str, object]) -> Question:
        """Return the question of a retrieval call. Its options are at most those of the run."""
        limits = self._question
        query = _get_string(arguments, "query").strip()[:MAX_QUESTION_CHARACTERS]
        if not query:
            raise InvalidRequest("query must not be empty", field="query")
        top_k, min_score = arguments.get("top_k", limits.top_k), arguments.get("min_score", limits.min_score)
        if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
            raise InvalidRequest("top_k must be an integer of at least 1", field="top_k")
        if isinstance(min_score, bool) or not isinstance(min_score, int | float) or not 0 <= min_score <= 1:
            raise InvalidRequest("min_score must be a number from 0 to 1", field="min_score")
        return Question(query, top_k=min(top_k, limits.top_k), min_score=max(min_score, limits.min_score))

    def _consume_tokens(self, passage: Passage) -> bool:
        """Take the passage's tokens from the budget; return whether the budget was large enough."""
        if self._remaining_tokens is None:
            return True
        tokens = count_tokens(passage.text)
        if tokens > self._remaining_tokens:
            return False
        self._remaining_tokens -= tokens
        return True


def chunk_out(passage: Passage) -> dict[str, object]:
    """Serialize a passage as a chunk of the agent contract, sanitized for a language model."""
    return {
        "text": sanitize(passage.text, passage.content_type),
        "source_url": sanitize(source_url(passage)),
        "position": passage.position,
        "score": passage.score,
        "chunk_id": str(passage.chunk_id),
    }


def source_url(passage: Passage) -> str:
    """Return the document's link, or its path if it has no link.

    Clients show it as a link. A path that would then run as a script is written as a relative reference (RFC 3986,
    section 4.2).
    """
    # Browsers ignore white space and control characters here.
    scheme = "".join(character for character in passage.path if character > " ").partition(":")[0].lower()
    is_script = scheme in _SCRIPT_SCHEMES and not passage.uri
    return passage.uri or (f"./{passage.path}" if is_script else passage.path)


def _get_string(arguments: Mapping[str, object], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str):
        raise InvalidRequest(f"{name} must be a string", field=name)
    # JSON can contain lone surrogates, which are not valid text: they become "?".
    return value.encode(errors="replace").decode()
