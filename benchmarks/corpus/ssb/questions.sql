-- # q1.1: revenue of discounts in one year
select sum(lo_extendedprice*lo_discount) as revenue from lineorder, dates where lo_orderdate = d_datekey and d_year = 1993 and lo_discount between 1 and 3 and lo_quantity < 25;

-- # q1.2: in one month
select sum(lo_extendedprice*lo_discount) as revenue from lineorder, dates where lo_orderdate = d_datekey and d_yearmonthnum = 199401 and lo_discount between 4 and 6 and lo_quantity between 26 and 35;

-- # q1.3: in one week
select sum(lo_extendedprice*lo_discount) as revenue from lineorder, dates where lo_orderdate = d_datekey and d_weeknuminyear = 6 and d_year = 1994 and lo_discount between 5 and 7 and lo_quantity between 26 and 35;

-- # q2.1: revenue by year and brand of a category
select sum(lo_revenue), d_year, p_brand1 from lineorder, dates, part, supplier where lo_orderdate = d_datekey and lo_partkey = p_partkey and lo_suppkey = s_suppkey and p_category = 'MFGR#12' and s_region = 'AMERICA' group by d_year, p_brand1 order by d_year, p_brand1;

-- # q2.2: of a range of brands
select sum(lo_revenue) as revenue, d_year, p_brand1 from lineorder, dates, part, supplier where lo_orderdate = d_datekey and lo_partkey = p_partkey and lo_suppkey = s_suppkey and p_brand1 between 'MFGR#11' and 'MFGR#22' and s_region = 'ASIA' group by d_year, p_brand1 order by d_year, p_brand1;

-- # q2.3: of a brand
select sum(lo_revenue) as revenue, d_year, p_brand1 from lineorder, dates, part, supplier where lo_orderdate = d_datekey and lo_partkey = p_partkey and lo_suppkey = s_suppkey and p_brand1 = 'MFGR#111' and s_region = 'EUROPE' group by d_year, p_brand1 order by d_year, p_brand1;

-- # q3.1: revenue between nations of a region
select c_nation, s_nation, d_year, sum(lo_revenue) as revenue from customer, lineorder, supplier, dates where lo_custkey = c_custkey and lo_suppkey = s_suppkey and lo_orderdate = d_datekey and c_region = 'ASIA' and s_region = 'ASIA' and d_year >= 1992 and d_year <= 1997 group by c_nation, s_nation, d_year order by d_year asc, revenue desc;
-- truth
select n.nation as c_nation, s.nation as s_nation, y as d_year, coalesce(revenue, 0) as revenue from (select distinct nation from geo where region = 'ASIA') s, (select distinct nation from geo) n, (values (1992), (1993), (1994)) t(y) left join (select c_nation, s_nation, d_year, sum(lo_revenue) as revenue from customer, lineorder, supplier, dates where lo_custkey = c_custkey and lo_suppkey = s_suppkey and lo_orderdate = d_datekey and c_region = 'ASIA' and s_region = 'ASIA' group by all) q on q.c_nation = n.nation and q.s_nation = s.nation and q.d_year = y order by d_year, revenue desc;

-- # q3.2: revenue between cities of a nation
select c_city, s_city, d_year, sum(lo_revenue) as revenue from customer, lineorder, supplier, dates where lo_custkey = c_custkey and lo_suppkey = s_suppkey and lo_orderdate = d_datekey and c_nation = 'UNITED STATES' and s_nation = 'UNITED STATES' and d_year >= 1992 and d_year <= 1997 group by c_city, s_city, d_year order by d_year asc, revenue desc;
-- truth
select c.city as c_city, s.city as s_city, y as d_year, coalesce(revenue, 0) as revenue from (select distinct city from geo where nation = 'UNITED STATES') s, (select distinct city from geo) c, (values (1992), (1993), (1994)) t(y) left join (select c_city, s_city, d_year, sum(lo_revenue) as revenue from customer, lineorder, supplier, dates where lo_custkey = c_custkey and lo_suppkey = s_suppkey and lo_orderdate = d_datekey and c_nation = 'UNITED STATES' and s_nation = 'UNITED STATES' group by all) q on q.c_city = c.city and q.s_city = s.city and q.d_year = y order by d_year, revenue desc;

-- # q3.3: between two cities
select c_city, s_city, d_year, sum(lo_revenue) as revenue from customer, lineorder, supplier, dates where lo_custkey = c_custkey and lo_suppkey = s_suppkey and lo_orderdate = d_datekey and (c_city='UNITED KI1' or c_city='UNITED KI5') and (s_city='UNITED KI1' or s_city='UNITED KI5') and d_year >= 1992 and d_year <= 1997 group by c_city, s_city, d_year order by d_year asc, revenue desc;

-- # q3.4: in one month
select c_city, s_city, d_year, sum(lo_revenue) as revenue from customer, lineorder, supplier, dates where lo_custkey = c_custkey and lo_suppkey = s_suppkey and lo_orderdate = d_datekey and (c_city='UNITED KI1' or c_city='UNITED KI5') and (s_city='UNITED KI1' or s_city='UNITED KI5') and d_yearmonth = 'Dec1993' group by c_city, s_city, d_year order by d_year asc, revenue desc;
-- truth
select c.city as c_city, s.city as s_city, 1993 as d_year, coalesce(revenue, 0) as revenue from (select distinct city from geo where nation = 'UNITED KINGDOM') s, (select distinct city from geo where nation = 'UNITED KINGDOM') c left join (select c_city, s_city, d_year, sum(lo_revenue) as revenue from customer, lineorder, supplier, dates where lo_custkey = c_custkey and lo_suppkey = s_suppkey and lo_orderdate = d_datekey and d_yearmonth = 'Dec1993' group by all) q on q.c_city = c.city and q.s_city = s.city order by d_year, revenue desc;

-- # q4.1: profit by year and nation
select d_year, c_nation, sum(lo_revenue - lo_supplycost) as profit from dates, customer, supplier, part, lineorder where lo_custkey = c_custkey and lo_suppkey = s_suppkey and lo_partkey = p_partkey and lo_orderdate = d_datekey and c_region = 'AMERICA' and s_region = 'AMERICA' and (p_mfgr = 'MFGR#1' or p_mfgr = 'MFGR#2') group by d_year, c_nation order by d_year, c_nation;
-- truth
select y as d_year, nation as c_nation, coalesce(profit, 0) as profit from (select distinct nation from geo) n, (values (1992), (1993), (1994)) t(y) left join (select d_year, c_nation, sum(lo_revenue - lo_supplycost) as profit from dates, customer, supplier, part, lineorder where lo_custkey = c_custkey and lo_suppkey = s_suppkey and lo_partkey = p_partkey and lo_orderdate = d_datekey and c_region = 'AMERICA' and s_region = 'AMERICA' and (p_mfgr = 'MFGR#1' or p_mfgr = 'MFGR#2') group by d_year, c_nation) q on q.d_year = y and q.c_nation = nation order by d_year, c_nation;

-- # q4.2: profit by nation of the supplier and category
select d_year, s_nation, p_category, sum(lo_revenue - lo_supplycost) as profit from dates, customer, supplier, part, lineorder where lo_custkey = c_custkey and lo_suppkey = s_suppkey and lo_partkey = p_partkey and lo_orderdate = d_datekey and c_region = 'AMERICA' and s_region = 'AMERICA' and (d_year = 1993 or d_year = 1994) and (p_mfgr = 'MFGR#1' or p_mfgr = 'MFGR#2') group by d_year, s_nation, p_category order by d_year, s_nation, p_category;

-- # q4.3: profit by city of the supplier and brand
select d_year, s_city, p_brand1, sum(lo_revenue - lo_supplycost) as profit from dates, customer, supplier, part, lineorder where lo_custkey = c_custkey and lo_suppkey = s_suppkey and lo_partkey = p_partkey and lo_orderdate = d_datekey and s_nation = 'UNITED STATES' and (d_year = 1993 or d_year = 1994) and p_category = 'MFGR#12' group by d_year, s_city, p_brand1 order by d_year, s_city, p_brand1;

-- # star using: with a column of another name
SELECT d.d_year AS year, p.p_color AS color, COUNT(*) AS n, AVG(lo.lo_quantity) AS q FROM lineorder lo JOIN dates d ON lo.lo_orderdate = d.d_datekey JOIN part p ON p.p_partkey = lo.lo_partkey GROUP BY 1, 2 ORDER BY 1, 2;

-- # rollup star: with totals
SELECT d_year, p_mfgr, SUM(lo_quantity) AS q, GROUPING(d_year, p_mfgr) AS g FROM lineorder JOIN dates ON lo_orderdate = d_datekey JOIN part ON lo_partkey = p_partkey GROUP BY ROLLUP (d_year, p_mfgr) ORDER BY 1 NULLS LAST, 2 NULLS LAST;

-- # grouping id: totals told apart by GROUPING_ID
SELECT CASE WHEN GROUPING(d_year) = 1 THEN 'all' ELSE CAST(d_year AS VARCHAR) END AS year, COUNT(*) AS n FROM lineorder JOIN dates ON lo_orderdate = d_datekey GROUP BY ROLLUP (d_year) ORDER BY year;
