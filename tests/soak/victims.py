"""Work that is done in processes of its own, to be killed."""

import multiprocessing
import time

import rhokit
from rhokit.io import loads

# A server that has everything imported forks them: starting costs milliseconds.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.soak.victims"])
MOST_SECONDS = 600  # of a busy machine


def save_in_turn(path, files, ready):
    """Save models to one path, over and over."""
    models = [loads(data) for data in files]
    ready.set()
    while True:
        for model in models:
            rhokit.save(model, path)


def fit_from_files(data, folder, options, ready):
    """Fit a model to files, from where the last one was killed."""
    model = loads(data)
    ready.set()
    rhokit.fit_files(model, folder, **options)


def moment(rng):
    """When to kill: after so many writes and seconds."""
    return {"writes": int(rng.integers(6)), "seconds": float(rng.uniform(0, 0.02))}


def run_and_kill(work, *arguments, watched, writes, seconds):
    """Kill work so long after it has written a file so many times."""
    ready = CONTEXT.Event()
    process = CONTEXT.Process(target=work, args=(*arguments, ready), daemon=True)
    process.start()
    begun = ready.wait(MOST_SECONDS)
    wait_for(process, watched, writes)
    process.join(seconds)
    process.kill()
    process.join()
    code = process.exitcode
    process.close()
    assert begun, f"{work.__name__} did not begin: it ended with code {code}"
    assert code in (0, -9), f"{work.__name__} ended with code {code}"


def wait_for(process, watched, writes):
    """Wait until a file was written so many times, or nobody is there to do it."""
    seen, end = {version_of(watched)}, time.monotonic() + MOST_SECONDS
    while len(seen) <= writes and process.is_alive() and time.monotonic() < end:
        time.sleep(0.001)
        seen.add(version_of(watched))


def version_of(path):
    """What is another thing for every version of a file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns
