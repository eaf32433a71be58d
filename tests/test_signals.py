"""Ctrl-C and SIGTERM: one ends a process in order, two at once, and no computation can hold them up."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap

import pytest

from tools.waiting import SECONDS, killed_in_the_end


def start(body: str) -> subprocess.Popen[str]:
    """A process that runs this within ``ended_by_signals``, and has said that it is ready."""
    script = "\n".join(
        [
            "import os, signal, sys, threading, time",
            "from linkedbandits.signals import *",
            "def ready(): print('ready', flush=True)",
            "with ended_by_signals():",
            textwrap.indent(textwrap.dedent(body), "    "),
        ]
    )
    return subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )


def ended(process: subprocess.Popen[str], *numbers: int) -> tuple[int, str, str]:
    """How it ends after these signals: its status, and what it said on both channels."""
    with process, killed_in_the_end(process):
        for number in numbers:
            assert process.stdout.readline() == "ready\n", process.stderr.read()
            process.send_signal(number)
        said, complained = process.communicate(timeout=SECONDS)
        return process.returncode, said, complained


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_is_raised_once_and_everything_unwinds(number):
    process = start("""
        try:
            try:
                with what_is_kept("everything is in a box"):
                    ready()
                    time.sleep(300)
            finally:
                print("cleaned up")
        except KeyboardInterrupt as stopped:
            print(farewell(stopped))
            sys.exit(exit_status(stopped))
    """)
    expected = "cleaned up\nlinkedbandits: interrupted; everything is in a box\n"
    assert ended(process, number) == (128 + number, expected, "")


def test_a_second_one_ends_what_takes_long_to_clean_up():
    process = start("""
        try:
            ready()
            time.sleep(300)
        finally:
            ready()
            time.sleep(300)
    """)
    status, said, complained = ended(process, signal.SIGINT, signal.SIGINT)
    assert (status, said) == (130, "")
    assert complained == "linkedbandits: ended at once\n"


def test_one_is_enough_for_what_cannot_be_interrupted():
    """A main thread that hears of no signal stands for one that is deep in a library's own computation."""
    process = start("""
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        while True:
            try:
                ready()
                time.sleep(300)
            except KeyboardInterrupt:  # it came just before the sleep
                pass
    """)
    assert ended(process, signal.SIGTERM)[0] == 143


def test_other_signals_end_nothing():
    process = start("""
        signal.signal(signal.SIGUSR1, lambda number, frame: ready())
        ready()
        time.sleep(0.01)
        while True:
            time.sleep(300)
    """)
    with process, killed_in_the_end(process):
        for _ in range(3):
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGUSR1)
        assert process.stdout.readline() == "ready\n"
        assert process.poll() is None


def test_afterwards_everything_is_as_before():
    after = """
        from linkedbandits.signals import *
        import signal
        before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
        with ended_by_signals():
            assert signal.getsignal(signal.SIGTERM) != before[1]
        assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
        assert signal.set_wakeup_fd(-1) == -1
    """
    finished = subprocess.run([sys.executable, "-c", textwrap.dedent(after)], timeout=SECONDS, check=False)
    assert finished.returncode == 0


def test_a_library_that_hooks_ctrl_c_does_not_raise_it_a_second_time():
    """polars ends its own call with a KeyboardInterrupt, and the interpreter's comes while that is being handled."""
    pytest.importorskip("polars", reason="polars is missing; pip install 'linkedbandits[study]'")
    process = start("""
        import io
        import polars
        take_back_signals()
        table = polars.DataFrame({"a": range(3_000_000)})
        interrupt = threading.Thread(target=lambda: (time.sleep(0.3), os.kill(os.getpid(), signal.SIGINT)))
        try:
            interrupt.start()
            while True:
                table.write_parquet(io.BytesIO())
        except KeyboardInterrupt as stopped:
            for _ in range(1000):
                pass
            print(type(stopped).__name__)
    """)
    with process, killed_in_the_end(process):
        assert process.communicate(timeout=SECONDS) == ("Interrupted\n", "")


AT_THE_END = """
        import atexit, linkedbandits.signals
        linkedbandits.signals.SECONDS_TO_END = {seconds}
        atexit.register(time.sleep, 300)
        try:
            ready()
            time.sleep(300)
        except KeyboardInterrupt as stopped:
            print("ready", flush=True)
            sys.exit(exit_status(stopped))
"""


def test_what_the_interpreter_does_at_its_end_is_bounded_too():
    process = start(AT_THE_END.format(seconds=0.5))
    status, _, complained = ended(process, signal.SIGTERM)
    assert (status, complained) == (143, "linkedbandits: ended at once\n")


def test_a_server_is_told_of_what_comes_before_it_listens():
    process = start("""
        heard = []
        leave_signals_to_the_server(lambda number, frame: heard.append(number))
        ready()
        while not heard:
            time.sleep(0.01)
        print(heard)
    """)
    assert ended(process, signal.SIGTERM) == (0, "[15]\n", "")


ONE_LINE = "linkedbandits: interrupted; nothing is kept, and the same command begins anew\n"


def command_with(patch: str) -> tuple[int, str, str]:
    """How the command ends where this was done before."""
    script = f"import os, signal, sys\n{textwrap.dedent(patch)}\nfrom linkedbandits.__main__ import main\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", script, "--version"], capture_output=True, text=True, timeout=SECONDS, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_one_that_something_has_wrapped_in_an_error_of_its_own_is_still_one():
    """As Python 3.11 does with all that comes from ``__set_name__``, while a module with classes is imported."""
    patch = """
        import types
        from linkedbandits.signals import Interrupted

        def wraps():
            try:
                raise Interrupted(signal.SIGTERM)
            except BaseException as error:
                raise RuntimeError("error calling __set_name__") from error

        sys.modules["linkedbandits.cli"] = types.SimpleNamespace(run=wraps)
    """
    assert command_with(patch) == (143, "", ONE_LINE)
