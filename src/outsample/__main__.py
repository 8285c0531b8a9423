"""`python -m outsample` is the command line."""

from outsample.cli import main

main()
