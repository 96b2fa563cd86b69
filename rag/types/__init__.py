"""The values that travel between the floors. Frozen: a step returns a new one."""

from .agent import AgentReply, AgentTool
from .answers import (
    Answer,
    Answered,
    ChatReply,
    Citation,
    Confidence,
    ConfidentAnswer,
    Context,
    Events,
    Generation,
    Grounding,
    Message,
    Validation,
    Whole,
)
from .documents import ChunkDraft, ChunkingOptions, Heading, IndexOutcome, Page, Parsed, Submission
from .search import MAX_QUESTION_CHARACTERS, Filters, Hit, Mode, Passage, Question, Retrieval, Scope, Searched

__all__ = [
    "MAX_QUESTION_CHARACTERS",
    "AgentReply",
    "AgentTool",
    "Answer",
    "Answered",
    "ChatReply",
    "ChunkDraft",
    "ChunkingOptions",
    "Citation",
    "Confidence",
    "ConfidentAnswer",
    "Context",
    "Events",
    "Filters",
    "Generation",
    "Grounding",
    "Heading",
    "Hit",
    "IndexOutcome",
    "Message",
    "Mode",
    "Page",
    "Parsed",
    "Passage",
    "Question",
    "Retrieval",
    "Scope",
    "Searched",
    "Submission",
    "Validation",
    "Whole",
]
