"""The command line: one command per question of the library. Nothing heavy is imported before a command runs."""

from outsample.cli.main import app as app
from outsample.cli.main import main as main
