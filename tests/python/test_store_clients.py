# SPDX-License-Identifier: Apache-2.0
"""The servers that the tests of stores read from are what other clients take
them for: Microsoft's finds Azure's, with its signatures, and huggingface_hub
the hub's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import cloud_servers

KEYS = ("d/x y+\u00e9.tar", "a/b/c=d&e*~(1).jpg", "a/b.jpg", "z.jpg")


def body_of(key: str) -> bytes:
    return key.encode() * 50


def filled(place: cloud_servers.Place) -> None:
    for key in KEYS:
        place.put(key, body_of(key))


def test_azure(tmp_path: Path) -> None:
    blob = pytest.importorskip(
        "azure.storage.blob", reason="no azure-storage-blob"
    )
    core = pytest.importorskip("azure.core.exceptions")
    with cloud_servers.azure(tmp_path) as place:
        filled(place)
        client = container_of(blob, place.environment)
        assert {b.name: b.size for b in client.list_blobs()} == {
            key: len(body_of(key)) for key in KEYS
        }
        level = [b.name for b in client.walk_blobs("a/", delimiter="/")]
        assert sorted(level) == ["a/b.jpg", "a/b/"]
        for key in KEYS:
            found = client.download_blob(key, offset=3, length=20)
            assert found.readall() == body_of(key)[3:23]
            assert client.download_blob(key).readall() == body_of(key)
        with pytest.raises(core.ResourceNotFoundError):
            client.download_blob("none")
        with pytest.raises(core.ClientAuthenticationError):
            container_of(blob, place.wrong).download_blob(KEYS[0])


def container_of(blob: Any, environment: Any) -> Any:
    text = environment["AZURE_STORAGE_CONNECTION_STRING"]
    service = blob.BlobServiceClient.from_connection_string(text, retry_total=0)
    return service.get_container_client(cloud_servers.BUCKET)


def test_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub", reason="no huggingface_hub")
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")
    with cloud_servers.hub(tmp_path) as place:
        filled(place)
        api = hub.HfApi(
            place.environment["HF_ENDPOINT"], place.environment["HF_TOKEN"]
        )
        every = api.list_repo_tree(
            "owner/name", recursive=True, repo_type="dataset"
        )
        assert {e.path: e.size for e in every if hasattr(e, "size")} == {
            key: len(body_of(key)) for key in KEYS
        }
        level = api.list_repo_tree("owner/name", "a", repo_type="dataset")
        assert sorted(e.path for e in level) == ["a/b", "a/b.jpg"]
        for key in KEYS:
            path = api.hf_hub_download(
                "owner/name", key, repo_type="dataset", cache_dir=tmp_path
            )
            assert Path(path).read_bytes() == body_of(key)
        assert place.server.far.authorizations == []
        stranger = hub.HfApi(place.environment["HF_ENDPOINT"], "hf_other")
        with pytest.raises(hub.errors.RepositoryNotFoundError):
            list(stranger.list_repo_tree("owner/name", repo_type="dataset"))
