"""What `make run` prints when the product is ready."""

import os
from pathlib import Path


def greeting(address: str, logs: Path, seconds: float, *, has_demo: bool, has_operator: bool) -> str:
    """Return what to do next: pages, accounts and a first question.

    Args:
        address: The address of the product, such as `http://127.0.0.1:3080`.
        logs: The folder of the logs.
        seconds: How long the start took.
        has_demo: Whether there are demo accounts.
        has_operator: Whether one of them is an operator.
    """
    lines = [
        "",
        f"ragsite is running (ready after {seconds:.0f} s). Ctrl-C stops it.",
        f"  Ask       {address}/",
        f"  Admin     {address}/admin/",
        f"  API       {address}/api/docs lists and tries all endpoints",
        f"  Health    {address}/readyz",
        f"  Logs      {logs}",
    ]
    if not has_demo:
        return "\n".join([*lines, "", "DATABASE_URL is set: no demo accounts were created (RAG_DEMO=1 creates them)."])
    password = os.environ.get("RAG_DEMO_PASSWORD") or "ragsite-demo"
    return "\n".join(
        [
            *lines,
            "",
            f"Demo accounts (password {password}):",
            "  owner@acme.example     owns acme, may also open the admin",
            "  editor@acme.example    can send documents",
            "  member@acme.example    in the team support",
            "  member@globex.example  in another organisation",
            *(
                [f"  operator@acme.example  sees {address}/admin/operations (until you create an organisation)"]
                if has_operator
                else []
            ),
            "",
            f"Open {address}/ and sign in with any of them to ask your first question.",
            "",
            "Or search over the API, to paste into another terminal:",
            "",
            f"TOKEN=$(curl -s {address}/api/auth/token -H 'Content-Type: application/json' \\",
            f'  -d \'{{"email": "member@acme.example", "password": "{password}"}}\' \\',
            "  | python3 -c 'import json, sys; print(json.load(sys.stdin)[\"access\"])')",
            f"curl -s {address}/api/rag/search -H 'Content-Type: application/json' \\",
            '  -H "Authorization: Bearer $TOKEN" \\',
            '  -d \'{"query": "How do I send a document?", "topK": 3}\' | python3 -m json.tool',
            "",
        ]
    )
