"""Listing a tree of folders in pages."""

import json

import pytest

from rag.providers.connectors import folder_walk
from rag.providers.connectors.base import ListingFailed, Page
from rag.providers.connectors.folder_walk import Entry


def test_a_tree_of_folders_without_files_takes_turns_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server can name folders without end: no page would come, and other syncs would wait."""
    monkeypatch.setattr(folder_walk, "_MAX_FOLDERS", 2_000)
    listed: list[tuple[str, ...]] = []

    def list_folder(parts: tuple[str, ...]) -> list[Entry]:
        listed.append(parts)
        return [Entry(name, is_folder=True, version=None) for name in ("a", "b", "c")] if len(parts) < 40 else []

    cursor: object = None
    for _ in range(3):
        page = next(folder_walk.list_pages(list_folder, cursor))
        assert (page.items, page.is_last, len(listed) < 600) == ([], False, True)
        assert json.loads(json.dumps(page.cursor)) != cursor
        cursor = page.cursor
        listed.clear()
    with pytest.raises(ListingFailed, match="more than 2,000 folders"):
        list(folder_walk.list_pages(list_folder, cursor))


def test_a_listing_continues_after_a_name_that_cannot_be_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_walk, "MAX_PAGE_ENTRIES", 1)
    names = ["a\0.txt", "b\udc80.txt", "c.txt"]

    def list_folder(parts: tuple[str, ...]) -> list[Entry]:
        return [Entry(name, is_folder=False, version="1") for name in names]

    pages: list[Page] = []
    cursor: object = None
    while not pages or not pages[-1].is_last:
        pages.append(next(folder_walk.list_pages(list_folder, cursor)))
        cursor = json.loads(json.dumps(pages[-1].cursor))
    assert [[item.path for item in page.items] for page in pages] == [[], [], ["c.txt"], []]
    assert "\\u0000" not in json.dumps([page.cursor for page in pages])
