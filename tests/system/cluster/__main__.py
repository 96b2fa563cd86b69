"""make cluster: two web hosts, two worker hosts, a data host and a proxy, as network namespaces, under load and faults.

The exit status is 1 if a promise was broken, and 2 if no namespaces can be made here. CLUSTER_PARTS names what to run:
faults, scaling (default: both). CLUSTER_WORKERS has the numbers of workers of the latter (1,2,3,4,5,6,7,8). Needs root,
iproute2, HAProxy and OpenSSL.
"""

import os
import shutil
import signal
import sys
import time
from pathlib import Path

from .hosts.network import missing_requirement, run_in_own_namespaces

_INSIDE = "CLUSTER_INSIDE"


def main(folder: Path) -> int:
    missing = missing_requirement()
    for program in ("haproxy", "openssl"):
        missing = missing or ("" if shutil.which(program) else f"{program} is missing: apt-get install {program}.")
    if missing:
        print(f"make cluster cannot run here. {missing}", file=sys.stderr)
        return 2
    return run_in_own_namespaces([sys.executable, "-m", __package__, str(folder)], _INSIDE)


def run_inside(folder: Path) -> int:
    """Run everything in the namespaces of this process, with which all others end."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    started_at = time.monotonic()
    parts = (os.environ.get("CLUSTER_PARTS") or "faults,scaling").split(",")
    from tests.system.chaos.embedding_endpoint import Endpoint

    from .hosts.installation import Installation
    from .hosts.network import CLIENT_ADDRESS

    with Endpoint(CLIENT_ADDRESS).running() as endpoint, Installation(folder) as installation:
        assert isinstance(endpoint, Endpoint)
        import django

        from ragsite.postgres import identity

        identity.run_process_as(identity.WORKER)
        django.setup()
        from .run import run_faults
        from .scaling import run_scaling

        installation.start_all()
        print(f"everything runs: {time.monotonic() - started_at:.0f} s", flush=True)
        if not installation.has_clock_differences:
            print("There is no C compiler: all hosts have the same clock.", flush=True)
        is_good = True
        if "faults" in parts:
            is_good &= run_faults(installation, endpoint)
        if "scaling" in parts:
            is_good &= run_scaling(installation, endpoint)
    print(f"{time.monotonic() - started_at:.0f} s; {'every promise was kept' if is_good else 'a promise was BROKEN'}")
    return 0 if is_good else 1


if __name__ == "__main__":
    path = Path(sys.argv[1]).resolve()
    sys.exit(run_inside(path) if os.environ.get(_INSIDE) else main(path))
