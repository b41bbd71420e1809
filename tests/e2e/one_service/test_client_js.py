"""The JavaScript client in Node: what its README shows, and what goes wrong."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scripts.package_js import packaged
from tests.conftest import ROOT
from tests.e2e.conftest import Service
from tests.needs_kit import NODE_MODULES, node

pytestmark = pytest.mark.needs("node")

PACKAGE = ROOT / "client-js"


def run(service: Service, folder: Path, code: str, name: str = "main.mjs") -> str:
    """What a module writes that has the package installed."""
    installed = folder / "node_modules" / "umbel-client"
    if not installed.exists():
        installed.parent.mkdir(exist_ok=True)
        installed.symlink_to(PACKAGE)
    (folder / name).write_text(code)
    ended = subprocess.run(
        [node(), "--preserve-symlinks", name],
        cwd=folder,
        env={**os.environ, "UMBEL_URL": service.url},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def answers(service: Service, folder: Path, code: str) -> Any:
    """What the code puts into `answer`."""
    head = """
        import * as client from "umbel-client";
        const umbel = new client.Umbel(process.env.UMBEL_URL);
        const failure = async (promise) => {
          try { await promise; } catch (error) {
            return { name: error.name, message: error.message, code: error.code };
          }
          return null;
        };
        const answer = {};
    """
    return json.loads(run(service, folder, f"{head}{code}\nconsole.log(JSON.stringify(answer));"))


def test_the_tour(service: Service, tmp_path: Path) -> None:
    text = (PACKAGE / "README.md").read_text()
    (tour,) = re.findall(r"```js\n(.*?)```", text, flags=re.DOTALL)
    label = np.arange(40) % 4
    logits = np.random.default_rng(0).normal(size=(40, 4)) + 3 * np.eye(4)[label]
    np.save(tmp_path / "logits.npy", logits)
    written = run(service, tmp_path, tour)
    newick, page = re.findall(r"^(\(.*;)\n (\S+) \[\]$", written, flags=re.MULTILINE)[0]
    assert all(name in newick for name in ("cat", "dog", "oak", "elm"))
    assert page.startswith(f"{service.url}/#/trees/tr_")
    assert re.search(r"^2 \d{4,} \[", written, flags=re.MULTILINE)
    assert "nmi" in written
    trees = service.client.get("/v1/trees?limit=20").json()["items"]
    assert "Animals and plants" in [each["name"] for each in trees]


def test_inputs_of_every_kind_give_the_same_tree(service: Service, tmp_path: Path) -> None:
    answer = answers(
        service,
        tmp_path,
        """
        const rows = Array.from({ length: 30 }, (_, i) => [(i * 7) % 11, (i * i) % 13]);
        const flat = rows.flat();
        const numbers = [Float32Array, Int8Array].map((Kind) => (
          { values: Kind.from(flat), shape: [30, 2] }
        ));
        const csv = new Blob(["a,b\\n", ...rows.map((row) => `${row}\\n`)], { type: "text/csv" });
        const dataset = await umbel.upload(csv, { name: "rows" });
        answer.columns = dataset.body.columns.map((column) => column.name);
        answer.trees = [];
        for (const features of [rows, ...numbers, csv, dataset, dataset.id]) {
          const tree = await umbel.run("hac", { features }, { params: { linkage: "ward" } });
          answer.trees.push((await tree.cut({ k: 4 })).clusters.map(({ size }) => size).join());
          answer.labels = (await tree.assignments({ k: 4 })).assignments;
        }
        const long = Array.from({ length: 6001 }, (_, i) => [i, i % 3]);
        const params = { n_clusters: 3 };
        const tree = await umbel.run("kmeans", { features: long }, { params, waitSeconds: 600 });
        answer.points = (await tree.describe()).n_points;
        await dataset.delete();
        """,
    )
    assert answer["columns"] == ["a", "b"]
    assert len(answer["trees"]) == 6
    assert len(set(answer["trees"])) == 1
    assert len(answer["labels"]) == 30
    assert answer["points"] == 6001


def test_an_answer_that_comes_late_is_the_same(service: Service, tmp_path: Path) -> None:
    answer = answers(
        service,
        tmp_path,
        """
        const features = [[0, 0], [0, 1], [9, 9], [9, 8]];
        const tree = await umbel.run("hac", { features });
        const labels = ["a", "a", "b", "b"];
        const results = async () => {
          const { id, ...evaluation } = await tree.evaluate({ labels, per_node: true });
          const { nodes, ...rest } = evaluation;
          return [rest, nodes === `/v1/jobs/${id}/nodes`, await tree.predict({ features })];
        };
        answer.soon = await results();
        const plain = globalThis.fetch;
        globalThis.fetch = (address, { headers, ...init }) => {
          if (headers.has("Prefer")) headers.set("Prefer", "wait=0");
          return plain(address, { headers, ...init });
        };
        answer.late = await results();
        // No timer goes so far: one of 32 bits would end at once.
        for (const waitSeconds of [Infinity, 3e6]) {
          await umbel.run("hac", { features }, { waitSeconds });
        }
        """,
    )
    assert answer["soon"] == answer["late"]
    assert answer["late"][1]


def test_what_goes_wrong_is_an_error_in_words_and_leaves_nothing(
    service: Service, tmp_path: Path
) -> None:
    answer = answers(
        service,
        tmp_path,
        """
        const count = async () => {
          let n = 0;
          for await (const each of umbel.list("/v1/datasets")) n += each ? 1 : 0;
          return n;
        };
        answer.before = await count();
        const file = new Blob(["a,b\\n1,2\\n3,4\\n"], { type: "text/csv" });
        answer.ragged = await failure(umbel.run("hac", { features: [[1, 2], [3]] }));
        answer.nan = await failure(umbel.run("hac", { features: [[1, NaN], [3, 4]] }));
        answer.shape = await failure(umbel.upload({ values: new Float32Array(5), shape: [2, 3] }));
        answer.method = await failure(umbel.run("hack", { features: file }));
        const run = (method, params) => failure(umbel.run(method, { features: file }, { params }));
        answer.param = await run("hac", { linkage: "wart" });
        const rows = new Blob(["a,b\\n1,2\\n3,four\\n"], { type: "text/csv" });
        answer.row = await failure(umbel.upload(rows, { columns: ["a", "b"], role: "features" }));
        const zeros = new Blob([new Uint8Array(64)]);
        answer.unreadable = await failure(umbel.upload(zeros, { name: "a.npy" }));
        answer.missing = await failure(umbel.tree("tr_01m8kx5cxgqex33nrtkk8jbpjn").describe());
        answer.failed = await run("kmeans", { n_clusters: 50 });
        const nowhere = new client.Umbel("http://127.0.0.1:9", { retries: 0 });
        answer.away = await failure(nowhere.methods());
        const made = (...given) => failure((async () => new client.Umbel(...given))());
        answer.address = [await made("127.0.0.1:9"), await made(undefined)];
        const own = process.env.UMBEL_URL;
        for (const url of [new URL(own), own.toUpperCase()]) await new client.Umbel(url).methods();
        answer.option = await made("http://127.0.0.1:9", { keyy: "k" });
        answer.listener = await failure(umbel.run("hac", { features: file }, { onprogress() {} }));
        answer.roles = [await failure(umbel.run("hac")), await failure(umbel.run("hac", [[1, 2]]))];
        answer.none = await failure(umbel.run("hac", { features: null }));
        answer.after = await count();
        """,
    )
    assert [each["message"] for each in answer["address"]] == [
        f"'{url}' is no address; one looks like http://127.0.0.1:8000."
        for url in ("127.0.0.1:9", "undefined")
    ]
    assert answer["option"]["message"] == "There is no option 'keyy'; there are key and retries."
    assert "no option 'onprogress' that is a function" in answer["listener"]["message"]
    assert all("by their roles" in each["message"] for each in answer["roles"])
    assert answer["none"]["name"] == "InputError"
    assert answer["ragged"]["message"] == ("Input 'features': row 1 has 1 values, the first has 2.")
    assert answer["nan"]["message"] == (
        "Input 'features': row 0, column 1 is NaN, which is no finite number."
    )
    assert answer["shape"]["name"] == "InputError"
    assert "hac" in answer["method"]["message"]
    assert answer["param"]["code"] == "invalid-request"
    assert "ward" in answer["param"]["message"]
    assert answer["unreadable"]["name"] == "ProblemError"
    assert answer["missing"]["code"] == "not-found"
    assert answer["failed"]["name"] == "ProblemError"
    assert answer["away"] == {
        "name": "ConnectionFailed",
        "message": "http://127.0.0.1:9 cannot be reached.",
    }
    # A job that failed names its inputs, which stay; nothing else does.
    assert answer["after"] - answer["before"] <= 1


def test_waiting_ends_with_the_time_and_cancels_with_the_signal(
    service: Service, tmp_path: Path
) -> None:
    answer = answers(
        service,
        tmp_path,
        """
        const n = 4000;
        const values = Float32Array.from({ length: n * 8 }, (_, i) => Math.sin(i * 13) * 1000 % 1);
        const features = await umbel.upload({ values, shape: [n, 8] });
        const labels = Array.from({ length: n }, (_, i) => ["a", "b", "c"][i % 3]);
        const params = { n_samples: 100000, burn_in: 100000 };
        const run = (options) => umbel.run("corrmnl", { features, labels }, options);
        const slow = (options) => run({ params, ...options });
        answer.late = await failure(slow({ waitSeconds: 0.2, tags: ["late-js"] }));
        const stop = new AbortController();
        const begun = [];
        const cancelled = failure(slow({
          signal: stop.signal,
          tags: ["stopped-js"],
          onProgress: (fraction, stage) => { begun.push(stage); stop.abort(new Error("enough")); },
        }));
        answer.stopped = await cancelled;
        const soon = new AbortController();
        const early = failure(slow({ signal: soon.signal, tags: ["early-js"] }));
        const submitted = async () => {
          for await (const job of umbel.list("/v1/jobs", { tag: "early-js" })) return job;
          return null;
        };
        while (!(await submitted()));
        soon.abort(new Error("at once"));
        answer.early = await early;
        answer.thrown = await failure(slow({
          tags: ["thrown-js"],
          onProgress: () => { throw new Error("of the caller"); },
        }));
        answer.jobs = {};
        for (const tag of ["late-js", "stopped-js", "early-js", "thrown-js"]) {
          for await (const job of umbel.list("/v1/jobs", { tag })) {
            answer.jobs[tag] = job.status;
            if (tag === "late-js") await umbel.request("POST", `/v1/jobs/${job.id}/cancel`);
          }
        }
        """,
    )
    assert answer["late"]["name"] == "WaitTimeout"
    assert answer["stopped"]["message"] == "enough"
    assert answer["jobs"]["late-js"] in ("queued", "running")
    assert answer["early"]["message"] == "at once"
    assert answer["thrown"]["message"] == "of the caller"
    for tag in ("stopped-js", "early-js", "thrown-js"):
        assert answer["jobs"][tag] in ("cancelling", "cancelled"), tag


def test_a_large_file_goes_in_parts(service: Service, tmp_path: Path) -> None:
    answer = answers(
        service,
        tmp_path,
        """
        const values = new Float64Array(34 * 2 ** 17).map((_, i) => i % 1000);
        const seen = [];
        const dataset = await umbel.upload(
          { values, shape: [values.length / 64, 64] },
          { name: "large", onProgress: (fraction) => seen.push(fraction) },
        );
        answer.shape = dataset.body.shape;
        answer.seen = seen;
        answer.digest = dataset.body.sha256;
        await dataset.delete();
        """,
    )
    assert answer["shape"] == [69632, 64]
    assert answer["seen"][0] < answer["seen"][-1] == 1
    assert len(answer["digest"]) == 64


TYPED = """
import { Umbel, ProblemError } from "umbel-client";
import "umbel-client/element";

const umbel = new Umbel("http://127.0.0.1:8000", { key: null });
const options = { params: { linkage: "ward" as const }, tags: ["a"], waitSeconds: 3 };
const tree = await umbel.run("hac", { features: [[1, 2], [3, 4]] }, options);
const leaves: number = (await tree.describe()).n_leaves;
const { metrics } = await tree.evaluate({ labels: ["a", "b"] });
for await (const each of umbel.trees({ limit: 3 })) {
  const id: string = each.id;
  console.log(id, leaves, metrics);
}
// @ts-expect-error: no such linkage
await umbel.run("hac", { features: [[1]] }, { params: { linkage: "wart" } });
// @ts-expect-error: no such method
await umbel.run("hack", { features: [[1]] });
// @ts-expect-error: no such form
await tree.save("doc");
try {
  await tree.save("svg", { width_mm: 85 });
} catch (error) {
  if (error instanceof ProblemError) console.log(error.code);
}
"""


@pytest.mark.slow
@pytest.mark.needs("node_modules")
def test_the_package_has_types_that_know_methods_parameters_and_answers(tmp_path: Path) -> None:
    contract = tmp_path / "contract.d.ts"
    tools = NODE_MODULES / ".bin"
    document = ROOT / "openapi" / "openapi.json"
    subprocess.run([tools / "openapi-typescript", document, "--output", contract], check=True)
    packaged(tmp_path / "node_modules" / "umbel-client", contract)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "main.ts").write_text(TYPED)
    options = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext"]
    options += ["--lib", "es2024,dom,dom.asynciterable", "main.ts"]
    checked = subprocess.run(
        [tools / "tsc", *options], cwd=tmp_path, capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout
