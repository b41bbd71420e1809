// Icons, each a path of 24 x 24; screen readers ignore them.

import { svg } from "./dom.js";

const ICONS = {
  sun: "M12 7a5 5 0 100 10 5 5 0 000-10M12 1v2M12 21v2M4.2 4.2l1.4 1.4M18.4 18.4l1.4 1.4M1 12h2M21 12h2M4.2 19.8l1.4-1.4M18.4 5.6l1.4-1.4",
  moon: "M20.5 14.5A8.5 8.5 0 119.5 3.5a7 7 0 0011 11z",
  auto: "M12 3a9 9 0 100 18 9 9 0 000-18M12 3v18M12 7h6M12 12h9M12 17h6",
  key: "M14.5 9.5a4.5 4.5 0 11-4.4-4.5 4.5 4.5 0 014.4 4.5zM13.3 12.7L21 20.5M17 16.5l2.5-2.5",
  code: "M8 7l-5 5 5 5M16 7l5 5-5 5",
  file: "M6 2h8l5 5v15H6zM14 2v5h5",
  upload: "M12 16V4M7 8.5L12 3.5l5 5M4 16v4h16v-4",
  download: "M12 4v12M7 11.5l5 5 5-5M4 20h16",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 14h10l1-14M10 11v6M14 11v6",
  edit: "M4 20h4L19.5 8.5l-4-4L4 16zM13 7l4 4",
  close: "M5 5l14 14M19 5L5 19",
  plus: "M12 5v14M5 12h14",
  check: "M4 12.5l5.5 5.5L20 6.5",
  tree: "M4 12h5M9 6v12M9 6h6M9 18h6M15 3v6M15 15v6M15 3h5M15 9h5M15 15h5M15 21h5",
  search: "M10.5 4a6.5 6.5 0 100 13 6.5 6.5 0 000-13M15.5 15.5L21 21",
  warning: "M12 3L2 20.5h20zM12 9.5v5M12 17.2v.6",
  more: "M12 5.5v.01M12 12v.01M12 18.5v.01",
  back: "M15 5l-7 7 7 7",
  next: "M9 5l7 7-7 7",
  up: "M5 15l7-7 7 7",
  down: "M5 9l7 7 7-7",
};

/** @typedef {keyof typeof ICONS} IconName */

/**
 * The icon of this name.
 *
 * @param {IconName} name
 */
export const icon = (name) => drawnIcon(ICONS[name]);

/**
 * An icon drawn from a path.
 *
 * @param {string} path
 */
export const drawnIcon = (path) =>
  svg(
    "svg",
    { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true", focusable: "false" },
    svg("path", { d: path }),
  );
