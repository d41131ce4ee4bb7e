# SPDX-License-Identifier: Apache-2.0
"""Adapters for frameworks that make data loaders of their own, and for what
shows how a training is doing.

Lightning, plain DDP and torchvision's scripts take `feedline.torch.DataLoader`
as it is. The others build a loader themselves and would leave ours behind:

* `feedline.integrations.accelerate` - `Accelerator.prepare` rebuilds loaders;
* `feedline.integrations.transformers` - so does the Hugging Face `Trainer`;
* `feedline.integrations.timm` - `create_loader` makes the loader.

A loader's numbers where people look already (docs/metrics.md):

* `feedline.integrations.scalars` - in anything that takes named numbers;
* `feedline.integrations.lightning` - the same by a callback, as in
  `feedline.integrations.transformers`;
* `feedline.integrations.prometheus` - at an HTTP endpoint;
* `feedline.integrations.opentelemetry` - as instruments of its SDK.

Each adapter lets the framework build what it would have built (its sampler, its
shards, its transform) and puts a native loader with the same arguments in its
place. Nothing is imported here, so a framework is needed only by the module
that bears its name. docs/frameworks.md tells them one by one.
"""
