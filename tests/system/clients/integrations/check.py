"""Uses the installed wheel of clients/python: its command, its retrievers in a chain and a query engine, and the
programs of the documentation that are given as arguments.

Reads ADDRESS and KEY from the environment. The exit status is 1 if a check fails.
"""

import asyncio
import os
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from ragsite_client import AsyncClient, Client, langchain, llamaindex

ADDRESS, KEY = os.environ["ADDRESS"], os.environ["KEY"]
QUESTION = "Where are the bicycles parked?"
TEXT = "Bicycles are parked in the yard."
FIELDS = {
    "score", "title", "path", "uri", "document_id", "chunk_id", "data_source_id", "start", "end", "headings", "tags",
    "shelf",
}  # fmt: skip


async def main() -> None:
    async with AsyncClient(ADDRESS, KEY) as async_client:
        with Client(ADDRESS, KEY) as client:
            await check_langchain(client, async_client)
            await check_llamaindex(client, async_client)
    command = Path(sys.executable).with_name("ragsite")
    environment = {**os.environ, "RAGSITE_URL": ADDRESS, "RAGSITE_API_KEY": KEY, "COLUMNS": "200"}
    process = subprocess.run([command, "search", QUESTION], env=environment, capture_output=True, text=True, check=True)
    assert TEXT in process.stdout, process.stdout
    print("ok    the command of the wheel", distribution("ragsite-client").version)
    for page in map(Path, sys.argv[1:]):
        check_page(page)


async def check_langchain(client: Client, async_client: AsyncClient) -> None:
    retriever = langchain.RagsiteRetriever(client=client, async_client=async_client, sources=["office"], top_k=3)
    (document,) = retriever.invoke(QUESTION)
    assert document == (await retriever.ainvoke(QUESTION))[0]
    without_async = langchain.RagsiteRetriever(client=client, sources=["office"], top_k=3)
    assert document == (await without_async.ainvoke(QUESTION))[0]
    assert (document.page_content, document.id) == (TEXT, document.metadata["chunk_id"])
    assert (set(document.metadata), document.metadata["shelf"]) == (FIELDS, "7")
    assert 0 < document.metadata["score"] <= 1
    filters = [{"field": "lang", "value": "xx"}]
    assert langchain.RagsiteRetriever(client=client, filters=filters).invoke(QUESTION) == []

    def join(documents: list[Document]) -> str:
        return "\n".join(document.page_content for document in documents)

    prompt = ChatPromptTemplate.from_template("{context} {question}")
    model = FakeListChatModel(responses=["In the yard."])
    chain = {"context": retriever | join, "question": RunnablePassthrough()} | prompt
    assert chain.invoke(QUESTION).messages[0].content == f"{TEXT} {QUESTION}"
    assert await (chain | model | StrOutputParser()).ainvoke(QUESTION) == "In the yard."
    print("ok    the retriever of LangChain in a chain")


async def check_llamaindex(client: Client, async_client: AsyncClient) -> None:
    retriever = llamaindex.RagsiteRetriever(client, async_client=async_client, sources=["office"], top_k=3)
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
    for response in (engine.query(QUESTION), await engine.aquery(QUESTION)):
        (hit,) = response.source_nodes
        assert (hit.text, hit.node_id) == (TEXT, hit.metadata["chunk_id"])
        assert (set(hit.metadata), hit.score) == (FIELDS, hit.metadata["score"])
        assert hit.node.source_node is not None
        assert hit.node.source_node.node_id == hit.metadata["document_id"]
        assert TEXT in str(response)
        assert "chunk_id" not in str(response), "a language model reads no ids"
    print("ok    the retriever of LlamaIndex in a query engine")


def check_page(page: Path) -> None:
    _, program = page.read_text().split("```python\n")
    program = program.partition("```")[0].replace("http://127.0.0.1:3080", ADDRESS).replace("rk_…", KEY)
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    assert TEXT in process.stdout, process.stdout
    print(f"ok    the program of {page.name}")


if __name__ == "__main__":
    asyncio.run(main())
