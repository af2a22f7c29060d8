"""Interrupts while the model is waited for, on a real kernel against a server that accepts and never answers."""

from __future__ import annotations

import os
import socket
import threading

import pytest

from memflush_jupyter.testing.kernels import start_kernel

pytestmark = pytest.mark.kernel


@pytest.fixture
def silent_server():
    """A listening socket: connections are taken, nothing is ever said."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held: list[socket.socket] = []

        def accept():
            while True:
                try:
                    held.append(server.accept()[0])
                except OSError:
                    return

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", held
        for connection in held:
            connection.close()
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def test_interrupt_while_the_model_is_waited_for_ends_the_turn_at_once_and_keeps_the_kernel(tmp_path, silent_server):
    """P10: waiting."""
    url, held = silent_server
    env = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC")}
    with start_kernel(tmp_path, env=env) as kernel:
        kernel.run(f"%load_ext memflush_jupyter\n%config MemFlush.base_url = {url!r}\n%config MemFlush.window = 32768")
        run = kernel.run("%%agent -m local/slow\nhello", allow_stdin=True, interrupt_when=lambda _: bool(held))
        assert run.status == "error"
        assert run.outputs[-1]["traceback"] == ["Interrupted. The conversation is kept; go on with another %%agent cell."]
        assert run.seconds < 1.0
        assert kernel.run("print(1 + 1)").text == "2"
        assert kernel.run("%%agent -m offline/analyst\nWhat can you do?").status == "ok"
