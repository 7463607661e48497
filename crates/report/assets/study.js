// Draws the figures of a study from the data in the page's element `data`. Names in the data come from outside: they reach the page as
// text only, through esc() where a tooltip wants HTML.
"use strict";
(() => {
  const { PAPER_WIDTH, SYMBOLS, isPrinting, esc, narrow, theme, textWidth, wrapped, figures, base, start, keyOf, shaded, drawBy } = frame;
  const { drawBars, scaleOf, tick } = bars;
  const data = JSON.parse(document.getElementById("data").textContent);
  // Between a label and what it belongs to, and a line of a label.
  const [GAP, LINE] = [6, 14];
  // Panels or figures that stand beside each other on paper.
  const ABREAST = 2;
  // Points that can all be named.
  const FEW = 14;
  // Lines are told apart by colour, mark and dashes; one that lies under others is wider than they are.
  const DASHES = ["solid", [7, 4], [2, 3], [10, 3, 2, 3]];
  const [LEAST_WIDTH, MOST_WIDTH, STEP] = [1.6, 5, 1];

  const style = (drawing, series) => ({
    color: shaded(series),
    symbol: SYMBOLS[series % SYMBOLS.length],
    dash: drawing.shape === "lines" ? DASHES[series % DASHES.length] : undefined,
    width: Math.min(MOST_WIDTH, LEAST_WIDTH + STEP * (drawing.series.length - 1 - series)),
  });

  // The end of a point's interval.
  const upper = (of) => (of ? of.y + (of.within ?? 0) : null);
  const lower = (of) => of.y - (of.within ?? 0);

  // The panels of a figure have one scale, so that they can be compared.
  function scale(drawing) {
    const at = (panel) => [...new Set(panel.points.flat().map(({ x }) => x))];
    const values = drawing.panels.flatMap((panel) => at(panel).map((x) => panel.points.map((points) => upper(points.find((of) => of.x === x)))));
    if (drawing.shape === "bars" || drawing.log_y) return scaleOf({ values, logarithmic: drawing.log_y });
    const all = values.flat().filter((value) => value !== null);
    // Lines and points are not broken: a line that leaves the axes could not be followed.
    return scaleOf({ values: [[Math.min(...drawing.panels.flatMap((panel) => panel.points.flat().map(lower))), Math.max(...all)]] });
  }

  function draw(element) {
    const drawing = data.figures[element.dataset.figure];
    const panel = drawing.panels[element.dataset.panel];
    const paper = element.closest(".whole .wide") ? PAPER_WIDTH : Math.floor(PAPER_WIDTH / ABREAST) - 10;
    if (drawing.shape === "bars") {
      const values = (points) => panel.names.map((_, place) => points.find(({ x }) => x === place)?.y ?? null);
      const within = (points) => panel.names.map((_, place) => points.find(({ x }) => x === place)?.within ?? 0);
      const series = drawing.series.map((name, number) => ({ name: drawing.series.length > 1 ? name : "", color: shaded(number), values: values(panel.points[number]), within: within(panel.points[number]) }));
      drawBars(element, { names: panel.names, series, title: drawing.y_title, scale: scale(drawing), paper, along: drawing.x_title });
      return;
    }
    const width = isPrinting() ? paper : element.clientWidth;
    const { axis, ...options } = base();
    const isLines = drawing.shape === "lines";
    const { kind, min, max, interval } = scale(drawing);
    const isLogarithmic = kind === "logarithmic";
    const tall = isPrinting() ? 190 : width > 700 ? 300 : 250;
    const title = wrapped(isLogarithmic ? `${drawing.y_title} (logarithmic axis)` : drawing.y_title, tall - 50);
    const ticks = Math.max(...[min, max, max - (interval ?? 0)].map((value) => textWidth(tick(value))));
    const left = ticks + GAP + title.length * LINE + GAP;
    const named = !isLines && !narrow() && panel.points.flat().length <= FEW;
    const nameWidth = named ? Math.min(width * 0.35, Math.max(...panel.points.flat().map(({ name }) => textWidth(name, 11)))) : 0;
    const room = (width - left) / (panel.names?.length ?? 1);
    const labels = panel.names?.map((name) => wrapped(name, room - GAP));
    const lines = labels ? Math.max(...labels.map((of) => of.length)) : 1;
    const along = {
      ...axis,
      ...(labels
        ? { type: "category", data: panel.names, splitLine: { show: false }, axisLabel: { ...axis.axisLabel, lineHeight: LINE, margin: GAP, formatter: (_, at) => labels[at].join("\n") } }
        : { type: "value", scale: true, splitLine: { show: false }, axisTick: { show: true }, axisLabel: { ...axis.axisLabel, margin: 12 } }),
      name: drawing.x_title,
      nameLocation: "middle",
      nameGap: 15 + LINE * lines,
    };
    start(element, tall, "svg", paper).setOption({
      ...options,
      grid: { left, right: Math.max(16, nameWidth + 10), top: 12, bottom: 28 + LINE * (lines + 0.3) },
      xAxis: along,
      yAxis: {
        ...axis,
        type: isLogarithmic ? "log" : "value",
        min,
        max,
        interval,
        axisLabel: { ...axis.axisLabel, margin: GAP, formatter: tick },
        name: title.join("\n"),
        nameLocation: "middle",
        nameGap: ticks + GAP + 4,
        nameTextStyle: { ...axis.nameTextStyle, lineHeight: LINE },
      },
      tooltip: { ...options.tooltip, ...(isLines ? { trigger: "axis", axisPointer: { type: "line" } } : {}), formatter: (hit) => tip(drawing, panel, hit) },
      series: [...intervals(drawing, panel, min), ...drawing.series.map((name, number) => {
        const points = panel.points[number];
        const { color, symbol, dash, width: lineWidth } = style(drawing, number);
        return {
          type: isLines ? "line" : "scatter",
          name,
          symbol,
          symbolSize: isLines ? (points.length > 40 ? 3 : 7) : 9,
          showAllSymbol: true,
          itemStyle: { color, opacity: isLines ? 1 : 0.85 },
          lineStyle: { color, width: lineWidth, type: dash },
          label: { show: named, formatter: ({ data: at }) => wrapped(at.name, nameWidth, 1, 11)[0], position: "right", color: theme().ink, fontSize: 11 },
          labelLayout: { hideOverlap: true },
          data: points.map(({ x, y, within, name: called }) => ({ value: [x, y], within, name: called })),
        };
      })],
    });
    element.dataset.axis = kind;
  }

  // Upright lines over the intervals of points, a series each.
  function intervals(drawing, panel, min) {
    return panel.points.map((points, number) => {
      const rows = points.filter(({ within }) => within).map((of) => [of.x, Math.max(lower(of), min), upper(of)]);
      const renderItem = (_, api) => {
        const [[x, low], [, high]] = [api.coord([api.value(0), api.value(1)]), api.coord([api.value(0), api.value(2)])];
        const look = { stroke: style(drawing, number).color, lineWidth: 1.2, opacity: 0.7 };
        const line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: look });
        return { type: "group", children: [line(x, low, x, high), line(x - 3, low, x + 3, low), line(x - 3, high, x + 3, high)] };
      };
      return { type: "custom", silent: true, z: 1, data: rows, encode: { x: 0, y: [1, 2] }, renderItem, tooltip: { show: false } };
    }).filter(({ data: rows }) => rows.length > 0);
  }

  function tip(drawing, panel, hit) {
    const within = (of) => (of.data.within ? ` ± ${figures(of.data.within)}` : "");
    const y = ({ value }) => value[1];
    const many = (of) => (drawing.series.length > 1 ? `${esc(of.seriesName)}: ` : "");
    const at = (x) => (panel.names ? esc(panel.names[x]) : `${esc(drawing.x_title)} ${Number.isInteger(x) ? x : figures(x)}`);
    if (Array.isArray(hit)) {
      const rows = hit.filter((of) => of.seriesType !== "custom" && y(of) != null).map((of) => `${of.marker}${many(of)}<b>${figures(y(of))}</b>${within(of)}`);
      return [`<b>${at(hit[0].value[0])}</b>`, ...rows].join("<br>");
    }
    const called = hit.data.name ? `<b>${esc(hit.data.name)}</b><br>` : "";
    return `${called}${hit.marker}${many(hit)}${at(hit.value[0])}, ${esc(drawing.y_title)} <b>${figures(hit.value[1])}</b>${within(hit)}`;
  }

  drawBy(() => {
    for (const element of document.querySelectorAll("[data-plot]")) draw(element);
    for (const place of document.querySelectorAll("[data-key]")) {
      const drawing = data.figures[place.dataset.key];
      const look = (series) => (drawing.shape === "bars" ? { style: `background:${shaded(series)}` } : { line: style(drawing, series) });
      const key = keyOf(drawing.series.map((label, series) => ({ label, ...look(series) })), 40);
      place.replaceChildren(...key.childNodes);
    }
  });
})();
