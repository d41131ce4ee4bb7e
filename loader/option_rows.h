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
OPTION(BATCH_SIZE,
       INT("batch_size", 0, 1, 65536, "64", "images",
           "images in a batch: samples, or with five_crop or ten_crop their "
           "views, and then a multiple of these"))
OPTION(WORKERS,
       INT("workers", AUTO | LIVE, 1, FDL_MAX_WORKERS, "auto", "threads",
           "threads that decode and augment; auto: the tuner's, from "
           "workers_start on; with tuner=off the cores this process may use"))
OPTION(DEPTH, INT("depth", AUTO | LIVE, 1, FDL_MAX_DEPTH, "auto", "batches",
                  "batches prepared ahead of the consumer; auto: 4, or what "
                  "memory_budget allows, and the tuner's from there on"))
OPTION(IO_DEPTH,
       INT("io_depth", AUTO | LIVE, 1, FDL_MAX_IO_DEPTH, "auto", "reads",
           "reads in flight; auto: 16 for io_uring, 4 for pread, and the "
           "tuner's from there on"))
OPTION(READER,
       ENUM("reader", FDL_READER_CHOICE_TEXT, "auto",
            "how files are read; memory keeps every file after the first "
            "read"))
OPTION(SEED, INT("seed", 0, 0, INT64_MAX, "0", "",
                 "names the order and every random draw"))
OPTION(SHUFFLE, BOOL("shuffle", "false",
                     "a new permutation of the whole data set in each epoch"))
OPTION(DROP_LAST, BOOL("drop_last", "false",
                       "drop the last batch of an epoch if it is short"))
OPTION(EPOCHS, INT("epochs", 0, 0, INT64_MAX, "0", "epochs",
                   "epochs to deliver after start; 0: no end"))
OPTION(RANK, INT("rank", 0, 0, 1 << 20, "0", "",
                 "which of `world` processes this is, from 0"))
OPTION(WORLD, INT("world", 0, 1, 1 << 20, "1", "processes",
                  "processes that share the data set"))
OPTION(SHARD_TAIL,
       ENUM("shard_tail", FDL_CHOICE_TEXT(FDL_TAIL_CHOICES), "wrap",
            "samples that do not divide by world: repeat the last, drop "
            "them, or go on with the first, as torch does"))
OPTION(REPEATS,
       INT("repeats", 0, 1, FDL_COPIES_MAX, "1", "copies",
           "copies of each sample that follow each other in the order over "
           "all ranks, each with its own random draws"))
OPTION(EPOCH_SAMPLES,
       INT("epoch_samples", 0, 0, INT64_MAX, "0", "samples",
           "samples of an epoch, over all ranks and copies included; 0: as "
           "many as the data set has"))
OPTION(ORDER,
       ENUM("order", FDL_CHOICE_TEXT(FDL_ORDER_CHOICES), "own",
            "own: from seed, shuffle, rank and the like; given: the program "
            "appends batch after batch (feedline/order.h), and those options "
            "stay as they are"))
OPTION(DTYPE, ENUM("dtype", FDL_CHOICE_TEXT(FDL_DTYPE_CHOICES), "f32",
                   "type of the pixels"))
OPTION(LAYOUT, ENUM("layout", FDL_CHOICE_TEXT(FDL_LAYOUT_CHOICES), "nchw",
                    "axes of a batch"))
OPTION(CHANNELS,
       INT("channels", 0, 1, 4, "3", "",
           "3: RGB; 1: gray, as Pillow's mode L; 4: RGB and alpha; 2: gray "
           "and alpha; a file without alpha has 255"))
OPTION(DEVICE, STRING("device", "host",
                      "where batches are delivered: host, or the GPU cuda:N"))
OPTION(FINISH,
       ENUM("finish", FDL_CHOICE_TEXT(FDL_FINISH_CHOICES), "auto",
            "where pixels are cast, normalised and laid out for a GPU: device "
            "sends u8 over the bus; auto: by what the bus and the cores can "
            "do, and the tuner may change it, same bits either way"))
OPTION(ON_ERROR,
       ENUM("on_error", FDL_CHOICE_TEXT(FDL_ON_ERROR_CHOICES), "raise",
            "a sample that cannot be used: end with its error, put a "
            "drawn replacement in its place, or deliver zeros"))
OPTION(MAX_FAILURES,
       INT("max_failures", 0, 0, INT64_MAX, "0", "samples",
           "end with an error after more failed samples; 0: no limit"))
DECODE_OPTION(MAX_PIXELS, max_pixels,
              INT("max_pixels", 0, 1, INT64_C(1) << 40, "178956970", "pixels",
                  "refuse larger images (the default is where Pillow refuses)"))
DECODE_OPTION(MAX_SCANS, max_scans,
              INT("max_scans", 0, 1, 1 << 20, "500", "scans",
                  "refuse a progressive JPEG with more scans"))
OPTION(MAX_FILE_BYTES, SIZE("max_file_bytes", 0, 1, INT64_C(1) << 40, "256m",
                            "refuse larger files"))
OPTION(MAX_SAMPLE_BYTES,
       SIZE("max_sample_bytes", 0, 0, INT64_C(1) << 40, "0",
            "above 0: samples keep the size that the pipeline gives each of "
            "them, up to so many bytes, and a batch is a table of offsets "
            "over one piece of memory; 0: all have one size"))
DECODE_OPTION(
    MAX_IMAGE_MS, max_image_ms,
    INT("max_image_ms", 0, 0, 1 << 30, "0", "ms",
        "give up on an image that takes longer to decode, which depends on "
        "the machine; 0: no limit"))
DECODE_OPTION(
    ACCEPT_TRUNCATED, accept_truncated,
    FRACTION("accept_truncated", "0",
             "use a JPEG or PNG that ends early if at least this fraction "
             "of its rows is there; the others come as Pillow makes them "
             "(LOAD_TRUNCATED_IMAGES); 0: an error"))
DECODE_OPTION(
    APPLY_EXIF, apply_exif,
    BOOL("apply_exif", "false",
         "turn and mirror images upright, as their EXIF orientation says, "
         "before anything else"))
OPTION(MEMORY_BUDGET,
       SIZE("memory_budget", AUTO, 1, INT64_MAX, "auto",
            "for batches prepared ahead, and what they leave for files read "
            "and not decoded yet, of which one at a time may always be there; "
            "the same again for what the memory reader keeps; auto: a tenth "
            "of the memory limit, divided by local_world"))
DECODE_OPTION(
    QUALITY, fast,
    ENUM("quality", "exact|fast", "exact",
         "exact: Pillow's pixels; fast: large JPEGs are decoded at 1/2, 1/4 "
         "or 1/8 where the output is that much smaller (docs/pixels.md)"))
DECODE_OPTION(
    PILLOW, columns_first,
    ENUM(
        "pillow", "12|13", "12",
        "whose resampled pixels: those of Pillow up to 12, or of 13, which "
        "begins with the columns where they become much shorter, and so rounds "
        "in another order"))
DECODE_OPTION(
    ROUNDING, rounding,
    ENUM(
        "rounding", FDL_CHOICE_TEXT(FDL_ROUNDING_CHOICES), "once",
        "of floats: once, or after each step, and so as torchvision's ToTensor "
        "and Normalize make them (divide) or its v2.ToDtype and Normalize "
        "(multiply); on a device always once"))
OPTION(TRACE,
       STRING("trace", "",
              "write a trace of the run to this file, as Chrome JSON, over "
              "the schedule that follows"))
OPTION(TRACE_SKIP_FIRST,
       INT("trace_skip_first", 0, 0, INT64_MAX, "0", "batches",
           "before the schedule begins; this and the next four mean what "
           "torch.profiler.schedule means by them"))
OPTION(TRACE_WAIT, INT("trace_wait", 0, 0, INT64_MAX, "0", "batches",
                       "of each cycle, not traced"))
OPTION(TRACE_WARMUP, INT("trace_warmup", 0, 0, INT64_MAX, "0", "batches",
                         "of each cycle, traced and thrown away"))
OPTION(TRACE_ACTIVE, INT("trace_active", 0, 1, INT64_MAX, "200", "batches",
                         "of each cycle, traced and kept"))
OPTION(TRACE_REPEAT, INT("trace_repeat", 0, 0, INT64_MAX, "1", "cycles",
                         "how many there are; 0: no end"))
OPTION(TRACE_CATEGORIES,
       STRING("trace_categories", "all",
              "what is traced: all, or some of read, decode, augment, copy, "
              "consumer, batch, counter, tuner, joined by commas"))
OPTION(TRACE_LIMIT,
       SIZE("trace_limit", 0, 65536, INT64_C(1) << 40, "256m",
            "the trace ends, and says so, before its file is larger"))
OPTION(STATS_LOG,
       STRING("stats_log", "",
              "append the statistics to this file every stats_interval, one "
              "JSON object a line"))
OPTION(METRICS,
       STRING("metrics", "",
              "replace this file every stats_interval by the statistics in "
              "Prometheus' text format, for its textfile collector"))
OPTION(STATS_INTERVAL,
       TIME("stats_interval", 10000000, INT64_C(86400000000000), "10s",
            "between two lines of stats_log, and two metrics files"))
OPTION(LIVE, BOOL("live", "true",
                  "let loaderbench top of the same user look at this loader"))
OPTION(REPLAY,
       INT("replay", 0, 0, FDL_MAX_DEPTH, "0", "batches",
           "above 0: after so many batches of a run the loader serves these "
           "again and again, at no cost, to measure with, not to train with; "
           "depth is then so many"))
OPTION(HELD,
       ENUM("held", FDL_CHOICE_TEXT(FDL_HELD_CHOICES), "refuse",
            "when the program holds every batch that there is memory for: "
            "next fails, or one more gets memory, above memory_budget if need "
            "be, until batches come back"))
OPTION(TUNER,
       ENUM("tuner", FDL_CHOICE_TEXT(FDL_TUNER_CHOICES), "auto",
            "auto: those of workers, depth and io_depth that are auto are "
            "tuned while the loader runs; observe: it only says what it "
            "would do (docs/tuner.md)"))
OPTION(TUNER_TARGET,
       FRACTION("tuner_target", "0.01",
                "the consumer may wait for this fraction of its time; below "
                "it the tuner looks for fewer workers"))
OPTION(TUNER_STRICT,
       BOOL("tuner_strict", "false",
            "more workers stay only if throughput grew beyond all doubt, "
            "which excludes going back and forth for ever"))
OPTION(TUNER_PROFILE,
       STRING("tuner_profile", "",
              "start from what was found before, as loaderbench tune or "
              "feedline_loader_save_profile wrote it, if machine, data set "
              "and pipeline are the same"))
OPTION(WORKERS_MIN, INT("workers_min", 0, 1, FDL_MAX_WORKERS, "1", "threads",
                        "the tuner leaves so many"))
OPTION(WORKERS_MAX,
       INT("workers_max", AUTO, 1, FDL_MAX_WORKERS, "auto", "threads",
           "the tuner takes no more; auto: 32 for each core, for work that "
           "sleeps"))
OPTION(WORKERS_START,
       INT("workers_start", AUTO, 1, FDL_MAX_WORKERS, "auto", "threads",
           "where the tuner begins; auto: the cores this process may use"))
OPTION(DEPTH_MAX,
       INT("depth_max", AUTO, 1, FDL_MAX_DEPTH, "auto", "batches",
           "the tuner takes no more; auto: 64, and what memory_budget allows"))
OPTION(IO_DEPTH_MAX,
       INT("io_depth_max", AUTO, 1, FDL_MAX_IO_DEPTH, "auto", "reads",
           "the tuner takes no more; auto: 256 for io_uring, 64 for pread"))
OPTION(LOCAL_WORLD,
       INT("local_world", AUTO, 1, 1 << 16, "auto", "processes",
           "processes on this machine that share its cores and its memory; "
           "auto: LOCAL_WORLD_SIZE, which torchrun sets, or 1 and cores as "
           "other loaders are seen to use them"))
OPTION(STUCK_AFTER,
       TIME("stuck_after", 0, INT64_C(86400000000000), "60s",
            "a worker that is at one sample for longer is reported; 0: "
            "never"))
OPTION(TERMS,
       ENUM("terms", FDL_CHOICE_TEXT(FDL_INTERFACE_CHOICES), "feedline",
            "whose names for options verdicts and advice use: depth=auto, "
            "depth=\"auto\" or prefetch_factor=\"auto\"; bindings set it"))
