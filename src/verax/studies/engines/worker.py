"""A process that runs cell after cell, and ends when the one that started it does.

Started as a plain interpreter rather than by `multiprocessing`, which would run the user's script
again in every worker: nothing of it is needed here.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import NamedTuple

import torch

from verax.corpora.corpus import Corpus
from verax.studies.engines.engine import Job
from verax.studies.engines.performing import perform

CODE = (
    "import sys; sys.path[:] = sys.argv[5:]; "
    "from verax.studies.engines.worker import work; work(*sys.argv[1:5])"
)


class Order(NamedTuple):
    """A message to a worker; the corpus follows unless the worker has it.

    `keep` are the corpora to keep, that of the job among them.
    """

    job: Job
    corpus: str
    keep: Sequence[str]


def work(descriptor: str, parent: str, device: str, threads: str) -> None:
    """Run orders from a socket until it is closed; send progress and outcome of each."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent to handle
    faulthandler.enable()
    threading.Thread(target=_end_with, args=(int(parent),), daemon=True).start()
    torch.set_num_threads(int(threads))
    if device != "cpu":
        torch.cuda.set_device(device)
    connection = Connection(int(descriptor))
    os.set_inheritable(connection.fileno(), False)
    corpora: dict[str, Corpus] = {}
    while True:
        try:
            order: Order = connection.recv()
            corpora = {name: corpora[name] for name in order.keep if name in corpora}
            if order.corpus not in corpora:
                corpora[order.corpus] = connection.recv()
        except (EOFError, OSError):
            return
        corpus = corpora[order.corpus]
        connection.send(perform(order.job, corpus, device=device, report=connection.send))
        if not gc.get_freeze_count():
            gc.freeze()  # what imports made stays: between cells it need not be looked through


def _end_with(parent: int) -> None:
    """End this process soon after its parent, even one that was killed."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
