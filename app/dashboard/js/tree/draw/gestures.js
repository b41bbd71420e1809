// Mouse, pen and touch on the stage: drag pans, wheel and pinch zoom, a click picks a node.

const CLICK_PX = 5;
const TWICE_MS = 320;

/**
 * Positions are in px of the element.
 *
 * @typedef {{
 *   pan: (dx: number, dy: number) => unknown,
 *   zoom: (factor: number, x: number, y: number, depth: boolean) => unknown,
 *   hover: (x: number, y: number) => unknown,
 *   leave: () => unknown,
 *   click: (x: number, y: number) => unknown,
 *   twice: (x: number, y: number) => unknown,
 *   begin?: () => unknown,
 * }} Gestures
 */

/**
 * Listen to the gestures on `root`; returns a function that stops listening.
 *
 * @param {HTMLElement} root
 * @param {Gestures} gestures
 */
export function onGestures(root, gestures) {
  /** @type {Map<number, [x: number, y: number]>} */
  const pointers = new Map();
  let moved = 0;
  /** @type {{ x: number, y: number, at: number } | null} */
  let lastClick = null;
  /** @type {{ d: number, x: number, y: number } | null} */
  let pinch = null;
  /**
   * @param {MouseEvent} event
   * @returns {[x: number, y: number]}
   */
  const at = (event) => {
    const box = root.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  /** The distance and the midpoint of two fingers; null for any other number of them. */
  const fingers = () => {
    if (pointers.size !== 2) return null;
    const [[ax, ay], [bx, by]] = [...pointers.values()];
    return { d: Math.hypot(ax - bx, ay - by), x: (ax + bx) / 2, y: (ay + by) / 2 };
  };

  /** @param {PointerEvent} event */
  const down = (event) => {
    if (event.pointerType === "mouse" && event.button !== 0) return;
    if (event.target instanceof Element && event.target.closest("button, input, select, a")) return;
    pointers.set(event.pointerId, at(event));
    try {
      root.setPointerCapture(event.pointerId);
    } catch {
      // The pointer has already left.
    }
    if (pointers.size === 1) moved = 0;
    pinch = fingers();
    gestures.begin?.();
  };
  /** @param {PointerEvent} event */
  const move = (event) => {
    const [x, y] = at(event);
    const before = pointers.get(event.pointerId);
    if (!before) {
      if (event.pointerType !== "touch") gestures.hover(x, y);
      return;
    }
    pointers.set(event.pointerId, [x, y]);
    const now = fingers();
    if (now && pinch) {
      gestures.pan(now.x - pinch.x, now.y - pinch.y);
      if (pinch.d > 0 && now.d > 0) gestures.zoom(now.d / pinch.d, now.x, now.y, false);
      pinch = now;
      moved = CLICK_PX + 1;
      return;
    }
    if (pointers.size !== 1) return;
    const [dx, dy] = [x - before[0], y - before[1]];
    moved += Math.hypot(dx, dy);
    if (moved > CLICK_PX) {
      gestures.leave();
      root.classList.add("is-dragged");
      gestures.pan(dx, dy);
    }
  };
  /** @param {PointerEvent} event */
  const up = (event) => {
    if (!pointers.delete(event.pointerId)) return;
    pinch = fingers();
    root.classList.remove("is-dragged");
    if (pointers.size) return;
    if (event.type === "pointercancel" || moved > CLICK_PX) return;
    const [x, y] = at(event);
    const isSecond =
      lastClick !== null &&
      event.timeStamp - lastClick.at < TWICE_MS &&
      Math.hypot(x - lastClick.x, y - lastClick.y) < 12;
    lastClick = isSecond ? null : { x, y, at: event.timeStamp };
    if (isSecond) gestures.twice(x, y);
    else gestures.click(x, y);
  };
  /** @param {WheelEvent} event */
  const wheel = (event) => {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 18 : event.deltaMode === 2 ? 200 : 1;
    const delta = (event.deltaY || event.deltaX) * lines;
    const factor = Math.exp(
      -Math.max(-150, Math.min(150, delta)) * (event.ctrlKey ? 0.008 : 0.0022),
    );
    gestures.zoom(factor, ...at(event), event.shiftKey || event.altKey);
  };

  const ends = new AbortController();
  const { signal } = ends;
  root.addEventListener("pointerdown", down, { signal });
  root.addEventListener("pointermove", move, { signal });
  root.addEventListener("pointerup", up, { signal });
  root.addEventListener("pointercancel", up, { signal });
  root.addEventListener("pointerleave", () => gestures.leave(), { signal });
  root.addEventListener("wheel", wheel, { passive: false, signal });
  return () => ends.abort();
}
