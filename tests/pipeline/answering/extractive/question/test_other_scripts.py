"""What questions in Russian, Arabic, Chinese, Japanese and Korean ask for."""

import pytest

from rag.pipeline.answering.extractive.question import other_scripts
from rag.pipeline.answering.extractive.question.answer_patterns import AnswerType
from rag.pipeline.answering.extractive.question.answer_types import expected_answer_type, has_answer_of_type
from rag.pipeline.answering.extractive.question.question_type import analyse_question, is_procedure, says_yes_or_no
from tests.support.checks.growth import takes_linear_time

TIME, DURATION, PRICE, NUMBER = AnswerType.TIME, AnswerType.DURATION, AnswerType.PRICE, AnswerType.NUMBER
PHONE, EMAIL, YEAR = AnswerType.PHONE_NUMBER, AnswerType.EMAIL_ADDRESS, AnswerType.YEAR


@pytest.mark.parametrize(
    ("question", "expected", "answer", "other"),
    [
        ("Сколько стоит шлем на день?", PRICE, "Шлем стоит триста рублей.", "Шлем лежит на складе."),
        ("Какой залог за лыжи?", PRICE, "Залог — 5000 рублей.", "Лыжи выдают утром."),
        ("Во сколько закрывается касса?", TIME, "Она работает до 22:30.", "Касса принимает карты."),
        ("Когда откроется сезон?", TIME, "Сезон откроется 28 ноября.", "Снега не менее 40 см."),
        ("Как долго готовят справку?", DURATION, "Она готова через три рабочих дня.", "Она стоит 40 рублей."),
        ("До какого возраста нужен шлем?", NUMBER, "Он нужен до двенадцати лет.", "Шлем обязателен."),
        ("Какой номер телефона кассы?", PHONE, "Касса: +7 (812) 555-01-10.", "Касса в здании."),
        ("В каком году построен подъёмник?", YEAR, "Он построен в 1998 году.", "Его длина 640 м."),
        ("كم سعر الاشتراك؟", PRICE, "سعره تسعمئة ريال.", "الاشتراك شخصي."),
        ("متى يصل البريد؟", TIME, "يصل في الحادية عشرة صباحًا.", "يُسلَّم من الاستقبال."),
        ("ما مدة الدورة؟", DURATION, "مدتها ساعتان.", "سعرها 40 ريالًا."),
        ("كم مكتبًا في الطابق؟", NUMBER, "فيه ثمانية مكاتب.", "المكاتب في الطابق."),
        ("ما البريد الإلكتروني للمحاسبة؟", EMAIL, "hisabat@waha.example", "في المكتب."),
        ("年卡多少钱？", PRICE, "年卡每年五千元。", "年卡不得转借。"),
        ("星期六几点关门？", TIME, "星期六晚上十时关门。", "工坊有40个座位。"),
        ("作品最多保管多久？", DURATION, "最多保管两个月。", "保管费为40元。"),
        ("每周可以预约几次课？", NUMBER, "最多可以预约四次。", "课程须提前预约。"),
        ("前台的电话号码是多少？", PHONE, "电话是0571-5550-2366。", "前台在一楼。"),
        ("工坊是哪一年成立的？", YEAR, "成立于1998年。", "有40人。"),
        ("利用料はいくらですか。", PRICE, "利用料は九千円です。", "利用料は返還しない。"),
        ("何時に閉まりますか。", TIME, "午後七時に閉まる。", "40名まで入れる。"),
        ("講習は何時間かかりますか。", DURATION, "講習は二時間です。", "講習は無料です。"),
        ("一人何品まで売れますか。", None, "", ""),
        ("会議室は何人まで入れますか。", NUMBER, "二十名まで入れる。", "予約が必要。"),
        ("주차 요금은 얼마입니까?", PRICE, "무료입니다.", "북문 앞에 있습니다."),
        ("언제 문을 닫습니까?", TIME, "오후 일곱 시에 닫습니다.", "문은 북쪽에 있습니다."),
        ("Кто директор клуба?", None, "", ""),
        ("工坊的负责人是谁？", None, "", ""),
        ("أين كبائن الهاتف؟", None, "", ""),
    ],
)
def test_questions_and_answers(question: str, expected: AnswerType | None, answer: str, other: str) -> None:
    assert expected_answer_type(question) is expected
    if expected:
        assert has_answer_of_type(answer, expected)
        assert not has_answer_of_type(other, expected)


def test_how_something_is_done() -> None:
    for question in (
        "Как получить справку?",
        "怎样成为志愿者？",
        "利用料はどうやって払いますか。",
        "كيف أحصل على فاتورة؟",
        "어떻게 예약합니까?",
    ):
        assert is_procedure(question)
    for question in ("Как часто ходит автобус?", "谁是负责人？", "いつ開きますか。", "كم السعر؟", "Какой пароль?"):
        assert not is_procedure(question)


def test_yes_is_no_answer_to_an_open_question() -> None:
    replies = ("Да, запишитесь.", "是的，可以。", "はい、あります。", "نعم، يوجد موقف.", "네, 있습니다.")
    questions = ("Где касса?", "哪里可以停车？", "トイレはどこですか。", "أين الموقف؟", "어디에 있습니까?")
    for question, reply in zip(questions, replies, strict=True):
        assert says_yes_or_no(reply)
        assert not analyse_question(question, ["ru"]).accepts(reply)
    assert analyse_question("Есть ли касса?", ["ru"]).accepts("Да, запишитесь.")
    assert not says_yes_or_no("Данные хранятся. 是否可以？")


@pytest.mark.parametrize(
    "piece", ["сколько ", "каков длин", "12 час", "كم سعر ", "二十", "二十 年", "7 ", "何回", "一"]
)
def test_time_is_linear(piece: str) -> None:
    def text_of(length: int, attempt: int) -> str:
        return piece * length + str(attempt)

    def step(text: str) -> object:
        kinds = [other_scripts.has_answer(text, kind) for kind in AnswerType]
        return kinds, other_scripts.expected_type(text), other_scripts.is_open(text), other_scripts.is_procedure(text)

    assert takes_linear_time(step, text_of, 8_000)
