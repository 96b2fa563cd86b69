"""Run a command with embedded PostgreSQL and Redis.

python -m ragsite.embedded DATA_FOLDER -- COMMAND ...: start both, run the command, stop them. The command may create
databases and more, because its login is a superuser.

python -m ragsite.embedded DATA_FOLDER --throwaway COMMAND ...: the same without fsync, for tests.

python -m ragsite.embedded DATA_FOLDER --delete: stop both and delete their data.
"""

import os
import secrets
import subprocess
import sys
from pathlib import Path

from . import services
from .folder import EmbeddedError


def main(folder: Path, mode: str, command: list[str]) -> int:
    if mode == "--delete":
        services.delete_data(folder)
        return 0
    try:
        # A secret key and local mode for this run, unless the environment sets them.
        local = {"SECRET_KEY": secrets.token_urlsafe(64), "RAG_LOCAL": "1", "RAGSITE_DATA": str(folder)}
        variables = services.start(folder, throwaway=mode == "--throwaway", superuser=True)
        environment = {**local, **os.environ, **variables}
        return subprocess.run(command, env=environment).returncode
    except KeyboardInterrupt:
        return 130
    finally:
        services.stop(folder)


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[2] not in ("--", "--throwaway", "--delete"):
        sys.exit(__doc__)
    try:
        sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:]))
    except EmbeddedError as error:
        sys.exit(str(error))
