"""A server of the Model Context Protocol (MCP): POST /mcp. Its own messages describe it, not the OpenAPI document."""
