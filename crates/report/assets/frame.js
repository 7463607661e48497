// What the plots of every page share: colours, figures, axes, and when all is drawn again.
"use strict";
const frame = (() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  // A4 less the margins of @page, in CSS pixels.
  const PAPER_WIDTH = 680;
  // Okabe and Ito's colours, told apart with any colour vision, without black; the yellow darkened to show on white.
  const HUES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b3a200"];
  const SYMBOLS = ["circle", "rect", "triangle", "diamond", "arrow", "roundRect", "emptyRect"];
  let printing = false;
  let charts = [];
  let redraw = () => {};

  const esc = (text) =>
    String(text).replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
  const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  const narrow = () => !printing && document.body.clientWidth < 640;

  function theme() {
    return dark.matches && !printing
      ? { ink: "#e4e7eb", soft: "#9aa4af", line: "#333a42", panel: "#1c2025", paper: "#14171b", kinds: ["#c3ccd6", "#7f8d9c", "#55606c"] }
      : { ink: "#1b1f24", soft: "#5b6570", line: "#d8dde3", panel: "#ffffff", paper: "#ffffff", kinds: ["#2f3e4e", "#7a8b9c", "#aeb9c4"] };
  }

  // Four figures, as in the tables.
  function figures(value) {
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size < 1e-4 || size >= 1e7) return value.toExponential(2);
    return value.toFixed(Math.max(0, 3 - Math.floor(Math.log10(size))));
  }

  function base() {
    const { ink, soft, line, panel } = theme();
    return {
      animation: false,
      textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, color: ink },
      tooltip: {
        confine: true,
        backgroundColor: panel,
        borderColor: line,
        textStyle: { color: ink, fontSize: 13 },
        extraCssText: "max-width:20rem;white-space:normal;box-shadow:0 2px 8px rgba(0,0,0,.18)",
      },
      axis: {
        nameTextStyle: { color: soft, fontSize: 12 },
        axisLabel: { color: ink, fontSize: 12, hideOverlap: true },
        axisLine: { lineStyle: { color: soft } },
        splitLine: { lineStyle: { color: line } },
        axisTick: { show: false },
      },
    };
  }

  function start(element, height, renderer, paperWidth = PAPER_WIDTH) {
    element.style.height = `${height}px`;
    const size = printing ? { width: paperWidth, height } : { height };
    const chart = echarts.init(element, null, { renderer, devicePixelRatio: Math.max(2, devicePixelRatio || 1), ...size });
    charts.push(chart);
    return chart;
  }

  // A legend of swatches.
  function keyOf(items, most = 24) {
    const key = document.createElement("p");
    key.className = "key";
    for (const { label, style } of items.slice(0, most)) {
      const item = document.createElement("span");
      const swatch = document.createElement("i");
      swatch.className = "swatch";
      swatch.style.cssText = style;
      item.append(swatch, label);
      key.append(item);
    }
    if (items.length > most) key.append(`and ${items.length - most} more`);
    return key;
  }

  // A colour for what there may be many of: beyond the hues that there are, in lighter and darker shades.
  function shaded(number) {
    const hues = [...HUES, "#5b3f8c", "#8a8f96", "#6b4e2e"];
    const hex = hues[number % hues.length];
    const round = Math.floor(number / hues.length) % 3;
    if (round === 0) return hex;
    const toward = round === 1 ? 255 : 0;
    const mix = (at) => Math.round(parseInt(hex.slice(at, at + 2), 16) * 0.6 + toward * 0.4);
    return `rgb(${mix(1)},${mix(3)},${mix(5)})`;
  }

  function inkOn(fill) {
    const rgb = fill[0] === "#" ? [1, 3, 5].map((at) => parseInt(fill.slice(at, at + 2), 16)) : fill.match(/\d+/g).map(Number);
    return rgb[0] * 0.299 + rgb[1] * 0.587 + rgb[2] * 0.114 > 140 ? "#111" : "#fff";
  }

  function drawAll() {
    charts.forEach((chart) => chart.dispose());
    charts = [];
    redraw();
  }

  let width = 0;
  let waiting = 0;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      // A phone's address bar comes and goes: only a change of width matters.
      if (!printing && document.body.clientWidth !== width) {
        width = document.body.clientWidth;
        drawAll();
      }
    }, 120);
  });
  const print = (on) => {
    if (printing !== on) {
      printing = on;
      drawAll();
    }
  };
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  dark.addEventListener("change", drawAll);
  document.addEventListener("change", (event) => event.target.dataset?.choice && drawAll());

  // Draws by this function now, and whenever the page changes its width, its colours or its choices, or goes to paper.
  function drawBy(draw) {
    redraw = draw;
    width = document.body.clientWidth;
    drawAll();
  }

  return { PAPER_WIDTH, HUES, SYMBOLS, isPrinting: () => printing, esc, short, narrow, theme, figures, base, start, keyOf, shaded, inkOn, drawBy };
})();
