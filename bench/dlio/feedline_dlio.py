# SPDX-License-Identifier: Apache-2.0
"""feedline as a data loader of DLIO, the benchmark of MLPerf Storage.

    ++workload.reader.data_loader=custom
    ++workload.reader.data_loader_classname=feedline_dlio.FeedlineDataLoader
    ++workload.reader.data_loader_sampler=iterative

with this folder and feedline in PYTHONPATH. DLIO makes one for each process,
which is one accelerator. JPEG and PNG files are decoded into the batch, at the
size of the arrays that DLIO's own readers hand over in their place; of TFRecord
a batch has the encoded images, as DLIO's readers decode none of those.

read_threads and prefetch_size are not used: the tuner finds both. All other
options of feedline may be set in the environment, as FEEDLINE_WORKERS=2.
"""

from dlio_benchmark.common.enumerations import (
    DataLoaderType, DatasetType, FormatType, Shuffle)
from dlio_benchmark.data_loader.base_data_loader import BaseDataLoader
from PIL import Image

import feedline


class FeedlineDataLoader(BaseDataLoader):
    def __init__(self, format_type, dataset_type, epoch_number):
        super().__init__(format_type, dataset_type, epoch_number,
                         DataLoaderType.CUSTOM)
        self._loader = None

    def read(self):
        """Once, before the first epoch."""
        args = self._args
        if args.preprocess_time:
            raise NotImplementedError(
                "preprocess_time is for readers that only pretend to work")
        train = self.dataset_type is DatasetType.TRAIN
        files = args.file_list_train if train else args.file_list_eval
        self._loader = self._open(files, {
            "batch_size": self.batch_size,
            "rank": args.my_rank,
            "world": args.comm_size,
            "shuffle": args.sample_shuffle is not Shuffle.OFF,
            "seed": args.seed,
            "drop_last": True,
        })

    def _open(self, files, options):
        if self.format_type is FormatType.TFRECORD:
            shards = "tfrecord:%s?label=none" % "::".join(files)
            return feedline.Loader(feedline.Dataset.open(shards),
                                   decode="none", **options)
        if self.format_type not in (FormatType.JPEG, FormatType.PNG):
            raise NotImplementedError(
                "feedline loads images; this data set is %s"
                % self.format_type.value)
        height, width = self._args.resized_image.shape[:2]
        with Image.open(files[0]) as first:
            channels = len(first.getbands())
        return feedline.Loader(
            feedline.Dataset.paths(files),
            feedline.Pipeline().add("resize", width=width, height=height),
            dtype="u8", layout="nhwc", channels=channels, **options)

    def next(self):
        """The batches of an epoch. DLIO leaves the last one behind."""
        super().next()
        for batch in self._loader:
            if self.format_type is FormatType.TFRECORD:
                yield batch.fields["image"]
            else:
                yield batch.images.numpy()
            batch.release()
        self.epoch_number += 1

    def finalize(self):
        """After each epoch: the loader is ahead in the next one already."""
