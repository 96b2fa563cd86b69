"""Readers: one module for each family of formats. They run in the sandbox, without Django and its settings.

A reader takes the bytes of a file and the limits. It returns a ParsedDocument without a media type, or raises
ParseFailed. `registry` names the reader of each format.
"""
