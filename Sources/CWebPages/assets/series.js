/**
 * What Explore draws: a type of records over a range of time, as at most some 2,000 buckets.
 *
 * @typedef {{x: number, min: number, mean: number, max: number, count: number, key: string}} Point
 *     x: the middle of the bucket, or the instant of the record; key: its name in the API
 * @typedef {{type: string, title: string, isSum: boolean, measure: string | null, first: number,
 *     last: number, unit: string}} Kind a type that has numbers; a sum is counted up, any other type
 *     is a level, drawn as a band; measure: what days that count a watch and a phone once are of
 * @typedef {object} Series
 * @property {Kind} kind
 * @property {string} resolution raw, hour, day or month
 * @property {boolean} merged whether a watch and a phone are counted once
 * @property {number} from
 * @property {number} to
 * @property {Point[]} points
 */
import {get, getOrNone, shortType} from "./api.js";
import {dayOf, startOfDay, unitText, zoneOffset} from "./format.js";

const day = 86_400_000;

/** What the numbers of a drawn series are in. */
export const seriesUnit = (kind) => (kind.unit === "count" ? "" : unitText(kind.unit));

/** The types with numbers, by name. @returns {Promise<Kind[]>} */
export async function loadKinds(signal) {
    const types = await getOrNone("records", {}, signal);
    return (types ?? []).filter((one) => one.units.length > 0)
        .map((one) => ({
            type: shortType(one.type),
            title: one.title,
            isSum: one.is_sum,
            measure: one.measure,
            first: Date.parse(one.first_at),
            last: Date.parse(one.last_at),
            unit: one.units[0],
        }))
        .sort((a, b) => a.title.localeCompare(b.title));
}

/**
 * The finest resolution that stays below some 2,000 buckets over a length of time. A sum says
 * little by the hour over many days, so that it is shown by the day sooner.
 */
export function resolutionFor(length, kind) {
    if (kind.isSum) {
        if (length <= 8 * day) return "hour";
        return length <= 2000 * day ? "day" : "month";
    }
    if (length <= 2 * day) return "raw";
    if (length <= 80 * day) return "hour";
    if (length <= 2000 * day) return "day";
    return "month";
}

/**
 * Loads a type over a range. More than 2,000 single records are loaded by the hour instead.
 *
 * @param {Kind} kind @param {number} from @param {number} to instants
 * @returns {Promise<Series>}
 */
export async function loadSeries(kind, from, to, resolution, signal) {
    const [since, until] =
        [dayOf(Math.max(from, kind.first)), dayOf(Math.min(to, Math.max(kind.last, from)))];
    const covered = {from: startOfDay(since), to: startOfDay(until) + day};
    if (kind.measure && (resolution === "day" || resolution === "month")) {
        const points = await mergedDays(kind.measure, since, until, signal);
        return {
            kind,
            resolution,
            merged: true,
            ...covered,
            points: resolution === "day" ? points : monthsOf(points)
        };
    }
    const {rows} = await get("records", {type: kind.type, by: resolution, since, until}, signal);
    if (resolution === "raw" && rows.length > 2000)
        return loadSeries(kind, from, to, "hour", signal);
    return {
        kind,
        resolution,
        merged: false,
        ...covered,
        points: rows.map((row) => pointOf(row, kind, resolution))
            .filter((point) => Number.isFinite(point.mean))
    };
}

function pointOf(row, kind, resolution) {
    // Apple Health writes 96 % as 0.96.
    const scale = row.unit === "%" ? 100 : 1;
    if (resolution === "raw") {
        const value = Number(row.value) * scale;
        return {
            x: Date.parse(row.start),
            min: value,
            mean: value,
            max: value,
            count: 1,
            key: row.start
        };
    }
    const key = row.hour ?? row.day ?? row.month;
    if (kind.isSum) {
        const sum = row.sum * scale;
        return {x: middleOf(key, resolution), min: sum, mean: sum, max: sum, count: row.count, key};
    }
    return {
        x: middleOf(key, resolution),
        min: row.min * scale,
        mean: row.mean * scale,
        max: row.max * scale,
        count: row.count,
        key
    };
}

/** Days on which a watch and a phone are counted once. */
async function mergedDays(measure, since, until, signal) {
    const answer = await get(`metrics/${measure}`, {since}, signal);
    const found = answer.measures.find((one) => one.measure === measure);
    return (found?.days ?? []).filter((one) => one.day <= until).map((one) => {
        const value = one.total ?? one.mean;
        return {
            x: middleOf(one.day, "day"),
            min: value,
            mean: value,
            max: value,
            count: one.count,
            key: one.day
        };
    });
}

/** Months of a sum: the mean of its days, from the least to the greatest day. */
function monthsOf(days) {
    const months = new Map();
    for (const one of days) {
        const key = one.key.slice(0, 7);
        if (!months.has(key)) months.set(key, []);
        months.get(key).push(one.mean);
    }
    return [...months].map(([key, values]) => ({
        key,
        x: middleOf(key, "month"),
        count: values.length,
        min: Math.min(...values),
        max: Math.max(...values),
        mean: values.reduce((sum, value) => sum + value, 0) / values.length,
    }));
}

/** @type {Map<string, number>} */
const offsets = new Map();

/** The middle of a bucket. An offset a month will do: an hour is not seen at the scale of days. */
function middleOf(key, resolution) {
    if (resolution === "hour") return Date.parse(key) + day / 48;
    const middle =
        resolution === "day" ? Date.parse(`${key}T12:00:00Z`) : Date.parse(`${key}-15T12:00:00Z`);
    const month = key.slice(0, 7);
    if (!offsets.has(month)) offsets.set(month, zoneOffset(middle));
    return middle - offsets.get(month);
}

/** The gap that a line still bridges; a type that is measured once a day has long ones. */
export function longestBridge({points, resolution}) {
    const gaps =
        points.slice(1).map((point, index) => point.x - points[index].x).sort((a, b) => a - b);
    const usual = gaps[Math.floor(gaps.length / 2)] ?? 0;
    return Math.max(
        4 * usual, {raw: day / 8, hour: day / 2, day: 10 * day, month: 70 * day}[resolution]);
}

/** Least, mean and greatest of what is within a range, each record or day weighing the same. */
export function totals(series, from, to) {
    const points = series.points.filter((point) => point.x >= from && point.x <= to);
    if (points.length === 0) return null;
    const weight = points.reduce((sum, point) => sum + point.count, 0);
    return {
        buckets: points.length,
        count: weight,
        min: Math.min(...points.map((point) => point.min)),
        max: Math.max(...points.map((point) => point.max)),
        mean: series.kind.isSum && series.resolution !== "month"
            ? points.reduce((sum, point) => sum + point.mean, 0) / points.length
            : points.reduce((sum, point) => sum + point.mean * point.count, 0) / weight,
    };
}
