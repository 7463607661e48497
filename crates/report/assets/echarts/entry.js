// The parts of Apache ECharts that the page needs; build.sh makes echarts.min.js of them.
import { BarChart, CustomChart, LineChart, ScatterChart } from "echarts/charts";
import {
  DataZoomInsideComponent,
  DataZoomSliderComponent,
  GridComponent,
  MarkLineComponent,
  TooltipComponent,
} from "echarts/components";
import { connect, graphic, init, use } from "echarts/core";
import { LabelLayout } from "echarts/features";
import { CanvasRenderer, SVGRenderer } from "echarts/renderers";

use([
  BarChart,
  CanvasRenderer,
  CustomChart,
  DataZoomInsideComponent,
  DataZoomSliderComponent,
  GridComponent,
  LabelLayout,
  LineChart,
  MarkLineComponent,
  SVGRenderer,
  ScatterChart,
  TooltipComponent,
]);

export { connect, graphic, init };
