"""How long a failed call to a model, a document or a re-embedding waits before the next try.

The pauses of webhooks are in rag.services.webhooks.delivery.
"""

import random
from dataclasses import dataclass

# A pause is up to this share longer than its nominal length, so that not all retry at once.
_JITTER = 0.5
# Larger exponents would overflow; every policy has reached its longest pause by then.
_MAX_DOUBLINGS = 16


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pauses that double with each failure, with jitter.

    Attributes:
        first_seconds: The nominal pause after the first failure.
        max_seconds: The longest nominal pause.
    """

    first_seconds: float
    max_seconds: float

    def nominal_seconds(self, failures: int) -> float:
        """Return the pause after this many failures in succession (from 1), without jitter."""
        return min(self.first_seconds * 2.0 ** min(failures - 1, _MAX_DOUBLINGS), self.max_seconds)

    def mean_seconds(self, failures: int) -> float:
        """Return the mean of the pause after this many failures in succession."""
        return self.nominal_seconds(failures) * (1 + _JITTER / 2)

    def pause_seconds(self, failures: int) -> float:
        """Return the pause after this many failures in succession, up to 50 % longer than the nominal one."""
        return self.nominal_seconds(failures) * random.uniform(1, 1 + _JITTER)


# Within one call, while a request or a worker waits.
EMBEDDING_CALL = Backoff(first_seconds=0.5, max_seconds=5)
GENERATION_CALL = Backoff(first_seconds=0.25, max_seconds=5)
# A longer Retry-After is not waited for within a call: the calling code can do something else meanwhile.
MAX_RETRY_AFTER_WITHIN_CALL_SECONDS = 5.0
# Between calls, while documents or a re-embedding wait in the database.
DOCUMENTS = Backoff(first_seconds=10, max_seconds=240)
REEMBEDDING = Backoff(first_seconds=10, max_seconds=600)
# A longer Retry-After of a provider is shortened to this.
MAX_RETRY_AFTER_SECONDS = 3600
