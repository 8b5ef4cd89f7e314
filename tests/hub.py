"""A stand-in for the hub on loopback: what its clients ask to make, fill, list and read repositories."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

import yaml
from aiohttp import web

TOKEN = "hf_of_a_test"
STORED_APART = (".parquet", ".safetensors")  # files that go to storage, and not into the commit


@dataclass
class Repository:
    """Files by path; every commit is the whole of them, and has a number."""

    private: bool
    files: dict[str, bytes] = field(default_factory=dict)
    commits: int = 0

    @property
    def tags(self) -> list[str]:
        """Of the metadata that its card begins with."""
        _, _, rest = self.files.get("README.md", b"").decode().partition("---\n")
        return (yaml.safe_load(rest.partition("\n---")[0]) or {}).get("tags", [])

    @property
    def sha(self) -> str:
        return f"{self.commits:040x}"


@dataclass
class HubStandIn:
    """Repositories by (kind, OWNER/NAME); `public` and `private` of the real one, and its `lfs` storage."""

    repositories: dict[tuple[str, str], Repository] = field(default_factory=dict)
    storage: dict[str, bytes] = field(default_factory=dict)

    def application(self) -> web.Application:
        app = web.Application(client_max_size=2**30)
        api, files = "/api/{kind:models|datasets}/{owner}/{name}", "/{kind:datasets/|}{owner}/{name}"
        app.add_routes([
            web.post("/api/repos/create", self.create),
            web.post("/api/validate-yaml", self.validate),
            web.get(api, self.info),
            web.get(api + "/revision/{revision}", self.info),
            web.get(api + "/tree/{revision}", self.tree),
            web.get(api + "/tree/{revision}/{path:.*}", self.tree),
            web.post(api + "/paths-info/{revision}", self.paths_info),
            web.post(api + "/preupload/{revision}", self.preupload),
            web.post(api + "/commit/{revision}", self.commit),
            web.post(files + ".git/info/lfs/objects/batch", self.batch),
            web.put("/storage/{oid}", self.store),
            web.get(files + "/resolve/{revision}/{path:.*}", self.resolve),
        ])  # fmt: skip
        return app

    async def create(self, request: web.Request) -> web.Response:
        asked = await request.json()
        if not _is_known(request):
            return web.json_response({"error": "Invalid username or password."}, status=401)
        name = f"{asked['organization']}/{asked['name']}"
        kind = asked.get("type") or "model"
        self.repositories[f"{kind}s", name] = Repository(asked["visibility"] == "private", {".gitattributes": b""}, 1)
        return web.json_response({"url": f"{request.url.origin()}/{'datasets/' * (kind == 'dataset')}{name}"})

    async def validate(self, request: web.Request) -> web.Response:
        return web.json_response({"errors": [], "warnings": []})

    async def info(self, request: web.Request) -> web.Response:
        one = self._repository(request)
        siblings = [{"rfilename": path} for path in one.files]
        about = {"id": _name(request), "sha": one.sha, "private": one.private, "siblings": siblings}
        return web.json_response(about | {"tags": one.tags})

    async def tree(self, request: web.Request) -> web.Response:
        one, below = self._repository(request), request.match_info.get("path", "").strip("/")
        inside = {path for path in one.files if not below or path.startswith(below + "/")}
        if below and not inside:
            raise web.HTTPNotFound(headers={"X-Error-Code": "EntryNotFound"})
        if request.query.get("recursive", "").lower() in ("true", "1"):
            return web.json_response([_entry(one, path) for path in sorted(inside | _folders(inside, below))])
        here = {below + "/" * bool(below) + path[len(below) :].strip("/").split("/")[0] for path in inside}
        return web.json_response([_entry(one, path) for path in sorted(here)])

    async def paths_info(self, request: web.Request) -> web.Response:
        one = self._repository(request)
        asked = (await request.post()).getall("paths")
        there = one.files.keys() | _folders(set(one.files), "")
        return web.json_response([_entry(one, path) for path in map(str, asked) if path in there])

    async def preupload(self, request: web.Request) -> web.Response:
        self._writable(request)
        modes = [
            {"path": file["path"], "uploadMode": "lfs" if file["path"].endswith(STORED_APART) else "regular"}
            | {"shouldIgnore": False}
            for file in (await request.json())["files"]
        ]
        return web.json_response({"files": modes})

    async def batch(self, request: web.Request) -> web.Response:
        self._writable(request)
        objects = [
            one | {"actions": {"upload": {"href": f"{request.url.origin()}/storage/{one['oid']}", "header": {}}}}
            for one in (await request.json())["objects"]
        ]
        return web.json_response({"transfer": "basic", "objects": objects})

    async def store(self, request: web.Request) -> web.Response:
        content = await request.read()
        assert hashlib.sha256(content).hexdigest() == request.match_info["oid"]
        self.storage[request.match_info["oid"]] = content
        return web.Response()

    async def commit(self, request: web.Request) -> web.Response:
        one = self._writable(request)
        for line in (await request.text()).splitlines():
            match json.loads(line):
                case {"key": "file", "value": value}:
                    one.files[value["path"]] = base64.b64decode(value["content"])
                case {"key": "lfsFile", "value": value}:
                    one.files[value["path"]] = self.storage[value["oid"]]
                case {"key": "deletedFile", "value": value}:
                    del one.files[value["path"]]
        one.commits += 1
        of_kind = "datasets/" * (request.match_info["kind"] == "datasets")
        address = f"{request.url.origin()}/{of_kind}{_name(request)}/commit/{one.sha}"
        return web.json_response({"success": True, "commitOid": one.sha, "commitUrl": address})

    async def resolve(self, request: web.Request) -> web.Response:
        one, path = self._repository(request), request.match_info["path"]
        if path not in one.files:
            raise web.HTTPNotFound(headers={"X-Error-Code": "EntryNotFound", "X-Repo-Commit": one.sha})
        content = one.files[path]
        part = request.http_range
        headers = {"ETag": f'"{hashlib.sha256(content).hexdigest()}"', "X-Repo-Commit": one.sha}
        if part.start is not None:
            total, content = len(content), content[part]
            start = part.start
            headers["Content-Range"] = f"bytes {start}-{start + len(content) - 1}/{total}"
            return web.Response(body=content, status=206, headers=headers)
        return web.Response(body=content, headers=headers)

    def _repository(self, request: web.Request) -> Repository:
        kind = request.match_info["kind"].strip("/") or "models"
        one = self.repositories.get((kind, _name(request)))
        if one is None or (one.private and not _is_known(request)):
            missing = json.dumps({"error": "Repository not found"})
            raise web.HTTPNotFound(text=missing, headers={"X-Error-Code": "RepoNotFound"})
        return one

    def _writable(self, request: web.Request) -> Repository:
        if not _is_known(request):
            raise web.HTTPUnauthorized
        return self._repository(request)


def _is_known(request: web.Request) -> bool:
    return request.headers.get("Authorization") == f"Bearer {TOKEN}"


def _name(request: web.Request) -> str:
    return f"{request.match_info['owner']}/{request.match_info['name']}"


def _folders(paths: set[str], below: str) -> set[str]:
    found = {"/".join(path.split("/")[:depth]) for path in paths for depth in range(1, path.count("/") + 1)}
    return {folder for folder in found if not below or folder.startswith(below + "/")}


def _entry(one: Repository, path: str) -> dict[str, Any]:
    if path not in one.files:
        return {"type": "directory", "path": path, "oid": "0" * 40, "size": 0}
    content = one.files[path]
    digest, size = hashlib.sha256(content).hexdigest(), len(content)
    apart = {"lfs": {"oid": digest, "size": size, "pointerSize": 134}} if path.endswith(STORED_APART) else {}
    return {"type": "file", "path": path, "oid": digest[:40], "size": size} | apart
