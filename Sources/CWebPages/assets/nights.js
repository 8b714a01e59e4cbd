/**
 * Nights, as the server makes them of the single records of sleep.
 *
 * @typedef {{stage: string, start: number, end: number}} Part
 * @typedef {{day: string, start: number, end: number, asleep: number, isOver: boolean,
 *     parts: Part[]}} Night
 *     day: the one on which it ends; asleep: minutes; isOver: whether it has ended
 */
import {getOrNone} from "./api.js";

/**
 * Loads the nights that end on days, the latest one first.
 *
 * @param {{since: string, until?: string}} days as the API takes them: `30d` counts back from the
 *     newest night
 * @param {AbortSignal} [signal]
 * @returns {Promise<{nights: Night[], rows: any[], newest: string | null}>}
 */
export async function loadNights(days, signal) {
    const answer = await getOrNone("nights", days, signal);
    const rows = answer?.rows ?? [];
    const instant = ({stage, start, end}) =>
        ({stage, start: Date.parse(start), end: Date.parse(end)});
    const nights = rows.map((row) => ({
        day: row.night,
        start: Date.parse(row.start),
        end: Date.parse(row.end),
        asleep: row.asleep_minutes,
        isOver: row.is_over,
        parts: row.parts.map(instant),
    }));
    return {nights, rows, newest: answer?.newest ?? null};
}

/** Minutes of each stage. @param {Night} night @returns {Map<string, number>} */
export function minutesByStage(night) {
    const sums = new Map();
    for (const part of night.parts) {
        sums.set(part.stage, (sums.get(part.stage) ?? 0) + (part.end - part.start) / 60_000);
    }
    return sums;
}

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
