# SPDX-License-Identifier: Apache-2.0
"""Arrays of deferred images: what is recorded is what NumPy makes."""

from __future__ import annotations

import copy
import pickle
import random
from typing import Any, Callable, Dict, List

import deferred_cases as cases
import images
import needs
import pytest
from test_deferred_engine import check as engine_makes

torch = cases.torch
np = cases.np
Image = images.Image

from torchvision.transforms import functional as F  # noqa: E402

from feedline.deferred import Recorder, deferred_of  # noqa: E402

needs.deferred_tensors()

MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
FULL = np.array([[[0.25, -2.0, 7.5]]], dtype=np.float32)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Dict[str, str]:
    return cases.make_files(tmp_path_factory.mktemp("files"))


def rgb(path: str) -> Any:
    return Image.open(path).convert("RGB")


def changed(array: Any, change: Callable[[Any], Any]) -> Any:
    """The array, after change(array) in place."""
    change(array)
    return array


def assigned(array: Any, index: Any, value: Any) -> Any:
    array[index] = value
    return array


def in_place(array: Any, name: str, value: Any) -> Any:
    return getattr(array, name)(value)


# Of an array [h, w, 3] of bytes; recorded to the end.
OF_COLORS: Dict[str, Callable[[Any], Any]] = {
    "itself": lambda a: a,
    "float32": lambda a: a.astype(np.float32),
    "float": lambda a: a.astype(float),
    "int64": lambda a: a.astype("int64"),
    "astype without a copy": lambda a: a.astype(np.uint8, copy=False),
    "/ 255": lambda a: a / 255,
    "/ 255.0 as float32": lambda a: (a / 255.0).astype(np.float32),
    "float32 / 255.0": lambda a: a.astype(np.float32) / 255.0,
    "/ 127.5 - 1": lambda a: (a / 127.5 - 1.0).astype(np.float32),
    "1 - a": lambda a: 1 - a,
    "255 - a": lambda a: 255 - a,
    "wraps": lambda a: a * 2 + a,
    "-a": lambda a: -a,
    "~a": lambda a: ~a,
    "abs": lambda a: abs(a.astype(np.int16) - 100),
    "a // 3": lambda a: a // 3,
    "a % 7": lambda a: a % 7,
    "shifts": lambda a: (a >> 2) << 1,
    "bits": lambda a: (a & 0xF0) | 3,
    "** 2": lambda a: a.astype(np.float32) ** 2,
    "compare": lambda a: a > 100,
    "both": lambda a: (a > 100) & (a < 200),
    "mean and std": lambda a: (a / 255.0 - MEAN) / STD,
    "mean and std as lists": lambda a: (a / 255.0 - list(MEAN)) / list(STD),
    "float32 mean": lambda a: a.astype(np.float32) - FULL,
    "np.float32(2)": lambda a: a * np.float32(2),
    "a scalar array": lambda a: a * np.array(1.5),
    "clip": lambda a: a.astype(np.int32).clip(20, 80),
    "np.clip": lambda a: np.clip(a * 1.3 + 4, 0, 255).astype(np.uint8),
    "clip below": lambda a: np.clip(a.astype(np.float32), None, 90),
    "round": lambda a: np.round(a / 7.0, 1),
    "a.round": lambda a: (a / 7.0).round(),
    "maximum": lambda a: np.maximum(a, 30),
    "sqrt": lambda a: np.sqrt(a.astype(np.float32)),
    "np.subtract": lambda a: np.subtract(a, 3, dtype=np.float32),
    "where": lambda a: np.where(a > 100, a, 0),
    "isin": lambda a: np.isin(a, [1, 2, 60]),
    "iadd": lambda a: in_place(a.copy(), "__iadd__", 3),
    "itruediv": lambda a: in_place(a.astype(np.float32), "__itruediv__", 255),
    "isub by channel": lambda a: in_place(a / 2, "__isub__", MEAN),
    "out": lambda a: np.multiply(b := a / 3, 5, out=b),
    "assign by mask": lambda a: assigned(b := a.copy(), b > 200, 7),
    "assign a box": lambda a: assigned(
        a.astype(np.float32), (slice(2, 9), slice(3, 20)), 0.5
    ),
    "assign a box of colours": lambda a: assigned(
        a.copy(), np.s_[:5, 4:-4, :], [1, 2, 3]
    ),
    "assign a channel": lambda a: assigned(a.copy(), np.s_[..., 1], 7),
    "assign channels": lambda a: assigned(
        a.copy(), np.s_[:, :, [2, 0]], (3, 200)
    ),
    "assign channels in front": lambda a: assigned(
        a.transpose(2, 0, 1).astype(np.float32), np.s_[1:], -0.5
    ),
    "assign a channel behind a box": lambda a: assigned(
        assigned(a.copy(), np.s_[2:9, 3:20], 9), np.s_[..., 0], 1
    ),
    "arithmetic behind a box": lambda a: assigned(
        a.astype(np.float32), np.s_[1:4, 1:7], 9
    )
    / 3,
    "crop": lambda a: a[3:21, 4:30],
    "crop by dots": lambda a: a[..., 3:21, 5:25, :],
    "negative": lambda a: a[-20:-3, :-2],
    "flip by slices": lambda a: a[::-1, ::-1] + 1,
    "flip and crop": lambda a: a[20:4:-1, 3:9].copy(),
    "mirror": lambda a: a[:, ::-1].copy(),
    "transpose": lambda a: a.transpose(2, 0, 1),
    "transpose to columns": lambda a: a.transpose((1, 0, 2)),
    "a.T": lambda a: a.T,
    "moveaxis": lambda a: np.moveaxis(a, -1, 0),
    "rollaxis": lambda a: np.rollaxis(a, 2),
    "np.transpose": lambda a: np.transpose(a, (2, 0, 1)),
    "swapaxes": lambda a: a.swapaxes(0, 1).copy(),
    "fliplr": lambda a: np.ascontiguousarray(np.fliplr(a)),
    "flipud": lambda a: np.flipud(a).copy(),
    "np.flip": lambda a: np.flip(a, axis=1).copy(),
    "np.flip both": lambda a: np.flip(a, (0, 1)).copy(),
    "rot90": lambda a: np.rot90(a).copy(),
    "rot90 thrice": lambda a: np.ascontiguousarray(np.rot90(a, 3)),
    "rot90 back": lambda a: np.rot90(a, -1, (1, 0)).copy(),
    "rot90 twice": lambda a: np.rot90(a, 2) / 2,
    "newaxis": lambda a: a[np.newaxis],
    "expand_dims": lambda a: np.expand_dims(a.transpose(2, 0, 1), 0),
    "expand_dims inside": lambda a: np.expand_dims(a[2:, 3:], 1).copy(),
    "squeeze": lambda a: a[None].squeeze(0),
    "reshape": lambda a: a.reshape(1, *a.shape),
    "np.pad": lambda a: np.pad(a, ((1, 2), (3, 4), (0, 0))),
    "np.pad reflect": lambda a: np.pad(a, ((5,), (6,), (0,)), mode="reflect"),
    "np.pad edge": lambda a: np.pad(a, ((5, 0), (6, 1), (0, 0)), "edge"),
    "np.pad of floats": lambda a: np.pad(
        a / 255, ((5, 0), (6, 1), (0, 0)), constant_values=1.0
    ),
    "np.copy": lambda a: np.copy(a[:, ::-1]),
    "copy in order": lambda a: a.transpose(2, 0, 1).copy(order="K"),
    "deepcopy": lambda a: copy.deepcopy(a),
    "np.array": lambda a: np.array(a, dtype=np.float32),
    "np.asarray": lambda a: np.asarray(a),
    "chw of floats": lambda a: np.ascontiguousarray(
        (a[2:34, 3:35].astype(np.float32) / 255.0).transpose(2, 0, 1)
    ),
    "BGR": lambda a: a[:, :, ::-1].copy(),
    "BGR by dots": lambda a: a[..., ::-1] / 255,
    "channels in a list": lambda a: a[..., [2, 0, 1]],
    "channels in an array": lambda a: a[:, :, np.array([1, -1])] / 2,
    "channels in a list, contiguous": lambda a: np.ascontiguousarray(
        a[3:, 2:][..., [1, 1, 0]]
    ),
    "BGR in front": lambda a: np.ascontiguousarray(
        a.transpose(2, 0, 1)[::-1].astype(np.float32)
    ),
    "mean, BGR": lambda a: ((a - MEAN) / STD)[..., ::-1].astype(np.float32),
    "channel": lambda a: a[:, :, 0].copy(),
    "channel by dots": lambda a: a[..., -1] * 2,
    "channel in front": lambda a: a.transpose(2, 0, 1)[1, 3:30] / 2,
    "two channels": lambda a: a[:, :, 1:] // 2,
    "one channel": lambda a: a[..., 2:].copy(),
    "BGR to an image": lambda a: Image.fromarray(a[:, :, ::-1]).resize((9, 8)),
    "channel to an image": lambda a: Image.fromarray(a[..., 1]).resize((9, 8)),
    "to an image": lambda a: Image.fromarray(a),
    "to an image and on": lambda a: Image.fromarray(a[2:, 3:]).resize((9, 8)),
    "bright to an image": lambda a: Image.fromarray(
        np.clip(a * 1.2, 0, 255).astype(np.uint8)
    ),
    "flipped to an image": lambda a: Image.fromarray(a[:, ::-1]),
}

TENSORS_OF_COLORS: Dict[str, Callable[[Any], Any]] = {
    "from_numpy": lambda a: torch.from_numpy(a.copy()),
    "chw": lambda a: torch.from_numpy(a.transpose(2, 0, 1).copy()),
    "permute": lambda a: torch.from_numpy(a.copy()).permute(2, 0, 1),
    "float": lambda a: torch.from_numpy(a.copy()).float().div_(255),
    "doubles": lambda a: torch.from_numpy(a / 255.0).permute(2, 0, 1),
    "in place": lambda a: torch.from_numpy(a.astype(np.float32)).div_(255),
    "as_tensor": lambda a: torch.as_tensor(a.copy()),
    "as_tensor of a type": lambda a: torch.as_tensor(
        a[3:].copy(), dtype=torch.float32
    ),
    "as_tensor of int": lambda a: torch.as_tensor(a, dtype=torch.int64),
    "tensor": lambda a: torch.tensor(a.transpose(2, 0, 1)),
    "tensor of floats": lambda a: torch.tensor(a, dtype=torch.float32),
    "of a box": lambda a: torch.from_numpy(
        assigned(a.astype(np.float32), np.s_[2:9, 3:8], 1)
    ),
    "to_tensor": lambda a: F.to_tensor(a.copy()),
    "to_pil_image": lambda a: F.to_pil_image(a),
    "back to an array": lambda a: F.to_tensor(a.copy()).numpy(),
    "array and back": lambda a: torch.from_numpy(
        F.to_tensor(a.copy()).numpy().transpose(1, 2, 0) * 2
    ),
}

# Of an array [h, w] of bytes.
OF_GRAY: Dict[str, Callable[[Any], Any]] = {
    "itself": lambda a: a,
    "newaxis": lambda a: a[:, :, None],
    "in front": lambda a: a[np.newaxis, ...] / 255.0,
    "int64": lambda a: a.astype(np.int64),
    "classes": lambda a: assigned(b := a.copy(), b == 255, 0),
    "many classes": lambda a: assigned(
        assigned(b := a.astype(np.float32), (b == 1) | (b == 3), 1.0),
        b > 9,
        -1,
    ),
    "isin": lambda a: np.isin(a, (1, 2, 3)).astype(np.uint8),
    "flip": lambda a: np.fliplr(a).copy(),
    "rot90": lambda a: np.rot90(a, 3).copy(),
    "transpose": lambda a: a.T.copy(),
    "pad": lambda a: np.pad(a, 3, constant_values=255),
    "shift": lambda a: a.astype(np.int16) - 1,
    "three": lambda a: np.stack([a, a, a], axis=-1),
    "three in front": lambda a: np.stack((a,) * 3),
    "dstack": lambda a: np.dstack([a] * 3),
    "repeat": lambda a: np.repeat(a[:, :, None], 3, axis=2),
    "tile": lambda a: np.tile(a[..., None], (1, 1, 3)),
    "concatenate": lambda a: np.concatenate([b := a[:, :, None], b, b], axis=2),
    "fromarray": lambda a: Image.fromarray(a).crop((1, 2, 9, 8)),
    "expand_dims": lambda a: np.expand_dims(a, 0),
    "an image of floats": lambda a: np.array(
        Image.fromarray(a.astype(np.float32) / 7)
        .resize((19, 33), Image.NEAREST)
        .crop((1, 2, 15, 30))
        .transpose(0)
        .copy()
    ),
    "an image of integers": lambda a: np.asarray(
        Image.fromarray(a.astype(np.int32) * 1000)
    ),
    "atleast_3d": lambda a: np.atleast_3d(a),
}


def each_way(files: Dict[str, str], run: Callable[[str], Any]) -> None:
    """Real ones, and the engine's."""
    runs: List[Callable[[], Any]] = []
    for path in files.values():
        assert cases.check(run, path) == [True], path
        runs.append(lambda path=path: run(path))  # type: ignore[misc]
    engine_makes(runs)


@pytest.mark.parametrize("name", OF_COLORS)
def test_colors(name: str, files: Dict[str, str]) -> None:
    method = OF_COLORS[name]
    each_way(files, lambda path: method(np.array(rgb(path))))


@pytest.mark.parametrize("name", TENSORS_OF_COLORS)
def test_tensors(name: str, files: Dict[str, str]) -> None:
    method = TENSORS_OF_COLORS[name]
    each_way(files, lambda path: method(np.asarray(rgb(path))))


@pytest.mark.parametrize("name", OF_GRAY)
def test_gray(name: str, files: Dict[str, str]) -> None:
    method = OF_GRAY[name]
    each_way(files, lambda path: method(np.array(rgb(path).convert("L"))))


# ---- Several images in one tensor -------------------------------------------


def frames(files: Dict[str, str]) -> List[Any]:
    paths = [files[n] for n in ("rgb.jpg", "rgb.png", "gray.jpg", "rgb.webp")]
    return [F.to_tensor(rgb(path).resize((20, 24))) for path in paths]


JOINED: Dict[str, Callable[[Any], Any]] = {
    "stack": lambda f: torch.stack(f),
    "stack behind": lambda f: torch.stack(f, dim=1),
    "stack last": lambda f: torch.stack(f, -1),
    "of parts": lambda f: torch.stack([p[:, 2:9, 3:] for p in f], 0),
    "permuted": lambda f: torch.stack([p.permute(1, 2, 0) for p in f], 0),
    "the same twice": lambda f: torch.stack([f[0], f[1], f[0]]),
    "then arithmetic": lambda f: torch.stack(f).mul(255).sub(3),
    "then half": lambda f: torch.stack(f, 1).half(),
    "cat": lambda f: torch.cat(f),
    "cat of unlike": lambda f: torch.cat([f[0], f[1][:, :, :]], dim=0) * 2,
    "cat of batches": lambda f: torch.cat([p[None] for p in f], 0),
}


@pytest.mark.parametrize("name", JOINED)
def test_joined(name: str, files: Dict[str, str]) -> None:
    def program() -> Any:
        return JOINED[name](frames(files))

    assert cases.check(program) == [True]


def joined_as_it_is(f: Any) -> Any:
    """What gives the tensor itself does so here."""
    whole = torch.stack(f)
    for same in (whole.float(), whole.to(torch.float32), whole.to("cpu")):
        same[0] += 1
    return whole


@pytest.mark.parametrize(
    "change",
    [
        lambda f: torch.stack(f).mean(),
        joined_as_it_is,
        lambda f: torch.stack(f)[1],
        lambda f: torch.stack(f).view(-1),
        lambda f: torch.stack([*f[:2], torch.zeros(3, 24, 20)]),
        lambda f: torch.stack([f[0], f[1].double()]),
        lambda f: torch.cat(f, dim=2),
        lambda f: torch.cat([f[0], f[0]], dim=1),
        lambda f: torch.stack(f).mul_(2),
        lambda f: [torch.stack(f), f[0].mul_(3)],
        lambda f: torch.stack(f) - torch.ones(4, 3, 24, 20),
    ],
)
def test_joined_and_real(change: Any, files: Dict[str, str]) -> None:
    runs_alike(lambda path: change(frames(files)), "")


def test_the_engine_makes_joined_ones(files: Dict[str, str]) -> None:
    from feedline.torch import DataLoader

    class Clips(torch.utils.data.Dataset):  # type: ignore[misc, type-arg]
        def __len__(self) -> int:
            return 6

        def __getitem__(self, index: int) -> Any:
            some = frames(files)[index % 2 :]
            some[0][:, 2:9, 3:5] = torch.arange(42.0).view(3, 7, 2) * index
            return torch.stack(some[:2], index % 3), torch.cat(some[:3]).mul(2)

    class Same(Clips):
        def __getitem__(self, index: int) -> Any:
            some = frames(files)[index % 2 :][:3]
            return torch.stack(some, 1), torch.cat(some).mul(2)

    for data, size in ((Clips(), None), (Same(), 4)):
        ours = DataLoader(data, batch_size=size, num_workers=1)
        theirs = torch.utils.data.DataLoader(data, batch_size=size)
        got, want = list(ours), list(theirs)
        assert ours.native, ours.fallback_reason
        assert not ours.explain().count("made in Python"), ours.explain()
        for a, b in zip(got, want):
            for x, y in zip(a, b):
                cases.same(y, x)


def test_erased_by_many_values(files: Dict[str, str]) -> None:
    def program(path: str) -> Any:
        t = F.to_tensor(rgb(path))
        t = F.normalize(t, [0.5, 0.4, 0.3], [0.2, 0.3, 0.4])
        values = torch.empty([3, 7, 9]).normal_()
        t = F.erase(t, 3, 4, 7, 9, values)
        t = F.erase(t, 5, 6, 3, 2, torch.tensor([[[1.0]], [[2.0]], [[3.0]]]))
        return t / 3

    for path in files.values():
        assert cases.check(program, path) == [True]
    paths = list(files.values())
    engine_makes([lambda path=path: program(path) for path in paths])


# ---- What is not recorded ---------------------------------------------------


def runs_alike(program: Callable[[str], Any], path: str) -> Recorder:
    """The same by a recorder; which one is returned."""
    cases.seed(3)
    want = list(cases.leaves(program(path)))
    cases.seed(3)
    recorder = Recorder()
    got = list(cases.leaves(recorder.run(program, path)))
    for a, b in zip(want, got):
        found = deferred_of(b)
        if found is not None:
            found.real()
        cases.same(a, getattr(b, "_feedline_real", b))
    return recorder


def in_canvas(a: Any) -> Any:
    canvas = np.full((90, 90, 3), 114, np.uint8)
    canvas[: a.shape[0], : a.shape[1]] = a
    return canvas


def view_written(a: Any) -> Any:
    top = a[:10]
    top += 3
    return a, top


def base_written(a: Any) -> Any:
    top = a[:10, ::-1]
    a[:5] = 9
    return a.copy(), top.copy()


def tensor_written(a: Any) -> Any:
    t = torch.from_numpy(a)
    t.add_(1)
    return a.copy(), t


def array_under_tensor(a: Any) -> Any:
    t = torch.from_numpy(a)
    a //= 2
    return a.copy(), t + 0


def tensor_of_a_view(a: Any) -> Any:
    t = torch.from_numpy(a[3:])
    t.mul_(2)
    return a.copy(), t


def image_shares(a: Any) -> Any:
    gray = np.ascontiguousarray(a[..., 0])
    image = Image.fromarray(gray)
    small = image.resize((9, 9))
    gray[:20] = 77
    return image, small, gray.copy()


def image_shares_when_it_is_looked_at(a: Any) -> Any:
    gray = np.ascontiguousarray(a[..., 0])
    image = Image.fromarray(gray)
    first = image.getpixel((3, 3))
    gray[:20] = gray[:20, ::-1]
    return image, first, image.getpixel((3, 3)), gray.copy()


def image_of_a_copy(a: Any) -> Any:
    image = Image.fromarray(a)
    a[:20] = 77
    return image, a.copy()


def numpy_written(a: Any) -> Any:
    t = F.to_tensor(a.copy())
    b = t.numpy()
    b[:] = 0.5
    return t + 0, b.copy()


def tensor_under_numpy(a: Any) -> Any:
    t = F.to_tensor(a.copy())
    b = t.numpy()
    t.mul_(torch.rand(t.shape))
    return b + 1, b


def looped(a: Any) -> Any:
    return [row.sum() for row in a][:5], a.tolist()[0][0]


REAL: Dict[str, Callable[[Any], Any]] = {
    "mean": lambda a: float(a.mean()),
    "sum": lambda a: np.sum(a, axis=(0, 1)),
    "unique": lambda a: (np.unique(a), a + 1),
    "standardized": lambda a: (a - a.mean()) / a.std(),
    "any": lambda a: bool((a > 250).any()),
    "max": lambda a: int(np.max(a)),
    "every other": lambda a: a[::2, ::2],
    "an index": lambda a: a[3, 4].tolist(),
    "chosen": lambda a: a[a > 200],
    "by a list": lambda a: a[[3, 2, 1]],
    "ravel": lambda a: a.ravel(),
    "reshape": lambda a: a.reshape(-1, 3),
    "power": lambda a: np.power(a / 255.0, 0.7),
    "exp": lambda a: np.exp(a / 255.0),
    "dot": lambda a: a @ np.ones((3, 3)),
    "einsum": lambda a: np.einsum("hwc->c", a.astype(np.int64)),
    "array of pixels": lambda a: a + np.arange(a.size).reshape(a.shape),
    "two images": lambda a: np.concatenate([a, a[:, ::-1]]),
    "stack": lambda a: np.stack([a, a]),
    "float to byte": lambda a: (a * 2.5).astype(np.uint8),
    "negative to byte": lambda a: (a - 300.0).astype(np.uint8),
    "read-only": lambda a: str(np.asarray(Image.fromarray(a)).flags.writeable),
    "tolist": looped,
    "repr": lambda a: repr(a),
    "pickle": lambda a: pickle.loads(pickle.dumps(a)),
    "tobytes": lambda a: a.tobytes(),
    "bool": lambda a: bool(a[:1, :1, 0]),
    "in": lambda a: 3 in a,
    "==": lambda a: (a == a[::-1]).sum(),
    "a canvas": in_canvas,
    "a view is written": view_written,
    "a base is written": base_written,
    "a tensor is written": tensor_written,
    "an array under a tensor is written": array_under_tensor,
    "a tensor of a view": tensor_of_a_view,
    "an image shares": image_shares,
    "an image that is looked at shares": image_shares_when_it_is_looked_at,
    "an image does not": image_of_a_copy,
    "numpy() is written": numpy_written,
    "what numpy() is of is written": tensor_under_numpy,
    "fill": lambda a: changed(a, lambda a: a.fill(3)),
    "sort": lambda a: changed(a, lambda a: a.sort(axis=0)),
    "copyto": lambda a: changed(a, lambda a: np.copyto(a, 7)),
    "shuffle": lambda a: changed(a, np.random.shuffle),
    "put": lambda a: changed(a, lambda a: np.put(a, [1, 2], 9)),
    "shape": lambda a: changed(a, lambda a: setattr(a, "shape", (-1,))),
    "torch's of floats": lambda a: torch.FloatTensor(a[:9, :9].tolist()),
    "where, then": lambda a: np.where(a > 3)[0],
    "image of floats": lambda a: Image.fromarray(a[:, :, 0] / np.float32(3)),
    "image of floats, resized": lambda a: np.array(
        Image.fromarray(a[..., 1].astype(np.float32)).resize((9, 9))
    ),
    "floats of gray": lambda a: Image.fromarray(
        np.array(Image.fromarray(a).convert("L")).astype(np.float32)
    ),
    "floats of gray, resized": lambda a: [
        image := Image.fromarray(
            np.array(Image.fromarray(a).convert("L")).astype(np.float32)
        ),
        image.resize((9, 9)),
        image.crop((-3, 0, 9, 9)),
        image.getextrema(),
        image.mode,
    ],
    "frombuffer": lambda a: np.frombuffer(a.tobytes(), np.uint8),
    "kept type": lambda a: (isinstance(a, np.ndarray), a.dtype.str, a.ndim),
    "flags": lambda a: str(a.flags),
    "view as": lambda a: a.view(np.int8),
    "itemsize": lambda a: (a.itemsize, a.nbytes, a.size, a.strides, len(a)),
    "complex": lambda a: a + 1j,
    "long double": lambda a: str(a.astype(np.longdouble).max()),
    "big-endian": lambda a: a.astype(">f4"),
    "uint16": lambda a: (a.astype(np.uint16) * 257),
    "hash": lambda a: pytest.raises(TypeError, hash, a) and 3,
}


@pytest.mark.parametrize("name", REAL)
def test_what_is_not_recorded_is_right(
    name: str, files: Dict[str, str]
) -> None:
    for path in list(files.values())[:4]:
        runs_alike(lambda path: REAL[name](np.array(rgb(path))), path)


@pytest.mark.parametrize(
    "fails",
    [
        lambda a: a.__iadd__(1),
        lambda a: a.__setitem__(0, 3),
        lambda a: np.add(a, 1, out=a),
        lambda a: a + np.ones(7),
        lambda a: a.transpose(0, 1),
        lambda a: a[99999],
        lambda a: a.reshape(7, 7),
        lambda a: a.astype("nonsense"),
        lambda a: np.copy(a).__imul__(1.5),
        lambda a: torch.from_numpy(a[:, ::-1]),
        lambda a: a.nothing,
        lambda a: np.rot90(a, axes=(0, 0)),
        lambda a: a[9, 9, 9],
    ],
)
def test_errors_are_those_of_numpy(fails: Any, files: Dict[str, str]) -> None:
    path = files["rgb.png"]
    with pytest.raises(Exception) as want:
        fails(np.asarray(rgb(path)))
    with pytest.raises(want.type) as got:
        Recorder().run(lambda: fails(np.asarray(rgb(path))))
    assert str(got.value) == str(want.value)


def test_foreign_code_gets_pixels_or_an_error(files: Dict[str, str]) -> None:
    path = files["rgb.png"]
    real = np.array(rgb(path))

    def program() -> Any:
        a = np.array(rgb(path))
        with pytest.raises(TypeError):
            memoryview(a)
        with pytest.raises(TypeError):
            np.frombuffer(a, np.uint8)
        return np.ndarray.__add__(real, a), np.add.reduce([a, a]), a

    added, twice, a = Recorder().run(program)
    assert np.array_equal(added, real + real)
    assert np.array_equal(twice, np.add.reduce([real, real]))
    assert np.array_equal(a, real)


def test_kept_beyond_its_sample_an_array_is_real(files: Dict[str, str]) -> None:
    kept: List[Any] = []
    path = files["rgb.jpg"]
    recorder = Recorder()
    recorder.run(lambda: kept.append(np.array(rgb(path))))
    recorder.run(lambda: None)
    assert deferred_of(kept[0]) is None
    assert np.array_equal(kept[0] + 1, np.array(rgb(path)) + 1)
    assert recorder.touches


def test_without_a_recorder_nothing_is_deferred(files: Dict[str, str]) -> None:
    Recorder().run(lambda: np.array(rgb(files["rgb.jpg"])))
    assert type(np.array(rgb(files["rgb.jpg"]))) is np.ndarray
    assert type(np.asarray([1, 2], np.float32)) is np.ndarray
    assert np.array([1], ndmin=2).shape == (1, 1)
    assert np.asarray(dtype=np.int8, a=[1]).dtype == np.int8
    assert np.array(object=[3]).tolist() == [3]


def test_an_error_that_arrays_may_be_the_reason_of_ends_them(
    files: Dict[str, str],
) -> None:
    path = files["rgb.jpg"]
    recorder = Recorder()

    def program() -> Any:
        try:
            return memoryview(np.array(rgb(path)))
        except TypeError as error:
            recorder.failed(error)

    assert recorder.run(program) is None
    assert recorder.run(program).nbytes


# ---- Compositions -----------------------------------------------------------


def _steps(rng: random.Random) -> List[Callable[[Any], Any]]:
    def crop(a: Any) -> Any:
        y, x = rng.randrange(4), rng.randrange(4)
        return a[y:, x:]

    def by_channel(a: Any) -> Any:
        return a - np.float32([rng.random(), 2, 3] if a.ndim == 3 else [2])

    def boxed(a: Any) -> Any:
        a = a.copy()
        y = rng.randrange(4)
        a[y : y + 5, 2:9] = rng.randrange(9)
        return a

    def classes(a: Any) -> Any:
        a = a.copy()
        a[(a > rng.randrange(200)) | (a == 3)] = 1
        return a

    return [
        crop,
        by_channel,
        boxed,
        classes,
        lambda a: a[::-1],
        lambda a: a[:, ::-1],
        lambda a: np.rot90(a, rng.randrange(4)),
        lambda a: np.fliplr(a),
        lambda a: a.swapaxes(0, 1),
        lambda a: a.astype(rng.choice([np.float32, np.float64, np.int32])),
        lambda a: a / rng.choice([255, 127.5, np.float32(3)]),
        lambda a: a * rng.choice([2, 0.5]) + 1,
        lambda a: np.clip(a, 3, 120),
        lambda a: np.ascontiguousarray(a),
        lambda a: a.copy(),
        lambda a: np.pad(a, [(1, 2), (3, 0), (0, 0)][: a.ndim], mode="reflect"),
    ]


ENDS: List[Callable[[Any], Any]] = [
    lambda a: a,
    lambda a: torch.from_numpy(a.copy()).float(),
    lambda a: torch.from_numpy(np.moveaxis(a, -1, 0).copy()).div(3),
    lambda a: torch.as_tensor(np.ascontiguousarray(a), dtype=torch.float32),
    lambda a: a.transpose(*range(a.ndim)[::-1]).astype(np.float32),
]


@pytest.mark.parametrize("n", range(100))
def test_compositions(n: int, files: Dict[str, str]) -> None:
    path = list(files.values())[n % len(files)]

    def program(unused: str) -> Any:
        rng = random.Random(n)
        a = np.array(rgb(path) if n % 3 else rgb(path).convert("L"))
        for _ in range(rng.randrange(1, 7)):
            a = rng.choice(_steps(rng))(a)
        return rng.choice(ENDS)(a)

    cases.check(program, path)
    engine_makes([lambda: program(path)])


def test_an_image_whose_pixels_were_read_is_made_once(
    files: Dict[str, str],
) -> None:
    def program() -> Any:
        image = rgb(files["rgb.jpg"])
        light = np.asarray(image).mean() > 3
        other = rgb(files["rgb.png"])
        return F.to_tensor(image), light, other

    tensor, light, other = Recorder().run(program)
    assert light and deferred_of(tensor) is None
    assert deferred_of(other) is not None


# ---- What is remembered of one image is right for the next ------------------


@pytest.mark.parametrize(
    "of_array, of_tensor",
    [
        (lambda a, x: a * x, lambda t, x: t * x),
        (lambda a, x: x - a, lambda t, x: x - t),
        (lambda a, x: a - x, lambda t, x: t.sub(x)),
        (lambda a, x: (a / 2) * x, lambda t, x: t.float().div(2).mul_(x)),
    ],
)
def test_like_numbers_are_told_apart(
    of_array: Any, of_tensor: Any, files: Dict[str, str]
) -> None:
    numbers = [2, 2.0, 0.0, -0.0, 0, float("nan"), np.float32(2), 2]

    def program(path: str) -> Any:
        return [
            (
                of_array(np.array(rgb(path)), x),
                of_tensor(F.pil_to_tensor(rgb(path)), x),
            )
            for x in numbers
        ]

    for path in list(files.values())[:2]:
        assert cases.check(program, path).count(True) > len(numbers)


def test_the_default_type_of_floats_counts(files: Dict[str, str]) -> None:
    def program(path: str) -> Any:
        t = F.pil_to_tensor(rgb(path))
        torch.set_default_dtype(torch.float64)
        try:
            wide = t / 255
        finally:
            torch.set_default_dtype(torch.float32)
        return t / 255, wide, t / 255

    cases.check(program, files["rgb.png"])
