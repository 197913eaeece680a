// Turn a piece of the page into a picture: every box becomes a rectangle, every run of text a text element.
// The browser has laid the page out already, so what is saved is what was seen, and as SVG it stays sharp.

import { pageColor, plainPaint } from 'lab/client/colors.js';
import { h, svg } from 'lab/client/dom.js';
import { saveCanvas, saveCsv, saveJson, saveText } from 'lab/client/saving.js';

/** An SVG element that looks like `root`, under a caption. Parts marked data-noexport are left out. */
export function pictureOf(root, caption = '', margin = 16) {
  const head = caption ? 28 : 0;
  const origin = root.getBoundingClientRect();
  const extent = { right: origin.width, bottom: 0 };
  const shapes = [];
  const place = (box) => {
    const at = { x: box.left - origin.left, y: box.top - origin.top, width: box.width, height: box.height };
    extent.right = Math.max(extent.right, at.x + at.width);
    extent.bottom = Math.max(extent.bottom, at.y + at.height);
    return at;
  };
  walkShapes(root, place, shapes);
  const [width, height] = [Math.ceil(extent.right + 2 * margin), Math.ceil(extent.bottom + 2 * margin + head)];
  const page = svg('rect', { width, height, fill: plainPaint(pageColor('--lab-page')) });
  const group = svg('g', { transform: `translate(${margin} ${margin + head})` }, ...shapes);
  const title = svg('text', { x: margin, y: margin + 8, fill: plainPaint(pageColor('--lab-text')), 'font-size': '13px',
    'font-family': getComputedStyle(root).fontFamily }, caption);
  return svg('svg', { width, height, viewBox: `0 0 ${width} ${height}` }, page, title, group);
}

function walkShapes(node, place, shapes) {
  if (node.nodeType === Node.TEXT_NODE) textShapes(node, place, shapes);
  if (node.nodeType !== Node.ELEMENT_NODE || node.hasAttribute('data-noexport')) return;
  const style = getComputedStyle(node);
  if (style.display === 'none' || style.visibility === 'hidden' || style.opacity === '0'
    || node.classList.contains('hush')) return;
  const box = node.getBoundingClientRect();
  if (node.localName === 'svg') vectorShapes(node, box, place, shapes);
  else if (node.localName === 'canvas') shapes.push(svg('image',
    { ...place(box), href: node.toDataURL(), style: `image-rendering: ${style.imageRendering}` }));
  else {
    if (box.width > 0 && box.height > 0) boxShapes(style, place(box), shapes);
    const folded = node.localName === 'details' && !node.open;
    for (const child of folded ? node.querySelectorAll(':scope > summary') : node.childNodes)
      walkShapes(child, place, shapes);
  }
}

function boxShapes(style, { x, y, width, height }, shapes) {
  const visible = (paint) => paint !== 'transparent' && !/^rgba\(.*, 0\)$/.test(plainPaint(paint));
  const sides = ['Top', 'Right', 'Bottom', 'Left'].map((side) => {
    const shown = style[`border${side}Style`] !== 'none' && visible(style[`border${side}Color`]);
    return { size: shown ? parseFloat(style[`border${side}Width`]) : 0,
      paint: plainPaint(style[`border${side}Color`]) };
  });
  const even = sides.every((side) => side.size === sides[0].size && side.paint === sides[0].paint);
  const fill = visible(style.backgroundColor) ? plainPaint(style.backgroundColor) : 'none';
  const inset = even ? sides[0].size / 2 : 0;
  if (fill !== 'none' || inset > 0) {
    shapes.push(svg('rect', { x: x + inset, y: y + inset, width: Math.max(0, width - 2 * inset), height: Math.max(0,
      height - 2 * inset), rx: parseFloat(style.borderTopLeftRadius) || 0, fill, stroke: inset > 0 ? sides[0].paint
      : 'none', 'stroke-width': 2 * inset, 'stroke-dasharray': style.borderTopStyle === 'dashed' ? '4 3' : null }));
  }
  if (even) return;
  const ends = [[x, y, x + width, y], [x + width, y, x + width, y + height], [x, y + height, x + width, y + height],
    [x, y, x, y + height]];
  sides.forEach((side, index) => {
    if (side.size === 0) return;
    const [x1, y1, x2, y2] = ends[index];
    shapes.push(svg('line', { x1, y1, x2, y2, stroke: side.paint, 'stroke-width': side.size }));
  });
}

/** Text without control characters, which have no place in an XML file. */
export const forXml = (text) => text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd');

/** One text element for each line that the browser broke the text into. */
function textShapes(node, place, shapes) {
  if (!node.data.trim()) return;
  const style = getComputedStyle(node.parentElement);
  const range = document.createRange();
  const lines = [];
  for (const part of node.data.matchAll(/\S+\s*/gu)) {
    range.setStart(node, part.index);
    range.setEnd(node, part.index + part[0].trimEnd().length);
    const box = range.getBoundingClientRect();
    const last = lines.at(-1);
    if (last && Math.abs(last.box.top - box.top) < 2) {
      last.text += part[0];
      last.box = { left: last.box.left, top: last.box.top, height: box.height, width: box.right - last.box.left };
    }
    else if (box.width > 0) lines.push({ box, text: part[0] });
  }
  for (const line of lines) {
    const at = place(line.box);
    const text = forXml(line.text.trimEnd());
    // A reader without this page's fonts keeps the widths, so that nothing overlaps.
    shapes.push(svg('text', { x: at.x, y: at.y + at.height / 2, 'dominant-baseline': 'central', textLength: at.width,
      lengthAdjust: 'spacingAndGlyphs', fill: plainPaint(style.color), 'font-family': style.fontFamily,
      'font-size': style.fontSize, 'font-weight': style.fontWeight, 'xml:space': 'preserve' }, text));
  }
}

/** A copy of a drawing inside the page, with the colors that the page's style sheet gave it written in. */
function vectorShapes(node, box, place, shapes) {
  const copy = node.cloneNode(true);
  const [from, to] = [[node, ...node.querySelectorAll('*')], [copy, ...copy.querySelectorAll('*')]];
  from.forEach((original, index) => {
    const style = getComputedStyle(original);
    for (const name of ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity', 'stroke-linecap',
      'stroke-dasharray', 'opacity', 'paint-order', 'font-family', 'font-size', 'font-weight']) {
      to[index].setAttribute(name, plainPaint(style.getPropertyValue(name)));
    }
    to[index].removeAttribute('class');
    to[index].removeAttribute('style');
    for (const child of to[index].childNodes) if (child.nodeType === Node.TEXT_NODE) child.data = forXml(child.data);
  });
  for (const [name, value] of Object.entries(place(box))) copy.setAttribute(name, value);
  shapes.push(copy);
}

const svgText = (picture) => new XMLSerializer().serializeToString(picture);

export const saveSvg = (name, picture) => saveText(name, 'image/svg+xml', svgText(picture));

/**
 * Save a picture as PNG with so many pixels for each CSS pixel, fewer where it would grow past what canvases can hold.
 */
export function savePng(name, picture, pixels = 2) {
  const [width, height] = [Number(picture.getAttribute('width')), Number(picture.getAttribute('height'))];
  const scale = Math.min(pixels, 16000 / height, 16000 / width);
  const image = new Image();
  image.onload = () => {
    const canvas = h('canvas', { width: Math.round(width * scale), height: Math.round(height * scale) });
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    saveCanvas(name, canvas);
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(picture))}`;
}

/**
 * "Save: PNG CSV JSON": `kinds` maps a name to a function that saves; `saveHtml` saves the view as a page of its own.
 */
export function saveButtons(what, kinds, saveHtml = null) {
  const button = (name, title, onclick) => h('button.plain', {
    'data-save': name.toLowerCase(),
    'aria-label': title, title, onclick }, name);
  return h('div.save.push', { 'data-noexport': '' }, h('span.quiet', 'Save'),
    ...Object.entries(kinds).map(([kind, save]) => button(kind, `Save ${what} as ${kind}`, save)),
    saveHtml && button('HTML', `Save ${what} as a page that works without this server`, saveHtml));
}

/**
 * The same for a drawing: `picture()` returns an SVG element, `rows()` the rows of a CSV file, `body()` a JSON value,
 * `file()` the name of the files. `savePage(stem)`, where there is one, saves the drawing as a page of its own.
 */
export function saveDrawing(what, file, { picture, rows, body, savePage = null }) {
  const name = (ending) => `${file()}.${ending}`;
  return saveButtons(what, {
    ...(picture && { PNG: () => savePng(name('png'), picture()), SVG: () => saveSvg(name('svg'), picture()) }),
    ...(rows && { CSV: async () => saveCsv(name('csv'), await rows()) }),
    ...(body && { JSON: async () => saveJson(name('json'), await body()) }),
  }, savePage && (() => savePage(file())));
}
