"""The confidence of quoted answers: the probability of the grounding, and what is known of the quotes."""

from dataclasses import dataclass

# The odds of the probability are multiplied by these, which were found with eleven sets of questions. Half of the
# questions that the probabilities were fitted with have no answer, and in use fewer have none (Bayes' rule). Where the
# best part is not in the passage that the search ranks first, two judgements disagree.
_ODDS_IN_BEST_PASSAGE, _ODDS_IN_OTHER_PASSAGE = 1.3, 0.6
# The highest confidence of a quote for which one of these reasons to doubt it holds: it is
# - from a passage other than the best one: a third of them are wrong;
# - from a text without sections: where headings say what a text is about, hardly one of ten quotes with a high
#   probability is wrong; elsewhere three of ten are, whatever their probability;
# - that, with the headings above it, has less than this share of the question's words: of five wrong quotes with a high
#   probability in eight sets, three had four words of five, and one three of four;
# - for a question of a single content word, which too many parts of a document have;
# - from a passage that is not much more relevant than others: of 11 quotes with a high probability for questions about
#   eight other products and organisations, nine were wrong or incomplete;
# - without what the question asks for, such as a time or a price;
# - without a reason, for "why", or that only repeats the question;
# - that only says where to read on, or is one of several steps;
# - about what is, where the question is about what is not, or the other way round: of seven wrong quotes with a high
#   probability about the documents of other products two were;
# - where the confidence was not measured: of 18 quotes for German questions with a high probability ten were wrong.
_MAX_WITH_ONE_DOUBT = 0.75
# With two of these reasons, of different kinds, 19 of 35 quotes in ten sets were right, and 79 of 131 in texts without
# sections. With one of them, and a word of the question that no passage mentions, 23 of 38 in eleven sets were, and 87
# of 108 without such a word. No words show whether a quote in another language is the answer: 30 of 53 for questions
# in other languages were, and 25 of 73 for English ones, which most often are about English documents. If a model has
# read question and passage together, 27 of 34 were, so these are limited like others with one doubt
# (docs/decisions/0089-multilingual-check.md). Of seven answers to "how many" without a number near the noun, none was.
_MAX_WITH_DOUBTS, _MAX_BETWEEN_LANGUAGES, _MAX_FOR_ENGLISH, _MAX_WITHOUT_COUNT = 0.67, 0.5, 0.4, 0.5
_MIN_WORD_SHARE, _MIN_WORD_COUNT, _MIN_RELEVANCE = 0.82, 2, 0.996


@dataclass(frozen=True, slots=True)
class QuoteEvidence:
    """What is known of the quotes of an answer.

    Attributes:
        is_in_best_passage: Whether the first quote is from the passage that the search ranks first.
        is_in_section: Whether the first quote is below a heading that is not the document's title.
        relevance: The relevance of the first quote's passage if it was reranked by late interaction, 0…1; otherwise 1.
        word_share: The share of the question's words that the quotes and the headings above them have, 0…1.
        has_all_words: Whether the passages that were found mention all words of the question.
        word_count: The number of the question's content words, with names of several words as one.
        has_answer_type: Whether a quote has what the question asks for, such as a time, if it asks for that.
        has_count: Whether a quote has a number near what the question wants to be counted, if it asks "how many".
        says_what_is_sought: Whether the quotes may have a reason, if the question asks why, and end with more than its
            own words.
        has_statement: Whether the quotes say more than where to read on.
        has_all_steps: Whether the quotes are more than one of the numbered sections that say how something is done.
        has_same_negation: Whether question and quotes are about what is, or both about what is not.
        is_between_languages: Whether a quote is in a language other than the question's.
        is_read: Whether a model for any language has read the question together with the first quote's passage.
        is_for_english: Whether the question is English.
        is_measured: Whether confidence was measured for the embedding model and the question's language.
    """

    is_in_best_passage: bool = True
    is_in_section: bool = True
    relevance: float = 1.0
    word_share: float = 1.0
    has_all_words: bool = True
    word_count: int = _MIN_WORD_COUNT
    has_answer_type: bool = True
    has_count: bool = True
    says_what_is_sought: bool = True
    has_statement: bool = True
    has_all_steps: bool = True
    has_same_negation: bool = True
    is_between_languages: bool = False
    is_read: bool = False
    is_for_english: bool = True
    is_measured: bool = True


def confidence_of_quotes(probability: float, evidence: QuoteEvidence) -> float:
    """Return the confidence of quoted sentences, 0…1.

    Args:
        probability: The probability that the passages contain the answer, 0…1 (`calibration_curve`).
        evidence: What is known of the quotes.
    """
    odds = _ODDS_IN_BEST_PASSAGE if evidence.is_in_best_passage else _ODDS_IN_OTHER_PASSAGE
    confidence = odds * probability / (1 - probability + odds * probability)
    doubts = _count_doubts(evidence)
    if evidence.is_between_languages and evidence.is_read:
        return min(confidence, _MAX_WITH_ONE_DOUBT)
    if evidence.is_between_languages:
        return min(confidence, _MAX_FOR_ENGLISH if evidence.is_for_english else _MAX_BETWEEN_LANGUAGES)
    if not evidence.has_count:
        return min(confidence, _MAX_WITHOUT_COUNT)
    if doubts:
        return min(confidence, _MAX_WITH_ONE_DOUBT if doubts == 1 and evidence.has_all_words else _MAX_WITH_DOUBTS)
    return confidence


def _count_doubts(evidence: QuoteEvidence) -> int:
    """Return how many kinds of reasons there are to doubt quotes: passage, words, completeness, curve."""
    is_section = evidence.is_in_best_passage and evidence.is_in_section and evidence.relevance >= _MIN_RELEVANCE
    has_words = evidence.word_share >= _MIN_WORD_SHARE and evidence.word_count >= _MIN_WORD_COUNT
    is_complete = (
        evidence.has_answer_type
        and evidence.says_what_is_sought
        and evidence.has_statement
        and evidence.has_all_steps
        and evidence.has_same_negation
    )
    return (is_section, has_words, is_complete, evidence.is_measured).count(False)
