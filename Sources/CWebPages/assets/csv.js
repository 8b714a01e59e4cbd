/**
 * Comma-separated values (RFC 4180), by the rule of `CSVText` in Reports/Health/HealthReport.swift.
 *
 * A text may come from elsewhere, so one that a spreadsheet would take for a formula gets an
 * apostrophe in front (OWASP, CSV Injection). Numbers stay numbers.
 */

const formula = /^(?:[\t\r\n]|[\s\u0085\uFEFF]*[=+\-@＝＋－＠])/u;
const number = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** @param {string | number | null | undefined} value */
export function csvField(value) {
    let text = String(value ?? "");
    if (formula.test(text) && !number.test(text)) text = `'${text}`;
    return /[,;"\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** @param {(string | number | null | undefined)[][]} records */
export const csvText = (records) =>
    records.map((fields) => `${fields.map(csvField).join(",")}\r\n`).join("");
