extension PostgresSchema {
    /// Functions of SQLite that the statements use, as PostgreSQL can make them
    /// (<https://www.sqlite.org/lang_corefunc.html>, <https://www.sqlite.org/lang_aggfunc.html>).
    public static let functions = """
        CREATE FUNCTION max(a bigint, b bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT
            AS 'SELECT greatest(a, b)';
        CREATE FUNCTION min(a bigint, b bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT
            AS 'SELECT least(a, b)';
        CREATE FUNCTION iif(condition boolean, one anyelement, other anyelement)
            RETURNS anyelement LANGUAGE sql IMMUTABLE
            AS 'SELECT CASE WHEN condition THEN one ELSE other END';
        CREATE FUNCTION iif(condition boolean, one text, other text)
            RETURNS text LANGUAGE sql IMMUTABLE
            AS 'SELECT CASE WHEN condition THEN one ELSE other END';
        CREATE FUNCTION instr(text, text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT
            AS 'SELECT strpos($1, $2)::bigint';
        CREATE FUNCTION hex(bytea) RETURNS text LANGUAGE sql IMMUTABLE STRICT
            AS 'SELECT upper(encode($1, ''hex''))';
        CREATE FUNCTION json_each(text) RETURNS TABLE (value bigint) LANGUAGE sql IMMUTABLE STRICT
            AS 'SELECT element::bigint FROM json_array_elements_text($1::json) AS element';
        CREATE FUNCTION json_quote(text) RETURNS text LANGUAGE sql IMMUTABLE STRICT
            AS 'SELECT to_json($1)::text';
        CREATE FUNCTION json_list_with(list text, element text) RETURNS text
            LANGUAGE sql IMMUTABLE
            AS 'SELECT left(list, -1) || CASE list WHEN ''[]'' THEN '''' ELSE '','' END
                || json_quote(element) || '']''';
        CREATE AGGREGATE json_group_array(text)
            (SFUNC = json_list_with, STYPE = text, INITCOND = '[]');

        CREATE FUNCTION sum_of_truths(total bigint, truth boolean) RETURNS bigint
            LANGUAGE sql IMMUTABLE
            AS 'SELECT CASE WHEN truth IS NULL THEN total ELSE coalesce(total, 0) + truth::int END';
        CREATE AGGREGATE sum(boolean) (SFUNC = sum_of_truths, STYPE = bigint);

        CREATE FUNCTION concatenated(list text, element anyelement, separator text) RETURNS text
            LANGUAGE sql IMMUTABLE
            AS 'SELECT CASE WHEN element IS NULL THEN list
                ELSE coalesce(list || separator, '''') || element END';
        CREATE AGGREGATE group_concat(anyelement, text) (SFUNC = concatenated, STYPE = text);
        """
}
