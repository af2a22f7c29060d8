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


@main.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=Path())
@click.option("--memory-dir", default=None, help="Name of the memory folder, where it is not the configured one.")
@click.option("--history-days", type=click.IntRange(min=0), default=90, show_default=True, help="Keep what files were before a change for so many days.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
def gc(folder: Path, memory_dir: str | None, history_days: int, dry_run: bool) -> None:
    """Remove leftovers from the memory of FOLDER (default: this one): old history, what killed kernels left, free space of the store.

    Memory files and conversations stay; `%memory forget` and `%agent delete` remove those.
    """
    import os

    from memflush_jupyter.config import MemFlush
    from memflush_jupyter.upkeep import collect, describe

    config = MemFlush()
    config.apply_environment(os.environ)
    if memory_dir is not None:
        config.memory_dir = memory_dir
    report = collect(folder.resolve(), config, environ=os.environ, history_days=history_days, dry_run=dry_run)
    click.echo(describe(report, dry_run=dry_run))


@main.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=Path())
@click.option("--json", "as_json", is_flag=True, help="As JSON, for programs.")
def doctor(folder: Path, as_json: bool) -> None:
    """Look at everything that a turn in FOLDER (default: this one) needs, and say how to mend what is not well.

    Nothing is made or changed, and nothing is asked that costs money. Exit code 1: something is broken; warnings are none.
    """
    import os
    import sys

    from memflush_jupyter.doctor import Place, examine
    from memflush_jupyter.memory.redaction import Redactor
    from memflush_jupyter.profile import shell_options

    report = examine(Place(shell_options(os.environ), folder.resolve(), os.environ, Redactor(os.environ)))
    click.echo(report.as_json() if as_json else report.as_text())
    sys.exit(1 if report.broken else 0)
