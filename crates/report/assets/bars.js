// Bars with their values written on them, side by side by name, upright or lying: for the pages of runs and of studies.
"use strict";
const bars = (() => {
  const { PAPER_WIDTH, isPrinting, esc, theme, textWidth, pieces, wrapped, brief, pace, figures, base, start } = frame;
  const LABEL = 12;
  // Between a label and what it belongs to.
  const GAP = 6;
  // A line of a label.
  const LINE = 14;
  // Letters of a value, the thickness of a bar that lies, alone at its name and beside others, and what is left between the bars of a
  // name and the next name's. Paper takes smaller ones.
  const SCREEN = { VALUE: 10, THICK: 17, THIN: 12, APART: 9 };
  const PAPER = { VALUE: 8.5, THICK: 13, THIN: 9, APART: 7 };
  const MOST_UPRIGHT = 34;
  // Beyond so many times the median an axis is broken, where so small a part of the names has such values.
  const [OUTLYING, MOST_OUTLYING] = [2.5, 1 / 3];

  const tick = (value) => (value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential(0) : value.toLocaleString("en", { maximumSignificantDigits: 3 }));

  // Tells if none, a few or many of these squeeze the others into a quarter, and the greatest that does not.
  function squeeze(maxima, line) {
    const sorted = maxima.filter(Number.isFinite).sort((a, b) => a - b);
    const [most, median] = [sorted.at(-1) ?? 1, sorted[(sorted.length - 1) >> 1] ?? 1];
    const inside = sorted.filter((value) => value <= Math.max(OUTLYING * median, line));
    const isFew = sorted.length - inside.length <= Math.max(1, sorted.length * MOST_OUTLYING);
    return { by: median <= 0 || median >= most / 4 ? "none" : isFew ? "few" : "many", limit: inside.at(-1) };
  }

  // The axis of `values`, of each name those of all series: linear; broken where a few names, or `bySeries` a few series, would squeeze
  // the others into a quarter; logarithmic where many names would.
  function scaleOf({ values, line = 0, logarithmic = false, bySeries = false }) {
    const all = values.flat().filter((value) => value !== null);
    const least = Math.min(0, ...all);
    const greatest = (of) => Math.max(...of.filter((value) => value !== null));
    const names = squeeze(values.map(greatest), line);
    const series = squeeze((values[0] ?? []).map((_, number) => greatest(values.map((of) => of[number]))), line);
    const few = least < 0 ? undefined : names.by === "few" ? names : bySeries && series.by === "few" ? series : undefined;
    const [isBroken, isSqueezed] = [few !== undefined && !logarithmic, least === 0 && names.by === "many"];
    if (logarithmic || (isSqueezed && !isBroken)) {
      const above = all.filter((value) => value > 0);
      const [low, high] = above.length ? [Math.min(...above), Math.max(...above)] : [1, 1];
      // Below the least value, so that every bar can be seen; bars begin at 1 unless told otherwise.
      const min = 10 ** (Math.ceil(Math.log10(low)) - 1);
      return { kind: "logarithmic", min, max: 10 ** Math.ceil(Math.log10(high * 1.0001)) };
    }
    const top = Math.max(line, isBroken ? few.limit : Math.max(0, ...all));
    const interval = pace((top - least) / 4 || 1);
    const [min, end] = [Math.floor(least / interval) * interval, Math.ceil(top / interval - 1e-9) * interval || interval];
    // A broken bar leaves a gap beyond the last label, and ends after it.
    return isBroken ? { kind: "broken", min, end, interval, max: end * 1.14, cuts: [end * 1.05, end * 0.025, end * 0.045] } : { kind: "linear", min, max: end, end, interval };
  }

  // The paper that a plot has: half of it beside another.
  const widthOf = (element, paper) => (isPrinting() ? (paper ?? PAPER_WIDTH) : element.clientWidth);

  // `names` stand along the axis, `series` beside each other at a name: `{ name, color, decal, values, within, colors, decals }`, a value
  // for each name or null, and half of its interval or 0. `title` names the values, `line` is drawn across all, `called` writes the series on its bars, `bold` is the index of
  // a name that weighs more, `bySeries` as in scaleOf. `scale` of several plots that are to be compared.
  function drawBars(element, { names, series, title, line, called = false, bold = -1, bySeries = false, scale, paper, along = "" }) {
    const width = widthOf(element, paper);
    const { VALUE, THICK, THIN, APART } = isPrinting() ? PAPER : SCREEN;
    const { ink, soft, paper: ground } = theme();
    const { axis, ...options } = base();
    const beside = series.length;
    const written = (value, of) => (value === null ? "" : called ? `${brief(value)} ${of.name}` : brief(value));
    const half = (of, at) => of.within?.[at] ?? 0;
    // The axis has room for intervals.
    const byName = names.map((_, at) => series.map((of) => (of.values[at] === null ? null : of.values[at] + half(of, at))));
    const { kind, min, max, end, interval, cuts } = scale ?? scaleOf({ values: byName, line, bySeries });
    const isLogarithmic = kind === "logarithmic";
    const widest = Math.max(0, ...series.flatMap((of) => of.values.map((value) => textWidth(written(value, of), VALUE))));
    const titled = kind === "linear" ? title : kind === "broken" ? `${title} (axis broken after ${tick(end)})` : `${title} (logarithmic axis)`;

    // Lying: labels take two fifths at most.
    const lying = names.map((name) => wrapped(name, width * 0.4));
    const labelWidth = Math.max(...lying.flat().map((text) => textWidth(text)));
    const thick = beside === 1 ? THICK : THIN;
    const band = Math.max(beside * thick + APART, Math.max(...lying.map((lines) => lines.length)) * LINE + 3);
    const lyingRoom = width - labelWidth - widest - 4 * GAP;
    // The title stands under the middle of the bars, which is not the middle of the plot.
    const middle = labelWidth + 2 * GAP + lyingRoom / 2;
    const lyingTitle = wrapped(titled, 2 * (width - middle) - GAP);
    const lyingHeight = names.length * band + LINE + 2 * GAP + lyingTitle.length * LINE;

    // Upright: where labels and values have room.
    const ticks = isLogarithmic ? [tick(min), tick(max)] : [tick(min), tick(end), tick(end - interval)];
    const tickWidth = Math.max(...ticks.map((text) => textWidth(text)));
    const tall = isPrinting() ? 190 : width > 700 ? 290 : 250;
    const uprightTitle = wrapped(titled, tall - 70);
    const left = tickWidth + GAP + uprightTitle.length * LINE + GAP;
    const room = (width - left - GAP) / names.length;
    const upright = names.map((name) => wrapped(name, room - GAP));
    const bar = Math.min(MOST_UPRIGHT, (room * 0.84) / beside);
    const isWhole = names.every((name) => pieces(name).every((piece) => textWidth(piece) <= room - GAP)) && upright.every((lines) => !lines.at(-1).endsWith("…"));
    const isUpright = !called && isWhole && bar > VALUE && lyingHeight > tall;
    const turned = isUpright && widest > bar - 1;

    const boldly = (lines, at) => lines.map((text) => (at === bold ? `{bold|${text}}` : text)).join("\n");
    const labels = isUpright ? upright : lying;
    const categories = {
      ...axis,
      type: "category",
      data: names,
      inverse: !isUpright,
      splitLine: { show: false },
      name: isUpright ? along : "",
      nameLocation: "middle",
      nameGap: 10 + LINE * Math.max(...upright.map((lines) => lines.length)),
      axisLabel: {
        ...axis.axisLabel,
        interval: 0,
        hideOverlap: false,
        margin: GAP,
        lineHeight: LINE,
        formatter: (_, at) => boldly(labels[at], at),
        rich: { bold: { fontWeight: 600, color: ink, fontSize: LABEL, lineHeight: LINE } },
      },
    };
    const values = {
      ...axis,
      type: isLogarithmic ? "log" : "value",
      min,
      max,
      interval,
      ...(isLogarithmic ? { startValue: min } : {}),
      axisLabel: { ...axis.axisLabel, margin: GAP, formatter: (value) => (kind === "broken" && value > end * 1.001 ? "" : tick(value)) },
      splitLine: { ...axis.splitLine, showMaxLine: kind !== "broken" },
      name: (isUpright ? uprightTitle : lyingTitle).join("\n"),
      nameLocation: "middle",
      nameGap: isUpright ? tickWidth + GAP + 4 : LINE + GAP + 2,
      nameTextStyle: { ...axis.nameTextStyle, lineHeight: LINE },
    };

    // At the end of a bar, or below it where the bar goes below 0; a value without a logarithm is written where its bar would begin.
    // Half of an interval on the paper, as far as the axis goes.
    const within = (of, at) => Math.max(0, Math.min(half(of, at), max - of.values[at]));
    const pixels = (amount) => (isLogarithmic ? 0 : (amount / (max - min)) * (isUpright ? tall - LINE - 4 * GAP : lyingRoom));
    const labelOf = (value, of, at) => ({
      show: true,
      formatter: written(value, of),
      position: isUpright ? (value < 0 ? "bottom" : "top") : value < 0 ? "left" : "right",
      distance: (turned ? 4 : 3) + pixels(within(of, at)),
      color: ink,
      textBorderColor: ground,
      textBorderWidth: 3,
      fontSize: VALUE,
      ...(turned ? { rotate: 90, align: value < 0 ? "right" : "left", verticalAlign: "middle" } : {}),
    });
    const goesOn = (value) => kind === "broken" && value !== null && value > end;
    const foot = (value) => (isLogarithmic && value <= 0 ? min : goesOn(value) ? cuts[0] : value);
    const looks = (of, at) => ({ color: of.colors?.[at] ?? of.color, decal: of.decals?.[at] ?? of.decal });
    // The line across lies behind the bars, so that it strikes no value through.
    const drawn = series.flatMap((of, number) => {
      const shared = { type: "bar", name: of.name, stack: kind === "broken" ? String(number) : undefined, barWidth: isUpright ? bar * 0.92 : thick - 1.5, barGap: isUpright ? "8%" : "12%" };
      const whole = of.values.map((value, at) => (value === null ? null : { value: foot(value), itemStyle: looks(of, at), ...(goesOn(value) ? {} : { label: labelOf(value, of, at) }) }));
      const across = { silent: true, z: 1, symbol: "none", animation: false, lineStyle: { color: soft, type: "dashed", width: 1.5 }, label: { show: false }, data: [isUpright ? { yAxis: line } : { xAxis: line }] };
      const first = { ...shared, data: whole, markLine: line !== undefined && number === 0 && !isLogarithmic ? across : undefined };
      if (!of.values.some(goesOn)) return [first];
      const gap = of.values.map((value) => (goesOn(value) ? { value: cuts[1], itemStyle: { color: "transparent" } } : null));
      const rest = of.values.map((value, at) => (goesOn(value) ? { value: cuts[2], itemStyle: looks(of, at), label: labelOf(value, of, at) } : null));
      return [first, { ...shared, data: gap }, { ...shared, data: rest }];
    });

    const [size, gap] = isUpright ? [bar * 0.92, bar * 0.92 * 0.08] : [thick - 1.5, (thick - 1.5) * 0.12];
    const whiskers = series.map((of, number) => {
      const rows = of.values.map((value, at) => [at, value, half(of, at)]).filter(([, value, within]) => value !== null && within > 0 && !goesOn(value));
      const aside = (number - (beside - 1) / 2) * (size + gap);
      const renderItem = (_, api) => {
        const [at, value, within] = [0, 1, 2].map((place) => api.value(place));
        const ends = [Math.max(value - within, min), Math.min(value + within, max)].map((end) => {
          const [x, y] = api.coord(isUpright ? [at, end] : [end, at]);
          return isUpright ? [x + aside, y] : [x, y + aside];
        });
        const style = { stroke: ink, lineWidth: 1.2 };
        const line = ([x1, y1], [x2, y2]) => ({ type: "line", shape: { x1, y1, x2, y2 }, style });
        const cap = ([x, y]) => (isUpright ? line([x - 3, y], [x + 3, y]) : line([x, y - 3], [x, y + 3]));
        return { type: "group", children: [line(...ends), ...ends.map(cap)] };
      };
      return { type: "custom", silent: true, z: 4, data: rows, encode: isUpright ? { x: 0, y: 1 } : { x: 1, y: 0 }, renderItem, tooltip: { show: false } };
    });

    const bottom = isUpright ? GAP + LINE * Math.max(...upright.map((lines) => lines.length)) + (along ? LINE + 4 : 0) : LINE + 2 * GAP + lyingTitle.length * LINE;
    const chart = start(element, isUpright ? tall + bottom - 26 : lyingHeight, "svg", paper);
    chart.setOption({
      ...options,
      grid: isUpright ? { left, right: GAP, top: (turned ? widest : LINE) + 2 * GAP, bottom } : { left: labelWidth + 2 * GAP, right: widest + 2 * GAP, top: 2, bottom },
      xAxis: isUpright ? categories : values,
      yAxis: isUpright ? values : categories,
      tooltip: { ...options.tooltip, trigger: "axis", axisPointer: { type: "shadow" }, formatter: ([{ dataIndex: at }]) => tip(names, series, at, looks) },
      series: [...drawn, ...whiskers.filter((of) => of.data.length)],
    });
    element.dataset.axis = kind;
  }

  function tip(names, series, at, looks) {
    const rows = series.filter((of) => of.values[at] !== null).map((of) => {
      const marker = `<span style="display:inline-block;width:9px;height:9px;margin-right:5px;border-radius:2px;background:${looks(of, at).color}"></span>`;
      const within = of.within?.[at] ? ` ± ${figures(of.within[at])}` : "";
      return `${marker}${of.name ? `${esc(of.name)}: ` : ""}<b>${figures(of.values[at])}</b>${within}`;
    });
    return [`<b>${esc(names[at])}</b>`, ...rows].join("<br>");
  }

  return { drawBars, scaleOf, tick };
})();
