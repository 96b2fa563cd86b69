"""python -m ragsite.embedded DATA_FOLDER -- COMMAND ...: run a command with both services up, then stop them.

python -m ragsite.embedded DATA_FOLDER --throwaway COMMAND ...: the same, for tests: nothing waits for the disk.

python -m ragsite.embedded DATA_FOLDER --forget: stop them and remove their data.
"""

import os
import secrets
import subprocess
import sys
from pathlib import Path

from . import services
from .folder import EmbeddedError


def main(folder: Path, mode: str, command: list[str]) -> int:
    if mode == "--forget":
        services.forget(folder)
        return 0
    try:
        # A key and the local mode of this run only, unless the caller names others.
        local = {"SECRET_KEY": secrets.token_urlsafe(64), "RAG_LOCAL": "1", "RAGSITE_DATA": str(folder)}
        environment = {**local, **os.environ, **services.start(folder, throwaway=mode == "--throwaway")}
        return subprocess.run(command, env=environment).returncode
    except KeyboardInterrupt:
        return 130
    finally:
        services.stop(folder)


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[2] not in ("--", "--throwaway", "--forget"):
        sys.exit(__doc__)
    try:
        sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:]))
    except EmbeddedError as error:
        sys.exit(str(error))
