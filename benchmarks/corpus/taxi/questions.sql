-- # rides: rides, riders and money
SELECT COUNT(*) AS rides, COUNT(DISTINCT rider) AS riders, SUM(fare) AS fares FROM rides;

-- # days: rides by day
SELECT CAST(pickup AS DATE) AS day, COUNT(*) AS n FROM rides GROUP BY day ORDER BY day;

-- # weather: rides on days with and without rain
SELECT rain, COUNT(*) AS n, AVG(fare) AS fare FROM rides JOIN weather ON CAST(pickup AS DATE) = day GROUP BY rain ORDER BY rain;

-- # warm: rides on warm days, by temperature
SELECT high, COUNT(*) AS n FROM rides, weather WHERE pickup::DATE = day AND high >= 20 GROUP BY high ORDER BY high;

-- # dry weekends: the mean fare on dry Saturdays and Sundays
SELECT isodow(pickup) AS d, AVG(fare) AS fare FROM rides WHERE CAST(pickup AS DATE) IN (SELECT day FROM weather WHERE NOT rain)
  AND isodow(pickup) > 5 GROUP BY d ORDER BY d;

-- # boroughs: rides from borough to borough
SELECT a.borough AS origin, b.borough AS target, COUNT(*) AS n FROM rides AS r JOIN zones AS a ON r.zone = a.id
JOIN zones AS b ON r.to_zone = b.id GROUP BY a.borough, b.borough ORDER BY n DESC, 1, 2;

-- # same zone: rides that stay in a zone
SELECT zone, COUNT(*) AS n FROM rides WHERE zone = to_zone GROUP BY zone ORDER BY zone;

-- # matrix: rides from one zone to the next
SELECT zone, to_zone, COUNT(*) AS n FROM rides WHERE to_zone = zone + 1 GROUP BY zone, to_zone ORDER BY zone;

-- # classes: rides by class of length, from a public table of ranges
SELECT class, COUNT(*) AS n, AVG(fare) AS fare FROM rides JOIN prices ON miles >= at_least AND miles < below GROUP BY class ORDER BY class;

-- # tips: the mean tip, where there is one, and the share of rides with one
SELECT AVG(tip) AS mean, COUNT(tip) AS tipped, COUNT(tip) / COUNT(*) AS share, SUM(tip) / SUM(fare) AS of_fares FROM rides;

-- # no tips: the mean tip, with none as nothing
SELECT payment, AVG(coalesce(tip, 0)) AS tip FROM rides GROUP BY payment ORDER BY payment;

-- # speed: the mean speed of rides
SELECT AVG(clamp(60 * miles / minutes, 0, 100)) AS mph FROM rides WHERE minutes > 5;

-- # fare of a mile: dollars for a mile
SELECT SUM(fare) / SUM(miles) AS per_mile FROM rides WHERE miles > 0;

-- # hours: rides by hour, and the busiest first
SELECT extract('hour' FROM pickup) AS hour, COUNT(*) AS n FROM rides GROUP BY hour ORDER BY n DESC, hour LIMIT 3;

-- # quarter hours: rides by a quarter of an hour of one morning
SELECT time_bucket(INTERVAL '15 minutes', pickup) AS q, COUNT(*) AS n FROM rides WHERE pickup >= TIMESTAMP '2024-05-03 08:00:00'
  AND pickup < TIMESTAMP '2024-05-03 09:00:00' GROUP BY q ORDER BY q;
-- truth
SELECT q, COUNT(pickup) AS n FROM generate_series(TIMESTAMP '2024-05-03 08:00:00', TIMESTAMP '2024-05-03 08:45:00', INTERVAL 15 MINUTE) AS t(q)
LEFT JOIN rides ON time_bucket(INTERVAL '15 minutes', pickup) = q GROUP BY q ORDER BY q;

-- # running: rides so far by day
SELECT day, SUM(n) OVER (ORDER BY day) AS so_far FROM (SELECT pickup::DATE AS day, COUNT(*) AS n FROM rides GROUP BY day) AS d ORDER BY day;

-- # growth: the change from day to day in percent
SELECT day, round(100.0 * (n - lag(n) OVER (ORDER BY day)) / lag(n) OVER (ORDER BY day), 1) AS percent
FROM (SELECT pickup::DATE AS day, COUNT(*) AS n FROM rides GROUP BY day) AS d ORDER BY day;

-- # best of each: the busiest zone of each borough
SELECT borough, name, n FROM (SELECT borough, name, COUNT(*) AS n FROM rides JOIN zones ON zone = id GROUP BY ALL) AS z
QUALIFY row_number() OVER (PARTITION BY borough ORDER BY n DESC, name) = 1 ORDER BY borough;

-- # from first: FROM in the first place
FROM rides SELECT payment, COUNT(*) AS n GROUP BY payment ORDER BY payment;

-- # group by all: all that is not aggregated
SELECT payment, passengers, COUNT(*) AS n FROM rides GROUP BY ALL ORDER BY ALL;

-- # summary columns: the same aggregate of several columns
SELECT AVG(COLUMNS(['fare', 'miles'])) FROM rides;

-- # wide: payments as columns
SELECT zone, COUNT_IF(payment = 'card') AS card, COUNT_IF(payment = 'cash') AS cash, COUNT_IF(payment = 'app') AS app FROM rides
GROUP BY zone ORDER BY zone;

-- # pivot: the same by PIVOT
PIVOT rides ON payment IN ('app', 'card', 'cash') USING COUNT(*) GROUP BY zone ORDER BY zone;

-- # equal width: fares in bins of equal width
SELECT fare // 10 * 10 AS bin, COUNT(*) AS n FROM rides GROUP BY bin ORDER BY bin;
-- truth
SELECT floor(fare / 10) * 10 AS bin, COUNT(*) AS n FROM rides GROUP BY bin ORDER BY bin;

-- # equi width: fares by a histogram with bins of its own
SELECT histogram(fare, [10, 20, 30, 40, 50, 60]) AS h FROM rides;

-- # quantile by group: the ninth decile of fares by borough
-- within 0.2
SELECT borough, QUANTILE_CONT(fare, 0.9) AS q FROM rides JOIN zones ON zone = id GROUP BY borough ORDER BY borough;

-- # mad: the mean distance from a given fare
SELECT AVG(abs(fare - 30)) AS d FROM rides;

-- # geometric: the geometric mean of fares
SELECT exp(AVG(ln(fare + 1))) - 1 AS g FROM rides;

-- # weekday table: mean fares by day of the week and time of the day
SELECT dayname(pickup) AS d, CASE WHEN hour(pickup) < 12 THEN 'am' ELSE 'pm' END AS t, AVG(fare) AS fare FROM rides GROUP BY ALL ORDER BY ALL;

-- # regulars: riders with at least five rides, and what they pay
SELECT COUNT(*) AS riders, AVG(total) AS paid FROM (SELECT rider, COUNT(*) AS n, SUM(fare) AS total FROM rides GROUP BY rider
  HAVING COUNT(*) >= 5) AS r;

-- # two ways: riders who pay both by card and in cash
SELECT COUNT(*) AS n FROM (SELECT rider FROM rides GROUP BY rider HAVING bool_or(payment = 'card') AND bool_or(payment = 'cash')) AS r;

-- # back: rides that bring a rider back on the same day
SELECT COUNT(*) AS n FROM rides AS a WHERE EXISTS (SELECT 1 FROM rides AS b WHERE b.rider = a.rider AND b.zone = a.to_zone
  AND b.pickup > a.pickup AND b.pickup::DATE = a.pickup::DATE);

-- # self join: pairs of rides of one rider on one day
SELECT COUNT(*) AS n FROM rides AS a JOIN rides AS b ON a.rider = b.rider AND a.pickup::DATE = b.pickup::DATE AND a.pickup < b.pickup;

-- # second: the mean fare of the second ride of a rider
SELECT AVG(fare) AS fare FROM (SELECT fare, row_number() OVER (PARTITION BY rider ORDER BY pickup) AS k FROM rides) AS r WHERE k = 2;

-- # dearest: the mean of each rider's dearest ride
SELECT AVG(m) AS m FROM (SELECT rider, MAX(fare) AS m FROM rides GROUP BY rider) AS r;

-- # above all: rides with a fare above the mean of all
SELECT payment, COUNT(*) AS n FROM rides WHERE fare > (SELECT AVG(fare) FROM rides) GROUP BY payment ORDER BY payment;

-- # asof: the price class of each ride by an ASOF join
SELECT class, COUNT(*) AS n FROM rides ASOF JOIN prices ON miles >= at_least GROUP BY class ORDER BY class;

-- # cross: each zone beside the mean of all zones
SELECT z.name, n, n - m AS above FROM (SELECT zone, COUNT(*) AS n FROM rides GROUP BY zone) AS r JOIN zones AS z ON r.zone = z.id
CROSS JOIN (SELECT AVG(n) AS m FROM (SELECT zone, COUNT(*) AS n FROM rides GROUP BY zone) AS s) AS t ORDER BY z.name;

-- # busy zones: zones with more rides than the mean zone
WITH c AS (SELECT zone, COUNT(*) AS n FROM rides GROUP BY zone) SELECT zone, n FROM c WHERE n > (SELECT AVG(n) FROM c) ORDER BY zone;

-- # lists: counts of all zones as a list
SELECT list(n ORDER BY zone) AS counts FROM (SELECT zone, COUNT(*) AS n FROM rides GROUP BY zone) AS z;

-- # tiny: a narrow whole number, added up
SELECT SUM(passengers) AS people, AVG(passengers) AS mean, SUM(minutes) AS minutes FROM rides;

-- # modulo: rides by parity of their zone
SELECT zone % 2 AS odd, COUNT(*) AS n FROM rides GROUP BY odd ORDER BY odd;

-- # concat: rides by a text made of two keys
SELECT payment || '-' || zone AS k, COUNT(*) AS n FROM rides WHERE zone < 3 GROUP BY k ORDER BY k;

-- # week: rides by ISO week, from its Monday
SELECT date_trunc('week', pickup) AS w, COUNT(*) AS n FROM rides GROUP BY w ORDER BY w;

-- # weeks between: weeks since a day, by date_diff
SELECT date_diff('week', DATE '2024-05-01', CAST(pickup AS DATE)) AS w, COUNT(*) AS n FROM rides GROUP BY w ORDER BY w;
-- truth
SELECT date_diff('day', DATE '2024-04-29', CAST(date_trunc('week', pickup) AS DATE)) // 7 AS w, COUNT(*) AS n FROM rides
GROUP BY w ORDER BY w;

-- # files: rides of another file
-- no answer outside
SELECT COUNT(*) AS n FROM 'rides.parquet';

-- # attach: another database
-- no answer outside
ATTACH 'other.db';

-- # describe: what columns there are
SELECT column_name FROM information_schema.columns WHERE table_name = 'prices' ORDER BY column_name;
-- truth
SELECT column_name FROM duckdb_columns() WHERE table_name = 'prices' ORDER BY column_name;

-- # farthest ride: the longest ride
-- no answer rows
SELECT rider, miles FROM rides ORDER BY miles DESC LIMIT 1;
-- instead
SELECT MAX(miles) AS miles FROM rides;

-- # busiest: rides of the three zones with most rides
SELECT zone, COUNT(*) AS n FROM rides WHERE zone IN (SELECT zone FROM rides GROUP BY zone ORDER BY COUNT(*) DESC, zone LIMIT 3)
GROUP BY zone ORDER BY zone;

-- # spread: the mean distance of fares from their mean
SELECT AVG(abs(fare - (SELECT AVG(fare) FROM rides))) AS spread FROM rides;

-- # long or dear: long rides, and all rides of riders who paid much once
SELECT COUNT(*) AS n FROM rides AS r WHERE miles > 1 OR rider IN (SELECT rider FROM rides WHERE fare > 40);

-- # against the payment: rides dearer than the mean of their way to pay
SELECT COUNT(*) AS n FROM rides AS r WHERE fare > (SELECT AVG(fare) FROM rides AS s WHERE s.payment = r.payment);

-- # usual payment: the way to pay with most rides in each zone, by DISTINCT ON
SELECT DISTINCT ON (zone) zone, payment, COUNT(*) AS n FROM rides GROUP BY zone, payment ORDER BY zone, n DESC, payment;

-- # pivot of a condition: long and short rides in each zone
PIVOT rides ON miles > 2 USING COUNT(*) GROUP BY zone ORDER BY zone;

-- # nyc 1: tips by count of passengers
SELECT passengers, AVG(tip) AS tip, COUNT(*) AS n FROM rides GROUP BY passengers ORDER BY passengers;

-- # nyc 2: the share of the tip by payment
SELECT payment, ROUND(AVG(clamp(tip / nullif(fare, 0), 0, 1)) * 100, 2) AS pct FROM rides GROUP BY payment ORDER BY payment;

-- # nyc 3: rush hour
SELECT CASE WHEN hour(pickup) BETWEEN 7 AND 9 THEN 'morning' WHEN hour(pickup) BETWEEN 16 AND 19 THEN 'evening' ELSE 'other' END AS rush, COUNT(*) AS n, AVG(minutes) AS m FROM rides WHERE dayofweek(pickup) NOT IN (0, 6) GROUP BY rush ORDER BY rush;

-- # nyc 4: distance buckets
SELECT CASE WHEN miles < 1 THEN '0-1' WHEN miles < 2 + 3 THEN '1-5' ELSE '5+' END AS bucket, COUNT(*) AS n, SUM(fare) AS fares FROM rides GROUP BY bucket ORDER BY bucket;

-- # nyc 5: pairs of boroughs as percent
SELECT a.borough AS pu, b.borough AS dz, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY a.borough), 1) AS pct FROM rides r, zones a, zones b WHERE r.zone = a.id AND r.to_zone = b.id GROUP BY a.borough, b.borough ORDER BY pu, dz;

-- # nyc 6: percent of day, ranked
WITH d AS (SELECT date_trunc('day', pickup) AS day, COUNT(*) AS n FROM rides GROUP BY 1) SELECT day, n, n - AVG(n) OVER w AS off, RANK() OVER (ORDER BY n DESC) AS place FROM d WINDOW w AS (ORDER BY day ROWS BETWEEN 3 PRECEDING AND 3 FOLLOWING) ORDER BY day;

-- # nyc 7: airport
SELECT COUNT(*) FILTER (WHERE (zone, to_zone) IN ((1, 2), (2, 1))) AS back_and_forth, COUNT(*) AS n FROM rides;

-- # nyc 8: outliers above two deviations
SELECT COUNT(*) AS n FROM rides WHERE fare > (SELECT AVG(fare) + 2 * STDDEV(fare) FROM rides);

-- # nyc 9: riders by rides, cumulative
SELECT n, COUNT(*) AS riders, SUM(COUNT(*)) OVER (ORDER BY n) AS so_far FROM (SELECT rider, COUNT(*) AS n FROM rides GROUP BY rider) q GROUP BY n ORDER BY n;

-- # nyc 10: the first and the last ride of riders
SELECT AVG(date_diff('day', first, last)) AS days FROM (SELECT rider, MIN(pickup) AS first, MAX(pickup) AS last FROM rides GROUP BY rider) q;

-- # nyc 11: a rollup with shares
SELECT coalesce(borough, 'all') AS borough, COUNT(*) AS n, SUM(COUNT(*)) OVER () AS everything FROM rides JOIN zones ON zone = id GROUP BY ROLLUP (borough) ORDER BY n DESC, 1;

-- # nyc 12: cube with ranks
SELECT payment, passengers, COUNT(*) AS n, RANK() OVER (PARTITION BY GROUPING(payment), GROUPING(passengers) ORDER BY COUNT(*) DESC) AS place FROM rides GROUP BY CUBE (payment, passengers) ORDER BY payment NULLS LAST, passengers NULLS LAST;

-- # nyc 13: weather of the day before
SELECT w.rain, COUNT(*) AS n FROM rides r JOIN weather w ON CAST(r.pickup AS DATE) - 1 = w.day GROUP BY w.rain ORDER BY 1;

-- # nyc 14: hot days by EXISTS
SELECT COUNT(*) AS n FROM rides r WHERE EXISTS (SELECT 1 FROM rides q JOIN weather w ON w.day = CAST(q.pickup AS DATE) WHERE q.rider = r.rider AND w.rain);

-- # nyc 15: grids
SELECT grid(miles, minutes, 5, 20) AS cell, COUNT(*) AS n FROM rides GROUP BY cell HAVING COUNT(*) > 0.5 ORDER BY cell;
-- truth
SELECT CAST(floor(miles / 5) AS BIGINT) || ':' || CAST(floor(minutes / 20) AS BIGINT) AS cell, COUNT(*) AS n FROM rides GROUP BY cell ORDER BY cell;
