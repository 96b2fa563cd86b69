"""The reasoning that some models, such as DeepSeek-R1 and Qwen, write before an answer: `<think>…</think>`."""

_START, _END = "<think>", "</think>"


class AnswerFilter:
    """Passes on an answer that arrives in parts, without the reasoning before it and the white space around that."""

    def __init__(self) -> None:
        self._is_reasoning = False
        self._is_answer = False
        self._unread = ""  # the beginning of the text; of reasoning only its end

    def add(self, part: str) -> str:
        """Return the text of the answer that is known with this part; empty while there is none."""
        if self._is_answer:
            return part
        self._unread = (self._unread + part).lstrip()  # a model that fails may send white space for ever
        if not self._is_reasoning and self._unread.startswith(_START):
            self._is_reasoning = True
        if self._is_reasoning:
            reasoning, end, answer = self._unread.partition(_END)
            if not end:
                self._unread = reasoning[-len(_END) :]
                return ""
            self._is_reasoning, self._unread = False, ""
            return self.add(answer)
        self._is_answer = not _START.startswith(self._unread)
        return self._unread if self._is_answer else ""

    def finish(self) -> str:
        """Return the rest of an answer that has ended; empty if it has nothing but reasoning."""
        return "" if self._is_answer or self._is_reasoning else self._unread


def remove_reasoning(text: str) -> str:
    """Return a whole answer without the reasoning before it."""
    answer = AnswerFilter()
    return answer.add(text) + answer.finish()
