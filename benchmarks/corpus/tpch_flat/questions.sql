-- # q01: pricing summary of what was shipped
SELECT flag, linestatus, SUM(quantity) AS sum_qty, SUM(price) AS sum_base, SUM(price * (1 - discount)) AS sum_disc,
  SUM(price * (1 - discount) * (1 + tax)) AS sum_charge, AVG(quantity) AS avg_qty, AVG(price) AS avg_price,
  AVG(discount) AS avg_disc, COUNT(*) AS n
FROM sales WHERE shipped <= DATE '1998-12-01' - INTERVAL 90 DAY GROUP BY flag, linestatus ORDER BY flag, linestatus;

-- # q04: lines of a quarter that came late, by priority
SELECT priority, COUNT(*) AS n FROM sales
WHERE ordered >= DATE '1993-07-01' AND ordered < DATE '1993-07-01' + INTERVAL 3 MONTH AND committed < received
GROUP BY priority ORDER BY priority;

-- # q05: revenue where customer and supplier are of one nation
SELECT n_name, SUM(price * (1 - discount)) AS revenue FROM sales, supplier, nation, region
WHERE suppkey = s_suppkey AND s_nationkey = n_nationkey AND nation = n_name AND n_regionkey = r_regionkey
  AND r_name = 'ASIA' GROUP BY n_name ORDER BY revenue DESC;

-- # q06: revenue that small discounts cost
SELECT SUM(price * discount) AS revenue FROM sales WHERE shipped >= DATE '1994-01-01' AND shipped < DATE '1995-01-01'
  AND discount BETWEEN 0.05 AND 0.07 AND quantity < 24;

-- # q08: the share of one nation's suppliers by year
SELECT EXTRACT(year FROM ordered) AS o_year,
  SUM(CASE WHEN n_name = 'BRAZIL' THEN price * (1 - discount) ELSE 0 END) / SUM(price * (1 - discount)) AS mkt_share
FROM sales JOIN supplier ON suppkey = s_suppkey JOIN nation ON s_nationkey = n_nationkey
WHERE ordered BETWEEN '1995-01-01' AND '1996-12-31' GROUP BY o_year ORDER BY o_year;

-- # q09: revenue of parts of a colour, by nation of the supplier and year
SELECT n_name, year(ordered) AS y, SUM(price) AS revenue FROM sales
JOIN part ON partkey = p_partkey JOIN supplier ON suppkey = s_suppkey JOIN nation ON s_nationkey = n_nationkey
WHERE p_name LIKE '%green%' GROUP BY ALL ORDER BY n_name, y;

-- # q12: urgent lines that came late, by shipping mode
SELECT mode, SUM(CASE WHEN priority IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END) AS high,
  SUM(CASE WHEN priority NOT IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END) AS low FROM sales
WHERE mode IN ('MAIL', 'SHIP') AND committed < received AND shipped < committed AND year(received) = 1994
GROUP BY mode ORDER BY mode;

-- # q13: how many customers have how many orders
SELECT c, COUNT(*) AS n FROM (SELECT custkey, COUNT(DISTINCT orderkey) AS c FROM sales GROUP BY custkey) AS o
WHERE c BETWEEN 1 AND 12 GROUP BY c ORDER BY c;

-- # q14: the share of promoted parts in revenue
SELECT 100.0 * SUM(CASE WHEN p_type LIKE 'PROMO%' THEN price * (1 - discount) ELSE 0 END) / SUM(price * (1 - discount))
  AS promo FROM sales, part WHERE partkey = p_partkey AND date_trunc('month', shipped) = DATE '1995-09-01';

-- # q15: the supplier with the greatest revenue
WITH revenue AS (SELECT suppkey, SUM(price * (1 - discount)) AS total FROM sales GROUP BY suppkey)
SELECT s_name, total FROM supplier JOIN revenue ON s_suppkey = suppkey
WHERE total = (SELECT MAX(total) FROM revenue);

-- # q17: revenue of quantities far below the average
SELECT SUM(price) / 7.0 AS avg_yearly FROM sales WHERE quantity < (SELECT 0.2 * AVG(quantity) FROM sales);

-- # q19: revenue of parts in three kinds of containers
SELECT SUM(price * (1 - discount)) AS revenue FROM sales JOIN part ON p_partkey = partkey
WHERE (p_brand = 'Brand#12' AND p_container LIKE 'SM%' AND quantity BETWEEN 1 AND 11 AND p_size BETWEEN 1 AND 15)
   OR (p_brand = 'Brand#23' AND p_container LIKE 'MED%' AND quantity BETWEEN 10 AND 20 AND p_size BETWEEN 1 AND 30)
   OR (p_brand = 'Brand#33' AND p_container LIKE 'LG%' AND mode IN ('AIR', 'AIR REG') AND instruct = 'DELIVER IN PERSON');

-- # rollup: revenue by nation of the customer and year, with totals
SELECT nation, year(shipped) AS y, SUM(price) AS revenue FROM sales WHERE nation IN ('FRANCE', 'GERMANY')
GROUP BY ROLLUP (nation, y) ORDER BY ALL;

-- # cube: lines by flag and status, with all margins
SELECT flag, linestatus, COUNT(*) AS n, GROUPING(flag) AS gf, GROUPING(linestatus) AS gl FROM sales
GROUP BY CUBE (flag, linestatus) ORDER BY ALL;

-- # running: the running total of revenue by month of one year
SELECT m, SUM(revenue) OVER (ORDER BY m) AS so_far
FROM (SELECT month(shipped) AS m, SUM(price) AS revenue FROM sales WHERE year(shipped) = 1995 GROUP BY m) AS x ORDER BY m;

-- # best month: the best month of each year
SELECT y, m, n FROM (SELECT year(ordered) AS y, month(ordered) AS m, COUNT(*) AS n FROM sales
  WHERE ordered < DATE '1998-01-01' GROUP BY ALL) AS x
QUALIFY row_number() OVER (PARTITION BY y ORDER BY n DESC, m) = 1 ORDER BY y;

-- # distinct parts: parts that were sold at all
SELECT COUNT(DISTINCT partkey) AS parts, COUNT(DISTINCT custkey) AS customers FROM sales;

-- # spread: how prices are spread, by flag
-- within 60
SELECT flag, AVG(price) AS mean, STDDEV(price) AS spread, MEDIAN(price) AS middle, QUANTILE_CONT(price, 0.9) AS dear
FROM sales GROUP BY flag ORDER BY flag;

-- # relation: whether price follows quantity
SELECT CORR(price, quantity) AS r, REGR_SLOPE(price, quantity) AS slope, COVAR_POP(price, quantity) AS c FROM sales;

-- # late share: the share of lines that came late, by mode
SELECT mode, AVG(CASE WHEN received > committed THEN 1.0 ELSE 0 END) AS late, COUNT(*) AS n FROM sales
GROUP BY mode HAVING COUNT(*) > 10 ORDER BY late DESC, mode;

-- # weeks: lines by day of the week of their shipment
SELECT dayname(shipped) AS d, COUNT(*) AS n FROM sales GROUP BY d ORDER BY n DESC, d;

-- # classes: lines by class of price
SELECT CASE WHEN price < 10000 THEN 'low' WHEN price < 30000 THEN 'middle' ELSE 'high' END AS class,
  COUNT(*) AS n, SUM(quantity) AS q FROM sales GROUP BY class ORDER BY n DESC;

-- # bins: a histogram of quantities in steps of five
SELECT width_bucket(quantity, 1, 41, 8) AS bin, COUNT(*) AS n FROM sales GROUP BY bin ORDER BY bin;
-- truth
SELECT CAST(floor((quantity - 1) / 5) AS BIGINT) + 1 AS bin, COUNT(*) AS n FROM sales GROUP BY bin ORDER BY bin;

-- # orders: orders, not lines, by status
SELECT status, COUNT(*) AS n FROM (SELECT DISTINCT custkey, orderkey, status FROM sales) AS o GROUP BY status ORDER BY 1;

-- # first order: customers by the year of their first order
SELECT year(first) AS y, COUNT(*) AS n FROM (SELECT custkey, MIN(ordered) AS first FROM sales GROUP BY custkey) AS f
WHERE first < DATE '1994-01-01' GROUP BY y ORDER BY y;

-- # one customer: what a named customer bought
-- no answer rows
SELECT ordered, price FROM sales WHERE custkey = 17;
-- instead
SELECT COUNT(*) FROM sales WHERE custkey = 17;

-- # dearest line: the line with the greatest price
-- no answer rows
SELECT * FROM sales ORDER BY price DESC LIMIT 1;
-- instead
SELECT MAX(price) AS price FROM sales;

-- # best customers: the ten customers with the greatest revenue
-- no answer unit
SELECT custkey, SUM(price) AS revenue FROM sales GROUP BY custkey ORDER BY revenue DESC LIMIT 10;
