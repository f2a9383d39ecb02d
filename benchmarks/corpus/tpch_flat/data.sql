-- A wide table, made of:
-- the tables of tpch
CREATE TABLE sales AS SELECT c_custkey AS custkey, n_name AS nation, c_mktsegment AS segment, o_orderkey AS orderkey,
  o_orderstatus AS status, o_orderpriority AS priority, o_orderdate AS ordered, l_shipdate AS shipped,
  l_commitdate AS committed, l_receiptdate AS received, l_partkey AS partkey, l_suppkey AS suppkey,
  l_linenumber AS line, l_quantity AS quantity, l_extendedprice AS price, l_discount AS discount, l_tax AS tax,
  l_returnflag AS flag, l_linestatus AS linestatus, l_shipmode AS mode, l_shipinstruct AS instruct
FROM lineitem JOIN orders ON l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey
JOIN nation ON c_nationkey = n_nationkey;
