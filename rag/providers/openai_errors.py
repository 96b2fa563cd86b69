"""The openai client's exceptions as ours. The provider's own words are dropped: they may quote what was sent."""

from typing import TYPE_CHECKING, TypeVar

from rag.errors import ProviderFailed

if TYPE_CHECKING:
    import openai

Failure = TypeVar("Failure", bound=ProviderFailed)


def translated(error: "openai.APIError", model: str, failure: type[Failure]) -> Failure:
    """The failure to raise, saying whether another try may help."""
    import openai

    match error:
        case openai.APITimeoutError():
            return failure(f"{model} did not answer in time.", timed_out=True)
        case openai.APIConnectionError():
            return failure(f"{model} cannot be reached.")
        case openai.RateLimitError():
            return failure(f"{model} refuses more requests for now.", busy=True)
        case openai.InternalServerError():
            return failure(f"{model} answered with an error of its own ({error.status_code}).")
        case openai.AuthenticationError() | openai.PermissionDeniedError():
            return failure(f"{model} does not accept the API key.", retry=False)
        case openai.NotFoundError():
            return failure(f"The endpoint knows no model named {model}.", retry=False)
        case openai.APIStatusError():
            return failure(f"{model} refused the request ({error.status_code}).", retry=False)
        case _:
            return failure(f"{model} answered something that is not understood.")
