/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What trainings take, as published: images a second on one GPU, in mixed
 * precision, with PyTorch. Where several figures of one source are for the same
 * GPU the row takes the highest: that is what a loader has to keep up with. A
 * new row needs a published figure, and its source.
 */
#include "tools/loaderbench/model/model.h"

/* Section "Training performance", 1 GPU, throughput in mixed precision. */
static const struct model_source nvidia = {
    .name = "NVIDIA DeepLearningExamples",
    .date = "2021-03",
    .version = "PyTorch container 21.03",
    .url = "https://github.com/NVIDIA/DeepLearningExamples/tree/master/"
           "PyTorch/Classification/ConvNets",
    .what = "README of resnet50v1.5 (commit 291f0d0) and efficientnet (commit "
            "0107cf2): 1 GPU of a DGX A100 80GB or a DGX-1 V100 16GB, mixed "
            "precision",
};

/* Columns resnet50 and ssd, rows of one GPU. */
static const struct model_source lambda = {
    .name = "Lambda deeplearning-benchmark",
    .date = "2023",
    .version = "PyTorch container 22.10",
    .url = "https://github.com/lambdal/deeplearning-benchmark/blob/master/"
           "pytorch/pytorch-train-throughput-fp16.csv",
    .what = "pytorch-train-throughput-fp16.csv (commit 0551cb7): one GPU, "
            "fp16; of several H100 SXM5 the fastest",
};

/* Column train_samples_per_sec: a step on the GPU alone. */
static const struct model_source timm = {
    .name = "timm",
    .date = "2022",
    .version = "PyTorch 1.12, CUDA 11.3",
    .url = "https://github.com/huggingface/pytorch-image-models/blob/main/"
           "results/benchmark-train-amp-nhwc-pt112-cu113-rtx3090.csv",
    .what = "benchmark-train-amp-nhwc-pt112-cu113-rtx3090.csv (commit "
            "5e7d47c): train_samples_per_sec, a step without loading",
};

const struct model_rate model_rates[] = {
    {"resnet50@a100", "ResNet-50 on an A100", 2470, &nvidia},
    {"resnet50@v100", "ResNet-50 on a V100", 1200, &nvidia},
    {"efficientnet_b0@a100", "EfficientNet-B0 on an A100", 2489, &nvidia},
    {"efficientnet_b0@v100", "EfficientNet-B0 on a V100", 1301, &nvidia},
    {"efficientnet_b4@a100", "EfficientNet-B4 on an A100", 331, &nvidia},
    {"efficientnet_b4@v100", "EfficientNet-B4 on a V100", 204, &nvidia},
    {"resnet50@h100", "ResNet-50 on an H100 SXM5", 2791, &lambda},
    {"resnet50@h100_pcie", "ResNet-50 on an H100 PCIe", 1866, &lambda},
    {"resnet50@rtx4090", "ResNet-50 on an RTX 4090", 1301, &lambda},
    {"resnet50@rtx6000ada", "ResNet-50 on an RTX 6000 Ada", 1146, &lambda},
    {"resnet50@a6000", "ResNet-50 on an RTX A6000", 916, &lambda},
    {"resnet50@a10", "ResNet-50 on an A10", 638, &lambda},
    {"ssd300@h100", "SSD300 on an H100 SXM5", 867, &lambda},
    {"ssd300@a100", "SSD300 on an A100", 458, &lambda},
    {"ssd300@rtx4090", "SSD300 on an RTX 4090", 379, &lambda},
    {"ssd300@rtx3090", "SSD300 on an RTX 3090", 236, &lambda},
    {"ssd300@v100", "SSD300 on a V100", 229, &lambda},
    {"resnet18@rtx3090", "ResNet-18 on an RTX 3090", 3482, &timm},
    {"resnet34@rtx3090", "ResNet-34 on an RTX 3090", 2037, &timm},
    {"resnet50@rtx3090", "ResNet-50 on an RTX 3090", 1218, &timm},
    {"resnet101@rtx3090", "ResNet-101 on an RTX 3090", 748, &timm},
    {"resnet152@rtx3090", "ResNet-152 on an RTX 3090", 501, &timm},
    {"mobilenetv3_large@rtx3090", "MobileNetV3-Large on an RTX 3090", 2732,
     &timm},
    {"efficientnet_b0@rtx3090", "EfficientNet-B0 on an RTX 3090", 1752, &timm},
    {"efficientnet_b4@rtx3090", "EfficientNet-B4 (320 px) on an RTX 3090", 355,
     &timm},
    {"convnext_tiny@rtx3090", "ConvNeXt-T on an RTX 3090", 819, &timm},
    {"convnext_base@rtx3090", "ConvNeXt-B on an RTX 3090", 339, &timm},
    {"swin_tiny@rtx3090", "Swin-T on an RTX 3090", 649, &timm},
    {"vit_ti16@rtx3090", "ViT-Ti/16 on an RTX 3090", 2300, &timm},
    {"vit_s16@rtx3090", "ViT-S/16 on an RTX 3090", 1058, &timm},
    {"vit_b16@rtx3090", "ViT-B/16 on an RTX 3090", 393, &timm},
    {"vit_l16@rtx3090", "ViT-L/16 on an RTX 3090", 117, &timm},
};
const size_t n_model_rates = sizeof(model_rates) / sizeof(*model_rates);
