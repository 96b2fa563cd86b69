"""A retriever for LlamaIndex: `pip install 'ragsite-client[llamaindex]'`."""

from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode

from .async_client import AsyncClient
from .client import Client
from .models import Passage

# What a language model or an embedding model reads of a passage besides its text.
_READ_FIELDS = ("title", "headings")


class RagsiteRetriever(BaseRetriever):
    """Finds passages with a client, with the permissions of its API key."""

    def __init__(
        self,
        client: Client,
        *,
        async_client: AsyncClient | None = None,
        sources: Sequence[str] = (),
        top_k: int = 10,
        filters: Sequence[Mapping[str, Any]] = (),
        **options: Any,
    ) -> None:
        """Create a retriever.

        Args:
            client: Answers `retrieve`.
            async_client: Answers `aretrieve`; without it `client` does, and the event loop waits.
            sources: The ids or slugs of data sources; empty for all that may be queried.
            top_k: The maximum number of passages.
            filters: The API's filters, such as `{"field": "lang", "value": "en"}`.
            options: Further options of LlamaIndex's `BaseRetriever`.
        """
        super().__init__(**options)
        self._client, self._async_client = client, async_client
        self._options: dict[str, Any] = {"sources": sources, "top_k": top_k, "filters": filters}

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(passage) for passage in self._client.search(query_bundle.query_str, **self._options)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self._async_client is None:
            return self._retrieve(query_bundle)
        return [_node(passage) for passage in await self._async_client.search(query_bundle.query_str, **self._options)]


def _node(passage: Passage) -> NodeWithScore:
    metadata = passage.description()
    hidden = [name for name in metadata if name not in _READ_FIELDS]
    node = TextNode(
        id_=passage.chunk_id,
        text=passage.text,
        metadata=metadata,
        start_char_idx=passage.start,
        end_char_idx=passage.end,
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=hidden,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=passage.document_id)},
    )
    return NodeWithScore(node=node, score=passage.score)
