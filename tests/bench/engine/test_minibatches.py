"""Every fit sees its own rows, equally often, however the sequence is cut."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep_bench.bench.engine.minibatches import RowStream, Schedule

rows = st.lists(st.integers(0, 10_000), min_size=1, max_size=40, unique=True).map(np.array)
cuts = st.lists(st.integers(0, 60), max_size=12)
seeds = st.integers(0, 2**63 - 1)


def counts(drawn: np.ndarray, own: np.ndarray) -> list[int]:
    return [int((drawn == row).sum()) for row in own]


@given(rows, cuts, seeds)
@settings(deadline=None)
def test_rows_are_drawn_equally_often_up_to_one(own, cuts, seed):
    stream, drawn = RowStream(own, seed), np.array([], dtype=int)
    for count in cuts:
        drawn = np.concatenate([drawn, stream.take(count)])
        seen = counts(drawn, own)
        assert max(seen) - min(seen) <= 1
        assert sum(seen) == len(drawn)  # own rows only


@given(rows, cuts, seeds)
@settings(deadline=None)
def test_row_sequence_does_not_depend_on_chunk_sizes(own, cuts, seed):
    stream = RowStream(own, seed)
    pieces = [stream.take(count) for count in cuts]
    assert [len(piece) for piece in pieces] == cuts
    whole = RowStream(own, seed).take(sum(cuts))
    assert whole.tolist() == [row for piece in pieces for row in piece]


@given(rows, seeds)
@settings(deadline=None)
def test_each_pass_over_the_rows_is_a_permutation(own, seed):
    passes = RowStream(own, seed).take(3 * len(own)).reshape(3, -1)
    for one in passes:
        assert sorted(one) == sorted(own)


def test_row_order_differs_between_passes_and_seeds():
    own = np.arange(30)
    first, second = RowStream(own, 1).take(60).reshape(2, -1)
    orders = {tuple(own), tuple(first), tuple(second), tuple(RowStream(own, 2).take(30))}
    assert len(orders) == 4


def test_first_drawn_row_is_uniformly_distributed():
    """Counts of the first of 5 rows over 2000 seeds: chi-squared with 4 degrees of freedom, 99.99 % quantile 23.5."""
    first = [RowStream(np.arange(5), seed).take(1)[0] for seed in range(2000)]
    assert ((np.bincount(first, minlength=5) - 400) ** 2 / 400).sum() < 23.5


def test_changing_drawn_rows_does_not_change_the_stream():
    own = np.arange(10)
    stream = RowStream(own, 3)
    for _ in range(3):
        stream.take(7)[:] = -1
    assert own.tolist() == list(range(10))


@pytest.mark.parametrize(
    ("n_rows", "batch_size", "epochs", "per_update", "limit", "updates", "updates_per_epoch"),
    [
        (100, 10, 3, 1, None, 30, 10),  # 10 minibatches per epoch
        (101, 10, 3, 1, None, 33, 11),  # the eleventh straddles the seam
        (99, 10, 3, 1, None, 30, 10),
        (100, 10, 3, 4, None, 8, 2.5),  # 30 minibatches in updates of 4: the last two are bought whole
        (100, 10, 3, 1, 12, 12, 10),  # stopped in the second epoch
        (100, 10, 3, 5, 12, 3, 2),
        (100, 10, 3, 1, 1000, 30, 10),  # a limit that is never reached
        (7, 10, 3, 1, None, 3, 1),  # fewer rows than a minibatch: one full batch per epoch
        (277, 10, 120, 1, None, 3360, 28),  # yacht's train split under the paper's protocol
    ],
)
def test_number_of_updates_follows_the_schedule(
    n_rows, batch_size, epochs, per_update, limit, updates, updates_per_epoch
):
    plan = Schedule(n_rows, batch_size, epochs, per_update, limit).plan
    assert (plan.n_updates, plan.updates_per_epoch) == (updates, updates_per_epoch)


def test_minibatch_is_no_larger_than_the_training_set():
    assert Schedule(7, 10, 1, 1).minibatch == 7
    assert Schedule(10, 10, 1, 1).minibatch == 10
    assert Schedule(11, 10, 1, 1).minibatch == 10


@given(n_rows=st.integers(2, 60), batch_size=st.integers(1, 25), epochs=st.integers(1, 4), per_update=st.integers(1, 6))
@settings(deadline=None)
def test_updates_cover_epochs_with_less_than_one_extra(n_rows, batch_size, epochs, per_update):
    schedule = Schedule(n_rows, batch_size, epochs, per_update)
    rows_dealt = schedule.plan.n_updates * per_update * schedule.minibatch
    assert rows_dealt >= epochs * n_rows
    assert rows_dealt < epochs * (n_rows + schedule.minibatch) + per_update * schedule.minibatch


@given(n_rows=st.integers(2, 60), batch_size=st.integers(1, 25), epochs=st.integers(1, 4), seed=seeds)
@settings(deadline=None)
def test_folds_of_nearly_equal_size_share_a_schedule(n_rows, batch_size, epochs, seed):
    """Both take the same number of equally large minibatches; each sees every row of its own at least `epochs` times,
    and no row more than once more often than another."""
    schedule = Schedule(n_rows, batch_size, epochs, 1)
    for own in (np.arange(n_rows), np.arange(n_rows - 1)):
        stream = RowStream(own, seed)
        batches = np.stack([stream.take(schedule.minibatch) for _ in range(schedule.plan.n_updates)])
        seen = counts(batches.ravel(), own)
        assert max(seen) - min(seen) <= 1
        assert min(seen) >= epochs
