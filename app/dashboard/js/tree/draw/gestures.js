// Mouse, pen and touch on the stage: drag pans, wheel and pinch zoom, a click means a node.

const CLICK_PX = 5;
const TWICE_MS = 320;

/**
 * @param {HTMLElement} root
 * @param {object} own {pan(dx, dy), zoom(factor, x, y, depth), hover(x, y) or hover(null), click(x, y),
 *   twice(x, y), begin(), end()}; x and y are px in `root`.
 * @returns a function that ends it
 */
export function gestures(root, own) {
  const pointers = new Map();
  let moved = 0;
  let last = null; // The click before: {x, y, at}
  let spread = null;
  const at = (event) => {
    const box = root.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const two = () => {
    const [[ax, ay], [bx, by]] = [...pointers.values()];
    return { d: Math.hypot(ax - bx, ay - by), x: (ax + bx) / 2, y: (ay + by) / 2 };
  };

  const down = (event) => {
    if (event.pointerType === "mouse" && event.button !== 0) return;
    if (event.target.closest("button, input, select, a")) return;
    pointers.set(event.pointerId, at(event));
    try {
      root.setPointerCapture(event.pointerId);
    } catch {
      // The pointer is gone already.
    }
    if (pointers.size === 1) moved = 0;
    spread = pointers.size === 2 ? two() : null;
    own.begin();
  };
  const move = (event) => {
    const [x, y] = at(event);
    if (!pointers.has(event.pointerId)) {
      if (event.pointerType !== "touch") own.hover(x, y);
      return;
    }
    const [fx, fy] = pointers.get(event.pointerId);
    pointers.set(event.pointerId, [x, y]);
    if (pointers.size === 2 && spread) {
      const now = two();
      own.pan(now.x - spread.x, now.y - spread.y);
      if (spread.d > 0 && now.d > 0) own.zoom(now.d / spread.d, now.x, now.y, false);
      spread = now;
      moved = CLICK_PX + 1;
      return;
    }
    if (pointers.size !== 1) return;
    moved += Math.hypot(x - fx, y - fy);
    if (moved > CLICK_PX) {
      own.hover(null);
      root.classList.add("is-dragged");
      own.pan(x - fx, y - fy);
    }
  };
  const up = (event) => {
    if (!pointers.delete(event.pointerId)) return;
    spread = pointers.size === 2 ? two() : null;
    root.classList.remove("is-dragged");
    if (pointers.size) return;
    own.end();
    if (event.type === "pointercancel" || moved > CLICK_PX) return;
    const [x, y] = at(event);
    const again =
      last && event.timeStamp - last.at < TWICE_MS && Math.hypot(x - last.x, y - last.y) < 12;
    last = again ? null : { x, y, at: event.timeStamp };
    if (again) own.twice(x, y);
    else own.click(x, y);
  };
  const wheel = (event) => {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 18 : event.deltaMode === 2 ? 200 : 1;
    const delta = (event.deltaY || event.deltaX) * lines;
    const factor = Math.exp(
      -Math.max(-150, Math.min(150, delta)) * (event.ctrlKey ? 0.008 : 0.0022),
    );
    own.zoom(factor, ...at(event), event.shiftKey || event.altKey);
  };
  const leave = () => own.hover(null);

  const list = {
    pointerdown: down,
    pointermove: move,
    pointerup: up,
    pointercancel: up,
    pointerleave: leave,
  };
  for (const [name, listener] of Object.entries(list)) root.addEventListener(name, listener);
  root.addEventListener("wheel", wheel, { passive: false });
  return () => {
    for (const [name, listener] of Object.entries(list)) root.removeEventListener(name, listener);
    root.removeEventListener("wheel", wheel);
  };
}
