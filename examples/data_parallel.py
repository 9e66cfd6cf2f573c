"""Train one classifier on several processes with torch's DistributedDataParallel.

    python examples/data_parallel.py --processes 2 --output head.pt

Every process holds the whole model and takes its share of every batch; torch averages
the gradients, so all processes make the same steps. The result is that of one process
(``--processes 1``) up to rounding.
"""

import argparse
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.nn.functional import nll_loss
from torch.nn.parallel import DistributedDataParallel

from rhokit.nn import ClassifierHead, FourierLayer

TRAINING_ROWS = 1200


def load_rows() -> tuple[Tensor, Tensor]:
    """The digits, pixels scaled to [0, 1], and their labels."""
    pixels, labels = load_digits(return_X_y=True)
    return torch.tensor(pixels / 16, dtype=torch.float64), torch.tensor(labels)


def make_head() -> ClassifierHead:
    """The model, the same in every process. Its frequencies stay as drawn.

    DistributedDataParallel leaves frozen weights alone.
    """
    features = FourierLayer(64, 256, gamma=0.3, random_state=0, dtype=torch.float64)
    return ClassifierHead(features, 10, random_state=0, dtype=torch.float64)


def train(model: nn.Module, rank: int, arguments: argparse.Namespace) -> None:
    """Go over the training rows; this process takes its share of every batch."""
    rows, labels = load_rows()
    optimizer = torch.optim.Adam(model.parameters(), lr=arguments.learning_rate)
    order = torch.Generator().manual_seed(0)  # the same in all processes
    for _ in range(arguments.epochs):
        shuffled = torch.randperm(TRAINING_ROWS, generator=order)
        for batch in shuffled.split(arguments.batch_size):
            share = batch.tensor_split(arguments.processes)[rank]
            total = nll_loss(model(rows[share]), labels[share], reduction="sum")
            # The mean over processes of this is the mean over the batch's rows, also
            # where shares differ in size.
            loss = total * arguments.processes / len(batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def report(head: ClassifierHead, arguments: argparse.Namespace) -> None:
    """Print how good the model is on new rows, and save it."""
    rows, labels = (each[TRAINING_ROWS:] for each in load_rows())
    with torch.no_grad():
        logs = head(rows)
    loss = nll_loss(logs, labels).item()
    accuracy = (logs.argmax(dim=1) == labels).double().mean().item()
    print(f"processes {arguments.processes}  loss {loss:.6f}  accuracy {accuracy:.4f}")
    if arguments.output is not None:
        torch.save(head.state_dict(), arguments.output)


def work(rank: int, arguments: argparse.Namespace, meeting_point: str) -> None:
    """What one process does."""
    torch.set_num_threads(max(1, torch.get_num_threads() // arguments.processes))
    head = make_head()
    if arguments.processes == 1:
        train(head, rank, arguments)
    else:
        dist.init_process_group(
            "gloo",
            init_method=meeting_point,
            rank=rank,
            world_size=arguments.processes,
        )
        try:
            train(DistributedDataParallel(head), rank, arguments)
        finally:
            dist.destroy_process_group()
    if rank == 0:
        report(head, arguments)


def main() -> None:
    """Read the command line and start the processes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--learning-rate", type=float, default=0.01)
    parser.add_argument("--output", type=Path, help="file for the state dict")
    arguments = parser.parse_args()
    if arguments.processes < 1:
        parser.error("--processes must be at least 1")
    with tempfile.TemporaryDirectory() as folder:
        meeting_point = (Path(folder).resolve() / "meeting-point").as_uri()
        if arguments.processes == 1:
            work(0, arguments, meeting_point)
        else:
            torch.multiprocessing.spawn(
                work, (arguments, meeting_point), nprocs=arguments.processes
            )


if __name__ == "__main__":
    main()
