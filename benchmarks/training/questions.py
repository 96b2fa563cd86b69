"""Questions with the part of a text that answers each, for training: from SQuAD, and from headings of Markdown files.

A heading says what the section below it answers. "Installing plugins" becomes "How do I install plugins?".
"""

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_MAX_PARAGRAPHS, _MAX_QUESTIONS, _MAX_CHARACTERS = 10, 5, 1_400
_MAX_SECTIONS, _MAX_SECTION_CHARACTERS, _MIN_SECTION_CHARACTERS = 24, 1_300, 60
_MAX_PASSAGE_CHARACTERS, _MAX_FILE_CHARACTERS, _MAX_HEADINGS = 1_100, 150_000, 8

_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)\n.*?\n\1\n", re.DOTALL)
_TITLE = re.compile(r"^title\s*[:=]\s*[\"']?(.+?)[\"']?\s*$", re.MULTILINE)
_HEADING = re.compile(r"^(#{1,5})\s+(.+?)\s*#*$")
_MARKS = re.compile(r"\{[#.%][^}]*\}|<[^>]+>|[`*\[]|\]\([^)]*\)")
_NOT_SHOWN = re.compile(r"\{\{[<%].*?[>%]\}\}|<!--.*?-->|\{:[^}]*\}", re.DOTALL)
# Headings that say nothing about what their section answers.
_UNSPECIFIC = re.compile(
    r"(overview|introduction|summary|more information|problem|symptoms?|cause|solution|resolution|workaround|steps?|"
    r"examples?|notes?|see also|references?|table of contents|background|parameters|options|return values?|faq|usage|"
    r"description|status|context|goals?|changelog|syntax|prerequisites|requirements|next steps|links?|resources|"
    r"home|policy|what|why|how|methods?|version.*|v?\d.*)\Z",
    re.IGNORECASE,
)
_HOW = ("How do I", "How can I", "How to", "What do I have to do to")
_ABOUT = ("What about {}?", "Tell me about {}", "{}", "What are the rules for {}?")
_GERUND = re.compile(r"([A-Z][a-z]+)ing\Z")
_DOUBLED = re.compile(r"(tt|nn|pp|gg)\Z")
_VERB = re.compile(
    r"(add|allow|apply|archive|ask|assign|build|cancel|change|check|choose|claim|configure|connect|contribute|"
    r"copy|create|debug|define|delete|deploy|disable|download|edit|enable|ensure|exclude|export|filter|find|"
    r"fix|get|import|include|install|invite|join|leave|make|manage|migrate|move|open|override|plan|prepare|"
    r"register|rename|report|request|reset|restore|review|run|schedule|search|select|send|set|share|specify|"
    r"start|stop|submit|test|update|upgrade|use|verify|write)\Z"
)


@dataclass(frozen=True, slots=True)
class Text:
    """A passage. Passages of the same `group` are about similar things."""

    title: str
    text: str
    group: str


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A question, and the characters start to end of the passage at `text_index` that answer it."""

    question: str
    text_index: int
    start: int
    end: int


def read_squad(file: Path, generator: random.Random) -> tuple[list[Text], list[AnsweredQuestion]]:
    """Read some paragraphs of each article of SQuAD 1.1's training set (Rajpurkar et al. 2016, CC BY-SA 4.0)."""
    texts: list[Text] = []
    questions: list[AnsweredQuestion] = []
    for article in json.loads(file.read_text())["data"]:
        paragraphs = [
            paragraph
            for paragraph in article["paragraphs"]
            if paragraph["qas"] and len(paragraph["context"]) < _MAX_CHARACTERS
        ]
        generator.shuffle(paragraphs)
        for paragraph in paragraphs[:_MAX_PARAGRAPHS]:
            items = paragraph["qas"]
            for item in generator.sample(items, min(_MAX_QUESTIONS, len(items))):
                answer = item["answers"][0]
                start = answer["answer_start"]
                end = start + len(answer["text"])
                questions.append(AnsweredQuestion(item["question"].strip(), len(texts), start, end))
            texts.append(Text(article["title"].replace("_", " "), paragraph["context"], article["title"]))
    return texts, questions


def read_markdown(folders: Sequence[Path], generator: random.Random) -> tuple[list[Text], list[AnsweredQuestion]]:
    """Read the sections of the Markdown files in these folders, each with a question made from its heading."""
    texts: list[Text] = []
    questions: list[AnsweredQuestion] = []
    for file in sorted(file for folder in folders for file in folder.rglob("*.md")):
        content = file.read_text(errors="replace")
        if len(content) > _MAX_FILE_CHARACTERS:
            continue
        title, sections = _split_sections(content)
        answered = [(_question(heading, generator) if heading != title else "", body) for heading, body in sections]
        answered = answered[:_MAX_SECTIONS]
        chosen = [index for index, (question, _) in enumerate(answered) if question]
        if not chosen or len(answered) < 2:
            continue
        chosen = generator.sample(chosen, min(_MAX_HEADINGS, len(chosen)))
        passages, places = _pack([body for _, body in answered])
        questions += [
            AnsweredQuestion(answered[index][0], len(texts) + places[index][0], *places[index][1:]) for index in chosen
        ]
        texts += [Text(title[:150], passage, str(file)) for passage in passages]
    return texts, questions


def _split_sections(content: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the title, and each section's heading with its text."""
    front_matter = _FRONT_MATTER.match(content)
    titled = _TITLE.search(front_matter[0]) if front_matter else None
    title = titled[1] if titled else ""
    sections: list[tuple[str, list[str]]] = [("", [])]
    is_code = False
    for line in content[front_matter.end() if front_matter else 0 :].splitlines():
        is_code ^= line.startswith(("```", "~~~"))
        heading = None if is_code else _HEADING.match(line)
        if heading:
            sections.append((heading[2], []))
            title = title or (heading[2] if len(heading[1]) == 1 else "")
        else:
            sections[-1][1].append(line)
    texts = [(heading, _NOT_SHOWN.sub("", "\n".join(lines)).strip()) for heading, lines in sections]
    return title, [
        (heading, text[:_MAX_SECTION_CHARACTERS]) for heading, text in texts if len(text) > _MIN_SECTION_CHARACTERS
    ]


def _pack(bodies: Sequence[str]) -> tuple[list[str], list[tuple[int, int, int]]]:
    """Join sections to passages. Their headings are left out: the answer is to be recognised without them.

    Returns:
        The passages, and each section's passage index, start and end.
    """
    passages: list[str] = []
    places: list[tuple[int, int, int]] = []
    for body in bodies:
        if not passages or len(passages[-1]) + len(body) > _MAX_PASSAGE_CHARACTERS:
            passages.append(body)
        else:
            passages[-1] += f"\n\n{body}"
        end = len(passages[-1])
        places.append((len(passages) - 1, end - len(body), end))
    return passages, places


def _question(heading: str, generator: random.Random) -> str:
    """Return a question that the section below a heading answers; empty if it is not clear which one."""
    text = re.sub(r"^\d+(\.\d+)*[.)]?\s+", "", _MARKS.sub("", heading).strip(" #:"))
    words = text.split()
    if not (6 <= len(text) <= 110 and text.isascii()) or _UNSPECIFIC.match(text):
        return ""
    if text.endswith("?"):
        return text if len(words) >= 3 else ""
    if re.match(r"(how|what|why|when|where|who|which|can|do|does|is|are|should) ", text, re.IGNORECASE):
        return f"{text}?"
    verb = _infinitive(words[0])
    if verb and len(words) > 1:
        return f"{generator.choice(_HOW)} {verb} {' '.join(words[1:])}?"
    if not 2 <= len(words) <= 7:
        return ""
    topic = text[0].lower() + text[1:]
    verb = "are" if topic.endswith("s") else "is"
    return generator.choice([f"What {verb} the {topic}?", *(form.format(topic) for form in _ABOUT)])


def _infinitive(word: str) -> str:
    """Return the verb of "Installing", or of "Install"; empty if the word is not a verb."""
    if _VERB.match(word.lower()):
        return word.lower()
    gerund = _GERUND.match(word)
    if not gerund:
        return ""
    verb = gerund[1].lower()
    candidates = (verb, f"{verb}e", verb[:-1] if _DOUBLED.search(verb) else verb)
    return next((candidate for candidate in candidates if _VERB.match(candidate)), "")
