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
        no_answer: No passage seems to answer the question. It does not say that the sources lack the answer, because
            the documents may use other words (pipeline contract, sub-contract 2).
        unclear: A passage may answer the question, but probably does not: the closest one follows.
        agent_found_nothing: The agent has found no passage (agent contract).
        chat_found_nothing: A chat has found no passage, and no language model is configured (v3 contract, 2.3).
        gaps: Introduces the words of the question that no passage has.
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
    no_answer="No answer to this question was found in the sources.",
    unclear="No passage clearly answers this question.",
    agent_found_nothing="Nothing that answers this question was found in the sources.",
    chat_found_nothing="Nothing about this question was found in the sources.",
    gaps="The passages that were found do not mention: {gaps}.",
    closest="The closest passage is in “{where}”:",
    pending="The documents are being prepared for questions in this language. Please ask again in a few minutes.",
)
_OTHERS = {
    "german": Sentences(
        no_answer="In den Quellen wurde keine Antwort auf diese Frage gefunden.",
        unclear="Keine Textstelle beantwortet diese Frage eindeutig.",
        agent_found_nothing="In den Quellen wurde nichts gefunden, was diese Frage beantwortet.",
        chat_found_nothing="In den Quellen wurde nichts zu dieser Frage gefunden.",
        gaps="Die gefundenen Textstellen erwähnen nicht: {gaps}.",
        closest="Am nächsten kommt die Textstelle in „{where}“:",
        pending="Die Dokumente werden gerade für Fragen in dieser Sprache vorbereitet. "
        "Bitte fragen Sie in einigen Minuten noch einmal.",
    ),
    "french": Sentences(
        no_answer="Aucune réponse à cette question n’a été trouvée dans les sources.",
        unclear="Aucun passage ne répond clairement à cette question.",
        agent_found_nothing="Rien qui réponde à cette question n’a été trouvé dans les sources.",
        chat_found_nothing="Rien n’a été trouvé sur cette question dans les sources.",
        gaps="Les passages trouvés ne mentionnent pas : {gaps}.",
        closest="Le passage le plus proche se trouve dans « {where} » :",
        pending="Les documents sont en cours de préparation pour les questions dans cette langue. "
        "Veuillez reposer la question dans quelques minutes.",
    ),
    "spanish": Sentences(
        no_answer="No se encontró ninguna respuesta a esta pregunta en las fuentes.",
        unclear="Ningún pasaje responde claramente a esta pregunta.",
        agent_found_nothing="No se encontró en las fuentes nada que responda a esta pregunta.",
        chat_found_nothing="No se encontró en las fuentes nada sobre esta pregunta.",
        gaps="Los pasajes encontrados no mencionan: {gaps}.",
        closest="El pasaje más cercano está en «{where}»:",
        pending="Los documentos se están preparando para preguntas en este idioma. "
        "Vuelva a preguntar dentro de unos minutos.",
    ),
    "italian": Sentences(
        no_answer="Nelle fonti non è stata trovata alcuna risposta a questa domanda.",
        unclear="Nessun passaggio risponde chiaramente a questa domanda.",
        agent_found_nothing="Nelle fonti non è stato trovato nulla che risponda a questa domanda.",
        chat_found_nothing="Nelle fonti non è stato trovato nulla su questa domanda.",
        gaps="I passaggi trovati non menzionano: {gaps}.",
        closest="Il passaggio più vicino si trova in «{where}»:",
        pending="I documenti sono in preparazione per le domande in questa lingua. "
        "Ripeta la domanda tra qualche minuto.",
    ),
    "portuguese": Sentences(
        no_answer="Não foi encontrada nas fontes nenhuma resposta a esta pergunta.",
        unclear="Nenhuma passagem responde claramente a esta pergunta.",
        agent_found_nothing="Não foi encontrado nas fontes nada que responda a esta pergunta.",
        chat_found_nothing="Não foi encontrado nas fontes nada sobre esta pergunta.",
        gaps="As passagens encontradas não mencionam: {gaps}.",
        closest="A passagem mais próxima está em «{where}»:",
        pending="Os documentos estão em preparação para perguntas neste idioma. "
        "Volte a perguntar dentro de alguns minutos.",
    ),
    "dutch": Sentences(
        no_answer="In de bronnen is geen antwoord op deze vraag gevonden.",
        unclear="Geen enkele passage beantwoordt deze vraag duidelijk.",
        agent_found_nothing="In de bronnen is niets gevonden dat deze vraag beantwoordt.",
        chat_found_nothing="In de bronnen is niets over deze vraag gevonden.",
        gaps="De gevonden passages vermelden niet: {gaps}.",
        closest="Het dichtst in de buurt komt de passage in ‘{where}’:",
        pending="De documenten worden voorbereid op vragen in deze taal. Stel de vraag over enkele minuten opnieuw.",
    ),
}


def sentences_for(question: str) -> Sentences:
    """Return the sentences in the language of a question; English if it is unclear or another one."""
    return ENGLISH if is_english(question) else _OTHERS.get(name_language(question), ENGLISH)
