// Color scales, and the page's own colors.

import { h } from 'lab/client/dom.js';

// Viridis (van der Walt and Smith, 2015) at 16 even places; between them straight lines are close enough.
const VIRIDIS = ['440154', '481a6c', '472f7d', '414487', '39568c', '31688e', '2a788e', '23888e', '1f988b',
  '22a884', '35b779', '54c568', '7ad151', 'a5db36', 'd2e21b', 'fde725'];

/** Red, green and blue (0-255) of viridis at a share from 0 to 1. */
export function viridis(share) {
  const place = Math.min(Math.max(share, 0), 1) * (VIRIDIS.length - 1);
  const low = Math.min(Math.floor(place), VIRIDIS.length - 2);
  const [from, to] = [low, low + 1].map((index) => VIRIDIS[index].match(/../g).map((hex) => parseInt(hex, 16)));
  return from.map((channel, at) => Math.round(channel + (place - low) * (to[at] - channel)));
}

/** A computed color as rgb() or rgba(), which every SVG reader knows; mixed colors come as color(srgb ...). */
export function plainPaint(paint) {
  const mixed = paint.match(/^color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)(?: \/ ([\d.e-]+))?\)$/);
  if (!mixed) return paint;
  const [red, green, blue] = mixed.slice(1, 4).map((share) => Math.round(255 * Number(share)));
  return `rgba(${red}, ${green}, ${blue}, ${mixed[4] ?? 1})`;
}

/** A background for a share from 0 to 1, on which text can be read: blue for what adds, brown for what takes away. */
export const shade = (share, negative) => `background: color-mix(in srgb, var(${negative ? '--lab-b' : '--lab-a'}) ${
  (48 * share).toFixed(1)}%, var(--lab-page))`;

const seenColors = new Map();

/** The page's current color behind a CSS variable, in a form that a canvas takes. */
export function pageColor(variable) {
  // Asking makes the browser work out the page's styles: once for a burst of drawing is enough.
  const key = `${variable} ${document.body.className} ${document.documentElement.className}`;
  if (seenColors.has(key)) return seenColors.get(key);
  if (seenColors.size === 0) setTimeout(() => seenColors.clear(), 1000);
  const probe = h('i', { style: `color: var(${variable}); display: none` });
  (document.querySelector('.lab-island') ?? document.body).append(probe);
  seenColors.set(key, getComputedStyle(probe).color);
  probe.remove();
  return seenColors.get(key);
}

/** Run `draw` when the page turns dark or light. The watchers go when the component has left the page. */
export function onThemeChange(root, draw) {
  const observer = new MutationObserver(() => (root.isConnected ? draw() : observer.disconnect()));
  for (const node of [document.body, document.documentElement])
    observer.observe(node, { attributes: true, attributeFilter: ['class', 'data-theme'] });
}
