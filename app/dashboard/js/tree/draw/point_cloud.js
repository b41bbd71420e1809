// The points of a map by WebGL 2, a vertex each, with the library twgl.

/** @import { Points } from "../model/point_map.js" */

/**
 * @typedef {{
 *   x: number,
 *   y: number,
 *   k: number,
 * }} MapCamera what is in the middle, and px for each unit
 * @typedef {{
 *   camera: MapCamera,
 *   width: number,
 *   height: number,
 *   ratio: number,
 *   size: number,
 *   every: number,
 *   paper: string,
 *   palette: string[],
 * }} Shot how the points are drawn: `size` of a point in px; only each `every`-th is drawn; `palette`: the
 *   colour of each index, all #rrggbb
 *
 * @typedef {{
 *   draw: (shot: Shot) => void,
 *   paint: (index: Uint8Array) => void,
 *   light: (lit: Uint8Array | null) => void,
 *   stop: () => void,
 * }} Cloud `paint`: the colour of each point, by index; `light`: which points stand out, null for none
 */

/** The most colours: the palette, others, and all of these faded. */
export const MOST_COLOURS = 64;
/** How much points fade of which others stand out. */
export const FADED = 0.78;
/** How much larger points are that stand out. */
export const LIT_SIZE = 1.5;

const LIBRARY = "../../../vendor/twgl/twgl-full.module.js";

const VERTEX = `#version 300 es
in vec2 position;
in float colour;
in float lit;
uniform vec2 centre;
uniform vec2 scale;
uniform float size;
uniform float layer;
uniform float fade;
uniform vec3 paper;
uniform vec3 palette[${MOST_COLOURS}];
out vec3 shade;
void main() {
  bool isFront = lit > 0.5;
  // What stands out is drawn last, over the others.
  bool isHidden = layer > 0.5 && isFront != (layer > 1.5);
  gl_Position = isHidden ? vec4(2.0, 2.0, 2.0, 1.0) : vec4((position - centre) * scale, 0.0, 1.0);
  gl_PointSize = layer > 1.5 ? max(size * ${LIT_SIZE.toFixed(1)}, size + 1.0) : size;
  shade = mix(palette[int(colour)], paper, isFront ? 0.0 : fade);
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec3 shade;
uniform bool isRound;
out vec4 result;
void main() {
  vec2 away = gl_PointCoord - 0.5;
  if (isRound && dot(away, away) > 0.25) discard;
  result = vec4(shade, 1.0);
}`;

/**
 * A cloud on this canvas; null where the browser has no WebGL 2, or has it by the processor alone, which
 * is slower than writing pixels (`point_pixels`).
 *
 * @param {HTMLCanvasElement} canvas
 * @param {Points} points
 * @returns {Promise<Cloud | null>}
 */
export async function glCloud(canvas, { xy, n }) {
  const gl = hasCard()
    ? canvas.getContext("webgl2", { alpha: false, antialias: false, depth: false })
    : null;
  if (!gl) return null;
  const twgl = await import(LIBRARY);
  /** @type {Uint8Array} */
  let index = new Uint8Array(n);
  /** @type {Uint8Array | null} */
  let standing = null;
  /** @type {Shot | null} */
  let last = null;
  const none = new Uint8Array(n);
  /** @type {any} */
  let program;
  /** @type {any} */
  let buffers;
  const build = () => {
    program = twgl.createProgramInfo(gl, [VERTEX, FRAGMENT]);
    buffers = twgl.createBufferInfoFromArrays(gl, {
      position: { numComponents: 2, data: xy },
      colour: { numComponents: 1, data: index, normalize: false },
      lit: { numComponents: 1, data: standing ?? none, normalize: false },
    });
  };
  build();
  // The browser may take the graphics memory away, and give it back.
  const lost = (/** @type {Event} */ event) => event.preventDefault();
  const restored = () => {
    build();
    if (last) draw(last);
  };
  canvas.addEventListener("webglcontextlost", lost);
  canvas.addEventListener("webglcontextrestored", restored);

  /** @param {Shot} shot */
  const draw = (shot) => {
    last = shot;
    const { camera, width, height, ratio, size, every, paper, palette } = shot;
    if (gl.isContextLost()) return;
    gl.viewport(0, 0, canvas.width, canvas.height);
    const ground = levels(paper);
    gl.clearColor(ground[0], ground[1], ground[2], 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.useProgram(program.program);
    // Larger steps from point to point leave the others out.
    buffers.attribs.position.stride = 8 * every;
    buffers.attribs.colour.stride = every;
    buffers.attribs.lit.stride = every;
    twgl.setBuffersAndAttributes(gl, program, buffers);
    const shades = new Float32Array(3 * MOST_COLOURS);
    palette.forEach((colour, at) => shades.set(levels(colour), 3 * at));
    const uniforms = {
      centre: [camera.x, camera.y],
      scale: [(2 * camera.k) / width, (2 * camera.k) / height],
      size: size * ratio,
      paper: ground,
      palette: shades,
      isRound: size * ratio >= 3,
      fade: standing ? FADED : 0,
    };
    for (const layer of standing ? [1, 2] : [0]) {
      twgl.setUniforms(program, { ...uniforms, layer });
      gl.drawArrays(gl.POINTS, 0, Math.floor((n + every - 1) / every));
    }
  };
  return {
    draw,
    paint: (colours) => {
      index = colours;
      twgl.setAttribInfoBufferFromArray(gl, buffers.attribs.colour, index);
    },
    light: (lit) => {
      standing = lit;
      twgl.setAttribInfoBufferFromArray(gl, buffers.attribs.lit, lit ?? none);
    },
    stop: () => {
      canvas.removeEventListener("webglcontextlost", lost);
      canvas.removeEventListener("webglcontextrestored", restored);
      gl.getExtension("WEBGL_lose_context")?.loseContext();
    },
  };
}

/** What renderers are called that compute on the processor. */
const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;

/** Whether a graphics card draws what WebGL draws; looked up on a separate canvas. */
function hasCard() {
  const gl = document
    .createElement("canvas")
    .getContext("webgl2", { failIfMajorPerformanceCaveat: true });
  if (!gl) return false;
  const names = gl.getExtension("WEBGL_debug_renderer_info");
  const renderer = names ? gl.getParameter(names.UNMASKED_RENDERER_WEBGL) : "";
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return !SOFTWARE.test(String(renderer));
}

/**
 * The levels of #rrggbb, 0 to 1.
 *
 * @param {string} colour
 */
export const levels = (colour) =>
  [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255);
