// The whole picture in a corner, with the part that the window shows: dragged, or moved by keys.

import { axes, seenBy } from "../draw/camera.js";
import { paint } from "../draw/picture.js";
import { contextOf } from "../draw/stage.js";

/** @import { TreeView } from "../draw/view.js" */

/** The longest side, in px, and its share of the window's. */
const LONGEST = 160;
const SHARE = 0.3;
/** What is seen of the whole when everything is: rounding is no part that is missing. */
const WHOLE = 0.995;
const STEP = 1.6;
/** The share of the window by which a key moves it. */
const MOVE = 0.25;

/**
 * The overview, hidden while the window shows everything.
 *
 * @param {TreeView} view
 */
export function minimap(view) {
  const { signal } = view;
  const canvas = document.createElement("canvas");
  canvas.className = "tree-minimap";
  canvas.tabIndex = 0;
  canvas.hidden = true;
  canvas.setAttribute("role", "img");
  canvas.setAttribute(
    "aria-label",
    "The whole picture and the part that is shown. Arrows move it, plus and minus zoom, 0 shows all.",
  );
  const context = contextOf(canvas);
  const whole = document.createElement("canvas");
  const base = contextOf(whole);
  /** @type {unknown[]} What the picture of the whole was drawn from. */
  let drawnFrom = [];
  let pending = 0; // The id of a requested frame.

  /** The picture of the whole, if it is another one than before. */
  const drawWhole = () => {
    const { width, height } = view.stage;
    const from = [view.scene, view.tint, view.frame];
    if (from.every((each, at) => each === drawnFrom[at])) return;
    // At rest it is drawn anew.
    if (view.stage.busy && drawnFrom.length) return;
    drawnFrom = from;
    const scale = Math.min(LONGEST / Math.max(width, height), SHARE);
    const ratio = Math.min(globalThis.devicePixelRatio || 1, 2);
    const [w, h] = [width * scale, height * scale];
    for (const each of [canvas, whole]) {
      each.width = Math.round(w * ratio);
      each.height = Math.round(h * ratio);
    }
    canvas.style.setProperty("width", `${w}px`);
    canvas.style.setProperty("height", `${h}px`);
    base.setTransform(ratio * scale, 0, 0, ratio * scale, 0, 0);
    base.clearRect(0, 0, width, height);
    paint(base, view.overview(), view.theme.family);
  };
  const draw = () => {
    pending = 0;
    if (signal.aborted || !view.scene.n) return;
    const seen = seenBy(view.frame, view.stage.camera);
    canvas.hidden =
      seen.x <= 1 - WHOLE &&
      seen.y <= 1 - WHOLE &&
      seen.x + seen.width >= WHOLE &&
      seen.y + seen.height >= WHOLE;
    if (canvas.hidden) return;
    drawWhole();
    const { width, height } = canvas;
    context.clearRect(0, 0, width, height);
    context.drawImage(whole, 0, 0);
    // What is not shown is veiled.
    context.fillStyle = view.theme.paper;
    context.globalAlpha = 0.4;
    context.beginPath();
    context.rect(0, 0, width, height);
    const box = [seen.x * width, seen.y * height, seen.width * width, seen.height * height];
    context.rect(box[0], box[1], box[2], box[3]);
    context.fill("evenodd");
    context.globalAlpha = 1;
    context.strokeStyle = view.theme.focus;
    context.lineWidth = Math.max(1, width / 120);
    context.strokeRect(box[0], box[1], Math.max(2, box[2]), Math.max(2, box[3]));
  };
  const soon = () => {
    pending ||= requestAnimationFrame(draw);
  };

  /**
   * Move the window's middle to a place of the overview.
   *
   * @param {PointerEvent} event
   */
  const moveTo = ({ offsetX, offsetY }) => {
    const { width, height } = view.stage;
    const { camera } = view.stage;
    const [sx, sy] = axes(view.frame, camera);
    const x = (offsetX / canvas.clientWidth) * width * sx + camera.x;
    const y = (offsetY / canvas.clientHeight) * height * sy + camera.y;
    view.pan(width / 2 - x, height / 2 - y);
  };
  let isDragged = false;
  canvas.addEventListener("pointerdown", (event) => {
    // The picture below is not dragged.
    event.stopPropagation();
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    isDragged = true;
    moveTo(event);
  });
  canvas.addEventListener("pointermove", (event) => {
    event.stopPropagation();
    if (isDragged) moveTo(event);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(name, (event) => {
      event.stopPropagation();
      isDragged = false;
    });
  }
  canvas.addEventListener("pointerenter", () => view.hover(-1));
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { width, height } = view.stage;
    /** @type {Record<string, () => unknown>} */
    const actions = {
      ArrowLeft: () => view.pan(width * MOVE, 0),
      ArrowRight: () => view.pan(-width * MOVE, 0),
      ArrowUp: () => view.pan(0, height * MOVE),
      ArrowDown: () => view.pan(0, -height * MOVE),
      "+": () => view.zoom(STEP),
      "=": () => view.zoom(STEP),
      "-": () => view.zoom(1 / STEP),
      0: () => view.whole(),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  });
  for (const name of ["moved", "drawn", "shown"]) view.on(name, soon);
  return canvas;
}
