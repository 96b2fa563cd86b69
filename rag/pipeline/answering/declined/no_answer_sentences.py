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
        next_closest: The same of the passage that comes next.
        pending: Nothing was found, and the sources are being embedded for questions that are not English.
        comma: What is between two gaps.
        space: What is between two sentences.
    """

    no_answer: str
    unclear: str
    agent_found_nothing: str
    chat_found_nothing: str
    gaps: str
    closest: str
    next_closest: str
    pending: str
    comma: str = ", "
    space: str = " "


ENGLISH = Sentences(
    no_answer="No answer to this question was found in the sources.",
    unclear="No passage clearly answers this question.",
    agent_found_nothing="Nothing that answers this question was found in the sources.",
    chat_found_nothing="Nothing about this question was found in the sources.",
    gaps="The passages that were found do not mention: {gaps}.",
    closest="The closest passage is in “{where}”:",
    next_closest="The next closest is in “{where}”:",
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
        next_closest="Danach kommt die Textstelle in „{where}“:",
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
        next_closest="Le suivant se trouve dans « {where} » :",
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
        next_closest="El siguiente está en «{where}»:",
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
        next_closest="Il successivo si trova in «{where}»:",
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
        next_closest="A seguinte está em «{where}»:",
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
        next_closest="Daarna komt de passage in ‘{where}’:",
        pending="De documenten worden voorbereid op vragen in deze taal. Stel de vraag over enkele minuten opnieuw.",
    ),
    "polish": Sentences(
        no_answer="W źródłach nie znaleziono odpowiedzi na to pytanie.",
        unclear="Żaden fragment nie odpowiada jednoznacznie na to pytanie.",
        agent_found_nothing="W źródłach nie znaleziono niczego, co odpowiada na to pytanie.",
        chat_found_nothing="W źródłach nie znaleziono niczego na ten temat.",
        gaps="Znalezione fragmenty nie wspominają o: {gaps}.",
        closest="Najbliższy fragment znajduje się w „{where}”:",
        next_closest="Następny znajduje się w „{where}”:",
        pending="Dokumenty są przygotowywane do pytań w tym języku. Proszę zapytać ponownie za kilka minut.",
    ),
    "turkish": Sentences(
        no_answer="Kaynaklarda bu sorunun cevabı bulunamadı.",
        unclear="Hiçbir bölüm bu soruyu açıkça cevaplamıyor.",
        agent_found_nothing="Kaynaklarda bu soruyu cevaplayan bir şey bulunamadı.",
        chat_found_nothing="Kaynaklarda bu konuda bir şey bulunamadı.",
        gaps="Bulunan bölümlerde şunlar geçmiyor: {gaps}.",
        closest="En yakın bölüm “{where}” içindedir:",
        next_closest="Sonraki bölüm “{where}” içindedir:",
        pending="Belgeler bu dildeki sorular için hazırlanıyor. Lütfen birkaç dakika sonra tekrar sorun.",
    ),
    "russian": Sentences(
        no_answer="В источниках не найден ответ на этот вопрос.",
        unclear="Ни один фрагмент не отвечает на этот вопрос однозначно.",
        agent_found_nothing="В источниках не найдено ничего, что отвечает на этот вопрос.",
        chat_found_nothing="В источниках ничего не найдено по этому вопросу.",
        gaps="В найденных фрагментах не упоминается: {gaps}.",
        closest="Ближе всего фрагмент в «{where}»:",
        next_closest="Затем следует фрагмент в «{where}»:",
        pending="Документы подготавливаются для вопросов на этом языке. Повторите вопрос через несколько минут.",
    ),
    "arabic": Sentences(
        no_answer="لم يُعثر في المصادر على إجابة عن هذا السؤال.",
        unclear="لا يوجد مقطع يجيب عن هذا السؤال بوضوح.",
        agent_found_nothing="لم يُعثر في المصادر على ما يجيب عن هذا السؤال.",
        chat_found_nothing="لم يُعثر في المصادر على شيء عن هذا السؤال.",
        gaps="لا تذكر المقاطع التي عُثر عليها: {gaps}.",
        closest="أقرب مقطع موجود في «{where}»:",
        next_closest="والمقطع التالي موجود في «{where}»:",
        pending="يجري إعداد المستندات للأسئلة بهذه اللغة. يُرجى إعادة السؤال بعد بضع دقائق.",
        comma="، ",
    ),
    "chinese": Sentences(
        no_answer="在资料中没有找到这个问题的答案。",
        unclear="没有段落明确回答这个问题。",
        agent_found_nothing="在资料中没有找到能回答这个问题的内容。",
        chat_found_nothing="在资料中没有找到与这个问题有关的内容。",
        gaps="找到的段落没有提到：{gaps}。",
        closest="最接近的段落在“{where}”中：",
        next_closest="其次是“{where}”中的段落：",
        pending="正在为这种语言的问题准备文档。请几分钟后再问一次。",
        comma="、",
        space="",
    ),
    "japanese": Sentences(
        no_answer="この質問への答えは資料の中に見つかりませんでした。",
        unclear="この質問に明確に答える箇所はありません。",
        agent_found_nothing="この質問に答える内容は資料の中に見つかりませんでした。",
        chat_found_nothing="この質問に関する内容は資料の中に見つかりませんでした。",
        gaps="見つかった箇所には次の語がありません：{gaps}。",
        closest="最も近い箇所は「{where}」にあります：",
        next_closest="次に近い箇所は「{where}」にあります：",
        pending="この言語での質問のために文書を準備しています。数分後にもう一度質問してください。",
        comma="、",
        space="",
    ),
    "korean": Sentences(
        no_answer="자료에서 이 질문에 대한 답을 찾지 못했습니다.",
        unclear="이 질문에 명확하게 답하는 부분이 없습니다.",
        agent_found_nothing="자료에서 이 질문에 답하는 내용을 찾지 못했습니다.",
        chat_found_nothing="자료에서 이 질문에 관한 내용을 찾지 못했습니다.",
        gaps="찾은 부분에는 다음 말이 없습니다: {gaps}.",
        closest="가장 가까운 부분은 “{where}”에 있습니다:",
        next_closest="그다음으로 가까운 부분은 “{where}”에 있습니다:",
        pending="이 언어로 된 질문을 위해 문서를 준비하고 있습니다. 몇 분 후에 다시 질문해 주세요.",
    ),
    "thai": Sentences(
        no_answer="ไม่พบคำตอบของคำถามนี้ในแหล่งข้อมูล",
        unclear="ไม่มีข้อความใดที่ตอบคำถามนี้อย่างชัดเจน",
        agent_found_nothing="ไม่พบสิ่งที่ตอบคำถามนี้ในแหล่งข้อมูล",
        chat_found_nothing="ไม่พบข้อมูลเกี่ยวกับคำถามนี้ในแหล่งข้อมูล",
        gaps="ข้อความที่พบไม่ได้กล่าวถึง: {gaps}",
        closest="ข้อความที่ใกล้เคียงที่สุดอยู่ใน “{where}”:",
        next_closest="ข้อความถัดมาอยู่ใน “{where}”:",
        pending="กำลังเตรียมเอกสารสำหรับคำถามในภาษานี้ โปรดถามอีกครั้งในอีกไม่กี่นาที",
    ),
}


def sentences_for(question: str) -> Sentences:
    """Return the sentences in the language of a question; English if it is unclear or another one."""
    return ENGLISH if is_english(question) else _OTHERS.get(name_language(question), ENGLISH)
