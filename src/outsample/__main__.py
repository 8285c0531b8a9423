"""`python -m outsample` is the command line."""

from outsample.cli import main

if __name__ == "__main__":
    main()
