"""audit: a user's own procedure, in a script, run on permuted labels."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

SCRIPT = typer.Argument(help="Python file with a function of (X, y) that returns the error it reports.")


def audit(
    script: Annotated[str, SCRIPT],
    file: Annotated[str, typer.Argument(help="CSV (gzipped or not) or Parquet; - is standard input.")],
    target: Annotated[str, typer.Option(help="Column to predict.")],
    function: Annotated[str, typer.Option(help="Name of the function in the script.")] = "procedure",
    draws: Annotated[int, typer.Option(help="Permutations.")] = 20,
    loss: Annotated[str | None, typer.Option(help="Units of the error: zero-one, squared or absolute.")] = None,
    no_information: Annotated[float | None, typer.Option(help="Error of the best constant, for other units.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")] = None,
    groups: Annotated[str | None, typer.Option(help="Column that says which rows belong together.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the permutations.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but the answer.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error arose.")] = False,
) -> None:
    """Is my own procedure honest? It runs on permuted labels."""
    import outsample
    from outsample.commands.session import as_json
    from outsample.preparing import divided
    from outsample.reading import read_table

    def say(sentence: str) -> None:
        if not quiet:
            print(f"outsample: {sentence}", file=sys.stderr)

    procedure = _function_in(script, function)
    data = divided(read_table(file), target, drop=drop or (), groups=groups, say=say)
    found = outsample.audit(
        procedure,
        data.X,
        data.y,
        n_draws=draws,
        random_state=seed,
        loss=loss,
        no_information=no_information,
        groups=data.groups,
    )
    asked = {"file": file, "script": script, "function": function, "target": target, "seed": seed}
    answer = {"command": "audit", "version": outsample.__version__, "asked": asked, "audit": found.to_dict()}
    print(as_json(answer) if json else found)


def _function_in(script: str, name: str) -> Any:
    path = Path(script)
    if not path.is_file():
        raise ValueError(f"{script}: there is no such file; audit takes a Python file and then the data")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{script} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ValueError(f"{script} cannot be run: {type(error).__name__}: {error}") from error
    if not hasattr(module, name):
        raise ValueError(f"{script} has no function {name!r}; write one, or name another with --function")
    return getattr(module, name)
