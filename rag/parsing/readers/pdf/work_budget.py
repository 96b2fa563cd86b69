"""A limit of the work for the tables of one document, as a number of steps: the same on every machine."""


class WorkExceeded(Exception):
    """The document has so many lines or cells that no more of it is compared."""


class WorkBudget:
    """The steps that are left. A step is about as long as the comparison of two lines."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def take(self, steps: int) -> None:
        """Take these steps from the budget.

        Raises:
            WorkExceeded: If fewer are left.
        """
        self._left -= steps
        if self._left < 0:
            raise WorkExceeded
