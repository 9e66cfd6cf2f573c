"""Work that is done in processes of its own, to be killed."""

import multiprocessing

import rhokit
from rhokit.io import loads

# A server that has everything imported forks them: starting costs milliseconds.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.soak.victims"])


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


def run_and_kill(work, *arguments, seconds):
    """Let work go on for so long once it has begun, then kill it."""
    ready = CONTEXT.Event()
    process = CONTEXT.Process(target=work, args=(*arguments, ready), daemon=True)
    process.start()
    begun = ready.wait(60)
    process.join(seconds)
    process.kill()
    process.join()
    code = process.exitcode
    process.close()
    assert begun, f"{work.__name__} did not begin: it ended with code {code}"
    assert code in (0, -9), f"{work.__name__} ended with code {code}"
