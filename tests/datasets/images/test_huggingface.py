"""Images in Parquet files of Hugging Face's form are decoded as they are."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from lockstep_bench import datasets
from lockstep_bench.datasets.images import huggingface


def parquet(images, labels):
    """The images as PNG, which loses nothing."""

    def encoded(image):
        body = io.BytesIO()
        Image.fromarray(image.transpose(1, 2, 0)).save(body, "PNG")
        return {"bytes": body.getvalue(), "path": "somewhere.png"}

    body = io.BytesIO()
    columns = {"image": [encoded(image) for image in images], "label": pa.array(labels, pa.int64())}
    pq.write_table(pa.table(columns), body)
    return body.getvalue()


def test_train_and_test_images_keep_their_order(tmp_path, small, pictures, assert_loaded, monkeypatch):
    monkeypatch.setattr(huggingface, "BATCH_ROWS", 7)
    train, test, y = pictures(20, (3, 32, 32)), pictures(6, (3, 32, 32)), np.arange(26) % 10
    small(
        "cifar10-jpeg",
        {"train-00000.parquet": parquet(train, y[:20]), "test-00000.parquet": parquet(test, y[20:])},
        n_rows=26,
    )
    assert_loaded(datasets.load("cifar10-jpeg", tmp_path), train, test, y)


def test_image_of_another_size_is_refused(tmp_path, pictures):
    path = tmp_path / "images.parquet"
    path.write_bytes(parquet(pictures(1, (3, 5, 7)), [0]))
    with pytest.raises(ValueError, match="images should be 32 x 32 pixels, got 5 x 7"):
        huggingface.read_parquet(path, (3, 32, 32))


def test_unpublished_data_set_is_not_downloaded(tmp_path):
    with pytest.raises(datasets.Unavailable, match="not published, so use cifar10, or put train"):
        datasets.fetch("cifar10-jpeg", tmp_path)


def test_published_test_set_has_balanced_classes(require_data):
    require_data("cifar10-jpeg")
    table = pq.read_table(datasets.data_dir() / "cifar10_jpeg" / "test-00000.parquet", columns=["label"])
    assert np.bincount(table["label"].to_numpy()).tolist() == [1000] * 10
