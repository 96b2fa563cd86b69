"""A retriever for LangChain: `pip install 'ragsite-client[langchain]'`."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from .async_client import AsyncClient
from .client import Client
from .models import Passage


class RagsiteRetriever(BaseRetriever):
    """Finds passages with a client, with the permissions of its API key.

    Attributes:
        client: Answers `invoke`.
        async_client: Answers `ainvoke`; without it a thread calls `client`.
        sources: The ids or slugs of data sources; empty for all that may be queried.
        top_k: The maximum number of passages.
        filters: The API's filters, such as `{"field": "lang", "value": "en"}`.
    """

    client: Client
    async_client: AsyncClient | None = None
    sources: Sequence[str] = ()
    top_k: int = 10
    filters: Sequence[Mapping[str, Any]] = ()

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        passages = self.client.search(query, sources=self.sources, top_k=self.top_k, filters=self.filters)
        return [_document(passage) for passage in passages]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        if self.async_client is None:
            documents: list[Document] = await super()._aget_relevant_documents(query, run_manager=run_manager)
            return documents
        passages = await self.async_client.search(query, sources=self.sources, top_k=self.top_k, filters=self.filters)
        return [_document(passage) for passage in passages]


def _document(passage: Passage) -> Document:
    return Document(id=passage.chunk_id, page_content=passage.text, metadata=passage.description())
