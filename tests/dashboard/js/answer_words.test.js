// The sentences with which a tree opens.

import assert from "node:assert/strict";
import { test } from "node:test";

import { clusterNames } from "../../../app/dashboard/js/tree/model/cluster_names.js";
import { cutHere, cutter } from "../../../app/dashboard/js/tree/model/cut.js";
import * as words from "../../../app/dashboard/js/tree/panels/answer_words.js";
import { LIFE, storeOf } from "./trees_kit.js";

const textOf = (parts) => parts?.map((part) => part.text ?? part).join("");
const linksOf = (parts) => parts.filter((part) => part.text).map(({ node, k, panel }) => node ?? k ?? panel); // prettier-ignore

test("the groups that stand out, with their strength", () => {
  const store = storeOf(LIFE);
  const cut = cutHere(cutter(store), { k: 3 });
  const names = clusterNames(cut, store);
  const level = { k: 3, criterion: "silhouette", score: 0.512 };
  const parts = words.groupsSentence(level, cut, names);
  assert.equal(
    textOf(parts),
    "3 groups stand out (compact and apart, score 0.51): plants (2), animals (2) and fungi (1).",
  );
  assert.deepEqual(linksOf(parts), [3, ...cut.clusters.map(({ node }) => node)]);
  assert.match(textOf(words.groupsSentence({ ...level, score: 0.027 }, cut, names)), /^3 groups stand out, but weakly \(compact and apart, score 0\.027\)/); // prettier-ignore
  // Another cut is shown: its clusters are not the groups.
  const other = cutHere(cutter(store), { k: 2 });
  assert.equal(textOf(words.groupsSentence(level, other, names)), "3 groups stand out (compact and apart, score 0.51)."); // prettier-ignore
  assert.match(textOf(words.groupsSentence(null, cut, names)), /^No level stands out\. The largest clusters of the cut are plants/); // prettier-ignore
  const whole = cutHere(cutter(store), { k: 1 });
  assert.equal(words.groupsSentence(null, whole, clusterNames(whole, store)), null);
});

test("the worst confusions lead to where they meet; long names are cut", () => {
  const pair = { node: 3, name: "n".repeat(10_000), taken_for: 4, taken_for_name: null, share: 0.25, meet: 1 }; // prettier-ignore
  const parts = words.confusionsSentence([pair, { ...pair, name: "<b>", share: 0.125 }]);
  assert.equal(textOf(parts), `Most is lost by taking ${"n".repeat(60)}… for node 4 (25\u00a0% of the first) and <b> for node 4 (12.5\u00a0% of <b>).`); // prettier-ignore
  assert.deepEqual(linksOf(parts), [1, 1]);
  assert.equal(words.confusionsSentence([]), null);
  assert.equal(words.confusionsSentence([{ ...pair, share: null }]), null);
});

//            10
//   8 groups of two, each at 1       far 0
const groups = Array.from({ length: 8 }, (_, at) => [null, 1, [`a${at}`, 0], [`b${at}`, 0]]);

test("what stands apart joins the others by a long branch", () => {
  const parts = words.apartSentence(storeOf([null, 10, [null, 2, ...groups], ["far", 0]]));
  assert.equal(textOf(parts), "far stands apart: it joins the others at height 10, of 10.");
  // Without a name it is what the service calls it.
  const bare = storeOf([null, 10, [null, 2, ...groups], [null, 0]]);
  bare.called.fill("what it holds");
  assert.match(textOf(words.apartSentence(bare)), /^what it holds stands apart/);
  // All leaves alike: none stands apart.
  assert.equal(words.apartSentence(storeOf([null, 1, ["a", 0], ["b", 0], ["c", 0], ["d", 0]])), null); // prettier-ignore
  assert.equal(words.apartSentence(storeOf([null, 2, ...groups])), null);
});

test("how sure the tree is", () => {
  const support = new Map([[0, 1], [1, 0.9], [2, 0.3]]); // prettier-ignore
  assert.match(textOf(words.trustSentence(support, null, true)), /^2 of 3 groups come back/);
  assert.equal(textOf(words.trustSentence(null, "At least 90 %.", true)), "At least 90 %. Trust");
  assert.deepEqual(linksOf(words.trustSentence(null, null, true)), ["trust"]);
  assert.equal(words.trustSentence(null, null, false), null);
});
