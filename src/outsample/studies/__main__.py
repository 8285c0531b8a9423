"""python -m outsample.studies NAME …"""

from __future__ import annotations

import sys

from outsample.studies.catalogue import STUDIES, study


def main() -> None:
    """Run the study named first; what follows goes to it."""
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(f"python -m outsample.studies NAME …; names: {', '.join(STUDIES)}")
        return
    try:
        study(sys.argv[1]).main(sys.argv[2:])
    except (ValueError, OSError) as error:
        sys.exit(f"outsample: {error}")


if __name__ == "__main__":
    main()
