"""Ctrl-C, each time in a Python of its own. None of these searches would end by itself: its time limit is an hour."""

from __future__ import annotations

from conftest import RunPython

# Annealing looks for no proof, so with a gap of 0 it never has enough. The signal comes from a Python thread, which gets to send
# it only because the search leaves Python to others.
PRELUDE = """
import os, signal, sys, threading
import checkmate

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs inherit that it is ignored

ENDLESS = dict(method="anneal", gap=0, time_limit=3600)
unet = checkmate.load("zoo:unet?batch=32")
begun = threading.Event()

def begin(progress):
    if progress.cost is not None:
        begun.set()

def interrupt():
    begun.wait()
    turns = 0
    while turns < 100_000:
        turns += 1
    os.kill(os.getpid(), signal.SIGINT)

def interrupter(target=interrupt):
    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    return thread
"""


def output_of(run_python: RunPython, script: str) -> str:
    finished = run_python("-c", PRELUDE + script)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_ctrl_c_gives_the_best_plan_so_far(run_python: RunPython) -> None:
    script = """
interrupter()
plan = checkmate.solve(unet, "60%", progress=begin, **ENDLESS)
print(plan.status, plan.peak <= plan.budget)
"""
    assert output_of(run_python, script) == "feasible True\n"


def test_ctrl_c_without_a_plan_is_an_interrupt(run_python: RunPython) -> None:
    # A graph that has no plan for a long time: see the README's limits.
    script = """
graph = checkmate.load("zoo:random_layered?n=5000")
signal.signal(signal.SIGALRM, signal.default_int_handler)
try:
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    checkmate.solve(graph, "80%", time_limit=3600, gap=0)
    print("a plan")
except KeyboardInterrupt:
    print("interrupted")
"""
    assert output_of(run_python, script) == "interrupted\n"


def test_ctrl_c_in_a_callback_counts_as_well(run_python: RunPython) -> None:
    script = """
def press(progress):
    if progress.cost is not None:
        os.kill(os.getpid(), signal.SIGINT)

plan = checkmate.solve(unet, "60%", progress=press, **ENDLESS)
print(plan.status)
"""
    assert output_of(run_python, script) == "feasible\n"


def test_other_signals_raise_what_their_handlers_raise(run_python: RunPython) -> None:
    script = """
class Alarm(Exception):
    pass

def ring(number, frame):
    raise Alarm("ring")

signal.signal(signal.SIGINT, ring)
interrupter()
try:
    checkmate.solve(unet, "60%", progress=begin, **ENDLESS)
except Alarm as alarm:
    print(alarm)
"""
    assert output_of(run_python, script) == "ring\n"


def test_a_handler_that_returns_ends_nothing(run_python: RunPython) -> None:
    script = """
handled = []
signal.signal(signal.SIGINT, lambda number, frame: handled.append(number))
thread = interrupter()
plan = checkmate.solve(unet, "60%", method="anneal", gap=0, time_limit=1, progress=begin)
thread.join()
print(handled == [signal.SIGINT], plan.seconds >= 1)
"""
    assert output_of(run_python, script) == "True True\n"


def test_ctrl_c_ends_a_sweep_with_its_points(run_python: RunPython) -> None:
    script = """
interrupter()
points = checkmate.sweep(unet, ["50%", "60%", "70%"], ["anneal"], gap=0, time_limit=3600, progress=begin)
print(len(points), points[0].status)
"""
    assert output_of(run_python, script) == "1 feasible\n"


def test_ctrl_c_ends_max_batch_in_the_network(run_python: RunPython) -> None:
    script = """
def network(batch):
    os.kill(os.getpid(), signal.SIGINT)
    return checkmate.load(f"zoo:vgg19?batch={batch}")

try:
    checkmate.max_batch(network, "16GB")
except KeyboardInterrupt:
    print("interrupted")
"""
    assert output_of(run_python, script) == "interrupted\n"


def test_a_search_on_another_thread_goes_on(run_python: RunPython) -> None:
    # Python hands signals to the main thread, which is not the one that solves.
    script = """
found = []
done = threading.Event()

def work():
    found.append(checkmate.solve(unet, "60%", method="anneal", gap=0, time_limit=1, progress=begin))
    done.set()

threading.Thread(target=work).start()
try:
    interrupter().join()
    done.wait()
except KeyboardInterrupt:
    print("interrupted")
done.wait()
print(found[0].status, found[0].seconds >= 1)
"""
    assert output_of(run_python, script) == "interrupted\nfeasible True\n"


def test_python_ends_although_a_daemon_thread_searches(run_python: RunPython) -> None:
    # Its end takes longer than the search waits between looks at signals: the search must be over by then.
    script = """
class Slow:
    def __del__(self, sleep=__import__("time").sleep):
        sleep(0.5)

slow = Slow()
threading.Thread(target=lambda: checkmate.solve(unet, "60%", progress=begin, **ENDLESS), daemon=True).start()
begun.wait()
print("end")
"""
    finished = run_python("-c", PRELUDE + script)
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "end\n", "")


def test_a_fork_ends_although_its_parent_searches(run_python: RunPython) -> None:
    script = """
def work():
    checkmate.solve(unet, "60%", progress=begin, **ENDLESS)

threading.Thread(target=work, daemon=True).start()
begun.wait()
child = os.fork()
if child == 0:
    sys.exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert output_of(run_python, script) == "7\n"
