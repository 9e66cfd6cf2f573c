"""A process that works for this one, and is ended when it takes too long."""

import multiprocessing

from benchmarks.contest.worker import in_words


class TooLong(Exception):
    """Nothing came back in time."""


class Failed(Exception):
    """What was called raised an error, or ended the process."""


class Elsewhere:
    """One other process, made when it is first needed and again after it was ended.

    It keeps what it has loaded and compiled, so that short jobs cost little.

    Parameters
    ----------
    patience : float
        Seconds that a call may take.
    """

    def __init__(self, patience):
        self._patience = patience
        self._process = self._line = None

    def call(self, function, *arguments):
        """What a function of a module returns; :class:`TooLong`, :class:`Failed`."""
        if self._process is None:
            self._open()
        self._line.send((function, arguments))
        if not self._line.poll(self._patience):
            self.close()
            raise TooLong(f"more than {self._patience:g} s")
        try:
            error, answer = self._line.recv()
        except EOFError:
            self.close()
            raise Failed("its process ended") from None
        if error is not None:
            raise Failed(error)
        return answer

    def close(self):
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._line.close()
        self._process = self._line = None

    def _open(self):
        context = multiprocessing.get_context("spawn")
        self._line, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()


def _serve(line):
    """Call what comes, until nobody is there any more."""
    while True:
        try:
            function, arguments = line.recv()
        except EOFError:
            return
        try:
            line.send((None, function(*arguments)))
        except Exception as error:
            line.send((in_words(error), None))
