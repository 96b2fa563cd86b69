"""What the clients of the library ask, and work that goes on while they wait."""

from tests.support.factories import process_queue

QUESTION = "Where are the bicycles parked?"
ANSWER = "Bicycles are parked in the yard. [1]"


def process_instead_of_sleeping(seconds: float) -> None:
    process_queue()
