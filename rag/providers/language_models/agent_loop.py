"""The OpenAI Agents SDK: a model of any OpenAI-compatible endpoint that may call tools before it answers."""

import asyncio
import contextvars
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from django.db import connections

from rag.errors import GenerationFailed, InvalidRequest
from rag.providers.http.bounded import storable
from rag.providers.http.concurrency import LANGUAGE_MODELS
from rag.providers.http.openai_client import opened_asynchronously, translated
from rag.types import AgentTool

if TYPE_CHECKING:
    import agents
    import openai

_RETRIES = 2
# Calls of the model in one run, and of tools: a model that asks for ever costs no more than this.
MAX_TURNS = 8
MAX_TOOL_CALLS = 16


class AgentLoop:
    """One model of one endpoint. A run ends within `timeout` seconds, whatever endpoint and tools do."""

    def __init__(self, *, name: str, base_url: str, api_key: str, timeout: float) -> None:
        self.name = name
        self._base_url = base_url
        self._api_key = api_key
        self._timeout = timeout

    def run(self, *, instructions: str, text: str, tools: Sequence[AgentTool]) -> str:
        """The final answer, never empty. Raises GenerationFailed, and what a tool raises (but see AgentTool)."""
        import agents  # seconds of import, paid only where it is used
        import openai

        calls = _ToolCalls()
        try:
            with LANGUAGE_MODELS.one(self.name, GenerationFailed):
                answer = asyncio.run(asyncio.wait_for(self._run(instructions, text, tools, calls), self._timeout))
        except Exception as error:
            if calls.failure is not None:
                raise calls.failure from calls.failure.__cause__
            match error:
                case TimeoutError():
                    late = f"{self.name} did not come to an answer within {self._timeout:g} s."
                    raise GenerationFailed(late, is_timeout=True) from error
                case openai.APIError():
                    raise translated(error, self.name, GenerationFailed) from error
                case agents.MaxTurnsExceeded():
                    raise GenerationFailed(f"{self.name} did not come to an answer in {MAX_TURNS} turns.") from error
                case (
                    agents.AgentsException()
                    | ValueError()
                    | TypeError()
                    | AttributeError()
                    | LookupError()
                    | RecursionError()
                ):
                    raise GenerationFailed(f"{self.name} answered something that is not understood.") from error
            raise
        finally:
            calls.close()
        if not answer.strip():
            raise GenerationFailed(f"{self.name} answered without a text.")
        return answer

    async def _run(self, instructions: str, text: str, tools: Sequence[AgentTool], calls: "_ToolCalls") -> str:
        import agents

        async with self._client() as client:
            agent = agents.Agent(
                name="ragsite",
                instructions=instructions,
                model=agents.OpenAIChatCompletionsModel(self.name, client),
                model_settings=agents.ModelSettings(),  # the SDK's own defaults suit OpenAI's models only
                tools=[_function_tool(tool, calls) for tool in tools],
            )
            # Traces would go to OpenAI, whatever the endpoint.
            config = agents.RunConfig(tracing_disabled=True, tool_not_found_behavior="return_error_to_model")
            result = await agents.Runner.run(agent, text, max_turns=MAX_TURNS, run_config=config)
        return storable(str(result.final_output or ""))

    def _client(self) -> "openai.AsyncOpenAI":
        return opened_asynchronously(
            api_key=self._api_key, base_url=self._base_url, timeout=self._timeout, max_retries=_RETRIES
        )


class _ToolCalls:
    """Runs the tools of one run, one call at a time, in a thread of its own: Django's database layer refuses to work
    inside an event loop. failure: what ended the run."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="agent-tools")
        self._made = 0
        self.failure: Exception | None = None

    async def call(self, tool: AgentTool, arguments: str) -> str:
        """The tool's result as JSON."""
        self._made += 1
        if self._made > MAX_TOOL_CALLS:
            return _complaint("No more tools can be called. Answer from what you have.")
        try:
            values = json.loads(arguments or "{}")
        except ValueError:
            values = None
        if not isinstance(values, dict):
            return _complaint("The arguments must be one JSON object.")
        context = contextvars.copy_context()  # the log's request id
        try:
            result = await asyncio.get_running_loop().run_in_executor(self._thread, context.run, tool.call, values)
        except InvalidRequest as error:
            return _complaint(error.message)
        except Exception as error:
            self.failure = error
            raise
        return json.dumps(result)

    def close(self) -> None:
        """Returns at once; a call that is still running is not waited for."""
        self._thread.submit(connections.close_all)
        self._thread.shutdown(wait=False)


def _function_tool(tool: AgentTool, calls: _ToolCalls) -> "agents.FunctionTool":
    import agents

    async def invoke(_: Any, arguments: str) -> str:
        return await calls.call(tool, arguments)

    return agents.FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=dict(tool.input_schema),
        on_invoke_tool=invoke,
        strict_json_schema=False,  # not every endpoint knows strict schemas; the tools check what they are given
    )


def _complaint(message: str) -> str:
    return json.dumps({"error": message})
