-- TPC-H's own schema, with other numbers: few customers, and every group of its 22 questions has rows.
CREATE TABLE region AS SELECT CAST(i AS INTEGER) AS r_regionkey,
  ['AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST'][i + 1] AS r_name FROM range(5) AS t(i);
CREATE TABLE nation AS SELECT CAST(i AS INTEGER) AS n_nationkey,
  ['ALGERIA', 'ARGENTINA', 'BRAZIL', 'CANADA', 'EGYPT', 'ETHIOPIA', 'FRANCE', 'GERMANY', 'INDIA', 'INDONESIA', 'IRAN',
   'IRAQ', 'JAPAN', 'JORDAN', 'KENYA', 'MOROCCO', 'MOZAMBIQUE', 'PERU', 'CHINA', 'ROMANIA', 'SAUDI ARABIA', 'VIETNAM',
   'RUSSIA', 'UNITED KINGDOM', 'UNITED STATES'][i + 1] AS n_name,
  CAST([0, 1, 1, 1, 4, 0, 3, 3, 2, 2, 4, 4, 2, 4, 0, 0, 0, 1, 2, 3, 4, 2, 3, 3, 1][i + 1] AS INTEGER) AS n_regionkey
FROM range(25) AS t(i);
CREATE TABLE supplier AS SELECT i + 1 AS s_suppkey, 'Supplier#' || lpad(CAST(i + 1 AS VARCHAR), 9, '0') AS s_name,
  'street ' || i AS s_address, CAST(i % 25 AS INTEGER) AS s_nationkey, '11-000-' || i AS s_phone,
  CAST(draw(i, 's', 1000000) / 100 AS DECIMAL(15, 2)) AS s_acctbal,
  CASE WHEN i % 20 = 7 THEN 'some Customer had Complaints' ELSE 'quiet' END AS s_comment FROM range(50) AS t(i);
CREATE TABLE part AS SELECT i + 1 AS p_partkey,
  pick(i, 'n1', ['forest', 'green', 'lace', 'plum']) || ' ' || pick(i, 'n2', ['green', 'ivory', 'snow']) AS p_name,
  'Manufacturer#' || (i % 5 + 1) AS p_mfgr, 'Brand#' || (i % 3 + 1) || (i % 2 + 2) AS p_brand,
  pick(i, 't1', ['PROMO', 'ECONOMY', 'STANDARD']) || ' ' || pick(i, 't2', ['ANODIZED', 'BURNISHED']) || ' '
    || pick(i, 't3', ['STEEL', 'BRASS']) AS p_type,
  CAST(draw(i, 'z', 50) + 1 AS INTEGER) AS p_size,
  pick(i, 'c1', ['SM', 'MED', 'LG']) || ' ' || pick(i, 'c2', ['BOX', 'BAG', 'CASE', 'PKG']) AS p_container,
  CAST(900 + i AS DECIMAL(15, 2)) AS p_retailprice FROM range(100) AS t(i);
CREATE TABLE partsupp AS SELECT p + 1 AS ps_partkey, (p * 7 + s * 13) % 50 + 1 AS ps_suppkey,
  CAST(draw(p * 10 + s, 'q', 400) + 1 AS INTEGER) AS ps_availqty,
  CAST(draw(p * 10 + s, 'c', 100000) / 100 + 1 AS DECIMAL(15, 2)) AS ps_supplycost
FROM range(100) AS t(p), range(4) AS u(s);
CREATE TABLE customer AS SELECT i + 1 AS c_custkey, 'Customer#' || lpad(CAST(i + 1 AS VARCHAR), 9, '0') AS c_name,
  'road ' || i AS c_address, CAST(i % 25 AS INTEGER) AS c_nationkey,
  (10 + i % 25) || '-' || lpad(CAST(draw(i, 'p', 1000) AS VARCHAR), 3, '0') || '-' || lpad(CAST(i AS VARCHAR), 4, '0')
    AS c_phone,
  CAST(draw(i, 'a', 1100000) / 100 - 1000 AS DECIMAL(15, 2)) AS c_acctbal,
  pick(i, 'm', ['AUTOMOBILE', 'BUILDING', 'FURNITURE', 'HOUSEHOLD', 'MACHINERY']) AS c_mktsegment,
  'remark ' || i AS c_comment FROM range(300) AS t(i);
CREATE TABLE orders AS SELECT c * 20 + o + 1 AS o_orderkey, CAST(c + 1 AS BIGINT) AS o_custkey,
  pick(c * 20 + o, 's', ['F', 'O', 'P']) AS o_orderstatus,
  CAST(1000 + draw(c * 20 + o, 't', 30000000) / 100 AS DECIMAL(15, 2)) AS o_totalprice,
  DATE '1992-01-01' + CAST(draw(c * 20 + o, 'd', 2406) AS INTEGER) AS o_orderdate,
  pick(c * 20 + o, 'p', ['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW']) AS o_orderpriority,
  'Clerk#' || draw(c * 20 + o, 'k', 10) AS o_clerk, 0 AS o_shippriority,
  CASE WHEN draw(c * 20 + o, 'r', 9) = 0 THEN 'has special but odd requests' ELSE 'plain' END AS o_comment
FROM range(300) AS t(c), range(14) AS u(o) WHERE c % 10 <> 3 AND o < draw(c, 'many', 15);
CREATE TABLE lineitem AS
WITH l AS (SELECT *, o_orderkey * 10 + n AS k FROM orders, range(6) AS u(n) WHERE n <= draw(o_orderkey, 'l', 6)),
chosen AS (SELECT *, draw(k, 'pk', 100) AS p FROM l)
SELECT o_orderkey AS l_orderkey, p + 1 AS l_partkey, (p * 7 + draw(k, 'sk', 4) * 13) % 50 + 1 AS l_suppkey,
  CAST(n + 1 AS INTEGER) AS l_linenumber, CAST(draw(k, 'q', 50) + 1 AS DECIMAL(15, 2)) AS l_quantity,
  CAST((draw(k, 'q', 50) + 1) * (900 + p) AS DECIMAL(15, 2)) AS l_extendedprice,
  CAST(draw(k, 'd', 11) / 100 AS DECIMAL(15, 2)) AS l_discount, CAST(draw(k, 't', 9) / 100 AS DECIMAL(15, 2)) AS l_tax,
  pick(k, 'f', ['R', 'A', 'N']) AS l_returnflag, pick(k, 's', ['F', 'O']) AS l_linestatus,
  o_orderdate + CAST(draw(k, 'sd', 121) + 1 AS INTEGER) AS l_shipdate,
  o_orderdate + CAST(draw(k, 'cd', 61) + 30 AS INTEGER) AS l_commitdate,
  o_orderdate + CAST(draw(k, 'sd', 121) + 1 + draw(k, 'rd', 30) + 1 AS INTEGER) AS l_receiptdate,
  pick(k, 'i', ['DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN']) AS l_shipinstruct,
  pick(k, 'm', ['AIR', 'AIR REG', 'FOB', 'MAIL', 'RAIL', 'SHIP', 'TRUCK']) AS l_shipmode, 'note' AS l_comment
FROM chosen;
