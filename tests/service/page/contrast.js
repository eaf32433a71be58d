// Text that is hard to read: every visible text whose contrast with what lies behind it is below WCAG AA.
() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });

  /** Paint the colours over each other, and read what comes out; any way that CSS writes a colour will do. */
  function painted(colours) {
    canvas.clearRect(0, 0, 1, 1);
    for (const colour of colours) {
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
    }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  }

  function luminance(rgb) {
    const [r, g, b] = rgb.map((value) =>
      value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  function backgrounds(element) {
    const own = getComputedStyle(element).backgroundColor;
    return element.parentElement === null ? ["white", own] : [...backgrounds(element.parentElement), own];
  }

  const weak = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (walker.currentNode.data.trim() === "" || !element.checkVisibility() || element.closest(".unseen, .skip"))
      continue;
    const { color, fontSize, fontWeight } = getComputedStyle(element);
    const behind = backgrounds(element);
    const [light, dark] = [luminance(painted([...behind, color])), luminance(painted(behind))].sort((a, b) => b - a);
    const large = parseFloat(fontSize) >= 24 || (parseFloat(fontSize) >= 18.66 && Number(fontWeight) >= 700);
    const ratio = (light + 0.05) / (dark + 0.05);
    if (ratio < (large ? 3 : 4.5)) weak.push(`${walker.currentNode.data.trim()}: ${ratio.toFixed(2)}`);
  }
  return weak;
};
