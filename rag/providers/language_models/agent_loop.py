"""Agent runs with the OpenAI Agents SDK: a model of any OpenAI-compatible endpoint may call tools before it answers."""

import asyncio
import contextlib
import contextvars
import json
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from django.db import connections

from rag.errors import GenerationFailed, InvalidRequest
from rag.providers.http import bounded_responses
from rag.providers.http.openai_client import open_async_client, translate_error
from rag.providers.limits.model_call_limiter import LANGUAGE_MODEL_CALLS
from rag.text.markup.pictures import disable_in_answer
from rag.types import AgentTool

from .openai import MAX_ANSWER_CHARACTERS
from .reasoning import remove_reasoning

if TYPE_CHECKING:
    import agents
    import openai

_RETRIES = 2
# Maximum number of calls of the model, and of tools, in one run.
MAX_TURNS = 8
MAX_TOOL_CALLS = 16


class AgentLoop:
    """Runs a model of an endpoint with tools. A run ends within `timeout` seconds."""

    def __init__(self, *, name: str, base_url: str, api_key: str, timeout: float) -> None:
        self.name = name
        self._base_url = base_url
        self._api_key = api_key
        self._timeout = timeout

    def run(self, *, instructions: str, text: str, tools: Sequence[AgentTool]) -> str:
        """Let the model answer. It may call the tools before it answers.

        Args:
            instructions: The system prompt.
            text: The user's message.
            tools: The tools that the model may call.

        Returns:
            The final answer, never empty.

        Raises:
            GenerationFailed: If the model did not answer in time, or answered without a text.
            Exception: If a tool raises it. An InvalidRequest is not raised: the model receives it as an error.
        """
        import agents  # takes seconds to import
        import openai

        calls = _ToolCalls()
        try:
            with LANGUAGE_MODEL_CALLS.call(self.name, GenerationFailed):
                answer = asyncio.run(asyncio.wait_for(self._run_agent(instructions, text, tools, calls), self._timeout))
        except Exception as error:
            if calls.failure is not None:
                raise calls.failure from calls.failure.__cause__
            match error:
                case TimeoutError():
                    message = f"{self.name} did not answer within {self._timeout:g} s."
                    raise GenerationFailed(message, is_timeout=True) from error
                case openai.APIError():
                    raise translate_error(error, self.name, GenerationFailed) from error
                case agents.MaxTurnsExceeded():
                    raise GenerationFailed(f"{self.name} did not answer within {MAX_TURNS} turns.") from error
                case (
                    agents.AgentsException()
                    | ValueError()
                    | TypeError()
                    | AttributeError()
                    | LookupError()
                    | RecursionError()
                ):
                    raise GenerationFailed(f"{self.name} answered with something that cannot be read.") from error
            raise
        finally:
            calls.close()
        answer = remove_reasoning(answer)
        if not answer.strip():
            raise GenerationFailed(f"{self.name} answered without a text.")
        if len(answer) > MAX_ANSWER_CHARACTERS:
            raise GenerationFailed(f"{self.name} answered with a text that is too long.")
        return disable_in_answer(answer)

    async def _run_agent(self, instructions: str, text: str, tools: Sequence[AgentTool], calls: "_ToolCalls") -> str:
        """Run the agent in the event loop, and return its final answer."""
        import agents

        async with self._client() as client:
            agent = agents.Agent(
                name="ragsite",
                instructions=instructions,
                model=_chat_model(self.name, client),
                model_settings=agents.ModelSettings(),  # the SDK's defaults suit OpenAI's models only
                tools=[_function_tool(tool, calls) for tool in tools],
            )
            # Traces would be sent to OpenAI, whatever the endpoint.
            config = agents.RunConfig(tracing_disabled=True, tool_not_found_behavior="return_error_to_model")
            result = await agents.Runner.run(agent, text, max_turns=MAX_TURNS, run_config=config)
        return bounded_responses.remove_unstorable(str(result.final_output or ""))

    def _client(self) -> "openai.AsyncOpenAI":
        return open_async_client(
            api_key=self._api_key,
            base_url=self._base_url,
            max_bytes=bounded_responses.MAX_LIBRARY_BYTES,
            timeout=self._timeout,
            max_retries=_RETRIES,
        )


def _chat_model(name: str, client: "openai.AsyncOpenAI") -> "agents.Model":
    """Return the model of an endpoint, whose calls of tools the SDK can read: with ids that differ, as valid text."""
    import agents

    class ChatModel(agents.OpenAIChatCompletionsModel):
        async def get_response(self, *args: Any, **options: Any) -> "agents.ModelResponse":
            response = await super().get_response(*args, **options)
            for item in response.output:
                if item.type == "function_call":
                    item.call_id, item.name = uuid.uuid4().hex, bounded_responses.remove_unstorable(item.name)
                    item.arguments = _remove_lone_surrogates(item.arguments)
            return response

    return ChatModel(name, client)


def _remove_lone_surrogates(arguments: str) -> str:
    """Replace lone surrogates in arguments of a tool, escaped ones too. Invalid JSON stays invalid."""
    with contextlib.suppress(ValueError, RecursionError):
        arguments = json.dumps(json.loads(arguments), ensure_ascii=False)
    return bounded_responses.remove_unstorable(arguments)


class _ToolCalls:
    """Calls the tools of one run, one at a time, in a thread, because Django's database layer needs one.

    Attributes:
        failure: The exception of a tool that ended the run.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="agent-tools")
        self._count = 0
        self.failure: Exception | None = None

    async def call(self, tool: AgentTool, arguments: str) -> str:
        """Return the tool's result as JSON, or a JSON object with an error that the model may correct."""
        self._count += 1
        if self._count > MAX_TOOL_CALLS:
            return _error_json("No more tools can be called. Answer from what you have.")
        if len(arguments) > MAX_ANSWER_CHARACTERS:
            return _error_json("The arguments are too long.")
        try:
            values = json.loads(arguments or "{}")
        except ValueError:
            values = None
        if not isinstance(values, dict):
            return _error_json("The arguments must be one JSON object.")
        context = contextvars.copy_context()  # the log's request id
        try:
            result = await asyncio.get_running_loop().run_in_executor(self._thread, context.run, tool.call, values)
        except InvalidRequest as error:
            return _error_json(error.message)
        except Exception as error:
            self.failure = error
            raise
        return json.dumps(result)

    def close(self) -> None:
        """Release the thread without waiting for a call that is still running."""
        self._thread.submit(connections.close_all)
        self._thread.shutdown(wait=False)


def _function_tool(tool: AgentTool, calls: _ToolCalls) -> "agents.FunctionTool":
    """Wrap a tool for the SDK. Its calls go through `calls`."""
    import agents

    async def invoke(_: object, arguments: str) -> str:
        return await calls.call(tool, arguments)

    return agents.FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=dict(tool.input_schema),
        on_invoke_tool=invoke,
        strict_json_schema=False,  # not every endpoint knows strict schemas; the tools validate their arguments
    )


def _error_json(message: str) -> str:
    return json.dumps({"error": message})
