/** One workout: its sums, its heart rate over time, and its splits. */
import {getOrNone, RequestError} from "./api.js";
import {behind, facts, h, svg, table} from "./dom.js";
import {civilDay, clockTime, dayOf, measure, mile, moment, number, span, usesMiles} from "./format.js";
import {figure} from "./page-workouts.js";

const minute = 60_000;
/** Where one range of heart rates ends and the next begins, in beats a minute. */
const limits = [100, 120, 140, 160];

async function load({id, signal}) {
    const start = Number(id) * 1000;
    const day = dayOf(start);
    const answer = await getOrNone("workouts", {since: day, until: day}, signal);
    const workout = (answer?.rows ?? []).find((one) => Date.parse(one.start) === start);
    if (!workout) throw new RequestError(404, "No workout begins at this time.");
    const last = dayOf(workout.end);
    const records = async (type) => {
        const words = {type, by: "raw", since: day, until: last};
        const found = await getOrNone("records", words, signal);
        return (found?.rows ?? [])
            .map((row) => ({
                start: Date.parse(row.start),
                end: Date.parse(row.end),
                value: Number(row.value),
                unit: row.unit,
                source: row.source
            }))
            .filter((row) => row.start >= start && row.end <= Date.parse(workout.end)
                && Number.isFinite(row.value));
    };
    const [hearts, ways, points] = await Promise.all([
        records("HeartRate"), records("DistanceWalkingRunning"),
        getOrNone("records", {
            type: "WorkoutRoutePoint", by: "raw", since: day, until: last
        }, signal),
    ]);
    const route = (points?.rows ?? [])
        .filter((row) => Date.parse(row.start) >= start && row.start <= workout.end)
        .map((row) => ({lat: Number(row.metadata?.lat), lon: Number(row.metadata?.lon)}))
        .filter(({lat, lon}) => Number.isFinite(lat) && Number.isFinite(lon));
    return {workout, hearts, ways, route};
}

function draw({workout, hearts, ways, route}) {
    const [start, end] = [Date.parse(workout.start), Date.parse(workout.end)];
    return [
        h("p", {class: "small"}, h("a", {href: "/workouts"}, "Workouts")),
        h("h1", null, workout.title),
        h("p", {class: "lead"},
            civilDay(dayOf(start), {
                weekday: "long", day: "numeric", month: "long", year: "numeric"
            }), `, ${clockTime(start)} to ${clockTime(end)}`),
        h("section", {class: "panel", "aria-labelledby": "sums"}, h("h2", {id: "sums"}, "Sums"),
            facts([
                ["Length", measure(Math.round(workout.minutes), "min")],
                ["Distance", figure(workout.distance, workout.distance_unit)],
                ["Energy", figure(workout.energy, workout.energy_unit)],
                ["Heart rate, on average", figure(workout.heart_rate, workout.heart_rate_unit)],
                ["Begun", moment(workout.start)],
                ["Source", workout.source],
            ])),
        routePanel(route),
        heartPanel(hearts, start, end),
        splitsPanel(ways, start),
    ];
}

/** The most points of a drawn route. */
const mostPoints = 2000;

/** The route on a plain ground: no map is asked of anybody, who would learn where it was. */
function routePanel(route) {
    if (route.length < 2) return null;
    const step = Math.ceil(route.length / mostPoints);
    const shown = route.filter((_, index) => index % step === 0 || index === route.length - 1);
    const middle = shown[Math.floor(shown.length / 2)].lat;
    // A degree of longitude is shorter than one of latitude.
    const places = shown.map(({lat, lon}) =>
        ({x: lon * Math.cos(middle * Math.PI / 180), y: -lat}));
    const edge = (pick, name) => pick(...places.map((place) => place[name]));
    const [left, top] = [edge(Math.min, "x"), edge(Math.min, "y")];
    const size = Math.max(edge(Math.max, "x") - left, edge(Math.max, "y") - top) || 1;
    const at = ({x, y}) =>
        `${(20 + 560 * (x - left) / size).toFixed(1)} ${(20 + 560 * (y - top) / size).toFixed(1)}`;
    const height = 40 + 560 * (edge(Math.max, "y") - top) / size;
    const width = 40 + 560 * (edge(Math.max, "x") - left) / size;
    return h("section", {class: "panel", "aria-labelledby": "route"},
        h("h2", {id: "route"}, "Route"),
        h("p", {class: "muted"}, h("data", {value: route.length, id: "points"},
            number(route.length)), " points, north at the top."),
        svg("svg", {
            class: "route", viewBox: `0 0 ${width.toFixed(1)} ${height.toFixed(1)}`, role: "img",
            "aria-label": "The way of the workout, without a map",
        }, svg("path", {d: places.map((place, index) => `${index ? "L" : "M"}${at(place)}`).join(""),
            "vector-effect": "non-scaling-stroke"})));
}

function heartPanel(hearts, start, end) {
    if (hearts.length < 2) return null;
    const values = hearts.map((one) => one.value);
    const [least, most] = [Math.min(...values), Math.max(...values)];
    const x = (instant) => (1000 * (instant - start) / (end - start)).toFixed(1);
    const y = (value) => (4 + 132 * (most - value) / Math.max(1, most - least)).toFixed(1);
    const path = hearts.map((one, index) => `${index ? "L" : "M"}${x(one.start)} ${y(one.value)}`);
    const label = `Heart rate from ${number(least, 0)} to ${number(most, 0)} a minute.`;
    return h("section", {class: "panel", "aria-labelledby": "heart"},
        h("h2", {id: "heart"}, "Heart rate"),
        h("p", {class: "muted"}, `${number(hearts.length)} values, from `, measure(least, "/min"),
            " to ", measure(most, "/min"), "."),
        svg("svg", {
            class: "curve", viewBox: "0 0 1000 140", preserveAspectRatio: "none", width: "100%",
            height: 140, role: "img", "aria-label": label,
        }, svg("path", {d: path.join(""), "vector-effect": "non-scaling-stroke"})),
        h("div", {class: "ends small muted", "aria-hidden": "true"},
            h("span", null, clockTime(start)), h("span", null, clockTime(end))),
        behind("Time in each range", () => table("Time in each range", ["Beats a minute", "#Time"],
            ranges(hearts, end).map(([name, length]) => [name, span(length)]))));
}

/** How long the heart rate was in each range: a value holds until the next one, at most 5 minutes. */
function ranges(hearts, end) {
    const sums = new Array(limits.length + 1).fill(0);
    hearts.forEach((one, index) => {
        const next = hearts[index + 1]?.start ?? end;
        const place = limits.filter((limit) => one.value >= limit).length;
        sums[place] += Math.min(next - one.start, 5 * minute);
    });
    const name = (place) => place === 0 ? `below ${limits[0]}`
        : place === limits.length ? `${limits.at(-1)} and above`
                                  : `${limits[place - 1]} to ${limits[place] - 1}`;
    return sums.map((length, place) => [name(place), length]);
}

/** When each whole kilometre or mile was reached, from the distances of the source that has the most. */
function splitsPanel(ways, start) {
    const bySource = new Map();
    for (const way of ways) {
        if (!bySource.has(way.source)) bySource.set(way.source, []);
        bySource.get(way.source).push(way);
    }
    const own = [...bySource.values()].sort((a, b) => b.length - a.length)[0] ?? [];
    const kilometres = {km: 1, m: 0.001, mi: mile}[own[0]?.unit];
    if (!kilometres) return null;
    const scale = usesMiles() ? kilometres / mile : kilometres;
    const [one, many] = usesMiles() ? ["Mile", "Miles"] : ["Kilometre", "Kilometres"];
    const splits = [];
    let [sum, last] = [0, start];
    for (const way of own) {
        const length = way.value * scale;
        while (sum + length >= splits.length + 1 && length > 0) {
            const share = (splits.length + 1 - sum) / length;
            const at = way.start + share * (way.end - way.start);
            splits.push(at - last);
            last = at;
        }
        sum += length;
    }
    if (splits.length === 0) return null;
    return h("section", {class: "panel", "aria-labelledby": "splits"},
        h("h2", {id: "splits"}, many),
        table(many, [one, "#Time"],
            splits.map((length, index) => [number(index + 1), span(length)])));
}

export default {title: "Workout", load, draw};
