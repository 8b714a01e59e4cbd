/**
 * Nights, made of the single records of sleep.
 *
 * @typedef {{stage: string, start: number, end: number}} Part
 * @typedef {{day: string, start: number, end: number, parts: Part[]}} Night
 *     day: the one on which it ends
 */
import {getOrNone} from "./api.js";
import {addDays, dayOf} from "./format.js";

const hour = 3_600_000;

/**
 * Loads the nights that end on the last days, the latest one first.
 *
 * @param {number} days
 * @param {AbortSignal} [signal]
 * @returns {Promise<Night[]>}
 */
export async function loadNights(days, signal) {
    const first = addDays(dayOf(Date.now()), -days);
    const words = {type: "SleepAnalysis", by: "raw", since: addDays(first, -1)};
    const answer = await getOrNone("records", words, signal);
    return nightsOf(answer?.rows ?? []).filter((night) => night.day > first);
}

/**
 * Groups records to nights. A pause of 90 minutes ends a stretch of sleep; the longest stretch that
 * ends on a day is its night.
 *
 * @param {{start: string, end: string, value: string, source: string}[]} rows
 * @returns {Night[]}
 */
function nightsOf(rows) {
    const records = rows
        .map((row) => ({
            stage: row.value.replace("HKCategoryValueSleepAnalysis", ""),
            source: row.source,
            start: Date.parse(row.start),
            end: Date.parse(row.end),
        }))
        .filter((record) => record.stage !== "InBed" && record.end > record.start)
        .sort((a, b) => a.start - b.start);
    /** @type {Map<string, Night>} */
    const byDay = new Map();
    let stretch = [];
    const finish = () => {
        const night = nightOf(stretch);
        if (night && (byDay.get(night.day)?.parts ?? []).length < night.parts.length)
            byDay.set(night.day, night);
        stretch = [];
    };
    let end = -Infinity;
    for (const record of records) {
        if (record.start - end > 1.5 * hour && stretch.length > 0) finish();
        stretch.push(record);
        end = Math.max(stretch.length > 1 ? end : -Infinity, record.end);
    }
    if (stretch.length > 0) finish();
    return [...byDay.values()].sort((a, b) => b.start - a.start);
}

/** Where two sources have the same night, the one that knows more stages is shown. */
function nightOf(records) {
    const kinds = new Map();
    for (const record of records) {
        if (!kinds.has(record.source)) kinds.set(record.source, new Set());
        kinds.get(record.source).add(record.stage);
    }
    const source = [...kinds].sort((a, b) => b[1].size - a[1].size)[0]?.[0];
    const parts = records.filter((record) => record.source === source);
    const start = parts[0].start;
    const end = Math.max(...parts.map((part) => part.end));
    return {
        day: dayOf(end),
        start,
        end,
        parts: parts.map(({stage, start, end}) => ({stage, start, end}))
    };
}

/** Minutes of each stage. @param {Night} night @returns {Map<string, number>} */
export function minutesByStage(night) {
    const sums = new Map();
    for (const part of night.parts) {
        sums.set(part.stage, (sums.get(part.stage) ?? 0) + (part.end - part.start) / 60_000);
    }
    return sums;
}

/** Minutes asleep. @param {Night} night */
export const asleep = (night) =>
    night.parts.filter((part) => part.stage !== "Awake")
        .reduce((sum, part) => sum + (part.end - part.start) / 60_000, 0);

/**
 * How regular nights are: the usual times, as minutes from midnight, and within how many minutes of
 * them half of all nights begin and end.
 *
 * @param {Night[]} nights
 * @param {(instant: number) => number} minuteOfDay from -720 to 720
 */
export function regularity(nights, minuteOfDay) {
    const middle = (values) => {
        const sorted = [...values].sort((a, b) => a - b);
        const half = sorted.length / 2;
        return sorted.length % 2 ? sorted[Math.floor(half)] : (sorted[half - 1] + sorted[half]) / 2;
    };
    const usual = (instants) => {
        const minutes = instants.map(minuteOfDay);
        const at = middle(minutes);
        return {at, within: middle(minutes.map((minute) => Math.abs(minute - at)))};
    };
    return {
        start: usual(nights.map((night) => night.start)),
        end: usual(nights.map((night) => night.end))
    };
}
