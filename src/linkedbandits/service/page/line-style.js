// Lines that are told apart by their dashes and by the mark at their end, not by colour alone. Charts and legends draw
// them alike.

import { current } from "./chart-style.js";

const DASHES = [[], [9, 4], [2, 3], [10, 3, 2, 3], [5, 5], [14, 4, 5, 4], [1, 5], [8, 2]];
const SHAPES = ["circle", "square", "triangle", "diamond"];

export const lineColour = (index) => current[`line-${(index % 8) + 1}`];
export const dashOf = (index) => DASHES[index % DASHES.length];
export const shapeOf = (index) => SHAPES[index % SHAPES.length];

const CORNERS = {
  square: [[-0.85, -0.85], [0.85, -0.85], [0.85, 0.85], [-0.85, 0.85]],
  triangle: [[0, -1.1], [1.05, 0.8], [-1.05, 0.8]],
  diamond: [[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]],
};

/** A mark around a point. */
export function markPath(shape, x, y, radius) {
  const path = new Path2D();
  if (shape === "circle") path.arc(x, y, radius, 0, 2 * Math.PI);
  else {
    for (const [dx, dy] of CORNERS[shape]) path.lineTo(x + dx * radius, y + dy * radius);
    path.closePath();
  }
  return path;
}

/** A short piece of a line with its mark, for a legend. */
export function swatch(index) {
  const make = (name, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const drawing = make("svg", { width: 34, height: 12, viewBox: "0 0 34 12", "aria-hidden": "true", class: `line-${(index % 8) + 1}` });
  drawing.append(make("line", { x1: 0, y1: 6, x2: 26, y2: 6, "stroke-dasharray": dashOf(index).join(" ") || "none" }));
  const shape = shapeOf(index);
  if (shape === "circle") drawing.append(make("circle", { cx: 29, cy: 6, r: 4 }));
  else {
    const points = CORNERS[shape].map(([dx, dy]) => `${29 + 4 * dx},${6 + 4 * dy}`).join(" ");
    drawing.append(make("polygon", { points }));
  }
  return drawing;
}
