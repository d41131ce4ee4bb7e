/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every option of a loader, one row each. This table is what C setters, the
 * environment, job files, loaderbench and its help all read; docs/options.md is
 * made from it. Included by options.h for the names of the rows and by
 * options.c for their content.
 *
 *     OPTION(NAME, row)                  read as FDL_OPT_NAME
 *     DECODE_OPTION(NAME, field, row)    a field of struct fdl_decode_limits,
 *                                        which every decoder gets
 */
OPTION(BATCH_SIZE, INT("batch_size", 0, 1, 65536, "64", "images",
                       "images per batch; with five_crop or ten_crop, "
                       "views count, and it is a multiple of them"))
OPTION(WORKERS,
       INT("workers", AUTO | LIVE, 1, FDL_MAX_WORKERS, "auto", "threads",
           "threads that decode and augment; auto: tuned, "
           "from workers_start on; with tuner=off, the "
           "usable cores"))
OPTION(DEPTH, INT("depth", AUTO | LIVE, 1, FDL_MAX_DEPTH, "auto", "batches",
                  "batches prepared ahead of the consumer; auto: "
                  "tuned, from 4 on, within the memory budgets"))
OPTION(IO_DEPTH,
       INT("io_depth", AUTO | LIVE, 1, FDL_MAX_IO_DEPTH, "auto", "reads",
           "reads in flight; auto: tuned, from 16 (io_uring) "
           "or 4 (pread) on"))
OPTION(READER, ENUM("reader", FDL_READER_CHOICE_TEXT, "auto",
                    "how files are read; memory: keep every file in "
                    "memory after its first read; remote: what is on other "
                    "machines, which auto does too"))
OPTION(DIRECT, SWITCH("direct", FDL_CHOICE_TEXT(FDL_DIRECT_CHOICES), "auto",
                      "read files past the page cache (O_DIRECT), where the "
                      "file system can; auto: shards that are larger than the "
                      "memory limit, but not with shuffle=block"))
OPTION(SEED, INT("seed", 0, 0, INT64_MAX, "0", "",
                 "seed for the sample order and all random "
                 "augmentation"))
OPTION(SHUFFLE, SWITCH("shuffle", FDL_CHOICE_TEXT(FDL_SHUFFLE_CHOICES), "false",
                       "shuffle the whole data set in each epoch; block: read "
                       "blocks of neighbours, and shuffle `lanes` of them at "
                       "a time (docs/shuffle.md)"))
OPTION(BLOCK, INT("block", AUTO, 1, FDL_BLOCK_MAX, "auto", "samples",
                  "consecutive samples in a block of shuffle=block; auto: as "
                  "many as take 8 MiB on average, 64 where lengths are not "
                  "known before files are read"))
OPTION(LANES, INT("lanes", 0, 1, FDL_LANES_MAX, "64", "blocks",
                  "blocks that shuffle=block shuffles together; more mix "
                  "better and take more memory"))
OPTION(DROP_LAST, BOOL("drop_last", "false",
                       "drop the last batch of an epoch if it is short"))
OPTION(EPOCHS, INT("epochs", 0, 0, INT64_MAX, "0", "epochs",
                   "epochs to deliver after start; 0: unlimited"))
OPTION(RANK, INT("rank", 0, 0, 1 << 20, "0", "",
                 "index of this process among `world` processes, "
                 "from 0"))
OPTION(WORLD, INT("world", AUTO, 1, 1 << 20, "1", "processes",
                  "number of processes that share the data set; auto: rank and "
                  "world are the launcher's (docs/frameworks.md)"))
OPTION(SHARD_TAIL, ENUM("shard_tail", FDL_CHOICE_TEXT(FDL_TAIL_CHOICES), "wrap",
                        "if samples do not divide by world: repeat the "
                        "last (pad), drop the rest, or wrap around to the "
                        "first, as torch does"))
OPTION(REPEATS, INT("repeats", 0, 1, FDL_COPIES_MAX, "1", "copies",
                    "consecutive copies of each sample in the order "
                    "over all ranks, each with its own random draws"))
OPTION(EPOCH_SAMPLES, INT("epoch_samples", 0, 0, INT64_MAX, "0", "samples",
                          "samples per epoch, over all ranks, copies "
                          "included; 0: as many as the data set has"))
OPTION(ORDER, ENUM("order", FDL_CHOICE_TEXT(FDL_ORDER_CHOICES), "own",
                   "own: from seed, shuffle, rank and so on; given: "
                   "external, the program appends each batch "
                   "(feedline/order.h), and those options must keep "
                   "their defaults"))
OPTION(DTYPE, ENUM("dtype", FDL_CHOICE_TEXT(FDL_DTYPE_CHOICES), "f32",
                   "type of the pixels"))
OPTION(LAYOUT, ENUM("layout", FDL_CHOICE_TEXT(FDL_LAYOUT_CHOICES), "nchw",
                    "order of a batch's axes"))
OPTION(CHANNELS, INT("channels", 0, 1, 4, "3", "",
                     "3: RGB; 1: gray (Pillow's mode L); 4: RGBA; 2: "
                     "gray and alpha; alpha is 255 in files without it"))
OPTION(DECODE, ENUM("decode", FDL_CHOICE_TEXT(FDL_DECODE_CHOICES), "pixels",
                    "pixels, host: by the workers; device: by the GPU that "
                    "batches are delivered to, where it can, and else by the "
                    "workers into the same batch, with the same pixels "
                    "(docs/device_decoding.md); auto: either of them, as "
                    "measured while the loader runs; none: no pixels; each "
                    "image "
                    "as it is encoded, as the field \"image\" "
                    "(feedline/fields.h), and the pipeline has no effect"))
OPTION(MASKS, STRING("masks", "",
                     "field with the mask of each image, an image of its own "
                     "that the pipeline moves as it moves the image "
                     "(docs/targets.md)"))
OPTION(MASK_FILL, INT("mask_fill", 0, 0, 255, "0", "",
                      "value of a mask where the pipeline adds a border"))
OPTION(MASK_NEAREST,
       ENUM("mask_nearest", FDL_CHOICE_TEXT(FDL_NEAREST_CHOICES), "pillow",
            "which pixel of a mask resizing takes: Pillow's, or that of "
            "torch, as torchvision v2 on tensors"))
OPTION(DEVICE, STRING("device", "host",
                      "where batches are delivered: host, or the GPU "
                      "cuda:N"))
OPTION(FINISH, ENUM("finish", FDL_CHOICE_TEXT(FDL_FINISH_CHOICES), "auto",
                    "where pixels for a GPU are cast, normalised and "
                    "laid out; device: u8 crosses the bus; auto: "
                    "chosen from bus and cores when the loader is "
                    "created; the result is the same"))
OPTION(HANDOVER,
       ENUM("handover", FDL_CHOICE_TEXT(FDL_HANDOVER_CHOICES), "share",
            "how the program takes batches from a GPU: share: it "
            "reads them where they lie; copy: by "
            "feedline_batch_copy alone, which finishes them on the "
            "way, so that a batch ahead takes no more device memory "
            "than its u8 pixels"))
OPTION(ON_ERROR,
       ENUM("on_error", FDL_CHOICE_TEXT(FDL_ON_ERROR_CHOICES), "raise",
            "a sample that fails: end with its error, replace "
            "it by another sample, or deliver zeros"))
OPTION(MAX_FAILURES, INT("max_failures", 0, 0, INT64_MAX, "0", "samples",
                         "end with an error after more failed samples; 0: "
                         "no limit"))
DECODE_OPTION(MAX_PIXELS, max_pixels,
              INT("max_pixels", 0, 1, INT64_C(1) << 40, "178956970", "pixels",
                  "refuse larger images (default: Pillow's limit)"))
DECODE_OPTION(MAX_SCANS, max_scans,
              INT("max_scans", 0, 1, 1 << 20, "500", "scans",
                  "refuse a progressive JPEG with more scans"))
OPTION(MAX_FILE_BYTES, SIZE("max_file_bytes", 0, 1, INT64_C(1) << 40, "256m",
                            "refuse larger files"))
OPTION(MAX_SAMPLE_BYTES, SIZE("max_sample_bytes", 0, 0, INT64_C(1) << 40, "0",
                              "above 0: ragged batches; each sample keeps the "
                              "size the pipeline gives it, up to this many "
                              "bytes, and a table has the offsets; 0: all have "
                              "one size"))
DECODE_OPTION(MAX_IMAGE_MS, max_image_ms,
              INT("max_image_ms", 0, 0, 1 << 30, "0", "ms",
                  "fail an image that takes longer to decode "
                  "(depends on the machine); 0: no limit"))
DECODE_OPTION(ACCEPT_TRUNCATED, accept_truncated,
              FRACTION("accept_truncated", "0",
                       "use a truncated JPEG or PNG with at least this "
                       "fraction of its rows; missing rows as with "
                       "Pillow's LOAD_TRUNCATED_IMAGES; 0: an error"))
DECODE_OPTION(CHECKSUMS, checksums,
              SWITCH("checksums", FDL_CHOICE_TEXT(FDL_CHECKSUMS_CHOICES),
                     "auto",
                     "a sample that its container's checksum says is damaged "
                     "has failed: zip, TFRecord, packed (docs/python.md); "
                     "auto: unless more than 64 KiB would be read for nothing "
                     "but that; false: it is delivered as it is"))
DECODE_OPTION(APPLY_EXIF, apply_exif,
              BOOL("apply_exif", "false",
                   "first rotate and mirror images as their EXIF "
                   "orientation says"))
DECODE_OPTION(STORED_MODE, stored_mode,
              ENUM("stored_mode", FDL_CHOICE_TEXT(FDL_STORED_CHOICES), "any",
                   "refuse an image that has another of Pillow's modes in its "
                   "file: L is gray of 8 bits, RGB colours, and neither has "
                   "alpha or a palette"))
DECODE_OPTION(ISOLATE, isolate,
              ENUM("isolate", "off|decode", "off",
                   "decode: each worker has files decoded by a process without "
                   "files, network and most system calls; what ends that one "
                   "costs one sample (docs/isolation.md)"))
OPTION(MEMORY_BUDGET, SIZE("memory_budget", AUTO, 1, INT64_MAX, "auto",
                           "limit for prefetched batches plus files read but "
                           "not decoded (one such file is always allowed); "
                           "the memory reader has a second budget of this "
                           "size; auto: a tenth of the memory limit, divided "
                           "by local_world"))
OPTION(CACHE,
       ENUM("cache", FDL_CHOICE_TEXT(FDL_CACHE_CHOICES), "system",
            "which files stay in the system's page cache: system: those read "
            "last; keep: for data larger than memory, always the same part of "
            "it, and the rest leaves after each read (docs/design.md)"))
OPTION(CACHE_BUDGET,
       SIZE("cache_budget", AUTO, 1, INT64_MAX, "auto",
            "what stays with cache=keep, for all processes of the machine "
            "together; a size alone also means cache=keep; auto: three "
            "quarters of the memory limit"))
OPTION(REMOTE_CACHE,
       STRING("remote_cache", "",
              "a folder of this machine that keeps what samples of data on "
              "other machines were read from, for later epochs and runs; all "
              "processes that name it share it (docs/remote.md)"))
OPTION(REMOTE_CACHE_BUDGET,
       SIZE("remote_cache_budget", AUTO, 1, INT64_MAX, "auto",
            "what remote_cache may take, for all of them together; what is in "
            "stays once that is used up; auto: half of what is free there and "
            "of what it has"))
OPTION(JPEG_INDEX,
       SWITCH("jpeg_index", FDL_CHOICE_TEXT(FDL_JPEG_INDEX_CHOICES), "auto",
              "note while JPEGs are decoded where a crop can be entered the "
              "next time (docs/design.md); auto: unless epochs=1, and kept in "
              "a file for later runs from 10,000 samples on; true: always"))
OPTION(JPEG_INDEX_BUDGET,
       SIZE("jpeg_index_budget", AUTO, 1, INT64_C(1) << 40, "auto",
            "limit for what jpeg_index notes in a run, 2 % of the files; "
            "auto: a fiftieth of the memory limit, divided by local_world"))
OPTION(DEVICE_MEMORY_BUDGET,
       SIZE("device_memory_budget", AUTO, 1, INT64_MAX, "auto",
            "limit for batches in a GPU's memory, depth + 2 of them; auto: a "
            "twentieth of what is free at the first start and at most 2g, but "
            "always enough for depth=1"))
DECODE_OPTION(QUALITY, fast,
              ENUM("quality", "exact|fast", "exact",
                   "exact: Pillow's pixels; fast: decode large JPEGs "
                   "at 1/2, 1/4 or 1/8 where the output is that much "
                   "smaller (docs/pixels.md)"))
DECODE_OPTION(PILLOW, columns_first,
              ENUM("pillow", "12|13", "12",
                   "resample like Pillow up to 12, or like 13, which "
                   "starts with the columns where they shrink much "
                   "more, and so rounds differently"))
DECODE_OPTION(ROUNDING, rounding,
              ENUM("rounding", FDL_CHOICE_TEXT(FDL_ROUNDING_CHOICES), "once",
                   "of floats: once, or after each step, as "
                   "torchvision's ToTensor and Normalize (divide) or "
                   "v2.ToDtype and Normalize (multiply) do"))
OPTION(TRACE, STRING("trace", "",
                     "write a trace of the run to this file, as Chrome "
                     "JSON, over the schedule below"))
OPTION(TRACE_SKIP_FIRST,
       INT("trace_skip_first", 0, 0, INT64_MAX, "0", "batches",
           "batches before the schedule; this and the next "
           "four work as in torch.profiler.schedule"))
OPTION(TRACE_WAIT, INT("trace_wait", 0, 0, INT64_MAX, "0", "batches",
                       "batches per cycle that are not traced"))
OPTION(TRACE_WARMUP, INT("trace_warmup", 0, 0, INT64_MAX, "0", "batches",
                         "batches per cycle that are traced and discarded"))
OPTION(TRACE_ACTIVE, INT("trace_active", 0, 1, INT64_MAX, "200", "batches",
                         "batches per cycle that are traced and kept"))
OPTION(TRACE_REPEAT, INT("trace_repeat", 0, 0, INT64_MAX, "1", "cycles",
                         "number of cycles; 0: unlimited"))
OPTION(TRACE_CATEGORIES,
       STRING("trace_categories", "all",
              "what to trace: all, or some of read, decode, "
              "augment, copy, consumer, batch, counter, tuner, "
              "joined by commas"))
OPTION(TRACE_LIMIT, SIZE("trace_limit", 0, 65536, INT64_C(1) << 40, "256m",
                         "maximum size of the trace file; the trace then "
                         "ends and notes it"))
OPTION(STATS_LOG, STRING("stats_log", "",
                         "append the statistics to this file every "
                         "stats_interval, one JSON object per line"))
OPTION(METRICS, STRING("metrics", "",
                       "replace this file every stats_interval with the "
                       "statistics in Prometheus' text format, for its "
                       "textfile collector"))
OPTION(STATS_INTERVAL,
       TIME("stats_interval", 10000000, INT64_C(86400000000000), "10s",
            "time between two lines of stats_log, and between "
            "two metrics files"))
OPTION(LIVE, BOOL("live", "true",
                  "let loaderbench top, of the same user, watch "
                  "this loader"))
OPTION(HELD, ENUM("held", FDL_CHOICE_TEXT(FDL_HELD_CHOICES), "refuse",
                  "when the program holds every batch that memory "
                  "allows: refuse: next fails; grow: allocate "
                  "another, beyond memory_budget if necessary, "
                  "until batches are released"))
OPTION(TUNER, ENUM("tuner", FDL_CHOICE_TEXT(FDL_TUNER_CHOICES), "auto",
                   "auto: tune workers, depth and io_depth where "
                   "they are auto, while the loader runs; observe: "
                   "only report what it would do (docs/tuner.md)"))
OPTION(TUNER_TARGET, FRACTION("tuner_target", "0.01",
                              "acceptable stall, as a fraction of time; below "
                              "it the tuner tries fewer workers"))
OPTION(TUNER_PROFILE, STRING("tuner_profile", "",
                             "start from an earlier result, written by "
                             "loaderbench tune or "
                             "feedline_loader_save_profile, on the same "
                             "machine, data set and pipeline"))
OPTION(TUNER_JOB,
       BOOL("tuner_job", "true",
            "take part in what the tuners of a job's ranks tell each other "
            "(docs/tuner.md)"))
OPTION(WORKERS_MIN, INT("workers_min", 0, 1, FDL_MAX_WORKERS, "1", "threads",
                        "lower bound for the tuner"))
OPTION(WORKERS_MAX,
       INT("workers_max", AUTO, 1, FDL_MAX_WORKERS, "auto", "threads",
           "upper bound for the tuner; auto: 32 per core, "
           "for work that sleeps"))
OPTION(WORKERS_START,
       INT("workers_start", AUTO, 1, FDL_MAX_WORKERS, "auto", "threads",
           "where the tuner starts; auto: the usable cores"))
OPTION(DEPTH_MAX, INT("depth_max", AUTO, 1, FDL_MAX_DEPTH, "auto", "batches",
                      "upper bound for the tuner; auto: 64, within "
                      "the memory budgets"))
OPTION(IO_DEPTH_MAX,
       INT("io_depth_max", AUTO, 1, FDL_MAX_IO_DEPTH, "auto", "reads",
           "upper bound for the tuner; auto: 256 (io_uring), "
           "64 (pread)"))
OPTION(LOCAL_WORLD, INT("local_world", AUTO, 1, 1 << 16, "auto", "processes",
                        "processes on this machine that share its cores "
                        "and memory; auto: as the launcher says "
                        "(torchrun's LOCAL_WORLD_SIZE), else 1, and cores as "
                        "other loaders use them"))
OPTION(AFFINITY,
       STRING("affinity", "auto",
              "CPUs that workers and readers run on; auto: those on the NUMA "
              "node of the GPU, if they are enough; none: any; or a list such "
              "as 0-15,32-47, which this process need not share "
              "(docs/transfer.md)"))
OPTION(STUCK_AFTER, TIME("stuck_after", 0, INT64_C(86400000000000), "60s",
                         "report a worker that takes longer for one "
                         "sample; 0: never"))
OPTION(TERMS, ENUM("terms", FDL_CHOICE_TEXT(FDL_INTERFACE_CHOICES), "feedline",
                   "option names that verdicts and advice use: "
                   "depth=auto, depth=\"auto\" or "
                   "prefetch_factor=\"auto\"; bindings set it"))
