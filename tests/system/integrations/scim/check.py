"""Runs scim2-tester against the product, in an environment that has nothing of the product.

The product takes a userName only if it is an address of a verified domain, which the tester cannot know. So it has
to make such addresses. Everything else is as the tester makes it.
"""

import os
import sys
import time
import uuid
from typing import Any

import httpx2
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import Status, check_server, filling

_random_value = filling.generate_random_value
_FAILURES = (Status.ERROR, Status.CRITICAL)


def random_value(context: Any, path: Any, *arguments: Any, **options: Any) -> Any:
    """Return an address of the verified domain for userName, and the tester's own value for all else."""
    value = _random_value(context, path, *arguments, **options)
    return f"{uuid.uuid4()}@home.example" if str(path).endswith("userName") and value else value


class Patient(httpx2.HTTPTransport):
    """Waits once when the product answers that there were too many requests in this minute, as directories do."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = super().handle_request(request)
        if response.status_code != 429:
            return response
        response.close()
        time.sleep(min(60.0, float(response.headers["Retry-After"])))
        return super().handle_request(request)


def main() -> int:
    for module in list(sys.modules.values()):  # where the tester has imported the function by name
        if getattr(module, "generate_random_value", None) is _random_value:
            module.generate_random_value = random_value  # type: ignore[attr-defined]
    headers = {"Authorization": f"Bearer {os.environ['SCIM_TOKEN']}"}
    with httpx2.Client(
        base_url=f"{os.environ['ADDRESS']}/scim/v2", headers=headers, timeout=30, transport=Patient()
    ) as http:
        results = check_server(SyncSCIMClient(http))
    failed = [result for result in results if result.status in _FAILURES]
    remarks = [result for result in results if result.status is Status.DEVIATION]
    for result in failed + remarks:
        print(f"{result.status.name}: {result.title} ({result.resource_type}): {result.reason}")
    print(f"scim2-tester: {len(results)} checks, {len(failed)} failed, {len(remarks)} deviations")
    return 1 if failed or len(results) < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
