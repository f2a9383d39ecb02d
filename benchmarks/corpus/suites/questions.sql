-- # slt 1: a case with a scalar sub-query
SELECT AVG(CASE WHEN c > (SELECT avg(c) FROM t1) THEN a*2 ELSE b*10 END) AS x FROM t1;

-- # slt 2: between and arithmetic
SELECT COUNT(*) AS n, SUM(a+b*2+c*3+d*4+e*5) AS s FROM t1 WHERE d NOT BETWEEN 110 AND 150 OR (e > c OR e < d);

-- # slt 3: abs and differences
SELECT AVG(abs(b-c)) AS x, AVG((a+b+c+d+e)/5) AS y FROM t1 WHERE b > c AND c > d;

-- # slt 4: case of ranges
SELECT CASE a+1 WHEN b THEN 111 WHEN c THEN 222 WHEN d THEN 333 WHEN e THEN 444 ELSE 555 END AS k, COUNT(*) AS n FROM t1 GROUP BY 1 ORDER BY 1;

-- # slt 5: exists of the same table
-- no answer pairs
SELECT COUNT(*) AS n FROM t1 WHERE EXISTS (SELECT 1 FROM t1 AS x WHERE x.b < t1.b);

-- # slt 6: count of a correlated sub-query
-- no answer pairs
SELECT SUM((SELECT count(*) FROM t1 AS x WHERE x.b < t1.b)) AS n FROM t1;

-- # slt 7: null tests
SELECT COUNT(*) AS n FROM t1 WHERE (c <= d-2 OR c >= d+2) AND coalesce(a,b,c,d,e) <> 0 AND b IS NOT NULL;

-- # slt 8: DISTINCT and ALL in aggregates
SELECT COUNT(ALL a) AS n, COUNT(DISTINCT a) AS m, SUM(DISTINCT a) AS s FROM t1;

-- # slt 9: casts and negation
SELECT - COUNT(*) AS n, + 46 AS c, CAST(- AVG(a) AS INTEGER) AS m FROM t1;

-- # slt 10: constants only
SELECT COUNT(*) * - 75 + 35 AS col0, NULLIF(23, COUNT(*)) AS col1 FROM t1 AS cor0;

-- # slt 11: cross joins of a public table
SELECT COUNT(*) AS n FROM t1 CROSS JOIN nums;

-- # slt 12: in a list of expressions
SELECT COUNT(*) AS n FROM t1 WHERE a IN (100 + 1, 2 * 60, -(-130), CAST(140 AS INTEGER));

-- # slt 13: not in a list with expressions
SELECT COUNT(*) AS n FROM t1 WHERE NOT a IN (100 + 1, 2 * 60) AND b NOT IN (101, c, 105);

-- # slt 14: between with columns
SELECT COUNT(*) AS n FROM t1 WHERE a BETWEEN b AND c;

-- # pg 1: aggregates
SELECT avg(four) AS avg_1, sum(four) AS sum_1500, count(four) AS cnt_1000, count(DISTINCT four) AS cnt_4 FROM tenk1;

-- # pg 2: by ten
select ten, count(*) as n, sum(four) as s from tenk1 group by ten order by ten;

-- # pg 3: distinct counts by ten
select ten, count(four) as n, sum(DISTINCT four) as s from tenk1 group by ten order by ten;

-- # pg 5: bool_and and bool_or
-- no answer rows
select bool_and(odd) as a from tenk1;
-- instead
select count_if(not (odd)) < 1 as a from tenk1;

-- # pg 6: filter
select sum(four) filter (where hundred > 50) as s, count(*) filter (where odd) as n, avg(f) filter (where string4 = 'AAAA') as m from tenk1;

-- # pg 7: filter of a distinct
select count(distinct thousand) filter (where two = 1) as n from tenk1;

-- # pg 8: variances
SELECT var_pop(f) AS vp, var_samp(f) AS vs, stddev_pop(f) AS sp, stddev_samp(f) AS ss FROM tenk1;

-- # pg 9: regression
SELECT regr_count(f, hundred) AS n, regr_sxx(f, hundred) AS sxx, regr_syy(f, hundred) AS syy, regr_sxy(f, hundred) AS sxy, regr_avgx(f, hundred) AS ax, regr_avgy(f, hundred) AS ay, regr_r2(f, hundred) AS r2 FROM tenk1;

-- # pg 10: covariance and correlation
SELECT covar_pop(f, hundred) AS cp, covar_samp(f, hundred) AS cs, corr(f, hundred) AS c FROM tenk1;

-- # pg 11: bit aggregates
-- no answer rows
SELECT bit_and(four) AS a, bit_or(four) AS o, bit_xor(four) AS x FROM tenk1;

-- # pg 12: percentiles
select percentile_cont(0.5) within group (order by thousand) as p from tenk1;

-- # pg 14: mode
select mode() within group (order by string4) as m from tenk1;

-- # pg 15: array_agg
-- no answer texts
select array_agg(four order by four) as a from tenk1;

-- # pg 16: string_agg
-- no answer texts
select string_agg(string4, ',') as a from tenk1;

-- # pg 17: rank of a hypothetical
select rank(3) within group (order by four) as r from tenk1;

-- # pg 18: aggregates of aggregates
select avg(n) as a, max(n) - min(n) as r from (select ten, count(*) as n from tenk1 where odd group by ten) as q;

-- # pg 19: min of a union
select sum(n) as n from (select count(*) as n from tenk1 union all select count(*) from t1) as u;

-- # pg 20: grouping by an expression
select hundred % 7 as m, count(*) as n from tenk1 group by hundred % 7 having count(*) > 10 order by 1;

-- # pg gs 1: grouping sets
-- within 0.5
select a, b, grouping(a,b) as g, sum(v) as s, count(*) as n, max(v) as m from gstest1 group by rollup (a,b) order by g, a, b;
-- truth
select a, b, grouping(a,b) as g, sum(v) as s, count(*) as n, quantile_cont(v, 0.99) as m from gstest1 group by rollup (a,b) order by g, a, b;

-- # pg gs 2: order by grouping
select a, b, sum(v) as s from gstest1 group by rollup (a,b) order by grouping(a), a nulls last, b nulls last;

-- # pg gs 3: cube and a set
select a, b, sum(v) as s, count(*) as n from gstest1 group by grouping sets (cube(a,b), (a)) order by all;

-- # pg gs 4: rollup in grouping sets
select a, b, count(*) as n from gstest1 group by grouping sets ((a,b),(),(),(b)) order by all;

-- # pg gs 5: window over grouping sets
select a, b, sum(v) as s, sum(sum(v)) over (order by a,b) as rsum from gstest1 group by cube(a,b) order by a nulls last, b nulls last, s;

-- # pg gs 6: having in rollup
select a, count(*) as n from gstest1 group by rollup(a) having a is distinct from 1 order by a;

-- # pg gs 7: having grouping
select two, four, count(*) as n from tenk1 group by rollup (two, four) having grouping(four) = 1 order by two nulls last;

-- # pg gs 8: empty grouping set
select sum(v) as s, count(*) as n from gstest1 group by ();

-- # pg gs 9: an expression that is grouped
select a + b as k, grouping(a + b) as g, sum(v) as s from gstest1 group by rollup (a + b) order by k nulls last;

-- # pg gs 10: product of two rollups
select a, b, sum(v) as s from gstest1 group by rollup(a), rollup(b) order by all;

-- # win 1: running sum of released counts
select four, ten, sum(sum(four)) over (partition by four order by ten) as run from tenk1 group by four, ten having count(*) > 0.5 order by four, ten;

-- # win 2: rank and named windows
select depname, count(*) as n, rank() over w as r, sum(count(*)) over w as c from empsalary group by depname window w as (order by count(*) desc) order by depname;

-- # win 3: mean salary of a department beside each person
-- no answer rows
select depname, empno, salary, avg(salary) over (partition by depname) as m from empsalary order by depname, empno;

-- # win 4: frames
select ten, count(*) as n, sum(count(*)) over (order by ten rows between 2 preceding and 1 following exclude current row) as s from tenk1 group by ten order by ten;

-- # win 5: range frames
select ten, avg(f) as a, sum(count(*)) over (order by ten range between 3 preceding and current row) as s from tenk1 group by ten order by ten;

-- # win 7: ntile, cume_dist, percent_rank
select ten, ntile(3) over (order by count(*), ten) as t, cume_dist() over (order by ten) as c, percent_rank() over (order by ten) as p, dense_rank() over (order by sum(four)) as d from tenk1 group by ten order by ten;

-- # win 8: lag with default
select month(d) as m, count(*) as n, count(*) - lag(count(*), 1, 0) over (order by month(d)) as diff, lead(count(*), 2) over (order by month(d)) as later from tenk1 group by m order by m;

-- # win 9: groups frames
select four, ten, sum(count(*)) over (order by four groups between 1 preceding and current row) as s from tenk1 group by four, ten having count(*) > 0.5 order by four, ten;

-- # win 10: window with filter
select ten, sum(count(*)) filter (where ten % 2 = 0) over (order by ten) as evens from tenk1 group by ten order by ten;

-- # win 11: ratio to report
select string4, sum(amount) as s, sum(amount) / sum(sum(amount)) over () as share from tenk1 group by string4 order by s desc;

-- # win 12: median over a window of counts
select ten, median(count(*)) over (order by ten rows 2 preceding) as m from tenk1 group by ten order by ten;

-- # duck 1: sum of booleans and of a cast
select sum(odd::int) as s, avg(odd::int) as a, sum(odd) as t from tenk1;

-- # duck 2: any_value and first
select string4, any_value(string4) as a, count(*) as n from tenk1 group by string4 order by 1;

-- # duck 3: first of private rows
-- no answer rows
select first(f) as a from tenk1;

-- # duck 4: approx_count_distinct
select approx_count_distinct(thousand) as n from tenk1;
-- truth
select count(distinct thousand) as n from tenk1;

-- # duck 6: geomean
select geomean(f + 1) as p from tenk1;

-- # duck 7: list of quantiles
select quantile_cont(thousand, [0.1, 0.5, 0.9]) as q from tenk1;

-- # duck 10: histogram
select histogram(four) as h from tenk1;

-- # duck 11: max with n
-- no answer rows
select max(thousand, 3) as h from tenk1;

-- # duck 12: arg_max over counts
select arg_max(ten, n) as best, max(n) as most from (select ten, count(*) as n from tenk1 where odd group by ten);

-- # duck 14: stddev by group with having on both
select ten, stddev(f) as s, count(*) as n from tenk1 group by ten having stddev(f) > 20 and count(*) > 100 order by ten;

-- # duck 15: count of several columns
select count(columns(*)) from tenk1;

-- # duck 16: date parts
select date_part('quarter', d) as q, date_part('month', d) as m, count(*) as n from tenk1 group by all order by all;

-- # duck 17: last days
select last_day(d) as l, count(*) as n from tenk1 group by l order by l;

-- # duck 18: strftime keys
select strftime(d, '%Y-%m') as m, count(*) as n from tenk1 group by m order by m;

-- # duck 19: monthname and dayname
select monthname(d) as m, dayname(d) as w, count(*) as n from tenk1 group by all order by all;

-- # duck 20: time bucket
select time_bucket(interval '7 days', d) as w, count(*) as n from tenk1 group by w order by w;

-- # duck 21: hours
select hour(ts) as h, count(*) as n, count(ts) as m from tenk1 where ts is not null group by h order by h;

-- # duck 22: sums of decimals
-- within 0.5
select sum(amount) as s, avg(amount) as a, min(amount) as lo from tenk1;
-- truth
select sum(amount) as s, avg(amount) as a, quantile_cont(amount::double, 0.01) as lo from tenk1;

-- # duck 23: bit arithmetic
select four & 1 as k, four | 2 as o, count(*) as n from tenk1 group by all order by all;

-- # duck 24: nullif and coalesce keys
select coalesce(nullif(four, 0), -1) as k, count(*) as n from tenk1 group by k order by k;

-- # duck 25: greatest and least
select avg(greatest(f, hundred)) as g, avg(least(f, hundred)) as l from tenk1;

-- # duck 26: log and sqrt
select avg(ln(f + 1)) as l, avg(sqrt(f)) as s, avg(power(f / 100, 2)) as p, avg(exp(f / 100)) as e, avg(log10(f + 1)) as t from tenk1;

-- # duck 27: rounding
select round(avg(f), 2) as r, floor(avg(f)) as fl, ceil(avg(f)) as c, trunc(avg(f)) as t from tenk1;

-- # duck 28: round as a key
select round(f / 10) as k, count(*) as n from tenk1 group by k order by k;

-- # duck 30: summarize in text
select count(*) as n, count(v) as known, 100.0 * (count(*) - count(v)) / count(*) as missing from tenk1;

-- # duck 31: qualify with a window of the release
select string4, ten, count(*) as n from tenk1 group by string4, ten having count(*) > 0.5 qualify row_number() over (partition by string4 order by n desc, ten) <= 2 order by all;

-- # duck 32: lateral alias
select ten, count(*) as n, n * 2 as twice, twice + 1 as more from tenk1 group by ten order by ten;

-- # duck 33: unnest a series of thresholds
-- max_rows 3
select t.x, count(*) as n from tenk1, (select unnest([10, 50, 90]) as x) as t where hundred >= t.x group by t.x order by t.x;

-- # duck 34: from first with where
from tenk1 select count(*) as n where hundred > 10;

-- # duck 36: list comprehension above
select [x * 2 for x in list(n order by ten)] as s from (select ten, count(*) as n from tenk1 group by ten);

-- # duck 38: positional group by with expressions of aggregates
select ten / 2 as h, sum(v) / count(v) as m from tenk1 group by ten / 2 order by 1;

-- # duck 39: try_cast
select avg(try_cast(string4 as int)) as n, count(*) as m from tenk1;

-- # duck 40: count distinct of several
select count(distinct (two, four)) as n from tenk1;

-- # spark 1: group by with grouping_id
select two, four, grouping_id(two, four) as g, count(*) as n from tenk1 group by cube (two, four) having count(*) > 0.5 order by g, two, four;

-- # spark 2: max_by
select max_by(ten, n) as t, min_by(ten, n) as s from (select ten, count(*) as n from tenk1 where odd group by ten) as q;

-- # spark 3: count_if, some, every
select count_if(v > 0) as c, count_if(v > 24) > 0 as s from tenk1;

-- # spark 4: percentile and approx
-- within 0.05
select percentile_cont(0.25) within group (order by f) as p, approx_quantile(f, 0.75) as q from tenk1;
-- truth
select quantile_cont(f, 0.25) as p, quantile_cont(f, 0.75) as q from tenk1;

-- # spark 5: having without group by
select count(*) as n from tenk1 having count(*) > 10;

-- # spark 6: exists in having
select ten, count(*) as n from tenk1 group by ten having ten in (select n from nums where n > 5) order by ten;

-- # spark 7: pivot of sums
select * from (select two, four, f from tenk1) pivot (sum(f) for four in (0, 1, 2, 3)) order by two;
-- truth
select two, coalesce("0", 0) as "0", coalesce("1", 0) as "1", coalesce("2", 0) as "2", coalesce("3", 0) as "3" from (select two, four, f from tenk1) pivot (sum(f) for four in (0, 1, 2, 3)) order by two;

-- # spark 8: a table that is joined with its aggregate
select t.string4, avg(t.f - g.m) as dev from tenk1 t join (select string4, avg(f) as m from tenk1 group by string4) g on t.string4 = g.string4 group by t.string4 order by 1;

-- # spark 9: values in from
select v.lo, count(*) as n from (values (0, 25), (25, 50), (50, 101)) as v(lo, hi) join tenk1 on f >= v.lo and f < v.hi group by v.lo order by 1;

-- # spark 10: in with a sub-query of a public table and a union
select count(*) as n from tenk1 where ten in (select n from nums where n < 3 union select n + 5 from nums where n < 2);

-- # spark 11: natural order of nulls
select v % 2 as k, count(*) as n from tenk1 where v is not null group by k order by k desc;

-- # sqlite 1: total and group_concat
-- no answer failing
select total(f) as t from tenk1;

-- # clickhouse 1: sumIf, avgIf, uniq
-- no answer failing
select sumIf(f, odd) as s, countIf(odd) as c, uniqExact(ten) as u from tenk1;

-- # mysql 1: if
select sum(if(odd, 1, 0)) as s, ifnull(avg(v), 0) as a from tenk1;

-- # sqlserver 1: iif and top
-- no answer failing
select top 3 ten, count(*) as n from tenk1 group by ten order by n desc;

-- # standard 1: fetch first
select ten, count(*) as n from tenk1 where odd group by ten order by ten fetch first 3 rows only;

-- # standard 2: intersect of released
select ten from tenk1 where odd group by ten having count(*) > 90 intersect select ten from tenk1 group by ten having count(*) > 200 order by ten;

-- # standard 3: row comparison
select count(*) as n from tenk1 where (two, four) = (1, 3) or (two, four) in ((0, 0), (0, 2));

-- # standard 4: is distinct from
select count(*) as n from tenk1 where v is distinct from 5 and v is not distinct from v;

-- # standard 5: extract epoch
-- no answer failing
select avg(extract(epoch from ts - timestamp '2020-03-01')) as s from tenk1;

-- # standard 7: overlay and position, trim
select trim(both 'A' from string4) as k, count(*) as n from tenk1 group by 1 order by 1;

-- # standard 8: substring from for
select substring(string4 from 1 for 2) as k, count(*) as n from tenk1 group by k order by k;

-- # standard 9: interval arithmetic in where
select count(*) as n from tenk1 where d >= date '2020-06-01' - interval '1' month and d < date '2020-06-01' + interval '1 month';

-- # standard 10: age in days
select avg(date_diff('day', d, date '2021-01-01')) as a, avg(date '2021-01-01' - d) as b from tenk1;
