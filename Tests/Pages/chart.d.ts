// Chart.js comes from Debian's package, without types; charts.js loads it by the name under which
// the server has it, and finds it as a global.
declare module "*/chart.js";
declare var Chart: any;
