"""`outsample`, and `python -m outsample`: the command line."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is still being loaded is answered like any other."""
    try:
        from outsample.cli import main as run

        run()
    except KeyboardInterrupt:
        print("outsample: interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
