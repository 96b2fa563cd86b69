"""The fixed sentences around quotes and in place of an answer, in the language of the question.

Texts that a contract fixes are English.
"""

from dataclasses import dataclass

from rag.text.question_language import is_english, name_language

# Retrieval confidence is low; the text is fixed by the retrieval contract, endpoint 2.
LOW_CONFIDENCE = (
    "I don't have enough relevant information to answer this question confidently. "
    "Here are the most relevant sources I found:"
)


@dataclass(frozen=True, slots=True)
class Sentences:
    """The sentences in one language.

    Attributes:
        no_answer: The passages do not contain the answer (pipeline contract, sub-contract 2).
        unclear: The passages may contain the answer, but probably do not: the closest one follows.
        agent_found_nothing: The agent has found no passage (agent contract).
        chat_found_nothing: A chat has found no passage, and no language model is configured (v3 contract, 2.3).
        gaps: Introduces what no passage mentions.
        closest: Introduces the closest passage, by its document and heading.
        pending: Nothing was found, and the sources are being embedded for questions that are not English.
    """

    no_answer: str
    unclear: str
    agent_found_nothing: str
    chat_found_nothing: str
    gaps: str
    closest: str
    pending: str


ENGLISH = Sentences(
    no_answer="The sources do not contain the answer to this question.",
    unclear="No passage clearly answers this question.",
    agent_found_nothing="The sources contain nothing that answers this question.",
    chat_found_nothing="The sources do not contain anything about this question.",
    gaps="Nothing was found about: {gaps}.",
    closest="The closest passage is in “{where}”:",
    pending="The documents are being prepared for questions in this language. Please ask again in a few minutes.",
)
_OTHERS = {
    "german": Sentences(
        no_answer="Die Quellen enthalten die Antwort auf diese Frage nicht.",
        unclear="Kein Abschnitt beantwortet diese Frage eindeutig.",
        agent_found_nothing="Die Quellen enthalten nichts, was diese Frage beantwortet.",
        chat_found_nothing="Die Quellen enthalten nichts zu dieser Frage.",
        gaps="Nichts gefunden wurde zu: {gaps}.",
        closest="Am nächsten kommt der Abschnitt in „{where}“:",
        pending="Die Dokumente werden gerade für Fragen in dieser Sprache vorbereitet. "
        "Bitte fragen Sie in einigen Minuten noch einmal.",
    ),
    "french": Sentences(
        no_answer="Les sources ne contiennent pas la réponse à cette question.",
        unclear="Aucun passage ne répond clairement à cette question.",
        agent_found_nothing="Les sources ne contiennent rien qui réponde à cette question.",
        chat_found_nothing="Les sources ne contiennent rien sur cette question.",
        gaps="Rien n’a été trouvé sur : {gaps}.",
        closest="Le passage le plus proche se trouve dans « {where} » :",
        pending="Les documents sont en cours de préparation pour les questions dans cette langue. "
        "Veuillez reposer la question dans quelques minutes.",
    ),
    "spanish": Sentences(
        no_answer="Las fuentes no contienen la respuesta a esta pregunta.",
        unclear="Ningún pasaje responde claramente a esta pregunta.",
        agent_found_nothing="Las fuentes no contienen nada que responda a esta pregunta.",
        chat_found_nothing="Las fuentes no contienen nada sobre esta pregunta.",
        gaps="No se encontró nada sobre: {gaps}.",
        closest="El pasaje más cercano está en «{where}»:",
        pending="Los documentos se están preparando para preguntas en este idioma. "
        "Vuelva a preguntar dentro de unos minutos.",
    ),
}


def sentences_for(question: str) -> Sentences:
    """Return the sentences in the language of a question: German, French, Spanish, or else English."""
    return ENGLISH if is_english(question) else _OTHERS.get(name_language(question), ENGLISH)
