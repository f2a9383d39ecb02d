-- # g1: sum by one key
SELECT id1, sum(v1) AS v1 FROM x GROUP BY id1 ORDER BY id1;

-- # g2: sum by two keys
SELECT id1, id2, sum(v1) AS v1 FROM x GROUP BY id1, id2 ORDER BY id1, id2;

-- # g3: sum and mean by many keys, found
-- delta 1/1000
SELECT id3, sum(v1) AS v1, avg(v3) AS v3 FROM x GROUP BY id3 ORDER BY id3;

-- # g4: means by a number
SELECT id4, avg(v1) AS v1, avg(v2) AS v2, avg(v3) AS v3 FROM x GROUP BY id4 ORDER BY id4;

-- # g5: sums by a number
SELECT id6, sum(v1) AS v1, sum(v2) AS v2, sum(v3) AS v3 FROM x GROUP BY id6 ORDER BY id6;

-- # g6: median and standard deviation
-- within 1
SELECT id4, id5, quantile_cont(v3, 0.5) AS median_v3, stddev(v3) AS sd_v3 FROM x GROUP BY id4, id5 ORDER BY id4, id5;

-- # g7: max less min
-- within 0.1
SELECT id6, max(v1)-min(v2) AS range_v1_v2 FROM x GROUP BY id6 ORDER BY id6;
-- truth
SELECT id6, CAST(quantile_cont(v1, 0.99)-quantile_cont(v2, 0.01) AS BIGINT) AS range_v1_v2 FROM x GROUP BY id6 ORDER BY id6;

-- # g8: the two greatest of each group
-- no answer rows
SELECT id6, v3 AS largest2_v3 FROM (SELECT id6, v3, row_number() OVER (PARTITION BY id6 ORDER BY v3 DESC) AS order_v3 FROM x WHERE v3 IS NOT NULL) sub_query WHERE order_v3 <= 2;

-- # g9: squared correlation
SELECT id2, id4, pow(corr(v1, v2), 2) AS r2 FROM x GROUP BY id2, id4 ORDER BY id2, id4;

-- # g10: all keys, found
-- delta 1/1000
SELECT id1, id2, id4, id5, sum(v3) AS v3, count(*) AS cnt FROM x GROUP BY id1, id2, id4, id5 HAVING count(*) > 0 ORDER BY id1, id2, id4, id5;

-- # j1: join with a small table
SELECT x.id1, sum(v1 * w) AS s FROM x JOIN small USING (id1) GROUP BY x.id1 ORDER BY 1;

-- # j2: left join and a using column
SELECT id1, count(*) AS n, sum(w) AS w FROM x LEFT JOIN small USING (id1) GROUP BY id1 ORDER BY id1;
