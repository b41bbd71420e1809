import assert from "node:assert/strict";
import { test } from "node:test";

import * as cameras from "../../../app/dashboard/js/tree/draw/camera.js";
import * as colouring from "../../../app/dashboard/js/tree/draw/colouring.js";
import { compose, frameFor } from "../../../app/dashboard/js/tree/draw/composition.js";
import { figure, svgOf } from "../../../app/dashboard/js/tree/draw/figures.js";
import { leftOut, leftOutText } from "../../../app/dashboard/js/tree/draw/left_out.js";
import { Ground } from "../../../app/dashboard/js/tree/draw/label_places.js";
import { apart, titleOf } from "../../../app/dashboard/js/tree/draw/labels.js";
import { between, passage } from "../../../app/dashboard/js/tree/draw/motion.js";
import * as palettes from "../../../app/dashboard/js/tree/draw/palettes.js";
import { pick } from "../../../app/dashboard/js/tree/draw/picking.js";
import { Path, Picture } from "../../../app/dashboard/js/tree/draw/picture.js";
import { fit, place, seen, sidePlace } from "../../../app/dashboard/js/tree/draw/place.js";
import { clip, line } from "../../../app/dashboard/js/tree/draw/text.js";
import { tint } from "../../../app/dashboard/js/tree/draw/tint.js";
import { cutHere, cutter } from "../../../app/dashboard/js/tree/model/cut.js";
import { readLook, SHAPES } from "../../../app/dashboard/js/tree/model/look.js";
import { build } from "../../../app/dashboard/js/tree/model/scene.js";
import { rowsAround, rowText } from "../../../app/dashboard/js/tree/panels/keyboard_tree.js";
import { isFeatures, isPlain, words } from "../../../app/dashboard/js/tree/panels/node_values.js";
import { LIFE, storeOf, stubCanvas, THEME } from "./trees_kit.js";

stubCanvas();

const WINDOW = { width: 900, height: 700 };
const WHOLE = { root: 0, folded: new Set(), scale: "depth" };
const close = (a, b, message) => assert.ok(Math.abs(a - b) < 1e-6, `${message}: ${a} and ${b}`);

test("a place inverts, in every shape and through every camera", () => {
  for (const shape of SHAPES) {
    const frame = fit(shape, { ...WINDOW, room: 60 });
    for (const factor of [1, 4, 300]) {
      const camera = cameras.zoomed(frame, cameras.home(), factor, 500, 400);
      const placed = place(frame, camera);
      for (const [u, v] of [[0.1, 0.2], [0.5, 0.9], [0.99, 1]]) {
        const back = placed.invert(...placed.at(u, v));
        close(back.u, u, `${shape} ${factor} u`);
        close(back.v, v, `${shape} ${factor} v`);
      }
    }
  }
}); // prettier-ignore

test("a crowded circle bends v, and bends it back", () => {
  const frame = fit("circular", { ...WINDOW, bend: 0.75 });
  const placed = place(frame, cameras.home());
  close(placed.invert(...placed.at(0.3, 0.4)).v, 0.4, "v");
});

test("the point of a zoom stays where it is", () => {
  for (const shape of SHAPES) {
    const frame = fit(shape, WINDOW);
    const camera = cameras.zoomed(frame, cameras.home(), 3, 450, 350);
    const before = place(frame, cameras.home()).invert(450, 350);
    const after = place(frame, camera).invert(450, 350);
    close(after.u, before.u, shape);
  }
});

test("a camera never loses the picture, nor comes nearer than it may", () => {
  const frame = fit("rectangular", WINDOW);
  const far = cameras.held(frame, { k: 1, kd: 1, x: 1e9, y: -1e9 });
  assert.ok(Math.abs(far.x) <= 900 && Math.abs(far.y) <= 700);
  assert.equal(cameras.zoomed(frame, cameras.home(), 1e12, 0, 0).k, 1e6);
  assert.equal(cameras.zoomed(frame, cameras.home(), 1e-12, 0, 0).k, 0.5);
});

test("a zoom ends where leaves can be distinguished, and not before", () => {
  const scene = build(storeOf(LIFE), WHOLE);
  const [few, many] = [
    { ...scene, leaves: [4] },
    { ...scene, leaves: [20_000] },
  ];
  for (const shape of SHAPES) {
    const frame = fit(shape, WINDOW);
    assert.equal(cameras.nearest(few, frame), 4, shape);
    const most = cameras.nearest(many, frame);
    close((place(frame, cameras.home()).across * most) / 20_000, 60, shape);
    let camera = cameras.home();
    for (let step = 0; step < 40; step += 1) camera = cameras.zoomed(frame, camera, 1.6, 450, 350, { most }); // prettier-ignore
    close(camera.k, most, shape);
  }
  // A link may have led nearer than that: the camera stays, and can go back.
  const near = { k: 500, kd: 500, x: 0, y: 0 };
  const frame = fit("circular", WINDOW);
  assert.equal(cameras.zoomed(frame, near, 2, 0, 0, { most: 4 }).k, 500);
  assert.equal(cameras.zoomed(frame, near, 0.5, 0, 0, { most: 4 }).k, 250);
});

test("a zoom beside the circle keeps its nearest leaf where it is", () => {
  const frame = fit("circular", { ...WINDOW, room: 60 });
  const at = place(frame, cameras.home()).at(0.25, 1);
  const camera = cameras.zoomed(
    frame,
    cameras.home(),
    30,
    ...place(frame, cameras.home()).beyond(0.25, 1, 70),
  );
  const [x, y] = place(frame, camera).at(0.25, 1);
  assert.ok(Math.hypot(x - at[0], y - at[1]) < 1, `${x}, ${y} and ${at}`);
});

test("a camera means the same in a window of another size", () => {
  const frame = fit("circular", WINDOW);
  const camera = cameras.zoomed(frame, cameras.home(), 4, 300, 200);
  const other = fit("circular", { width: 450, height: 350 });
  const moved = cameras.fromPortable(other, cameras.portable(frame, camera));
  close(moved.k, camera.k, "k");
  const centre = place(frame, camera).invert(450, 350);
  const same = place(other, moved).invert(225, 175);
  assert.ok(Math.abs(centre.u - same.u) < 0.02);
  const back = cameras.fromPortable(frame, cameras.portable(frame, camera));
  assert.ok(Math.abs(back.x - camera.x) < 0.05 && Math.abs(back.y - camera.y) < 0.05);
});

test("what is in the middle of the window stays there when names take room", () => {
  const bare = fit("circular", WINDOW);
  const named = fit("circular", { ...WINDOW, room: 60 });
  for (const factor of [1, 3, 100, 1e5]) {
    const camera = cameras.zoomed(bare, cameras.home(), factor, 500, 560);
    const moved = cameras.carried(bare, named, camera);
    const [x, y] = [WINDOW.width / 2, WINDOW.height / 2];
    const [was, is] = [place(bare, camera).invert(x, y), place(named, moved).invert(x, y)];
    close(is.v, was.v, `v at ${factor}`);
    if (factor > 1) close(is.u, was.u, `u at ${factor}`);
    const link = cameras.fromPortable(named, cameras.portable(bare, camera));
    assert.ok(Math.hypot(link.x - moved.x, link.y - moved.y) < 1e-2 * factor, `${factor}`);
  }
  assert.deepEqual(cameras.carried(bare, named, cameras.home()), cameras.home());
});

test("a journey begins and ends where it should", () => {
  const [from, to] = [cameras.home(), { k: 8, kd: 2, x: -100, y: 50 }];
  const at = cameras.journey(from, to);
  assert.deepEqual(at(0), from);
  for (const name of ["k", "kd", "x", "y"]) close(at(1)[name], to[name], name);
  close(at(0.5).k, Math.sqrt(8), "even by factors");
});

test("the pointer means the branch that is drawn there", () => {
  const scene = build(storeOf(LIFE), WHOLE);
  for (const shape of SHAPES) {
    const placed = place(fit(shape, WINDOW), cameras.home());
    for (let row = 1; row < scene.n; row += 1) {
      const v = (scene.v[scene.parent[row]] + scene.v[row]) / 2;
      assert.equal(pick(scene, placed, ...placed.at(scene.u[row], v)), row, `${shape} ${row}`);
    }
    assert.equal(pick(scene, placed, -5000, -5000), -1, shape);
  }
});

test("the middle of a circle means the root, however small or crowded the circle is", () => {
  const scene = build(storeOf(LIFE), WHOLE);
  for (const size of [120, 300, 900]) {
    for (const bend of [1, 0.3]) {
      for (const camera of [cameras.home(), { k: 12, kd: 12, x: -40, y: 90 }]) {
        const frame = fit("circular", { width: size, height: size, bend });
        const placed = place(frame, camera);
        const [cx, cy] = [frame.cx * camera.k + camera.x, frame.cy * camera.k + camera.y];
        const hole = placed.acrossAt(0) / (placed.angle(1) - placed.angle(0));
        const branching = Math.min(...[1, scene.end[1]].map((row) => scene.v[row]));
        const reach = Math.max(hole, Math.min(12, hole + placed.alongBetween(0, branching) / 2));
        for (let turn = 0; turn < 2 * Math.PI; turn += 0.01) {
          for (const part of [0, 0.5, 0.99]) {
            const [x, y] = [cx + part * reach * Math.cos(turn), cy + part * reach * Math.sin(turn)];
            assert.equal(
              pick(scene, placed, x, y),
              0,
              `${size} ${bend} ${camera.k} ${turn} ${part}`,
            );
          }
        }
        const [x, y] = placed.at(scene.u[1], 0.75 * scene.v[1]);
        assert.equal(pick(scene, placed, x, y), 1);
      }
    }
  }
});

test("the side of two trees on the right is mirrored", () => {
  const right = sidePlace({ x0: 880, x1: 600, top: 10, height: 500, page: 520 }, { k: 1, y: 0 });
  assert.deepEqual(right.at(0.5, 0), [880, 260]);
  assert.deepEqual(right.at(0.5, 1), [600, 260]);
  assert.deepEqual(right.beyond(0.5, 1, 6), [594, 260]);
  assert.equal(right.way, -1);
  close(right.invert(740, 260).v, 0.5, "v");
});

test("stretches that can be seen", () => {
  const visible = { spans: [[0, 0.2], [0.8, 1]], v0: 0, v1: 1 }; // prettier-ignore
  assert.equal(seen(visible, 0.1, 0.3), true);
  assert.equal(seen(visible, 0.3, 0.7), false);
  assert.equal(seen(visible, 0.2, 0.2), true);
});

test("contrast and mixtures of colours", () => {
  close(palettes.contrast("#000000", "#ffffff"), 21, "black on white");
  close(palettes.contrast("#777777", "#777777"), 1, "grey on itself");
  assert.equal(palettes.mix("#000000", "#ffffff", 0.5), "#808080");
  assert.equal(palettes.mix("#123456", "#ffffff", 0), "#123456");
  assert.equal(palettes.on("#000000", THEME), THEME.paper);
  assert.equal(palettes.on("#ffff00", THEME), THEME.text);
});

test("every colour of a palette can be read on white once it is legible", () => {
  for (const palette of ["okabe-ito", "tol-muted", "tol-bright", "grey", "unknown"]) {
    const theme = palettes.onWhite(palette, "sans-serif");
    for (const colour of theme.series) {
      assert.match(colour, /^#[0-9a-f]{6}$/);
      assert.ok(palettes.contrast(palettes.legible(colour, theme), theme.paper) >= 4.5, colour);
    }
  }
});

test("a node that is approached stands in the window with its tips, which can be read", () => {
  const wide = [null, 9, ...Array.from({ length: 100 }, (_, at) => [null, 4, [`a${at}`, 0], [`b${at}`, 0]])]; // prettier-ignore
  for (const shape of SHAPES) {
    const frame = fit(shape, { ...WINDOW, room: 60 });
    const scene = build(storeOf(wide), WHOLE);
    // The second pair, and its leaves.
    const row = 4;
    const camera = cameras.toward(scene, frame, cameras.home(), row);
    const placed = place(frame, camera ?? cameras.home());
    for (const at of [row, row + 1, row + 2]) {
      const [x, y] = placed.at(scene.u[at], scene.v[at]);
      assert.ok(x > -1 && x < WINDOW.width + 1 && y > -1 && y < WINDOW.height + 1, `${shape} ${at}`); // prettier-ignore
    }
    const distance = (scene.right[row] - scene.left[row]) * placed.across;
    assert.ok(distance > 10 && distance < 120, `${shape}: two leaves ${distance} px apart`);
  }
});

test("the largest clusters have colours of their own, labels past the palette a grey", () => {
  const theme = palettes.onWhite("okabe-ito", "sans-serif");
  const { series, pale, other } = theme;
  assert.equal(palettes.colourOf(theme, 1), series[1]);
  assert.equal(palettes.colourOf(theme, 20), other);
  assert.equal(palettes.colourOf(theme, -1), other);
  for (const n of [1, 3, 20, 21, 22, 23, 50, 200]) {
    // The later a cluster stands, the larger it is.
    const clusters = Array.from({ length: n }, (_, at) => ({ category: n - 1 - at }));
    const colour = palettes.clusterColours(theme, { clusters, n_clusters: n });
    const all = Array.from({ length: n }, (_, category) => colour(category));
    assert.equal(colour(-2), other);
    const large = all.slice(-20);
    assert.equal(new Set(large).size, large.length, `${n}: two large ones alike`);
    const small = all.slice(0, -20);
    assert.ok(small.every((own) => pale.includes(own)));
    if (n > 1) {
      all.forEach((own, at) => assert.notEqual(own, all[(at + 1) % n], `${n}: ${at} and the next`));
    }
  }
  // The smallest stand first and last.
  const ends = { clusters: Array.from({ length: 20 }, (_, at) => ({ category: 5 + at })), n_clusters: 31 }; // prettier-ignore
  const colour = palettes.clusterColours(theme, ends);
  assert.notEqual(colour(30), colour(0));
  assert.notEqual(colour(30), colour(29));
});

test("the tint of a scene", () => {
  const scene = build(storeOf(LIFE), WHOLE);
  const category = (row) => [-1, 0, 0, 0, 1, 2, 2, 2][row];
  const all = tint(scene, THEME, { by: "cut", category });
  assert.equal(all.colours[all.branch[2]], THEME.series[0]);
  assert.equal(all.colours[all.branch[0]], THEME.ink);
  const alone = tint(scene, THEME, { by: "cut", category, alone: 2 });
  assert.equal(alone.colours[alone.branch[6]], THEME.series[2]);
  assert.notEqual(alone.colours[alone.branch[2]], THEME.series[0]);
  const none = tint(scene, THEME, { by: "none" });
  assert.ok(none.text.every((colour) => colour === THEME.text));
});

const viewOf = (store, look = {}) => {
  const cut = cutHere(cutter(store), { k: 3 });
  const view = {
    store,
    theme: THEME,
    look: { ...readLook({}), cut: { k: 3 }, ...look },
    cut,
    byNode: new Map(cut.clusters.map(({ node, category }) => [node, category])),
    labels: null,
    errors: null,
    coarse: false,
  };
  const scene = build(store, WHOLE);
  const frame = frameFor(store, scene, { ...WINDOW, shape: view.look.shape, theme: THEME, banded: false }); // prettier-ignore
  const picture = (theme) =>
    compose({ store, scene, frame, camera: cameras.home(), theme, tint: colouring.tinted({ ...view, theme }, scene) }); // prettier-ignore
  return { ...view, scene, picture };
};

test("the legend lists clusters, the largest first, and counts the rest", () => {
  const { list, others, pale } = colouring.legendEntries(viewOf(storeOf(LIFE)));
  assert.deepEqual(list.map(({ text }) => text), ["plants", "animals", "fungi"]); // prettier-ignore
  assert.deepEqual([others, pale], [0, 0]);
  const none = viewOf(storeOf(LIFE), { color: "none" });
  assert.deepEqual(colouring.legendEntries(none).list, []);
  assert.equal(colouring.colorBy(none), null);
  assert.equal(colouring.pictureColor(viewOf(storeOf(LIFE))), "cluster:3");
});

test("what a colour means in words", () => {
  const view = viewOf(storeOf(LIFE));
  assert.equal(colouring.categoryText(view, view.scene, 6), "animals");
  assert.equal(colouring.categoryText(view, view.scene, 0), "");
  const labels = { dataset: "ds_x", n: 2, texts: ["a", "b"], sizes: [3, 2], warnings: [] };
  const labelled = { ...view, look: { ...view.look, color: "ds_x" }, labels };
  view.store.category[2] = 1;
  view.store.share[2] = 0.75;
  assert.equal(colouring.categoryText(labelled, view.scene, 2), "75 % b");
  assert.equal(colouring.colourOfLabel(labelled, "unknown"), THEME.other);
});

test("a path as SVG, and lower down", () => {
  const path = new Path();
  path.move(0, 1.25);
  path.line(10, 0.5);
  path.quad(1, 2, 3, 4);
  path.cube(1, 2, 3, 4, 5, 6);
  path.close();
  path.dot(5, 5, 2);
  assert.equal(
    path.written(),
    "M0 1.25L10 0.5Q1 2 3 4C1 2 3 4 5 6ZM3 5a2 2 0 1 0 4 0a2 2 0 1 0 -4 0Z",
  );
  assert.equal(path.lowered(10).written(), "M0 11.25L10 10.5Q1 12 3 14C1 12 3 14 5 16ZM3 15a2 2 0 1 0 4 0a2 2 0 1 0 -4 0Z"); // prettier-ignore
  for (let at = 0; at < 500; at += 1) path.line(at, at);
  assert.match(path.written(), /L499 499$/);
});

test("a hostile text stays a text in SVG", () => {
  const picture = new Picture(100, 50);
  picture.text("texts", 1, 2, '<script>alert("1")</script> & \u0000\ud800', {
    size: 10,
    colour: "#000000",
  });
  const svg = svgOf(picture, { family: '"x" <y>', paper: "#ffffff", title: "]]><b>" });
  assert.ok(!svg.includes("<script") && !svg.includes("<b>") && !svg.includes("<y>"));
  assert.match(svg, /&lt;script&gt;alert\(&quot;1&quot;\)&lt;\/script&gt; &amp; \ufffd\ufffd/);
  // No character that XML forbids.
  // eslint-disable-next-line no-control-regex -- control characters are what it looks for
  assert.doesNotMatch(svg, /[\u0000-\u0008\ud800-\udfff]/);
});

test("a figure has a title above and the legend below", () => {
  const view = viewOf(storeOf(LIFE));
  const { picture: bare } = figure(view, { title: "", legend: false });
  const { picture: whole } = figure(view, { title: "A title", legend: true });
  assert.equal(bare.height, 700);
  assert.ok(whole.height >= 780);
  const texts = whole.layers.texts.map(({ text }) => text);
  for (const text of ["A title", "plants", "animals", "fungi"]) {
    assert.ok(texts.includes(text), text);
  }
  assert.match(
    svgOf(whole, { family: "sans-serif", paper: "#fff", title: "t" }),
    /^<svg [^]*<\/svg>\n$/,
  );
});

test("a figure says which names have no room in it", () => {
  //       root
  //    /        \\
  //  Birds     Crowded
  //  2 leaves   2 leaves
  const view = viewOf(storeOf(["", 2, ["Birds", 1, ["a", 0], ["b", 0]], ["Crowded", 1, ["c", 0], ["d", 0]]])); // prettier-ignore
  assert.deepEqual(figure(view, { title: "", legend: false }).missing, []);
  const { store, scene } = view;
  const drawn = view.picture(THEME);
  drawn.layers.texts = drawn.layers.texts.filter(({ text }) => text !== "Crowded");
  assert.deepEqual(leftOut(drawn, store, scene, 0), ["Crowded"]);
  assert.equal(leftOutText([]), "");
  assert.match(leftOutText(["a", "b", "c", "d"]), /^No room for “a”, “b”, “c” and 1 more\. /);
});

test("every shape draws every leaf's name", () => {
  for (const shape of SHAPES) {
    const texts = viewOf(storeOf(LIFE), { shape })
      .picture(THEME)
      .layers.texts.map(({ text }) => text);
    for (const name of ["rose", "oak", "fungi", "cat", "dog"]) {
      assert.ok(texts.includes(name), `${shape} ${name}`);
    }
  }
});

test("texts from users in one clean line", () => {
  assert.equal(line("a\nb\tc"), "a b c");
  assert.equal(line("\u202eevil\u2066"), "evil");
  assert.equal(line("\u0000\u0007"), "");
  assert.equal(line("x".repeat(1000)).length, 300);
  assert.equal(line(`${"x".repeat(299)}👩`).length, 299);
});

test("a text is cut between letters, and never wider than its room", () => {
  // 7.2 px a letter at 12 px.
  assert.equal(clip("short", 12, 100, "sans-serif"), "short");
  assert.equal(clip("abcdefghij", 12, 40, "sans-serif"), "abcd…");
  assert.equal(clip("abc", 12, 5, "sans-serif"), "");
  const family = "👩‍👩‍👧‍👦";
  assert.equal(clip(`ab${family}cd`, 12, 60, "sans-serif").includes("\u200d…"), false);
});

test("labels keep apart", () => {
  const at = [0, 5, 12, 30, 31];
  assert.deepEqual(
    apart([0, 1, 2, 3, 4], (row) => at[row], 100, 10),
    [0, 2, 3],
  );
  const busy = new Ground(100, 100);
  assert.equal(busy.take(10, 10, 30, 10), true);
  assert.equal(busy.take(20, 12, 30, 10), false);
  assert.equal(busy.take(60, 60, 10, 10), true);
});

test("what rows are called", () => {
  const store = storeOf(["", 2, [null, 1, ["x", 0], ["y", 0]], [null, 0]], { fold: [1] });
  const scene = build(store, WHOLE);
  assert.deepEqual([0, 1, 2].map((row) => titleOf(store, scene, row)), ["", "2 leaves", "4"]); // prettier-ignore
  assert.equal(rowText(scene, store, 1), "Node 1, 2 leaves, folded");
  assert.equal(rowText(scene, store, 0), "Root, 3 leaves");
});

test("rows coloured by labels are called after the most frequent one", () => {
  const store = storeOf(["", 3, [null, 1, ["x", 0], ["y", 0]], [null, 0], ["dog", 0], ["d", 0]], { fold: [1] }); // prettier-ignore
  const scene = build(store, WHOLE);
  const answer = { common: ["cat 50%", "cat 66%", "dog 97%", "dog 97%", "dog 97%"] };
  const nodes = [...scene.id].map((id, at) => ({ id, common: answer.common[at] }));
  store.recolour(/** @type {any} */ ({ nodes }));
  const titles = [0, 1, 2, 3, 4].map((row) => titleOf(store, scene, row));
  assert.deepEqual(titles.slice(2), ["dog 97%", "dog 97%", "d: dog 97%"]);
  assert.match(titles[1], /cat 66%.* · 2 leaves$/);
  assert.equal(titles[0], "", "what is above others has no name beside them");
  store.clearColours();
  assert.equal(titleOf(store, scene, 2), "4");
});

test("the rows around one, in drawing order", () => {
  const scene = build(storeOf(LIFE), WHOLE);
  assert.deepEqual(rowsAround(scene, 5), [0, 1, 4, 5, 6, 7]);
  assert.deepEqual(rowsAround(scene, 0), [0, 1, 4, 5]);
});

test("between two scenes every node is between its places", () => {
  const store = storeOf(LIFE);
  const from = build(store, WHOLE);
  const to = build(store, { ...WHOLE, folded: new Set([1]) });
  const way = passage(from, to);
  assert.deepEqual([...way.at(0).u], [...from.u]);
  const end = way.at(1);
  const at = [...way.base.id].indexOf(5);
  close(end.u[at], to.u[[...to.id].indexOf(5)], "a node of both");
  // What is folded goes into the node that it is folded in.
  close(end.u[[...way.base.id].indexOf(2)], to.u[1], "a node of one");
  assert.deepEqual(between({ k: 1, a: "x" }, { k: 3, a: "y" }, 0.5), { k: 2, a: "y" });
});

test("values that a method gives of a node", () => {
  assert.equal(words("parent_probability"), "Parent probability");
  assert.deepEqual([null, 1, "x", [], {}].map(isPlain), [true, true, true, false, false]);
  assert.equal(isFeatures([{ feature: "red", weight: 1 }]), true);
  assert.equal(isFeatures([{ term: "red" }, null]), false);
  assert.equal(isFeatures([]), false);
  assert.equal(isFeatures({ feature: "red" }), false);
});
