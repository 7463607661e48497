// What the plots of every page share: colours, figures, axes, and when all is drawn again.
"use strict";
const frame = (() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  // A4 less the margins of @page, in CSS pixels.
  const PAPER_WIDTH = 680;
  // Okabe and Ito's colours, told apart with any colour vision, without black; the yellow darkened to show on white.
  const HUES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b3a200"];
  const SYMBOLS = ["circle", "rect", "triangle", "diamond", "emptyCircle", "emptyRect", "emptyTriangle"];
  let printing = false;
  let charts = [];
  let redraw = () => {};

  const esc = (text) =>
    String(text).replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
  const narrow = () => !printing && document.body.clientWidth < 640;

  function theme() {
    return dark.matches && !printing
      ? { ink: "#e4e7eb", soft: "#9aa4af", line: "#333a42", panel: "#1c2025", paper: "#14171b", kinds: ["#c3ccd6", "#7f8d9c", "#55606c"] }
      : { ink: "#1b1f24", soft: "#5b6570", line: "#d8dde3", panel: "#ffffff", paper: "#ffffff", kinds: ["#2f3e4e", "#7a8b9c", "#aeb9c4"] };
  }

  const ruler = document.createElement("canvas").getContext("2d");
  const LABEL = 12;

  // Pixels that a text takes.
  function textWidth(text, size = LABEL) {
    ruler.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
    return Math.ceil(ruler.measureText(text).width) + 1;
  }

  // Where a text may be broken: after a space or a mark.
  const pieces = (text) => String(text).split(/(?<=[\s/_,+:-])/);

  // A text in lines of at most so many pixels; a piece that is longer is broken anywhere.
  function wrapped(text, width, most = 3, size = LABEL) {
    const lines = [""];
    for (const piece of pieces(text)) {
      for (let rest = piece; rest; ) {
        const line = lines[lines.length - 1];
        if (textWidth((line + rest).trimEnd(), size) <= width) {
          lines[lines.length - 1] = line + rest;
          break;
        }
        if (line) {
          lines.push("");
          continue;
        }
        let fits = rest.length - 1;
        while (fits > 1 && textWidth(rest.slice(0, fits), size) > width) fits -= 1;
        if (fits < 1) return [...lines.slice(0, -1), rest];
        lines[lines.length - 1] = rest.slice(0, fits);
        rest = rest.slice(fits);
      }
    }
    const kept = lines.map((line) => line.trim()).filter((line) => line);
    return kept.length > most ? [...kept.slice(0, most - 1), `${kept[most - 1].slice(0, -1)}…`] : kept;
  }

  // Three figures: what there is room for on a bar.
  function brief(value) {
    const size = Math.abs(value);
    if (value === 0) return "0";
    if (size < 1e-3 || size >= 1e6) return value.toExponential(1);
    return size >= 100 ? String(Math.round(value)) : value.toPrecision(3);
  }

  // The round figure that is not below this.
  function pace(step) {
    const ten = 10 ** Math.floor(Math.log10(step));
    return [1, 2, 2.5, 5, 10].map((digit) => digit * ten).find((round) => round >= step * 0.9999);
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

  // A stretch of a line with its mark, or the mark alone.
  function sample({ color, symbol, dash, width }) {
    const [isHollow, shape] = [symbol.startsWith("empty"), symbol.replace("empty", "").toLowerCase()];
    const marks = { circle: "M14 1a4 4 0 1 0 .01 0z", rect: "M10 1h8v8h-8z", triangle: "M14 1l4.5 8h-9z", diamond: "M14 0l5 5-5 5-5-5z" };
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const path = (d, looks) => {
      const made = document.createElementNS(svg.namespaceURI, "path");
      for (const [name, value] of Object.entries({ d, stroke: color, ...looks })) made.setAttribute(name, value);
      svg.append(made);
    };
    svg.setAttribute("class", "sample");
    svg.setAttribute("viewBox", "0 0 28 10");
    if (dash) path("M0 5H28", { "stroke-width": width, "stroke-dasharray": dash === "solid" ? "none" : dash.join(" ") });
    path(marks[shape], { "stroke-width": 1.5, fill: isHollow ? theme().paper : color });
    return svg;
  }

  // A legend of swatches, or of samples of lines.
  function keyOf(items, most = 24) {
    const key = document.createElement("p");
    key.className = "key";
    for (const { label, style, line } of items.slice(0, most)) {
      const item = document.createElement("span");
      const swatch = document.createElement("i");
      swatch.className = "swatch";
      swatch.style.cssText = style;
      item.append(line ? sample(line) : swatch, label);
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
    fitTables();
  }

  // A table that is wider than its place says so on a screen, and is made smaller on paper.
  function fitTables() {
    for (const place of document.querySelectorAll(".scroll")) {
      const table = place.querySelector("table");
      table.style.cssText = printing ? "font-size:8pt;--cell:.15rem .32rem" : "";
      if (printing) table.style.zoom = Math.min(1, PAPER_WIDTH / table.scrollWidth);
      sign(place);
    }
  }

  // Which way there is more of a table.
  function sign(place) {
    const beyond = printing ? 0 : place.scrollWidth - place.clientWidth;
    const isAtEnd = place.scrollLeft >= beyond - 1;
    place.dataset.more = beyond <= 1 ? "" : isAtEnd ? "left" : "right";
  }
  document.addEventListener("scroll", ({ target }) => target.classList?.contains("scroll") && sign(target), true);

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

  return { PAPER_WIDTH, HUES, SYMBOLS, isPrinting: () => printing, esc, narrow, theme, textWidth, pieces, wrapped, brief, pace, figures, base, start, keyOf, shaded, inkOn, drawBy };
})();
