// What all charts share: colours of the present theme, axes, and a size that follows the page.

import { onThemeChange } from "./theme.js";

const FONT = "12px Inter, system-ui, Roboto, sans-serif";
const COLOURS = ["ink", "muted", "line", "in", "out", "leading", "in-tint", "threshold",
  ...Array.from({ length: 8 }, (_, index) => `line-${index + 1}`)];

/** The colours that charts draw with; read again only when the theme changes. */
export let current = null;

onThemeChange(() => {
  current = palette();
});

/** The theme's colours by name, as a canvas needs them. */
function palette() {
  const probe = document.createElement("span");
  document.body.append(probe);
  const colours = {};
  for (const name of COLOURS) {
    probe.style.color = `var(--${name})`;
    colours[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return colours;
}

export function axis(options) {
  return {
    font: FONT,
    stroke: () => current.muted,
    grid: { stroke: () => current.line, width: 1 },
    ticks: { show: false },
    ...options,
  };
}

/** A uPlot chart that fills its container's width and follows the theme. Returns {plot, close}. */
export function makeChart(container, height, options, data) {
  current ??= palette();
  const frame = { width: container.clientWidth, height, padding: [10, 28, 0, 0], legend: { show: false } };
  const plot = new globalThis.uPlot({ ...frame, ...options }, data, container);
  const resizing = new ResizeObserver(() => {
    const width = container.clientWidth;
    if (width > 0 && width !== plot.width) plot.setSize({ width, height });
  });
  resizing.observe(container);
  const stopListening = onThemeChange(() => plot.redraw(false));
  return {
    plot,
    close() {
      resizing.disconnect();
      stopListening();
      plot.destroy();
    },
  };
}
