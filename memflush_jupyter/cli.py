"""``memflush``: the same things from a shell, for people without a notebook open, schedulers and CI."""

from __future__ import annotations

from pathlib import Path

import click

from memflush_jupyter import __version__
from memflush_jupyter.errors import MemflushError


class _Sentences(click.Group):
    """Turns errors of this package into one sentence on stderr and exit code 1: nobody needs our traceback."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except MemflushError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_Sentences, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="memflush")
def main() -> None:
    """An agent in a notebook that saves what matters before its context is compacted, and finds it again."""


@main.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("memflush-demo"),
    show_default=True,
    help="Folder to run in. One that exists is left alone: the next free name is taken (memflush-demo-2, …).",
)
@click.option("--timeout", type=click.FloatRange(min=1), default=600.0, show_default=True, help="Seconds one cell may take.")
def demo(output: Path, timeout: float) -> None:
    """Run the quickstart notebook offline in a fresh folder and show what it remembered."""
    from memflush_jupyter.demo import describe, run_demo

    click.echo("Running the quickstart notebook with the built-in offline model. It takes about a minute.")
    result = run_demo(output, timeout_s=timeout)
    click.echo(describe(result))
