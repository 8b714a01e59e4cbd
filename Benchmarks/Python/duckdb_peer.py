"""duckdb_peer.py make CSV PARQUET: writes the records of a CSV file to a Parquet file.
duckdb_peer.py ask PARQUET: prints the milliseconds in which DuckDB says what each day adds up to."""
import sys
import time

import duckdb

if sys.argv[1] == "make":
    duckdb.sql(f"COPY (SELECT * FROM read_csv('{sys.argv[2]}')) TO '{sys.argv[3]}' (FORMAT parquet)")
else:
    database = duckdb.connect()
    begun = time.perf_counter()
    rows = database.execute(f"""
        SELECT date_trunc('day', start::TIMESTAMP), unit, count(*), min(value), avg(value), max(value),
            sum(value), sum(epoch("end"::TIMESTAMP) - epoch(start::TIMESTAMP))
        FROM read_parquet('{sys.argv[2]}') GROUP BY 1, 2 ORDER BY 1""").fetchall()
    print((time.perf_counter() - begun) * 1000)
    assert rows
